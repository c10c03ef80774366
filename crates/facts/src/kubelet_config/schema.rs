//! The types of the fields of a KubeletConfiguration.
//!
//! The lists of reserved resources, which the configuration holds as text.
//!
//! Rules and texts: `parseResourceList` in `cmd/kubelet/app/server.go`, `ParseQOSReserved` in
//! `pkg/kubelet/cm/container_manager.go`. The kubelet looks at a list in random order, kq in the order
//! of the names.

use super::fields::FIELDS;
use kq_k8s::go_text::quote;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::{ParseQuantityError, Quantity};
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeMap;

/// A field: its path, where `[]` stands for an element of a list, its type in Go, a `+` for each of 1.32 to
/// 1.37 that has it, and its defaults as JSON: one for each of these versions, one for all, or none.
pub(super) type Field =
    (&'static str, &'static str, &'static [u8; KubeletVersion::COUNT], &'static [&'static str]);

/// The type of a field; `null` always means absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bool,
    Int32,
    Int64,
    Number,
    Duration,
    /// A duration, or a number of nanoseconds.
    DurationOrNumber,
    /// A quantity, as text or number.
    Amount,
    List(&'static Kind),
    /// Free names, values of one kind.
    Map(&'static Kind),
    /// The fields below its path.
    Object,
}

/// Returns a field by its path.
pub(super) fn field(path: &str) -> Option<&'static Field> {
    FIELDS.binary_search_by_key(&path, |(known, ..)| known).ok().map(|at| &FIELDS[at])
}

/// Returns true if a field exists in any of the known versions.
#[cfg(test)]
pub(crate) fn field_exists(path: &str) -> bool {
    field(path).is_some()
}

/// Returns the names of the fields right below a path.
pub(super) fn names_below(path: &str) -> impl Iterator<Item = &'static str> {
    FIELDS.iter().filter_map(move |(known, ..)| {
        let name = match path {
            "" => known,
            path => known.strip_prefix(path)?.strip_prefix('.')?,
        };
        (!name.contains(['.', '['])).then_some(name)
    })
}

/// Returns the path of a field below another.
pub(super) fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Returns the values that a field of a type in Go may hold.
pub(super) fn kind(go_type: &str) -> Kind {
    match go_type.trim_start_matches('*') {
        "string"
        | "v1.TaintEffect"
        | "v1.Time"
        | "v1beta1.ImagePullCredentialsVerificationPolicy"
        | "v1beta1.KubeletAuthorizationMode"
        | "v1beta1.MemoryReservationPolicy"
        | "v1beta1.ResourceChangeDetectionStrategy" => Kind::Text,
        "bool" => Kind::Bool,
        "int32" => Kind::Int32,
        "int64" | "v1.VerbosityLevel" => Kind::Int64,
        "float64" => Kind::Number,
        "v1.Duration" => Kind::Duration,
        "v1.TimeOrMetaDuration" => Kind::DurationOrNumber,
        "resource.QuantityValue" => Kind::Amount,
        "[]string" => Kind::List(&Kind::Text),
        "[]int32" => Kind::List(&Kind::Int32),
        "map[string]string" => Kind::Map(&Kind::Text),
        "map[string]bool" => Kind::Map(&Kind::Bool),
        "map[string][]string" => Kind::Map(&Kind::List(&Kind::Text)),
        "v1.ResourceList" => Kind::Map(&Kind::Amount),
        "v1.VModuleConfiguration" => Kind::List(&Kind::Object),
        list if list.starts_with("[]") => Kind::List(&Kind::Object),
        _ => Kind::Object,
    }
}

/// Returns the default of a field in a version, as JSON.
pub(super) fn default(field: &Field, version: KubeletVersion) -> Option<&'static str> {
    let (.., defaults) = field;
    match defaults {
        [] => None,
        [only] => Some(only),
        several => several.get(version.column()).copied().filter(|default| *default != "null"),
    }
}

/// Returns true if a configuration that has its defaults has a value of a field, also once what is empty is left out.
pub(super) fn is_written_out(field: &Field) -> bool {
    field.3.last().is_some_and(|default| !matches!(*default, "\"\"" | "0" | "{}" | "null"))
}

/// Returns true if a version has a field.
pub(super) fn exists(field: &Field, version: KubeletVersion) -> bool {
    field.2[version.column()] == b'+'
}

/// Returns the first and the last version that has a field.
pub(super) fn lifetime(field: &Field) -> String {
    let minor = |at: Option<usize>| at.map_or(0, |at| KubeletVersion::OLDEST.minor as usize + at);
    let first = minor(field.2.iter().position(|state| *state == b'+'));
    let last = field.2.iter().rposition(|state| *state == b'+');
    match last == Some(KubeletVersion::COUNT - 1) {
        true => format!("since 1.{first}"),
        false => format!("until 1.{}", minor(last)),
    }
}

/// Returns true if a field is a list of texts.
pub fn is_list_of_texts(path: &str) -> bool {
    FIELDS.iter().any(|(name, go_type, ..)| *name == path && *go_type == "[]string")
}

/// Returns the names of the fields of the first level, of every version.
pub fn field_names() -> impl Iterator<Item = &'static str> + Clone {
    FIELDS.iter().map(|(name, ..)| *name).filter(|name| !name.contains('.'))
}

/// Returns the field that a part of its name stands for: `imageGCHighThresholdPercent` for `imageGCHighThreshold`,
/// `memorySwap.swapBehavior` for `swapBehavior`; `None`: no field has it.
pub fn field_of_part(name: &str) -> Option<&'static str> {
    const LEAST: usize = 4;
    let begins = |known: &&str| {
        known.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let ends = |known: &&str| {
        known.rsplit_once('.').is_some_and(|(_, last)| last.eq_ignore_ascii_case(name))
    };
    let mut nested = FIELDS.iter().map(|(name, ..)| *name);
    let found = || field_names().find(begins).or_else(|| nested.find(ends));
    (name.len() >= LEAST).then(found)?
}

