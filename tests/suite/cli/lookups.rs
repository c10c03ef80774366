//! Facts as a snapshot stores them: the answer of a source, or why there is none.

use serde_json::{Value, json};

/// Stores what a source answered.
pub fn found(source: &str, value: impl Into<Value>) -> Value {
    json!({"found": {"source": source, "value": value.into()}, "tried": []})
}

/// Stores what a test made up.
pub fn made_up(value: impl Into<Value>) -> Value {
    found("made up", value)
}

/// Stores why a source did not answer.
pub fn refused(source: &str, reason: &str) -> Value {
    json!({"found": null, "tried": [{"source": source, "reason": reason}]})
}

/// Stores that no source was asked.
pub fn not_asked() -> Value {
    json!({"found": null, "tried": []})
}
