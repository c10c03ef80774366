//! What became of a pod of which nobody says that he put an end to it: its containers ended, were stopped by
//! their probes, were started again, or live.

use super::report::{Cause, Certainty};
use super::signs::{every_status, probe_kill};
use crate::facts::events::PodEvent;
use crate::facts::kubelet_log::{LogEntry, LogLine};
use crate::facts::timestamp::Timestamp;
use crate::k8s::pod::{ContainerStatus, Pod, TerminatedState};

/// How long a container may take from the event of its probe until it has ended: beyond its grace period
/// that is little.
const SLACK: i64 = 15;

/// The time that a pod has to stop where it does not say.
const GRACE: i64 = 30;

/// What became of a pod, and of which container of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fate {
    pub(super) cause: Cause,
    pub(super) certainty: Certainty,
    pub(super) because: String,
    pub(super) container: Option<String>,
    pub(super) probe: Option<&'static str>,
}

impl Fate {
    pub(super) fn new(cause: Cause, certainty: Certainty, because: impl Into<String>) -> Self {
        Self { cause, certainty, because: because.into(), container: None, probe: None }
    }

    fn of_container(self, name: &str) -> Self {
        Self { container: Some(name.to_owned()), ..self }
    }
}

/// Returns what became of a pod that nobody is known to have ended.
pub(super) fn fate(pod: Option<&Pod>, events: &[&PodEvent], lines: &[&LogLine]) -> Fate {
    use Cause::{Deleted, Ended, NotKilled, OutOfMemory, Unknown};
    use Certainty::{Certain, Likely, Possible};
    let Some(pod) = pod else {
        let because = "the pod is gone, and nothing that is left says why";
        return Fate::new(Unknown, Possible, because);
    };
    let status = &pod.status;
    let (phase, reason) = (status.phase.as_str(), status.reason.as_str());
    // Such a pod is often deleted as well, which nobody has carried out.
    if reason == "NodeLost" {
        let because = "its node did not answer (NodeLost): what became of it is not known";
        return Fate::new(Unknown, Possible, because);
    }
    if pod.metadata.deletion_timestamp.is_some() {
        let because = "it is deleted, and who disrupts a pod would have written a condition first \
                       (since Kubernetes 1.26): a person or the pod's controller asked for it";
        return Fate::new(Deleted, Likely, because);
    }
    if !matches!(phase, "Failed" | "Running" | "Pending" | "Succeeded") {
        let because = format!("its phase is {phase:?}, and its status says no more");
        return Fate::new(Unknown, Possible, because);
    }
    let oom = (phase != "Succeeded").then(|| out_of_memory(pod)).flatten();
    let kill = latest_kill(pod, events, lines).filter(|_| phase != "Succeeded");
    if let Some(kill) = kill.filter(|kill| oom.is_none_or(|(_, end)| kill.at > finished(end))) {
        return kill.fate(pod);
    }
    if let Some((name, _)) = oom {
        let because = format!("container {name} was killed by the kernel for want of memory");
        return Fate::new(OutOfMemory, Certain, because).of_container(name);
    }
    match phase {
        "Succeeded" => {
            Fate::new(Ended, Certain, "its phase is Succeeded: all of its containers ended well")
        }
        "Failed" if !reason.is_empty() => {
            let because =
                format!("nobody else is named; its status says {reason}, which kq does not know");
            Fate::new(Ended, Likely, because)
        }
        "Failed" => failed(pod),
        _ => restarted(pod).unwrap_or_else(|| {
            let because = format!("its phase is {phase}, and nothing says that it is to go");
            Fate::new(NotKilled, Certain, because)
        }),
    }
}

/// Says how a pod failed: by what its containers say of their ends.
fn failed(pod: &Pod) -> Fate {
    let ends = || ends(every_status(pod), |status| &status.state.terminated);
    let nobody = "its phase is Failed, and nobody else is named";
    if let Some((name, end)) = ends().find(|(_, end)| is_open(end)) {
        let because = format!("{nobody}; who ended container {name} ({}) is not said", code(end));
        return Fate::new(Cause::Ended, Certainty::Likely, because).of_container(name);
    }
    match ends().find(|(_, end)| end.exit_code != 0) {
        Some((name, end)) => {
            let because = format!("{nobody}: container {name} ended with {}", code(end));
            Fate::new(Cause::Ended, Certainty::Certain, because).of_container(name)
        }
        None => {
            let because = format!("{nobody}; but its status tells of no container that failed");
            Fate::new(Cause::Ended, Certainty::Likely, because)
        }
    }
}

/// Says which container was started again last.
fn restarted(pod: &Pod) -> Option<Fate> {
    let statuses = || every_status(pod).filter(|status| status.restart_count > 0);
    let last = ends(statuses(), |status| &status.last_state.terminated);
    let last = last.max_by_key(|(_, end)| finished(end)).map(|(name, end)| (name, Some(end)));
    let (name, end) = last.or_else(|| Some((statuses().next()?.name.as_str(), None)))?;
    let (certainty, because) = match end {
        Some(end) if !is_open(end) => (
            Certainty::Certain,
            format!("container {name} ended with {}, and was started again", code(end)),
        ),
        Some(end) => (
            Certainty::Likely,
            format!(
                "container {name} ended with {} and was started again; who ended it is not said",
                code(end)
            ),
        ),
        None => (
            Certainty::Likely,
            format!("container {name} was started again; how it ended before is not said"),
        ),
    };
    Some(Fate::new(Cause::Restarted, certainty, because).of_container(name))
}

