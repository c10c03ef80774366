//! Setting single fields of a kubelet's configuration, as its flags do.

use crate::describe::ConfigSource;
use crate::kubelet_config::{field_names, is_list_of_texts, path_parts};
use crate::kubelet_process::{Assignment, Setting};
use kq_answer::origin::Origin;
use kq_k8s::yaml::{self, YamlError};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sets a field by its path, such as `memorySwap.swapBehavior` or `evictionHard.memory.available`, from
/// text. A value of another type is read as YAML.
/// Fails for invalid YAML.
pub fn assign(
    config: &mut ConfigSource,
    path: &str,
    text: &str,
    origin: Origin,
) -> Result<(), YamlError> {
    let (parts, is_text) = path_parts(path);
    let value = match is_text {
        true => text.into(),
        false => match yaml::read(text)?.value {
            // As the flags of a kubelet: `pods,kube-reserved`.
            Value::String(names) if is_list_of_texts(path) => {
                names.split(',').map(str::trim).filter(|it| !it.is_empty()).collect()
            }
            value => value,
        },
    };
    set(config, &parts, value, origin);
    Ok(())
}

/// Sets a field from a list of pairs such as `cpu=1,memory=1Gi`; it replaces the whole field.
/// Fails for an entry that is not a pair.
pub fn assign_list(
    config: &mut ConfigSource,
    field: &str,
    text: &str,
    origin: Origin,
) -> Result<(), String> {
    let mut entries = Map::new();
    for entry in text.split(',').filter(|entry| !entry.trim().is_empty()) {
        let (name, value) =
            entry.split_once('=').ok_or_else(|| format!("{entry:?}: expected RESOURCE=AMOUNT"))?;
        entries.insert(name.trim().to_owned(), value.trim().into());
    }
    set(config, &[field], Value::Object(entries), origin);
    Ok(())
}

/// Returns true for a field with names of its own, such as `kubeReserved`: only those keep their dots.
fn is_map(field: &str) -> bool {
    !field.contains('.') && path_parts(&format!("{field}.x.y")).0.len() == 2
}

/// Returns the settings that stand for a field with pairs: `kubeReserved.cpu=1` for `kubeReserved=cpu=1`, where the field has
/// entries of its own; `None`: it has none, or the text is of another form.
fn entries_of(field: &str, text: &str) -> Option<Vec<String>> {
    if !is_map(field) {
        return None;
    }
    let entry = |entry: &str| {
        let (name, value) = entry.split_once(['=', '<'])?;
        let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '{');
        is_name.then(|| format!("{field}.{}={}", name.trim(), value.trim()))
    };
    text.split(',').map(entry).collect()
}

/// Returns the settings that a text stands for which holds several: `maxPods=5` and `podsPerCore=1` for
/// `maxPods=5,podsPerCore=1`, `kubeReserved.cpu=1` for `kubeReserved=cpu=1`; `None`: it is one setting.
pub fn settings_of(field: &str, text: &str) -> Option<Vec<String>> {
    if let Some(entries) = entries_of(field, text) {
        return Some(entries);
    }
    let map = field.split_once('.').map(|(map, _)| map).filter(|map| is_map(map));
    let other = |text: &str| {
        let (name, value) = text.trim().split_once('=')?;
        let name = match map {
            _ if field_names().any(|known| Some(known) == name.split('.').next()) => {
                name.to_owned()
            }
            Some(map) if !name.is_empty() => format!("{map}.{name}"),
            _ => return None,
        };
        Some(format!("{name}={value}"))
    };
    let (first, others) = text.split_once(',')?;
    let others: Option<Vec<String>> = others.split(',').map(other).collect();
    Some([vec![format!("{field}={first}")], others?].concat())
}

