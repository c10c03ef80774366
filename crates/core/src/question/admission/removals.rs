//! The plan of `kq preempt apply`: the victims of a pod as steps, before a confirmation.

use super::{AdmissionNode, Detail, Settled, plan, random_order, settled, sort};
use kq_admission::preemption::apply::{
    ApplyResult, Check, PreemptionApply, Removal, RemovalOptions, StepReport, Target, successors,
    target_of, unfit, why_not,
};
use kq_admission::preemption::{PodPreemption, PreemptionResult};
use kq_answer::Failure;
use kq_k8s::pod::{Pod, is_final};

/// The plan, as shown before the confirmation.
pub struct PreemptionPlan {
    /// The answer of `kq preempt explain`.
    pub answer: PodPreemption,
    /// The state of the pod, if it needs no victims any more.
    pub settled: Option<Settled>,
    /// The victims, and why the API server cannot evict one.
    pub victims: Vec<(Target, Option<String>)>,
    /// The steps, of which none is done.
    pub report: PreemptionApply,
}

/// Plans the removal of the pods that the kubelet would kill for a pod. `order` is the known part of the kubelet's
/// order of the pods.
///
/// # Errors
///
/// Fails as [`plan`] does.
pub fn plan_removals(
    about: &AdmissionNode,
    pod: &Pod,
    order: &[String],
    detail: Detail,
    options: &RemovalOptions,
) -> Result<PreemptionPlan, Failure> {
    let mut planned = plan(about, pod, |others| sort(others, order), detail)?;
    let targets: Vec<Target> = planned.victims.iter().map(|pod| target_of(pod)).collect();
    planned.basis.lack_all(planned.doubts(&targets));
    let victims: Vec<_> = planned.victims.iter().map(|pod| (target_of(pod), unfit(pod))).collect();
    let successors = successors(&planned.victims, &planned.admission.node);
    let answer = PodPreemption::new(planned.preemption, planned.admission, planned.basis);
    let settled = settled(about, pod);
    let mut report = PreemptionApply::new(
        answer.pod.clone(),
        answer.node.clone(),
        options.how,
        answer.basis.clone(),
    );
    let because = || answer.preemption.because.to_string();
    (report.result, report.because) = match (answer.preemption.result, settled) {
        (PreemptionResult::Fits, _) => (ApplyResult::Fits, because()),
        (_, Some(settled)) => (ApplyResult::NoVictims, settled.because().to_owned()),
        (PreemptionResult::Preempts, None) => (ApplyResult::Planned, because()),
        (PreemptionResult::Refused | PreemptionResult::NotEnough, None) => {
            (ApplyResult::NoVictims, why_not(&answer.preemption))
        }
    };
    if report.result == ApplyResult::Planned {
        let step = |(target, unfit): &(Target, Option<String>)| {
            let check = unfit.clone().map_or(Check::NOT_QUERIED, Check::unfit);
            StepReport::planned(target, options, check)
        };
        report.steps = victims.iter().map(step).collect();
        report.basis.assume_all(random_order(&answer.preemption, order));
        report.notes = notes(options.how, &successors, pod);
    }
    Ok(PreemptionPlan { answer, settled, victims, report })
}

/// Returns the differences from the kubelet's preemption, and possible consequences.
fn notes(how: Removal, successors: &[String], pod: &Pod) -> Vec<String> {
    let budgets = match how {
        Removal::Deletion => "disruption budgets are ignored, as the kubelet ignores them",
        Removal::Eviction => {
            "disruption budgets are honoured; the kubelet ignores them (--like-kubelet deletes \
             without)"
        }
    };
    let mut notes = vec![
        budgets.to_owned(),
        "the victims are deleted; the kubelet would leave them with phase Failed and reason Preempting, or Succeeded \
         where all of their containers exit with 0"
            .to_owned(),
    ];
    notes.extend_from_slice(successors);
    let phase = &pod.status.phase;
    if is_final(phase) {
        notes.push(format!(
            "the pod's phase is {phase}: it stays ended, and room is made for another pod"
        ));
    }
    notes
}
