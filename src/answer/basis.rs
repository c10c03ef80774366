//! The facts, assumptions and gaps behind an answer.

use crate::facts::kubelet::KubeletStart;
pub use crate::facts::missing::{Missing, MissingFact};
use crate::facts::node::NodeFacts;
use crate::facts::origin::Origin;
use crate::facts::pod_selector::Selection;
pub use crate::facts::warning::{Warning, WarningCode};
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

    /// Records the start of the kubelet.
    pub fn know_start(&mut self, start: &KubeletStart) {
        let origin = Origin::Source(start.source.to_string());
        self.know("kubeletStart", start.at.to_string(), origin);
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

impl Missing {
    /// Returns the labels that a selection would have needed.
    pub fn of_selection(selection: &Selection) -> Option<Self> {
        let pods = &selection.unlabelled;
        let named = pods.iter().take(NAMED_PODS).map(String::as_str);
        let named = named.collect::<Vec<_>>().join(", ");
        let text = match pods.len() {
            0 => return None,
            1 => format!("--selector leaves out {named}: its labels are unknown"),
            count if count <= NAMED_PODS => {
                format!("--selector leaves out {named}: their labels are unknown")
            }
            count => format!(
                "--selector leaves out {count} pods, whose labels are unknown: {named}, ..."
            ),
        };
        let missing = Self::new(MissingFact::PodLabels, text).with_flags(["--pods"]);
        Some(match pods.as_slice() {
            [pod] => missing.about(pod),
            _ => missing,
        })
    }
}

/// The number of pods that a missing fact names.
const NAMED_PODS: usize = 5;

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

impl From<&NodeFacts> for BTreeMap<String, Fact> {
    fn from(facts: &NodeFacts) -> Self {
        let one = |fact: &crate::facts::node::NodeFact| {
            let known = Fact { value: fact.value.clone(), origin: fact.origin.clone() };
            (fact.name.to_owned(), known)
        };
        facts.0.iter().map(one).collect()
    }
}

impl From<String> for Assumption {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
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
