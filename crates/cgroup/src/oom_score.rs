//! The order of OOM kills: `oom_score_adj`.
//!
//! Mirrors `GetContainerOOMScoreAdjust` of `pkg/kubelet/qos/policy.go`, read in 1.36.2; pinned by the
//! vectors `container_cgroup.jsonl`.

use crate::derivation::{Derived, Stated, Step};
use crate::pod::pod_options;
use crate::rule::Rule;
use crate::settings::CgroupSettings;
use kq_answer::cgroup_fact::CgroupFact;
use kq_k8s::pod::{Container, Pod, ResourceName};
use kq_k8s::priority::is_node_critical_pod;
use kq_k8s::qos::QosClass;
use kq_k8s::quantity::Quantity;
use kq_k8s::resources::{ResourceOptions, Side, container_total, is_pod_level_set};

const GUARANTEED: i64 = -997;
const BEST_EFFORT: i64 = 1000;
const LEAST_BURSTABLE: i64 = 1000 + GUARANTEED;

/// Returns the score of a container of a pod of this class.
/// Fails for a Burstable pod when the machine's memory is not known.
pub fn oom_score_adj(
    pod: &Pod,
    class: QosClass,
    container: &Container,
    sidecar: bool,
    settings: &CgroupSettings,
) -> Result<Derived<i64>, CgroupFact> {
    if is_node_critical_pod(pod) {
        return Ok(Derived::new(GUARANTEED, [Rule::OomNodeCritical.into()]));
    }
    match class {
        QosClass::Guaranteed => {
            return Ok(Derived::new(GUARANTEED, [Rule::OomGuaranteed.into()]));
        }
        QosClass::BestEffort => {
            return Ok(Derived::new(BEST_EFFORT, [Rule::OomBestEffort.into()]));
        }
        QosClass::Burstable => {}
    }
    let capacity = settings
        .memory_capacity
        .filter(|capacity| *capacity != 0)
        .ok_or(CgroupFact::MemoryCapacity)?;
    let extra = unrequested_by_containers(pod, settings);
    // 64-bit and wrapping, as the kubelet's.
    let score_of = |request: i64| {
        let scaled = 1000i64.wrapping_mul(request.wrapping_add(extra));
        1000i64.wrapping_sub(scaled.wrapping_div(capacity))
    };
    let request = memory_request(container);
    let mut score = score_of(request);
    let mut because = vec![
        Step::Given { field: "requests.memory".into(), value: given_memory(container) },
        Step::OomScore { request, extra, capacity, score },
    ];
    if sidecar {
        let smallest = pod.spec.containers.iter().map(memory_request).min().unwrap_or(0);
        let bound = score_of(smallest);
        if score > bound {
            score = bound;
            because.push(Step::SidecarOomScore { request: smallest, score });
        }
    }
    if score < LEAST_BURSTABLE {
        score = LEAST_BURSTABLE;
        because.push(Rule::OomAboveGuaranteed.into());
    } else if score == BEST_EFFORT {
        score -= 1;
        because.push(Rule::OomBelowBestEffort.into());
    }
    Ok(Derived::new(score, because))
}

/// Returns each container's part of the memory that the pod requests and its containers do not.
fn unrequested_by_containers(pod: &Pod, settings: &CgroupSettings) -> i64 {
    let options = pod_options(settings);
    let Some(resources) = pod.spec.resources.as_ref().filter(|resources| {
        !options.skip_pod_level_resources
            && is_pod_level_set(resources, true, options.skip_pod_level_hugepages)
    }) else {
        return 0;
    };
    let Some(request) = resources.requests.get(&ResourceName::Memory).filter(|r| !r.is_zero())
    else {
        return 0;
    };
    let containers = container_total(pod, Side::Requests, &ResourceOptions::default()).total;
    let requested = containers.get(&ResourceName::Memory).map_or(0, Quantity::value);
    let count = pod.spec.containers.len() + pod.spec.init_containers.len();
    request.value().wrapping_sub(requested).wrapping_div(i64::try_from(count.max(1)).unwrap_or(1))
}

fn memory_request(container: &Container) -> i64 {
    container.resources.requests.get(&ResourceName::Memory).map_or(0, Quantity::value)
}

fn given_memory(container: &Container) -> Stated {
    let request = container.resources.requests.get(&ResourceName::Memory);
    request.map_or(Stated::None, |request| Stated::Quantity(request.clone()))
}
