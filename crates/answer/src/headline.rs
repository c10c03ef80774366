//! The answer in one sentence.

use super::{Basis, Finding, Severity};
use kq_output::units::counted;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The first sentence of an answer, made of its facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Headline {
    /// A stable code for the sentence.
    pub code: Cow<'static, str>,
    /// The sentence.
    pub text: String,
    /// It says that all is well, which no answer says that lacks a fact.
    #[serde(skip)]
    pub comforts: bool,
}

impl Headline {
    /// Returns a sentence.
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code: code.into(), text: text.into(), comforts: false }
    }

    /// Returns a sentence that says that all is well.
    pub fn good(code: &'static str, text: impl Into<String>) -> Self {
        Self { comforts: true, ..Self::new(code, text) }
    }

    /// Returns the sentence of an answer with this basis: what was not known takes the comfort away, and a node without a
    /// kubelet comes first.
    pub fn with(self, basis: &Basis) -> Self {
        let told = match basis.missing.len() {
            missing @ 1.. if self.comforts => {
                let lacks = if missing == 1 { "is" } else { "are" };
                let missing = counted(missing, "fact");
                let text = format!("{}, as far as is known: {missing} {lacks} missing", self.text);
                Self::new("incomplete", text)
            }
            _ => self,
        };
        match basis.lacks_kubelet {
            true => Self {
                text: format!("no kubelet was found; {}", told.text),
                comforts: false,
                ..told
            },
            false => told,
        }
    }

    /// Returns a sentence whose code is a result, as JSON has it.
    pub fn of(result: &impl Serialize, text: impl Into<String>) -> Self {
        let code = match serde_json::to_value(result) {
            Ok(Value::String(code)) => code.into(),
            _ => "result".into(),
        };
        Self { code, text: text.into(), comforts: false }
    }

    /// Returns what findings come to: how many there are, and the worst of them.
    pub fn of_findings(findings: &[Finding]) -> Self {
        let of = |severity| move |it: &&Finding| it.severity == severity;
        // What is known to be wrong comes before what is unknown.
        let order = [
            (Severity::Error, "error"),
            (Severity::Warning, "warning"),
            (Severity::Unknown, "unknown"),
        ];
        let counts =
            order.map(|(severity, word)| (findings.iter().filter(of(severity)).count(), word));
        let first = order.iter().find_map(|(severity, _)| findings.iter().find(of(*severity)));
        let Some(first) = first else {
            return Self::good("no-problem", "no problem was found");
        };
        let told = counts.into_iter().filter(|(count, _)| *count > 0);
        let told: Vec<String> = told
            .map(|(count, word)| match word {
                "unknown" => format!("{count} unknown"),
                word => counted(count, word),
            })
            .collect();
        let code = match counts {
            [(0, _), (_, _), (0, _)] => "warnings",
            [(0, _), ..] => "unknown",
            _ => "errors",
        };
        let which = match findings.iter().filter(of(first.severity)).count() > 1 {
            true => "the first",
            false => "the worst",
        };
        // A fact that is missing says nothing without its check.
        let subject = match first.subject {
            super::Subject::Node if first.severity == Severity::Unknown => {
                format!("{}: ", first.id)
            }
            super::Subject::Node => String::new(),
            _ => format!("{}: ", first.subject),
        };
        Self::new(code, format!("{}; {which}: {subject}{}", told.join(", "), first.found))
    }
}
