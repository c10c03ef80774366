//! The total resources of a pod.
//!
//! Mirrors `PodRequests`, `PodLimits` and their callees in
//! `staging/src/k8s.io/component-helpers/resource/helpers.go`, read in 1.36.2 and as it was in July 2026 (1.37); pinned by
//! the vectors `pod_resources.jsonl`.
//!
//! The requests of a pod as the kubelet counts them for eviction and preemption.
//!
//! Mirrors `GetResourceRequestQuantity` of `pkg/api/v1/resource/helpers.go`, read in 1.36.2; pinned by
//! the vectors `eviction_rank.jsonl`. The scheduler counts differently: a pod with resources of its
//! own counts with those alone, and the overhead is added only to something.

use crate::feature_gates::Gate;
use crate::kubelet_rules::KubeletRules;
use crate::pod::{
    ByName, Container, ContainerStatus, Pod, ResourceList, ResourceName, ResourceRequirements,
};
use crate::quantity::Quantity;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How to add up a pod.
#[derive(Clone, Debug, Default)]
pub struct ResourceOptions {
    /// Leaves out `spec.overhead`.
    pub exclude_overhead: bool,
    /// Leaves out `spec.resources`, as with the gate PodLevelResources off.
    pub skip_pod_level_resources: bool,
    /// Counts no huge pages at pod level, as kubelets before those learned to.
    pub skip_pod_level_hugepages: bool,
    /// Leaves out the containers. Requests only.
    pub skip_container_level_resources: bool,
    /// Takes the status into account, as during a resize.
    pub use_status_resources: bool,
    /// With the status: as kubelets before 1.33 do, by `status.resize` instead of a condition, of regular
    /// containers alone, and without what was allocated.
    pub resizes_without_conditions: bool,
    /// With the status: the largest of the sums of what is asked for, allocated and actuated, as since 1.37, instead of the
    /// sum of the largest of each container.
    pub takes_largest_sum: bool,
    /// With the status: at pod level too.
    pub in_place_pod_level_resources_vertical_scaling: bool,
    /// Adds the resources that dynamic resource allocation accounts to the pod. Requests only.
    pub use_dra_node_allocatable_resource_claim_status: bool,
    /// The assumed request of a container that does not name the resource. Requests only.
    pub non_missing_container_requests: ResourceList,
}

/// Which of the two lists of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// `resources.requests`
    Requests,
    /// `resources.limits`
    Limits,
}

impl Side {
    /// Returns the field name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Limits => "limits",
        }
    }

    /// Returns this side of a container's resources.
    pub fn of(self, resources: &ResourceRequirements) -> &ResourceList {
        match self {
            Self::Requests => &resources.requests,
            Self::Limits => &resources.limits,
        }
    }

    fn of_mut(self, resources: &mut ResourceRequirements) -> &mut ResourceList {
        match self {
            Self::Requests => &mut resources.requests,
            Self::Limits => &mut resources.limits,
        }
    }
}

/// A pod's total and how it came about.
#[derive(Clone, Debug, Default)]
pub struct PodTotal<'p> {
    /// The amounts.
    pub total: ResourceList,
    /// The contribution of each container, in the order of the sum.
    pub seen: Vec<Seen<'p>>,
    /// The sidecars together.
    pub sidecars: ResourceList,
    /// The maximum of the init containers that are no sidecars, each with the sidecars that run with it.
    pub at_start: ResourceList,
    /// The sum of each resource after each sidecar that has it, with the number of sidecars until then: an init
    /// container would need a copy of all sums otherwise.
    sums: BTreeMap<ResourceName, Vec<(usize, Quantity)>>,
}

/// The contribution of one container.
#[derive(Clone, Debug)]
pub struct Seen<'p> {
    pub container: &'p Container,
    /// Init containers, sidecars among them, are walked after the regular ones.
    pub init: bool,
    /// Its own amounts.
    pub amounts: Cow<'p, ResourceList>,
    /// How many sidecars run when it starts, itself among them.
    sidecars: usize,
}

