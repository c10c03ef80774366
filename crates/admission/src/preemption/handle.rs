//! Handles the admission failures of a pod, and names the status that victims get
//! (`HandleAdmissionFailure`, `evictPodsToFreeRequests`).

use super::victims::{Preemption, Requirement, Trace, pick_victims};
use crate::{CheckName, Examined, Failure, Refusal, Verdict};
use kq_k8s::disruption_target::DisruptionTarget;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_critical_pod;

/// The reason of the event and of the victim's status.
pub const REASON_PREEMPTING: &str = "Preempting";

/// The message of both.
pub const MESSAGE: &str = "Preempted in order to admit critical pod";

/// The message of the condition `DisruptionTarget`.
pub const CONDITION_MESSAGE: &str = "Pod was preempted by Kubelet to accommodate a critical pod.";

/// The result of a pod's failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Handled {
    /// What the kubelet does.
    pub outcome: Outcome,
    /// How the victims were found; `None`: no victim was needed.
    pub preemption: Option<Preemption>,
}

/// What the kubelet does about failures.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing: the pod is not critical, and is refused for its first failure.
    NotCritical,
    /// Nothing: these, by their places, are not about resources; the pod is refused for the first.
    OtherFailures(Vec<usize>),
    /// No set of pods is enough: the kubelet's error.
    NotEnough(String),
    /// These are killed, one after the other, and the pod is admitted, even where killing fails. Whether it
    /// fits then is not checked.
    Kills(Vec<usize>),
}

/// Returns what the kubelet does when a pod fails to be admitted; `pods` are the active ones.
pub fn handle_failures(
    pod: &Pod,
    failures: &[Failure],
    pods: &[&Pod],
    trace: Trace,
    rules: &KubeletRules,
) -> Handled {
    handle(pod, failures, |requirements| pick_victims(pod, pods, requirements, trace, rules))
}

/// The same with a function that picks the victims.
fn handle(
    pod: &Pod,
    failures: &[Failure],
    pick: impl FnOnce(&[Requirement]) -> Preemption,
) -> Handled {
    let nobody = |outcome| Handled { outcome, preemption: None };
    if !is_critical_pod(pod) {
        return nobody(Outcome::NotCritical);
    }
    let mut requirements = Vec::new();
    let mut others = Vec::new();
    for (at, failure) in failures.iter().enumerate() {
        match (failure, failure.missing()) {
            (Failure::Resource { resource, .. }, Some(quantity)) => {
                requirements.push(Requirement { resource: resource.clone(), quantity });
            }
            _ => others.push(at),
        }
    }
    if !others.is_empty() {
        return nobody(Outcome::OtherFailures(others));
    }
    let preemption = pick(&requirements);
    let outcome = match &preemption.victims {
        Ok(victims) => Outcome::Kills(victims.clone()),
        Err(left) => Outcome::NotEnough(format!(
            "preemption: error finding a set of pods to preempt: {left}"
        )),
    };
    Handled { outcome, preemption: Some(preemption) }
}

/// Makes room for a pod that was examined.
///
/// Returns the verdict, and the result of failures; `None` where there are none.
pub fn make_room(
    pod: &Pod,
    examined: &Examined,
    pods: &[&Pod],
    trace: Trace,
    rules: &KubeletRules,
) -> (Verdict, Option<Handled>) {
    make_room_with(pod, examined, |requirements| {
        pick_victims(pod, pods, requirements, trace, rules)
    })
}

/// The same with a function that picks the victims.
pub(super) fn make_room_with(
    pod: &Pod,
    examined: &Examined,
    pick: impl FnOnce(&[Requirement]) -> Preemption,
) -> (Verdict, Option<Handled>) {
    let failures = &examined.filtered.failures;
    if failures.is_empty() {
        return (examined.verdict(), None);
    }
    let handled = handle(pod, failures, pick);
    let verdict = match &handled.outcome {
        Outcome::NotCritical => examined.verdict(),
        Outcome::Kills(_) => Verdict::Admitted,
        Outcome::OtherFailures(places) => {
            match places.first().and_then(|first| failures.get(*first)) {
                Some(first) => Verdict::Refused(Refusal::by(first)),
                None => Verdict::Admitted,
            }
        }
        Outcome::NotEnough(error) => Verdict::Refused(Refusal::new(
            CheckName::Resources,
            "UnexpectedAdmissionError",
            format!("Unexpected error while attempting to recover from admission failure: {error}"),
        )),
    };
    (verdict, Some(handled))
}

/// What the kubelet writes to the status of a victim, in addition to its present content: the phase `Failed`, the
/// reason and message of a preemption, and a condition ([`written_to_victim`](kq_k8s::disruption_target::written_to_victim)).
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenStatus {
    /// The condition; it takes the place of one that is there.
    pub condition: DisruptionTarget,
    /// The condition was `True` already, and keeps its time; else its time is now.
    pub keeps_transition_time: bool,
}

/// Returns what is written about a victim.
pub fn written_status(victim: &Pod, rules: &KubeletRules) -> WrittenStatus {
    let mut conditions = victim.status.conditions.iter();
    let before = conditions.find(|it| it.kind == DisruptionTarget::TYPE);
    WrittenStatus {
        condition: DisruptionTarget::of(victim, CONDITION_MESSAGE.to_owned(), rules),
        keeps_transition_time: before.is_some_and(|it| it.status == "True"),
    }
}
