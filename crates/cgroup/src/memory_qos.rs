//! Memory QoS of a container: `memory.min`, `memory.low` and `memory.high`.
//!
//! Mirrors the memory QoS part of `generateLinuxContainerResources` in
//! `pkg/kubelet/kuberuntime/kuberuntime_container_linux.go`, read in 1.36.2 and 1.32, and of 1.37 as it was in July 2026;
//! pinned by the vectors `container_cgroup.jsonl`.

use crate::derivation::{Derived, Step};
use crate::rule::Rule;
use crate::settings::{CgroupSettings, MemoryReservationPolicy};
use kq_answer::cgroup_fact::CgroupFact;
use kq_facts::cgroup_file::CgroupFile;
use kq_k8s::pod::{ResourceName, ResourceRequirements};
use kq_k8s::qos::QosClass;
use kq_k8s::quantity::Quantity;
use std::collections::BTreeMap;

type Unified = BTreeMap<&'static str, Derived<String>>;

/// Returns the files of a container, and those whose text depends on a fact that is not known.
///
/// Only the container's own request and limit count, not the pod's. `has_pod_limit`: the pod has a memory limit of its
/// own, by which it is throttled as a whole since 1.37.
pub fn memory_qos(
    own: &ResourceRequirements,
    has_pod_limit: bool,
    class: QosClass,
    settings: &CgroupSettings,
) -> (Unified, Option<(&'static str, CgroupFact)>) {
    let request = own.requests.get(&ResourceName::Memory).map_or(0, Quantity::value);
    let limit = own.limits.get(&ResourceName::Memory).map_or(0, Quantity::value);
    let mut unified = reservation(request, class, settings);
    let throttles_pods = settings.rules.throttles_pods();
    let is_even = request == limit && (limit > 0 || !throttles_pods);
    let is_left_to_pod = throttles_pods && has_pod_limit && limit == 0;
    let is_spared = is_even || is_left_to_pod;
    let Some(factor) = settings.memory_throttling_factor.filter(|_| !is_spared) else {
        return (unified, None);
    };
    let (top, top_is) = if limit != 0 {
        (limit, "limit")
    } else {
        match settings.node_allocatable.get(&ResourceName::Memory).map(Quantity::value) {
            Some(allocatable) => (allocatable.max(0), "allocatable"),
            None => {
                return (
                    unified,
                    Some((CgroupFile::MemoryHigh.v2_name(), CgroupFact::MemoryCapacity)),
                );
            }
        }
    };
    if let Some((step, high)) = memory_high_step(request, (top, top_is), factor, settings) {
        unified.insert(CgroupFile::MemoryHigh.v2_name(), Derived::new(high.to_string(), [step]));
    }
    (unified, None)
}

/// Returns where throttling begins between a request and a limit, if anywhere.
pub fn memory_high_step(
    request: i64,
    (top, top_is): (i64, &'static str),
    factor: f64,
    settings: &CgroupSettings,
) -> Option<(Step, i64)> {
    let high = memory_high(request, top, factor, settings);
    let page_size = settings.kernel.page_size;
    (top != 0 && high != 0 && high > request)
        .then_some((Step::MemoryHigh { request, top, top_is, factor, page_size, high }, high))
}

fn reservation(request: i64, class: QosClass, settings: &CgroupSettings) -> Unified {
    let one = |file, rule: Rule| {
        let because = [Step::Units { units: request, unit: "bytes" }, rule.into()];
        Unified::from([(file, Derived::new(request.to_string(), because))])
    };
    if !settings.rules.memory_reservation_policies() {
        return match request {
            0 => Unified::new(),
            _ => one(CgroupFile::MemoryMin.v2_name(), Rule::MemoryQosWithoutPolicy),
        };
    }
    match settings.memory_reservation_policy {
        MemoryReservationPolicy::TieredReservation if request != 0 => match class {
            QosClass::Guaranteed => {
                one(CgroupFile::MemoryMin.v2_name(), Rule::GuaranteedReservation)
            }
            QosClass::Burstable | QosClass::BestEffort => {
                one(CgroupFile::MemoryLow.v2_name(), Rule::TieredReservation)
            }
        },
        _ => {
            let rule = match settings.memory_reservation_policy {
                MemoryReservationPolicy::None => Rule::NoMemoryReservation,
                MemoryReservationPolicy::TieredReservation => Rule::NoMemoryRequest,
            };
            let zero = || Derived::new("0".to_owned(), [rule.into()]);
            Unified::from([
                (CgroupFile::MemoryMin.v2_name(), zero()),
                (CgroupFile::MemoryLow.v2_name(), zero()),
            ])
        }
    }
}

/// In the same floats as the kubelet, each operation on its own.
fn memory_high(request: i64, top: i64, factor: f64, settings: &CgroupSettings) -> i64 {
    let (request, top) = (request as f64, top as f64);
    let bytes = (request + (top - request) * factor).floor();
    ((bytes / settings.kernel.page_size as f64) as i64).wrapping_mul(settings.kernel.page_size)
}
