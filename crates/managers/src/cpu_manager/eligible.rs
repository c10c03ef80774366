//! Who gets exclusive CPUs, and how many (`guaranteedCPUs` and `podGuaranteedCPUs` in `policy_static.go`).
//!
//! | version | amount of a container |
//! |---|---|
//! | 1.32 to 1.34 | `allocatedResources` of its status if resizing in place is on (the status of sidecars since 1.33), else its request |
//! | since 1.35 | its request |
//!
//! Pods with pod-level resources get none since 1.34 (`KubeletRules::skips_pod_level_resources`).

use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Pod, ResourceList, ResourceName};
use kq_k8s::qos::{QosClass, effective_qos_class, is_container_guaranteed};
use kq_k8s::quantity::Quantity;
use kq_k8s::resources::has_pod_level_resources;

/// Why a container runs on the shared CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SharedBecause {
    /// The CPU manager has the policy `none`.
    #[error("the CPU manager's policy is none")]
    PolicyNone,
    #[error("the pod is {0}, not Guaranteed")]
    NotGuaranteed(QosClass),
    #[error("it requests no CPU")]
    NoRequest,
    #[error("it requests {0} CPUs, not a whole number")]
    NotWhole(String),
    #[error("the pod has pod-level resources")]
    PodLevelResources,
    /// With pod-level resources, a container needs limits that equal its requests.
    #[error("its requests of CPU and memory are not its limits, in a pod with pod-level resources")]
    ContainerNotGuaranteed,
}

/// Returns how many exclusive CPUs a container gets, which is more than zero.
pub(super) fn exclusive_cpus(
    rules: KubeletRules,
    pod: &Pod,
    container: &Container,
) -> Result<i64, SharedBecause> {
    let class = effective_qos_class(pod, rules.gates);
    if class != QosClass::Guaranteed {
        return Err(SharedBecause::NotGuaranteed(class));
    }
    if rules.manages_pod_level_resources()
        && has_pod_level_resources(pod)
        && !is_container_guaranteed(&container.resources)
    {
        return Err(SharedBecause::ContainerNotGuaranteed);
    }
    let Some(amount) = amount(rules, pod, container) else { return Err(SharedBecause::NoRequest) };
    match whole(amount) {
        Some(0) => Err(SharedBecause::NoRequest),
        Some(cpus) => Ok(cpus),
        None => Err(SharedBecause::NotWhole(amount.canonical())),
    }
}

/// Returns a number of CPUs if it is whole (`isIntegralCPUAmount`): rounded up to CPUs and to milli, it is the same.
fn whole(amount: &Quantity) -> Option<i64> {
    let cpus = amount.value();
    (cpus.wrapping_mul(1000) == amount.milli_value()).then_some(cpus)
}

fn amount<'p>(rules: KubeletRules, pod: &'p Pod, container: &'p Container) -> Option<&'p Quantity> {
    counted_requests(rules, pod, container)?.get(&ResourceName::Cpu)
}

/// Returns the requests of a container that the static managers count; `None`: its status has none.
pub(crate) fn counted_requests<'p>(
    rules: KubeletRules,
    pod: &'p Pod,
    container: &'p Container,
) -> Option<&'p ResourceList> {
    if rules.exclusive_amounts_by_status() {
        let sidecars = pod.status.init_container_statuses.iter();
        let with_sidecars = rules.reads_status_of_sidecars() && container.restarts_always();
        let statuses =
            pod.status.container_statuses.iter().chain(sidecars.take_while(|_| with_sidecars));
        let mut statuses = statuses.filter(|status| status.name == container.name);
        if let Some(status) = statuses.next() {
            return status.allocated_resources.as_ref();
        }
    }
    Some(&container.resources.requests)
}

/// Returns true if a container of a pod gets exclusive CPUs from the policy `static`.
pub fn has_exclusive_cpus(rules: KubeletRules, pod: &Pod) -> bool {
    exclusive_cpus_of_pod(rules, pod) > 0
}

/// Returns how many exclusive CPUs a pod needs at a time: the most of the sum of its containers and sidecars, and of
/// each init container with the sidecars before it.
pub(super) fn exclusive_cpus_of_pod(rules: KubeletRules, pod: &Pod) -> i64 {
    if rules.manages_pod_level_resources() && has_pod_level_resources(pod) {
        return of_pod_level(rules, pod);
    }
    let of = |container: &Container| match container.resources.requests.get(&ResourceName::Cpu) {
        Some(_) => exclusive_cpus(rules, pod, container).unwrap_or(0),
        None => 0,
    };
    let (mut init, mut sidecars) = (0_i64, 0_i64);
    for container in &pod.spec.init_containers {
        let cpus = of(container);
        if container.restarts_always() {
            sidecars = sidecars.saturating_add(cpus);
        } else {
            init = init.max(sidecars.saturating_add(cpus));
        }
    }
    let apps = pod.spec.containers.iter().map(of).fold(0, i64::saturating_add);
    init.max(apps.saturating_add(sidecars))
}

fn of_pod_level(rules: KubeletRules, pod: &Pod) -> i64 {
    if effective_qos_class(pod, rules.gates) != QosClass::Guaranteed {
        return 0;
    }
    let resources = pod.spec.resources.as_ref();
    let amount = resources.and_then(|resources| resources.requests.get(&ResourceName::Cpu));
    amount.and_then(whole).unwrap_or(0)
}
