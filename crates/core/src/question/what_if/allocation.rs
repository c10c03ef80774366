//! What the API server and the kubelet say of a resize: refused, pending, or allocated (`pkg/kubelet/allocation`, read in 1.36.2,
//! 1.32.10, and of 1.33 to 1.35 the manager of allocations).

use crate::question::admission::{AdmissionNode, Detail, plan, sort};
use crate::question::cgroup::may_swap;
use crate::what_if::{PendingReason, ResizeRefusal};
use kq_admission::qualified;
use kq_answer::Failure;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::{Container, ContainerResizePolicy, Pod, ResourceName};
use kq_k8s::priority::is_static_pod;
use kq_k8s::qos::{QosClass, effective_qos_class};
use kq_k8s::quantity::Quantity;
use kq_k8s::resources::{has_pod_level_resources, kubelet_request};
use kq_k8s::validation::validate;

/// The answer before anything is done with the containers.
pub enum Allocation {
    /// The API server refuses it.
    Refused(ResizeRefusal),
    /// The kubelet does not allocate it, with the condition `PodResizePending`.
    Pending { reason: PendingReason, message: String },
    /// The kubelet allocates it, and kills these pods to make room.
    Granted { victims: Vec<String> },
}

/// Returns the answer to a resize; `was`: the pod with what is allocated to it.
///
/// # Errors
///
/// Fails where the pods or the Node object are unknown.
pub fn allocation(about: &AdmissionNode, was: &Pod, pod: &Pod) -> Result<Allocation, Failure> {
    if let Some(refusal) = refusal(about, was, pod) {
        return Ok(Allocation::Refused(refusal));
    }
    if let Some(message) = infeasible(about, was, pod)? {
        return Ok(Allocation::Pending { reason: PendingReason::Infeasible, message });
    }
    let planned = plan(about, pod, |others| sort(others, &[]), Detail::BRIEF)?;
    if let Some(refusal) = planned.admission.refusals.first() {
        let message = refusal.message.trim_end().to_owned();
        return Ok(Allocation::Pending { reason: PendingReason::Deferred, message });
    }
    Ok(Allocation::Granted { victims: planned.victims.into_iter().map(qualified).collect() })
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
    let has_claims = !was.status.node_allocatable_resource_claim_statuses.is_empty();
    if has_claims && version.forbids_resizes_with_claims() {
        return Some(ResizeRefusal::Claims);
    }
    // Only what the resize makes wrong: a snapshot does not have all of a pod.
    let known = validate(was);
    let errors = validate(pod).into_iter().filter(|error| !known.contains(error));
    let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
    if !errors.is_empty() {
        return Some(ResizeRefusal::Invalid { errors });
    }
    let old = |name: &str| {
        let all = was.spec.containers_and_init();
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
    }
    if !version.forbids_lower_memory_limits() {
        return None;
    }
    let init_containers = pod.spec.init_containers.iter().enumerate();
    let sidecars = init_containers.filter(|(_, it)| it.restarts_always());
    let sidecars = sidecars.map(|(at, it)| ("initContainers", at, it));
    let containers = pod.spec.containers.iter().enumerate();
    let mut all = sidecars.chain(containers.map(|(at, it)| ("containers", at, it)));
    all.find_map(|(list, at, it)| limit_refusal(old(&it.name)?, it, list, at))
}

/// Returns why the API server of 1.33 refuses a memory limit (`validateContainerResize`). A limit where there was none is
/// a lower one to it.
fn limit_refusal(
    old: &Container,
    new: &Container,
    list: &'static str,
    at: usize,
) -> Option<ResizeRefusal> {
    if restarts_for(new, &ResourceName::Memory) {
        return None;
    }
    let limit = new.resources.limits.get(&ResourceName::Memory)?;
    match old.resources.limits.get(&ResourceName::Memory) {
        None => Some(ResizeRefusal::AddedMemoryLimit { list, at }),
        Some(old) if limit.compare(old).is_lt() => {
            Some(ResizeRefusal::LowerMemoryLimit { list, at })
        }
        Some(_) => None,
    }
}

fn is_restart(policy: &ContainerResizePolicy) -> bool {
    policy.restart_policy == "RestartContainer"
}

/// Returns true if a resize of a resource restarts a container: the first policy for it counts.
pub fn restarts_for(container: &Container, resource: &ResourceName) -> bool {
    let mut policies = container.resize_policy.iter();
    policies
        .find(|it| ResourceName::from(it.resource_name.as_str()) == *resource)
        .is_some_and(is_restart)
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
    let all = |pod: &Pod| -> Vec<Container> { pod.spec.containers_and_init().cloned().collect() };
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
    let all = |pod: &Pod| -> Vec<Container> { pod.spec.containers_and_init().cloned().collect() };
    let old = all(was);
    all(pod).iter().any(|new| {
        old.iter().find(|it| it.name == new.name).is_none_or(|old| is_other(old, new, resource))
    })
}

fn is_other(old: &Container, new: &Container, resource: &ResourceName) -> bool {
    let request = |it: &Container| it.resources.requests.get(resource).cloned().unwrap_or_default();
    request(old).compare(&request(new)).is_ne()
}
