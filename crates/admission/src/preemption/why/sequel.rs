//! Compares the state of a pod with an earlier announcement: whether it ended or was deleted, and in time.

use kq_facts::timestamp::Timestamp;
use kq_k8s::disruption_target::DisruptionTarget;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::{Pod, TerminatedState};

use super::evidence::every_status;

const SECOND: i64 = GoDuration::SECOND.0;

/// How long after the condition or the event of a deletion the deletion follows. Components delete at once; a condition
/// that stands longer is reset by the disruption controller (`stalePodDisruptionTimeout`,
/// `pkg/controller/disruption/disruption.go`).
const DELETION: i64 = 120;

/// How long a container may take to end beyond its grace period, once the kubelet began to stop it.
const SLACK: i64 = 15;

/// The time that a pod has to stop where it does not say.
const GRACE: i64 = 30;

/// The state of a pod after an announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequel {
    /// There is no object of it any more.
    Gone,
    /// It ended or was deleted in the time that this takes.
    Followed,
    /// It ended or was deleted, at another time.
    Otherwise,
    /// It lives, and the time is not over; or it is not known when this was announced.
    Open,
    /// It lives, and the time is over.
    NotCarriedOut,
}

/// The observations of a pod apart from one piece of evidence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observations<'t> {
    pub(super) pod: Option<&'t Pod>,
    /// A container of it has run.
    pub(super) has_run: bool,
    /// The lines of the log are about this UID, and not only about the name.
    pub(super) log_names_uid: bool,
    /// When the pod was read; `None`: it is from a file, which may be older than an event.
    pub(super) read_at: Option<Timestamp>,
}

impl<'t> Observations<'t> {
    pub(super) fn new(
        pod: Option<&'t Pod>,
        log_names_uid: bool,
        read_at: Option<Timestamp>,
    ) -> Self {
        Self { pod, has_run: pod.is_some_and(has_run), log_names_uid, read_at }
    }

    /// The same for what the pod itself says, which is no younger than the pod.
    pub(super) fn at(self, now: Timestamp) -> Self {
        Self { read_at: Some(now), ..self }
    }

    /// Returns true if the phase is one that no pod leaves.
    pub(super) fn is_final(&self) -> bool {
        self.pod.is_some_and(|pod| pod.status.has_ended())
    }

    pub(super) fn is_being_deleted(&self) -> bool {
        self.pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some())
    }

    /// Compares a deletion that was announced at a time with the state of the pod.
    pub(super) fn after_deletion(&self, at: Option<Timestamp>) -> Sequel {
        let Some(pod) = self.pod else { return Sequel::Gone };
        match (deleted_at(pod), at) {
            (Some(deleted), Some(at)) => {
                let later = deleted.since(at.whole_second());
                let is_in_time = (-SLACK * SECOND..=DELETION * SECOND).contains(&later);
                if is_in_time { Sequel::Followed } else { Sequel::Otherwise }
            }
            (None, _) if pod.metadata.deletion_timestamp.is_some() => Sequel::Open,
            (Some(_), None) => Sequel::Open,
            (None, _) if pod.status.has_ended() => Sequel::Otherwise,
            (None, at) => self.while_it_lives(at, DELETION),
        }
    }

    /// Compares a kill by the kubelet that was announced at a time with the state of the pod.
    pub(super) fn after_kill(&self, at: Option<Timestamp>) -> Sequel {
        let Some(pod) = self.pod else { return Sequel::Gone };
        let takes = stopping_seconds(pod);
        if !pod.status.has_ended() {
            return self.while_it_lives(at, takes);
        }
        match (at, last_end(pod)) {
            (Some(at), Some(end)) => {
                let later = end.since(at.whole_second());
                // Of a container that waited for its next start, the end was before.
                let is_in_time =
                    later <= takes * SECOND && (later >= 0 || ends_alone(pod) == Some(false));
                if is_in_time { Sequel::Followed } else { Sequel::Otherwise }
            }
            // The kubelet wrote the end of a pod whose runtime no longer knows when the containers ended.
            (Some(at), None) if was_ended_by_kubelet_since(pod, at) => Sequel::Followed,
            _ => Sequel::Otherwise,
        }
    }

    /// Returns true if a container of it ended clearly later than a time.
    pub(super) fn was_running_after(&self, at: Option<Timestamp>) -> bool {
        let end = self.pod.and_then(last_end);
        matches!((at, end), (Some(at), Some(end)) if end.since(at) > SLACK * SECOND)
    }

    fn while_it_lives(&self, at: Option<Timestamp>, takes: i64) -> Sequel {
        match at {
            Some(at) if self.read_at.is_some_and(|read| read.since(at) > takes * SECOND) => {
                Sequel::NotCarriedOut
            }
            _ => Sequel::Open,
        }
    }
}

