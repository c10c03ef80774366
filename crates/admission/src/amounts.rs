//! The amounts of pods and nodes, in the units in which they are compared.
//!
//! The resources that count, and the requests that are dropped because the node does not have the resource.
//!
//! Mirrors `removeMissingExtendedResources` of `pkg/kubelet/lifecycle/predicate.go`,
//! `IsExtendedResourceName` of `pkg/apis/core/v1/helper` and `IsScalarResourceName` of
//! `pkg/scheduler/util`, read in 1.36.2.

use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Pod, ResourceList, ResourceName};
use kq_k8s::quantity::Quantity;
use kq_k8s::validation::is_extended_resource;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Amounts as the scheduler's code compares them (`framework.Resource`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Thousandths of a CPU.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
    /// Bytes.
    pub ephemeral_storage: i64,
    /// The number of pods; of a node only.
    pub pods: i64,
    /// Whole units of huge pages, extended and other scalar resources.
    pub scalars: BTreeMap<ResourceName, i64>,
}

impl Amounts {
    /// Returns amounts in these units, each rounded up. Resources that the filter does not know are left
    /// out.
    pub fn of(list: &ResourceList) -> Self {
        let mut amounts = Self::default();
        for (name, amount) in list.iter() {
            match name {
                ResourceName::Cpu => amounts.milli_cpu = amount.milli_value(),
                ResourceName::Memory => amounts.memory = amount.value(),
                ResourceName::Other(text) => match &**text {
                    "ephemeral-storage" => amounts.ephemeral_storage = amount.value(),
                    "pods" => amounts.pods = amount.value(),
                    other if is_scalar_resource(other) => {
                        amounts.scalars.insert(name.clone(), amount.value());
                    }
                    _ => {}
                },
            }
        }
        amounts
    }

    /// Returns the amounts of a node, of scalar resources only those that are requested: the node may have tens of
    /// thousands, and every pod is compared with it. `devices`: how many of each the node counts with at least.
    pub fn of_requested(
        list: &ResourceList,
        devices: &BTreeMap<ResourceName, i64>,
        requested: &Self,
    ) -> Self {
        let value = |name: &str| list.get(&ResourceName::from(name)).map_or(0, Quantity::value);
        let scalar = |name: &ResourceName| {
            let listed = list.get(name).map(Quantity::value);
            let given = devices.get(name).map(|given| (*given).max(0));
            Some((name.clone(), listed.into_iter().chain(given).max()?))
        };
        Self {
            milli_cpu: list.get(&ResourceName::Cpu).map_or(0, Quantity::milli_value),
            memory: value("memory"),
            ephemeral_storage: value("ephemeral-storage"),
            pods: value("pods"),
            scalars: requested.scalars.keys().filter_map(scalar).collect(),
        }
    }

    /// Returns the same amounts, of scalar resources only those that are requested.
    pub fn only_requested(&self, requested: &Self) -> Self {
        let scalar = |name: &ResourceName| Some((name.clone(), *self.scalars.get(name)?));
        Self {
            milli_cpu: self.milli_cpu,
            memory: self.memory,
            ephemeral_storage: self.ephemeral_storage,
            pods: self.pods,
            scalars: requested.scalars.keys().filter_map(scalar).collect(),
        }
    }

    /// Adds the amounts of a pod; overflow wraps, as in the kubelet. Pods are counted, not added.
    pub fn add(&mut self, more: &Self) {
        self.milli_cpu = self.milli_cpu.wrapping_add(more.milli_cpu);
        self.memory = self.memory.wrapping_add(more.memory);
        self.ephemeral_storage = self.ephemeral_storage.wrapping_add(more.ephemeral_storage);
        for (name, amount) in &more.scalars {
            match self.scalars.get_mut(name) {
                Some(sum) => *sum = sum.wrapping_add(*amount),
                None => {
                    self.scalars.insert(name.clone(), *amount);
                }
            }
        }
    }

    /// Subtracts the amounts of a pod.
    pub fn subtract(&mut self, less: &Self) {
        self.milli_cpu = self.milli_cpu.wrapping_sub(less.milli_cpu);
        self.memory = self.memory.wrapping_sub(less.memory);
        self.ephemeral_storage = self.ephemeral_storage.wrapping_sub(less.ephemeral_storage);
        for (name, amount) in &less.scalars {
            if let Some(sum) = self.scalars.get_mut(name) {
                *sum = sum.wrapping_sub(*amount);
            }
        }
    }

