//! The containers that restart with the kubelet.

use crate::question::what_if::restarts_for;
use kq_admission::preemption::{RestartCause, StoppedContainers};
use kq_facts::checkpoint::pod_allocation::{self, PodAllocations};
use kq_facts::host::Text;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::runtime::ContainerState;
use kq_facts::workloads::effective_uid;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::{Container, Pod, ResourceList, ResourceName};
use kq_k8s::priority::is_static_pod;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The resources that the kubelet gave to running containers.
pub const ACTUATED: &str = "actuated_pods_state";

/// The containers of a node whose kubelet starts.
pub struct RestartedContainers<'n> {
    before: &'n Node,
    after: &'n Node,
    /// The containers of each pod that the runtime lists, by UID and name, and whether one of that name runs.
    running: BTreeMap<&'n str, BTreeMap<&'n str, bool>>,
    /// The runtime lists its containers.
    is_listed: bool,
    /// The resources that the kubelet's records allocate to containers, once read; `None`: the file is not there, or is not
    /// understood.
    actuated: OnceCell<Option<PodAllocations>>,
    moves_cgroups: bool,
}

/// Returns the containers of a pod that run as long as it does: its own, and its sidecars.
pub fn lasting_containers(pod: &Pod) -> impl Iterator<Item = &Container> + Clone {
    let sidecars = pod.spec.sidecars();
    pod.spec.containers.iter().chain(sidecars)
}

impl<'n> RestartedContainers<'n> {
    pub fn of(before: &'n Node, after: &'n Node) -> Self {
        let moves_cgroups = moves_cgroups(before, after);
        let lists = after.snapshot.runtime.value().map(|runtime| &runtime.containers);
        let is_listed = lists.is_some_and(|containers| containers.found.is_some());
        let running = running(after);
        Self { before, after, running, is_listed, actuated: OnceCell::new(), moves_cgroups }
    }

    /// Returns the containers of a pod that restart with the kubelet, and why; `None`: none.
    pub fn of_pod(&self, pod: &Pod) -> Option<StoppedContainers> {
        let all = || lasting_containers(pod);
        let named = |cause, containers: Vec<&Container>| {
            let containers: Vec<String> =
                containers.into_iter().map(|it| it.name.clone()).collect();
            (!containers.is_empty()).then(|| StoppedContainers::of(pod, cause, containers))
        };
        if pod.metadata.deletion_timestamp.is_some() {
            return named(RestartCause::Deleted, all().collect());
        }
        if pod.status.has_ended() {
            return named(RestartCause::Finished, all().collect());
        }
        if self.loses_manifest(pod) {
            return named(RestartCause::NoManifest, all().collect());
        }
        if self.gets_new_uid(pod) {
            return named(RestartCause::NewUid, all().collect());
        }
        let own = self.running.get(effective_uid(pod));
        let runs = |container: &&Container| {
            own.and_then(|own| own.get(&*container.name)).is_some_and(|runs| *runs)
        };
        // A container of which a status has the id, and the runtime nothing, is gone.
        let had_containers = || {
            let mut all = pod.status.every_container();
            all.any(|status| !status.container_id.is_empty())
        };
        let is_known = own.is_some() || self.is_listed && had_containers();
        // What is not known to run is taken to.
        let running = |applies: bool| all().filter(move |it| applies && (!is_known || runs(it)));
        let resizes = self.resizes_unrecorded(pod);
        let is_idle = is_known && pod.spec.restart_policy != "Never";
        named(RestartCause::CgroupsMoved, running(self.moves_cgroups).collect())
            .or_else(|| {
                let anew = running(resizes)
                    .filter(|it| self.restarts_when_resized(pod, it) && !self.is_recorded(pod, it));
                named(RestartCause::ResizePolicy, anew.collect())
            })
            .or_else(|| {
                let other = running(resizes).filter(|it| self.is_recorded_otherwise(pod, it));
                named(RestartCause::Resize, other.collect())
            })
            .or_else(|| {
                named(RestartCause::NotRunning, all().filter(|it| is_idle && !runs(it)).collect())
            })
    }

