//! Drop-ins of `--config-dir`, merged as `mergeKubeletConfigurations` in `cmd/kubelet/app/server.go`
//! of Kubernetes 1.36 does.
//!
//! * Files ending in `.conf` are read, in the order in which a walk over the folder meets them; other
//!   files are skipped, folders are entered.
//! * Each must say `apiVersion` and `kind`. It is applied as a JSON merge patch: maps
//!   (`featureGates`, `evictionHard`, `kubeReserved`, ...) merge entry by entry, lists are replaced,
//!   `null` removes.
//! * The base is written out before the drop-ins, with its defaults and without empty lists. So a default that hangs on
//!   another field is decided by the base alone (`serializeImagePulls`), and an empty `enforceNodeAllocatable` of the base is
//!   its default again.
//! * The result is decoded by `encoding/json`, which knows a field by its name in any case, in the order of the names.
//!   Other unknown fields of a drop-in are dropped silently.
//! * The hard eviction thresholds of the base file get their defaults before the drop-ins. So `evictionHard` in a drop-in
//!   keeps the default thresholds that it does not name;
//!   `mergeDefaultEvictionSettings` acts only in the base file; and a drop-in with
//!   `evictionHard: null` leaves no thresholds at all.

use super::defaults::default_eviction_hard;
use super::read::{ConfigError, check_type};
use super::schema::{self, Kind};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

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
    merge_over(base, drop_ins, true, Map::new())
}

/// As [`merge`]; without a file of the base, no thresholds have their defaults. `gated`: the defaults that the feature gates
/// of the base give it.
pub fn merge_over(
    base: Value,
    drop_ins: Vec<(String, Value)>,
    has_file: bool,
    gated: Map<String, Value>,
) -> Result<Value, MergeError> {
    let Value::Object(mut merged) = base else {
        return Err(MergeError::Base);
    };
    if has_file {
        default_thresholds(&mut merged);
    }
    write_out(&mut merged, gated);
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
    let mut merged = in_any_case(merged, "");
    if !has_file {
        return Ok(Value::Object(merged));
    }
    merged.entry("evictionHard").or_insert_with(|| Value::Object(Map::new()));
    merged.remove("mergeDefaultEvictionSettings");
    Ok(Value::Object(merged))
}

/// Makes of the base what the kubelet writes out before the drop-ins, as far as its defaults would be others after them.
fn write_out(base: &mut Map<String, Value>, gated: Map<String, Value>) {
    // The file was decoded by the exact names.
    base.retain(|name, _| schema::field(name).is_some() || known_as("", name).is_none());
    if base.get("enforceNodeAllocatable").is_some_and(|keys| keys == &Value::Array(Vec::new())) {
        base.remove("enforceNodeAllocatable");
    }
    if base.get("serializeImagePulls").is_none_or(Value::is_null) {
        let parallel = base.get("maxParallelImagePulls").and_then(Value::as_i64);
        let one_by_one = parallel.is_none_or(|most| most < 2);
        base.insert("serializeImagePulls".to_owned(), Value::Bool(one_by_one));
    }
    for (name, value) in gated {
        match base.entry(name).or_insert(Value::Null) {
            Value::Object(fields) => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    let field = fields.entry(name).or_insert(Value::Null);
                    if field.is_null() {
                        *field = value.clone();
                    }
                }
            }
            field if field.is_null() || field == "" => *field = value,
            _ => {}
        }
    }
}

/// Returns the field below a path that the kubelet takes a name of a drop-in for, where they differ in their case alone;
/// `None`: the name has no effect.
pub fn known_as(path: &str, name: &str) -> Option<&'static str> {
    let known = schema::names_below(path).find(|known| known.eq_ignore_ascii_case(name))?;
    // The base has a value of each field that has a default, and the last one counts.
    let field = schema::field(&schema::below(path, known))?;
    let is_overridden = name < known && schema::is_written_out(field);
    (known != name && !is_overridden).then_some(known)
}

/// Returns fields by their exact names (`encoding/json`). Entries of maps have no other names.
fn in_any_case(fields: Map<String, Value>, path: &str) -> Map<String, Value> {
    let sorted: BTreeMap<String, Value> = fields.into_iter().collect();
    let mut exact = Map::new();
    for (name, value) in sorted {
        let known = known_as(path, &name).map_or(name, str::to_owned);
        let below = schema::below(path, &known);
        let kind = schema::field(&below).map(|(_, go_type, ..)| schema::kind(go_type));
        let value = match (value, kind) {
            (Value::Object(fields), Some(Kind::Object)) => {
                Value::Object(in_any_case(fields, &below))
            }
            (value, _) => value,
        };
        match (exact.get_mut(&known), value) {
            (Some(_), Value::Null) => {}
            (Some(Value::Object(known)), Value::Object(fields)) => apply(known, fields),
            (Some(known), value) => *known = value,
            (None, value) => {
                exact.insert(known, value);
            }
        }
    }
    exact
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
