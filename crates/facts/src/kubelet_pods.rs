//! The pods of a node as its kubelet has them.
//!
//! A pod has three sets of resources while it is being resized: what its spec asks for, what the kubelet allocated, and what
//! is in effect. The kubelet counts with the second wherever it calls `getAllocatedPods`, and with the first elsewhere.

use crate::checkpoint::StateFile;
use crate::node::Node;
use crate::overrides::GivenPods;
use crate::resize::{Allocation, RecordedResources, may_be_allocated, put_allocated};
use crate::runtime::RuntimeFacts;
use crate::snapshot::{PodSource, RecordedPods, Snapshot};
use crate::workloads::{Workloads, add_container_ids, adopt_uid, effective_uid};
use kq_answer::warning::{Warning, WarningCode};
use kq_k8s::defaults::{apply_api_defaults, apply_placement_defaults, apply_priority};
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::pod::{ObjectMeta, Pod};
use kq_k8s::priority::{is_mirror_pod, is_static_pod, mark_static};
use kq_k8s::shared::Shared;
use std::collections::BTreeMap;

/// The file with what the kubelet allocated.
const ALLOCATED: &str = StateFile::AllocatedPods.name();

/// The resources that the kubelet allocated to pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllocatedPods {
    /// The pods with other resources than their specs ask for, by their place.
    pods: BTreeMap<usize, Shared<Pod>>,
    /// Those whose amounts are not the ones of the spec, or are unknown, by their place.
    allocations: BTreeMap<usize, Allocation>,
    /// Why the kubelet's file could not be read.
    unread: Option<String>,
}

/// The pods of a node, made the kubelet's.
pub(crate) struct KubeletPods {
    /// The names.
    pub workloads: Workloads,
    /// Pods of files, where those of the node are unknown.
    pub added: Vec<LoadedPod>,
    /// Irregularities in the lists.
    pub notes: Vec<Warning>,
    /// Pods that were listed more than once.
    pub twice: Vec<Warning>,
    /// Those that could not be read, with the reasons.
    pub left_out: Vec<String>,
    pub allocated: AllocatedPods,
}

impl KubeletPods {
    /// Makes the pods of a snapshot the kubelet's, in their place. Pods of files take the place of their namesakes.
    pub(crate) fn of(snapshot: &mut Snapshot, given: GivenPods, rules: &KubeletRules) -> Self {
        let Snapshot { pods, runtime, state_files, .. } = snapshot;
        let runtime = runtime.value();
        let (mut notes, mut left_out, mut added) = (Vec::new(), Vec::new(), given.pods);
        let mut twice = Vec::new();
        // By its name a pod without a UID finds it.
        let listed = || pods.value().into_iter().flat_map(|recorded| &recorded.pods);
        let lacks_uid = |loaded: &LoadedPod| effective_uid(&loaded.pod).is_empty();
        let known = match listed().chain(&added).any(lacks_uid) {
            true => Workloads::of(listed().map(|loaded| &*loaded.pod), runtime),
            false => Workloads::default(),
        };
        let source = pods.value().map_or(PodSource::Files, |recorded| recorded.source);
        if let Some(RecordedPods { pods, left_out: unread, notes: odd, .. }) =
            pods.found.as_mut().map(|found| &mut found.value)
        {
            notes.extend(WarningCode::PodManifest.each(odd.iter()));
            left_out.append(&mut unread.clone());
            let made =
                |loaded: &mut LoadedPod| make(&mut loaded.pod, source, rules, &known, runtime);
            pods.iter_mut().for_each(made);
        }
        for loaded in &mut added {
            make(&mut loaded.pod, PodSource::Files, rules, &known, runtime);
        }
        notes.extend(given.notes);
        left_out.extend(given.left_out);
        if let Some(found) = &mut pods.found {
            added.drain(..).for_each(|loaded| put(&mut found.value.pods, loaded));
            twice = found.value.keep_one_of_a_uid();
        }
        let all = || pods.value().map_or(&added[..], |recorded| &recorded.pods);
        let files = state_files.as_ref().filter(|_| source != PodSource::Files);
        let recorded = RecordedResources::parse(files.and_then(|files| files.get(ALLOCATED)));
        let unread = recorded.as_ref().err().map(|reason| {
            let path = files.map(|files| files.path(ALLOCATED)).unwrap_or_default();
            format!(" ({path}: {reason})")
        });
        let allocated = AllocatedPods {
            unread,
            ..AllocatedPods::of(all(), &recorded.unwrap_or_default(), rules)
        };
        let workloads = Workloads::of(all().iter().map(|loaded| &*loaded.pod), runtime);
        Self { workloads, added, notes, twice, left_out, allocated }
    }
}

impl AllocatedPods {
    fn of(pods: &[LoadedPod], recorded: &RecordedResources, rules: &KubeletRules) -> Self {
        let mut found = Self::default();
        if !rules.gates.enabled(Gate::InPlacePodVerticalScaling) || !rules.counts_by_allocations() {
            return found;
        }
        let differing = |(_, loaded): &(usize, &LoadedPod)| may_be_allocated(&loaded.pod, recorded);
        for (at, loaded) in pods.iter().enumerate().filter(differing) {
            let mut pod = loaded.pod.clone();
            let allocation = put_allocated(&mut pod, recorded, rules);
            if allocation != Allocation::AsAsked {
                found.allocations.insert(at, allocation);
                found.pods.insert(at, pod);
            }
        }
        found
    }
}