    /// Returns true for a pod of the folder of manifests, if the kubelet reads another one. It ends what runs and no source has
    /// (`HandlePodCleanups`, `pkg/kubelet/kubelet_pods.go`, read in 1.36.2), and a copy of the manifest elsewhere is another
    /// pod: the path is part of its UID.
    fn loses_manifest(&self, pod: &Pod) -> bool {
        let folder = |node: &'n Node| node.config().static_pod_path.trim_end_matches('/');
        let (before, after) = (folder(self.before), folder(self.after));
        is_static_pod(pod)
            && pod.metadata.annotations.config_source.as_deref() == Some("file")
            && !before.is_empty()
            && before != after
    }

    /// Returns true for a static pod whose UID the kubelet makes up, if the kubelet becomes one of another minor version.
    /// The UID is a hash over a dump of the whole internal Pod, with the fields that have no value (`applyDefaults`,
    /// `pkg/kubelet/config/common.go`, and `DeepHashObject`, `pkg/util/hash/hash.go`, read in 1.36.2), and each minor version
    /// has added fields. A UID of the manifest is kept.
    fn gets_new_uid(&self, pod: &Pod) -> bool {
        is_static_pod(pod)
            && is_made_up(uid_of_static(pod))
            && self.before.kubelet.version != self.after.kubelet.version
    }

    /// Returns true if the kubelet resizes the containers of a pod whose resources it has no record of. It leaves out
    /// static pods before 1.36 (`IsInPlacePodVerticalScalingAllowed`).
    fn resizes_unrecorded(&self, pod: &Pod) -> bool {
        let kubelet = &self.after.kubelet;
        kubelet.version.has_two_files_of_pods()
            && kubelet.rules.gates.enabled(Gate::InPlacePodVerticalScaling)
            && (kubelet.version.resizes_static_pods() || !is_static_pod(pod))
    }

    /// Returns true if the record of the resources of a container has others than it is allocated, of which its policy says that it
    /// restarts for them. Limits of the pod are those of a container that has none, in what is recorded and in what is wanted
    /// (`containerResourcesFromRequirements`, `kuberuntime_manager.go`, read in 1.36.2).
    fn is_recorded_otherwise(&self, pod: &Pod, container: &Container) -> bool {
        let own = &container.resources;
        let of_pod = pod.spec.resources.as_ref().map(|it| &it.limits);
        let (of_old, of_new) = (takes_from_pod(self.before), takes_from_pod(self.after));
        let recorded = match (self.recorded(), self.knows_record()) {
            (Some(pods), _) => {
                let recorded = pods.get(effective_uid(pod));
                recorded.and_then(|recorded| {
                    let container = recorded.container_resources.get(&container.name)?;
                    let of_pod = recorded.pod_level_resources.as_ref().map(|it| &it.limits);
                    Some((&container.requests, limits(&container.limits, of_pod, of_new)))
                })
            }
            // What the kubelet that ran has recorded.
            (None, false) => {
                let stays = self.before.kubelet.version.records_pod_level_resources() && of_new;
                Some((&own.requests, limits(&own.limits, of_pod, of_old || stays)))
            }
            (None, true) => None,
        };
        let Some((requests, recorded)) = recorded else { return false };
        let wanted = limits(&own.limits, of_pod, of_new);
        let differs = |one: &ResourceList, other: &ResourceList, name: &ResourceName| match (
            one.get(name),
            other.get(name),
        ) {
            (Some(one), Some(other)) => one.compare(other).is_ne(),
            (one, other) => one.is_some() != other.is_some(),
        };
        [ResourceName::Cpu, ResourceName::Memory].iter().any(|name| {
            restarts_for(container, name)
                && (differs(&own.requests, requests, name) || differs(&wanted, &recorded, name))
        })
    }

    /// Returns true if a resize from nothing to its resources restarts a container (`computePodResizeAction`,
    /// `pkg/kubelet/kuberuntime/kuberuntime_manager.go`, read in 1.36.2).
    fn restarts_when_resized(&self, pod: &Pod, container: &Container) -> bool {
        let resources = &container.resources;
        let of_pod = pod.spec.resources.as_ref().map(|it| &it.limits);
        let limits = limits(&resources.limits, of_pod, takes_from_pod(self.after));
        container.resize_policy.iter().any(|policy| {
            let name = ResourceName::from(policy.resource_name.as_str());
            let amounts = [resources.requests.get(&name), limits.get(&name)];
            policy.restart_policy == "RestartContainer"
                && amounts.into_iter().flatten().any(|amount| !amount.is_zero())
        })
    }