impl PodTotal<'_> {
    /// Returns all amounts of a container; of an init container, with those of the sidecars that run with it.
    pub fn amounts(&self, seen: &Seen<'_>) -> ResourceList {
        let own = seen.amounts.iter().map(|(name, _)| name);
        let running = self.sums.keys().filter(|_| seen.init);
        let amount = |name: &ResourceName| Some((name.clone(), self.amount(seen, name)?));
        own.chain(running).filter_map(amount).collect()
    }

    /// Returns the amount of a container; of an init container, with those of the sidecars that run with it.
    pub fn amount(&self, seen: &Seen<'_>, name: &ResourceName) -> Option<Quantity> {
        let own = seen.amounts.get(name);
        if !seen.init {
            return own.cloned();
        }
        let sums = self.sums.get(name).map(Vec::as_slice).unwrap_or_default();
        let until = sums.partition_point(|(sidecars, _)| *sidecars <= seen.sidecars);
        let running = until.checked_sub(1).and_then(|at| sums.get(at)).map(|(_, sum)| sum);
        match (own, running) {
            (Some(own), Some(running)) if !seen.container.restarts_always() => {
                let mut sum = own.clone();
                sum += running;
                Some(sum)
            }
            // The sum after a sidecar has its own amount.
            (_, Some(running)) => Some(running.clone()),
            (own, None) => own.cloned(),
        }
    }
}

/// Returns the requests of a pod.
pub fn pod_requests<'p>(pod: &'p Pod, options: &ResourceOptions) -> PodTotal<'p> {
    pod_total(pod, Side::Requests, options)
}

/// Returns the limits of a pod.
pub fn pod_limits<'p>(pod: &'p Pod, options: &ResourceOptions) -> PodTotal<'p> {
    pod_total(pod, Side::Limits, options)
}

/// Returns one side of a pod's total.
pub fn pod_total<'p>(pod: &'p Pod, side: Side, options: &ResourceOptions) -> PodTotal<'p> {
    let requests = side == Side::Requests;
    let skips_containers = requests && options.skip_container_level_resources;
    let mut sum = match skips_containers {
        true => PodTotal::default(),
        false => container_total(pod, side, options),
    };
    let takes_largest = options.use_status_resources && options.takes_largest_sum;
    if takes_largest && !skips_containers && has_status(pod, options) {
        sum.total = largest_sum(pod, side, options);
    }
    // Claims count with the containers (`AggregateContainerRequests`), so that requests of the pod as a whole
    // replace them too.
    if requests && !skips_containers && options.use_dra_node_allocatable_resource_claim_status {
        for claim in &pod.status.node_allocatable_resource_claim_statuses {
            add(&mut sum.total, &claim.resources);
        }
    }
    if let Some(resources) = &pod.spec.resources
        && !options.skip_pod_level_resources
        && is_pod_level_set(resources, requests, options.skip_pod_level_hugepages)
    {
        let effective = pod_level_with_status(pod, resources, side, options);
        let replacing = if takes_largest { &effective } else { side.of(resources) };
        for (name, _) in replacing.iter() {
            if is_supported_at_pod_level(name, options.skip_pod_level_hugepages) {
                sum.total.insert(name.clone(), effective.get(name).cloned().unwrap_or_default());
            }
        }
    }
    if let Some(overhead) = &pod.spec.overhead
        && !options.exclude_overhead
    {
        if requests {
            add(&mut sum.total, overhead);
        } else {
            for (name, amount) in overhead.iter() {
                if let Some(limit) = sum.total.get_mut(name).filter(|limit| !limit.is_zero()) {
                    *limit += amount;
                }
            }
        }
    }
    sum
}

