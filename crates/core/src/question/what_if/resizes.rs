//! Resizes of pods: each pod has its old resources until the kubelet allocates the new ones (`pkg/kubelet/allocation`, read in
//! 1.36.2, 1.32.10, and of 1.33 to 1.35 the manager of allocations).

use super::actuation::{Actuation, actuation, updated};
use super::allocation::{Allocation, allocation};
use super::apply::ALLOCATED;
use super::state::NodeState;
use crate::question::admission::AdmissionNode;
use crate::what_if::{PendingReason, ResizeRefusal};
use kq_admission::qualified;
use kq_answer::Failure;
use kq_facts::checkpoint::pod_allocation;
use kq_facts::host::Text;
use kq_facts::resize::pending_resize;
use kq_facts::workloads::pod_id;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::pod::{Pod, ResourceList, ResourceName, ResourceRequirements};
use kq_k8s::qos::{QosClass, effective_qos_class};
use kq_k8s::resources::kubelet_request;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The resizes of a node's pods.
#[derive(Default)]
pub struct Resizes {
    /// The answers by pod, as NAMESPACE/NAME.
    pub pods: BTreeMap<String, Resized>,
    /// The node with what its pods ask for; `None`: they have it.
    pub asked: Option<NodeState>,
    /// The node with what the kubelet wrote; `None`: it is what it allocated.
    pub written: Option<NodeState>,
}

/// The answer to the resize of a pod.
pub struct Resized {
    /// The identity of the pod.
    id: String,
    pub answer: ResizeAnswer,
    /// The containers whose files the kubelet writes: they run, and have other resources.
    pub updated: Vec<String>,
    /// The pod has other resources as a whole.
    pub is_of_pod: bool,
    /// The pods that the kubelet kills to make room.
    pub victims: Vec<String>,
}

/// What becomes of a resize.
pub enum ResizeAnswer {
    /// There is none.
    Refused(ResizeRefusal),
    /// The kubelet does not allocate it, with the condition `PodResizePending`.
    Pending { reason: PendingReason, message: String },
    /// The kubelet allocated it, and acts on it.
    Allocated(Actuation),
}

impl Resizes {
    /// Answers the resizes of pods in their order, as the kubelet sees them, and then those again that wait
    /// (`retryPendingResizes`). Pods whose resize is not allocated have their old resources afterwards. `pods`: the identities of
    /// those that are to be resized. Those that waited before are tried again, and are no news where they wait on.
    ///
    /// # Errors
    ///
    /// Fails where the pods or the Node object are unknown.
    pub fn answered(
        before: &NodeState,
        after: &mut NodeState,
        pods: &[String],
    ) -> Result<Self, Failure> {
        let mut resizes = Self::default();
        let deferred: Vec<String> = deferred(before).filter(|id| !pods.contains(id)).collect();
        if pods.is_empty() && deferred.is_empty() {
            return Ok(resizes);
        }
        let mut waiting = asked(before, after, &[pods, &deferred].concat())?;
        if waiting.is_empty() {
            return Ok(resizes);
        }
        let mut all = after.clone();
        // The others have what they had already.
        for it in waiting.iter().filter(|it| !deferred.contains(&it.id)) {
            put(after, &it.was);
        }
        loop {
            let (mut later, mut is_progress) = (Vec::new(), false);
            for it in waiting {
                let resized = resized(after, &it)?;
                let name = qualified(&it.wanted.pod);
                match &resized.answer {
                    ResizeAnswer::Refused(_) => put(&mut all, &it.was),
                    ResizeAnswer::Pending { reason: PendingReason::Infeasible, .. } => {}
                    ResizeAnswer::Pending { reason: PendingReason::Deferred, .. } => later.push(it),
                    ResizeAnswer::Allocated(_) => {
                        is_progress = true;
                        put(after, &it.wanted);
                        allocate(after, &it.id);
                        end(after, &resized.victims);
                    }
                }
                resizes.pods.insert(name, resized);
            }
            if later.is_empty() || !is_progress {
                break;
            }
            later.sort_by_key(turn);
            waiting = later;
        }
        resizes.pods.retain(|_, it| {
            let is_done = matches!(it.answer, ResizeAnswer::Allocated(_));
            is_done || !deferred.contains(&it.id)
        });
        let failed =
            |it: &Resized| matches!(it.answer, ResizeAnswer::Allocated(Actuation::Failed { .. }));
        let waits = |it: &Resized| matches!(it.answer, ResizeAnswer::Pending { .. });
        resizes.asked = resizes.pods.values().any(|it| failed(it) || waits(it)).then_some(all);
        if resizes.pods.values().any(failed) {
            let mut written = after.clone();
            let old = before.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
            for was in old.filter(|was| resizes.pods.get(&qualified(&was.pod)).is_some_and(failed))
            {
                put(&mut written, was);
            }
            resizes.written = Some(written);
        }
        Ok(resizes)
    }