    /// Returns true if something is known of the file of recorded resources.
    fn knows_record(&self) -> bool {
        let files = self.after.snapshot.state_files.as_ref();
        files.is_some_and(|files| files.get(ACTUATED).is_some())
    }

    fn recorded(&self) -> Option<&PodAllocations> {
        let files = self.after.snapshot.state_files.as_ref();
        let load = || match files?.get(ACTUATED) {
            Some(Text::Read(text)) => pod_allocation::load(text.as_bytes()).shown.ok(),
            _ => None,
        };
        self.actuated.get_or_init(load).as_ref()
    }

    /// Returns true if the kubelet finds a record of the resources of a container. Kubelet 1.32 writes none; a
    /// file that was not read counts as complete.
    fn is_recorded(&self, pod: &Pod, container: &Container) -> bool {
        if !self.before.kubelet.version.has_two_files_of_pods() {
            return false;
        }
        let files = self.after.snapshot.state_files.as_ref();
        match files.and_then(|files| files.get(ACTUATED)) {
            Some(Text::Absent) => false,
            Some(Text::Read(_)) => self.recorded().is_none_or(|pods| {
                let recorded = pods.get(effective_uid(pod));
                recorded.is_some_and(|it| it.container_resources.contains_key(&container.name))
            }),
            Some(Text::Unreadable(_)) | None => true,
        }
    }
}

/// Returns true if the cgroups of the pods have other names after the start. The kubelet kills each pod that runs
/// without the cgroup that it expects (`SyncPod`, `pkg/kubelet/kubelet.go`, read in 1.36.2).
pub fn moves_cgroups(before: &Node, after: &Node) -> bool {
    let (Ok(before), Ok(after)) = (before.settings(), after.settings()) else { return false };
    let place = |node: &NodeConfig| {
        (node.cgroup_driver, node.config.cgroup_root.clone(), node.config.cgroups_per_qos)
    };
    after.config.cgroups_per_qos && place(before) != place(after)
}

/// Returns the containers of each pod in the runtime, and whether they run.
fn running(node: &Node) -> BTreeMap<&str, BTreeMap<&str, bool>> {
    let runtime = node.snapshot.runtime.value();
    let mut all: BTreeMap<&str, BTreeMap<&str, bool>> = BTreeMap::new();
    for it in runtime.and_then(|runtime| runtime.containers.value()).into_iter().flatten() {
        let of_pod = all.entry(&it.pod_uid).or_default();
        *of_pod.entry(&it.name).or_default() |= it.state == ContainerState::Running;
    }
    all
}

/// Returns the UID under which the kubelet runs a static pod: its annotations have it where the API server shows another.
fn uid_of_static(pod: &Pod) -> &str {
    let annotations = &pod.metadata.annotations;
    let told = annotations.config_mirror.as_deref().or(annotations.config_hash.as_deref());
    told.unwrap_or(&pod.metadata.uid)
}

/// Returns true for a UID that a kubelet made up, or makes up: 128 bits as hexadecimal digits.
fn is_made_up(uid: &str) -> bool {
    let is_digit = |letter: u8| matches!(letter, b'0'..=b'9' | b'a'..=b'f');
    uid.is_empty() || uid.len() == 32 && uid.bytes().all(is_digit)
}

/// Returns true if a container without a limit has that of its pod.
fn takes_from_pod(node: &Node) -> bool {
    node.kubelet.rules.gates.enabled(Gate::InPlacePodLevelResourcesVerticalScaling)
}

/// Returns the limits of a container, with those of its pod where `takes`.
fn limits(own: &ResourceList, of_pod: Option<&ResourceList>, takes: bool) -> ResourceList {
    let mut all = own.clone();
    for (name, amount) in of_pod.into_iter().filter(|_| takes).flat_map(ResourceList::iter) {
        if all.get(name).is_none() {
            all.insert(name.clone(), amount.clone());
        }
    }
    all
}
