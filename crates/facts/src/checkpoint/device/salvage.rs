//! The readable parts of a damaged file, and the valid ones among them.
//!
//! The part before the damage is read as it is. After it, a new entry is searched: a text that
//! begins as the kubelet begins one cannot stand within another text, where its quotes have backslashes.

use super::{
    ContainerAllocateResponse, DecodeError, DeviceCheckpoint, PodDeviceKey, PodDevicesEntry,
};
use kq_k8s::go_json::{Field, GoJsonError, GoStruct, GoValue, Kind, Reader, Stop, decode};
use kq_k8s::version::KubeletVersion;
use std::collections::{BTreeMap, BTreeSet};

/// The usable part of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// Why the kubelet does not take the file, in its words.
    pub error: Option<String>,
    /// Its entries in their order, with the reason for each removal.
    pub entries: Vec<(PodDevicesEntry, Option<Unsound>)>,
    /// The resources.
    pub registered: BTreeMap<String, Option<Vec<String>>>,
    /// At least so many entries were there and cannot be read at all.
    pub lost: usize,
    /// Everything can be read, but the checksum differs: an unknown part was changed.
    pub is_changed: bool,
    /// Oddities in the readable part.
    pub notes: Vec<String>,
}

/// Why an entry cannot be kept, or has no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    #[error(transparent)]
    Unreadable(GoJsonError),
    #[error("it has no {0}")]
    Nameless(&'static str),
    #[error("a name in it is not UTF-8: the original is unknown")]
    NotUtf8,
    #[error("its plugin's answer cannot be decoded ({0}), so the kubelet skips it")]
    Undecodable(DecodeError),
    #[error("a later entry for the same resource replaces it")]
    Replaced,
}

impl Salvage {
    /// Returns true if there is nothing to repair.
    pub fn is_sound(&self) -> bool {
        self.error.is_none() && self.entries.iter().all(|(_, why_not)| why_not.is_none())
    }
}

/// Reads a file in any state. Unreadable parts are left out; nothing is invented.
pub fn salvage(bytes: &[u8], version: KubeletVersion) -> Salvage {
    let mut salvage = match DeviceCheckpoint::parse(bytes) {
        Ok(loaded) => {
            let error = loaded.error().map(str::to_owned);
            let old = error.as_ref().and_then(|_| DeviceCheckpoint::parse_old_layout(bytes));
            let mut salvage = of_content(old.as_ref().unwrap_or(&loaded.checkpoint));
            salvage.is_changed = error.is_some() && old.is_none();
            if old.is_some() {
                salvage.notes.push(OLD.to_owned());
            }
            salvage.error = error;
            salvage
        }
        Err(error) => {
            let mut salvage = of_pieces(&pieces(bytes));
            if !salvage.entries.is_empty() {
                salvage.notes.push(UNPROVEN.to_owned());
            }
            salvage.error = Some(error.to_string());
            salvage
        }
    };
    let is_damaged = salvage.error.is_some();
    for (entry, why_not) in &mut salvage.entries {
        if why_not.is_none() {
            *why_not = unsound(entry, is_damaged, version);
        }
    }
    drop_replaced(&mut salvage.entries);
    salvage
}

const UNPROVEN: &str = "complete entries stay as they are: without the rest, the checksum cannot show whether one \
                        was changed";

const OLD: &str =
    "the layout of a kubelet of 1.19 or older, without NUMA nodes: its devices get none";

fn of_content(checkpoint: &DeviceCheckpoint) -> Salvage {
    Salvage {
        entries: checkpoint.entries.iter().flatten().map(|entry| (entry.clone(), None)).collect(),
        registered: checkpoint.registered.clone().unwrap_or_default(),
        ..Salvage::default()
    }
}

