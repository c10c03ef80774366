//! For which pod another was killed.

use super::event_evidence::scheduler_certainty;
use super::evidence::is_refusal;
use super::reason::{NamedBy, PreemptorDoubt, PreemptorReason};
use super::report::{Cause, Preemptor};
use super::sequel::{has_run, last_end};
use super::{Subject, Traces};
use crate::preemption::REASON_PREEMPTING;
use crate::qualified;
use kq_answer::Certainty;
use kq_facts::events::{PodEvent, PodReference};
use kq_facts::kubelet_log::LogEntry;
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::effective_uid;
use kq_k8s::disruption_target::DisruptionTarget;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::Pod;
use kq_k8s::priority::{is_critical_pod, is_mirror_pod, is_preemptable};
use std::collections::BTreeSet;

/// How long after the end of its victims a pod may start and still be the one that it was for. The kubelet may
/// wait for other victims first; the scheduler binds it in its next round, or the one after.
const SOON: i64 = 600 * 1_000_000_000;

/// How long after the end of its last victim the kubelet's own status of the pod that it was for begins.
const AT_ONCE: i64 = 10 * 1_000_000_000;

/// Returns the preemptor of a pod: the one that is named, or the possible ones.
pub(super) fn preemptors(
    subject: &Subject<'_>,
    cause: Cause,
    node: Option<&str>,
    traces: &Traces<'_>,
) -> Vec<Preemptor> {
    let named = match cause {
        Cause::PreemptedByKubelet => of_log(subject, traces),
        Cause::PreemptedByScheduler => of_event(subject, node, traces),
        _ => return Vec::new(),
    };
    if !named.is_empty() {
        return named;
    }
    match (cause, killed_at(subject)) {
        (Cause::PreemptedByKubelet, Some(killed)) => critical_after(subject, &killed, node, traces),
        (Cause::PreemptedByScheduler, killed) => {
            higher_after(subject, killed.as_ref(), node, traces)
        }
        _ => Vec::new(),
    }
}

/// The kubelet's log names the pod.
fn of_log(subject: &Subject<'_>, traces: &Traces<'_>) -> Vec<Preemptor> {
    let requesters: BTreeSet<&String> = subject
        .lines
        .iter()
        .filter_map(|line| match &line.says {
            LogEntry::Preempting { requester, .. } => requester.as_ref(),
            _ => None,
        })
        .collect();
    let is_only = requesters.len() == 1;
    let of_name = |name: &String| {
        let pod = pods(traces).find(|pod| qualified(pod) == *name);
        Preemptor {
            pod: Some(name.clone()),
            uid: pod.map(|pod| effective_uid(pod).to_owned()).filter(|uid| !uid.is_empty()),
            priority: pod.and_then(|pod| pod.spec.priority),
            certainty: if is_only { Certainty::Certain } else { Certainty::Possible },
            because: PreemptorReason::KubeletLog { is_only }.into(),
        }
    };
    requesters.into_iter().map(of_name).collect()
}

/// Returns the node that a scheduler's event names.
pub(super) fn node_of_message(event: &PodEvent) -> Option<&str> {
    let (_, node) = event.preempted_by()?;
    (!node.contains(' ')).then_some(node)
}

/// The scheduler's event names the pod, in one way or another.
fn of_event(subject: &Subject<'_>, node: Option<&str>, traces: &Traces<'_>) -> Vec<Preemptor> {
    let preempted = subject.events.iter().filter(|event| event.reason == "Preempted");
    let Some(event) = preempted.max_by_key(|event| event.at) else { return Vec::new() };
    let certainty = scheduler_certainty(event);
    let named_by = |pod: Option<String>, uid: Option<&str>, by: NamedBy| {
        let known = pods(traces).find(|it| match uid {
            Some(uid) => effective_uid(it) == uid || it.metadata.uid == uid,
            None => pod.as_ref().is_some_and(|name| qualified(it) == *name),
        });
        let is_nominated = known.is_some_and(|it| {
            let nominated = it.status.nominated_node_name.as_str();
            !nominated.is_empty() && node.is_none_or(|node| node == nominated)
        });
        vec![Preemptor {
            pod: pod.or_else(|| known.map(qualified)),
            uid: uid.map(str::to_owned).or_else(|| known.map(|it| it.metadata.uid.clone())),
            priority: known.and_then(|it| it.spec.priority),
            certainty,
            because: PreemptorReason::SchedulerEvent { by, is_nominated }.into(),
        }]
    };
    if let Some(related) = &event.related {
        let uid = (!related.uid.is_empty()).then_some(related.uid.as_str());
        return named_by(Some(related.qualified()), uid, NamedBy::Related);
    }
    if let Some(uid) = event.preemptor_uid() {
        let named = references(traces).find(|it| it.uid == uid);
        return named_by(named.map(PodReference::qualified), Some(uid), NamedBy::Uid);
    }
    match event.preempted_by().map_or("", |(whom, _)| whom) {
        "" | "a pod" => Vec::new(),
        name if name.contains('/') && !name.contains(' ') => {
            named_by(Some(name.to_owned()), None, NamedBy::Name)
        }
        // A group of pods, or what later schedulers may say.
        other => vec![Preemptor {
            pod: Some(other.to_owned()),
            uid: None,
            priority: None,
            certainty,
            because: PreemptorReason::SchedulerEvent { by: NamedBy::Name, is_nominated: false }
                .into(),
        }],
    }
}

