//! The results of probes that the kubelet has reported as events.
//!
//! `recordContainerEvent` in `pkg/kubelet/prober/prober.go`. The kubelet counts events of the same text. From the tenth text on
//! it combines events of one pod and reason, and after 25 writes about a pod it writes at most one in five minutes
//! (`client-go/tools/record/events_cache.go`): more failures may follow the last that is written. Every user who may create
//! events in the namespace can write one that looks the same.

use kq_facts::events::PodEvent;
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::{Pod, ProbeType};
use serde::Serialize;

/// A result of a probe, as an event reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedResult {
    /// What became of the probe.
    pub result: ReportedResult,
    /// The event stands for several texts, also of other probes and containers of the pod.
    pub is_combined: bool,
    /// The number of times that the event was seen, as of its last write.
    pub count: i64,
    /// When it was seen first; null: not recorded.
    pub first_at: Option<Timestamp>,
    /// When it was written last; null: not recorded.
    pub last_at: Option<Timestamp>,
    /// The output or the error of the prober.
    pub message: String,
}

/// What the kubelet reports of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReportedResult {
    /// The probe failed.
    Failed,
    /// The probe could not be made.
    Errored,
    /// A redirect was not followed, which counts as a success.
    Warning,
}

impl ReportedResult {
    /// Returns the word of the event.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Warning => "warning",
        }
    }
}

/// The most results of a probe: as many events are kept of a pod.
const MOST: usize = 20;

/// What the text of a combined event begins with.
const COMBINED: &str = "(combined from similar events): ";

/// Returns the results of a container's probe among the events of a node, the newest first; `None`: the events name no
/// containers, as in snapshots of earlier versions.
pub fn recorded_results(
    events: &[PodEvent],
    pod: &Pod,
    container: &str,
    probe: ProbeType,
) -> Option<Vec<RecordedResult>> {
    let (metadata, uid) = (&pod.metadata, effective_uid(pod));
    let is_of_pod = |event: &&PodEvent| {
        let of = &event.pod;
        of.namespace == metadata.namespace
            && of.name == metadata.name
            && (uid.is_empty() || of.uid.is_empty() || of.uid == uid)
    };
    let own = events.iter().filter(is_of_pod).filter(|event| event.reporter == "kubelet");
    let is_of_probe =
        |event: &&PodEvent| matches!(event.reason.as_str(), "Unhealthy" | "ProbeWarning");
    if own.clone().filter(is_of_probe).any(|event| event.container.is_none()) {
        return None;
    }
    let mut results: Vec<RecordedResult> = own
        .filter(|event| event.container.as_deref() == Some(container))
        .filter_map(|event| {
            let text = event.message.strip_prefix(COMBINED);
            let is_combined = text.is_some();
            let (result, message) = reported(event, text.unwrap_or(&event.message), probe)?;
            Some(RecordedResult {
                result,
                is_combined,
                count: event.count,
                first_at: event.first_at.or(event.at),
                last_at: event.at,
                message: message.to_owned(),
            })
        })
        .collect();
    results.sort_by_key(|result| std::cmp::Reverse(result.last_at));
    results.truncate(MOST);
    Some(results)
}

/// Returns what an event says of a probe of this type: `Liveness probe failed: MESSAGE`.
fn reported<'e>(
    event: &PodEvent,
    text: &'e str,
    probe: ProbeType,
) -> Option<(ReportedResult, &'e str)> {
    let said = text.strip_prefix(&format!("{probe} probe "))?;
    let (what, message) = said.split_once(": ").unwrap_or((said.trim_end_matches(':'), ""));
    let result = match (event.reason.as_str(), what) {
        ("Unhealthy", "failed") => ReportedResult::Failed,
        ("Unhealthy", what) if what.starts_with("errored") => ReportedResult::Errored,
        ("ProbeWarning", "warning") => ReportedResult::Warning,
        _ => return None,
    };
    Some((result, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::events::read_events;
    use serde_json::json;

    #[test]
    fn results_are_those_of_the_container_and_the_probe() {
        let event = |reason: &str, message: &str, minute: u32| {
            json!({
                "kind": "Event", "reason": reason, "message": message, "count": minute,
                "source": {"component": "kubelet", "host": "n"},
                "firstTimestamp": "2026-11-20T11:00:00Z",
                "lastTimestamp": format!("2026-11-20T11:{minute:02}:00Z"),
                "involvedObject": {
                    "kind": "Pod", "namespace": "shop", "name": "web", "uid": "u-1",
                    "fieldPath": "spec.containers{c}",
                },
            })
        };
        let failed =
            event("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 503", 12);
        let with = |path: &str, value: &str| {
            let mut other = failed.clone();
            *other.pointer_mut(path).expect("it is there") = json!(value);
            other
        };
        let list = json!({"kind": "List", "items": [
            failed,
            event("Unhealthy", "Liveness probe errored and resulted in unknown state: no route", 20),
            event("ProbeWarning", "Liveness probe warning: Probe terminated redirects", 3),
            event("Unhealthy", "Liveness probe failed: ", 1),
            event("Unhealthy", "(combined from similar events): Liveness probe failed: reset", 2),
            event("Unhealthy", "Readiness probe failed: 503", 30),
            event("Killing", "Container c failed liveness probe, will be restarted", 31),
            with("/source/component", "somebody"),
            with("/involvedObject/name", "other"),
            with("/involvedObject/uid", "u-0"),
            with("/involvedObject/fieldPath", "spec.containers{d}"),
        ]});
        let events = read_events(list.to_string().as_bytes()).expect("events");
        let pod = json!({"metadata": {"namespace": "shop", "name": "web", "uid": "u-1"}});
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        let results = recorded_results(&events, &pod, "c", ProbeType::Liveness).expect("known");
        let got: Vec<_> =
            results.iter().map(|it| (it.result, it.count, it.message.as_str())).collect();
        let combined = results.iter().filter(|it| it.is_combined);
        assert_eq!(combined.map(|it| it.count).collect::<Vec<_>>(), [2]);
        assert_eq!(
            got,
            [
                (ReportedResult::Errored, 20, "no route"),
                (ReportedResult::Failed, 12, "HTTP probe failed with statuscode: 503"),
                (ReportedResult::Warning, 3, "Probe terminated redirects"),
                (ReportedResult::Failed, 2, "reset"),
                (ReportedResult::Failed, 1, ""),
            ]
        );
        let first = results[1].first_at.map(|at| at.to_string());
        assert_eq!(first.as_deref(), Some("2026-11-20T11:00:00Z"));
        // A snapshot of an earlier version.
        let mut old = events.clone();
        old[0].container = None;
        assert_eq!(recorded_results(&old, &pod, "c", ProbeType::Liveness), None);
    }
}
