//! What a stand-in can be asked, and what it answers: one line of JSON each way.

use kq::device::fake_kubelet::{DeviceAllocation, PluginState, TopologyConfig};
use serde::{Deserialize, Serialize};

/// What a stand-in is asked.
#[derive(Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Request {
    /// Give the pods of a manifest their devices, one after the other.
    Allocate {
        /// The file, for messages.
        file: String,
        /// What it holds.
        text: String,
        /// How.
        terms: TopologyConfig,
    },
    /// End a pod.
    End {
        /// Its UID, its name, or its namespace and name.
        pod: String,
    },
    /// Tell of the plugins.
    Plugins,
}

#[derive(Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// What came of each pod.
    Allocated(Vec<DeviceAllocation>),
    /// The UID of the pod that has ended.
    Ended(String),
    Plugins(Vec<PluginState>),
    /// It cannot: why.
    Refused(String),
}
