//! The QoS class of a pod.
//!
//! Mirrors `ComputePodQOS` and `GetPodQOS` of `pkg/apis/core/v1/helper/qos/qos.go`, read in 1.36.2;
//! pinned by the vectors `qos.jsonl`.

use crate::feature_gates::{FeatureGates, Gate};
use crate::pod::{Pod, ResourceList, ResourceName, ResourceRequirements};
use crate::quantity::Quantity;
use crate::resources::is_pod_level_set;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// How a pod is treated when the node runs short.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
pub enum QosClass {
    /// Every container has equal requests and limits for CPU and memory.
    Guaranteed,
    /// Something is requested or limited.
    Burstable,
    /// Nothing is requested or limited.
    BestEffort,
}

impl QosClass {
    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guaranteed => "Guaranteed",
            Self::Burstable => "Burstable",
            Self::BestEffort => "BestEffort",
        }
    }

    fn from_status(text: &str) -> Option<Self> {
        [Self::Guaranteed, Self::Burstable, Self::BestEffort]
            .into_iter()
            .find(|class| class.as_str() == text)
    }
}

impl fmt::Display for QosClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Returns the class that every decision of the kubelet uses: the one in the status, if any.
pub fn effective_qos_class(pod: &Pod, gates: FeatureGates) -> QosClass {
    QosClass::from_status(&pod.status.qos_class).unwrap_or_else(|| computed_qos_class(pod, gates))
}

/// Returns the class by which the kubelet sorts pods for preemption: `None` for a pod
/// whose status has an unknown class, which is never preempted.
pub fn recorded_qos_class(pod: &Pod, gates: FeatureGates) -> Option<QosClass> {
    match pod.status.qos_class.as_str() {
        "" => Some(computed_qos_class(pod, gates)),
        text => QosClass::from_status(text),
    }
}

/// Returns the class that follows from the spec.
///
/// With resources for the pod as a whole only those count; even empty ones, without the gate for that (before 1.37).
pub fn computed_qos_class(pod: &Pod, gates: FeatureGates) -> QosClass {
    let (mut requests, mut limits) = (Sums::default(), Sums::default());
    let mut guaranteed = true;
    let counts = |resources: &&ResourceRequirements| {
        let decides = is_pod_level_set(resources, false, false)
            || !gates.enabled(Gate::PodLevelResourcesFixKubeletQosClass);
        gates.enabled(Gate::PodLevelResources) && decides
    };
    match pod.spec.resources.as_ref().filter(counts) {
        Some(resources) => {
            requests.add(&resources.requests);
            limits.add(&resources.limits);
            guaranteed = resources.limits.is_empty() || has_cpu_and_memory(&resources.limits);
        }
        None => {
            for container in pod.spec.containers_and_init() {
                requests.add(&container.resources.requests);
                limits.add(&container.resources.limits);
                guaranteed &= has_cpu_and_memory(&container.resources.limits);
            }
        }
    }
    if requests.is_empty() && limits.is_empty() {
        QosClass::BestEffort
    } else if guaranteed && requests.same_as(&limits) {
        QosClass::Guaranteed
    } else {
        QosClass::Burstable
    }
}

/// Sums of the two resources that count, without those that are zero.
#[derive(Default)]
struct Sums<'p> {
    cpu: Option<Cow<'p, Quantity>>,
    memory: Option<Cow<'p, Quantity>>,
}

impl<'p> Sums<'p> {
    fn add(&mut self, list: &'p ResourceList) {
        for (sum, name) in
            [(&mut self.cpu, ResourceName::Cpu), (&mut self.memory, ResourceName::Memory)]
        {
            if let Some(amount) = positive(list, &name) {
                match sum {
                    Some(sum) => *sum.to_mut() += amount,
                    None => *sum = Some(Cow::Borrowed(amount)),
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.cpu.is_none() && self.memory.is_none()
    }

    fn same_as(&self, other: &Self) -> bool {
        [(&self.cpu, &other.cpu), (&self.memory, &other.memory)].into_iter().all(
            |pair| match pair {
                (Some(left), Some(right)) => left.compare(right) == Ordering::Equal,
                (left, right) => left.is_none() && right.is_none(),
            },
        )
    }
}

/// Returns true if a container sets CPU and memory, and requests what its limits are: in a pod with pod-level resources, it
/// alone gets resources of its own (`IsContainerEquivalentQOSGuaranteed`, `pkg/kubelet/cm/qos/helpers.go`, read in 1.36.2).
pub fn is_container_guaranteed(resources: &ResourceRequirements) -> bool {
    [ResourceName::Cpu, ResourceName::Memory].iter().all(|name| {
        let request = resources.requests.get(name).filter(|amount| !amount.is_zero());
        request
            .zip(resources.limits.get(name))
            .is_some_and(|(request, limit)| request.compare(limit).is_eq())
    })
}

fn has_cpu_and_memory(limits: &ResourceList) -> bool {
    [ResourceName::Cpu, ResourceName::Memory].iter().all(|name| positive(limits, name).is_some())
}

fn positive<'l>(list: &'l ResourceList, name: &ResourceName) -> Option<&'l Quantity> {
    list.get(name).filter(|amount| amount.sign() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::KubeletVersion;

    #[test]
    fn empty_resources_of_a_pod_decide_until_1_36() {
        let class = |resources: &str, minor: u32, fix: bool| {
            let text = format!(
                r#"{{"spec": {{"resources": {resources}, "containers": [
                    {{"name": "c", "resources": {{"requests": {{"cpu": "1"}}}}}}]}}}}"#
            );
            let pod: Pod = serde_json::from_str(&text).expect("a pod");
            let gates = FeatureGates::for_version(KubeletVersion::new(1, minor));
            let gate = Gate::PodLevelResourcesFixKubeletQosClass;
            computed_qos_class(&pod, if fix { gates } else { gates.with(gate, false) })
        };
        for empty in ["{}", r#"{"requests": {}}"#, r#"{"limits": {}}"#] {
            assert_eq!(class(empty, 36, true), QosClass::BestEffort, "{empty}");
            assert_eq!(class(empty, 37, true), QosClass::Burstable, "{empty}");
            assert_eq!(class(empty, 37, false), QosClass::BestEffort, "{empty}");
        }
        let whole = r#"{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}"#;
        assert_eq!(class(whole, 36, true), QosClass::Guaranteed);
        assert_eq!(class(whole, 37, true), QosClass::Guaranteed);
    }
}
