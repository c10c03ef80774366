//! The limits of container garbage collection.

use crate::facts::kubelet_process::ContainerGcFlags;
use crate::k8s::duration::GoDuration;
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
