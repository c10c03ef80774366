//! What an event says about the end of a pod, and what it means; the table is in [`evidence`](super::evidence).

use super::evidence::{
    Clue, Inference, certain, clue, is_refusal, likely, nothing, of_deletion, probe_kill, refused,
};
use super::meaning::{Meaning, Qualification};
use super::report::{Cause, EvidenceSource};
use super::sequel::{Observations, Sequel};
use crate::preemption::REASON_PREEMPTING;
use kq_answer::Certainty;
use kq_facts::events::PodEvent;

pub(super) fn of_event(event: &PodEvent, observed: &Observations<'_>) -> Option<Clue> {
    let PodEvent { reason, message, reporter, count, .. } = event;
    let inference = inference_of_event(event, observed)?;
    let inference = match observed.pod {
        Some(_) if event.pod.uid.is_empty() => {
            inference.at_most(Certainty::Likely, Qualification::NoUid)
        }
        _ => inference,
    };
    let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
    let by = if reporter.is_empty() { "an unknown component" } else { reporter };
    let says = format!("{reason} by {by}{times}: {message}");
    Some(clue(EvidenceSource::Event, event.at, says, inference))
}

/// The taint controllers of kube-controller-manager, today's and those before.
pub(super) const TAINT_CONTROLLERS: [&str; 4] =
    ["taint-eviction-controller", "device-taint-eviction", "taint-controller", "node-controller"];

/// Returns what an event means; `None`: it is about something else, as most are.
pub(super) fn inference_of_event(
    event: &PodEvent,
    observed: &Observations<'_>,
) -> Option<Inference> {
    let PodEvent { reason, message, reporter, at, .. } = event;
    Some(match (reason.as_str(), reporter.as_str()) {
        ("Preempted", _) => {
            let inference = certain(Cause::PreemptedByScheduler, Meaning::PreemptedByScheduler);
            let inference = of_deletion(inference, observed, *at);
            match scheduler_certainty(event) {
                Certainty::Possible => of_unknown(inference, observed.after_deletion(*at)),
                most => inference.at_most(most, Qualification::MaybeNoScheduler),
            }
        }
        ("TaintManagerEviction" | "DeviceTaintManagerEviction", _)
            if message.starts_with("Marking for deletion") =>
        {
            let inference = likely(Cause::DeletedByTaintManager, Meaning::MarkedForTaint);
            let inference = of_deletion(inference, observed, *at);
            match TAINT_CONTROLLERS.contains(&reporter.as_str()) {
                true => inference,
                false => of_unknown(inference, observed.after_deletion(*at)),
            }
        }
        ("TaintManagerEviction" | "DeviceTaintManagerEviction", _) => {
            nothing(Meaning::TaintCancelled)
        }
        ("NodeControllerEviction", _) => nothing(Meaning::NodeDidNotAnswer),
        (_, "kubelet" | "") => {
            let inference = kubelet_event(reason, message, observed)?;
            if inference.points_to.is_none() {
                return Some(inference);
            }
            let sequel = observed.after_kill(*at);
            let inference = match sequel {
                Sequel::Gone | Sequel::Followed => inference,
                Sequel::Otherwise => {
                    inference.at_most(Certainty::Possible, Qualification::OtherEnd)
                }
                Sequel::Open => inference.at_most(Certainty::Possible, Qualification::NotEndedYet),
                Sequel::NotCarriedOut => inference.unfulfilled(Qualification::Lives),
            };
            match reporter.as_str() {
                "" => of_unknown(inference, sequel),
                _ => inference,
            }
        }
        ("Evicted", _) => nothing(Meaning::EvictedByAnother),
        _ => return None,
    })
}

/// Weighs what an unknown component says: only where the pod ended accordingly it points to a cause.
pub(super) fn of_unknown(inference: Inference, sequel: Sequel) -> Inference {
    const BECAUSE: Qualification = Qualification::UnknownComponent;
    match sequel {
        Sequel::Followed => inference.at_most(Certainty::Likely, BECAUSE),
        _ => Inference { points_to: None, ..inference.qualified(BECAUSE) },
    }
}

/// Returns how sure it is that the scheduler wrote an event: its profiles can have any name.
pub(super) fn scheduler_certainty(event: &PodEvent) -> Certainty {
    match event.reporter.as_str() {
        "default-scheduler" => Certainty::Certain,
        other if other.ends_with("scheduler") && !other.contains("descheduler") => {
            Certainty::Likely
        }
        _ => Certainty::Possible,
    }
}

/// Returns true for what the kubelet writes of a pull that failed (`pkg/kubelet/images/image_manager.go`), and of the container
/// that waits for it.
fn is_failed_pull(message: &str) -> bool {
    ["Failed to pull image", "Error: ErrImagePull", "Error: ImagePullBackOff"]
        .iter()
        .any(|start| message.starts_with(start))
}

/// Returns what an event of the kubelet means, whenever it was.
pub(super) fn kubelet_event(
    reason: &str,
    message: &str,
    observed: &Observations<'_>,
) -> Option<Inference> {
    let meaning = match reason {
        REASON_PREEMPTING => {
            return Some(likely(Cause::PreemptedByKubelet, Meaning::PreemptionBegan));
        }
        _ if is_refusal(reason, message) => return Some(refused(observed)),
        "Evicted" => return Some(likely(Cause::EvictedByKubelet, Meaning::EvictionBegan)),
        "ExceededGracePeriod" => Meaning::ExceededGracePeriod,
        "Killing" => match probe_kill(reason, message) {
            Some((container, probe)) => {
                Meaning::StoppedForProbe { container: container.to_owned(), probe }
            }
            None => Meaning::ContainerStopped,
        },
        "SandboxChanged" => Meaning::SandboxChanged,
        "Unhealthy" if ["Liveness", "Startup"].iter().any(|it| message.starts_with(it)) => {
            Meaning::ProbeFailed
        }
        "BackOff" if message.contains("restarting failed container") => Meaning::BackOff,
        "BackOff" if message.starts_with("Back-off pulling image") => Meaning::NotPulled,
        "Failed" if is_failed_pull(message) => Meaning::NotPulled,
        "Failed" | "FailedMount" | "FailedAttachVolume" | "FailedCreatePodSandBox" => {
            Meaning::StartFailed
        }
        _ => return None,
    };
    Some(nothing(meaning))
}
