//! What the API server and the kubelet answer to resizes: each pod has its old resources until the kubelet allocates
//! the new ones (`pkg/kubelet/allocation`, read in 1.36.2, 1.32.10, and of 1.33 to 1.35 the manager of allocations).

use super::actuation::{Actuation, actuation};
use super::apply::{id, pod_of};
use super::pods::admission_node;
use super::resize::allocate;
use super::state::NodeState;
use crate::question::admission::{AdmissionNode, Detail, plan, sort};
use crate::question::cgroup::may_swap;
use crate::what_if::change::Change;
use crate::what_if::{PendingReason, ResizeRefusal};
use kq_admission::qualified;
use kq_answer::Failure;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::pod::{Container, ContainerResizePolicy, Pod, ResourceList, ResourceName};
use kq_k8s::priority::is_static_pod;
use kq_k8s::qos::{QosClass, effective_qos_class};
use kq_k8s::quantity::Quantity;
use kq_k8s::resources::{has_pod_level_resources, kubelet_request};
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
    pub answer: ResizeAnswer,
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

/// A resize that is asked for.
struct Asked {
    was: LoadedPod,
    /// The pod with what the kubelet allocated to it before.
    allocated: Pod,
    wanted: LoadedPod,
}

/// Answers the resizes of changes in their order, as the kubelet sees them, and then those again that wait
/// (`retryPendingResizes`). Pods whose resize is not allocated have their old resources afterwards.
///
/// # Errors
///
/// Fails where the pods or the Node object are unknown.
pub fn resizes(
    before: &NodeState,
    after: &mut NodeState,
    changes: &[Change],
) -> Result<Resizes, Failure> {
    let mut resizes = Resizes::default();
    let mut waiting = asked(before, after, changes)?;
    if waiting.is_empty() {
        return Ok(resizes);
    }
    let mut all = after.clone();
    for it in &waiting {
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
                    allocate(after, &id(&it.wanted.pod));
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
    let failed =
        |it: &Resized| matches!(it.answer, ResizeAnswer::Allocated(Actuation::Failed { .. }));
    let waits = |it: &Resized| matches!(it.answer, ResizeAnswer::Pending { .. });
    resizes.asked = resizes.pods.values().any(|it| failed(it) || waits(it)).then_some(all);
    if resizes.pods.values().any(failed) {
        let mut written = after.clone();
        let old = before.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
        for was in old.filter(|was| resizes.pods.get(&qualified(&was.pod)).is_some_and(failed)) {
            put(&mut written, was);
        }
        resizes.written = Some(written);
    }
    Ok(resizes)
}

/// Returns the resizes of pods that were on the node before, each pod once.
fn asked(before: &NodeState, after: &NodeState, changes: &[Change]) -> Result<Vec<Asked>, Failure> {
    let mut all: Vec<Asked> = Vec::new();
    let node = before.node()?;
    for change in changes {
        let Change::Resize(resize) = change else { continue };
        let Ok(uid) = pod_of(after, change, &resize.pod) else { continue };
        let of = |state: &NodeState| {
            let pods = state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
            pods.into_iter().find(|it| id(&it.pod) == uid).cloned()
        };
        let is_new = all.iter().all(|it| id(&it.wanted.pod) != uid);
        if let (true, Some(was), Some(wanted)) = (is_new, of(before), of(after)) {
            let allocated = node.allocated_pods().into_iter().find(|pod| id(pod) == uid);
            let allocated = allocated.unwrap_or(&was.pod).clone();
            all.push(Asked { was, allocated, wanted });
        }
    }
    Ok(all)
}

/// Replaces a pod of a node.
fn put(state: &mut NodeState, pod: &LoadedPod) {
    let pods = state.snapshot.pods.found.iter_mut().flat_map(|it| &mut it.value.pods);
    for it in pods.filter(|it| id(&it.pod) == id(&pod.pod)) {
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

fn resized(state: &NodeState, asked: &Asked) -> Result<Resized, Failure> {
    let about = admission_node(&state.node()?);
    let (was, pod) = (&asked.allocated, &asked.wanted.pod);
    let alone = |answer| Ok(Resized { answer, victims: Vec::new() });
    if let Some(refusal) = refusal(&about, was, pod) {
        return alone(ResizeAnswer::Refused(refusal));
    }
    if let Some(message) = infeasible(&about, was, pod)? {
        return alone(ResizeAnswer::Pending { reason: PendingReason::Infeasible, message });
    }
    let planned = plan(&about, pod, |others| sort(others, &[]), Detail::BRIEF)?;
    if let Some(refusal) = planned.admission.refusals.first() {
        let message = refusal.message.trim_end().to_owned();
        return alone(ResizeAnswer::Pending { reason: PendingReason::Deferred, message });
    }
    let victims = planned.victims.into_iter().map(qualified).collect();
    let mut granted = state.clone();
    put(&mut granted, &asked.wanted);
    allocate(&mut granted, &id(pod));
    let actuation = actuation(&about, (state, was), (&granted, pod))?;
    Ok(Resized { answer: ResizeAnswer::Allocated(actuation), victims })
}

/// Returns why the API server does not accept a resize (`ValidatePodResize`, `pkg/apis/core/validation/validation.go`),
/// or why the kubelet has none.
fn refusal(about: &AdmissionNode, was: &Pod, pod: &Pod) -> Option<ResizeRefusal> {
    let kubelet = &about.node.kubelet;
    let (version, gates) = (kubelet.version, kubelet.rules.gates);
    if !gates.enabled(Gate::InPlacePodVerticalScaling) {
        return Some(ResizeRefusal::NoSuchResize { version: version.to_string() });
    }
    // Kubelets from 1.33 to 1.35 have an answer of their own to these.
    if is_static_pod(pod)
        && (version.resizes_static_pods() || !kubelet.rules.counts_by_allocations())
    {
        return Some(ResizeRefusal::StaticPod);
    }
    if pod.spec.os.as_ref().is_some_and(|os| os.name == "windows") {
        return Some(ResizeRefusal::WindowsPod);
    }
    if has_pod_level_resources(pod) {
        if version.forbids_resizes_at_pod_level() {
            return Some(ResizeRefusal::PodLevelResources);
        }
        if !gates.enabled(Gate::InPlacePodLevelResourcesVerticalScaling) {
            return Some(ResizeRefusal::PodLevelGate);
        }
    }
    let old = |name: &str| {
        let all = was.spec.containers.iter().chain(&was.spec.init_containers);
        all.into_iter().find(|it| it.name == name)
    };
    let is_changed =
        |it: &Container| old(&it.name).is_some_and(|old| old.resources != it.resources);
    for it in pod.spec.init_containers.iter().filter(|it| is_changed(it)) {
        // kubelet 1.32 resizes regular containers alone.
        let is_sidecar = it.restarts_always() && version.resizes_sidecars();
        if !is_sidecar && !gates.enabled(Gate::InPlacePodVerticalScalingInitContainers) {
            return Some(ResizeRefusal::InitContainer);
        }
        if !it.restarts_always() && it.resize_policy.iter().any(is_restart) {
            return Some(ResizeRefusal::InitContainerPolicy);
        }
    }
    for (at, it) in pod.spec.containers.iter().enumerate() {
        if pod.spec.restart_policy == "Never" && it.resize_policy.iter().any(is_restart) {
            return Some(ResizeRefusal::PolicyOfNever { at });
        }
        if version.forbids_lower_memory_limits()
            && !restarts_for(it, &ResourceName::Memory)
            && old(&it.name).is_some_and(|old| is_lower(old, it))
        {
            return Some(ResizeRefusal::LowerMemoryLimit { at });
        }
    }
    None
}

fn is_restart(policy: &ContainerResizePolicy) -> bool {
    policy.restart_policy == "RestartContainer"
}

/// Returns true if a resize of a resource restarts a container: the first policy for it counts.
pub(super) fn restarts_for(container: &Container, resource: &ResourceName) -> bool {
    let mut policies = container.resize_policy.iter();
    policies
        .find(|it| ResourceName::from(it.resource_name.as_str()) == *resource)
        .is_some_and(is_restart)
}

fn is_lower(old: &Container, new: &Container) -> bool {
    let limit = |it: &ResourceList| it.get(&ResourceName::Memory).cloned();
    let limits = limit(&old.resources.limits).zip(limit(&new.resources.limits));
    limits.is_some_and(|(old, new)| new.compare(&old).is_lt())
}

/// Returns why the kubelet never allocates a resize, while the node is as it is (`podResizesAdmitHandler`,
/// `pkg/kubelet/allocation/handlers.go`; `canResizePod` before 1.36).
fn infeasible(about: &AdmissionNode, was: &Pod, pod: &Pod) -> Result<Option<String>, Failure> {
    let kubelet = &about.node.kubelet;
    if !kubelet.version.resizes_static_pods() && is_static_pod(pod) {
        return Ok(Some("In-place resize of static-pods is not supported".to_owned()));
    }
    if kubelet.version.refuses_resizes_with_swap() && swaps(about, was, pod)? {
        return Ok(Some("In-place resize of containers with swap is not supported.".to_owned()));
    }
    if let Some(message) = managed(about, was, pod) {
        return Ok(Some(message));
    }
    match kubelet.version.refuses_too_large_resizes() {
        true => too_large(about, pod),
        false => Ok(None),
    }
}

/// Returns true if the memory request of a container changes that may swap before or after
/// (`disallowResizeForSwappableContainers`).
fn swaps(about: &AdmissionNode, was: &Pod, pod: &Pod) -> Result<bool, Failure> {
    let node = about.node.settings()?;
    let all = |pod: &Pod| -> Vec<Container> {
        pod.spec.containers.iter().chain(&pod.spec.init_containers).cloned().collect()
    };
    let old = all(was);
    Ok(all(pod).iter().any(|new| {
        let Some(old) = old.iter().find(|it| it.name == new.name) else { return false };
        is_other(old, new, &ResourceName::Memory)
            && !restarts_for(old, &ResourceName::Memory)
            && (may_swap(node, was, old) || may_swap(node, pod, new))
    }))
}

/// Returns what a static manager says of a resize of a Guaranteed pod.
fn managed(about: &AdmissionNode, was: &Pod, pod: &Pod) -> Option<String> {
    let kubelet = &about.node.kubelet;
    let (version, gates, config) = (kubelet.version, kubelet.rules.gates, about.node.config());
    if effective_qos_class(pod, gates) != QosClass::Guaranteed {
        return None;
    }
    let cpus = Gate::InPlacePodVerticalScalingExclusiveCpus;
    let by_resource = version.static_managers_refuse_own_resource();
    let memory = match by_resource {
        true => Gate::InPlacePodVerticalScalingExclusiveMemory,
        false => cpus,
    };
    let has_cpu = config.cpu_manager_policy == "static";
    let has_memory =
        config.memory_manager_policy == "Static" && version.static_memory_manager_refuses_resizes();
    [
        ("CPU", ResourceName::Cpu, "static", has_cpu, cpus),
        ("Memory", ResourceName::Memory, "Static", has_memory, memory),
    ]
    .into_iter()
    .filter(|(_, resource, _, has_policy, gate)| {
        *has_policy && !gates.enabled(*gate) && (!by_resource || changes(was, pod, resource))
    })
    .map(|(manager, _, policy, ..)| match by_resource {
        true => format!(
            "Resize is infeasible for Guaranteed Pods alongside {manager} Manager policy \"{policy}\""
        ),
        false => {
            format!("Resize is infeasible for Guaranteed Pods alongside {manager} Manager static policy")
        }
    })
    .next()
}

/// Returns the message about a pod that requests more than the node has for all pods (`canResizePod`, before 1.36).
fn too_large(about: &AdmissionNode, pod: &Pod) -> Result<Option<String>, Failure> {
    let kubelet = &about.node.kubelet;
    let reported = &about.object()?.status.allocatable;
    let available = match kubelet.version.compares_resizes_with_reservations() {
        true => &about.node.settings()?.allocatable.absolute,
        false => reported,
    };
    let over = |name: ResourceName, units: fn(&Quantity) -> i64| {
        let available = available.get(&name).or_else(|| reported.get(&name));
        let available = available.map(units)?;
        let requested = units(&kubelet_request(pod, &name, &kubelet.rules));
        (requested > available).then(|| {
            format!(
                "Node didn't have enough capacity: {name}, requested: {requested}, capacity: {available}"
            )
        })
    };
    let memory = over(ResourceName::Memory, Quantity::value);
    Ok(memory.or_else(|| over(ResourceName::Cpu, Quantity::milli_value)))
}

/// Returns true if a container's request of a resource is another one (`guaranteedPodResourceResizeRequired`).
fn changes(was: &Pod, pod: &Pod, resource: &ResourceName) -> bool {
    let all = |pod: &Pod| -> Vec<Container> {
        pod.spec.containers.iter().chain(&pod.spec.init_containers).cloned().collect()
    };
    let old = all(was);
    all(pod).iter().any(|new| {
        old.iter().find(|it| it.name == new.name).is_none_or(|old| is_other(old, new, resource))
    })
}

fn is_other(old: &Container, new: &Container, resource: &ResourceName) -> bool {
    let request = |it: &Container| it.resources.requests.get(resource).cloned().unwrap_or_default();
    request(old).compare(&request(new)).is_ne()
}
