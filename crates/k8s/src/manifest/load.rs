//! From the bytes of a file to its documents.
//!
//! The result of loading, with its sources.

use super::field::FieldPath;
use super::problem::{Object, Place, Position, Problem, ProblemKind, Syntax, shortened};
use super::uniform::{self, Uniform};
use super::{object, pod_template, unknown};
use crate::go_yaml::text_of_utf16;
use crate::pod::Pod;
use crate::shared::Shared;
use crate::yaml;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The largest JSON file that is read: 100,000 pods of 5 kB.
pub const MAX_JSON_BYTES: usize = 512 << 20;

/// The largest YAML file that is read.
pub const MAX_YAML_BYTES: usize = yaml::MAX_BYTES;

/// The largest text that is tried as YAML after it turned out not to be JSON. Flow mappings are
/// written by hand; a large text that begins like JSON is JSON that was cut short.
const MAX_FLOW_BYTES: usize = 1 << 20;

/// Reads the pods of one file. `file` is its name in problems.
pub fn load(file: &str, bytes: &[u8]) -> Loaded {
    let mut loaded = Loaded::default();
    let place = Place::of_file(file);
    match text(bytes) {
        Ok(text) => read_text(&text, &place, &mut loaded),
        Err(kind) => loaded.problems.push(of_file(&place, kind)),
    }
    loaded.count_others(&place);
    loaded
}

fn of_file(place: &Place, kind: ProblemKind) -> Problem {
    Problem { document: None, ..place.problem(None, kind) }
}

/// Checks the size and the encoding. UTF-16 with a byte order mark is read, as by the kubelet: `tryDecodeSinglePod`
/// (`pkg/kubelet/config/common.go`) and kubectl have the YAML package decode what does not begin with the byte of a brace.
fn text(bytes: &[u8]) -> Result<Cow<'_, str>, ProblemKind> {
    let size = bytes.len();
    if size > MAX_JSON_BYTES {
        return Err(ProblemKind::TooLarge { syntax: Syntax::Json, size, limit: MAX_JSON_BYTES });
    }
    let text = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return Err(ProblemKind::Encoding { encoding: "UTF-32" });
        }
        // It takes more bytes as UTF-8, up to a half.
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] if size <= MAX_YAML_BYTES => {
            let text = text_of_utf16(bytes);
            Cow::Owned(text.ok_or(ProblemKind::Encoding { encoding: "broken UTF-16" })?)
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            return Err(ProblemKind::TooLarge {
                syntax: Syntax::Yaml,
                size,
                limit: MAX_YAML_BYTES,
            });
        }
        _ => {
            let text = std::str::from_utf8(bytes)
                .map_err(|error| ProblemKind::NotText { offset: error.valid_up_to() })?;
            Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text))
        }
    };
    // In JSON a NUL is an error with its line, so a long list need not be searched here.
    if !is_json(&text) {
        if size > MAX_YAML_BYTES {
            return Err(ProblemKind::TooLarge {
                syntax: Syntax::Yaml,
                size,
                limit: MAX_YAML_BYTES,
            });
        }
        if let Some(offset) = text.bytes().position(|byte| byte == 0) {
            return Err(ProblemKind::NotText { offset });
        }
    }
    Ok(text)
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn read_text(text: &str, place: &Place, loaded: &mut Loaded) {
    let count = if is_json(text) {
        read_json(text, place, loaded)
    } else {
        read_yaml(text, 0, 0, place, loaded)
    };
    if count == 0 {
        loaded.problems.push(of_file(place, ProblemKind::Empty));
    }
}

/// Reads JSON values one after another, and YAML documents should they follow; returns how many
/// documents were not empty.
fn read_json(text: &str, place: &Place, loaded: &mut Loaded) -> usize {
    let (mut at, mut count) = (0, 0);
    loop {
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        if rest.is_empty() {
            return count;
        }
        if rest.starts_with("---") {
            return count + read_yaml(rest, lines(&text[..at]), count, place, loaded);
        }
        let here = place.document(count + 1);
        if let Some((pods, end)) = uniform::read(rest) {
            add(pods, &rest[..end], &here, loaded);
            (at, count) = (at + end, count + 1);
            continue;
        }
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        match stream.next() {
            Some(Ok(raw)) => {
                object::read(raw.get(), &here, loaded);
                unknown::note_in_text(raw.get(), &here, loaded);
                (at, count) = (at + stream.byte_offset(), count + 1);
            }
            Some(Err(error)) => return count + read_flow(text, at, &error, &here, loaded),
            None => return count,
        }
    }
}

