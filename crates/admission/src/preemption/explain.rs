//! The pods that the kubelet kills to admit a pod, with every round and its reasons.

use super::handle::{Handled, MESSAGE, Outcome, REASON_PREEMPTING, written_status};
use super::reason::{CriticalReason, PreemptionReason, SparedReason};
use super::report::{
    CandidateExplained, ConditionExplained, Missing, PreemptionExplanation, PreemptionResult,
    Reasoned, RoundExplained, Spared, StageExplained, Victim, WrittenExplained,
};
use super::victims::{
    NotEnough, Preemption, Requirement, Round, Stage, Visit, preemption_request, subtract,
};
use crate::{Refusal, qualified};
use kq_k8s::disruption_target::DisruptionTarget;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::priority::{
    SYSTEM_CRITICAL_PRIORITY, is_critical_pod, is_mirror_pod, is_static_pod, pod_source,
};
use kq_k8s::qos::recorded_qos_class;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Returns true if a pod is critical, and why.
pub fn why_critical(pod: &Pod) -> Reasoned {
    Reasoned { value: is_critical_pod(pod), because: critical_reason(pod).into() }
}

fn critical_reason(pod: &Pod) -> CriticalReason {
    match pod.spec.priority {
        _ if is_static_pod(pod) => {
            CriticalReason::StaticPod { source: pod_source(pod).unwrap_or_default().to_owned() }
        }
        _ if is_mirror_pod(pod) => CriticalReason::MirrorPod,
        Some(priority) if priority >= SYSTEM_CRITICAL_PRIORITY => {
            CriticalReason::SystemCriticalPriority { priority }
        }
        Some(priority) => CriticalReason::LowerPriority { priority },
        None => CriticalReason::NoPriority,
    }
}

/// Explains what becomes of a pod: `refusals` is what is said of it if it is not taken, `handled` what was
/// done about its failures, if there were any.
pub fn explain_preemption(
    pod: &Pod,
    refusals: Vec<Refusal>,
    handled: Option<&Handled>,
    pods: &[&Pod],
    rules: &KubeletRules,
) -> PreemptionExplanation {
    let critical = why_critical(pod);
    let preemption = handled.and_then(|handled| handled.preemption.as_ref());
    let (result, because) = match handled.map(|handled| &handled.outcome) {
        None if !refusals.is_empty() => {
            (PreemptionResult::Refused, PreemptionReason::RefusedBefore)
        }
        None => (PreemptionResult::Fits, PreemptionReason::Fits),
        Some(Outcome::NotCritical) => (PreemptionResult::Refused, PreemptionReason::NotCritical),
        Some(Outcome::OtherFailures(_)) => {
            (PreemptionResult::Refused, PreemptionReason::OtherFailures)
        }
        Some(Outcome::NotEnough(_)) => (PreemptionResult::NotEnough, PreemptionReason::NotEnough),
        Some(Outcome::Kills(victims)) => {
            let admitted = refusals.is_empty();
            let reason = PreemptionReason::Kills { pods: victims.len(), admitted };
            let result = match admitted {
                true => PreemptionResult::Preempts,
                false => PreemptionResult::Refused,
            };
            (result, reason)
        }
    };
    let explained = |requirements: &[Requirement]| missing(requirements);
    let names: Vec<Arc<str>> = pods.iter().map(|pod| qualified(pod).into()).collect();
    let name = |at: usize| names.get(at).cloned().unwrap_or_default();
    let stages = preemption.map_or(&[] as &[Stage], |found| &found.stages);
    PreemptionExplanation {
        critical,
        result,
        because: because.into(),
        refusals,
        requirements: preemption.map(|found| explained(&found.requirements)).unwrap_or_default(),
        not_enough: match preemption.map(|found| &found.victims) {
            Some(Err(NotEnough(left))) => explained(&left.0),
            _ => Vec::new(),
        },
        stages: stages.iter().map(|stage| explain_stage(stage, &name)).collect(),
        victims: preemption.map(|found| victims(found, pods, &names, rules)).unwrap_or_default(),
        spared: preemption.map(|found| spared(found, pod, pods)).unwrap_or_default(),
    }
}

