//! The effect of a change on a node, in every domain: the answer of `kq what-if`. Pure.

pub mod change;
mod fate;
mod parse;
mod rule;
mod view;

pub use fate::{OpenCause, PendingReason, PodFate, ResizeRefusal, ResizeRestart};
pub use kq_admission::preemption::RestartCause;
use kq_admission::preemption::all_stay;
pub use parse::{ChangeError, parse};
pub use rule::{AllocatableChange, Effect, EvictionChange, ImageGcChange, WhatIfRule};
pub use view::{changes_table, script, table_but_for, wide};

use change::{ChangeKind, KINDS};
use kq_answer::{Basis, Finding, Headline, Severity, Subject, answer};
use kq_k8s::duration::GoDuration;
use kq_output::units::{counted, first_few, verb};
use serde::Serialize;

/// The effect of changes on a node.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIf {
    pub node: Option<String>,
    /// The changes, as they are written on the command line.
    pub changes: Vec<String>,
    pub kubelet_restarts: bool,
    /// The start of the kubelet; null: unknown, or it keeps running.
    pub kubelet_starts: Option<bool>,
    /// The regressions and other findings, the worst first.
    pub items: Vec<Finding>,
    /// The pods, in the order in which the kubelet admits them.
    pub pods: Vec<PodOutcome>,
    /// The values of cgroups that change.
    pub values: Vec<ValueChange>,
    /// The steps before the change, in order.
    pub steps: Vec<Step>,
    /// The outcomes of the pods are known, or the kubelet does not start.
    #[serde(skip)]
    pub knows_pods: bool,
    /// What it rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("WhatIf", WhatIf; WhatIf::headline);

impl WhatIf {
    /// Returns what becomes of the pods: how many stay, which end for certain, and which may.
    fn told_of_pods(&self) -> String {
        use PodResult::{Deleted, Ends, Evicted, Preempted, Refused, Terminated};
        const NAMED: usize = 3;
        let all = self.pods.len();
        if all == 0 {
            let is_known = if self.knows_pods {
                "no pod is known"
            } else {
                "what becomes of the pods is unknown"
            };
            return is_known.to_owned();
        }
        let ends = |it: &&PodOutcome| {
            matches!(it.result, Refused | Preempted | Evicted | Deleted | Ends | Terminated)
        };
        let (open, decided): (Vec<&PodOutcome>, Vec<&PodOutcome>) =
            self.pods.iter().partition(|it| !it.or_else.is_empty());
        let gone: Vec<&PodOutcome> = decided.into_iter().filter(ends).collect();
        let names = |pods: &[&PodOutcome]| first_few(NAMED, pods.iter().map(|it| &it.pod));
        let restart = self.pods.iter().filter(|it| it.or_else.is_empty());
        let restart = restart.filter(|it| it.result == PodResult::Restarts).count();
        let stay = all - gone.len() - open.len() - restart;
        let restarts = verb(restart, "restart");
        let mut told = Vec::new();
        match (stay, restart) {
            (stay, 0) if stay == all => told.push(all_stay(all)),
            (0, restart) if restart > 0 => {
                told.push(format!("{restart} of {} {restarts}", counted(all, "pod")));
            }
            (0, _) => {}
            (stay, 0) => {
                told.push(format!("{stay} of {} {}", counted(all, "pod"), verb(stay, "stay")));
            }
            (stay, restart) => {
                let stay = format!("{stay} of {} {}", counted(all, "pod"), verb(stay, "stay"));
                told.push(format!("{stay}, {restart} {restarts}"));
            }
        }
        match gone.as_slice() {
            [] => {}
            [one] => {
                let reason = one.reason.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
                told.push(format!("{} {}{reason}", one.pod, one.result.does()));
            }
            many => told.push(format!("{} end: {}", counted(many.len(), "pod"), names(many))),
        }
        if !open.is_empty() {
            told.push(format!("{} may end: {}", counted(open.len(), "pod"), names(&open)));
        }
        told.join(", ")
    }

    /// Returns whether the kubelet starts, and what becomes of the pods.
    fn headline(&self) -> Headline {
        let start = match (self.kubelet_restarts, self.kubelet_starts) {
            (false, _) => String::new(),
            (true, Some(true)) => "the kubelet starts; ".to_owned(),
            (true, Some(false)) => {
                let end = self.items.iter().find(|it| it.severity == Severity::Error);
                let end = end.map(|it| format!(": {}", it.found)).unwrap_or_default();
                return Headline::new("no-start", format!("the kubelet does not start{end}"));
            }
            (true, None) => "whether the kubelet starts is unknown; ".to_owned(),
        };
        let pods = self.told_of_pods();
        let values = match self.values.len() {
            0 => String::new(),
            count => format!("; {} {}", counted(count, "value"), verb(count, "change")),
        };
        let worst = self.items.first().map(|it| it.severity);
        let (code, comforts) = match (self.kubelet_starts, worst) {
            (None, _) if self.kubelet_restarts => ("unknown", false),
            (_, Some(Severity::Error)) => ("errors", false),
            (_, Some(Severity::Unknown)) => ("incomplete", false),
            (_, Some(Severity::Warning)) => ("warnings", false),
            _ => ("no-problem", true),
        };
        // The counts do not show what is wrong with the node itself.
        let is_of_node =
            |it: &&Finding| it.severity == Severity::Error && matches!(it.subject, Subject::Node);
        let of_node = self.items.iter().find(is_of_node).map(|it| format!("; {}", it.found));
        let of_node = of_node.unwrap_or_default();
        let headline = Headline::new(code, format!("{start}{pods}{values}{of_node}"));
        Headline { comforts, ..headline }
    }
}