/// Returns the largest of the sums over a pod's containers: of the spec, of what is allocated and of what is actuated
/// (`AggregateContainerRequests` and `AggregateContainerLimits` since 1.37). The first one is left out for a resize that is
/// infeasible, and the status of the pod as a whole stands for the sums of its containers.
fn largest_sum(pod: &Pod, side: Side, options: &ResourceOptions) -> ResourceList {
    let alone = ResourceOptions { use_status_resources: false, ..options.clone() };
    let sum = |amounts: &dyn Fn(&Container) -> ResourceList| {
        let mut taken = pod.clone();
        let containers = taken.spec.containers_and_init_mut();
        for container in containers {
            let amounts = amounts(container);
            *side.of_mut(&mut container.resources) = amounts;
        }
        container_total(&taken, side, &alone).total
    };
    let statuses = statuses_of(pod);
    let infeasible = is_infeasible(pod, options);
    let asked = |container: &Container| match infeasible {
        true => ResourceList::default(),
        false => side.of(&container.resources).clone(),
    };
    let allocated = |container: &Container| {
        let status = statuses.get(&container.name);
        let allocated = status.and_then(|status| status.allocated_resources.clone());
        allocated.unwrap_or_else(|| asked(container))
    };
    let actuated = |container: &Container| {
        let status = statuses.get(&container.name).and_then(|status| status.resources.as_ref());
        let actuated = status.map(|resources| side.of(resources)).filter(|list| !list.is_empty());
        match (actuated, side) {
            (Some(actuated), _) => actuated.clone(),
            (None, Side::Requests) => allocated(container),
            (None, Side::Limits) => asked(container),
        }
    };
    let at_pod_level = options.in_place_pod_level_resources_vertical_scaling;
    let of_pod = pod.status.resources.as_ref().filter(|_| at_pod_level);
    let of_pod = of_pod.map(|resources| side.of(resources)).filter(|list| !list.is_empty());
    let mut largest = match infeasible {
        true => ResourceList::default(),
        false => sum(&|container: &Container| side.of(&container.resources).clone()),
    };
    match (side, of_pod, pod.status.allocated_resources.as_ref()) {
        (Side::Requests, Some(actuated), Some(allocated)) => {
            max(&mut largest, actuated);
            max(&mut largest, allocated);
        }
        (Side::Limits, Some(actuated), _) => max(&mut largest, actuated),
        (Side::Requests, ..) => {
            max(&mut largest, &sum(&actuated));
            max(&mut largest, &sum(&allocated));
        }
        (Side::Limits, None, _) => max(&mut largest, &sum(&actuated)),
    }
    largest
}

/// Returns true if the status of a pod can make its sums differ from that of its spec.
fn has_status(pod: &Pod, options: &ResourceOptions) -> bool {
    let statuses = pod.status.containers_and_init();
    pod.status.resources.is_some()
        || is_infeasible(pod, options)
        || statuses.into_iter().any(|it| it.resources.is_some() || it.allocated_resources.is_some())
}

/// Returns true if the kubelet said that it can never do the resize of a pod.
fn is_infeasible(pod: &Pod, options: &ResourceOptions) -> bool {
    let told = match options.resizes_without_conditions {
        true => Some(&pod.status.resize),
        false => {
            let mut conditions = pod.status.conditions.iter();
            conditions.find(|it| it.kind == "PodResizePending").map(|it| &it.reason)
        }
    };
    told.is_some_and(|told| told == "Infeasible")
}

/// Returns one side of the sum of a pod's containers, without pod level and overhead.
pub fn container_total<'p>(pod: &'p Pod, side: Side, options: &ResourceOptions) -> PodTotal<'p> {
    let statuses = options.use_status_resources.then(|| statuses_of(pod));
    let statuses = statuses.as_ref();
    let mut sum = PodTotal::default();
    sum.seen.reserve_exact(pod.spec.containers.len() + pod.spec.init_containers.len());
    for container in &pod.spec.containers {
        let status = statuses.and_then(|all| all.get(&container.name));
        let amounts = container_amounts(pod, container, status, side, options);
        add(&mut sum.total, &amounts);
        sum.seen.push(Seen { container, init: false, amounts, sidecars: 0 });
    }
    let mut at_start = ResourceList::default();
    // Resources of the sidecars since the last init container that is none.
    let mut changed: Vec<ResourceName> = Vec::new();
    let mut sidecars = 0;
    for container in &pod.spec.init_containers {
        let is_sidecar = container.restarts_always();
        let resizable = is_sidecar && !options.resizes_without_conditions;
        let status = statuses.filter(|_| resizable).and_then(|all| all.get(&container.name));
        let amounts = container_amounts(pod, container, status, side, options);
        if is_sidecar {
            sidecars += 1;
            add(&mut sum.total, &amounts);
            add(&mut sum.sidecars, &amounts);
            for (name, _) in amounts.iter() {
                let now = sum.sidecars.get(name).cloned().unwrap_or_default();
                raise(&mut at_start, name, &now);
                sum.sums.entry(name.clone()).or_default().push((sidecars, now));
                changed.push(name.clone());
            }
        } else {
            // What does not change between two init containers makes none of them larger.
            for name in changed.drain(..).filter(|name| !amounts.contains(name)) {
                let running = sum.sidecars.get(&name).cloned().unwrap_or_default();
                raise(&mut sum.at_start, &name, &running);
            }
            for (name, amount) in amounts.iter() {
                let mut needed = amount.clone();
                if let Some(running) = sum.sidecars.get(name) {
                    needed += running;
                }
                raise(&mut at_start, name, &needed);
                raise(&mut sum.at_start, name, &needed);
            }
        }
        sum.seen.push(Seen { container, init: true, amounts, sidecars });
    }
    max(&mut sum.total, &at_start);
    sum
}

