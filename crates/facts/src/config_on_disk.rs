//! The input of a kubelet's next start: its command line, its configuration file and the drop-ins, each
//! as it is on the disk. The running configuration may be older.

use crate::describe::ConfigSource;
use crate::kubelet_config::{BrokenDocument, ConfigDocument, write_out_empty};
use crate::kubelet_process::KubeletProcess;
use crate::kubelet_unit::KUBEADM_CONFIG;
use crate::live::config_source;
use crate::overrides::GivenConfig;
use crate::snapshot::Snapshot;
use kq_answer::origin::Origin;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// The input of the next start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigOnDisk {
    /// Its command line: that of its unit, or else of the kubelet that runs.
    pub process: Option<KubeletProcess>,
    pub file: Option<ConfigText>,
    /// The files of `--config-dir` that it reads, in its order.
    pub drop_ins: Vec<ConfigText>,
    /// The file that masks its unit, so that systemd does not start it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masked_by: Option<String>,
    /// The files that its unit removes before each start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removes: Vec<String>,
    /// Its unit was not found: the command line is that of the packages' unit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_unit_assumed: bool,
}

impl ConfigOnDisk {
    /// Returns the files that were given, else those of the node, else the running configuration as a file.
    pub fn of(snapshot: &Snapshot, given: Option<&GivenConfig>) -> Self {
        let process = snapshot.kubelet.value().cloned();
        let recorded = snapshot.kubelet_config_on_disk.value();
        let of_unit = |on_disk: Self| {
            let Some(recorded) = recorded else { return on_disk };
            let Self { masked_by, removes, is_unit_assumed, .. } = recorded.clone();
            Self { masked_by, removes, is_unit_assumed, ..on_disk }
        };
        match given {
            Some(GivenConfig { on_disk: Some(on_disk), .. }) => {
                of_unit(Self { process, ..on_disk.clone() })
            }
            Some(given) => of_unit(Self::as_it_runs(process, &given.config)),
            None => match recorded {
                Some(on_disk) => on_disk.clone(),
                None => Self::as_it_runs(process, &config_source(snapshot)),
            },
        }
    }

    fn as_it_runs(process: Option<KubeletProcess>, config: &ConfigSource) -> Self {
        let named = process.as_ref().and_then(|process| process.interpreted().config);
        let file = Some(&config.value).filter(|value| !value.is_null()).map(|value| ConfigText {
            path: named.unwrap_or_else(|| KUBEADM_CONFIG.to_owned()),
            content: ConfigContent::with_type(value.clone()),
        });
        Self { process, file, ..Self::default() }
    }

    /// Returns true if the kubelet cannot load the file of `--config`, or decode a drop-in.
    pub fn is_refused(&self) -> bool {
        use ConfigContent::{Absent, Empty, Folder};
        let is_no_file = |it: &ConfigText| {
            matches!(it.content, Absent | Empty | Folder) || it.content.refusal(false).is_some()
        };
        let is_broken = |it: &ConfigText| it.content.refusal(true).is_some();
        self.file.iter().any(is_no_file) || self.drop_ins.iter().any(is_broken)
    }

    /// Writes the fields that flags of the operator set, each where it is set now.
    pub fn set_typed(&mut self, config: &ConfigSource) {
        let is_typed = |field: &str| matches!(config.origins.get(field), Some(Origin::Flag(_)));
        let fields = config.value.as_object().into_iter().flatten();
        for (field, value) in fields.filter(|(field, _)| is_typed(field)) {
            self.edit(field, |file| {
                if let Some(fields) = Arc::make_mut(&mut file.value).as_object_mut() {
                    fields.insert(field.clone(), value.clone());
                }
            });
        }
    }

    /// Changes a field in the file that sets it: the last drop-in that has it, or the file of `--config`. The text of the file is
    /// built again from its fields.
    pub fn edit(&mut self, field: &str, edit: impl FnOnce(&mut ConfigSource)) {
        let has_it = |text: &ConfigText| match &text.content {
            ConfigContent::Document { value, .. } => value.get(field).is_some(),
            _ => false,
        };
        let drop_in = self.drop_ins.iter_mut().rfind(|text| has_it(text));
        let text = match drop_in {
            Some(text) => text,
            None => self.file.get_or_insert_with(|| ConfigText {
                path: KUBEADM_CONFIG.to_owned(),
                content: ConfigContent::Absent,
            }),
        };
        let value = match &text.content {
            ConfigContent::Document { value, .. } => value.clone(),
            ConfigContent::Absent | ConfigContent::Empty => Value::from_iter(TYPE).into(),
            // What is not a document has no field that could be changed.
            ConfigContent::Broken(_) | ConfigContent::Folder | ConfigContent::Unreadable(_) => {
                return;
            }
        };
        // Frees the other reference, so that `Arc::make_mut` need not copy.
        text.content = ConfigContent::Empty;
        let mut config = ConfigSource { value, ..ConfigSource::default() };
        edit(&mut config);
        text.content = ConfigContent::document(config.value);
    }
}

