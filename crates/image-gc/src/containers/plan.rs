//! The limits of container garbage collection, and the plan of a collection: its steps in the kubelet's order, what stays, and the errors.

use super::collect::Collection;
use super::reason::{KeepReason, RemovalReason};
use super::state::{FailedCall, Failures, GcState, GcTrigger};
use kq_facts::kubelet_process::ContainerGcFlags;
use kq_facts::runtime::ContainerState;
use kq_k8s::duration::GoDuration;
use serde::Serialize;

/// How many dead containers stay, and for how long; `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerGcPolicy {
    /// How old a dead container is at least when it goes, from its creation.
    pub min_age: GoDuration,
    /// How many dead ones of one container of one pod stay.
    pub max_per_pod_container: Option<u64>,
    /// How many dead ones stay on the node.
    pub max_containers: Option<u64>,
}

/// Why a policy is refused; the text is the kubelet's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid minimum garbage collection age: {0}")]
pub struct ContainerGcPolicyError(pub GoDuration);

impl ContainerGcPolicy {
    /// Returns a limit as the kubelet writes it: below zero there is none.
    pub fn limit(number: i64) -> Option<u64> {
        u64::try_from(number).ok()
    }

    /// Checks the policy as the kubelet does when it starts (`NewContainerGC`).
    pub fn validate(&self) -> Result<(), ContainerGcPolicyError> {
        if self.min_age.0 < 0 { Err(ContainerGcPolicyError(self.min_age)) } else { Ok(()) }
    }
}

impl Default for ContainerGcPolicy {
    /// The default policy: one dead container of each stays, at any age.
    fn default() -> Self {
        Self { min_age: GoDuration(0), max_per_pod_container: Some(1), max_containers: None }
    }
}

impl From<&ContainerGcFlags> for ContainerGcPolicy {
    fn from(flags: &ContainerGcFlags) -> Self {
        let default = Self::default();
        let limit = |flag: Option<i32>, default| {
            flag.map_or(default, |number| Self::limit(i64::from(number)))
        };
        Self {
            min_age: flags.minimum_age.unwrap_or(default.min_age),
            max_per_pod_container: limit(flags.max_per_container, default.max_per_pod_container),
            max_containers: limit(flags.max_containers, default.max_containers),
        }
    }
}

/// What a collection does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerGcPlan {
    /// The removals, in order; each is independent of the others.
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
    Container(ContainerStep),
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
    pub ids: Vec<String>,
    /// How many of them go.
    pub removed: usize,
}

/// Plans a collection of dead containers, sandboxes and log folders.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_make_a_policy() {
        let policy = |flags: ContainerGcFlags| {
            let policy = ContainerGcPolicy::from(&flags);
            (policy.min_age.0, policy.max_per_pod_container, policy.max_containers)
        };
        let none = ContainerGcFlags::default();
        for (name, flags, expected) in [
            ("none", none, (0, Some(1), None)),
            ("no limit", ContainerGcFlags { max_per_container: Some(-2), ..none }, (0, None, None)),
            (
                "all",
                ContainerGcFlags {
                    minimum_age: Some(GoDuration(5)),
                    max_per_container: Some(0),
                    max_containers: Some(7),
                },
                (5, Some(0), Some(7)),
            ),
        ] {
            assert_eq!(policy(flags), expected, "{name}");
        }
    }
}
