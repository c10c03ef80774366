//! Swap: which containers may use it, and how much.
//!
//! Mirrors `GetContainerSwapBehavior` and `calcSwapForBurstablePods` of
//! `pkg/kubelet/kuberuntime/kuberuntime_container_linux.go`, read in 1.36.2.

use crate::derivation::{Derived, Step};
use crate::files::CgroupVersion;
use crate::rule::Rule;
use crate::settings::{CgroupSettings, SwapBehavior};
use kq_answer::cgroup_fact::CgroupFact;
use kq_k8s::pod::{Pod, ResourceName, ResourceRequirements};
use kq_k8s::priority::is_critical_pod;
use kq_k8s::qos::QosClass;
use kq_k8s::quantity::Quantity;

/// Returns the behavior that is in effect for a container, and the rule that forbids swapping.
pub fn swap_behavior(
    pod: &Pod,
    class: QosClass,
    own: &ResourceRequirements,
    settings: &CgroupSettings,
) -> (SwapBehavior, Option<Rule>) {
    let request = own.requests.get(&ResourceName::Memory).cloned().unwrap_or_default();
    let limit = own.limits.get(&ResourceName::Memory).cloned().unwrap_or_default();
    let forbidden = if !settings.kernel.swap_controller {
        Rule::NoSwapController
    } else if settings.swap_behavior == SwapBehavior::NoSwap {
        Rule::NoSwapBehavior
    } else if settings.version == CgroupVersion::V1 {
        Rule::NoSwapCgroupV1
    } else if is_critical_pod(pod) {
        Rule::NoSwapCritical
    } else if class != QosClass::Burstable {
        Rule::NoSwapClass
    } else if (request.sign() <= 0 && limit.sign() <= 0) || request.compare(&limit).is_eq() {
        Rule::NoSwapMemory
    } else {
        return (SwapBehavior::LimitedSwap, None);
    };
    (SwapBehavior::NoSwap, Some(forbidden))
}

/// Returns the text of `memory.swap.max`.
/// Fails when the container may swap and the machine's memory or swap is not known.
pub fn swap_limit(
    own: &ResourceRequirements,
    (behavior, forbidden): (SwapBehavior, Option<Rule>),
    settings: &CgroupSettings,
) -> Result<Derived<String>, CgroupFact> {
    if behavior == SwapBehavior::NoSwap {
        return Ok(Derived::new(
            "0".to_owned(),
            forbidden.map(Step::from).into_iter().collect::<Vec<_>>(),
        ));
    }
    let memory_capacity = settings.memory_capacity.ok_or(CgroupFact::MemoryCapacity)?;
    let swap_capacity = settings.swap_capacity.ok_or(CgroupFact::SwapCapacity)?;
    let request = own.requests.get(&ResourceName::Memory).map_or(0, Quantity::value);
    if memory_capacity <= 0 || request > memory_capacity {
        return Ok(Derived::new("0".to_owned(), [Rule::NoSwapAboveMachine.into()]));
    }
    // In the same floats as the kubelet.
    let swap = (request as f64 / memory_capacity as f64 * swap_capacity as f64) as i64;
    let step = Step::SwapShare { request, memory_capacity, swap_capacity, swap };
    Ok(Derived::new(swap.to_string(), [step]))
}
