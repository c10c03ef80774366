//! The result of one attempt in a trace.

use crate::probe::attempt::{Attempt, ProbeResult};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// One attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceAttempt {
    /// What the prober said.
    pub result: ProbeResult,
    /// The text of the event.
    pub message: String,
    /// The prober failed.
    pub error: Option<String>,
}

/// The word for an attempt without a result.
pub(super) const ERROR: &str = "error";

impl TraceAttempt {
    /// Writes the fields; an error that comes with nothing else is a result of its own.
    pub(super) fn serialize_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let (result, message, error) = self.written();
        map.serialize_entry("result", result)?;
        if !message.is_empty() {
            map.serialize_entry("message", message)?;
        }
        error.map_or(Ok(()), |error| map.serialize_entry("error", error))
    }

    fn written(&self) -> (&str, &str, Option<&str>) {
        let result = match self.result {
            ProbeResult::Success => "success",
            ProbeResult::Warning => "warning",
            ProbeResult::Failure => "failure",
            ProbeResult::Unknown => "unknown",
        };
        match &self.error {
            Some(error) if self.result == ProbeResult::Unknown && self.message.is_empty() => {
                (ERROR, error, None)
            }
            error => (result, &self.message, error.as_deref()),
        }
    }
}

impl Serialize for TraceAttempt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.written() {
            (result, "", None) => serializer.serialize_str(result),
            _ => {
                let mut map = serializer.serialize_map(None)?;
                self.serialize_fields(&mut map)?;
                map.end()
            }
        }
    }
}

impl From<&Attempt> for TraceAttempt {
    fn from(attempt: &Attempt) -> Self {
        let Attempt { result, output, error, .. } = attempt;
        Self { result: *result, message: output.text().into_owned(), error: error.clone() }
    }
}

impl From<&TraceAttempt> for Attempt {
    fn from(attempt: &TraceAttempt) -> Self {
        let TraceAttempt { result, message, error } = attempt;
        let output = message.as_str().into();
        Self { result: *result, output, error: error.clone(), ..Self::default() }
    }
}