/// Keeps the larger amount of one resource; the present one on a tie.
fn raise(list: &mut ResourceList, name: &ResourceName, amount: &Quantity) {
    match list.get_mut(name) {
        Some(largest) => largest.max_with(amount),
        None => list.insert(name.clone(), amount.clone()),
    }
}

/// Returns true if a resource may be set for the pod as a whole.
pub fn is_supported_at_pod_level(name: &ResourceName, skip_hugepages: bool) -> bool {
    match name {
        ResourceName::Cpu | ResourceName::Memory => true,
        ResourceName::Other(_) => !skip_hugepages && name.hugepage_size().is_some(),
    }
}

/// Returns true if a pod has pod-level resources: in either list, or in requests only.
pub fn is_pod_level_set(
    resources: &ResourceRequirements,
    requests_only: bool,
    skip_hugepages: bool,
) -> bool {
    let supported = |list: &ResourceList| {
        list.iter().any(|(name, _)| is_supported_at_pod_level(name, skip_hugepages))
    };
    supported(&resources.requests) || (!requests_only && supported(&resources.limits))
}

/// Returns the requests of one container, before they are added to others.
fn container_amounts<'p>(
    pod: &Pod,
    container: &'p Container,
    status: Option<&ContainerStatus>,
    side: Side,
    options: &ResourceOptions,
) -> Cow<'p, ResourceList> {
    let mut amounts = Cow::Borrowed(side.of(&container.resources));
    if let Some(status) = status
        && let Some(resources) = &status.resources
    {
        let allocated = status.allocated_resources.as_ref();
        amounts = Cow::Owned(with_status(pod, &amounts, resources, allocated, side, options));
    }
    if side == Side::Requests {
        for (name, amount) in options.non_missing_container_requests.iter() {
            if !amounts.contains(name) {
                amounts.to_mut().insert(name.clone(), amount.clone());
            }
        }
    }
    amounts
}

fn pod_level_with_status(
    pod: &Pod,
    resources: &ResourceRequirements,
    side: Side,
    options: &ResourceOptions,
) -> ResourceList {
    match &pod.status.resources {
        Some(status)
            if options.use_status_resources
                && options.in_place_pod_level_resources_vertical_scaling =>
        {
            // Limits that are not in the status count as in the spec, also where the resize can never be done: the
            // kubelet takes a copy of the list, which is none.
            let unknown = side == Side::Limits && side.of(status).is_empty();
            if unknown && is_infeasible(pod, options) && !options.takes_largest_sum {
                return side.of(resources).clone();
            }
            let allocated = pod.status.allocated_resources.as_ref();
            with_status(pod, side.of(resources), status, allocated, side, options)
        }
        _ => side.of(resources).clone(),
    }
}

/// Returns the maximum of the spec's, the actual and the allocated requests.
fn with_status(
    pod: &Pod,
    spec: &ResourceList,
    status: &ResourceRequirements,
    allocated: Option<&ResourceList>,
    side: Side,
    options: &ResourceOptions,
) -> ResourceList {
    let mut amounts =
        if is_infeasible(pod, options) { ResourceList::default() } else { spec.clone() };
    max(&mut amounts, side.of(status));
    let counts = side == Side::Requests && !options.resizes_without_conditions;
    if let Some(allocated) = allocated.filter(|_| counts) {
        max(&mut amounts, allocated);
    }
    amounts
}