fn pods<'a, 't>(traces: &'a Traces<'t>) -> impl Iterator<Item = &'t Pod> + use<'a, 't> {
    traces.pods.iter().flatten().copied()
}

/// Returns the pods that events know by name and UID.
fn references<'t>(traces: &Traces<'t>) -> impl Iterator<Item = &'t PodReference> {
    let events = traces.events.as_ref().map_or(&[] as &[PodEvent], |events| events);
    events.iter().flat_map(|event| std::iter::once(&event.pod).chain(&event.related))
}

/// When a pod was killed.
struct Killed {
    from: Timestamp,
    /// When it was gone.
    until: Timestamp,
    /// Nothing says it but the ends of its containers, which can have ended before.
    is_guess: bool,
}

/// Returns when the pod was killed: what the condition and the event say, else when its containers ended.
fn killed_at(subject: &Subject<'_>) -> Option<Killed> {
    let pod = subject.pod;
    let conditions = pod.map_or(&[] as &[_], |pod| &pod.status.conditions);
    let condition =
        conditions.iter().find(|it| it.kind == DisruptionTarget::TYPE && it.status == "True");
    let condition = condition.and_then(|it| it.last_transition_time.as_deref()?.parse().ok());
    let reasons = [REASON_PREEMPTING, "Preempted"];
    let events = subject.events.iter().filter(|it| reasons.contains(&it.reason.as_str()));
    let event: Option<Timestamp> = events.filter_map(|it| it.at).max();
    let statuses = pod.map_or(&[] as &[_], |pod| &pod.status.container_statuses);
    let ended = statuses
        .iter()
        .filter_map(|it| it.state.terminated.as_ref()?.finished_at.as_deref()?.parse().ok())
        .max();
    let said: Option<Timestamp> = [event, condition].into_iter().flatten().min();
    Some(Killed {
        from: said.or(ended)?,
        until: [event, condition, ended].into_iter().flatten().max()?,
        is_guess: said.is_none(),
    })
}

/// Returns the pods of the node that started within a time.
fn started_after<'t>(
    subject: &Subject<'_>,
    &Killed { from, until, .. }: &Killed,
    node: Option<&str>,
    traces: &Traces<'t>,
) -> Vec<(Timestamp, &'t Pod)> {
    let is_other = |pod: &&Pod| is_on(pod, node) && qualified(pod) != subject.name;
    let started = |pod: &'t Pod| {
        let start = start_of(pod)?;
        // Times in a pod's status are cut to seconds.
        let is_in_time =
            start >= from.plus(-GoDuration::SECOND.0).whole_second() && start <= until.plus(SOON);
        is_in_time.then_some((start, pod))
    };
    let mut found: Vec<_> = pods(traces).filter(is_other).filter_map(started).collect();
    found.sort_by_key(|(start, pod)| (*start, qualified(pod)));
    found
}

/// The critical pods that a victim of the kubelet may have been for, which nothing names. The kubelet admits that
/// pod once all victims are gone.
///
/// | critical pods that may take the victim's place | certainty |
/// |---|---|
/// | one that started within ten seconds; the kubelet did not restart, and its node and the time are known | likely |
/// | any that started within ten minutes | possible |
/// | where the kubelet restarted: any that ran before, as it is admitted again | possible |
fn critical_after(
    subject: &Subject<'_>,
    killed: &Killed,
    node: Option<&str>,
    traces: &Traces<'_>,
) -> Vec<Preemptor> {
    let may = |pod: &Pod| {
        is_critical_pod(pod) && subject.pod.is_none_or(|victim| is_preemptable(pod, victim))
    };
    let mut found = started_after(subject, killed, node, traces);
    found.retain(|(_, pod)| may(pod));
    let has_restarted = has_restarted(killed, node, traces);
    let is_only = found.len() == 1;
    let mut doubts = doubts(killed, node);
    doubts.extend(has_restarted.then_some(PreemptorDoubt::KubeletRestarted));
    let of_pod = |(start, pod): &(Timestamp, &Pod)| {
        let is_prompt = *start <= killed.until.plus(AT_ONCE);
        let within = if is_prompt { AT_ONCE } else { SOON };
        let doubts: Vec<_> = refused(pod).into_iter().chain(doubts.iter().cloned()).collect();
        let certainty = match is_only && is_prompt && doubts.is_empty() {
            true => Certainty::Likely,
            false => Certainty::Possible,
        };
        let because = PreemptorReason::CriticalStartedAfter {
            is_static: is_mirror_pod(pod),
            started: *start,
            within_seconds: within / GoDuration::SECOND.0,
            is_only,
            doubts,
        };
        candidate(pod, certainty, because)
    };
    let mut candidates: Vec<Preemptor> = found.iter().map(of_pod).collect();
    if has_restarted {
        let ran_before = pods(traces).filter(|pod| {
            is_on(pod, node)
                && may(pod)
                && qualified(pod) != subject.name
                && start_of(pod).is_some_and(|start| start < killed.from)
                && !found.iter().any(|(_, other)| std::ptr::eq(*other, *pod))
        });
        candidates.extend(ran_before.map(|pod| {
            let because = PreemptorReason::CriticalAdmittedAgain { is_static: is_mirror_pod(pod) };
            candidate(pod, Certainty::Possible, because)
        }));
    }
    candidates
}

