//! How a pod ended when no status reason, condition, log line or event names the cause: its containers ended, were
//! stopped by their probes, were started again, or live.
//!
//! What the phase and the containers alone force; [`ends_alone`] says which final phases the containers can bring
//! about.
//!
//! | state of the pod | answer |
//! |---|---|
//! | gone, phase Unknown, reason NodeLost | unknown, possible |
//! | being deleted, no end of all containers before that | deleted, likely: a person or a controller |
//! | final, by its restart policy not of its own accord | ended by the kubelet or a controller, likely |
//! | Failed, a container that exited with an error, no probe that could have stopped it | ended, certain |
//! | Failed, a container with 137, 143 or an unknown end, a probe, or an unknown restart policy | ended, likely |
//! | Succeeded | ended, likely: victims of the kubelet whose containers exit with 0 look the same |
//! | a container `OOMKilled`, exit code 137 | out of memory, certain; with another code likely |
//! | event of its probe, then the end within its grace period | restarted or ended by its probe, certain |
//! | event of its probe, the end still to come, or a log line, whose time cannot be compared | the same, likely |
//! | event of its probe after the end | not by that probe |
//! | a container started again after an error | restarted, certain |
//! | a container started again after 0, 137, 143 or an unknown end | restarted, likely |
//! | the last end of a container without a start after it | container ended, as sure as of one that was started again |
//! | a container whose process the runtime could not start | container ended, certain; of a failed pod ended, certain |
//! | Running or Pending | not killed, certain; likely where an end was announced and did not come |

use super::evidence::{every_status, never_ran, probe_kill};
use super::reason::{CauseReason, FailureDoubt};
use super::report::{Cause, EvidenceSource};
use super::sequel::{
    Observations, deleted_at, ends_alone, finished, has_disruption_target, last_end, stopping_time,
};
use kq_answer::Certainty;
use kq_facts::events::PodEvent;
use kq_facts::kubelet_log::{LogEntry, LogLine};
use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::{ContainerStatus, Pod, ResourceName, TerminatedState};

/// The end of a pod.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TerminationCause {
    pub(super) cause: Cause,
    pub(super) certainty: Certainty,
    pub(super) because: CauseReason,
}

impl TerminationCause {
    pub(super) fn new(cause: Cause, certainty: Certainty, because: CauseReason) -> Self {
        Self { cause, certainty, because }
    }
}

/// Classifies the end of a pod that no piece of evidence explains.
pub(super) fn classify(
    observed: &Observations<'_>,
    events: &[&PodEvent],
    lines: &[&LogLine],
) -> TerminationCause {
    use Cause::{Deleted, EndedByKubelet, NotKilled, OutOfMemory, Unknown};
    use Certainty::{Certain, Likely, Possible};
    let Some(pod) = observed.pod else {
        return TerminationCause::new(Unknown, Possible, CauseReason::NoTrace);
    };
    let status = &pod.status;
    let (phase, reason) = (status.phase.clone(), status.reason.as_str());
    // Such a pod is often deleted as well, which its node has not carried out.
    if reason == "NodeLost" {
        return TerminationCause::new(Unknown, Possible, CauseReason::NodeLost);
    }
    let ended_before =
        pod.status.has_ended() && last_end(pod).is_some_and(|end| Some(end) < deleted_at(pod));
    if observed.is_being_deleted() && !ended_before {
        return TerminationCause::new(Deleted, Likely, CauseReason::DeletedWithoutCondition);
    }
    if !matches!(phase.as_str(), "Failed" | "Running" | "Pending" | "Succeeded") {
        return TerminationCause::new(Unknown, Possible, CauseReason::OtherPhase { phase });
    }
    if pod.status.has_ended() && reason.is_empty() && ends_alone(pod) == Some(false) {
        let restart_policy = pod.spec.restart_policy.clone();
        let because = CauseReason::ForcedPhase { phase, restart_policy };
        return TerminationCause::new(EndedByKubelet, Likely, because);
    }
    let oom = (phase != "Succeeded").then(|| out_of_memory(pod)).flatten();
    let kill = latest_kill(pod, events, lines, observed.read_at);
    if let Some(kill) = kill.filter(|kill| oom.is_none_or(|(_, end)| kill.at > finished(end))) {
        return kill.cause(pod);
    }
    if let Some((name, end)) = oom {
        // The runtime says so of a container of which any process was killed.
        let certainty = if end.exit_code == 137 { Certain } else { Likely };
        let (container, exit_code) = (name.to_owned(), end.exit_code);
        let mut all = pod.spec.containers_and_init();
        let spec = all.find(|it| it.name == name);
        let limit = spec.and_then(|it| it.resources.limits.get(&ResourceName::Memory));
        let memory_limit = limit.map(ToString::to_string);
        let because = CauseReason::OutOfMemory { container, exit_code, memory_limit };
        return TerminationCause::new(OutOfMemory, certainty, because);
    }
    match phase.as_str() {
        "Succeeded" => {
            let knows_restart_policy = ends_alone(pod).is_some();
            let because = CauseReason::Succeeded { knows_restart_policy };
            TerminationCause::new(Cause::Ended, Likely, because)
        }
        "Failed" if !reason.is_empty() => {
            let because = CauseReason::ForeignReason { reason: reason.to_owned() };
            TerminationCause::new(Cause::Ended, Likely, because)
        }
        "Failed" => failed(pod),
        _ => ended_container(pod).unwrap_or_else(|| {
            let was_announced = has_disruption_target(pod);
            let certainty = if was_announced { Likely } else { Certain };
            let because = CauseReason::Lives { phase, was_announced };
            TerminationCause::new(NotKilled, certainty, because)
        }),
    }
}

