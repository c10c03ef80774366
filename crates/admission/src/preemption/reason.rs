//! Why pods are killed for another one, or spared: facts, and the sentences made of them.

use kq_answer::reason::Reason;
use kq_k8s::priority::SYSTEM_CRITICAL_PRIORITY;

/// Why a pod is critical, or not.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum CriticalReason {
    /// It is a static pod.
    #[text("a static pod, from source {source}", source = format!("{source:?}"))]
    StaticPod {
        /// The value of its annotation `kubernetes.io/config.source`.
        source: String,
    },
    /// It is the mirror of a static pod.
    #[text("the mirror of a static pod")]
    MirrorPod,
    /// Its priority is as high as that of system-critical pods, or higher.
    #[text("priority {priority} >= {critical}", critical = SYSTEM_CRITICAL_PRIORITY)]
    SystemCriticalPriority { priority: i32 },
    /// Its priority is lower.
    #[text("priority {priority} < {critical}, neither static nor a mirror", critical = SYSTEM_CRITICAL_PRIORITY)]
    LowerPriority { priority: i32 },
    /// It has no priority.
    #[text("no priority, neither static nor a mirror")]
    NoPriority,
}

/// Why the kubelet kills pods for another one, or does not.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum PreemptionReason {
    /// The pod is refused before resources are compared.
    #[text("rejected for a reason other than resources: no pod is killed")]
    RefusedBefore,
    /// The pod fits.
    #[text("it fits: no pod is killed")]
    Fits,
    /// The pod is not critical.
    #[text("it is not critical: no pod is killed for it")]
    NotCritical,
    /// The pod lacks something that is not a resource.
    #[text("it lacks more than resources: killing would not help, so no pod is killed")]
    OtherFailures,
    /// All pods that may be killed together do not give enough.
    #[text("killing all pods of lower priority is not enough, so no pod is killed")]
    NotEnough,
    /// Pods are killed.
    #[text(
        pods: 1 => "one pod is killed, and it is {admitted}",
        admitted = admitted_text(*admitted)
    )]
    #[text("{pods} pods are killed, and it is {admitted}", admitted = admitted_text(*admitted))]
    Kills {
        /// How many.
        pods: usize,
        /// The pod is admitted then.
        admitted: bool,
    },
    /// A fact is missing.
    #[text("{error}")]
    Missing {
        /// Which, or why.
        error: String,
    },
}

/// Why a pod is not killed.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum SparedReason {
    /// The others give enough.
    #[text("not needed")]
    NotNeeded,
    /// All together do not give enough.
    #[text("could be killed, but all together are not enough")]
    NotEnough,
    /// It is critical.
    #[text("critical: {critical}")]
    Critical {
        /// Why.
        critical: CriticalReason,
    },
    /// Its priority is not lower.
    #[text("its priority {priority} >= {preemptor_priority}")]
    Priority {
        priority: i32,
        /// The priority of the pod that is to fit.
        preemptor_priority: i32,
    },
    /// The kubelet searches victims by QoS class, and its class does not exist.
    #[text("its QoS class {qos_class} does not exist", qos_class = format!("{qos_class:?}"))]
    UnknownQosClass {
        /// The class.
        qos_class: String,
    },
    /// One of the two pods has no priority.
    #[text("one of the two has no priority")]
    NoPriority,
}

fn admitted_text(admitted: bool) -> &'static str {
    if admitted { "admitted" } else { "still rejected" }
}
