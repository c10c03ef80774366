//! The result of querying sources for a fact: the value and its source, or why each source failed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of querying sources in order until one answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lookup<T> {
    /// The answer of the first source that answered; `None`: none did.
    pub found: Option<Sourced<T>>,
    /// The sources that did not answer, in the order of the queries.
    pub tried: Vec<FailedSource>,
}

/// The answer of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sourced<T> {
    /// The source, as it is displayed: a path, a URL, an endpoint.
    pub source: String,
    pub value: T,
}

/// A source that did not answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FailedSource {
    /// The source, as it is displayed.
    pub source: String,
    /// The reason, as a lowercase fragment.
    pub reason: String,
}

/// The origin of a path or an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// The operator, with a flag or in the environment: that is his word.
    Operator,
    /// A process, a file or a server of the node, or a default: it must be trusted.
    Node,
}

impl fmt::Display for FailedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.reason)
    }
}

impl<T> Default for Lookup<T> {
    fn default() -> Self {
        Self { found: None, tried: Vec::new() }
    }
}

impl<T> Lookup<T> {
    /// Returns a fact that a source knew.
    pub fn found(source: impl Into<String>, value: T) -> Self {
        Self { found: Some(Sourced { source: source.into(), value }), tried: Vec::new() }
    }

    /// Returns a fact for which a source failed.
    pub fn failed(source: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            found: None,
            tried: vec![FailedSource { source: source.into(), reason: reason.into() }],
        }
    }

    /// Returns true if every source that was queried failed.
    pub fn has_failed(&self) -> bool {
        self.found.is_none() && !self.tried.is_empty()
    }

    /// Returns true if no source was queried.
    pub fn was_not_queried(&self) -> bool {
        self.found.is_none() && self.tried.is_empty()
    }

    pub fn value(&self) -> Option<&T> {
        self.found.as_ref().map(|found| &found.value)
    }

    /// Returns the failures in one line: `SOURCE: REASON; SOURCE: REASON`.
    pub fn reason(&self) -> String {
        let tried: Vec<String> = self.tried.iter().map(ToString::to_string).collect();
        if tried.is_empty() { "not looked for".to_owned() } else { tried.join("; ") }
    }
}
