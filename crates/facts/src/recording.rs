//! A recording: a sequence of snapshots, each a line of JSON. The first is a whole snapshot, which every command reads;
//! the next are JSON merge patches (RFC 7396) against the one before. A change that a patch cannot express, such as a
//! member that became null, is a whole snapshot again.

use crate::limits::MAX_RECORDED_BYTES;
use crate::snapshot::{API_VERSION, Snapshot, SnapshotError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io;

/// The kind of a line with a patch.
const PATCH_KIND: &str = "NodeSnapshotPatch";

/// A line of a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Snapshot(Value),
    /// The difference from the one before.
    Patch(Value),
}

/// Why a line is not one of a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The line is not JSON.
    #[error("line {line}: not JSON")]
    Json {
        /// The number of the line, from 1.
        line: u64,
    },
    /// The first line is a difference.
    #[error("line {line}: a difference, and no snapshot before it")]
    NoSnapshot {
        /// The number of the line, from 1.
        line: u64,
    },
    /// The differences add up to more than kq reads.
    #[error(
        "line {line}: a snapshot of more than {MAX_RECORDED_BYTES} bytes, which kq does not read"
    )]
    TooLarge {
        /// The number of the line, from 1.
        line: u64,
    },
    /// The result is not a snapshot.
    #[error("line {line}: {error}")]
    Snapshot {
        /// The number of the line, from 1.
        line: u64,
        error: SnapshotError,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PatchLine {
    api_version: String,
    kind: String,
    patch: Value,
}

impl Entry {
    /// Writes the line, without its end.
    /// Fails for a value that JSON cannot have.
    pub fn line(&self) -> io::Result<Vec<u8>> {
        Ok(match self {
            Self::Snapshot(value) => serde_json::to_vec(value)?,
            Self::Patch(patch) => serde_json::to_vec(&PatchLine {
                api_version: API_VERSION.to_owned(),
                kind: PATCH_KIND.to_owned(),
                patch: patch.clone(),
            })?,
        })
    }
}

/// Returns the entry for a snapshot after another one; `before`: `None` for the first.
pub fn entry(before: Option<&Value>, now: &Value) -> Entry {
    match before.and_then(|before| difference(before, now)) {
        Some(patch) => Entry::Patch(patch),
        None => Entry::Snapshot(now.clone()),
    }
}

/// The snapshots of a recording, one after the other.
#[derive(Debug, Default)]
pub struct SnapshotSequence {
    current: Option<Value>,
    line: u64,
}

impl SnapshotSequence {
    /// Reads the next line.
    /// Fails for a line that is not one of a recording; after one that is too large, or no snapshot, the next must be whole.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Snapshot, RecordingError> {
        self.next_within(bytes, MAX_RECORDED_BYTES)
    }

    fn next_within(&mut self, bytes: &[u8], most: u64) -> Result<Snapshot, RecordingError> {
        self.line += 1;
        let line = self.line;
        let value: Value =
            serde_json::from_slice(bytes).map_err(|_| RecordingError::Json { line })?;
        let is_patch = value.get("kind").and_then(Value::as_str) == Some(PATCH_KIND);
        let current = match (is_patch, self.current.take()) {
            (false, _) => value,
            (true, None) => return Err(RecordingError::NoSnapshot { line }),
            (true, Some(mut current)) => {
                apply(&mut current, value.get("patch").unwrap_or(&Value::Null));
                current
            }
        };
        // The reader checks kind and version of the result; a patch's own version is not checked.
        let text = serde_json::to_vec(&current).map_err(|_| RecordingError::Json { line })?;
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > most {
            return Err(RecordingError::TooLarge { line });
        }
        let snapshot =
            Snapshot::parse(&text).map_err(|error| RecordingError::Snapshot { line, error })?;
        self.current = Some(current);
        Ok(snapshot)
    }
}

/// Returns the merge patch between two values; `None`: no patch expresses it.
fn difference(before: &Value, now: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(now)) = (before, now) else {
        return None;
    };
    let mut patch = Map::new();
    for (name, value) in now {
        match before.get(name) {
            Some(same) if same == value => {}
            // In a patch, null removes.
            _ if has_null(value) => {
                let inner = before.get(name).and_then(|it| difference(it, value))?;
                patch.insert(name.clone(), inner);
            }
            Some(other @ Value::Object(_)) if value.is_object() => {
                patch.insert(name.clone(), difference(other, value)?);
            }
            _ => drop(patch.insert(name.clone(), value.clone())),
        }
    }
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}

/// Returns true for null, and for an object with a member that is null. Lists are taken as they are.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

/// Applies a merge patch, as `MergePatch` of RFC 7396 does.
fn apply(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(target) = target.as_object_mut() else { return };
    for (name, value) in patch {
        match value {
            Value::Null => drop(target.remove(name)),
            value => apply(target.entry(name.clone()).or_insert(Value::Null), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4_u8).prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_patch_gives_the_same_value(before in values(), now in values()) {
            if let Entry::Patch(patch) = entry(Some(&before), &now) {
                let mut target = before;
                apply(&mut target, &patch);
                prop_assert_eq!(target, now);
            }
        }
    }

    #[test]
    fn null_is_not_lost() {
        let before = json!({"kept": null, "changed": {"is": null, "n": 1}, "set": 1});
        for (name, now, expected) in [
            (
                "kept",
                json!({"kept": null, "changed": {"is": null, "n": 2}, "set": 1}),
                Some(json!({"changed": {"n": 2}})),
            ),
            ("removed", json!({"kept": null, "set": 1}), Some(json!({"changed": null}))),
            (
                "becomes null",
                json!({"kept": null, "changed": {"is": null, "n": 1}, "set": null}),
                None,
            ),
        ] {
            assert_eq!(difference(&before, &now), expected, "{name}");
        }
    }

    #[test]
    fn differences_do_not_add_up_without_end() {
        let mut sequence = SnapshotSequence::default();
        let whole = json!({"kind": "NodeSnapshot", "apiVersion": "kq/v1", "takenAt": "a"});
        sequence.next(&Entry::Snapshot(whole).line().expect("written")).expect("a snapshot");
        let patch = |name: &str| {
            let patch = json!({name: "x".repeat(600)});
            Entry::Patch(patch).line().expect("written")
        };
        assert!(sequence.next_within(&patch("takenBy"), 1000).is_ok());
        let read = sequence.next_within(&patch("takenAt"), 1000);
        assert!(matches!(read, Err(RecordingError::TooLarge { line: 3 })), "{:?}", read.err());
    }

    #[test]
    fn a_sequence_begins_with_a_snapshot() {
        let mut sequence = SnapshotSequence::default();
        let patch = Entry::Patch(json!({"takenAt": "x"})).line().expect("it can be written");
        assert!(matches!(sequence.next(&patch), Err(RecordingError::NoSnapshot { line: 1 })));
        let whole = json!({"kind": "NodeSnapshot", "apiVersion": "kq/v1", "takenAt": "a"});
        let whole = Entry::Snapshot(whole).line().expect("it can be written");
        assert_eq!(sequence.next(&whole).expect("a snapshot").taken_at, "a");
        assert_eq!(sequence.next(&patch).expect("a snapshot").taken_at, "x");
        assert!(matches!(sequence.next(b"{"), Err(RecordingError::Json { line: 4 })));
    }
}