/// Returns the fields of the first level whose default differs between two versions, with the default of the first.
pub fn other_defaults(
    from: KubeletVersion,
    to: KubeletVersion,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let fields = FIELDS.iter().filter(|(name, ..)| !name.contains('.'));
    fields.filter_map(move |field| {
        let (old, new) = (default(field, from)?, default(field, to));
        let differs = Some(old) != new || exists(field, from) != exists(field, to);
        differs.then_some((field.0, old))
    })
}

/// Returns the parts of a field's path such as `evictionHard.memory.available`, where a free name keeps
/// its dots, and whether the field holds text (durations and amounts among it).
pub fn path_parts(path: &str) -> (Vec<&str>, bool) {
    let mut parts = Vec::new();
    let mut rest = path;
    let mut known = String::new();
    let mut kind_here = Kind::Object;
    while !rest.is_empty() {
        match kind_here {
            Kind::Object => {
                let (name, further) = rest.split_once('.').unwrap_or((rest, ""));
                parts.push(name);
                rest = further;
                known = below(&known, name);
                // Unknown: the strict reader reports it, whatever the parts are.
                kind_here = field(&known).map_or(Kind::Object, |(_, go_type, ..)| kind(go_type));
            }
            Kind::Map(of) => {
                parts.push(rest);
                rest = "";
                kind_here = *of;
            }
            _ => break,
        }
    }
    if !rest.is_empty() {
        // Below a field that has nothing below it: the strict reader reports it.
        parts.push(rest);
    }
    // A number of nanoseconds is another one than the same text.
    let is_text = matches!(kind_here, Kind::Text | Kind::Duration | Kind::Amount);
    (parts, is_text && rest.is_empty())
}

/// Why a list of reserved resources is rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("--{flag} value failed to parse: {problem}")]
pub struct ReservedError {
    /// The flag that the kubelet names: `kube-reserved` or `system-reserved`.
    pub flag: String,
    pub problem: ReservedProblem,
}

/// An error in a list of reserved resources.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReservedProblem {
    /// A resource that cannot be reserved.
    #[error("cannot reserve {} resource", quote(.0))]
    Resource(String),
    /// An amount that is not a quantity.
    #[error("failed to parse quantity {} for {} resource: {error}", quote(text), quote(name))]
    Quantity {
        /// The resource.
        name: String,
        /// The amount.
        text: String,
        /// The reason.
        error: ParseQuantityError,
    },
    /// An amount below zero.
    #[error("resource quantity for {} cannot be negative: {text}", quote(name))]
    Negative {
        /// The resource.
        name: String,
        /// The amount.
        text: String,
    },
}

/// Reads `kubeReserved` or `systemReserved`; an empty list counts as absent.
///
/// `flag` is `kube-reserved` or `system-reserved`, for the error.
pub fn parse_reserved_list(
    flag: &str,
    list: &BTreeMap<String, String>,
) -> Result<ResourceList, ReservedError> {
    let refuse = |problem| ReservedError { flag: flag.to_owned(), problem };
    let mut parsed = ResourceList::default();
    for (name, text) in list {
        let (name, text) = (name.clone(), text.clone());
        if !matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage" | "pid") {
            return Err(refuse(ReservedProblem::Resource(name)));
        }
        match text.parse::<Quantity>() {
            Err(error) => return Err(refuse(ReservedProblem::Quantity { name, text, error })),
            Ok(amount) if amount.sign() < 0 => {
                return Err(refuse(ReservedProblem::Negative { name, text }));
            }
            Ok(amount) => parsed.insert(ResourceName::from(name.as_str()), amount),
        }
    }
    Ok(parsed)
}

/// Why `qosReserved` is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QosReservedError {
    /// A resource other than memory.
    #[error("cannot reserve {} resource", quote(.0))]
    Resource(String),
    /// Not a percentage.
    #[error("failed to parse percentage {} for \"memory\" resource: percentage expected, got '{}'", quote(.0), .0)]
    NoPercent(String),
    /// Not a number.
    #[error("failed to parse percentage {} for \"memory\" resource: invalid number in percentage '{}'", quote(.0), .0)]
    Number(String),
    /// Not from 0 to 100.
    #[error("failed to parse percentage {} for \"memory\" resource: percentage must be between 0 and 100", quote(.0))]
    Range(String),
}

impl QosReservedError {
    /// Returns the text with which the kubelet refuses to start.
    pub fn startup_text(&self) -> String {
        format!("--qos-reserved value failed to parse: {self}")
    }
}

/// Reads `qosReserved`: the percentage of memory, if there is one.
pub fn parse_qos_reserved(list: &BTreeMap<String, String>) -> Result<Option<u8>, QosReservedError> {
    let mut percentage = None;
    for (name, text) in list {
        if name != "memory" {
            return Err(QosReservedError::Resource(name.clone()));
        }
        if !text.ends_with('%') {
            return Err(QosReservedError::NoPercent(text.clone()));
        }
        let number: i64 = text
            .trim_end_matches('%')
            .parse()
            .map_err(|_| QosReservedError::Number(text.clone()))?;
        let in_range = u8::try_from(number).ok().filter(|number| *number <= 100);
        percentage = Some(in_range.ok_or_else(|| QosReservedError::Range(text.clone()))?);
    }
    Ok(percentage)
}
