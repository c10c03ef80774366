//! What is wrong with a file, or worth knowing of it.

use crate::answer::{Finding, Severity, Subject};
use crate::facts::checkpoint::StateFile;

/// The findings in one file.
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

    /// Adds one: which rule, where, what, and why that matters.
    pub fn add(
        &mut self,
        severity: Severity,
        id: &'static str,
        place: impl Into<String>,
        found: impl Into<String>,
        why: impl Into<String>,
    ) {
        let subject = Subject::File { path: self.path.to_owned(), place: place.into() };
        let finding = Finding::new(severity, id, subject, found).because(why);
        self.found.push(match severity {
            Severity::Info => finding.advise("nothing"),
            _ => finding,
        });
    }

    /// Says what to do about the last.
    pub fn advise(&mut self, advice: impl Into<String>) {
        if let Some(last) = self.found.last_mut() {
            last.advice = Some(advice.into());
        }
    }

    /// Makes each of them a thing that may follow from damage: the bytes that say so are not what the kubelet
    /// wrote.
    pub fn doubt(&mut self) {
        for finding in &mut self.found {
            finding.severity = Severity::Info;
            finding.why = Some("may follow from the damage".to_owned());
            finding.advice = Some("nothing: the content of the file is not certain".to_owned());
        }
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

/// What to do with a file of state that the kubelet does not take.
pub(super) const DELETE: &str =
    "drain the node, stop the kubelet, move the file away, start the kubelet";

/// What to do with a device checkpoint.
pub(super) fn mend(file: StateFile) -> &'static str {
    match file {
        StateFile::Devices => {
            "nothing while the kubelet runs, which goes by what it has in memory; for one that is stopped: \
             kq devices repair"
        }
        _ => DELETE,
    }
}
