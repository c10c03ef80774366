//! The problems of a manifest.
//!
//! Where in the input an object is.

use super::field::FieldPath;
use super::kinds;
use super::load::{Note, NoteKind, Source, Workload, write_place};
use crate::validation::FieldError;
use crate::yaml::Step;
use std::fmt;
use std::sync::Arc;

/// Something that could not be read, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the caller named it.
    pub file: Arc<str>,
    /// The document in the file; the first is 1. None when it is about the whole file.
    pub document: Option<usize>,
    /// The place in the document's list.
    pub item: Option<usize>,
    /// The object, as far as it could be read.
    pub object: Option<Object>,
    pub kind: ProblemKind,
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.file, self.document, self.item)?;
        if let Some(object) = &self.object {
            write!(f, "{object}: ")?;
        }
        write!(f, "{}", self.kind)
    }
}

/// The name of an object, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// The kind; empty when unknown.
    pub kind: String,
    /// The namespace; empty: not set.
    pub namespace: String,
    /// The name; empty: not set.
    pub name: String,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind.is_empty() { "object" } else { &self.kind };
        write!(f, "{}", kind.escape_debug())?;
        match (self.namespace.as_str(), self.name.as_str()) {
            (_, "") => Ok(()),
            ("", name) => write!(f, " {}", name.escape_debug()),
            (space, name) => write!(f, " {}/{}", space.escape_debug(), name.escape_debug()),
        }
    }
}

/// Which syntax a text was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Json,
    Yaml,
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        })
    }
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1; bytes in JSON, characters in YAML.
    pub column: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The kinds of problems.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// The file is larger than is read.
    #[error("{size} bytes of {syntax}, more than the limit of {limit}")]
    TooLarge {
        /// The assumed syntax.
        syntax: Syntax,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The file is broken UTF-16, or UTF-32.
    #[error("{encoding} text; only UTF-8 and UTF-16 are read")]
    Encoding {
        /// The encoding that its first bytes announce.
        encoding: &'static str,
    },
    /// The file is not text.
    #[error("byte {offset} is not text; a manifest is YAML or JSON in UTF-8")]
    NotText {
        /// Where the first byte that is no text is, from 0.
        offset: usize,
    },
    /// The text has a syntax error.
    #[error("{position}: not {syntax}: {message}")]
    Syntax {
        /// The syntax that it was read as.
        syntax: Syntax,
        /// Where.
        position: Position,
        /// The parser's message.
        message: String,
    },
    /// The file has no objects.
    #[error("holds no objects")]
    Empty,
    /// The document is not an object.
    #[error("expected an object, found {found}")]
    NotAnObject { found: &'static str },
    /// The object lacks `kind` or `apiVersion`.
    #[error("{field} is not set")]
    Missing { field: &'static str },
    #[error("unknown kind {kind:?}; accepted are {}", kinds::ACCEPTED)]
    UnknownKind {
        /// The kind, shortened.
        kind: String,
    },
    /// The API version does not have this kind.
    #[error("apiVersion {found:?} has no {kind}, expected {expected:?}")]
    ApiVersion {
        kind: String,
        /// The version in the object, shortened.
        found: String,
        /// The version that has the kind.
        expected: &'static str,
    },
    /// Lists within lists, too deep.
    #[error("lists are nested more than {limit} deep")]
    NestedLists {
        /// How deep they may be.
        limit: usize,
    },
    /// A field does not have the right type.
    #[error("{}{path}: {}{message}", before(position.as_ref()), before(value.as_ref()))]
    Field {
        /// Where its value is, if the file is YAML and it could be found.
        position: Option<Position>,
        /// The field, such as `spec.containers[0].resources.requests.cpu`.
        path: FieldPath,
        /// Its value as JSON, shortened.
        value: Option<String>,
        /// The error, with the expected value.
        message: String,
    },
    /// The API server would refuse the pod.
    #[error(transparent)]
    Invalid(#[from] FieldError),
}

fn before(part: Option<&impl fmt::Display>) -> String {
    part.map(|part| format!("{part}: ")).unwrap_or_default()
}

/// The most characters of foreign text that a message shows.
const SHOWN: usize = 80;

/// Cuts foreign text for a message.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The place of an object, as far as reading has come.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) file: Arc<str>,
    pub(super) document: usize,
    pub(super) item: Option<usize>,
    /// The way on from the item, where lists are in lists.
    pub(super) inner: Vec<Step>,
}

impl Place {
    /// Returns the place of a file's first document.
    pub(super) fn of_file(file: &str) -> Self {
        Self { file: Arc::from(file), document: 1, item: None, inner: Vec::new() }
    }

    /// Returns the place of another document of the file.
    pub(super) fn document(&self, document: usize) -> Self {
        let mut place = self.clone();
        place.document = document;
        place
    }

    /// Returns the place of an item of the list at this place.
    pub(super) fn item(&self, at: usize) -> Self {
        let mut place = self.clone();
        if self.item.is_none() {
            place.item = Some(at);
        } else {
            let items = [Step::Key("items".to_owned()), Step::Index(at)];
            place.inner.extend(items);
        }
        place
    }

    pub(super) fn problem(&self, object: Option<Object>, kind: ProblemKind) -> Problem {
        let file = Arc::clone(&self.file);
        Problem { file, document: Some(self.document), item: self.item, object, kind }
    }

    pub(super) fn note(&self, kind: NoteKind) -> Note {
        Note { file: Arc::clone(&self.file), document: Some(self.document), item: self.item, kind }
    }

    pub(super) fn source(&self, workload: Option<Workload>) -> Source {
        Source {
            file: Arc::clone(&self.file),
            document: self.document,
            item: self.item,
            workload,
            namespace_defaulted: false,
            name_generated: false,
        }
    }
}
