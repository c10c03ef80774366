//! The fields `started` and `ready` of containers, computed from the results of probes, and
//! their prediction, if the kubelet had these results.
//!
//! `UpdatePodStatus` and `isContainerStarted`, `pkg/kubelet/prober/prober_manager.go`, pinned by the
//! vectors `probe_pod_status`.
//!
//! Pinned by `probe_pod_status.jsonl`.

use super::report::ProbeVerdict;
use super::results::{ContainerId, ResultsCache, Verdict};
use super::target::{Status, Target};
use super::worker::{ContainerFacts, PodFacts, State, started_before_kubelet};
use kq_answer::reason::Reason;
use kq_facts::timestamp::Timestamp;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ProbeType};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a kubelet knows when it writes a pod's status.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge<'a> {
    pub pod: &'a Pod,
    /// The status before.
    pub status: &'a PodFacts,
    /// The results of startup probes.
    pub startup: &'a ResultsCache,
    /// The results of readiness probes.
    pub readiness: &'a ResultsCache,
    /// The workers that there are, by container and type.
    pub workers: &'a BTreeSet<(String, ProbeType)>,
    /// By which rules the kubelet goes.
    pub rules: &'a KubeletRules,
    /// When it started.
    pub kubelet_start: Timestamp,
}

/// What follows of a pod's containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartedAndReady {
    /// The regular containers.
    pub containers: Vec<ContainerReadiness>,
    /// Init containers and sidecars.
    pub init_containers: Vec<ContainerReadiness>,
    /// The containers whose readiness is probed at once, in order.
    pub probed_at_once: Vec<String>,
}

/// What follows of one container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerReadiness {
    pub name: String,
    /// It runs, and its startup probe has succeeded.
    pub started: bool,
    /// Why, or why not.
    pub started_because: StartedReason,
    /// It may get requests.
    pub ready: bool,
    /// Why, or why not.
    pub ready_because: ReadyReason,
}

/// Why a container has started, or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain, case = "kebab-case")]
pub enum StartedReason {
    /// It does not run.
    #[text("it does not run")]
    NotRunning,
    /// Its startup probe said so.
    #[text("its startup probe: {0}")]
    StartupProbe(Verdict),
    /// It had before the kubelet started.
    #[text("it had started before the kubelet did")]
    StartedBefore,
    /// Its startup probe has not said anything yet.
    #[text("its startup probe has not succeeded yet")]
    NotProbed,
    /// It runs, and has no startup probe.
    #[text("it runs, without a startup probe")]
    NoProbe,
}

/// Why a container is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain, case = "kebab-case")]
pub enum ReadyReason {
    /// It has not started, and stays what it was.
    #[text("it has not started")]
    NotStarted,
    /// It is an init container that ended well.
    #[text("an init container that ended well")]
    InitContainerDone,
    /// It is an init container that has not, and stays what it was.
    #[text("an init container")]
    InitContainer,
    /// Its readiness probe succeeded.
    #[text("its readiness probe succeeded")]
    Probe,
    /// It has no readiness probe.
    #[text("it has no readiness probe")]
    NoProbe,
    /// Its readiness probe has not succeeded; it is probed at once.
    #[text("its readiness probe has not succeeded")]
    NotReady,
    /// It ran before the kubelet started, and its readiness is not known yet: it is left alone.
    #[text("it ran before the kubelet started and is left alone")]
    RanBeforeKubelet,
    /// It ran before the kubelet started, when its pod was not ready.
    #[text("the pod was not ready when the kubelet started")]
    PodWasNotReady,
}

/// Returns the workers that a kubelet makes for a pod, when it sees it first.
pub fn workers_of(pod: &Pod) -> BTreeSet<(String, ProbeType)> {
    let sidecars = pod.spec.sidecars();
    let containers = pod.spec.containers.iter().chain(sidecars);
    containers
        .flat_map(|container| container.probes().map(|(kind, _)| (container.name.clone(), kind)))
        .collect()
}