/// Sets a field from a flag, which the kubelet applies when its configuration has its defaults.
///
/// # Errors
///
/// Fails for a value that is not of the field's form.
pub fn assign_flag(
    config: &mut ConfigSource,
    setting: &Setting,
    origin: Origin,
) -> Result<(), String> {
    let Setting { field, text, .. } = setting;
    config.by_flag.insert(field);
    match setting.assignment {
        Assignment::Value => {
            assign(config, field, text, origin).map_err(|error| error.to_string())?;
        }
        Assignment::Pairs => assign_list(config, field, text, origin)?,
    }
    if *field == "evictionHard"
        && let Some(fields) = Arc::make_mut(&mut config.value).as_object_mut()
    {
        // The thresholds of the file have got their defaults by then; those of the flag get none.
        fields.remove("mergeDefaultEvictionSettings");
    }
    Ok(())
}

/// Overrides feature gates of the configuration, gate by gate.
pub fn assign_gates(config: &mut ConfigSource, gates: BTreeMap<String, bool>, origin: &Origin) {
    for (gate, on) in gates {
        set(config, &["featureGates", &gate], on.into(), origin.clone());
    }
}

fn set(config: &mut ConfigSource, parts: &[&str], value: Value, origin: Origin) {
    let mut place = Arc::make_mut(&mut config.value);
    for part in parts {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[part];
    }
    *place = value;
    config.origins.insert(parts[0].to_owned(), origin);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_of_several_settings_is_told() {
        for (field, text, expected) in [
            ("maxPods", "5,podsPerCore=1", Some("maxPods=5 podsPerCore=1")),
            (
                "kubeReserved.cpu",
                "1,memory=2Gi",
                Some("kubeReserved.cpu=1 kubeReserved.memory=2Gi"),
            ),
            ("kubeReserved.cpu", "1, maxPods=5", Some("kubeReserved.cpu=1 maxPods=5")),
            ("featureGates.A", "true,B=false", Some("featureGates.A=true featureGates.B=false")),
            (
                "kubeReserved",
                "cpu=1,memory=2Gi",
                Some("kubeReserved.cpu=1 kubeReserved.memory=2Gi"),
            ),
            ("featureGates", "A=true", Some("featureGates.A=true")),
            ("evictionHard", "5", None),
            ("memorySwap.swapBehavior", "NoSwap,b=1", None),
            ("enforceNodeAllocatable", "pods,kube-reserved", None),
            ("reservedSystemCPUs", "0,2", None),
            ("maxPods", "5", None),
        ] {
            let settings = settings_of(field, text).map(|settings| settings.join(" "));
            assert_eq!(settings.as_deref(), expected, "{field}={text}");
        }
    }

    #[test]
    fn fields_are_set_by_their_type() {
        for (name, path, text, expected) in [
            ("number", "podPidsLimit", "100", json!({ "podPidsLimit": 100 })),
            ("text of digits", "reservedSystemCPUs", "1", json!({ "reservedSystemCPUs": "1" })),
            ("duration", "cpuCFSQuotaPeriod", "10ms", json!({ "cpuCFSQuotaPeriod": "10ms" })),
            (
                "list",
                "enforceNodeAllocatable",
                "[pods]",
                json!({ "enforceNodeAllocatable": ["pods"] }),
            ),
            (
                "list as a flag writes it",
                "enforceNodeAllocatable",
                "pods, kube-reserved",
                json!({ "enforceNodeAllocatable": ["pods", "kube-reserved"] }),
            ),
            (
                "no list",
                "enforceNodeAllocatable",
                "null",
                json!({ "enforceNodeAllocatable": null }),
            ),
            (
                "nested",
                "memorySwap.swapBehavior",
                "LimitedSwap",
                json!({ "memorySwap": { "swapBehavior": "LimitedSwap" } }),
            ),
            (
                "free name with dots",
                "evictionHard.memory.available",
                "5",
                json!({ "evictionHard": { "memory.available": "5" } }),
            ),
            ("unknown", "foo.bar", "1", json!({ "foo": { "bar": 1 } })),
        ] {
            let mut config = ConfigSource::default();
            assign(&mut config, path, text, Origin::Flag("--set")).expect("a value");
            assert_eq!(*config.value, expected, "{name}");
        }
    }
}