    /// Returns the amount of a compared resource; 0 for one without an amount.
    pub fn get(&self, name: &ResourceName) -> i64 {
        match name {
            ResourceName::Cpu => self.milli_cpu,
            ResourceName::Memory => self.memory,
            ResourceName::Other(text) => match &**text {
                "ephemeral-storage" => self.ephemeral_storage,
                "pods" => self.pods,
                _ => self.scalar(name),
            },
        }
    }

    /// Returns the amount of a scalar resource; 0 for one without an amount.
    pub fn scalar(&self, name: &ResourceName) -> i64 {
        self.scalars.get(name).copied().unwrap_or(0)
    }

    /// Returns true if all amounts are zero.
    pub fn is_nothing(&self) -> bool {
        self.milli_cpu == 0
            && self.memory == 0
            && self.ephemeral_storage == 0
            && self.scalars.is_empty()
    }
}

/// A request that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedRequest {
    pub container: String,
    /// It is an init container.
    pub init: bool,
    /// The resource that it requests.
    pub resource: ResourceName,
    /// A claim provides the resource; otherwise the node does not have it.
    pub claimed: bool,
}

/// The prefix of the implicit resource of a device class.
const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Returns true if the filter compares a resource other than CPU, memory, ephemeral storage and pods.
pub fn is_scalar_resource(name: &str) -> bool {
    name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || is_extended_resource(name)
}

/// Walks over the resources that a pod can be compared by.
pub fn named_resources(pod: &Pod) -> impl Iterator<Item = &ResourceName> {
    let containers = pod.spec.init_and_containers();
    let lists = containers.flat_map(|it| [&it.resources.requests, &it.resources.limits]);
    let claims = pod.status.node_allocatable_resource_claim_statuses.iter();
    let lists = lists.chain(&pod.spec.overhead).chain(claims.map(|claim| &claim.resources));
    lists.flat_map(|list| list.iter().map(|(name, _)| name))
}

/// Returns the pod without the requests that the node need not meet, and those requests: resources of a claim,
/// and extended resources that the node does not have. A static pod can request a device that no node has,
/// and starts.
pub fn remove_missing_extended_resources<'p>(
    pod: &'p Pod,
    on_node: impl Fn(&ResourceName) -> bool,
    rules: &KubeletRules,
) -> (Cow<'p, Pod>, Vec<RemovedRequest>) {
    let claims = if rules.gates.enabled(Gate::DraExtendedResource) {
        pod.status.extended_resource_claim_status.as_ref()
    } else {
        None
    };
    let claims = claims.into_iter().flat_map(|claims| &claims.request_mappings);
    let claims: BTreeSet<(&str, &str)> =
        claims.map(|it| (&*it.container_name, &*it.resource_name)).collect();
    let claimed = |container: &Container, resource: &str| {
        claims.contains(&(container.name.as_str(), resource))
            && (is_extended_resource(resource) || resource.starts_with(DEVICE_CLASS))
    };
    let mut removed = Vec::new();
    for (init, containers) in [(false, &pod.spec.containers), (true, &pod.spec.init_containers)] {
        for container in containers {
            for (resource, _) in container.resources.requests.iter() {
                let claimed = claimed(container, resource.as_str());
                let missing = is_extended_resource(resource.as_str()) && !on_node(resource);
                if claimed || missing {
                    let container = container.name.clone();
                    let resource = resource.clone();
                    removed.push(RemovedRequest { container, init, resource, claimed });
                }
            }
        }
    }
    (without_requests(pod, &removed), removed)
}

/// Returns a pod without requests that do not count.
pub(super) fn without_requests<'p>(pod: &'p Pod, removed: &[RemovedRequest]) -> Cow<'p, Pod> {
    if removed.is_empty() {
        return Cow::Borrowed(pod);
    }
    let removed: BTreeSet<(bool, &str, &ResourceName)> =
        removed.iter().map(|it| (it.init, &*it.container, &it.resource)).collect();
    let mut pod = pod.clone();
    let spec = &mut pod.spec;
    for (init, containers) in [(false, &mut spec.containers), (true, &mut spec.init_containers)] {
        for container in containers {
            let name = container.name.as_str();
            let requests = &mut container.resources.requests;
            requests.retain(|resource| !removed.contains(&(init, name, resource)));
        }
    }
    Cow::Owned(pod)
}