/// Reads a text that begins like JSON but is not JSON: flow mappings of YAML, or a mistake.
fn read_flow(
    text: &str,
    at: usize,
    error: &serde_json::Error,
    place: &Place,
    loaded: &mut Loaded,
) -> usize {
    let (before, rest) = text.split_at(at);
    let lines_before = lines(before);
    let documents = place.document - 1;
    if rest.len() <= MAX_FLOW_BYTES {
        let mut flow = Loaded::default();
        let count = read_yaml(rest, lines_before, documents, place, &mut flow);
        let mistaken = |problem: &Problem| {
            problem.document == Some(place.document)
                && matches!(problem.kind, ProblemKind::Syntax { .. })
        };
        if !flow.problems.iter().any(mistaken) {
            loaded.append(flow);
            return count;
        }
    }
    loaded.problems.push(place.problem(None, json_syntax(error, before, lines_before)));
    // The documents after the mistaken one are not lost.
    match next_document(rest) {
        Some(next) if rest.len() <= MAX_YAML_BYTES => {
            let lines_before = lines(&text[..at + next]);
            1 + read_yaml(&rest[next..], lines_before, place.document, place, loaded)
        }
        _ => 1,
    }
}

fn next_document(text: &str) -> Option<usize> {
    text.find("\n---").map(|newline| newline + 1)
}

fn json_syntax(error: &serde_json::Error, before: &str, lines_before: u64) -> ProblemKind {
    let whole = error.to_string();
    let message = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(message, _)| message);
    let on_line = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = error.column() + if error.line() == 1 { on_line } else { 0 };
    ProblemKind::Syntax {
        syntax: Syntax::Json,
        position: Position { line: lines_before + error.line() as u64, column: column as u64 },
        message: message.to_owned(),
    }
}

fn lines(text: &str) -> u64 {
    text.bytes().filter(|&byte| byte == b'\n').count() as u64
}

/// Reads YAML documents; returns how many were not empty. Documents of JSON are read as JSON.
fn read_yaml(
    text: &str,
    lines_before: u64,
    documents_before: usize,
    place: &Place,
    loaded: &mut Loaded,
) -> usize {
    let mut count = 0;
    for document in yaml::documents(text) {
        if document.is_empty() {
            continue;
        }
        count += 1;
        let here = place.document(documents_before + document.number);
        if is_json(document.body()) && read_one_json(document.body().trim(), &here, loaded) {
            continue;
        }
        let lines_before = lines_before + document.lines_before;
        match yaml::read(document.text) {
            Ok(read) => {
                if let Some(yaml::DuplicateKey { key, line, column }) = read.duplicate {
                    let key = key.map(|key| shortened(&key));
                    let line = lines_before + line;
                    let position = Some(Position { line, column });
                    loaded.notes.push(here.note(NoteKind::DuplicateKey { key, position }));
                }
                let problems_before = loaded.problems.len();
                // As text it takes the JSON path, where numbers for quantities keep their text.
                object::read(&read.value.to_string(), &here, loaded);
                unknown::note_in_value(&read.value, &here, loaded);
                let problems = &mut loaded.problems[problems_before..];
                locate(problems, document.text, lines_before);
            }
            Err(yaml::YamlError::TooLarge { size }) => {
                let (syntax, limit) = (Syntax::Yaml, MAX_YAML_BYTES);
                let kind = ProblemKind::TooLarge { syntax, size, limit };
                loaded.problems.push(here.problem(None, kind));
            }
            Err(yaml::YamlError::Syntax { line, column, message }) => {
                let line = lines_before + line;
                let kind = ProblemKind::Syntax {
                    syntax: Syntax::Yaml,
                    position: Position { line, column },
                    message,
                };
                loaded.problems.push(here.problem(None, kind));
            }
        }
    }
    count
}

/// Adds the position to fields with mistakes.
fn locate(problems: &mut [Problem], text: &str, lines_before: u64) {
    let mut paths = Vec::new();
    let mut positions = Vec::new();
    for problem in problems {
        if let ProblemKind::Field { position, path, .. } = &mut problem.kind {
            let item = problem
                .item
                .map(|item| [yaml::Step::Key("items".to_owned()), yaml::Step::Index(item)]);
            paths.push(item.into_iter().flatten().chain(path.0.iter().cloned()).collect());
            positions.push(position);
        }
    }
    if paths.is_empty() {
        return;
    }
    let found = yaml::locate(text, &paths);
    for (position, found) in positions.into_iter().zip(found) {
        *position = found.map(|(line, column)| Position { line: lines_before + line, column });
    }
}

