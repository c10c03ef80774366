//! The parts of a damaged file that are whole.
//!
//! What comes before the damage is read as it stands. After it, a new entry is looked for: a text that
//! begins as the kubelet begins one cannot stand within another text, where its quotes have backslashes.

use crate::k8s::go_json::{Field, GoJsonError, GoStruct, GoValue, Kind, Reader, Stop, decode};

/// The name that an entry begins with.
const POD: &[u8] = b"\"PodUID\"";

/// The name that the list of resources begins with.
const REGISTERED: &[u8] = b"\"RegisteredDevices\"";

/// What was found of a file, as texts in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    /// The entries.
    pub entries: Vec<Vec<u8>>,
    /// The ids of each resource.
    pub registered: Vec<(String, Vec<u8>)>,
    /// The list of resources begins in what could be read.
    pub has_registered: bool,
    /// How often an entry begins, whole or not.
    pub begun: usize,
    /// The file cannot be read from this byte on, and where it goes on is a guess.
    pub broken_at: Option<usize>,
}

/// A file, or what stands in `Data` of it; files of long ago have no `Data`.
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

/// Looks for entries and resources after the last entry that could be read.
fn look_further(bytes: &[u8], from: usize, pieces: &mut Pieces) {
    // Entries that begin over and over and never end must not make this take for ever.
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
        // What was read before it ends is kept.
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