/// Returns how a pod failed, from the exit codes of its containers.
fn failed(pod: &Pod) -> TerminationCause {
    use Certainty::{Certain, Likely};
    let ended = |certainty, because| TerminationCause::new(Cause::Ended, certainty, because);
    let failed = || {
        let ends = ends(every_status(pod), |status| &status.state.terminated);
        ends.filter(|(_, end)| end.exit_code != 0)
    };
    // The kubelet's placeholder for a container of which it knows no end (`convertToAPIContainerStatuses`,
    // `pkg/kubelet/kubelet_pods.go`; `terminatePods`, `pkg/kubelet/status/status_manager.go`). Its exit code is made up.
    if let Some((name, _)) = failed().find(|(_, end)| end.reason == UNKNOWN_END) {
        let because = CauseReason::ContainerUnknown { container: name.to_owned() };
        return TerminationCause::new(Cause::Unknown, Certainty::Possible, because);
    }
    if let Some((name, end)) = failed().find(|(_, end)| is_open(end)) {
        let (container, exit_code) = (name.to_owned(), end.exit_code);
        return ended(Likely, CauseReason::ContainerKilled { container, exit_code });
    }
    if let Some((name, end)) = failed().find(|(_, end)| never_ran(end)) {
        return ended(Certain, not_started(name, end));
    }
    let Some((name, end)) = failed().next() else { return ended(Likely, CauseReason::NoneFailed) };
    let spec = pod.spec.containers_and_init();
    let has_probe = spec
        .filter(|container| container.name == name)
        .any(|container| container.liveness_probe.is_some() || container.startup_probe.is_some());
    let doubt = match ends_alone(pod) {
        _ if has_probe => Some(FailureDoubt::Probe),
        Some(_) => None,
        None => Some(FailureDoubt::RestartPolicy),
    };
    let certainty = if doubt.is_some() { Likely } else { Certain };
    let (container, exit_code) = (name.to_owned(), end.exit_code);
    ended(certainty, CauseReason::ContainerFailed { container, exit_code, doubt })
}

/// Returns which container of a pod that lives ended last, and whether it was started again.
fn ended_container(pod: &Pod) -> Option<TerminationCause> {
    // That an init container is done is no news.
    let is_news = |end: &TerminatedState, is_init: bool| !is_init || end.exit_code != 0;
    let inits = pod.status.init_container_statuses.iter().map(|status| (status, true));
    let all = || inits.clone().chain(pod.status.container_statuses.iter().map(|it| (it, false)));
    let now = all().filter_map(|(status, is_init)| {
        let end = status.state.terminated.as_ref().filter(|end| is_news(end, is_init))?;
        Some((status, end, false))
    });
    let before = all().filter_map(|(status, _)| {
        // A container that has ended again is among the ends of now.
        let end = status.last_state.terminated.as_ref()?;
        let runs = status.state.waiting.is_none();
        Some((status, end, runs)).filter(|_| status.state.terminated.is_none())
    });
    let last = now.chain(before).max_by_key(|(_, end, _)| finished(end));
    let Some((status, end, runs)) = last else {
        let (status, _) = all().find(|(status, _)| status.restart_count > 0)?;
        let container = status.name.clone();
        let because = CauseReason::Restarted { container, exit_code: None, is_own_end: false };
        return Some(TerminationCause::new(Cause::Restarted, Certainty::Likely, because));
    };
    let is_own_end = !is_open(end);
    let certainty = if is_own_end { Certainty::Certain } else { Certainty::Likely };
    let (container, exit_code) = (status.name.clone(), end.exit_code);
    let (cause, because) = match runs {
        true => {
            let exit_code = Some(exit_code);
            (Cause::Restarted, CauseReason::Restarted { container, exit_code, is_own_end })
        }
        false if never_ran(end) => (Cause::ContainerEnded, not_started(&container, end)),
        false => {
            let waits = status.state.waiting.is_some();
            let because = CauseReason::ContainerEnded { container, exit_code, is_own_end, waits };
            (Cause::ContainerEnded, because)
        }
    };
    Some(TerminationCause::new(cause, certainty, because))
}

