//! Which pods of the node are active, so that the device manager keeps their devices.
//!
//! The kubelet asks `GetActivePods` (`filterOutInactivePods` in `pkg/kubelet/kubelet_pods.go`): the pods
//! that it knows, without those whose containers have all been stopped for good, and without those in a
//! final phase that it is not stopping at the moment. What its pod workers know is seen from outside by
//! the containers that run.

use crate::facts::lookup::Lookup;
use crate::facts::runtime::{ContainerState, RuntimeFacts};
use crate::facts::snapshot::{PodSource, RecordedPods, Snapshot};
use crate::facts::workloads::effective_uid;
use crate::k8s::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a pod is active, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It keeps its devices.
    Active(String),
    /// It is still known, and does not count any more.
    Ended(String),
    /// It is not on the node.
    Gone(String),
    /// Nobody could tell.
    Unknown(String),
}

#[derive(Clone, Debug)]
pub struct NodePods<'a> {
    pods: BTreeMap<&'a str, &'a Pod>,
    recorded: &'a Lookup<RecordedPods>,
    /// What the runtime has of each pod; `None`: it could not be asked.
    running: Option<BTreeMap<&'a str, Running<'a>>>,
}

/// What the runtime has of a pod.
#[derive(Clone, Debug, Default)]
struct Running<'a> {
    name: Option<(&'a str, &'a str)>,
    ready: bool,
    containers: BTreeMap<&'a str, ContainerState>,
}

impl<'a> NodePods<'a> {
    /// Collects the pods of a node.
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let recorded = &snapshot.pods;
        let loaded = recorded.value().into_iter().flat_map(|recorded| &recorded.pods);
        let pods = loaded.map(|loaded| &loaded.pod).map(|pod| (effective_uid(pod), pod));
        Self {
            pods: pods.filter(|(uid, _)| !uid.is_empty()).collect(),
            recorded,
            running: snapshot.runtime.value().and_then(running),
        }
    }

    /// Returns a pod whose specification is known, by the UID under which the kubelet runs it.
    pub fn get(&self, uid: &str) -> Option<&'a Pod> {
        self.pods.get(uid).copied()
    }

    /// Walks over the pods whose specification is known, with their UIDs.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Pod)> + '_ {
        self.pods.iter().map(|(uid, pod)| (*uid, *pod))
    }

    /// Returns namespace and name of a pod, from whoever knows them.
    pub fn name(&self, uid: &str) -> Option<(&'a str, &'a str)> {
        let of_pod = |pod: &&'a Pod| (&*pod.metadata.namespace, &*pod.metadata.name);
        let known = self.pods.get(uid).map(of_pod);
        known.or_else(|| self.running.as_ref()?.get(uid)?.name)
    }

    /// Returns the UID of the pod of a name; of several, the one that is active.
    pub fn named(&self, namespace: &str, name: &str) -> Option<&'a str> {
        let runs = self.running.iter().flatten().map(|(uid, _)| *uid);
        let uids: BTreeSet<&'a str> = self.pods.keys().copied().chain(runs).collect();
        let same = uids.into_iter().filter(|uid| self.name(uid) == Some((namespace, name)));
        same.max_by_key(|uid| match self.standing(uid) {
            Standing::Active(_) => 3,
            Standing::Unknown(_) => 2,
            Standing::Ended(_) => 1,
            Standing::Gone(_) => 0,
        })
    }

    /// Tells whether the runtime could say what runs.
    pub fn knows_what_runs(&self) -> bool {
        self.running.is_some()
    }

    /// Returns what the runtime says that a container does; the one that runs, of several.
    pub fn container(&self, uid: &str, name: &str) -> Option<ContainerState> {
        self.running.as_ref()?.get(uid)?.containers.get(name).copied()
    }

    /// Returns the UIDs of the pods that are active as far as that is known.
    pub fn active(&self) -> BTreeSet<String> {
        let uids = self.pods.keys().filter(|uid| matches!(self.standing(uid), Standing::Active(_)));
        uids.map(|uid| (*uid).to_owned()).collect()
    }

    /// Tells whether the runtime, which could not be asked, might have said that a pod stands otherwise.
    pub fn depends_on_runtime(&self, uid: &str) -> bool {
        if self.running.is_some() {
            return false;
        }
        match self.pods.get(uid) {
            Some(pod) => {
                let is_final = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
                is_final || pod.metadata.deletion_timestamp.is_some()
            }
            None => self.recorded.value().is_none_or(|list| list.source != PodSource::Kubelet),
        }
    }

    /// Tells whether a pod is active.
    pub fn standing(&self, uid: &str) -> Standing {
        match self.pods.get(uid) {
            Some(pod) => self.standing_of(uid, pod),
            None => self.standing_of_unknown(uid),
        }
    }

    fn standing_of(&self, uid: &str, pod: &Pod) -> Standing {
        let none = Running::default();
        let running = self.running.as_ref().map(|all| all.get(uid).unwrap_or(&none));
        let runs = running.map(Running::runs);
        let phase = pod.status.phase.as_str();
        match (phase, runs) {
            ("Succeeded" | "Failed", Some(true)) => {
                Standing::Active(format!("its phase is {phase}, and the runtime still stops it"))
            }
            ("Succeeded" | "Failed", _) => Standing::Ended(format!("its phase is {phase}")),
            (_, Some(false))
                if pod.metadata.deletion_timestamp.is_some()
                    && running.is_some_and(|running| !running.ready) =>
            {
                Standing::Ended("it was deleted, and none of its containers runs".to_owned())
            }
            ("", _) => Standing::Active("it is on the node".to_owned()),
            (phase, _) => Standing::Active(format!("its phase is {phase}")),
        }
    }

    fn standing_of_unknown(&self, uid: &str) -> Standing {
        let running = self.running.as_ref().map(|all| all.get(uid));
        let Some(found) = &self.recorded.found else {
            return of_runtime(running, &self.why_unknown());
        };
        let list = &found.value;
        if !list.left_out.is_empty() {
            let (count, source) = (list.left_out.len(), &found.source);
            return Standing::Unknown(format!("{count} pods of {source} could not be read"));
        }
        let is_alive = running.flatten().is_some_and(|running| running.ready || running.runs());
        match list.source {
            PodSource::Kubelet => Standing::Gone(not_listed(&found.source)),
            PodSource::ApiServer | PodSource::Files if is_alive => Standing::Unknown(format!(
                "{}, and the runtime still runs it",
                not_listed(&found.source)
            )),
            PodSource::ApiServer | PodSource::Files => Standing::Gone(not_listed(&found.source)),
            PodSource::StaticManifests | PodSource::Runtime => {
                of_runtime(running, &format!("{} need not have all pods", list.source))
            }
        }
    }

    /// Says why the pods are not known.
    fn why_unknown(&self) -> String {
        match self.recorded.was_not_queried() {
            true => "the pods of the node were not looked for".to_owned(),
            false => "the pods of the node could not be had".to_owned(),
        }
    }
}

