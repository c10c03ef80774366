//! The pods of all fleets in a namespace, and which of them have outlived their run.

use super::pod::RUN_LABEL;
use kq_facts::timestamp::Timestamp;
use serde::Deserialize;
use std::collections::BTreeMap;

/// How much longer than its deadline a pod of a living run may exist: the run deletes it after its end, and the clocks of
/// this machine and of the API server may differ.
const MARGIN_SECONDS: i64 = 60;

/// The deadline of a pod that has none, which no run creates.
const UNLIMITED: i64 = 24 * 60 * 60;

/// A pod of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FleetPod {
    pub name: String,
    pub uid: String,
    /// The run that created it.
    pub run: String,
    pub node: String,
    /// `Succeeded`
    pub phase: String,
    pub created: Timestamp,
    /// The deadline, counted from its start.
    pub deadline_seconds: Option<i64>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    items: Option<Vec<Pod>>,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    uid: String,
    creation_timestamp: Timestamp,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: String,
    active_deadline_seconds: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
}

/// Reads a page of a list of pods.
/// Fails for pods without a name, a UID or a time.
pub fn fleet_pods(page: &[u8]) -> Result<Vec<FleetPod>, String> {
    let page: Page = serde_json::from_slice(page).map_err(|error| error.to_string())?;
    let pod = |Pod { metadata, spec, status }: Pod| {
        // Without the label of a run, it is not a pod of a fleet.
        let run = metadata.labels.get(RUN_LABEL)?.clone();
        Some(FleetPod {
            name: metadata.name,
            uid: metadata.uid,
            run,
            node: spec.node_name,
            phase: status.phase,
            created: metadata.creation_timestamp,
            deadline_seconds: spec.active_deadline_seconds,
        })
    };
    Ok(page.items.unwrap_or_default().into_iter().filter_map(pod).collect())
}

impl FleetPod {
    /// Returns true if no living run waits for the pod.
    pub fn has_outlived(&self, now: Timestamp) -> bool {
        let seconds = self.deadline_seconds.unwrap_or(UNLIMITED).saturating_add(MARGIN_SECONDS);
        now.since(self.created) > seconds.saturating_mul(1_000_000_000)
    }

    /// Returns the age in whole seconds.
    pub fn age_seconds(&self, now: Timestamp) -> i64 {
        now.since(self.created) / 1_000_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"{"kind":"PodList","items":[
        {"metadata":{"name":"a","uid":"1","creationTimestamp":"2026-11-24T06:00:00Z","labels":{"kq.fleet/run":"r"}},
         "spec":{"nodeName":"n","activeDeadlineSeconds":150},"status":{"phase":"Running"}},
        {"metadata":{"name":"b","uid":"2","creationTimestamp":"2026-11-24T06:00:00Z"}}]}"#;

    #[test]
    fn a_pod_outlives_its_run_after_its_deadline_and_a_margin() {
        let pods = fleet_pods(PAGE.as_bytes()).expect("a list");
        assert_eq!(pods.len(), 1, "{pods:?}");
        for (time, expected) in [
            ("2026-11-24T05:00:00Z", false),
            ("2026-11-24T06:03:30Z", false),
            ("2026-11-24T06:03:31Z", true),
        ] {
            assert_eq!(pods[0].has_outlived(time.parse().expect("a time")), expected, "{time}");
        }
        let unlimited = FleetPod { deadline_seconds: None, ..pods[0].clone() };
        assert!(!unlimited.has_outlived("2026-11-24T16:03:31Z".parse().expect("a time")));
        assert!(fleet_pods(br#"{"items":[{"metadata":{"name":"a"}}]}"#).is_err());
        assert_eq!(fleet_pods(br#"{"items":null}"#), Ok(Vec::new()));
    }
}
