//! The calls that fail while garbage is collected.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Calls that fail, with their errors; those that are not named succeed.
///
/// The last six are by id, or by the name of a log folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after its call")]
pub struct Failures {
    /// The list of containers that the container part asks for.
    pub list_containers: Option<String>,
    /// The list of containers that the sandbox part asks for again.
    pub list_containers_again: Option<String>,
    pub list_sandboxes: Option<String>,
    pub read_log_root: Option<String>,
    pub container_status: BTreeMap<String, String>,
    pub stop_container: BTreeMap<String, String>,
    pub remove_container: BTreeMap<String, String>,
    pub stop_sandbox: BTreeMap<String, String>,
    pub remove_sandbox: BTreeMap<String, String>,
    pub remove_log_directory: BTreeMap<String, String>,
}

/// A call that removes something, or that is made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// `ContainerStatus`, which has the path of the log.
    ContainerStatus,
    /// `StopContainer`
    StopContainer,
    /// `RemoveContainer`
    RemoveContainer,
    /// `StopPodSandbox`
    StopSandbox,
    /// `RemovePodSandbox`
    RemoveSandbox,
    /// The deletion of a log folder.
    RemoveLogDirectory,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedCall {
    /// The call.
    pub call: Call,
    /// Its error.
    pub error: String,
}

impl Failures {
    /// Makes calls about one thing in their order, up to the first that fails.
    pub(super) fn first_of(&self, calls: &[Call], about: &str) -> Option<FailedCall> {
        calls.iter().find_map(|call| {
            let errors = match call {
                Call::ContainerStatus => &self.container_status,
                Call::StopContainer => &self.stop_container,
                Call::RemoveContainer => &self.remove_container,
                Call::StopSandbox => &self.stop_sandbox,
                Call::RemoveSandbox => &self.remove_sandbox,
                Call::RemoveLogDirectory => &self.remove_log_directory,
            };
            errors.get(about).map(|error| FailedCall { call: *call, error: error.clone() })
        })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ContainerStatus => "ContainerStatus",
            Self::StopContainer => "StopContainer",
            Self::RemoveContainer => "RemoveContainer",
            Self::StopSandbox => "StopPodSandbox",
            Self::RemoveSandbox => "RemovePodSandbox",
            Self::RemoveLogDirectory => "removal of the folder",
        })
    }
}

impl fmt::Display for FailedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}", self.call, self.error)
    }
}