fn of_pieces(pieces: &Pieces) -> Salvage {
    let mut salvage = Salvage::default();
    let mut is_old = false;
    for text in &pieces.entries {
        let entry = match PodDevicesEntry::parse(text) {
            Ok(entry) => (entry, None),
            Err(error) => match PodDevicesEntry::parse_old_layout(text) {
                Some(entry) => {
                    is_old = true;
                    (entry, None)
                }
                None => (readable(text), Some(Unsound::Unreadable(error))),
            },
        };
        salvage.entries.push(entry);
    }
    for (resource, text) in &pieces.registered {
        let mut ids: Option<Vec<String>> = None;
        if decode(text, &mut ids).is_ok() {
            salvage.registered.insert(resource.clone(), ids);
        } else {
            salvage.notes.push(format!("the ids of resource {resource} cannot be read"));
        }
    }
    if is_old {
        salvage.notes.push(OLD.to_owned());
    }
    if let Some(at) = pieces.broken_at {
        salvage.notes.push(format!(
            "the file is damaged at byte {at}: an entry that was there is not among these"
        ));
        salvage.lost = pieces.begun.saturating_sub(pieces.entries.len());
    }
    if !pieces.has_registered {
        salvage.notes.push(
            "the list of resources is lost; each is known again when its plugin registers"
                .to_owned(),
        );
    }
    salvage
}

/// Returns the readable part of a removed entry, to identify its container.
fn readable(text: &[u8]) -> PodDevicesEntry {
    let text = String::from_utf8_lossy(text);
    let fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&text).unwrap_or_default();
    let field = |name: &str| {
        let value = fields.get(name).and_then(serde_json::Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    PodDevicesEntry {
        pod_uid: field("PodUID"),
        container_name: field("ContainerName"),
        resource_name: field("ResourceName"),
        ..PodDevicesEntry::default()
    }
}

/// Returns why an entry cannot be kept.
fn unsound(entry: &PodDevicesEntry, is_damaged: bool, version: KubeletVersion) -> Option<Unsound> {
    for (text, what) in [
        (&entry.pod_uid, "pod"),
        (&entry.container_name, "container"),
        (&entry.resource_name, "resource"),
    ] {
        if text.is_empty() {
            return Some(Unsound::Nameless(what));
        }
    }
    let ids = entry.device_ids.iter().flatten().flat_map(|(_, ids)| ids).flatten();
    let mut texts =
        [&entry.pod_uid, &entry.container_name, &entry.resource_name].into_iter().chain(ids);
    if is_damaged && texts.any(|text| text.contains(char::REPLACEMENT_CHARACTER)) {
        return Some(Unsound::NotUtf8);
    }
    let answer = entry.alloc_resp.as_deref().unwrap_or_default();
    ContainerAllocateResponse::decode_by(answer, version).err().map(Unsound::Undecodable)
}

/// Of entries about the same the last one counts.
fn drop_replaced(entries: &mut [(PodDevicesEntry, Option<Unsound>)]) {
    let mut seen: BTreeSet<PodDeviceKey> = BTreeSet::new();
    for (entry, why_not) in entries.iter_mut().rev() {
        if why_not.is_none() && !seen.insert(PodDeviceKey::from(&*entry)) {
            *why_not = Some(Unsound::Replaced);
        }
    }
}

/// The name that an entry begins with.
const POD: &[u8] = b"\"PodUID\"";

/// The name that the list of resources begins with.
const REGISTERED: &[u8] = b"\"RegisteredDevices\"";

/// The parts found in a file, as JSON texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    pub entries: Vec<Vec<u8>>,
    /// The ids of each resource.
    pub registered: Vec<(String, Vec<u8>)>,
    /// The list of resources begins in what could be read.
    pub has_registered: bool,
    /// The number of entries, complete or not.
    pub begun: usize,
    /// The file is unreadable from this byte on, and the place where it continues is a guess.
    pub broken_at: Option<usize>,
}

/// A file, or its `Data`; old files have no `Data`.
#[derive(Default)]
struct Content {
    entries: Entries,
    registered: Registered,
    /// The innermost content.
    data: Option<Box<Content>>,
}

#[derive(Default)]
struct Entries {
    list: Vec<Vec<u8>>,
    end: usize,
}

#[derive(Default)]
struct Registered {
    list: Vec<(String, Vec<u8>)>,
    is_there: bool,
}

impl GoStruct for Content {
    const TYPE: &'static str = "checkpoint.Data";
    const FIELDS: &'static [Field<Self>] = &[
        Field {
            name: "Data",
            read: |file, reader| match reader.kind()? {
                // A file within a file within a file would make this recursive.
                Kind::Object if file.data.is_none() => {
                    let data: &mut Content = file.data.insert(Box::default());
                    data.data = Some(Box::default());
                    data.read(reader)
                }
                _ => reader.skip(),
            },
        },
        Field { name: "PodDeviceEntries", read: |file, reader| file.entries.read(reader) },
        Field { name: "RegisteredDevices", read: |file, reader| file.registered.read(reader) },
    ];
}

