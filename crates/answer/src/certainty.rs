//! The certainty of an answer.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// The certainty of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Certainty {
    /// The evidence forces it.
    Certain,
    /// The evidence points to it, and leaves another explanation.
    Likely,
    /// The evidence allows it, as it allows other answers.
    Possible,
    /// There is no evidence.
    Unknown,
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Possible => "possible",
            Self::Unknown => "unknown",
        })
    }
}