/// Says that a pod is not in the list, which may be several files.
fn not_listed(source: &str) -> String {
    match source.contains(", ") {
        true => format!("none of {source} lists it"),
        false => format!("{source} does not list it"),
    }
}

/// Returns what the runtime alone can tell.
fn of_runtime(running: Option<Option<&Running<'_>>>, why: &str) -> Standing {
    match running {
        None => Standing::Unknown(format!("{why}, nor could the runtime be asked")),
        Some(None) => Standing::Gone(format!("the runtime has nothing of it ({why})")),
        Some(Some(running)) if running.ready || running.runs() => {
            Standing::Active(format!("its sandbox runs ({why})"))
        }
        Some(Some(_)) => Standing::Unknown(format!("its sandbox does not run, and {why}")),
    }
}

impl Running<'_> {
    fn runs(&self) -> bool {
        self.containers.values().any(|state| *state == ContainerState::Running)
    }
}

fn running(runtime: &RuntimeFacts) -> Option<BTreeMap<&str, Running<'_>>> {
    let sandboxes = runtime.sandboxes.value()?;
    let mut all: BTreeMap<&str, Running<'_>> = BTreeMap::new();
    for sandbox in sandboxes {
        let running = all.entry(&sandbox.uid).or_default();
        running.name = Some((&sandbox.namespace, &sandbox.name));
        running.ready |= sandbox.ready;
    }
    // Without them nobody knows what still runs.
    for container in runtime.containers.value()? {
        let running = all.entry(&container.pod_uid).or_default();
        let state = running.containers.entry(&container.name).or_insert(container.state);
        // Attempts come in their order; an earlier one that still runs counts more.
        if *state != ContainerState::Running {
            *state = container.state;
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::runtime::{Container, Sandbox};
    use crate::k8s::manifest::{LoadedPod, Source};

    fn pod(uid: &str, phase: &str, deleted: bool) -> LoadedPod {
        let mut pod = Pod::default();
        pod.metadata.uid = uid.to_owned();
        pod.metadata.name = format!("pod-{uid}");
        pod.status.phase = phase.to_owned();
        pod.metadata.deletion_timestamp = deleted.then(|| "2026-01-01T00:00:00Z".to_owned());
        let source = Source {
            file: "L".into(),
            document: 1,
            item: None,
            workload: None,
            name_generated: false,
            namespace_defaulted: false,
        };
        LoadedPod { pod, source }
    }

    fn runtime(running: &[&str], stopped: &[&str]) -> Lookup<RuntimeFacts> {
        let all = running.iter().map(|uid| (*uid, true));
        let all: Vec<(&str, bool)> = all.chain(stopped.iter().map(|uid| (*uid, false))).collect();
        let sandboxes = all.iter().map(|(uid, ready)| Sandbox {
            uid: (*uid).to_owned(),
            name: format!("pod-{uid}"),
            ready: *ready,
            ..Sandbox::default()
        });
        let containers = all.iter().map(|(uid, ready)| Container {
            pod_uid: (*uid).to_owned(),
            name: "c".to_owned(),
            state: if *ready { ContainerState::Running } else { ContainerState::Exited },
            ..Container::default()
        });
        let facts = RuntimeFacts {
            sandboxes: Lookup::found("r", sandboxes.collect()),
            containers: Lookup::found("r", containers.collect()),
            ..RuntimeFacts::default()
        };
        Lookup::found("r", facts)
    }

    #[test]
    fn pods_are_active_as_the_kubelet_sees_them() {
        let no_runtime = || Lookup::failed("r", "absent");
        let listed = |source, pods: Vec<LoadedPod>| {
            Lookup::found("L", RecordedPods { source, pods, ..RecordedPods::default() })
        };
        let api = PodSource::ApiServer;
        let one = |phase, deleted| listed(api, vec![pod("u", phase, deleted)]);
        let others = |source| listed(source, vec![]);
        let rows = [
            ("runs", one("Running", false), no_runtime(), "active"),
            ("new", one("Pending", false), runtime(&[], &[]), "active"),
            ("succeeded", one("Succeeded", false), runtime(&[], &["u"]), "ended"),
            ("failed, being stopped", one("Failed", false), runtime(&["u"], &[]), "active"),
            ("deleted, being stopped", one("Running", true), runtime(&["u"], &[]), "active"),
            ("deleted and stopped", one("Running", true), runtime(&[], &["u"]), "ended"),
            ("deleted, no runtime", one("Running", true), no_runtime(), "active"),
            ("not listed", others(api), runtime(&[], &["u"]), "gone"),
            ("not listed, and runs", others(api), runtime(&["u"], &[]), "unknown"),
            ("the kubelet knows best", others(PodSource::Kubelet), runtime(&["u"], &[]), "gone"),
            ("names only", others(PodSource::Runtime), runtime(&["u"], &[]), "active"),
            ("names only, stopped", others(PodSource::Runtime), runtime(&[], &["u"]), "unknown"),
            ("names only, nothing", others(PodSource::Runtime), runtime(&[], &[]), "gone"),
            ("nobody", Lookup::failed("L", "refused"), no_runtime(), "unknown"),
        ];
        for (name, pods, runtime, expected) in rows {
            let snapshot = Snapshot { pods, runtime, ..Snapshot::default() };
            let pods = NodePods::of(&snapshot);
            let (found, why) = match pods.standing("u") {
                Standing::Active(why) => ("active", why),
                Standing::Ended(why) => ("ended", why),
                Standing::Gone(why) => ("gone", why),
                Standing::Unknown(why) => ("unknown", why),
            };
            assert_eq!(found, expected, "{name}: {why}");
            assert!(!why.is_empty(), "{name}");
        }
    }

    #[test]
    fn several_files_are_told_as_several() {
        for (source, expected) in [
            ("a.yaml", "a.yaml does not list it"),
            ("a.yaml, b.yaml", "none of a.yaml, b.yaml lists it"),
        ] {
            let list = RecordedPods { source: PodSource::Files, ..RecordedPods::default() };
            let snapshot = Snapshot { pods: Lookup::found(source, list), ..Snapshot::default() };
            let pods = NodePods::of(&snapshot);
            assert_eq!(pods.standing("u"), Standing::Gone(expected.to_owned()));
        }
    }

    #[test]
    fn a_name_means_the_pod_that_is_active() {
        let mut old = pod("a", "Succeeded", false);
        let mut new = pod("b", "Running", false);
        for loaded in [&mut old, &mut new] {
            loaded.pod.metadata.name = "web-0".to_owned();
            loaded.pod.metadata.namespace = "shop".to_owned();
        }
        let list = RecordedPods { pods: vec![new, old], ..RecordedPods::default() };
        let snapshot = Snapshot { pods: Lookup::found("L", list), ..Snapshot::default() };
        let pods = NodePods::of(&snapshot);
        assert_eq!(pods.named("shop", "web-0"), Some("b"));
        assert_eq!(pods.named("shop", "web-1"), None);
        assert_eq!(pods.active(), ["b".to_owned()].into());
    }
}