fn not_started(container: &str, end: &TerminatedState) -> CauseReason {
    CauseReason::ContainerNotStarted {
        container: container.to_owned(),
        reason: end.reason.clone(),
        exit_code: end.exit_code,
    }
}

/// A container that the kubelet stopped for a probe.
#[derive(Clone, Copy, Debug)]
struct Kill<'t> {
    container: &'t str,
    probe: &'static str,
    at: Option<Timestamp>,
    source: EvidenceSource,
}

/// Returns the latest kill for a probe that explains the last end of its container, or that is under way.
///
/// The times of the log cannot be compared: a line explains an end by a signal, or the only one.
fn latest_kill<'t>(
    pod: &Pod,
    events: &[&'t PodEvent],
    lines: &[&'t LogLine],
    read_at: Option<Timestamp>,
) -> Option<Kill<'t>> {
    let of_events = events.iter().filter(|event| event.reporter == "kubelet");
    let of_events =
        of_events.map(|event| (&event.reason, &event.message, event.at, EvidenceSource::Event));
    let of_lines = lines.iter().filter_map(|line| match &line.says {
        LogEntry::Event { reason, message } => {
            Some((reason, message, None, EvidenceSource::KubeletLog))
        }
        _ => None,
    });
    let kills = of_lines.chain(of_events).filter_map(|(reason, message, at, source)| {
        let (container, probe) = probe_kill(reason, message)?;
        Some(Kill { container, probe, at, source })
    });
    let kill = kills.max_by_key(|kill| kill.at)?;
    let status = every_status(pod).find(|status| status.name == kill.container);
    let end = status.and_then(last_end_of);
    let explains = match (kill.at.map(Timestamp::whole_second), end.map(finished)) {
        (Some(at), Some(Some(ended))) if ended >= at => ended <= at.plus(stopping_time(pod)),
        // The end was before: what the event announces is still to come.
        (Some(at), Some(Some(_))) => {
            !pod.status.has_ended()
                && read_at.is_some_and(|read| read <= at.plus(stopping_time(pod)))
        }
        (Some(at), None) => {
            !pod.status.has_ended()
                && read_at.is_none_or(|read| read <= at.plus(stopping_time(pod)))
        }
        (None, Some(_)) => {
            end.is_some_and(is_open) || status.is_some_and(|status| status.restart_count <= 1)
        }
        _ => true,
    };
    explains.then_some(kill)
}

impl Kill<'_> {
    fn cause(self, pod: &Pod) -> TerminationCause {
        let Self { container, probe, at, source } = self;
        let status = every_status(pod).find(|status| status.name == container);
        let end = status.and_then(last_end_of);
        // The event comes first, and the container ends within its grace period.
        let at = at.map(Timestamp::whole_second);
        let is_seen = at.is_some() && at <= end.and_then(finished);
        let certainty = if is_seen { Certainty::Certain } else { Certainty::Likely };
        let has_ended = pod.status.has_ended();
        let cause = if has_ended { Cause::EndedByProbe } else { Cause::RestartedByProbe };
        let restarts = status.map_or(0, |status| status.restart_count);
        let restarts = (!has_ended).then_some(restarts);
        let container = container.to_owned();
        let because = CauseReason::StoppedForProbe { container, probe, restarts, source };
        TerminationCause::new(cause, certainty, because)
    }
}

/// Returns how a container ended last.
fn last_end_of(status: &ContainerStatus) -> Option<&TerminatedState> {
    status.state.terminated.as_ref().or(status.last_state.terminated.as_ref())
}

fn ends<'p>(
    statuses: impl Iterator<Item = &'p ContainerStatus>,
    end: impl Fn(&ContainerStatus) -> &Option<TerminatedState>,
) -> impl Iterator<Item = (&'p str, &'p TerminatedState)> {
    statuses.filter_map(move |status| Some((status.name.as_str(), end(status).as_ref()?)))
}

/// Returns true if the end of a container does not say what ended it: the kubelet stops with SIGTERM and
/// SIGKILL, as others may, and a process that handles SIGTERM mostly exits with 0.
fn is_open(end: &TerminatedState) -> bool {
    matches!(end.exit_code, 0 | 137 | 143) || end.reason == UNKNOWN_END
}

/// The reason that the kubelet writes where it knows no end of a container.
const UNKNOWN_END: &str = "ContainerStatusUnknown";

/// Returns a container that the kernel killed last time.
fn out_of_memory(pod: &Pod) -> Option<(&str, &TerminatedState)> {
    // Of a pod that has ended, what came before its last end is history.
    let has_failed = pod.status.phase == "Failed";
    let now = ends(every_status(pod), |status| &status.state.terminated);
    let before = ends(every_status(pod), |status| &status.last_state.terminated);
    let all = now.chain(before.filter(|_| !has_failed));
    all.filter(|(_, end)| end.reason == "OOMKilled").max_by_key(|(_, end)| finished(end))
}

#[cfg(test)]
mod tests;