fn missing(requirements: &[Requirement]) -> Vec<Missing> {
    let missing =
        |it: &Requirement| Missing { resource: it.resource.clone(), quantity: it.quantity };
    requirements.iter().map(missing).collect()
}

fn explain_stage(stage: &Stage, name: &impl Fn(usize) -> Arc<str>) -> StageExplained {
    let candidate = |visit: &Visit| CandidateExplained {
        pod: name(visit.pod),
        distance: visit.distance,
        result: visit.result,
    };
    let round = |round: &Round| RoundExplained {
        requirements: missing(&round.requirements),
        candidates: round.visits.iter().map(candidate).collect(),
        chosen: name(round.chosen).to_string(),
        distance: round.distance,
        ties: round.ties.iter().map(|at| name(*at)).collect(),
        remaining: missing(&round.remaining),
    };
    StageExplained {
        qos_class: stage.class.as_str(),
        requirements: missing(&stage.requirements),
        rounds: stage.rounds.iter().map(round).collect(),
    }
}

fn victims(
    found: &Preemption,
    pods: &[&Pod],
    names: &[Arc<str>],
    rules: &KubeletRules,
) -> Vec<Victim> {
    let Ok(order) = &found.victims else { return Vec::new() };
    let chosen: BTreeSet<usize> = order.iter().copied().collect();
    let gives = |at: usize| -> Vec<i64> {
        let Some(pod) = pods.get(at) else { return Vec::new() };
        let request = |it: &Requirement| preemption_request(pod, &it.resource, rules);
        found.requirements.iter().map(request).collect()
    };
    let given: Vec<Vec<i64>> = order.iter().map(|at| gives(*at)).collect();
    let hindsight = hindsight(&found.requirements, &given);
    let rounds = found.stages.iter().flat_map(|stage| &stage.rounds);
    let rounds: BTreeMap<usize, &Round> = rounds.map(|round| (round.chosen, round)).collect();
    let victim = |(place, at): (usize, &usize)| {
        let pod = pods.get(*at)?;
        let asked = pod.spec.termination_grace_period_seconds.unwrap_or(0);
        let round = rounds.get(at);
        let ties = round.map(|round| {
            let others = round.ties.iter().filter(|tie| !chosen.contains(tie));
            others.filter_map(|tie| names.get(*tie).cloned()).collect()
        });
        let Hindsight { remaining, unneeded } = hindsight.get(place)?;
        let given = found.requirements.iter().zip(given.get(place)?);
        Some(Victim {
            pod: qualified(pod),
            uid: pod.metadata.uid.clone(),
            qos_class: recorded_qos_class(pod, rules.gates).map_or("", |class| class.as_str()),
            priority: pod.spec.priority,
            gives: given
                .map(|(it, gives)| Missing { resource: it.resource.clone(), quantity: *gives })
                .collect(),
            grace_period_seconds: grace(pod),
            waits_seconds: waits(asked),
            remaining: missing(remaining),
            unneeded: *unneeded,
            ties: ties.unwrap_or_default(),
            more_ties: round.map_or(0, |round| round.more_ties),
            status: WrittenExplained {
                phase: "Failed",
                reason: REASON_PREEMPTING,
                message: MESSAGE,
                condition: condition(pod, rules),
            },
        })
    };
    order.iter().enumerate().filter_map(victim).collect()
}

/// What a victim was good for.
struct Hindsight {
    /// What stays missing when it and those before it are gone.
    remaining: Vec<Requirement>,
    /// Nothing stays missing when all but it are gone.
    unneeded: bool,
}

