//! Drop-ins of `--config-dir`, merged as `mergeKubeletConfigurations` in `cmd/kubelet/app/server.go`
//! of Kubernetes 1.36 does.
//!
//! * Files ending in `.conf` are read, in the order in which a walk over the folder meets them; other
//!   files are skipped, folders are entered.
//! * Each must say `apiVersion` and `kind`. It is applied as a JSON merge patch: maps
//!   (`featureGates`, `evictionHard`, `kubeReserved`, ...) merge entry by entry, lists are replaced,
//!   `null` removes.
//! * Unknown fields of a drop-in are dropped silently.
//! * The hard eviction thresholds of the base file get their defaults *before* the drop-ins, the rest
//!   after. So `evictionHard` in a drop-in keeps the default thresholds that it does not name;
//!   `mergeDefaultEvictionSettings` acts only in the base file; and a drop-in with
//!   `evictionHard: null` leaves no thresholds at all.

use super::defaults::default_eviction_hard;
use super::read::{ConfigError, check_type};
use serde_json::{Map, Value};

/// Which files of a drop-in folder the kubelet reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DropIns {
    /// Those that it reads, in its order.
    pub read: Vec<String>,
    /// Those that it skips.
    pub skipped: Vec<String>,
}

/// Why a drop-in cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The base is not a map of fields.
    #[error("the base configuration is not a map of fields")]
    Base,
    /// The drop-in is not a map of fields.
    #[error("drop-in {name} is not a map of fields")]
    DropIn { name: String },
    /// The drop-in is of another kind or version, or has none.
    #[error("drop-in {name}: {error}")]
    Type {
        name: String,
        /// The first problem.
        error: ConfigError,
    },
}

/// Sorts the paths of files below a drop-in folder as the kubelet reads them.
pub fn drop_in_order<'a>(paths: impl IntoIterator<Item = &'a str>) -> DropIns {
    let mut paths: Vec<&str> = paths.into_iter().collect();
    paths.sort_by_key(|path| path.split('/').map(str::as_bytes).collect::<Vec<_>>());
    let (read, skipped): (Vec<&str>, Vec<&str>) =
        paths.into_iter().partition(|path| path.ends_with(".conf"));
    let owned = |paths: Vec<&str>| paths.into_iter().map(str::to_owned).collect();
    DropIns { read: owned(read), skipped: owned(skipped) }
}

/// Merges drop-ins, in their order, into the base configuration.
pub fn merge(base: Value, drop_ins: Vec<(String, Value)>) -> Result<Value, MergeError> {
    merge_over(base, drop_ins, true)
}

/// As [`merge`]; without a file of the base, no thresholds have their defaults.
pub fn merge_over(
    base: Value,
    drop_ins: Vec<(String, Value)>,
    has_file: bool,
) -> Result<Value, MergeError> {
    let Value::Object(mut merged) = base else {
        return Err(MergeError::Base);
    };
    if has_file {
        default_thresholds(&mut merged);
    }
    for (name, value) in drop_ins {
        let Value::Object(patch) = value else {
            return Err(MergeError::DropIn { name });
        };
        if let Err(errors) = check_type(&patch, true) {
            return match errors.into_iter().next() {
                Some(error) => Err(MergeError::Type { name, error }),
                None => Err(MergeError::DropIn { name }),
            };
        }
        apply(&mut merged, patch);
    }
    if !has_file {
        return Ok(Value::Object(merged));
    }
    merged.entry("evictionHard").or_insert_with(|| Value::Object(Map::new()));
    Ok(Value::Object(merged))
}

/// Adds the default thresholds to the base, as the kubelet does after reading the file.
fn default_thresholds(base: &mut Map<String, Value>) {
    let fill = base.get("mergeDefaultEvictionSettings") == Some(&Value::Bool(true));
    let given = base.get("evictionHard").filter(|value| !value.is_null()).is_some();
    if given && !fill {
        return;
    }
    let thresholds = base.entry("evictionHard").or_insert(Value::Null);
    if thresholds.is_null() {
        *thresholds = Value::Object(Map::new());
    }
    if let Value::Object(thresholds) = thresholds {
        for (signal, value) in default_eviction_hard() {
            thresholds.entry(signal).or_insert(Value::String(value));
        }
    }
}

/// Applies a JSON merge patch (RFC 7396).
fn apply(target: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match value {
            Value::Null => {
                target.remove(&name);
            }
            Value::Object(patch) => {
                let entry = target.entry(name).or_insert(Value::Null);
                if !entry.is_object() {
                    *entry = Value::Object(Map::new());
                }
                if let Value::Object(entry) = entry {
                    apply(entry, patch);
                }
            }
            other => {
                target.insert(name, other);
            }
        }
    }
}
