//! Why a pod is not taken.

use crate::k8s::pod::ResourceName;
use std::fmt;

/// A predicate that is not about amounts (`PredicateFailureError`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// The labels or the name of the node are not those that the pod wants.
    NodeAffinity,
    /// The pod is for another node.
    NodeName,
    /// A port of the node is taken.
    NodePorts,
    /// A taint that the pod does not bear.
    TaintToleration,
    /// Any other, by name and reason.
    Other {
        /// The name.
        name: String,
        /// The reason.
        reason: String,
    },
}

impl Predicate {
    /// Returns the name, which becomes the reason in the pod's status.
    pub fn name(&self) -> &str {
        match self {
            Self::NodeAffinity => "NodeAffinity",
            Self::NodeName => "NodeName",
            Self::NodePorts => "NodePorts",
            Self::TaintToleration => "TaintToleration",
            Self::Other { name, .. } => name,
        }
    }

    /// Returns the kubelet's words.
    pub fn reason(&self) -> &str {
        match self {
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::NodeName => "node(s) didn't match the requested node name",
            Self::NodePorts => "node(s) didn't have free ports for the requested pod ports",
            Self::TaintToleration => "node(s) had taints that the pod didn't tolerate",
            Self::Other { reason, .. } => reason,
        }
    }
}

/// Why a pod is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The node is short of something (`InsufficientResourceError`): thousandths of a CPU, bytes, pods,
    /// or whole units.
    Resource {
        /// Of what.
        resource: ResourceName,
        /// What the pod requests.
        requested: i64,
        /// What the other pods request.
        used: i64,
        /// What the node has for pods.
        capacity: i64,
    },
    /// Something else.
    Predicate(Predicate),
}

impl Failure {
    /// Returns how much is missing; `None` for what is no resource. On an over-committed node that is
    /// more than the pod requests.
    pub fn missing(&self) -> Option<i64> {
        match self {
            Self::Resource { requested, used, capacity, .. } => {
                Some(requested.wrapping_sub(capacity.wrapping_sub(*used)))
            }
            Self::Predicate(_) => None,
        }
    }

    /// Returns the reason by which the failure is known among others: `Insufficient cpu`.
    pub fn reason(&self) -> String {
        match self {
            Self::Resource { resource, .. } => format!("Insufficient {resource}"),
            Self::Predicate(predicate) => predicate.reason().to_owned(),
        }
    }

    /// Returns the reason that the pod's status gets when this is the first failure: `OutOfcpu`.
    pub fn status_reason(&self) -> String {
        match self {
            Self::Resource { resource, .. } => format!("OutOf{resource}"),
            Self::Predicate(predicate) => predicate.name().to_owned(),
        }
    }
}

impl fmt::Display for Failure {
    /// Writes the kubelet's message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource { resource, requested, used, capacity } => write!(
                f,
                "Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, \
                 capacity: {capacity}"
            ),
            Self::Predicate(predicate) => {
                write!(f, "Predicate {} failed: {}", predicate.name(), predicate.reason())
            }
        }
    }
}
