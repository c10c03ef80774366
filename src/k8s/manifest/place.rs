//! Where in the input an object is.

use super::loaded::{Note, NoteKind, Source, Workload};
use super::problem::{Object, Problem, ProblemKind};
use crate::k8s::yaml::Step;
use std::sync::Arc;

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
        Note { file: Arc::clone(&self.file), document: self.document, item: self.item, kind }
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