    /// Returns what is assumed of the pods.
    pub fn assumptions(&self) -> Vec<String> {
        let assumes = |it: &Resized| {
            matches!(
                it.answer,
                ResizeAnswer::Allocated(Actuation::Done { assumes_usage: true, .. })
            )
        };
        let pods = self.pods.iter().filter(|(_, resized)| assumes(resized));
        pods.map(|(pod, _)| {
            format!("the memory in use of {pod} is that of its containers: its own is unknown")
        })
        .collect()
    }

    /// Returns the containers of a pod that restart; `None`: the pod is not resized.
    pub fn restarted(&self, pod: &str) -> Option<Vec<&str>> {
        match &self.pods.get(pod)?.answer {
            ResizeAnswer::Allocated(
                Actuation::Done { restarts, .. } | Actuation::Open { restarts, .. },
            ) => Some(restarts.iter().map(|it| it.container.as_str()).collect()),
            _ => Some(Vec::new()),
        }
    }
}

/// Returns the identities of pods whose resize waits for room.
fn deferred(state: &NodeState) -> impl Iterator<Item = String> + '_ {
    let pods = state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
    let waits = |pod: &&Pod| pending_resize(pod).is_some_and(|(waits_for_room, _)| waits_for_room);
    pods.map(|loaded| &*loaded.pod).filter(waits).map(pod_id)
}

/// A resize that is asked for.
struct Asked {
    /// The identity of the pod.
    id: String,
    was: LoadedPod,
    /// The pod with what the kubelet allocated to it before.
    allocated: Pod,
    wanted: LoadedPod,
}

/// Returns the resizes of pods that were on the node before, each pod once.
fn asked(before: &NodeState, after: &NodeState, pods: &[String]) -> Result<Vec<Asked>, Failure> {
    let mut all: Vec<Asked> = Vec::new();
    let node = before.node()?;
    let of = |state: &NodeState, id: &str| {
        let pods = state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
        pods.into_iter().find(|it| pod_id(&it.pod) == id).cloned()
    };
    for id in pods {
        let is_new = all.iter().all(|it| it.id != *id);
        if let (true, Some(was), Some(wanted)) = (is_new, of(before, id), of(after, id)) {
            let allocated = node.allocated_pods().into_iter().find(|pod| pod_id(pod) == *id);
            let allocated = allocated.unwrap_or(&was.pod).clone();
            // The kubelet does not look at it (`handlePodResourcesResize`).
            if has_same_resources(&allocated, &wanted.pod) {
                continue;
            }
            all.push(Asked { id: id.clone(), was, allocated, wanted });
        }
    }
    Ok(all)
}

/// Returns true if two states of a pod have the same amounts of all that can be resized.
fn has_same_resources(one: &Pod, other: &Pod) -> bool {
    let are_same = |one: &ResourceList, other: &ResourceList| {
        [ResourceName::Cpu, ResourceName::Memory].iter().all(|name| {
            match (one.get(name), other.get(name)) {
                (Some(one), Some(other)) => one.compare(other).is_eq(),
                (one, other) => one.is_none() && other.is_none(),
            }
        })
    };
    let all = |pod: &'_ Pod| -> Vec<ResourceRequirements> {
        let containers = pod.spec.containers_and_init().map(|it| it.resources.clone());
        containers.chain(pod.spec.resources.clone()).collect()
    };
    let (one, other) = (all(one), all(other));
    one.len() == other.len()
        && one.iter().zip(&other).all(|(one, other)| {
            are_same(&one.requests, &other.requests) && are_same(&one.limits, &other.limits)
        })
}

