//! The findings in one file.

use super::rule::doubt;
use crate::answer::{Finding, Rule, Severity, Subject};

#[derive(Debug)]
pub(super) struct Findings<'p> {
    path: &'p str,
    found: Vec<Finding>,
}

impl<'p> Findings<'p> {
    /// Begins with none.
    pub fn of(path: &'p str) -> Self {
        Self { path, found: Vec::new() }
    }

    /// Adds what a rule found at a place of the file.
    pub fn add(&mut self, place: impl Into<String>, rule: &impl Rule) {
        let subject = Subject::File { path: self.path.to_owned(), place: place.into() };
        self.found.push(Finding::of(subject, rule));
    }

    /// Makes each of them a thing that may follow from damage.
    pub fn doubt(&mut self) {
        self.found.iter_mut().for_each(doubt);
    }

    /// Tells whether there is an error among them.
    pub fn have_error(&self) -> bool {
        self.found.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Returns them.
    pub fn into_vec(self) -> Vec<Finding> {
        self.found
    }
}
