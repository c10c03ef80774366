//! Which pods of the node are active, so that the device manager keeps their devices, and why.
//!
//! The kubelet uses `GetActivePods` (`filterOutInactivePods` in `pkg/kubelet/kubelet_pods.go`): the pods
//! that it knows, without those whose containers have all been stopped for good, and without those in a
//! final phase that it is not stopping at the moment. What its pod workers know is seen from outside by
//! the containers that run.

use crate::lookup::Lookup;
use crate::runtime::{ContainerState, RuntimeFacts};
use crate::snapshot::{PodSource, RecordedPods, Snapshot};
use crate::workloads::effective_uid;
use kq_answer::reason::Reason;
use kq_k8s::pod::Pod;
use kq_output::units::counted;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a pod is active, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It keeps its devices.
    Active(StandingReason),
    /// It is still known, and does not count any more.
    Ended(StandingReason),
    /// It is not on the node.
    Gone(StandingReason),
    Unknown(StandingReason),
}

/// Why a pod is active or not, and why its requests count or not.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum StandingReason {
    /// It has no phase yet.
    #[text("it is on the node")]
    OnNode,
    /// By its phase.
    #[text("its phase is {phase}")]
    Phase { phase: String },
    /// The phase is final, and a container still runs.
    #[text("its phase is {phase}, and the runtime still stops it")]
    Stopping { phase: String },
    /// It was deleted, and no container runs.
    #[text("it was deleted, and none of its containers runs")]
    Deleted,
    /// The kubelet lists it.
    #[text("the kubelet lists it")]
    Listed,
    /// The kubelet lists a pod with the same devices.
    #[text("the kubelet lists a pod with just these devices")]
    SameDevicesListed,
    /// Only the kubelet's list has it, and the list has no UIDs.
    #[text("the pod is known only from the kubelet's list, which has no UIDs")]
    UidUnknown,
    /// Some pods of the source could not be read.
    #[text("{pods} of {source} could not be read", pods = counted(*pods, "pod"))]
    Unreadable {
        /// How many.
        pods: usize,
        source: String,
    },
    /// The source does not list it.
    #[text(not_listed(source, *runs))]
    NotListed {
        source: String,
        /// The runtime still runs it.
        runs: bool,
    },
    /// The runtime was not reached.
    #[text("{pods}, and the runtime did not answer")]
    RuntimeUnknown {
        /// Why the lists of pods do not show it.
        pods: PodsUnknown,
    },
    /// The runtime has no sandbox of it.
    #[text("the runtime has nothing of it ({pods})")]
    NoSandbox {
        /// Why the lists of pods do not show it.
        pods: PodsUnknown,
    },
    #[text("its sandbox runs ({pods})")]
    SandboxRuns {
        /// Why the lists of pods do not show it.
        pods: PodsUnknown,
    },
    /// Its sandbox does not run.
    #[text("its sandbox does not run, and {pods}")]
    SandboxStopped {
        /// Why the lists of pods do not show it.
        pods: PodsUnknown,
    },
    /// It is the pod in question.
    #[text("it is the pod in question")]
    InQuestion,
    /// `--without` takes it away.
    #[text("taken away (--without)")]
    Without,
    /// It is bound to another node.
    #[text("it is on node {node}")]
    OtherNode {
        /// Which.
        node: String,
    },
    /// It is bound to no node.
    #[text("it is on no node yet")]
    NotBound,
    /// It has no status.
    #[text("it has no status")]
    NoStatus,
}

/// Why the lists of pods do not show whether a pod is active.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum PodsUnknown {
    /// No source was queried.
    #[text("the pods of the node were not queried")]
    NotQueried,
    /// No source answered.
    #[text("the pods of the node are unknown")]
    Unavailable,
    /// The source may lack pods.
    #[text("{source} may not have all pods")]
    MayLack { source: String },
}

