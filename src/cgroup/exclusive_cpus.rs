//! Which containers the static CPU manager gives CPUs of their own.
//!
//! Mirrors `guaranteedCPUs` of `pkg/kubelet/cm/cpumanager/policy_static.go`, read in 1.36.

use crate::cgroup::settings::CgroupSettings;
use crate::k8s::feature_gates::Gate;
use crate::k8s::pod::{Container, Pod, ResourceName};
use crate::k8s::qos::{QosClass, effective_qos_class};
use crate::k8s::resources::is_pod_level_set;

/// Returns the containers of a pod that get CPUs of their own; none unless the policy is static.
pub fn pinned_containers<'p>(
    pod: &'p Pod,
    settings: &CgroupSettings,
) -> impl Iterator<Item = &'p str> {
    let class = effective_qos_class(pod, settings.rules.gates);
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    containers
        .filter(move |container| {
            settings.static_cpu_manager && has_exclusive_cpus(pod, container, class, settings)
        })
        .map(|container| container.name.as_str())
}

/// Tells whether a container of a pod of this class gets exclusive CPUs: in a Guaranteed pod, with a
/// whole number of CPUs, and not in a pod with resources of its own.
fn has_exclusive_cpus(
    pod: &Pod,
    container: &Container,
    class: QosClass,
    settings: &CgroupSettings,
) -> bool {
    let pod_level = pod.spec.resources.as_ref().is_some_and(|resources| {
        settings.rules.gates.enabled(Gate::PodLevelResources)
            && is_pod_level_set(resources, false, !settings.rules.pod_level_hugepages())
    });
    let whole = container.resources.requests.get(&ResourceName::Cpu).is_some_and(|request| {
        request.sign() > 0 && request.value().wrapping_mul(1000) == request.milli_value()
    });
    class == QosClass::Guaranteed && whole && !pod_level
}
