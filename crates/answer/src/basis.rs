//! The facts, assumptions and gaps behind an answer.

pub use super::missing::{Missing, MissingFact};
use super::origin::Origin;
pub use super::warning::{Warning, WarningCode};
use kq_k8s::patch_fixes::PatchNote;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The facts, assumptions and gaps behind an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Basis {
    /// Facts by name: a field of the kubelet's configuration, or kq's own name.
    pub facts: BTreeMap<String, Fact>,
    /// Facts that no source supplied and that were assumed.
    pub assumptions: Vec<Assumption>,
    /// Facts that no source supplied and without which the answer is incomplete.
    pub missing: Vec<Missing>,
    /// Contradictions and oddities in the sources.
    pub warnings: Vec<Warning>,
    /// No kubelet was found where one was looked for.
    #[serde(skip)]
    pub lacks_kubelet: bool,
}

/// A fact and its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fact {
    /// The value; null is unknown.
    pub value: Value,
    /// A flag, a file or another source; `default` (the kubelet's) or `assumed`.
    pub origin: Origin,
}

/// A fact that was assumed.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Assumption {
    /// The assumption in words.
    pub text: String,
    /// The name of the fact; null: the assumption is not about one fact.
    pub fact: Option<String>,
    /// The value that was assumed.
    pub value: Option<String>,
    /// `default`: the kubelet's default. `assumed`: the choice of kq.
    pub origin: Option<Origin>,
    /// The flags that supply the fact.
    pub flags: Vec<String>,
}

impl Basis {
    /// Records a fact.
    pub fn know(&mut self, name: &str, value: impl Into<Value>, origin: Origin) {
        self.facts.insert(name.to_owned(), Fact { value: value.into(), origin });
    }

    /// Records an assumption.
    pub fn assume(&mut self, assumption: impl Into<Assumption>) {
        self.assumptions.push(assumption.into());
    }

    /// Records assumptions.
    pub fn assume_all<A: Into<Assumption>>(&mut self, assumptions: impl IntoIterator<Item = A>) {
        self.assumptions.extend(assumptions.into_iter().map(Into::into));
    }

    /// Records a missing fact.
    pub fn lack(&mut self, missing: Missing) {
        self.missing.push(missing);
    }

    /// Records missing facts.
    pub fn lack_all(&mut self, missing: impl IntoIterator<Item = Missing>) {
        self.missing.extend(missing);
    }

    /// Records a warning.
    pub fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    /// Records warnings.
    pub fn warn_all(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        self.warnings.extend(warnings);
    }

    /// Returns true if every fact was there.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }
}

impl Assumption {
    /// Returns an assumption with the flags that supply the fact.
    pub fn new<F: Into<String>>(
        text: impl Into<String>,
        flags: impl IntoIterator<Item = F>,
    ) -> Self {
        let flags = flags.into_iter().map(Into::into).collect();
        Self { text: text.into(), flags, ..Self::default() }
    }

    /// Returns the assumption of one fact.
    pub fn of_fact(
        fact: impl Into<String>,
        value: impl Into<String>,
        origin: Origin,
        flag: Option<String>,
    ) -> Self {
        let (fact, value) = (fact.into(), value.into());
        Self {
            text: format!("{fact} {value}"),
            fact: Some(fact),
            value: Some(value),
            origin: Some(origin),
            flags: Vec::from_iter(flag),
        }
    }
}

impl From<String> for Assumption {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// A patch that is not known is a fact that a flag supplies.
impl From<PatchNote> for Assumption {
    fn from(note: PatchNote) -> Self {
        let flags = note.is_assumed_fixed.then(|| "--kubelet-version VERSION".to_owned());
        Self {
            text: note.to_string(),
            fact: Some("kubeletVersion".to_owned()),
            value: Some(note.version.to_string()),
            origin: None,
            flags: Vec::from_iter(flags),
        }
    }
}

impl From<&str> for Assumption {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_flags(f, &self.text, &self.flags)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_flags(f, &self.text, &self.flags)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq<&str> for Assumption {
    fn eq(&self, shown: &&str) -> bool {
        is_shown_as(&self.text, &self.flags, shown)
    }
}

impl PartialEq<&str> for Missing {
    fn eq(&self, shown: &&str) -> bool {
        is_shown_as(&self.text, &self.flags, shown)
    }
}

impl PartialEq<&str> for Warning {
    fn eq(&self, shown: &&str) -> bool {
        self.text == *shown
    }
}

fn with_flags(f: &mut fmt::Formatter<'_>, text: &str, flags: &[String]) -> fmt::Result {
    f.write_str(text)?;
    match flags {
        [] => Ok(()),
        _ => write!(f, " ({})", flags.join(", ")),
    }
}

fn is_shown_as(text: &str, flags: &[String], shown: &str) -> bool {
    let Some(rest) = shown.strip_prefix(text) else { return false };
    match flags {
        [] => rest.is_empty(),
        _ => rest == format!(" ({})", flags.join(", ")),
    }
}
