//! The texts, and why one cannot be had or used.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of reading a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Text {
    /// The text, exactly as it was read.
    Read(String),
    /// There is no such file.
    Absent,
    /// Why it could not be read: a lowercase fragment.
    Unreadable(String),
}

/// What the node's kernel and files say, unparsed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostFacts {
    /// The files by their path on the node. A path that ends in a slash is a folder: its text is the
    /// names in it, one per line.
    pub texts: BTreeMap<String, Text>,
    /// The size of a page of memory, in bytes.
    pub page_size: Option<i64>,
}

/// Why a fact cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostFactError {
    /// Nobody tried to read the file: the facts are from a kq that did not need it.
    #[error("{path}: was not read")]
    NotRead {
        /// The file on the node.
        path: String,
    },
    /// There is no such file.
    #[error("{path}: no such file")]
    Absent {
        /// The file on the node.
        path: String,
    },
    /// It could not be read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The file on the node.
        path: String,
        /// Why.
        reason: String,
    },
    /// It says something else than such a file does.
    #[error("{path}: {value:?}: {problem}")]
    Invalid {
        /// The file on the node.
        path: String,
        /// What it says, shortened.
        value: String,
        /// What is wrong.
        problem: String,
    },
}

impl HostFacts {
    /// Returns the text of a file.
    ///
    /// # Errors
    ///
    /// Fails for a file that was not read, with the reason.
    pub fn text(&self, path: &str) -> Result<&str, HostFactError> {
        let path = || path.to_owned();
        match self.texts.get(&path()) {
            Some(Text::Read(text)) => Ok(text),
            Some(Text::Absent) => Err(HostFactError::Absent { path: path() }),
            Some(Text::Unreadable(reason)) => {
                Err(HostFactError::Unreadable { path: path(), reason: reason.clone() })
            }
            None => Err(HostFactError::NotRead { path: path() }),
        }
    }
}

impl HostFactError {
    /// Tells whether the file is not there, which for some files is an answer.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }

    /// Returns an error about a text, of which it keeps the beginning.
    pub(super) fn invalid(path: &str, value: &str, problem: impl Into<String>) -> Self {
        const MOST: usize = 60;
        let mut shown: String = value.chars().take(MOST).collect();
        if shown.len() < value.len() {
            shown.push_str("...");
        }
        Self::Invalid { path: path.to_owned(), value: shown, problem: problem.into() }
    }
}
