//! Which nodes a pod may be on.

use super::read::{null_as_default, objects, optional_object};
use super::{OS_LABEL, Pod};
use serde::{Deserialize, Serialize};

/// The operating system that a pod is for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodOs {
    /// `linux` or `windows`
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// Why a kubelet on linux refuses a pod for another operating system (`rejectPodAdmissionBasedOnOSSelector`,
/// `rejectPodAdmissionBasedOnOSField` of `pkg/kubelet/lifecycle/predicate.go`, read in 1.36.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OsRefusal {
    /// The reason in the pod's status.
    pub reason: &'static str,
    /// The message.
    pub message: &'static str,
    /// The field and its value.
    pub because: String,
}

impl OsRefusal {
    /// Returns why a kubelet on linux refuses a pod: for its label first, whose value counts as that of
    /// `spec.os` does.
    pub fn of(pod: &Pod) -> Option<Self> {
        let other = |os: Option<&str>| os.filter(|os| *os != "linux").map(str::to_owned);
        if let Some(os) = other(pod.metadata.labels.os.as_deref()) {
            return Some(Self {
                reason: "PodOSSelectorNodeLabelDoesNotMatch",
                message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
                because: format!("the label {OS_LABEL} is {os:?}"),
            });
        }
        let os = other(pod.spec.os.as_ref().map(|os| os.name.as_str()))?;
        Some(Self {
            reason: "PodOSNotSupported",
            message: "Failed to admit pod as the OS field doesn't match node OS",
            because: format!("spec.os.name is {os:?}"),
        })
    }

    /// Returns a warning for answers about a pod that does not get as far as they go.
    pub fn warning(&self) -> String {
        format!("{}: a kubelet on linux refuses the pod ({})", self.because, self.reason)
    }
}

/// The part of a pod's security context that a node may not be able to give.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSecurityContext {
    /// `Merge`, or `Strict`: no groups but those that the pod names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supplemental_groups_policy: Option<String>,
}

/// Which nodes will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Affinity {
    /// By what the nodes are.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
}

/// Which nodes will do, by what they are. What is only preferred is the scheduler's alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeAffinity {
    /// What must hold when a pod comes to a node.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "optional_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub required: Option<NodeSelector>,
}

/// Terms of which one must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelector {
    /// The terms.
    #[serde(deserialize_with = "objects")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Requirements that must hold together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    /// Of labels.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// Of fields; the only one is `metadata.name`.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// What a label or a field must be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelectorRequirement {
    /// The label or field.
    #[serde(deserialize_with = "null_as_default")]
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
    #[serde(deserialize_with = "null_as_default")]
    pub operator: String,
    /// The values; for `Gt` and `Lt` one number.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}