/// Returns what each victim was good for; in one walk, as there can be many.
fn hindsight(requirements: &[Requirement], given: &[Vec<i64>]) -> Vec<Hindsight> {
    let gives = |of: &[i64], place: usize| of.get(place).copied().unwrap_or(0);
    let total =
        |place: usize| -> i128 { given.iter().map(|of| i128::from(gives(of, place))).sum() };
    let totals: Vec<i128> = (0..requirements.len()).map(total).collect();
    // One entry can undo another, so all must be visited.
    let has_negative = given.iter().flatten().any(|gives| *gives < 0);
    let mut stays: Vec<Option<i64>> = requirements.iter().map(|it| Some(it.quantity)).collect();
    let of_victim = |(at, own): (usize, &Vec<i64>)| {
        for (place, stays) in stays.iter_mut().enumerate() {
            *stays = stays.and_then(|quantity| subtract(quantity, [gives(own, place)]));
        }
        let unneeded = |(place, requirement): (usize, &Requirement)| {
            if has_negative {
                let others = given.iter().enumerate().filter(|(other, _)| *other != at);
                let amounts = others.map(|(_, of)| gives(of, place));
                return subtract(requirement.quantity, amounts).is_none();
            }
            let total = totals.get(place).copied().unwrap_or(0);
            total - i128::from(gives(own, place)) >= i128::from(requirement.quantity)
        };
        let remaining = requirements.iter().zip(&stays).filter_map(|(requirement, stays)| {
            let resource = requirement.resource.clone();
            Some(Requirement { resource, quantity: (*stays)? })
        });
        Hindsight {
            remaining: remaining.collect(),
            unneeded: requirements.iter().enumerate().all(unneeded),
        }
    };
    given.iter().enumerate().map(of_victim).collect()
}

fn condition(pod: &Pod, rules: &KubeletRules) -> ConditionExplained {
    let written = written_status(pod, rules);
    ConditionExplained {
        kind: DisruptionTarget::TYPE,
        status: "True",
        reason: DisruptionTarget::REASON,
        message: written.condition.message,
        observed_generation: written.condition.observed_generation,
        keeps_transition_time: written.keeps_transition_time,
    }
}

/// Returns how many seconds a pod has to stop: what its deletion gave it, else its own grace period, and a
/// second at least (`calculateEffectiveGracePeriod`, `pkg/kubelet/pod_workers.go`). To the API server, 0 means by
/// force.
pub(super) fn grace(pod: &Pod) -> i64 {
    let of_deletion = pod.metadata.deletion_grace_period_seconds.filter(|seconds| *seconds != 0);
    of_deletion.or(pod.spec.termination_grace_period_seconds).unwrap_or(0).max(1)
}

/// Returns how many seconds the kubelet waits for a pod that it kills, at the most (`killPodNow`,
/// `pkg/kubelet/pod_workers.go`): half as long again as its grace period, and ten at least. A sum beyond 64
/// bits wraps, and is then less than ten.
pub(super) fn waits(grace_period_seconds: i64) -> i64 {
    grace_period_seconds.wrapping_add(grace_period_seconds / 2).max(10)
}

fn spared(found: &Preemption, preemptor: &Pod, pods: &[&Pod]) -> Vec<Spared> {
    let chosen: BTreeSet<usize> = found.victims.iter().flatten().copied().collect();
    let out_of_reach: BTreeSet<usize> = found.spared.iter().copied().collect();
    let because = |at: usize, pod: &Pod| match (preemptor.spec.priority, pod.spec.priority) {
        _ if !out_of_reach.contains(&at) => match found.victims.is_ok() {
            true => SparedReason::NotNeeded,
            false => SparedReason::NotEnough,
        },
        _ if is_critical_pod(pod) => SparedReason::Critical { critical: critical_reason(pod) },
        (Some(own), Some(its)) if own <= its => {
            SparedReason::Priority { priority: its, preemptor_priority: own }
        }
        _ if is_critical_pod(preemptor) => {
            SparedReason::UnknownQosClass { qos_class: pod.status.qos_class.clone() }
        }
        _ => SparedReason::NoPriority,
    };
    let left = pods.iter().enumerate().filter(|(at, _)| !chosen.contains(at));
    left.map(|(at, pod)| Spared { pod: qualified(pod), because: because(at, pod).into() }).collect()
}