impl Node {
    /// Returns the pods with what their specs ask for (`GetActivePods`).
    pub fn pods(&self) -> Vec<&Pod> {
        self.loaded_pods().iter().map(|loaded| &*loaded.pod).collect()
    }

    /// Returns the pods with what the kubelet allocated to them (`getAllocatedPods`, 1.33 and later).
    pub fn allocated_pods(&self) -> Vec<&Pod> {
        let desired = self.loaded_pods().iter().enumerate();
        let allocated = &self.allocated.pods;
        desired.map(|(at, loaded)| &**allocated.get(&at).unwrap_or(&loaded.pod)).collect()
    }

    /// Returns [`Node::allocated_pods`] with their sources.
    pub fn loaded_allocated_pods(&self) -> Vec<LoadedPod> {
        let mut pods = self.loaded_pods().to_vec();
        for (at, pod) in &self.allocated.pods {
            if let Some(loaded) = pods.get_mut(*at) {
                loaded.pod = pod.clone();
            }
        }
        pods
    }

    /// Returns true if the kubelet has allocated other resources to a pod than its spec asks for.
    pub fn has_other_allocations(&self) -> bool {
        !self.allocated.pods.is_empty()
    }

    /// Returns the pods with their sources.
    pub fn loaded_pods(&self) -> &[LoadedPod] {
        self.snapshot.pods.value().map_or(&self.added, |recorded| &recorded.pods)
    }

    /// Returns what is assumed of the pods that count with other resources than their specs ask for.
    pub fn assumed_allocations(&self) -> Vec<String> {
        let pods = self.loaded_pods();
        let name = |at: usize| {
            let metadata = pods.get(at).map(|loaded| &loaded.pod.metadata);
            metadata.map_or_else(String::new, |it| format!("{}/{}", it.namespace, it.name))
        };
        let one = |(at, allocation): (&usize, &Allocation)| match allocation {
            Allocation::AsAsked => None,
            Allocation::Recorded | Allocation::Reported => Some(format!(
                "{} counts with the resources that the kubelet allocated, which differ from its spec",
                name(*at)
            )),
            Allocation::Unknown => Some(format!(
                "{} waits for a resize, and counts with its new resources: the allocated ones are unknown{}",
                name(*at),
                self.allocated.unread.as_deref().unwrap_or_default()
            )),
        };
        self.allocated.allocations.iter().filter_map(one).collect()
    }
}

/// Makes a pod the kubelet's, with what the runtime knows of it.
fn make(
    pod: &mut Pod,
    source: PodSource,
    rules: &KubeletRules,
    known: &Workloads,
    runtime: Option<&RuntimeFacts>,
) {
    // A manifest of the kubelet's folder has no UID; the runtime's containers with its name have one.
    adopt_uid(pod, known);
    as_of_kubelet(pod, source, rules);
    if let Some(runtime) = runtime {
        add_container_ids(pod, runtime);
    }
}

/// Turns a pod into what the kubelet has: with the API server's defaults, and with the origin by its real
/// source (`updatePodsFunc` of `pkg/kubelet/config/config.go`). A mirror pod stands for its static pod: the API
/// server shows the priority of a class, the kubelet has none.
pub fn as_of_kubelet(pod: &mut Pod, source: PodSource, rules: &KubeletRules) {
    apply_api_defaults(pod, rules);
    apply_placement_defaults(pod);
    if is_mirror_pod(pod) {
        mark_static(pod);
        pod.spec.priority = None;
        return;
    }
    if source == PodSource::ApiServer && !is_of_kubelet(pod) {
        pod.metadata.annotations.config_source = Some("api".to_owned());
    }
    if !is_static_pod(pod) {
        apply_priority(pod);
    }
}

/// Returns true for a static pod as the kubelet has it: the hash of its manifest is its UID (`applyDefaults`,
/// `pkg/kubelet/config/common.go`). The API server gives each of its pods a UID of its own.
fn is_of_kubelet(pod: &Pod) -> bool {
    let ObjectMeta { uid, annotations, .. } = &pod.metadata;
    is_static_pod(pod) && annotations.config_hash.as_ref() == Some(uid)
}

/// Puts a pod in the place of its namesake, and keeps the status that the node reported.
fn put(pods: &mut Vec<LoadedPod>, mut loaded: LoadedPod) {
    let own = &loaded.pod.metadata;
    let namesake = pods.iter_mut().find(|other| {
        let other = &other.pod.metadata;
        other.namespace == own.namespace && other.name == own.name
    });
    match namesake {
        Some(namesake) => {
            if loaded.pod.status == Default::default() {
                loaded.pod.status.clone_from(&namesake.pod.status);
            }
            *namesake = loaded;
        }
        None => pods.push(loaded),
    }
}