/// A container that the kubelet stopped for a probe.
#[derive(Clone, Copy, Debug)]
struct Kill<'t> {
    container: &'t str,
    probe: &'static str,
    at: Option<Timestamp>,
    source: &'static str,
}

/// Returns the latest that is told; the log's times cannot be compared.
fn latest_kill<'t>(pod: &Pod, events: &[&'t PodEvent], lines: &[&'t LogLine]) -> Option<Kill<'t>> {
    let of_events = events.iter().filter(|event| event.reporter == "kubelet");
    let of_events = of_events.map(|event| (&event.reason, &event.message, event.at, "event"));
    let of_lines = lines.iter().filter_map(|line| match &line.says {
        LogEntry::Event { reason, message } => Some((reason, message, None, "kubelet log")),
        _ => None,
    });
    let kills = of_lines.chain(of_events).filter_map(|(reason, message, at, source)| {
        let (container, probe) = probe_kill(reason, message)?;
        Some(Kill { container, probe, at, source })
    });
    // An end that came later than this one could explain is the container's own.
    let kill = kills.max_by_key(|kill| kill.at)?;
    let status = every_status(pod).find(|status| status.name == kill.container);
    let is_over = |end: &TerminatedState| match (kill.at, finished(end)) {
        (Some(at), Some(ended)) => ended > at.plus(slack(pod)),
        _ => false,
    };
    status.and_then(last_end).is_none_or(|end| !is_over(end)).then_some(kill)
}

impl Kill<'_> {
    fn fate(self, pod: &Pod) -> Fate {
        let Self { container, probe, at, source } = self;
        let status = every_status(pod).find(|status| status.name == container);
        let end = status.and_then(last_end);
        // The event comes first, and the container ends within its grace period.
        let at = at.map(Timestamp::whole_second);
        let is_seen = at.is_some() && at <= end.and_then(finished);
        let certainty = if is_seen { Certainty::Certain } else { Certainty::Likely };
        let has_failed = pod.status.phase == "Failed";
        let cause = if has_failed { Cause::EndedByProbe } else { Cause::RestartedByProbe };
        let times = status.map_or(0, |status| status.restart_count);
        let times = match times {
            _ if has_failed => String::new(),
            0 => ", and is not started again yet".to_owned(),
            1 => ", and was started again once".to_owned(),
            times => format!("; it was started again {times} times in all"),
        };
        let because =
            format!("container {container} was stopped for its {probe} probe{times} ({source})");
        Fate { probe: Some(probe), ..Fate::new(cause, certainty, because) }.of_container(container)
    }
}

/// Returns in nanoseconds how long a container may take to end.
fn slack(pod: &Pod) -> i64 {
    let grace = pod.spec.termination_grace_period_seconds.unwrap_or(GRACE);
    grace.saturating_add(SLACK).saturating_mul(1_000_000_000)
}

/// Returns how a container ended last.
fn last_end(status: &ContainerStatus) -> Option<&TerminatedState> {
    status.state.terminated.as_ref().or(status.last_state.terminated.as_ref())
}

fn ends<'p>(
    statuses: impl Iterator<Item = &'p ContainerStatus>,
    end: impl Fn(&ContainerStatus) -> &Option<TerminatedState>,
) -> impl Iterator<Item = (&'p str, &'p TerminatedState)> {
    statuses.filter_map(move |status| Some((status.name.as_str(), end(status).as_ref()?)))
}

fn finished(end: &TerminatedState) -> Option<Timestamp> {
    end.finished_at.as_deref()?.parse().ok()
}

/// Tells whether the end of a container does not say who is behind it: the kubelet stops with SIGTERM and
/// SIGKILL, and so may others.
fn is_open(end: &TerminatedState) -> bool {
    matches!(end.exit_code, 137 | 143) || end.reason == "ContainerStatusUnknown"
}

