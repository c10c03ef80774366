//! What is wrong with a file, or worth knowing of it.

use crate::facts::checkpoint::StateFile;
use serde::Serialize;
use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Wrong: no healthy kubelet writes that.
    Error,
    /// Works, and is odd.
    Warning,
    /// As it should be, and worth knowing.
    Note,
}

/// Something in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Which rule found it; it does not change from version to version of kq.
    pub id: &'static str,
    /// The file.
    pub path: String,
    /// Where in it.
    pub place: String,
    /// What is there.
    pub found: String,
    /// Why that matters.
    pub why: String,
    /// What to do.
    pub advice: String,
}

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
        self.found.push(Finding {
            severity,
            id,
            path: self.path.to_owned(),
            place: place.into(),
            found: found.into(),
            why: why.into(),
            advice: match severity {
                Severity::Note => "nothing".to_owned(),
                _ => String::new(),
            },
        });
    }

    /// Says what to do about the last.
    pub fn advise(&mut self, advice: impl Into<String>) {
        if let Some(last) = self.found.last_mut() {
            last.advice = advice.into();
        }
    }

    /// Makes each of them a thing that may follow from damage: the bytes that say so are not what the kubelet
    /// wrote.
    pub fn doubt(&mut self) {
        for finding in &mut self.found {
            finding.severity = Severity::Note;
            finding.why = "may follow from the damage".to_owned();
            finding.advice = "nothing: what the file says is not certain".to_owned();
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

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "ERROR",
            Self::Warning => "WARNING",
            Self::Note => "NOTE",
        })
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
