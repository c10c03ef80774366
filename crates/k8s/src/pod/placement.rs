//! Which nodes a pod may be on.
//!
//! Taints and tolerations.
//!
//! Mirrors `Toleration.ToleratesTaint` of `staging/src/k8s.io/api/core/v1/toleration.go`, read in
//! 1.36.2.

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
    /// It is refused for its label, not for its field.
    pub is_of_label: bool,
    /// The reason in the pod's status.
    pub reason: &'static str,
    pub message: &'static str,
    /// The field and its value.
    pub because: String,
}

impl OsRefusal {
    /// Returns why a kubelet on linux refuses a pod: for its label first, whose value counts as that of
    /// `spec.os` does.
    pub fn of(pod: &Pod) -> Option<Self> {
        let other = |os: Option<&str>| os.filter(|os| *os != "linux").map(str::to_owned);
        if let Some(os) = other(pod.metadata.labels.os()) {
            return Some(Self {
                is_of_label: true,
                reason: "PodOSSelectorNodeLabelDoesNotMatch",
                message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
                because: format!("the label {OS_LABEL} is {os:?}"),
            });
        }
        let os = other(pod.spec.os.as_ref().map(|os| os.name.as_str()))?;
        Some(Self {
            is_of_label: false,
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

/// The part of a pod's security context that a node may not support or allow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSecurityContext {
    /// `Merge`, or `Strict`: no groups but those that the pod names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supplemental_groups_policy: Option<String>,
    /// The kernel's settings that the pod changes in its namespaces.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub sysctls: Vec<Sysctl>,
}

/// A setting of the kernel. Its value is not kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Sysctl {
    /// The name, with dots or slashes.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// Which nodes will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Affinity {
    /// Requirements on nodes.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
}

/// The requirements on nodes. Preferences matter to the scheduler alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeAffinity {
    /// The requirements at the admission of a pod.
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

/// A requirement on a label or a field.
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

/// A taint that a pod bears. All fields are texts; an empty one is the same as an absent one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Toleration {
    /// The taint's key; empty for all.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `Equal`, `Exists`, or, behind a gate, `Lt` and `Gt`; empty for `Equal`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The taint's value.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The taint's effect; empty for all.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub effect: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Taint<'t> {
    pub key: &'t str,
    pub value: &'t str,
    pub effect: &'t str,
}

/// The comparison operators that a version supports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaintRules {
    /// `Lt` and `Gt` compare numbers (gate TaintTolerationComparisonOperators).
    pub comparison_operators: bool,
}

impl Toleration {
    /// Returns true if a pod with this toleration tolerates the taint.
    pub fn tolerates(&self, taint: &Taint<'_>, rules: TaintRules) -> bool {
        if !self.effect.is_empty() && self.effect != taint.effect {
            return false;
        }
        if !self.key.is_empty() && self.key != taint.key {
            return false;
        }
        match self.operator.as_str() {
            "" | "Equal" => self.value == taint.value,
            "Exists" => true,
            operator @ ("Lt" | "Gt") if rules.comparison_operators => {
                let (Some(mine), Some(its)) = (number(&self.value), number(taint.value)) else {
                    return false;
                };
                if operator == "Lt" { its < mine } else { its > mine }
            }
            _ => false,
        }
    }
}

/// Reads a plain decimal number: no leading zeros, no plus sign.
fn number(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toleration_covers_a_taint_by_effect_key_and_value() {
        let taint = Taint { key: "k", value: "5", effect: "NoSchedule" };
        // Key, operator, value, effect; without and with numbers compared.
        let rows = [
            ("all of it", ["k", "Equal", "5", "NoSchedule"], true, true),
            ("equal is the default", ["k", "", "5", ""], true, true),
            ("another value", ["k", "", "6", ""], false, false),
            ("another key", ["l", "Exists", "", ""], false, false),
            ("another effect", ["k", "Exists", "", "NoExecute"], false, false),
            ("everything", ["", "Exists", "", ""], true, true),
            ("every key with the value", ["", "Equal", "5", ""], true, true),
            ("exists, whatever the value", ["k", "Exists", "7", ""], true, true),
            ("less", ["k", "Lt", "6", ""], false, true),
            ("not less", ["k", "Lt", "5", ""], false, false),
            ("greater", ["k", "Gt", "-4", ""], false, true),
            ("no plain number", ["k", "Gt", "04", ""], false, false),
            ("plus sign", ["k", "Gt", "+4", ""], false, false),
            ("unknown operator", ["k", "In", "5", ""], false, false),
        ];
        for (name, [key, operator, value, effect], plain, compared) in rows {
            let toleration = Toleration {
                key: key.to_owned(),
                operator: operator.to_owned(),
                value: value.to_owned(),
                effect: effect.to_owned(),
            };
            for (comparison_operators, expected) in [(false, plain), (true, compared)] {
                let rules = TaintRules { comparison_operators };
                assert_eq!(toleration.tolerates(&taint, rules), expected, "{name}");
            }
        }
    }
}
