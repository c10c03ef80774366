//! Outcomes that depend on chance, among pods that were created in the same second.

use crate::question::admission::{AdmissionNode, KubeletStart};
use crate::question::devices::admission::PluginStart;
use crate::what_if::{OpenCause, PodOutcome, PodResult};
use kq_admission::preemption::{ReadmissionResult, are_tied};
use kq_admission::qualified;
use kq_answer::Failure;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_static_pod;
use std::collections::{BTreeMap, BTreeSet};

/// The most admissions that are simulated: those of 110 pods of which 90 share a second.
const MOST_ADMISSIONS: usize = 20_000;

/// Leaves open the outcomes of pods of one second where their order decides: each of them is simulated as the first and
/// as the last. If all of them are admitted without a victim in one order, they are in every order.
///
/// # Errors
///
/// Fails where the pods or the Node object are unknown.
pub fn leave_ties_open(about: &AdmissionNode, outcomes: &mut [PodOutcome]) -> Result<(), Failure> {
    let lost = outcomes.iter().filter(|it| it.result.is_lost());
    // The message of a preempted pod is the pod that took its place.
    let decided: BTreeSet<String> =
        lost.flat_map(|it| [Some(it.pod.clone()), it.message.clone()]).flatten().collect();
    if decided.is_empty() {
        return Ok(());
    }
    let start = KubeletStart::of(about, PluginStart::AfterPods)?;
    let order = start.order();
    let groups = order.chunk_by(|one, other| are_tied(one, other)).filter(|group| {
        group.len() > 1 && group.iter().any(|pod| decided.contains(&qualified(pod)))
    });
    let tied: Vec<&Pod> = groups.flatten().copied().collect();
    let mut open = OpenOutcomes::of(outcomes);
    if tied.len() * 2 * order.len() > MOST_ADMISSIONS {
        open.leave_all(&order, &tied);
        return Ok(());
    }
    for pod in tied {
        for is_first in [true, false] {
            let mut order = order.clone();
            place(&mut order, pod, is_first);
            for item in start.readmit(&order).items {
                let result = match item.result {
                    ReadmissionResult::Admitted => PodResult::Kept,
                    ReadmissionResult::Refused => PodResult::Refused,
                    ReadmissionResult::Killed => PodResult::Preempted,
                };
                let Some(outcome) = open.add(&item.pod, result, || OpenCause::Tie) else {
                    continue;
                };
                if outcome.reason.is_none() {
                    let refusal = item.refusals.first();
                    outcome.reason = refusal.map(|it| it.reason.clone());
                    outcome.message = refusal.map(|it| it.message.trim_end().to_owned());
                }
            }
        }
    }
    Ok(())
}

/// Moves a pod to the start or the end of the pods of its second.
fn place(order: &mut Vec<&Pod>, pod: &Pod, is_first: bool) {
    let Some(at) = order.iter().position(|it| std::ptr::eq(*it, pod)) else { return };
    let pod = order.remove(at);
    let is_other = |other: &&Pod| !are_tied(pod, other);
    let first = order[..at].iter().rposition(is_other).map_or(0, |place| place + 1);
    let after = order[at..].iter().position(is_other).map_or(order.len(), |place| at + place);
    order.insert(if is_first { first } else { after }, pod);
}

/// The outcomes of pods, by their names.
struct OpenOutcomes<'o> {
    outcomes: &'o mut [PodOutcome],
    places: BTreeMap<String, usize>,
}

impl<'o> OpenOutcomes<'o> {
    fn of(outcomes: &'o mut [PodOutcome]) -> Self {
        let places = outcomes.iter().enumerate().map(|(at, it)| (it.pod.clone(), at)).collect();
        Self { outcomes, places }
    }

    /// Adds another possible result of a pod; returns its outcome if the result is new.
    fn add(
        &mut self,
        pod: &str,
        result: PodResult,
        cause: impl FnOnce() -> OpenCause,
    ) -> Option<&mut PodOutcome> {
        let outcome = &mut self.outcomes[*self.places.get(pod)?];
        let differs = result != outcome.result && (result.is_lost() || outcome.result.is_lost());
        if !differs || outcome.or_else.contains(&result) {
            return None;
        }
        outcome.or_else.push(result);
        outcome.depends_on = Some(cause().to_string());
        Some(outcome)
    }

    /// Leaves open each pod that an order which was not simulated can affect: those after the first of `tied`, or all
    /// if a critical pod preempts others.
    fn leave_all(&mut self, order: &[&Pod], tied: &[&Pod]) {
        let has_victims = self.outcomes.iter().any(|it| it.result == PodResult::Preempted);
        let is_first = |pod: &&Pod| tied.first().is_some_and(|it| std::ptr::eq(*it, *pod));
        let first = if has_victims { 0 } else { order.iter().position(is_first).unwrap_or(0) };
        for pod in order[first..].iter().filter(|pod| !is_static_pod(pod)) {
            let name = qualified(pod);
            for result in [PodResult::Kept, PodResult::Refused] {
                self.add(&name, result, || OpenCause::ManyTied { pods: tied.len() });
            }
        }
    }
}
