//! The parts that all answers share.

// What the derive of reasons writes names this crate.
extern crate self as kq_answer;

/// Facts, assumptions, missing facts, warnings.
mod basis;
/// The certainty of an answer.
mod certainty;
pub mod cgroup_fact;
/// Why a question has no answer.
mod failure;
/// Results of rules, with one severity.
mod finding;
/// Findings as tables.
pub mod finding_export;
pub mod finding_view;
mod headline;
pub mod missing;
pub mod origin;
mod plan_digest;
pub mod reason;
pub mod warning;
/// Reasons with their sentences.
mod worded;

pub use basis::{Assumption, Basis, Fact, Missing, MissingFact, Warning, WarningCode};
pub use certainty::Certainty;
pub use failure::{Failure, FailureKind};
pub use finding::{Finding, Rule, RuleFinding, Sentences, Severity, Subject, Topic, Wording};
pub use headline::Headline;
pub use kq_derive::Wording;
pub use plan_digest::{plan_digest, sha256};
pub use worded::Worded;

pub use kq_output::metrics::Metrics;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::Serialize;

/// The version of the contract that every answer follows in JSON and YAML.
pub const API_VERSION: &str = "kq/v2";

/// An answer to a question.
pub trait Answer: Serialize + JsonSchema {
    /// The kind of the answer, which names its shape.
    const KIND: &'static str;

    /// Returns what the answer rests on.
    fn basis(&self) -> &Basis;

    /// Returns the answer in one sentence; lists and protocols have none.
    fn headline(&self) -> Option<Headline> {
        None
    }

    /// Returns that sentence, without comfort where a fact is missing.
    fn sentence(&self) -> Option<Headline> {
        self.headline().map(|it| it.with(self.basis()))
    }

    /// Adds the numbers of the answer that are worth a graph; most answers have none.
    fn metrics(&self, _metrics: &mut Metrics) {}
}

/// An answer as JSON and YAML have it: the version of the contract, the kind, the answer's own fields.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Document<'a, A> {
    api_version: &'static str,
    kind: &'static str,
    /// The answer in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    headline: Option<Headline>,
    #[serde(flatten)]
    answer: &'a A,
}

impl<'a, A: Answer> Document<'a, A> {
    /// Returns the document of an answer.
    pub fn of(answer: &'a A) -> Self {
        let headline = answer.sentence();
        Self { api_version: API_VERSION, kind: A::KIND, headline, answer }
    }

    /// Returns the JSON Schema of the documents of this kind.
    pub fn schema() -> Schema {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut schema = settings.into_generator().into_root_schema_for::<Self>();
        schema.insert("title".to_owned(), A::KIND.into());
        for (field, value) in [("apiVersion", API_VERSION), ("kind", A::KIND)] {
            let fields = schema.get_mut("properties").and_then(|it| it.get_mut(field));
            if let Some(field) = fields {
                *field = serde_json::json!({ "const": value });
            }
        }
        schema
    }
}

/// Makes a type with a field `basis` the answer of a kind; `metrics` adds its numbers, and `headline`, after a
/// semicolon, is its sentence.
#[macro_export]
macro_rules! answer {
    ($kind:literal, $answer:ty $(, $metrics:path)? $(; $headline:path)?) => {
        impl $crate::Answer for $answer {
            const KIND: &'static str = $kind;

            fn basis(&self) -> &$crate::Basis {
                &self.basis
            }

            $(fn headline(&self) -> Option<$crate::Headline> {
                Some($headline(self))
            })?

            $(fn metrics(&self, metrics: &mut $crate::Metrics) {
                $metrics(self, metrics);
            })?
        }
    };
}
