//! The careful reader: one object of any kind, item by item, so that a mistake costs one item only.

use super::duplicates::last_wins;
use super::field;
use super::kinds::{Kind, kind};
use super::load::{Loaded, NoteKind};
use super::pod_template;
use super::problem::{Object, Place, ProblemKind, shortened};
use crate::pod::{FromMapping, Text};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// How deep lists may be in lists. Each level reads its items' text once more.
const MAX_NESTED_LISTS: usize = 8;

/// Reads one JSON value that is known to be well formed.
pub(super) fn read(text: &str, place: &Place, loaded: &mut Loaded) {
    read_nested(text, None, 0, place, loaded);
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(borrow)]
    api_version: Option<Text<'a>>,
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// Name and namespace, read separately so that a mistake elsewhere does not lose them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Name<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
}

/// The kind and version that items of a list may omit.
type Implied = Option<(&'static str, &'static str)>;

/// The problem of an object, and its name if it could be read. Boxed: it is rare.
type Refused = Box<(Option<Object>, ProblemKind)>;

fn read_nested(text: &str, implied: Implied, depth: usize, place: &Place, loaded: &mut Loaded) {
    let Err(refused) = try_read(text, implied, depth, place, loaded) else {
        return;
    };
    let (object, kind) = *refused;
    // The mistake may be that a key came twice, or be in a value that does not count.
    if matches!(kind, ProblemKind::Field { .. })
        && let Some(last) = last_wins(text)
    {
        let key = Some(last.duplicate.after(&place.inner).to_string());
        let position = None;
        loaded.notes.push(place.note(NoteKind::DuplicateKey { key, position }));
        return read_nested(&last.text, implied, depth, place, loaded);
    }
    loaded.problems.push(place.problem(object, kind));
}

/// Reads an object. When it is refused, nothing of it was added.
fn try_read(
    text: &str,
    implied: Implied,
    depth: usize,
    place: &Place,
    loaded: &mut Loaded,
) -> Result<(), Refused> {
    if let Some(found) = not_an_object(text) {
        return Err(Box::new((None, ProblemKind::NotAnObject { found })));
    }
    let envelope: Envelope<'_> =
        field::read(text, &place.inner).map_err(|kind| Box::new((None, kind)))?;
    let (implied_kind, implied_version) = implied.unzip();
    let kind_name = set(envelope.kind.as_deref()).or(implied_kind);
    let version = set(envelope.api_version.as_deref()).or(implied_version);
    let name = object_name(kind_name.unwrap_or_default(), envelope.metadata);
    let Some(kind_name) = kind_name else {
        return Err(Box::new((Some(name), ProblemKind::Missing { field: "kind" })));
    };
    if let Some(custom) = version.and_then(|version| custom_resource(kind_name, version)) {
        loaded.notes.push(place.note(NoteKind::CustomResource(Object { kind: custom, ..name })));
        return Ok(());
    }
    let (found, expected) = match kind(kind_name) {
        Kind::Unknown => {
            let kind = shortened(kind_name);
            return Err(Box::new((Some(name), ProblemKind::UnknownKind { kind })));
        }
        Kind::NoPods => {
            loaded.notes.push(place.note(NoteKind::NoPods(name)));
            return Ok(());
        }
        found @ (Kind::Object(_, expected) | Kind::ListOf(_, expected)) => (found, expected),
        Kind::MixedList => (Kind::MixedList, "v1"),
    };
    match version {
        None => {
            let field = "apiVersion";
            return Err(Box::new((Some(name), ProblemKind::Missing { field })));
        }
        Some(version) if version != expected => {
            let (kind, found) = (kind_name.to_owned(), shortened(version));
            let kind = ProblemKind::ApiVersion { kind, found, expected };
            return Err(Box::new((Some(name), kind)));
        }
        Some(_) => {}
    }
    let implied = match found {
        Kind::Object(carries, _) => {
            return pod_template::read(text, kind_name, carries, place, loaded)
                .map_err(|kind| Box::new((Some(name), kind)));
        }
        Kind::ListOf(kind, version) => Some((kind, version)),
        _ => None,
    };
    if depth == MAX_NESTED_LISTS {
        let limit = MAX_NESTED_LISTS;
        return Err(Box::new((Some(name), ProblemKind::NestedLists { limit })));
    }
    let items = envelope.items.unwrap_or_default();
    if items.is_empty() {
        let kind = kind_name.to_owned();
        loaded.notes.push(place.note(NoteKind::EmptyList { kind }));
    }
    for (at, item) in items.into_iter().enumerate() {
        read_nested(item.get(), implied, depth + 1, &place.item(at), loaded);
    }
    Ok(())
}

/// Returns what to call a custom resource; `None`: it is none. Its API group has a domain (`cert-manager.io/v1`), and a group
/// below `k8s.io` may be one of Kubernetes itself, where its kind is known. Elsewhere a kind has any name: Volcano has a Job.
fn custom_resource(kind_name: &str, version: &str) -> Option<String> {
    let (group, _) = version.split_once('/').filter(|(group, _)| group.contains('.'))?;
    match (kind(kind_name), group.ends_with(".k8s.io")) {
        (Kind::Unknown, _) => Some(shortened(kind_name)),
        (_, false) => Some(shortened(&format!("{kind_name} ({group})"))),
        (_, true) => None,
    }
}

fn set(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn not_an_object(text: &str) -> Option<&'static str> {
    match text.trim_start().bytes().next() {
        Some(b'{') => None,
        Some(b'[') => Some("a list"),
        Some(b'"') => Some("text"),
        Some(b't' | b'f') => Some("a boolean"),
        Some(b'n') => Some("nothing"),
        _ => Some("a number"),
    }
}

/// Returns the object's name from its metadata, in any form.
pub(super) fn object_name<'a, D: Deserializer<'a>>(kind: &str, metadata: Option<D>) -> Object {
    let name: Name<'a> = metadata
        .and_then(|metadata| FromMapping::deserialize(metadata).ok())
        .map(|FromMapping(name)| name)
        .unwrap_or_default();
    Object {
        kind: shortened(kind),
        namespace: shortened(name.namespace.as_deref().unwrap_or_default()),
        name: shortened(name.name.as_deref().unwrap_or_default()),
    }
}