fn code(end: &TerminatedState) -> String {
    format!("exit code {}", end.exit_code)
}

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
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn end(code: i32, reason: &str, at: &str) -> Value {
        json!({"terminated": {"exitCode": code, "reason": reason, "finishedAt": format!("2026-11-20T{at}Z")}})
    }

    fn pod(phase: &str, state: Value, last: Value, restarts: i32) -> Pod {
        let status =
            json!({"name": "c", "state": state, "lastState": last, "restartCount": restarts});
        let status = json!({"phase": phase, "containerStatuses": [status]});
        serde_json::from_value(json!({"metadata": {"name": "web"}, "status": status}))
            .expect("a pod")
    }

    fn killing(message: &str) -> PodEvent {
        PodEvent {
            reason: "Killing".to_owned(),
            message: message.to_owned(),
            reporter: "kubelet".to_owned(),
            at: Some("2026-11-20T11:00:00.7Z".parse().expect("a time")),
            ..PodEvent::default()
        }
    }

    #[test]
    fn a_pod_is_judged_by_its_containers() {
        use Cause::*;
        use Certainty::*;
        let none = || json!({});
        for (name, pod, cause, certainty) in [
            ("failed", pod("Failed", end(3, "Error", "11:00:00"), none(), 0), Ended, Certain),
            ("SIGKILL", pod("Failed", end(137, "Error", "11:00:00"), none(), 0), Ended, Likely),
            ("SIGTERM", pod("Failed", end(143, "Error", "11:00:00"), none(), 0), Ended, Likely),
            (
                "not known how",
                pod("Failed", end(255, "ContainerStatusUnknown", "11:00:00"), none(), 0),
                Ended,
                Likely,
            ),
            (
                "none failed",
                pod("Failed", end(0, "Completed", "11:00:00"), none(), 0),
                Ended,
                Likely,
            ),
            (
                "for want of memory",
                pod("Failed", end(137, "OOMKilled", "11:00:00"), none(), 0),
                OutOfMemory,
                Certain,
            ),
            ("lives", pod("Running", none(), none(), 0), NotKilled, Certain),
            ("crashed", pod("Running", none(), end(1, "Error", "11:00:00"), 9), Restarted, Certain),
            (
                "was killed",
                pod("Running", none(), end(137, "Error", "11:00:00"), 1),
                Restarted,
                Likely,
            ),
            ("not said how", pod("Running", none(), none(), 1), Restarted, Likely),
        ] {
            let fate = fate(Some(&pod), &[], &[]);
            assert_eq!((fate.cause, fate.certainty), (cause, certainty), "{name}: {fate:?}");
            let is_of_container = !matches!(name, "lives" | "none failed");
            assert_eq!(fate.container.is_some(), is_of_container, "{name}");
        }
        let mut lost = pod("Running", json!({}), json!({}), 0);
        lost.status.reason = "NodeLost".to_owned();
        lost.metadata.deletion_timestamp = Some("2026-11-20T11:00:30Z".to_owned());
        assert_eq!(fate(Some(&lost), &[], &[]).cause, Unknown);
    }

    #[test]
    fn what_a_probe_did_is_told_from_what_came_later() {
        use Cause::*;
        use Certainty::*;
        let running = |last: Value, restarts: i32| pod("Running", json!({}), last, restarts);
        let liveness = "Container c failed liveness probe, will be restarted";
        for (name, pod, message, cause, certainty, probe) in [
            (
                "within its grace period",
                running(end(137, "Error", "11:00:30"), 3),
                liveness,
                RestartedByProbe,
                Certain,
                Some("liveness"),
            ),
            (
                "in the second of the event",
                running(end(0, "Completed", "11:00:00"), 1),
                "Init container c failed startup probe",
                RestartedByProbe,
                Certain,
                Some("startup"),
            ),
            (
                "stops still",
                running(json!({}), 0),
                liveness,
                RestartedByProbe,
                Likely,
                Some("liveness"),
            ),
            (
                "crashed later",
                running(end(1, "Error", "11:10:00"), 4),
                liveness,
                Restarted,
                Certain,
                None,
            ),
            (
                "want of memory before",
                running(end(137, "OOMKilled", "10:50:00"), 1),
                liveness,
                RestartedByProbe,
                Likely,
                Some("liveness"),
            ),
            (
                "want of memory later",
                running(end(137, "OOMKilled", "11:00:20"), 2),
                liveness,
                OutOfMemory,
                Certain,
                None,
            ),
            (
                "not restarted",
                pod("Failed", end(143, "Error", "11:00:02"), json!({}), 0),
                "Container c failed liveness probe",
                EndedByProbe,
                Certain,
                Some("liveness"),
            ),
            ("stopped", running(json!({}), 0), "Stopping container c", NotKilled, Certain, None),
            (
                "readiness",
                running(json!({}), 0),
                "Container c failed readiness probe",
                NotKilled,
                Certain,
                None,
            ),
        ] {
            let event = killing(message);
            let found = fate(Some(&pod), &[&event], &[]);
            assert_eq!((found.cause, found.certainty), (cause, certainty), "{name}: {found:?}");
            assert_eq!(found.probe, probe, "{name}");
            let mut other = event.clone();
            other.reporter = "somebody".to_owned();
            assert_eq!(fate(Some(&pod), &[&other], &[]).probe, None, "{name}");
        }
        let line = LogLine {
            stamp: String::new(),
            pod: "/web".to_owned(),
            uid: String::new(),
            says: LogEntry::Event { reason: "Killing".to_owned(), message: liveness.to_owned() },
        };
        let found = fate(Some(&running(json!({}), 1)), &[], &[&line]);
        assert_eq!((found.cause, found.certainty), (RestartedByProbe, Likely));
        assert!(found.because.ends_with("(kubelet log)"), "{}", found.because);
    }
}
