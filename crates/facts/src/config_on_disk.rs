//! The input of a kubelet's next start: its command line, its configuration file and the drop-ins, each
//! as it is on the disk. The running configuration may be older.

use crate::kubelet_process::KubeletProcess;
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