/// Returns the statuses by name. The last one wins, as in the map that Kubernetes fills.
fn statuses_of(pod: &Pod) -> ByName<'_, ContainerStatus> {
    ByName::last_of(pod.status.containers_and_init())
}

/// Adds amounts by name.
pub fn add(list: &mut ResourceList, more: &ResourceList) {
    list.merge(more, |sum, amount| *sum += amount);
}

/// Keeps the larger amount by name; the present one on a tie.
pub fn max(list: &mut ResourceList, other: &ResourceList) {
    list.merge(other, Quantity::max_with);
}

/// Returns how much of a resource a pod requests.
pub fn kubelet_request(pod: &Pod, name: &ResourceName, rules: &KubeletRules) -> Quantity {
    kubelet_requests(pod, rules).get(name).cloned().unwrap_or_default()
}

/// Returns how much a pod requests of every resource that it names.
pub fn kubelet_requests(pod: &Pod, rules: &KubeletRules) -> ResourceList {
    let mut requests = if rules.ranks_by_pod_level_resources() {
        let options = ResourceOptions {
            skip_container_level_resources: rules.gates.enabled(Gate::PodLevelResources)
                && has_pod_level_resources(pod),
            exclude_overhead: true,
            ..ResourceOptions::default()
        };
        pod_requests(pod, &options).total
    } else {
        of_containers_alone(pod)
    };
    for (name, overhead) in pod.spec.overhead.iter().flat_map(ResourceList::iter) {
        if let Some(request) = requests.get_mut(name).filter(|request| !request.is_zero()) {
            *request += overhead;
        }
    }
    requests
}

/// Returns true if a pod has a pod-level resource, in requests or limits
/// (`IsPodLevelResourcesSet`, `component-helpers/resource/helpers.go`).
pub fn has_pod_level_resources(pod: &Pod) -> bool {
    pod.spec.resources.as_ref().is_some_and(|resources| is_pod_level_set(resources, false, false))
}

