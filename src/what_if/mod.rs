//! What a change would do to a node, in every domain: the answer of `kq what-if`. Pure.

pub mod change;
mod parse;
mod rule;
mod view;
mod wording;

pub use parse::{ChangeError, parse};
pub use rule::{
    AllocatableChange, EvictionChange, ImageGcChange, OpenCause, PodFate, RestartCause,
    StartFinding, WhatIfRule,
};
pub use view::{changes_table, script, table, wide};

use crate::answer::{Basis, Finding, Severity, answer};
use change::{ChangeKind, KINDS};
use serde::Serialize;

/// What changes would do to a node.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIf {
    /// The node.
    pub node: Option<String>,
    /// The changes, as they are written on the command line.
    pub changes: Vec<String>,
    /// The kubelet restarts.
    pub kubelet_restarts: bool,
    /// The kubelet starts; null: it is not known whether it does, or it runs on.
    pub kubelet_starts: Option<bool>,
    /// What gets worse and what else is worth knowing, the worst first.
    pub items: Vec<Finding>,
    /// The pods, in the order in which the kubelet comes to them.
    pub pods: Vec<PodOutcome>,
    /// The values of cgroups that change.
    pub values: Vec<ValueChange>,
    /// What to do before the change, in this order.
    pub steps: Vec<Step>,
    /// What it rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("WhatIf", WhatIf);

/// The changes that can be asked about.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeList {
    /// The kinds.
    pub items: Vec<ChangeKind>,
    /// What it rests on: nothing.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ChangeList", ChangeList);

impl Default for ChangeList {
    fn default() -> Self {
        Self { items: KINDS.to_vec(), basis: Basis::default() }
    }
}

/// What happens to a pod.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodOutcome {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// It is a static pod.
    pub is_static: bool,
    /// What happens.
    pub result: PodResult,
    /// The reason in the status of the pod, where it ends.
    pub reason: Option<String>,
    /// The message in the status of the pod.
    pub message: Option<String>,
    /// The containers that restart.
    pub containers: Vec<String>,
    /// Why they restart.
    pub cause: Option<RestartCause>,
    /// Its place in the order of eviction, from 1.
    pub place: Option<usize>,
    /// What else can happen, where that is left open.
    pub or_else: Vec<PodResult>,
    /// What decides between the two.
    pub depends_on: Option<String>,
}

/// What happens to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PodResult {
    /// The kubelet refuses it: its containers are stopped.
    Refused,
    /// The kubelet kills it for a critical pod.
    Preempted,
    /// The kubelet evicts it.
    Evicted,
    /// A controller deletes it.
    Deleted,
    /// Containers of it restart.
    Restarts,
    /// It stays, and waits: for a resize, for room.
    Waits,
    /// It is new to the node, and starts.
    Starts,
    /// Its containers run on.
    Kept,
}

impl PodResult {
    /// Tells whether the pod does not run on this node afterwards.
    pub fn is_lost(self) -> bool {
        matches!(self, Self::Refused | Self::Preempted | Self::Evicted | Self::Deleted)
    }
}

/// A value of a cgroup before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValueChange {
    /// The path below the root of the hierarchy.
    pub cgroup: String,
    /// The pod, as NAMESPACE/NAME; null: the cgroup of the node or of a QoS class.
    pub pod: Option<String>,
    /// The container.
    pub container: Option<String>,
    /// The file.
    pub file: String,
    /// What is planned now; null: the file is not written.
    pub before: Option<String>,
    /// What is planned after the change.
    pub after: Option<String>,
    /// When it is written.
    pub written: Written,
}

/// When a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Written {
    /// When the kubelet starts.
    AtStart,
    /// With the next update of the QoS classes, within a minute.
    WithinAMinute,
    /// With the resize.
    AtResize,
    /// When the container starts next; one that runs keeps its value.
    AtContainerStart,
    /// When the pod is created again; a running pod keeps its value.
    WithPod,
}

/// What to do before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The rule of the finding that it answers.
    pub rule: String,
    /// What to do.
    pub text: String,
    /// The command that does it; null: there is none.
    pub command: Option<String>,
}

impl WhatIf {
    /// Tells whether something gets worse.
    pub fn gets_worse(&self) -> bool {
        self.worse().next().is_some()
    }

    /// Returns what gets worse.
    pub fn worse(&self) -> impl Iterator<Item = &Finding> {
        self.items.iter().filter(|it| matches!(it.severity, Severity::Error | Severity::Warning))
    }

    /// Tells whether a fact is missing that decides.
    pub fn is_incomplete(&self) -> bool {
        self.items.iter().any(|it| it.severity == Severity::Unknown)
            || !self.basis.missing.is_empty()
    }
}