/// Replaces a pod of a node.
fn put(state: &mut NodeState, pod: &LoadedPod) {
    let pods = state.snapshot.pods.found.iter_mut().flat_map(|it| &mut it.value.pods);
    for it in pods.filter(|it| pod_id(&it.pod) == pod_id(&pod.pod)) {
        it.clone_from(pod);
    }
}

/// Ends the pods that are killed to make room.
fn end(state: &mut NodeState, victims: &[String]) {
    let pods = state.snapshot.pods.found.iter_mut().flat_map(|it| &mut it.value.pods);
    for it in pods.filter(|it| victims.contains(&qualified(&it.pod))) {
        "Failed".clone_into(&mut it.pod.status.phase);
    }
}

/// The order in which waiting resizes are tried again (`sortPendingResizes`): those that ask for no more first, then by
/// priority and QoS class, then the longest waiting.
fn turn(it: &Asked) -> (bool, Reverse<i32>, bool) {
    let (old, new) = (&it.allocated, &it.wanted.pod);
    let rules = KubeletRules::default();
    let grows = |name: ResourceName| {
        kubelet_request(new, &name, &rules).compare(&kubelet_request(old, &name, &rules)).is_gt()
    };
    let is_guaranteed = effective_qos_class(new, rules.gates) == QosClass::Guaranteed;
    (
        grows(ResourceName::Cpu) || grows(ResourceName::Memory),
        Reverse(new.spec.priority.unwrap_or(0)),
        !is_guaranteed,
    )
}

/// Answers a resize on the node as it is at its turn.
fn resized(state: &NodeState, asked: &Asked) -> Result<Resized, Failure> {
    let about = AdmissionNode::with_all_pods(state.node()?);
    let (was, pod) = (&asked.allocated, &asked.wanted.pod);
    let alone = |answer| {
        let id = asked.id.clone();
        let (updated, victims) = (Vec::new(), Vec::new());
        Ok(Resized { id, answer, updated, is_of_pod: false, victims })
    };
    let victims = match allocation(&about, was, pod)? {
        Allocation::Refused(refusal) => return alone(ResizeAnswer::Refused(refusal)),
        Allocation::Pending { reason, message } => {
            return alone(ResizeAnswer::Pending { reason, message });
        }
        Allocation::Granted { victims } => victims,
    };
    let mut granted = state.clone();
    put(&mut granted, &asked.wanted);
    allocate(&mut granted, &asked.id);
    let actuation = actuation(&about, (state, was), (&granted, pod))?;
    Ok(Resized {
        id: asked.id.clone(),
        answer: ResizeAnswer::Allocated(actuation),
        updated: updated(&about, was, pod),
        is_of_pod: was.spec.resources != pod.spec.resources,
        victims,
    })
}

/// Allocates to a pod what its spec asks for: the status and the kubelet's file say nothing else any more.
fn allocate(state: &mut NodeState, id: &str) {
    let all = state.snapshot.pods.found.iter_mut().flat_map(|it| &mut it.value.pods);
    for pod in all.map(|it| &mut it.pod).filter(|pod| pod_id(pod) == id) {
        let status = &mut pod.status;
        (status.allocated_resources, status.resources) = (None, None);
        for it in status.containers_and_init_mut() {
            (it.allocated_resources, it.resources) = (None, None);
        }
    }
    let files = state.snapshot.state_files.iter_mut().flat_map(|it| &mut it.files);
    for (_, text) in files.filter(|(name, _)| *name == ALLOCATED) {
        if let Text::Read(text) = text
            && let Ok(mut pods) = pod_allocation::load(text.as_bytes()).shown
        {
            pods.remove(id);
            *text = pod_allocation::encode(&pods).text;
        }
    }
}