/// The rule before 1.34: the containers, or one init container that requests more; sidecars are init
/// containers like the others.
fn of_containers_alone(pod: &Pod) -> ResourceList {
    let mut requests = ResourceList::default();
    for container in &pod.spec.containers {
        add(&mut requests, &container.resources.requests);
    }
    for container in &pod.spec.init_containers {
        max(&mut requests, &container.resources.requests);
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::KubeletVersion;

    /// Returns the CPU and the memory of a pod with these parts, before 1.37 and since.
    fn with_status_of(spec: &str, status: &str) -> [(String, String); 2] {
        let text = format!(r#"{{"spec": {spec}, "status": {status}}}"#);
        let pod: Pod = serde_json::from_str(&text).expect("a pod");
        [false, true].map(|takes_largest_sum| {
            let options = ResourceOptions {
                use_status_resources: true,
                takes_largest_sum,
                in_place_pod_level_resources_vertical_scaling: true,
                ..ResourceOptions::default()
            };
            let total = pod_requests(&pod, &options).total;
            let of = |name| total.get(&name).map_or_else(String::new, ToString::to_string);
            (of(ResourceName::Cpu), of(ResourceName::Memory))
        })
    }

    #[test]
    fn limits_that_no_status_has_are_those_of_the_spec() {
        let pod = r#"{"spec": {"containers": [{"name": "a"}], "resources": {"limits": {"memory": "256Mi"}}},
            "status": {"resources": {"requests": {"cpu": "1"}},
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}}"#;
        let pod: Pod = serde_json::from_str(pod).expect("a pod");
        let options = ResourceOptions {
            use_status_resources: true,
            in_place_pod_level_resources_vertical_scaling: true,
            ..ResourceOptions::default()
        };
        let total = pod_limits(&pod, &options).total;
        assert_eq!(total.get(&ResourceName::Memory).map(ToString::to_string), Some("256Mi".into()));
    }

    #[test]
    fn the_largest_sum_counts_since_1_37() {
        let spec = r#"{"containers": [
            {"name": "a", "resources": {"requests": {"cpu": "100m"}}},
            {"name": "b", "resources": {"requests": {"cpu": "300m"}}}]}"#;
        let statuses = r#""containerStatuses": [
            {"name": "a", "allocatedResources": {"cpu": "200m"}, "resources": {"requests": {"cpu": "200m"}}},
            {"name": "b", "allocatedResources": {"cpu": "100m"}, "resources": {"requests": {"cpu": "100m"}}}]"#;
        let cpu = |spec: &str, status: &str| with_status_of(spec, status).map(|(cpu, _)| cpu);
        assert_eq!(cpu(spec, "{}"), ["400m", "400m"], "nothing is known but the spec");
        // 200m and 300m; the spec alone is 400m, what is allocated 300m.
        assert_eq!(cpu(spec, &format!("{{{statuses}}}")), ["500m", "400m"]);
        let infeasible = r#""conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]"#;
        assert_eq!(cpu(spec, &format!("{{{statuses}, {infeasible}}}")), ["300m", "300m"]);
        assert_eq!(cpu(spec, &format!("{{{infeasible}}}")), ["400m", ""], "no status at all");
        let of_pod =
            r#""resources": {"requests": {"cpu": "700m"}}, "allocatedResources": {"cpu": "600m"}"#;
        assert_eq!(cpu(spec, &format!("{{{statuses}, {of_pod}}}")), ["500m", "700m"]);
        // Init containers count by their status too, sidecars or not.
        let spec = r#"{"containers": [{"name": "c"}], "initContainers": [
            {"name": "i", "resources": {"requests": {"cpu": "100m"}}}]}"#;
        let status = r#"{"initContainerStatuses": [
            {"name": "i", "allocatedResources": {"cpu": "200m"}}]}"#;
        assert_eq!(cpu(spec, status), ["100m", "200m"]);
    }

    #[test]
    fn the_status_of_a_pod_adds_resources_of_its_own_since_1_37() {
        let spec = r#"{"resources": {"requests": {"cpu": "1"}}, "containers": [
            {"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}}]}"#;
        let status = r#"{"resources": {"requests": {"cpu": "1", "memory": "2Gi"}},
            "allocatedResources": {"cpu": "2", "memory": "2Gi"}}"#;
        let expected = [("2", "1Gi"), ("2", "2Gi")];
        let expected = expected.map(|(cpu, memory)| (cpu.to_owned(), memory.to_owned()));
        assert_eq!(with_status_of(spec, status), expected);
    }

    #[test]
    fn overhead_pod_level_and_sidecars_count_by_version_and_gate() {
        const SIDECAR: &str = r#"{"containers":[{"name":"a","resources":{"requests":{"memory":"2"}}}],
            "initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"memory":"3"}}},
                {"name":"i","resources":{"requests":{"memory":"4"}}}],"overhead":{"memory":"10"}}"#;
        const POD_LEVEL: &str = r#"{"containers":[{"name":"a","resources":{"requests":{"memory":"2","ephemeral-storage":"5"}}}],
            "resources":{"requests":{"memory":"7"}}}"#;
        const LIMITS: &str = r#"{"containers":[{"name":"a","resources":{"requests":{"memory":"2"}}}],
            "resources":{"limits":{"cpu":"1"}},"overhead":{"memory":"10"}}"#;
        const EMPTY: &str = r#"{"containers":[{"name":"a"}],"overhead":{"memory":"10"}}"#;
        // Spec, resource; in 1.32, in the newest, in the newest without the gate.
        let rows = [
            ("sidecars add up", SIDECAR, "memory", [14, 17, 17]),
            ("pod level replaces", POD_LEVEL, "memory", [2, 7, 7]),
            ("pod level hides the rest", POD_LEVEL, "ephemeral-storage", [5, 0, 5]),
            ("pod-level limits hide requests", LIMITS, "memory", [12, 0, 12]),
            ("overhead is not added to nothing", EMPTY, "memory", [0, 0, 0]),
        ];
        let old = KubeletRules::for_version("1.32".parse().unwrap());
        let new = KubeletRules::for_version(KubeletVersion::ASSUMED);
        let off = KubeletRules { gates: new.gates.with(Gate::PodLevelResources, false) };
        for (name, spec, resource, expected) in rows {
            let pod: Pod = serde_json::from_str(&format!(r#"{{"spec":{spec}}}"#)).unwrap();
            let got = [old, new, off]
                .map(|rules| kubelet_request(&pod, &ResourceName::from(resource), &rules).value());
            assert_eq!(got, expected, "{name}");
        }
    }
}
