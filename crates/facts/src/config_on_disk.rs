//! The input of a kubelet's next start: its command line, its configuration file and the drop-ins, each
//! as it is on the disk. The running configuration may be older.

use crate::describe::ConfigSource;
use crate::kubelet_process::KubeletProcess;
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
}

/// The default path of the configuration file.
const DEFAULT_FILE: &str = "/var/lib/kubelet/config.yaml";

impl ConfigOnDisk {
    /// Returns the files that were given, else those of the node, else the running configuration as a file.
    pub fn of(snapshot: &Snapshot, given: Option<&GivenConfig>) -> Self {
        let process = snapshot.kubelet.value().cloned();
        match given {
            Some(GivenConfig { on_disk: Some(on_disk), .. }) => Self { process, ..on_disk.clone() },
            Some(given) => Self::as_it_runs(process, &given.config),
            None => match snapshot.kubelet_config_on_disk.value() {
                Some(on_disk) => on_disk.clone(),
                None => Self::as_it_runs(process, &config_source(snapshot)),
            },
        }
    }

    fn as_it_runs(process: Option<KubeletProcess>, config: &ConfigSource) -> Self {
        let named = process.as_ref().and_then(|process| process.interpreted().config);
        let file = Some(&config.value).filter(|value| !value.is_null()).map(|value| {
            let mut value = value.clone();
            // /configz reports neither field.
            let has_type = value.get("apiVersion").is_some() && value.get("kind").is_some();
            if !has_type && let Some(fields) = Arc::make_mut(&mut value).as_object_mut() {
                for (field, text) in TYPE {
                    fields.entry(field).or_insert_with(|| json!(text));
                }
            }
            ConfigText {
                path: named.unwrap_or_else(|| DEFAULT_FILE.to_owned()),
                content: ConfigContent::Document { value, text: None },
            }
        });
        Self { process, file, drop_ins: Vec::new() }
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

    /// Changes a field in the file that sets it: the last drop-in that has it, or the file of `--config`.
    pub fn edit(&mut self, field: &str, edit: impl FnOnce(&mut ConfigSource)) {
        let has_it = |text: &ConfigText| match &text.content {
            ConfigContent::Document { value, .. } => value.get(field).is_some(),
            _ => false,
        };
        let drop_in = self.drop_ins.iter_mut().rfind(|text| has_it(text));
        let text = match drop_in {
            Some(text) => text,
            None => self.file.get_or_insert_with(|| ConfigText {
                path: DEFAULT_FILE.to_owned(),
                content: ConfigContent::Absent,
            }),
        };
        let value = match &text.content {
            ConfigContent::Document { value, .. } => value.clone(),
            ConfigContent::Absent | ConfigContent::Empty => Value::from_iter(TYPE).into(),
            // What cannot be read has no field that could be changed.
            ConfigContent::Unreadable(_) => return,
        };
        text.content = ConfigContent::Empty;
        let mut config = ConfigSource { value, ..ConfigSource::default() };
        edit(&mut config);
        text.content = ConfigContent::Document { value: config.value, text: None };
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
    /// Its contents.
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
    /// It could not be read, or is not a document; with the reason.
    Unreadable(String),
    Document {
        value: Arc<Value>,
        /// Its text, which the kubelet quotes where the kind is missing; `None`: not known. It may hold secrets.
        #[serde(skip)]
        text: Option<String>,
    },
}