/// Reads a document that is one JSON value and nothing else.
fn read_one_json(text: &str, place: &Place, loaded: &mut Loaded) -> bool {
    if let Some((pods, end)) = uniform::read(text)
        && end == text.len()
    {
        add(pods, text, place, loaded);
        return true;
    }
    let raw: Result<&RawValue, _> = serde_json::from_str(text);
    match raw {
        Ok(raw) => {
            object::read(raw.get(), place, loaded);
            unknown::note_in_text(raw.get(), place, loaded);
            true
        }
        Err(_) => false,
    }
}

fn add(pods: Uniform, text: &str, place: &Place, loaded: &mut Loaded) {
    match pods {
        Uniform::Pod(pod) => {
            pod_template::add_pod(*pod, place, loaded);
            unknown::note_in_text(text, place, loaded);
        }
        Uniform::Pods(pods) => {
            loaded.pods.reserve(pods.len());
            for (at, pod) in pods.into_iter().enumerate() {
                pod_template::add_pod(pod, &place.item(at), loaded);
            }
        }
    }
}

/// Everything that came out of one or more files.
#[derive(Debug, Default, PartialEq)]
pub struct Loaded {
    /// The pods, in the order of the input.
    pub pods: Vec<LoadedPod>,
    /// The unreadable objects.
    pub problems: Vec<Problem>,
    /// Notes, none of which loses anything.
    pub notes: Vec<Note>,
}

impl Loaded {
    /// Counts the objects next to the pods of a file in one note. Without any pod, the first custom resource is a problem: it is
    /// what the file was named for.
    fn count_others(&mut self, place: &Place) {
        let is_custom = |note: &Note| matches!(note.kind, NoteKind::CustomResource(_));
        if self.pods.is_empty() {
            let first = self.notes.iter().find(|note| is_custom(note)).cloned();
            self.notes.retain(|note| !is_custom(note));
            if let Some(Note { document, item, kind: NoteKind::CustomResource(first), .. }) = first
            {
                let kind = ProblemKind::UnknownKind { kind: first.kind.clone() };
                let problem = place.problem(Some(first), kind);
                self.problems.push(Problem { document, item, ..problem });
            }
            return;
        }
        let is_other = |note: &Note| matches!(note.kind, NoteKind::NoPods(_)) || is_custom(note);
        let (others, notes) = std::mem::take(&mut self.notes).into_iter().partition(is_other);
        self.notes = notes;
        let others: Vec<Note> = others;
        let custom = others.iter().filter(|note| is_custom(note)).count();
        if (custom, others.len()) == (0, 1) {
            self.notes.extend(others);
            return;
        }
        let mut kinds: Vec<String> = others
            .iter()
            .filter_map(|note| match &note.kind {
                NoteKind::NoPods(object) | NoteKind::CustomResource(object) => {
                    Some(object.kind.clone())
                }
                _ => None,
            })
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        let count = others.len();
        self.notes.extend(others.into_iter().next().map(|first| Note {
            item: None,
            kind: NoteKind::Others { count, custom, kinds },
            ..first
        }));
    }

    /// Keeps what the kubelet takes of a file in its folder of manifests, and returns the rest: it decodes the first document,
    /// which must be a Pod (`tryDecodeSinglePod`, `pkg/kubelet/config/common.go`).
    pub fn keep_static_pod(&mut self) -> Vec<String> {
        let of_problems = self.problems.iter().filter_map(|problem| problem.document);
        let of_notes = self.notes.iter().filter_map(|note| note.document);
        let of_pods = self.pods.iter().map(|loaded| loaded.source.document);
        let Some(first) = of_pods.chain(of_problems).chain(of_notes).min() else {
            return Vec::new();
        };
        let mut left_out = Vec::new();
        self.pods.retain(|LoadedPod { source, .. }| {
            let Source { file, document, item, workload, .. } = source;
            let kind = match workload {
                Some(workload) => Some(workload.kind.as_str()),
                None => item.map(|_| "List"),
            };
            let why = match kind {
                _ if *document != first => "the kubelet reads the first document alone".to_owned(),
                Some(kind) => format!("{kind}: the kubelet takes a Pod alone"),
                None => return true,
            };
            left_out.push(format!("{file}: document {document}: {why}"));
            false
        });
        left_out.dedup();
        left_out
    }

    /// Adds the result of another file.
    pub fn append(&mut self, mut other: Self) {
        match self.pods.is_empty() {
            true => self.pods = other.pods,
            false => self.pods.append(&mut other.pods),
        }
        self.problems.append(&mut other.problems);
        self.notes.append(&mut other.notes);
    }
}

