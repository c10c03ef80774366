//! How a pod's amount of a resource adds up.

use super::reason::AmountReason;
use kq_k8s::pod::{Pod, ResourceList, ResourceName};
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::resources::{PodTotal, ResourceOptions, add, pod_requests};
use kq_output::units::Precision;

/// The parts of a pod's amounts, added up once for all resources.
pub(super) struct Derivation<'p> {
    pod: &'p Pod,
    /// The containers alone.
    regular: ResourceList,
    /// The sidecars together.
    sidecars: ResourceList,
    /// The maximum of the init containers, each with the sidecars that run with it.
    at_start: ResourceList,
    /// All of these.
    containers: ResourceList,
    /// The same by the spec alone; `None`: the status does not count.
    asked: Option<ResourceList>,
    /// The same with the pod's resource claims.
    claimed: ResourceList,
    /// The same with the pod-level resources.
    whole: ResourceList,
}

impl<'p> Derivation<'p> {
    /// Adds a pod up.
    pub(super) fn of(pod: &'p Pod, options: &ResourceOptions) -> Self {
        let whole = ResourceOptions { exclude_overhead: true, ..options.clone() };
        let claimed = ResourceOptions { skip_pod_level_resources: true, ..whole.clone() };
        let bare = ResourceOptions {
            use_dra_node_allocatable_resource_claim_status: false,
            ..claimed.clone()
        };
        let PodTotal { total, seen, sidecars, at_start, .. } = pod_requests(pod, &bare);
        let mut regular = ResourceList::default();
        for it in seen.iter().filter(|it| !it.init) {
            add(&mut regular, &it.amounts);
        }
        let asked = options.use_status_resources.then(|| {
            let spec_alone = ResourceOptions { use_status_resources: false, ..bare };
            pod_requests(pod, &spec_alone).total
        });
        // Most pods have no claims, and a sum costs more than a copy.
        let claimed = match claimed.use_dra_node_allocatable_resource_claim_status {
            true => pod_requests(pod, &claimed).total,
            false => total.clone(),
        };
        let whole = pod_requests(pod, &whole).total;
        Self { pod, regular, sidecars, at_start, containers: total, asked, claimed, whole }
    }

    /// Returns how an amount adds up. A part is left out where it makes no difference.
    pub(super) fn because(&self, resource: &ResourceName) -> AmountReason {
        let of = |list: &ResourceList| list.get(resource).map_or(0, |it| rounded(resource, it));
        let mut beside = self.regular.get(resource).cloned().unwrap_or_default();
        let sidecars = self.sidecars.get(resource).filter(|amount| !amount.is_zero());
        if let Some(sidecars) = sidecars {
            beside += sidecars;
        }
        let is_more = |needed: &&Quantity| needed.compare(&beside).is_gt();
        let init = self.at_start.get(resource).filter(is_more);
        let (containers, claimed, pod) = (of(&self.containers), of(&self.claimed), of(&self.whole));
        let overhead = self.pod.spec.overhead.as_ref().and_then(|it| it.get(resource));
        AmountReason::Containers {
            containers: self.pod.spec.containers.len(),
            amount: of(&self.regular),
            sidecars: sidecars.map(|amount| rounded(resource, amount)),
            init: init.map(|amount| rounded(resource, amount)),
            spec: self.asked.as_ref().map(of).filter(|spec| *spec != containers),
            claimed: Some(claimed).filter(|claimed| *claimed != containers),
            pod: Some(pod).filter(|pod| *pod != claimed),
            overhead: overhead.map(|amount| rounded(resource, amount)),
            resource: resource.to_string(),
        }
    }
}

/// Returns an amount in the units of the filter.
pub(super) fn rounded(resource: &ResourceName, amount: &Quantity) -> i64 {
    match resource {
        ResourceName::Cpu => amount.milli_value(),
        _ => amount.value(),
    }
}

/// Formats an amount in the units of the filter as users write it, exactly: `250m`, `64Mi`, `3`.
pub fn shown(resource: &ResourceName, amount: i64) -> String {
    written(resource, amount, Precision::Exact)
}

/// Formats an amount in the units of the filter as users write it, bytes shortened: `6.2Gi`.
pub fn written(resource: &ResourceName, amount: i64, amounts: Precision) -> String {
    let name = resource.as_str();
    let is_bytes = matches!(name, "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    match resource {
        ResourceName::Cpu => Quantity::from_milli(amount, Format::DecimalSi).to_string(),
        _ if is_bytes && amounts == Precision::Short => amounts.bytes(amount),
        _ if is_bytes => Quantity::from_units(amount, Format::BinarySi).to_string(),
        _ => amount.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how the CPU of a pod with this spec adds up.
    fn because(spec: &str) -> String {
        let pod: Pod = serde_json::from_str(&format!(r#"{{"spec":{spec}}}"#)).expect("a pod");
        Derivation::of(&pod, &ResourceOptions::default()).because(&ResourceName::Cpu).to_string()
    }

    #[test]
    fn parts_are_named_where_they_make_a_difference() {
        let of = |cpu: &str| format!(r#""resources":{{"requests":{{"cpu":"{cpu}"}}}}"#);
        let main = format!(r#"{{"name":"c",{}}}"#, of("1"));
        let empty = r#"{"name":"c"}"#.to_owned();
        let init = |cpu: &str| format!(r#"{{"name":"i",{}}}"#, of(cpu));
        let sidecar = format!(r#"{{"name":"s","restartPolicy":"Always",{}}}"#, of("1"));
        for (name, containers, init_containers, expected) in [
            ("one", vec![&main], vec![], "container 1"),
            ("two", vec![&main, &empty], vec![], "2 containers 1"),
            (
                "a sidecar is no init container before others",
                vec![&empty],
                vec![&sidecar],
                "container 0 + sidecars 1",
            ),
            ("an init container that needs less", vec![&main], vec![&init("500m")], "container 1"),
            ("as much", vec![&main], vec![&init("1")], "container 1"),
            (
                "more",
                vec![&main],
                vec![&init("2")],
                "container 1; an init container needs 2 before them",
            ),
            (
                "a sidecar that runs beside it",
                vec![&main],
                vec![&sidecar, &init("1500m")],
                "container 1 + sidecars 1; an init container needs 2500m before them",
            ),
            (
                "a sidecar that comes after it",
                vec![&main],
                vec![&init("1500m"), &sidecar],
                "container 1 + sidecars 1",
            ),
        ] {
            let list =
                |all: &[&String]| all.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(",");
            let spec = format!(
                r#"{{"containers":[{}],"initContainers":[{}]}}"#,
                list(&containers),
                list(&init_containers)
            );
            assert_eq!(because(&spec), expected, "{name}");
        }
    }
}