#[derive(Clone, Debug)]
pub struct NodePods<'a> {
    pods: BTreeMap<&'a str, &'a Pod>,
    recorded: &'a Lookup<RecordedPods>,
    /// The runtime's record of each pod; `None`: the runtime did not answer.
    running: Option<BTreeMap<&'a str, Running<'a>>>,
    /// The UIDs of the pods of each namespace and name, in their order.
    named: BTreeMap<(&'a str, &'a str), Vec<&'a str>>,
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
        let pods = loaded.map(|loaded| &*loaded.pod).map(|pod| (effective_uid(pod), pod));
        let mut known = Self {
            pods: pods.filter(|(uid, _)| !uid.is_empty()).collect(),
            recorded,
            running: snapshot.runtime.value().and_then(running),
            named: BTreeMap::new(),
        };
        let runs = known.running.iter().flatten().map(|(uid, _)| *uid);
        let uids: BTreeSet<&'a str> = known.pods.keys().copied().chain(runs).collect();
        for uid in uids {
            if let Some(name) = known.name(uid) {
                known.named.entry(name).or_default().push(uid);
            }
        }
        known
    }

    /// Returns a pod whose specification is known, by the UID under which the kubelet runs it.
    pub fn get(&self, uid: &str) -> Option<&'a Pod> {
        self.pods.get(uid).copied()
    }

    /// Walks over the pods whose specification is known, with their UIDs.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Pod)> + '_ {
        self.pods.iter().map(|(uid, pod)| (*uid, *pod))
    }

    /// Returns namespace and name of a pod, from any source that has them.
    pub fn name(&self, uid: &str) -> Option<(&'a str, &'a str)> {
        let of_pod = |pod: &&'a Pod| (&*pod.metadata.namespace, &*pod.metadata.name);
        let known = self.pods.get(uid).map(of_pod);
        known.or_else(|| self.running.as_ref()?.get(uid)?.name)
    }

    /// Returns the UID of the pod of a name; of several, the one that is active.
    pub fn named(&self, namespace: &str, name: &str) -> Option<&'a str> {
        let same = self.named.get(&(namespace, name)).into_iter().flatten().copied();
        same.max_by_key(|uid| match self.standing(uid) {
            Standing::Active(_) => 3,
            Standing::Unknown(_) => 2,
            Standing::Ended(_) => 1,
            Standing::Gone(_) => 0,
        })
    }

    /// Returns true if the runtime listed its containers.
    pub fn knows_what_runs(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the runtime's state of a container; of several, that of the running one.
    pub fn container(&self, uid: &str, name: &str) -> Option<ContainerState> {
        self.running.as_ref()?.get(uid)?.containers.get(name).copied()
    }

    /// Returns the UIDs of the pods that are active as far as that is known.
    pub fn active(&self) -> BTreeSet<String> {
        let uids = self.pods.keys().filter(|uid| matches!(self.standing(uid), Standing::Active(_)));
        uids.map(|uid| (*uid).to_owned()).collect()
    }

    /// Returns true if a pod counts: it has a cgroup, and its requests are added up. Without a UID, its phase decides.
    pub fn is_active(&self, pod: &Pod) -> bool {
        match effective_uid(pod) {
            "" => !pod.status.has_ended(),
            uid => matches!(self.standing_of(uid, pod), Standing::Active(_)),
        }
    }

    /// Returns true if an answer of the runtime, which is missing, might change the activity of a pod.
    pub fn depends_on_runtime(&self, uid: &str) -> bool {
        if self.running.is_some() {
            return false;
        }
        match self.pods.get(uid) {
            Some(pod) => {
                let is_final = pod.status.has_ended();
                is_final || pod.metadata.deletion_timestamp.is_some()
            }
            None => self.recorded.value().is_none_or(|list| list.source != PodSource::Kubelet),
        }
    }

    /// Returns true if a pod is active.
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
        let reason = || StandingReason::Phase { phase: phase.to_owned() };
        match (phase, runs) {
            ("Succeeded" | "Failed", Some(true)) => {
                Standing::Active(StandingReason::Stopping { phase: phase.to_owned() })
            }
            ("Succeeded" | "Failed", _) => Standing::Ended(reason()),
            (_, Some(false))
                if pod.metadata.deletion_timestamp.is_some()
                    && running.is_some_and(|running| !running.ready) =>
            {
                Standing::Ended(StandingReason::Deleted)
            }
            ("", _) => Standing::Active(StandingReason::OnNode),
            _ => Standing::Active(reason()),
        }
    }

    fn standing_of_unknown(&self, uid: &str) -> Standing {
        let running = self.running.as_ref().map(|all| all.get(uid));
        let Some(found) = &self.recorded.found else {
            return of_runtime(running, self.why_unknown());
        };
        let list = &found.value;
        if !list.left_out.is_empty() {
            let (pods, source) = (list.left_out.len(), found.source.clone());
            return Standing::Unknown(StandingReason::Unreadable { pods, source });
        }
        let is_alive = running.flatten().is_some_and(|running| running.ready || running.runs());
        let not_listed = |runs| StandingReason::NotListed { source: found.source.clone(), runs };
        match list.source {
            PodSource::Kubelet => Standing::Gone(not_listed(false)),
            PodSource::ApiServer | PodSource::Files if is_alive => {
                Standing::Unknown(not_listed(true))
            }
            PodSource::ApiServer | PodSource::Files => Standing::Gone(not_listed(false)),
            PodSource::StaticManifests | PodSource::Runtime => {
                of_runtime(running, PodsUnknown::MayLack { source: list.source.to_string() })
            }
        }
    }

    fn why_unknown(&self) -> PodsUnknown {
        match self.recorded.was_not_queried() {
            true => PodsUnknown::NotQueried,
            false => PodsUnknown::Unavailable,
        }
    }
}