/// A pod and where it is from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LoadedPod {
    /// The pod. Its namespace is never empty.
    pub pod: Shared<Pod>,
    /// Where it is from.
    pub source: Source,
}

/// Where a pod is from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// The file, as the caller named it.
    pub file: Arc<str>,
    /// The document in the file; the first is 1.
    pub document: usize,
    /// The place in the document's list, as in `items[0]`; the outer one where lists are nested.
    pub item: Option<usize>,
    /// The workload of the template.
    pub workload: Option<Workload>,
    /// The namespace was not set and is `default`, as with kubectl.
    pub namespace_defaulted: bool,
    /// A controller or the API server makes up the real name: the pod bears that of its workload, or
    /// none but a `generateName`.
    pub name_generated: bool,
}

/// The workload that a template is from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The name of the workload.
    pub name: String,
    /// The number of pods (of a job: its parallelism); `None`: not set.
    pub replicas: Option<i64>,
}

impl Workload {
    /// Names its pod as one of so many; `None`: it is the only one.
    pub fn one_pod(&self) -> Option<String> {
        let of = match self.replicas {
            Some(1) => return None,
            Some(0) => format!(" ({}: 0 makes none)", self.field()),
            Some(replicas) => format!(" of {replicas}"),
            None => String::new(),
        };
        Some(format!("{} {}: one pod{of}", self.kind, self.name))
    }

    /// Returns the field with the number of its pods.
    pub fn field(&self) -> &'static str {
        if matches!(&*self.kind, "Job" | "CronJob") { "parallelism" } else { "replicas" }
    }
}

/// Something worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file, as the caller named it.
    pub file: Arc<str>,
    /// The document in the file, the first is 1; `None`: the note is about the whole file.
    pub document: Option<usize>,
    /// The place in the document's list.
    pub item: Option<usize>,
    pub kind: NoteKind,
}

/// The kinds of notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// An object of a known kind without pods.
    NoPods(Object),
    /// A custom resource, which kq does not know.
    CustomResource(Object),
    /// The other objects of a file, apart from its pods.
    Others {
        /// How many.
        count: usize,
        /// How many of them are custom resources.
        custom: usize,
        /// Their kinds, each once.
        kinds: Vec<String>,
    },
    /// A list without items.
    EmptyList {
        /// The kind of the list.
        kind: String,
    },
    /// A duplicate key in one mapping; its last value counts.
    DuplicateKey {
        /// The key, in JSON with its path, if known.
        key: Option<String>,
        /// The position of the later one, if known.
        position: Option<Position>,
    },
    /// A field that its Kubernetes type does not have; it is passed over.
    UnknownField {
        object: Object,
        /// The field, such as `spec.containers[0].resource`.
        path: FieldPath,
        /// The field that was probably meant.
        nearest: Option<&'static str>,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The others of a file are not those of its first document alone.
        let document = self.document.filter(|_| !matches!(self.kind, NoteKind::Others { .. }));
        write_place(f, &self.file, document, self.item)?;
        match &self.kind {
            NoteKind::NoPods(object) => write!(f, "{object} carries no pods"),
            NoteKind::CustomResource(object) => write!(f, "{object} is passed over"),
            NoteKind::Others { count, custom, kinds } => {
                match (count, custom) {
                    (1, _) => f.write_str("1 custom resource is passed over: ")?,
                    (_, 0) => write!(f, "{count} objects carry no pods: ")?,
                    _ if count == custom => {
                        write!(f, "{count} custom resources are passed over: ")?;
                    }
                    _ => write!(f, "{count} objects are passed over: ")?,
                }
                f.write_str(&kinds.join(", "))
            }
            NoteKind::EmptyList { kind } => write!(f, "{kind:?} has no items"),
            NoteKind::DuplicateKey { key, position } => {
                if let Some(position) = position {
                    write!(f, "{position}: ")?;
                }
                match key {
                    Some(key) => write!(f, "key {key:?}")?,
                    None => f.write_str("a key")?,
                }
                f.write_str(" came before; the last one counts")
            }
            NoteKind::UnknownField { object, path, nearest } => {
                write!(f, "{object}: unknown field {path} is ignored")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean {nearest}?"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Writes the place that notes and problems begin with.
pub(super) fn write_place(
    f: &mut fmt::Formatter<'_>,
    file: &str,
    document: Option<usize>,
    item: Option<usize>,
) -> fmt::Result {
    write!(f, "{file}: ")?;
    if let Some(document) = document {
        write!(f, "document {document}: ")?;
    }
    match item {
        Some(item) => write!(f, "items[{item}]: "),
        None => Ok(()),
    }
}