/// Computes which containers have started and are ready.
pub fn started_and_ready(known: Knowledge<'_>) -> StartedAndReady {
    let mut answer = StartedAndReady::default();
    for status in &known.status.containers {
        let (started, started_because) = known.started(status);
        let (ready, ready_because) = if started {
            known.ready(status, &mut answer.probed_at_once, || {
                let mut containers = known.pod.spec.containers.iter();
                containers.find(|container| container.name == status.name)
            })
        } else {
            (status.ready, ReadyReason::NotStarted)
        };
        let name = status.name.clone();
        answer.containers.push(ContainerReadiness {
            name,
            started,
            started_because,
            ready,
            ready_because,
        });
    }
    for (index, status) in known.status.init_containers.iter().enumerate() {
        let (started, started_because) = known.started(status);
        // The kubelet uses the index in the list, and the name at that index.
        let spec = known.pod.spec.init_containers.get(index);
        let spec = spec.filter(|container| container.name == status.name);
        let (ready, ready_because) = match spec {
            Some(sidecar) if sidecar.restarts_always() && started => {
                known.ready(status, &mut answer.probed_at_once, || Some(sidecar))
            }
            Some(sidecar) if sidecar.restarts_always() => (status.ready, ReadyReason::NotStarted),
            Some(_) if status.state == (State::Terminated { exit_code: 0 }) => {
                (true, ReadyReason::InitContainerDone)
            }
            _ => (status.ready, ReadyReason::InitContainer),
        };
        let name = status.name.clone();
        answer.init_containers.push(ContainerReadiness {
            name,
            started,
            started_because,
            ready,
            ready_because,
        });
    }
    answer
}

impl Knowledge<'_> {
    fn started(&self, status: &ContainerFacts) -> (bool, StartedReason) {
        if !matches!(status.state, State::Running { .. }) {
            return (false, StartedReason::NotRunning);
        }
        if let Some(result) = self.startup.get(&ContainerId::parse(&status.container_id)) {
            return (result == Verdict::Success, StartedReason::StartupProbe(result));
        }
        if !self.rules.forgets_status_on_restart() && status.started == Some(true) {
            return (true, StartedReason::StartedBefore);
        }
        if self.has_worker(&status.name, ProbeType::Startup) {
            (false, StartedReason::NotProbed)
        } else {
            (true, StartedReason::NoProbe)
        }
    }

    /// Decides about a container that has started.
    ///
    /// ```text
    ///                                     ready
    /// the probe succeeded                 yes
    /// there is no worker                  yes
    /// there is one                        no, and it is probed at once
    /// with the rules of 1.35, where the container ran before the kubelet did:
    ///   nothing is cached                 yes
    ///   ... but the pod was not ready     no
    /// ```
    fn ready<'s>(
        &self,
        status: &ContainerFacts,
        probed_at_once: &mut Vec<String>,
        spec: impl FnOnce() -> Option<&'s kq_k8s::pod::Container>,
    ) -> (bool, ReadyReason) {
        let cached = self.readiness.get(&ContainerId::parse(&status.container_id));
        if cached == Some(Verdict::Success) {
            return (true, ReadyReason::Probe);
        }
        let mut answer = if self.has_worker(&status.name, ProbeType::Readiness) {
            probed_at_once.push(status.name.clone());
            (false, ReadyReason::NotReady)
        } else {
            (true, ReadyReason::NoProbe)
        };
        if !self.rules.forgets_status_on_restart()
            && started_before_kubelet(status.state, self.kubelet_start)
            && let Some(spec) = spec()
        {
            if !answer.0 && cached.is_none() {
                answer = (true, ReadyReason::RanBeforeKubelet);
            }
            if answer.0 && spec.readiness_probe.is_some() && !self.status.ready {
                answer = (false, ReadyReason::PodWasNotReady);
            }
        }
        answer
    }

    fn has_worker(&self, container: &str, kind: ProbeType) -> bool {
        self.workers.contains(&(container.to_owned(), kind))
    }
}

