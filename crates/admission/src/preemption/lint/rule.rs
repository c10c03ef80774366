//! What the rules find, as facts, and the sentences made of them.

use kq_answer::{Rule, Severity, Wording};
use kq_k8s::qos::QosClass;
use serde::Serialize;

/// A rule that applies, with its facts.
#[derive(Debug, Serialize, Wording)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum PreemptionRule {
    /// A priority above 0 that makes the pod not critical.
    #[text(_0.described())]
    #[why(
        "where the kubelet makes room for a critical pod, the priority of pods below 2000000000 \
         does not count, only their QoS class and their requests: {turn}",
        turn = _0.turn()
    )]
    #[advice(
        0: NotCritical { qos_class: QosClass::Guaranteed, .. } =>
        "nothing, where going last is enough"
    )]
    #[advice("requests equal to limits for CPU and memory make it Guaranteed")]
    PriorityNotCritical(NotCritical),
    /// A pod of a DaemonSet that is not critical.
    #[text("a DaemonSet's pod: {pod}", pod = pod.described())]
    #[why(
        "the kubelet may kill it for a critical pod, and the DaemonSet makes its next pod for the \
         same node: {pod}",
        pod = pod.turn()
    )]
    #[advice("priorityClassName system-node-critical, where the node does not work without it")]
    AgentNotCritical {
        #[serde(flatten)]
        pod: NotCritical,
        /// It is in the namespace of the system.
        is_of_system: bool,
    },
    /// A static pod whose manifest has a priority below that of critical pods.
    #[text("a static pod with priority {priority} in its manifest")]
    #[why(
        "a static pod without priority is never preempted; with one, every critical pod of a \
         higher priority takes its place"
    )]
    #[advice("leave priority out of the manifest, or set 2000001000")]
    StaticWithPriority { priority: i32 },
    /// A critical pod that the kernel kills among the first when memory runs out.
    #[text(
        "a critical pod{priority} without requests: BestEffort",
        priority = priority.map_or_else(String::new, |it| format!(" of priority {it}"))
    )]
    #[why(
        "neither preemption nor eviction takes it, but the kernel kills its processes first when \
         memory runs out: their oom_score_adj is 1000"
    )]
    #[advice("set requests, or priorityClassName system-node-critical (oom_score_adj -997)")]
    CriticalBestEffort { priority: Option<i32> },
}

/// What a pod has in place of a critical priority.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NotCritical {
    /// Null: it has none.
    pub priority: Option<i32>,
    /// Empty: it has none.
    pub priority_class_name: String,
    pub qos_class: QosClass,
}

impl NotCritical {
    fn described(&self) -> String {
        let class = match self.priority_class_name.as_str() {
            "" => String::new(),
            name => format!(" ({name})"),
        };
        match self.priority {
            Some(priority) => format!("priority {priority}{class}, {}", self.qos_class),
            None => format!("no priority, {}", self.qos_class),
        }
    }

    /// Returns when the kubelet takes pods of a class.
    fn turn(&self) -> &'static str {
        match self.qos_class {
            QosClass::BestEffort => "BestEffort pods go first",
            QosClass::Burstable => "Burstable pods go after the BestEffort ones",
            QosClass::Guaranteed => "Guaranteed pods go last",
        }
    }
}

impl Rule for PreemptionRule {
    fn severity(&self) -> Severity {
        match self {
            Self::AgentNotCritical { is_of_system: true, .. }
            | Self::StaticWithPriority { .. }
            | Self::CriticalBestEffort { .. } => Severity::Warning,
            Self::PriorityNotCritical(_) | Self::AgentNotCritical { .. } => Severity::Info,
        }
    }
}
