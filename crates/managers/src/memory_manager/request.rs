//! The amounts that count: `getContainerRequestedResources`, `getPodRequestedResources` and `validatePodScopeResources` in
//! `policy_static.go`.

use super::{AllocateError, Amounts};
use crate::cpu_manager::counted_requests;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Pod, ResourceList, ResourceName};
use kq_k8s::qos::is_container_guaranteed;
use kq_k8s::resources::has_pod_level_resources;

/// An amount is no whole number, or needs more than 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("[memorymanager] failed to represent quantity as int64")]
pub struct NotAnAmount;

/// Returns the memory and huge pages of a list.
fn amounts(list: &ResourceList) -> Result<Vec<(String, i64)>, NotAnAmount> {
    let counts =
        |name: &ResourceName| *name == ResourceName::Memory || name.hugepage_size().is_some();
    let of_memory = list.iter().filter(|(name, _)| counts(name));
    of_memory
        .map(|(name, amount)| Ok((name.to_string(), amount.as_int64().ok_or(NotAnAmount)?)))
        .collect()
}

/// Returns true if a pod's own resources count.
pub(super) fn counts_as_whole(pod: &Pod, gates: FeatureGates) -> bool {
    gates.enabled(Gate::PodLevelResourceManagers) && has_pod_level_resources(pod)
}

/// Returns what a container requests. In a pod with resources as a whole, a container counts if its CPU and memory
/// requests equal its limits.
/// Fails for an amount that the kubelet does not take. It takes none with a fraction before a binary suffix, as `1.5Gi`.
pub fn requested_by_container(
    pod: &Pod,
    container: &Container,
    gates: FeatureGates,
) -> Result<Amounts, NotAnAmount> {
    if counts_as_whole(pod, gates) && !is_container_guaranteed(&container.resources) {
        return Ok(Amounts::new());
    }
    let counted = counted_requests(KubeletRules { gates }, pod, container);
    let requested = counted.map(amounts).transpose()?.unwrap_or_default();
    Ok(requested.into_iter().map(|(name, amount)| (name, amount.cast_unsigned())).collect())
}

/// Returns what a pod requests at any time.
pub fn requested_by_pod(pod: &Pod, gates: FeatureGates) -> Result<Amounts, NotAnAmount> {
    if counts_as_whole(pod, gates) {
        let own = pod.spec.resources.as_ref().map(|resources| amounts(&resources.requests));
        let own = own.transpose()?.unwrap_or_default();
        let positive = own.into_iter().filter(|(_, amount)| *amount > 0);
        return Ok(positive.map(|(name, amount)| (name, amount.cast_unsigned())).collect());
    }
    let (mut of_init, mut of_sidecars) = (Amounts::new(), Amounts::new());
    for container in &pod.spec.init_containers {
        for (name, amount) in requested_by_container(pod, container, gates)? {
            let sidecars = of_sidecars.entry(name.clone()).or_default();
            if container.restarts_always() {
                *sidecars = sidecars.wrapping_add(amount);
            } else {
                let largest = of_init.entry(name).or_default();
                *largest = (*largest).max(sidecars.wrapping_add(amount));
            }
        }
    }
    let mut sums = Amounts::new();
    for container in &pod.spec.containers {
        for (name, amount) in requested_by_container(pod, container, gates)? {
            let sum = sums.entry(name).or_default();
            *sum = sum.wrapping_add(amount);
        }
    }
    // What only init containers request does not count.
    for (name, sum) in &mut sums {
        let sidecars = of_sidecars.get(name).copied().unwrap_or_default();
        let init = of_init.get(name).copied().unwrap_or_default();
        *sum = sum.wrapping_add(sidecars).max(init);
    }
    Ok(sums)
}

/// Checks that containers without memory of their own have some of the pod's left.
/// Fails where nothing is left for them. Of several resources, the kubelet may name any.
pub(super) fn validate_pod_scope(pod: &Pod, gates: FeatureGates) -> Result<(), AllocateError> {
    let total = requested_by_pod(pod, gates)?;
    let mut exclusive = Amounts::new();
    let used_up = |exclusive: &Amounts| {
        let mut resources = total.iter();
        let is_used = |(name, amount): &(&String, &u64)| {
            exclusive.get(*name).copied().unwrap_or_default() >= **amount
        };
        resources.find(is_used).map(|(name, _)| name.clone())
    };
    let mut shares = false;
    for container in &pod.spec.init_containers {
        let requested = requested_by_container(pod, container, gates)?;
        match (container.restarts_always(), requested.is_empty()) {
            (false, true) => {
                if let Some(memory_type) = used_up(&exclusive) {
                    return Err(AllocateError::NothingForInit { memory_type });
                }
            }
            (false, false) => {}
            (true, true) => shares = true,
            (true, false) => add(&mut exclusive, requested),
        }
    }
    for container in &pod.spec.containers {
        let requested = requested_by_container(pod, container, gates)?;
        shares |= requested.is_empty();
        add(&mut exclusive, requested);
    }
    match used_up(&exclusive).filter(|_| shares) {
        Some(memory_type) => Err(AllocateError::NothingForShared { memory_type }),
        None => Ok(()),
    }
}

/// Adds amounts by name.
pub(super) fn add(sums: &mut Amounts, more: Amounts) {
    for (name, amount) in more {
        let sum = sums.entry(name).or_default();
        *sum = sum.wrapping_add(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_k8s::version::KubeletVersion;
    use serde_json::json;

    #[test]
    fn before_1_35_the_status_of_a_container_counts() {
        let pod: Pod = serde_json::from_value(json!({
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "2Gi"}}}]},
            "status": {"containerStatuses":
                [{"name": "c", "allocatedResources": {"memory": "1Gi"}}]},
        }))
        .expect("a pod");
        let of = |minor: u32, resizes: bool| {
            let gates = FeatureGates::for_version(KubeletVersion::new(1, minor));
            let gates = gates.with(Gate::InPlacePodVerticalScaling, resizes);
            let requested = requested_by_container(&pod, &pod.spec.containers[0], gates);
            requested.expect("amounts").get("memory").copied().unwrap_or_default() >> 30
        };
        for (minor, resizes, expected) in [
            (32, false, 2),
            (32, true, 1),
            (33, true, 1),
            (34, true, 1),
            (35, true, 2),
            (36, true, 2),
        ] {
            assert_eq!(of(minor, resizes), expected, "1.{minor} {resizes}");
        }
    }
}