/// Returns true if a container of it has run.
pub(super) fn has_run(pod: &Pod) -> bool {
    every_status(pod).any(|status| {
        let states = [&status.state, &status.last_state];
        status.restart_count > 0
            || states.iter().any(|state| state.running.is_some() || state.terminated.is_some())
    })
}

/// Returns when the deletion was asked for: `deletionTimestamp` is the end of the grace period.
pub(super) fn deleted_at(pod: &Pod) -> Option<Timestamp> {
    let metadata = &pod.metadata;
    let until: Timestamp = metadata.deletion_timestamp.as_deref()?.parse().ok()?;
    let grace = metadata.deletion_grace_period_seconds;
    let grace = grace.unwrap_or_else(|| grace_seconds(pod));
    Some(until.plus(grace.saturating_mul(-SECOND)))
}

fn grace_seconds(pod: &Pod) -> i64 {
    pod.spec.termination_grace_period_seconds.unwrap_or(GRACE)
}

/// Returns how long a container may take to end once the kubelet began to stop it, in seconds.
fn stopping_seconds(pod: &Pod) -> i64 {
    grace_seconds(pod).clamp(0, i64::MAX / SECOND - SLACK).saturating_add(SLACK)
}

/// The same in nanoseconds.
pub(super) fn stopping_time(pod: &Pod) -> i64 {
    stopping_seconds(pod).saturating_mul(SECOND)
}

pub(super) fn finished(end: &TerminatedState) -> Option<Timestamp> {
    end.finished_at.as_deref()?.parse().ok()
}

/// Returns when the last of its containers ended.
pub(super) fn last_end(pod: &Pod) -> Option<Timestamp> {
    every_status(pod).filter_map(|status| finished(status.state.terminated.as_ref()?)).max()
}

/// Returns true if the containers alone can bring the pod to its final phase; `None`: its restart policy is not
/// known, or containers have rules of their own (`getPhase`, `pkg/kubelet/kubelet_pods.go`).
///
/// | restartPolicy | Succeeded | Failed |
/// |---|---|---|
/// | Always | no | no |
/// | OnFailure | yes | no |
/// | Never | yes | yes |
pub(super) fn ends_alone(pod: &Pod) -> Option<bool> {
    let spec = &pod.spec;
    let own = |container: &kq_k8s::pod::Container| {
        container.restart_policy.is_some() || !container.restart_policy_rules.is_empty()
    };
    // The restart policy of an init container makes it a sidecar, which no phase depends on, or is a rule too.
    let has_rules = spec.containers.iter().any(own)
        || spec.init_containers.iter().any(|it| own(it) && !it.restarts_always());
    match (spec.restart_policy.as_str(), pod.status.phase.as_str()) {
        _ if has_rules => None,
        ("Always", _) | ("OnFailure", "Failed") => Some(false),
        ("OnFailure" | "Never", _) => Some(true),
        _ => None,
    }
}

/// Returns true if the kubelet wrote, at or after a time, that it ended the pod. A runtime that hangs delays that without limit.
fn was_ended_by_kubelet_since(pod: &Pod, at: Timestamp) -> bool {
    pod.status.conditions.iter().any(|it| {
        let written = it.last_transition_time.as_deref().and_then(|time| time.parse().ok());
        it.kind == DisruptionTarget::TYPE
            && it.status == "True"
            && it.reason == DisruptionTarget::REASON
            && written.is_some_and(|time: Timestamp| time.since(at.whole_second()) >= 0)
    })
}

/// Returns true if a disruption is announced that is not reset.
pub(super) fn has_disruption_target(pod: &Pod) -> bool {
    let mut conditions = pod.status.conditions.iter();
    conditions.any(|it| it.kind == DisruptionTarget::TYPE && it.status == "True")
}
