//! What an answer rests on beside its facts.

use serde::Serialize;

/// What an answer rests on beside its facts, as sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Basis {
    /// What nobody said and was taken for granted.
    pub assumptions: Vec<String>,
    /// What is odd.
    pub warnings: Vec<String>,
    /// What could not be had, with the flag that supplies it.
    pub missing: Vec<String>,
}
