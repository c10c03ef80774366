//! The state files in the kubelet's root folder, as they were read.
//!
//! The names are those of `pkg/kubelet/cm` and `pkg/kubelet/allocation` of Kubernetes; which of them
//! there are depends on the version and on what is turned on.

use crate::host::Text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The files of state, below the kubelet's folder. The checkpoint of the device manager is not among
/// them: it holds the environment that device plugins give to containers, and is kept without that
/// ([`crate::devices`]).
pub const STATE_FILES: [&str; 6] = [
    "actuated_pods_state",
    "allocated_pods_state",
    "cpu_manager_state",
    "dra_manager_state",
    "memory_manager_state",
    "pod_status_manager_state",
];

/// The kubelet's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateFiles {
    /// The kubelet's folder on the node: `/var/lib/kubelet`.
    pub folder: String,
    /// The files by their name below the folder.
    pub files: BTreeMap<String, Text>,
}

impl StateFiles {
    /// Returns the result of reading a file; `None`: not read.
    pub fn get(&self, name: &str) -> Option<&Text> {
        self.files.get(name)
    }

    /// Returns the path of a file on the node.
    pub fn path(&self, name: &str) -> String {
        state_path(&self.folder, name)
    }
}

/// Returns the path of a file in the kubelet's folder.
pub fn state_path(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}