impl PodResult {
    /// Returns what the pod does, after its name.
    fn does(self) -> &'static str {
        match self {
            Self::Refused => "is refused",
            Self::Preempted => "is killed for a critical pod",
            Self::Evicted => "is evicted",
            Self::Deleted => "is deleted",
            Self::Ends => "ends",
            Self::Terminated => "is terminated",
            Self::Restarts => "restarts",
            Self::Waits => "waits",
            Self::Starts => "starts",
            Self::Kept => "stays",
        }
    }
}

/// The changes that `kq what-if` accepts.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeList {
    /// The kinds.
    pub items: Vec<ChangeKind>,
    /// The basis, which is empty.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ChangeList", ChangeList);

impl Default for ChangeList {
    fn default() -> Self {
        Self { items: KINDS.to_vec(), basis: Basis::default() }
    }
}

/// The outcome of a pod.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodOutcome {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// It is a static pod.
    pub is_static: bool,
    pub result: PodResult,
    /// The reason in the status of the pod, where it ends.
    pub reason: Option<String>,
    /// The message of the kubelet's event; in the status of a refused pod it comes after `Pod was rejected: `.
    pub message: Option<String>,
    /// The containers that restart.
    pub containers: Vec<String>,
    /// Why they restart.
    pub cause: Option<RestartCause>,
    /// Its place in the order of eviction, from 1.
    pub place: Option<usize>,
    /// The seconds that it gets to end before the machine shuts down; null: it does not end so.
    pub grace_seconds: Option<i64>,
    /// Other possible results, if the outcome is open.
    pub or_else: Vec<PodResult>,
    /// What decides between the results.
    pub depends_on: Option<String>,
    /// The kubelet makes no pod of its manifest.
    #[serde(skip)]
    pub is_of_manifest: bool,
    /// A fact decides that is missing.
    #[serde(skip)]
    pub is_unknown: bool,
}

/// The result for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PodResult {
    /// The kubelet rejects it and stops its containers.
    Refused,
    /// The kubelet kills it for a critical pod.
    Preempted,
    /// The kubelet evicts it.
    Evicted,
    /// A controller deletes it.
    Deleted,
    /// Its containers end, and its `restartPolicy` starts none again.
    Ends,
    /// The kubelet ends it before the machine shuts down.
    Terminated,
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
    /// Returns true if the pod does not run on this node afterwards.
    pub fn is_lost(self) -> bool {
        matches!(
            self,
            Self::Refused
                | Self::Preempted
                | Self::Evicted
                | Self::Deleted
                | Self::Terminated
                | Self::Ends
        )
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
    pub container: Option<String>,
    pub file: String,
    /// The planned value before the change; null: the file is not written.
    pub before: Option<String>,
    /// The planned value after the change; null: the outcome of pods that is open decides.
    pub after: Option<String>,
    /// Then, the values between which it is: without these pods, and with all of them.
    pub between: Option<[String; 2]>,
    /// When it is written.
    pub written: Written,
    /// How long after the start it may take; null: `written` says all.
    pub within: Option<GoDuration>,
}

/// When a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Written {
    /// When the kubelet starts.
    AtStart,
    /// At a start that fails, by a thread that the end may come before.
    PerhapsAtStart,
    /// With the next update of the QoS classes, within a minute.
    WithinAMinute,
    /// With the resize.
    AtResize,
    /// When the CPU manager compares the containers with its state, every `cpuManagerReconcilePeriod`.
    WithReconcile,
    /// At the next start of the container; a running container keeps its value.
    AtContainerStart,
    /// When the pod is created again; a running pod keeps its value.
    WithPod,
}

/// A step before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The rule of the finding that it answers.
    pub rule: String,
    /// The instruction.
    pub text: String,
    /// The command that executes it; null: none.
    pub command: Option<String>,
}

impl WhatIf {
    /// Returns true if something gets worse.
    pub fn gets_worse(&self) -> bool {
        self.worse().next().is_some()
    }

    /// Returns the findings that get worse.
    pub fn worse(&self) -> impl Iterator<Item = &Finding> {
        self.items.iter().filter(|it| matches!(it.severity, Severity::Error | Severity::Warning))
    }

    /// Returns true if a decisive fact is missing.
    pub fn is_incomplete(&self) -> bool {
        self.items.iter().any(|it| it.severity == Severity::Unknown)
            || !self.basis.missing.is_empty()
    }
}