/// Returns the activity that follows from the runtime alone.
fn of_runtime(running: Option<Option<&Running<'_>>>, pods: PodsUnknown) -> Standing {
    match running {
        None => Standing::Unknown(StandingReason::RuntimeUnknown { pods }),
        Some(None) => Standing::Gone(StandingReason::NoSandbox { pods }),
        Some(Some(running)) if running.ready || running.runs() => {
            Standing::Active(StandingReason::SandboxRuns { pods })
        }
        Some(Some(_)) => Standing::Unknown(StandingReason::SandboxStopped { pods }),
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
    // Without them, the running containers are unknown.
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

fn not_listed(source: &str, runs: bool) -> String {
    let said = match source.contains(", ") {
        true => format!("none of {source} lists it"),
        false => format!("{source} does not list it"),
    };
    said + if runs { ", and the runtime still runs it" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{loaded, pod};
    use crate::runtime::{Container, Sandbox};
    use kq_k8s::manifest::LoadedPod;

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
        let one = |phase, deleted: bool| {
            let at = deleted.then_some("2026-01-01T00:00:00Z");
            listed(api, loaded([pod("pod-u").uid("u").phase(phase).deleted(at)]))
        };
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
            assert!(!why.to_string().is_empty(), "{name}");
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
            let Standing::Gone(reason) = pods.standing("u") else { panic!("{source}") };
            assert_eq!(reason.to_string(), expected);
        }
    }

    #[test]
    fn a_name_means_the_pod_that_is_active() {
        let old = pod("shop/web-0").uid("a").phase("Succeeded");
        let new = pod("shop/web-0").uid("b");
        let list = RecordedPods { pods: loaded([new, old]), ..RecordedPods::default() };
        let snapshot = Snapshot { pods: Lookup::found("L", list), ..Snapshot::default() };
        let pods = NodePods::of(&snapshot);
        assert_eq!(pods.named("shop", "web-0"), Some("b"));
        assert_eq!(pods.named("shop", "web-1"), None);
        assert_eq!(pods.active(), ["b".to_owned()].into());
    }
}
