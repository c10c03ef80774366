//! The errors of a trace.

use super::KIND;
use kq_facts::snapshot::API_VERSION;
use kq_k8s::duration::GoDuration;

/// Why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("not UTF-8 text")]
    NotText,
    /// It is neither YAML nor JSON.
    #[error("{0}")]
    Syntax(String),
    /// It does not hold one object.
    #[error("holds {0} documents, expected one")]
    Documents(usize),
    /// The answer of a live run has none, or several.
    #[error("a ProbeRun with {traces} traces, expected one")]
    Run {
        /// How many.
        traces: usize,
    },
    /// It is something else.
    #[error("{field} is {found}, expected {expected}")]
    Kind {
        /// `apiVersion` or `kind`.
        field: &'static str,
        /// What it says.
        found: String,
        /// Its only value.
        expected: &'static str,
    },
    /// A field that a trace does not have.
    #[error("unknown field {path}")]
    UnknownField {
        path: String,
        /// What was probably meant, or what there is.
        hint: String,
    },
    /// A field that has to be there.
    #[error("{path} is missing, expected {expected}")]
    Missing {
        path: String,
        /// What it should be.
        expected: String,
    },
    /// A value that it cannot have.
    #[error("{path} is {value}, expected {expected}")]
    Value {
        path: String,
        value: String,
        /// What it should be.
        expected: String,
        /// What was probably meant.
        nearest: Option<&'static str>,
    },
    /// Two fields that do not go together.
    #[error("{path} goes with {with} only")]
    Alone {
        path: String,
        /// What has to be there as well.
        with: &'static str,
    },
    /// Two fields that say the same.
    #[error("{path} and {other}: only one of them is allowed")]
    Both {
        path: String,
        /// The other field.
        other: &'static str,
    },
    /// A step before the one before.
    #[error("{path} is {at}, earlier than the previous step, at {before}")]
    Order {
        path: String,
        /// When it is.
        at: GoDuration,
        /// When the step before is.
        before: GoDuration,
    },
    /// A time where all others are durations.
    #[error("{path} is a time, and the time of 0s is not set")]
    NoOrigin { path: String },
}

impl TraceError {
    /// Returns the way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownField { hint, .. } => Some(hint.clone()),
            Self::Value { nearest: Some(nearest), .. } => Some(format!("did you mean {nearest}?")),
            Self::Kind { .. } => {
                Some(format!("a trace begins with apiVersion: {API_VERSION} and kind: {KIND}"))
            }
            Self::Run { traces: 0 } => {
                Some("kq probe run writes a trace with --count or --until-action".to_owned())
            }
            Self::Run { .. } => Some("run one probe alone: -c CONTAINER --type TYPE".to_owned()),
            Self::Order { .. } => {
                Some("order the steps by time; a step without at is one period later".to_owned())
            }
            Self::NoOrigin { .. } => {
                Some("add start: 2026-11-20T12:00:00Z, or give the first step a time".to_owned())
            }
            _ => None,
        }
    }
}
