//! What was loaded, and from where.

use super::field::FieldPath;
use super::problem::{Object, Position, Problem};
use crate::k8s::pod::Pod;
use std::fmt;
use std::sync::Arc;

/// Everything that came out of one or more files.
#[derive(Debug, Default, PartialEq)]
pub struct Loaded {
    /// The pods, in the order of the input.
    pub pods: Vec<LoadedPod>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// What is worth knowing and loses nothing.
    pub notes: Vec<Note>,
}

impl Loaded {
    /// Adds what came out of another file.
    pub fn append(&mut self, mut other: Self) {
        self.pods.append(&mut other.pods);
        self.problems.append(&mut other.problems);
        self.notes.append(&mut other.notes);
    }
}

/// A pod and where it is from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LoadedPod {
    /// The pod. Its namespace is never empty.
    pub pod: Pod,
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
    /// The workload whose template this is.
    pub workload: Option<Workload>,
    /// The namespace was not given and `default` was taken, as kubectl would.
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
    /// How many pods it asks for (of a job: its parallelism), when it says so.
    pub replicas: Option<i64>,
}

impl Workload {
    /// Names its pod as one of so many; `None`: it is the only one.
    pub fn one_pod(&self) -> Option<String> {
        let of = match self.replicas {
            Some(1) => return None,
            Some(replicas) => format!(" of {replicas}"),
            None => String::new(),
        };
        Some(format!("{} {}: one pod{of}", self.kind, self.name))
    }
}

/// Something worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file, as the caller named it.
    pub file: Arc<str>,
    /// The document in the file; the first is 1.
    pub document: usize,
    /// The place in the document's list.
    pub item: Option<usize>,
    /// What it is.
    pub kind: NoteKind,
}

/// What is worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// An object of a known kind that carries no pods.
    NoPods(Object),
    /// A list without items.
    EmptyList {
        /// The kind of the list.
        kind: String,
    },
    /// A key came twice in one mapping; its last value was taken.
    DuplicateKey {
        /// The key, in JSON with the way to it, when known.
        key: Option<String>,
        /// Where the later one is, when known.
        position: Option<Position>,
    },
    /// A field that its Kubernetes type does not have; it is passed over.
    UnknownField {
        /// The object.
        object: Object,
        /// The field, such as `spec.containers[0].resource`.
        path: FieldPath,
        /// The field that was probably meant.
        nearest: Option<&'static str>,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.file, Some(self.document), self.item)?;
        match &self.kind {
            NoteKind::NoPods(object) => write!(f, "{object} carries no pods"),
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