/// What the status of a container would say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PredictedStatus {
    pub namespace: String,
    pub pod: String,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;
    use kq_k8s::version::KubeletVersion;
    use serde_json::json;

    const RUNNING: State = State::Running { started_at: Some(Timestamp(1)) };

    /// Returns a pod whose container and sidecar are probed.
    fn probed() -> Pod {
        let probe = json!({"exec": {"command": ["true"]}});
        let app = json!({"name": "app", "startupProbe": probe, "readinessProbe": probe});
        let log = json!({"name": "log", "restartPolicy": "Always", "readinessProbe": probe});
        let pod = objects::pod("web").init_containers(json!([{"name": "once"}, log]));
        pod.containers(json!([app])).read()
    }

    fn status(name: &str, state: State, started: Option<bool>) -> ContainerFacts {
        let (name, container_id) = (name.to_owned(), format!("containerd://{name}"));
        ContainerFacts { name, container_id, state, started, ready: false }
    }

    /// Returns what is said of each container; the kubelet started an hour after they did.
    fn said(status: &PodFacts, version: u32, readiness: &[(&str, Verdict)]) -> Vec<String> {
        let pod = probed();
        let rules = KubeletRules::for_version(KubeletVersion::new(1, version));
        let readiness = readiness
            .iter()
            .map(|(name, result)| (ContainerId::parse(&format!("containerd://{name}")), *result));
        let answer = started_and_ready(Knowledge {
            pod: &pod,
            status,
            startup: &ResultsCache::default(),
            readiness: &readiness.collect(),
            workers: &workers_of(&pod),
            rules: &rules,
            kubelet_start: Timestamp::from_seconds(3600),
        });
        let all = answer.init_containers.iter().chain(&answer.containers);
        let mut lines: Vec<String> = all
            .map(|it| format!("{}: {}, {}", it.name, it.started_because, it.ready_because))
            .collect();
        lines.extend(answer.probed_at_once.iter().map(|name| format!("{name} at once")));
        lines
    }

    #[test]
    fn what_ran_before_the_kubelet_is_left_alone_since_1_35() {
        let containers = vec![status("app", RUNNING, Some(true))];
        let ready = PodFacts { containers, ready: true, ..PodFacts::default() };
        let unready = PodFacts { ready: false, ..ready.clone() };
        let before = "app: it had started before the kubelet did";
        let at_once = "app at once".to_owned();
        for (name, status, version, readiness, expected) in [
            (
                "left alone",
                &ready,
                36,
                &[][..],
                format!("{before}, {}", ReadyReason::RanBeforeKubelet),
            ),
            (
                "was not ready",
                &unready,
                36,
                &[],
                format!("{before}, {}", ReadyReason::PodWasNotReady),
            ),
            (
                "failed since",
                &ready,
                36,
                &[("app", Verdict::Failure)],
                format!("{before}, {}", ReadyReason::NotReady),
            ),
        ] {
            assert_eq!(said(status, version, readiness), [expected, at_once.clone()], "{name}");
        }
        let probed = said(&ready, 36, &[("app", Verdict::Success)]);
        assert_eq!(probed, [format!("{before}, {}", ReadyReason::Probe)], "nothing at once");
        let forgotten = "app: its startup probe has not succeeded yet, it has not started";
        assert_eq!(said(&ready, 34, &[]), [forgotten]);
    }

    #[test]
    fn init_containers_go_by_their_place() {
        let done = status("once", State::Terminated { exit_code: 0 }, None);
        let failed = status("once", State::Terminated { exit_code: 1 }, None);
        let sidecar = status("log", RUNNING, None);
        let of = |init_containers| PodFacts { init_containers, ..PodFacts::default() };
        let got = said(&of(vec![done, sidecar.clone()]), 34, &[]);
        let expected = [
            "once: it does not run, an init container that ended well",
            "log: it runs, without a startup probe, its readiness probe has not succeeded",
            "log at once",
        ];
        assert_eq!(got, expected);
        let got = said(&of(vec![sidecar, failed]), 34, &[]);
        let expected = [
            "log: it runs, without a startup probe, an init container",
            "once: it does not run, an init container",
        ];
        assert_eq!(got, expected, "out of place, nothing is known of them");
    }

    #[test]
    fn workers_are_made_for_containers_and_sidecars() {
        let workers = workers_of(&probed());
        let expected = [
            ("app", ProbeType::Startup),
            ("app", ProbeType::Readiness),
            ("log", ProbeType::Readiness),
        ];
        assert_eq!(workers, expected.map(|(name, kind)| (name.to_owned(), kind)).into());
    }
}
