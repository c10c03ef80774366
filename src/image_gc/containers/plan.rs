//! The plan of a collection: its steps in the kubelet's order, what stays, and the errors.

use super::collect::Collection;
use super::failures::{FailedCall, Failures};
use super::policy::{ContainerGcPolicy, ContainerGcPolicyError};
use super::reason::{KeepReason, RemovalReason};
use super::state::{GcState, GcTrigger};
use crate::facts::runtime::ContainerState;
use serde::Serialize;

/// What a collection does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerGcPlan {
    /// What is tried to be removed, in this order; each step stands on its own.
    pub steps: Vec<Step>,
    /// The containers that are left, in the runtime's order.
    pub containers: Vec<Remaining>,
    /// The sandboxes that are left, in the runtime's order.
    pub sandboxes: Vec<Remaining>,
    /// The log folders that are left, in their order.
    pub log_directories: Vec<Remaining>,
    /// Where the kubelet picks by chance.
    pub tie: Option<Tie>,
    /// What could not be listed, in the kubelet's words.
    pub errors: Vec<String>,
}

/// One thing that is tried to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", tag = "what")]
pub enum Step {
    /// A container.
    Container(ContainerStep),
    /// A sandbox.
    Sandbox(SandboxStep),
    /// A folder with the logs of a pod.
    LogDirectory(LogDirectoryStep),
}

/// The removal of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerStep {
    /// The runtime's id of it.
    pub id: String,
    /// The UID of its pod.
    pub pod_uid: String,
    /// Its name in the pod.
    pub name: String,
    /// The state in which it was found, and in which it must still be.
    pub state: ContainerState,
    /// In nanoseconds since 1970.
    pub created_at: i64,
    /// How long it may take to end, if it must be stopped before: it is unknown whether it runs.
    pub stop_timeout_seconds: Option<i64>,
    /// Why it goes.
    pub reason: RemovalReason,
    /// The call that fails; it stays then, but counts as removed for the limits.
    pub failed: Option<FailedCall>,
}

/// The removal of a sandbox; it is always stopped before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxStep {
    /// The runtime's id of it.
    pub id: String,
    /// The UID of its pod.
    pub pod_uid: String,
    /// In nanoseconds since 1970.
    pub created_at: i64,
    /// Why it goes.
    pub reason: RemovalReason,
    /// The call that fails.
    pub failed: Option<FailedCall>,
}

/// The removal of a folder with the logs of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogDirectoryStep {
    /// The folder of all logs.
    pub root: String,
    /// The name in it.
    pub name: String,
    /// The UID of the pod.
    pub pod_uid: String,
    /// Why it goes.
    pub reason: RemovalReason,
    /// The call that fails.
    pub failed: Option<FailedCall>,
}

/// Something that is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remaining {
    /// Its id, or the name of the folder.
    pub id: String,
    /// The UID of its pod.
    pub pod_uid: String,
    /// Why it stays.
    pub reason: KeepReason,
}

/// Containers of equal age of which some go: the kubelet picks them by chance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tie {
    /// When they were created, in nanoseconds since 1970.
    pub created_at: i64,
    /// Their ids.
    pub ids: Vec<String>,
    /// How many of them go.
    pub removed: usize,
}

/// Plans a collection of dead containers, sandboxes and log folders.
///
/// # Errors
///
/// A kubelet with a negative minimum age does not start.
pub fn plan(
    policy: &ContainerGcPolicy,
    state: &GcState,
    trigger: GcTrigger,
    failures: &Failures,
) -> Result<ContainerGcPlan, ContainerGcPolicyError> {
    policy.validate()?;
    Ok(Collection::new(policy, state, trigger, failures).run())
}

impl ContainerGcPlan {
    /// Returns the error of the whole collection as the kubelet words it: one text alone, several as
    /// `[a, b]`, none twice. That a single removal fails is no error.
    pub fn error(&self) -> Option<String> {
        let mut texts: Vec<&str> = Vec::new();
        for error in &self.errors {
            if !texts.contains(&error.as_str()) {
                texts.push(error);
            }
        }
        match texts.as_slice() {
            [] => None,
            [only] => Some((*only).to_owned()),
            several => Some(format!("[{}]", several.join(", "))),
        }
    }
}

impl Step {
    /// Returns the id, or the name of the folder.
    pub fn id(&self) -> &str {
        match self {
            Self::Container(step) => &step.id,
            Self::Sandbox(step) => &step.id,
            Self::LogDirectory(step) => &step.name,
        }
    }

    /// Returns the UID of the pod.
    pub fn pod_uid(&self) -> &str {
        match self {
            Self::Container(step) => &step.pod_uid,
            Self::Sandbox(step) => &step.pod_uid,
            Self::LogDirectory(step) => &step.pod_uid,
        }
    }

    /// Returns why it goes.
    pub fn reason(&self) -> &RemovalReason {
        match self {
            Self::Container(step) => &step.reason,
            Self::Sandbox(step) => &step.reason,
            Self::LogDirectory(step) => &step.reason,
        }
    }

    /// Returns the call that fails.
    pub fn failed(&self) -> Option<&FailedCall> {
        match self {
            Self::Container(step) => step.failed.as_ref(),
            Self::Sandbox(step) => step.failed.as_ref(),
            Self::LogDirectory(step) => step.failed.as_ref(),
        }
    }
}