impl GoValue for Entries {
    fn go_type() -> String {
        "[]checkpoint.PodDevicesEntry".to_owned()
    }

    fn read_named(&mut self, _: Option<&'static str>, reader: &mut Reader<'_>) -> Result<(), Stop> {
        if reader.kind()? != Kind::Array {
            return reader.skip();
        }
        reader.array(|reader| {
            self.list.push(reader.raw()?.to_vec());
            self.end = reader.offset();
            Ok(())
        })
    }
}

impl GoValue for Registered {
    fn go_type() -> String {
        "map[string][]string".to_owned()
    }

    fn read_named(&mut self, _: Option<&'static str>, reader: &mut Reader<'_>) -> Result<(), Stop> {
        if reader.kind()? != Kind::Object {
            return reader.skip();
        }
        self.is_there = true;
        reader.object(|reader, resource| {
            let ids = reader.raw()?.to_vec();
            self.list.push((resource.into_owned(), ids));
            Ok(())
        })
    }
}

/// Finds the parts of a file that are whole.
pub(super) fn pieces(bytes: &[u8]) -> Pieces {
    let mut file = Content::default();
    let read = decode(bytes, &mut file);
    let mut pieces = Pieces::default();
    let mut end = 0;
    let Content { entries, registered, data } = file;
    let inner = data.map(|data| (data.entries, data.registered));
    for (entries, registered) in inner.into_iter().chain([(entries, registered)]) {
        end = end.max(entries.end);
        pieces.entries.extend(entries.list);
        pieces.registered.extend(registered.list);
        pieces.has_registered |= registered.is_there;
    }
    if let Err(GoJsonError::Syntax(error)) = read {
        pieces.broken_at = Some(error.offset);
        pieces.begun = count(bytes);
        look_further(bytes, end, &mut pieces);
    }
    pieces
}

/// Searches for entries and resources after the last readable entry.
fn look_further(bytes: &[u8], from: usize, pieces: &mut Pieces) {
    // Many entries that begin and never end must not make this quadratic.
    let mut budget = bytes.len().saturating_mul(8);
    let mut at = from;
    while let Some(name) = find(bytes, at, POD) {
        let Some(found) = begin_of(bytes, at, name) else {
            at = name + POD.len();
            continue;
        };
        let mut reader = Reader::new(&bytes[found..]);
        match reader.raw() {
            Ok(entry) => {
                pieces.entries.push(entry.to_vec());
                at = found + entry.len();
            }
            Err(_) => {
                let looked_at = reader.offset();
                let is_cheap = looked_at <= budget;
                budget = budget.saturating_sub(looked_at);
                at = (name + POD.len()).max(if is_cheap { 0 } else { found + looked_at });
            }
        }
    }
    if pieces.has_registered {
        return;
    }
    if let Some(found) = find(bytes, from, REGISTERED) {
        let mut registered = Registered::default();
        let after = skip_space(bytes, found + REGISTERED.len());
        // The part before the end is kept.
        let _ = registered.read(&mut Reader::new(&bytes[(after + 1).min(bytes.len())..]));
        pieces.has_registered = registered.is_there;
        pieces.registered = registered.list;
    }
}

/// Counts the entries by the names in them, of which damage may have hit some. Within a text a quote has
/// a backslash, so none is counted there.
fn count(bytes: &[u8]) -> usize {
    let mut counts = [0; 3];
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
        for (count, name) in counts.iter_mut().zip([POD, b"\"ContainerName\"", b"\"AllocResp\""]) {
            *count += usize::from(bytes[at..].starts_with(name));
        }
    }
    counts.into_iter().max().unwrap_or_default()
}

/// Returns where the brace is that a name is the first in; whoever indents a file puts white space there.
fn begin_of(bytes: &[u8], from: usize, name: usize) -> Option<usize> {
    let brace = bytes[from..name].iter().rposition(|byte| !is_space(*byte))?;
    (bytes[from + brace] == b'{').then_some(from + brace)
}

/// Finds a name with its colon.
fn find(bytes: &[u8], from: usize, name: &[u8]) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        at += rest.iter().position(|byte| *byte == name[0])?;
        let is_here = bytes[at..].starts_with(name);
        if is_here && bytes.get(skip_space(bytes, at + name.len())) == Some(&b':') {
            return Some(at);
        }
        at += 1;
    }
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| is_space(**byte)).count()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