/// Returns true if the kubelet restarted when a pod was killed: it refused pods then that had run, which it does at no
/// other time (`HandlePodAdditions`, `pkg/kubelet/kubelet.go`).
fn has_restarted(killed: &Killed, node: Option<&str>, traces: &Traces<'_>) -> bool {
    let is_near =
        |at: Timestamp| at >= killed.from.plus(-AT_ONCE) && at <= killed.until.plus(AT_ONCE);
    let is_refused = |pod: &Pod| {
        let status = &pod.status;
        is_refusal(&status.reason, &status.message)
            && has_run(pod)
            && last_end(pod).is_some_and(is_near)
    };
    let events = traces.events.as_ref().map_or(&[] as &[PodEvent], |events| events);
    let refusals: Vec<(&str, Timestamp)> = events
        .iter()
        .filter(|it| matches!(&*it.reporter, "kubelet" | "") && is_refusal(&it.reason, &it.message))
        .filter_map(|it| Some((it.pod.uid.as_str(), it.at.filter(|at| is_near(*at))?)))
        .collect();
    let is_told = |pod: &Pod| {
        refusals.iter().any(|(uid, at)| {
            *uid == effective_uid(pod)
                && start_of(pod).is_some_and(|start| start < at.plus(-AT_ONCE))
        })
    };
    pods(traces).filter(|pod| is_on(pod, node)).any(|pod| is_refused(pod) || is_told(pod))
}

fn start_of(pod: &Pod) -> Option<Timestamp> {
    pod.status.start_time.as_deref()?.parse().ok()
}

fn is_on(pod: &Pod, node: Option<&str>) -> bool {
    node.is_none_or(|node| pod.spec.node_name.is_empty() || pod.spec.node_name == node)
}

/// Returns what makes it less sure which pods come into question.
fn doubts(killed: &Killed, node: Option<&str>) -> Vec<PreemptorDoubt> {
    let time = killed.is_guess.then_some(PreemptorDoubt::TimeIsOfContainers);
    let place = node.is_none().then_some(PreemptorDoubt::UnknownNode);
    time.into_iter().chain(place).collect()
}

/// Returns the statement that a pod was refused itself: the kubelet kills others for a pod, and does not look again
/// at all that it may refuse it for.
fn refused(pod: &Pod) -> Option<PreemptorDoubt> {
    let status = &pod.status;
    (status.phase == "Failed" && is_refusal(&status.reason, &status.message))
        .then(|| PreemptorDoubt::Refused { reason: status.reason.clone() })
}

/// Without the scheduler's event: pods of higher priority for which it made room on this node, or that
/// started there.
fn higher_after(
    subject: &Subject<'_>,
    killed: Option<&Killed>,
    node: Option<&str>,
    traces: &Traces<'_>,
) -> Vec<Preemptor> {
    let priority = subject.pod.and_then(|pod| pod.spec.priority);
    let is_higher = |pod: &Pod| match (pod.spec.priority, priority) {
        (Some(its), Some(own)) => its > own,
        (its, None) => its.is_some_and(|its| its > 0),
        (None, Some(_)) => false,
    };
    let nominated = |pod: &&Pod| {
        let nominated = pod.status.nominated_node_name.as_str();
        !nominated.is_empty() && Some(nominated) == node && is_higher(pod)
    };
    let mut found: Vec<Preemptor> = pods(traces)
        .filter(nominated)
        .map(|pod| candidate(pod, Certainty::Possible, PreemptorReason::HigherNominated))
        .collect();
    let started = killed.map(|it| started_after(subject, it, node, traces)).unwrap_or_default();
    for (start, pod) in started {
        let name = qualified(pod);
        if is_higher(pod)
            && !is_mirror_pod(pod)
            && !found.iter().any(|it| it.pod.as_ref() == Some(&name))
        {
            let doubts = killed.map(|killed| doubts(killed, node)).unwrap_or_default();
            let doubts = refused(pod).into_iter().chain(doubts).collect();
            let because = PreemptorReason::HigherStartedAfter { started: start, doubts };
            found.push(candidate(pod, Certainty::Possible, because));
        }
    }
    found
}

fn candidate(pod: &Pod, certainty: Certainty, because: PreemptorReason) -> Preemptor {
    let uid = effective_uid(pod);
    Preemptor {
        pod: Some(qualified(pod)),
        uid: (!uid.is_empty()).then(|| uid.to_owned()),
        priority: pod.spec.priority,
        certainty,
        because: because.into(),
    }
}