/// The fields that say which document it is.
const TYPE: [(&str, &str); 2] =
    [("apiVersion", "kubelet.config.k8s.io/v1beta1"), ("kind", "KubeletConfiguration")];

/// A file with configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigText {
    /// Where it is on the node.
    pub path: String,
    pub content: ConfigContent,
}

/// The contents of a configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ConfigContent {
    /// There is no such file.
    Absent,
    /// An empty file.
    Empty,
    Folder,
    /// It could not be read, with the reason.
    Unreadable(String),
    /// It was read, and is not a document; with the kubelet's error.
    Broken(String),
    Document {
        value: Arc<Value>,
        /// Its text, which the kubelet quotes where the kind is missing; `None`: not known. It may hold secrets.
        #[serde(skip)]
        text: Option<String>,
        /// The kubelet's errors about keys that come twice.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        duplicates: Vec<String>,
    },
}

impl ConfigContent {
    /// Reads the text of a file, as the kubelet does: only its first document counts.
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        match ConfigDocument::of(bytes) {
            Ok(document) => Self::Document {
                value: document.tree.to_value().into(),
                text: Some(String::from_utf8_lossy(bytes).into_owned()),
                duplicates: document.repeated(),
            },
            Err(BrokenDocument::Refused(error)) => Self::Broken(error),
            Err(bound @ BrokenDocument::Bound(_)) => Self::Unreadable(bound.to_string()),
        }
    }

    /// Returns why the kubelet's decoder refuses its text, of the file of `--config` or of a drop-in; `None`: it decodes a document,
    /// or there is no text. What the document must be is checked with its fields.
    pub fn refusal(&self, is_drop_in: bool) -> Option<String> {
        match self {
            Self::Broken(error) => Some(error.clone()),
            Self::Document { value, .. } if value.is_null() => {
                Some("Object 'Kind' is missing: its first document is empty".to_owned())
            }
            Self::Document { .. } if is_drop_in => self.strict_error(),
            _ => None,
        }
    }

    /// Returns the kubelet's error about keys that come twice. It is fatal in a drop-in only, which the kubelet decodes strictly.
    pub fn strict_error(&self) -> Option<String> {
        let Self::Document { duplicates, .. } = self else { return None };
        let error = || format!("strict decoding error: {}", duplicates.join(", "));
        (!duplicates.is_empty()).then(error)
    }

    /// Returns the contents of a file with the configuration in an answer of `/configz`; `None`: it is no such answer.
    pub fn of_configz(&self) -> Option<Self> {
        let Self::Document { value, .. } = self else { return None };
        let mut config = value.get("kubeletconfig").filter(|it| it.is_object())?.clone();
        write_out_empty(&mut config);
        Some(Self::with_type(config.into()))
    }

    /// Returns the contents of a file with these fields, of which `/configz` reports neither apiVersion nor kind.
    fn with_type(mut value: Arc<Value>) -> Self {
        let has_type = value.get("apiVersion").is_some() && value.get("kind").is_some();
        if !has_type && let Some(fields) = Arc::make_mut(&mut value).as_object_mut() {
            for (field, text) in TYPE {
                fields.entry(field).or_insert_with(|| json!(text));
            }
        }
        Self::document(value)
    }

    /// Returns the contents of a file that has this document.
    pub fn document(value: impl Into<Arc<Value>>) -> Self {
        Self::Document { value: value.into(), text: None, duplicates: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn contents_are_read_as_by_the_kubelet() {
        let value = |content: ConfigContent| match content {
            ConfigContent::Document { value, .. } => Value::clone(&value),
            other => panic!("{other:?}"),
        };
        assert_eq!(value(ConfigContent::of(b"a: 1\n---\n[\n")), json!({"a": 1}));
        assert_eq!(value(ConfigContent::of(b" {\"a\": 1}")), json!({"a": 1}));
        assert_eq!(ConfigContent::of(b""), ConfigContent::Empty);
        let broken = "yaml: line 2: mapping values are not allowed in this context".to_owned();
        assert_eq!(ConfigContent::of(b"a: 1\n  b: 2\n"), ConfigContent::Broken(broken));
        // As older snapshots have it.
        let old = json!({"document": {"value": {"a": 1}}});
        let old: ConfigContent = serde_json::from_value(old).expect("contents");
        assert_eq!(old, ConfigContent::document(json!({"a": 1})));
    }
}
