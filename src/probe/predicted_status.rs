//! The predicted statuses of containers, if the kubelet had these results.
//!
//! `UpdatePodStatus` of `pkg/kubelet/prober/prober_manager.go`, through
//! [`started_and_ready`](super::pod_status::started_and_ready).

use super::pod_status::{Knowledge, started_and_ready, workers_of};
use super::report::ProbeVerdict;
use super::results::{ResultsCache, Verdict};
use super::target::{Status, Target};
use super::{ContainerId, worker::PodFacts};
use crate::facts::timestamp::Timestamp;
use crate::k8s::pod::ProbeType;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the status of a container would say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PredictedStatus {
    /// The namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// It counts as started.
    pub started: bool,
    /// It counts as ready.
    pub ready: bool,
}

/// Returns what the statuses of the probed containers would say once these results have come often enough in
/// a row. What errored leaves what was; probes that were not run hold nothing.
pub fn predicted_statuses(
    probed: &[(&Target, ProbeVerdict)],
    kubelet_start: Timestamp,
    now: Timestamp,
) -> Vec<PredictedStatus> {
    let mut by_pod: BTreeMap<String, Vec<&(&Target, ProbeVerdict)>> = BTreeMap::new();
    for one in probed.iter().filter(|(target, _)| target.name.pod.is_some()) {
        by_pod.entry(one.0.key().0).or_default().push(one);
    }
    by_pod.values().flat_map(|own| of_pod(own, kubelet_start, now)).collect()
}

fn of_pod(
    probed: &[&(&Target, ProbeVerdict)],
    kubelet_start: Timestamp,
    now: Timestamp,
) -> Vec<PredictedStatus> {
    let Some((first, _)) = probed.first() else { return Vec::new() };
    let (mut startup, mut readiness) = (ResultsCache::default(), ResultsCache::default());
    let mut status = PodFacts::from(&first.pod.status);
    for (target, verdict) in probed.iter().copied() {
        // Each adds its container, which runs unless its status says otherwise.
        let own = target.facts(now, Status::AsReported, false);
        let Some(container) = own.container(&target.container).cloned() else { continue };
        let list = match status.containers.iter().any(|it| it.name == target.container) {
            true => &mut status.containers,
            false if first.pod.spec.containers.iter().any(|it| it.name == target.container) => {
                &mut status.containers
            }
            false => &mut status.init_containers,
        };
        list.retain(|it| it.name != target.container);
        let id = ContainerId::parse(&container.container_id);
        list.push(container);
        let result = match verdict {
            ProbeVerdict::Success | ProbeVerdict::Warning => Verdict::Success,
            ProbeVerdict::Failure => Verdict::Failure,
            ProbeVerdict::Errored => continue,
        };
        match target.probe_type {
            ProbeType::Startup => startup.set(&id, result),
            ProbeType::Readiness => readiness.set(&id, result),
            ProbeType::Liveness => false,
        };
    }
    let workers = workers_of(&first.pod);
    let said = started_and_ready(Knowledge {
        pod: &first.pod,
        status: &status,
        startup: &startup,
        readiness: &readiness,
        workers: &workers,
        rules: &first.rules,
        kubelet_start,
    });
    let names = |name: &str| probed.iter().any(|(target, _)| target.container == name);
    let metadata = &first.pod.metadata;
    said.containers
        .into_iter()
        .chain(said.init_containers)
        .filter(|it| names(&it.name))
        .map(|it| PredictedStatus {
            namespace: metadata.namespace.clone(),
            pod: metadata.name.clone(),
            container: it.name,
            started: it.started,
            ready: it.ready,
        })
        .collect()
}
