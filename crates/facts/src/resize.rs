//! The resources of a pod during a resize: those that the kubelet allocated, and those in effect.
//!
//! The kubelet keeps both in files of its own (`allocated_pods_state`, `actuated_pods_state`,
//! `pkg/kubelet/allocation/state`), and reports them in the pod's status, read in 1.36.2.

use crate::checkpoint::pod_allocation::{PodAllocations, Resources, load};
use crate::host::Text;
use crate::workloads::effective_uid;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ByName, Pod, ResourceList, ResourceName, ResourceRequirements};
use std::collections::BTreeMap;

/// The resources of pods by UID, as one of the kubelet's files has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedResources {
    pods: PodAllocations,
    /// There is no such file.
    is_absent: bool,
}

impl RecordedResources {
    /// Reads one of the files; one that is not there holds nothing.
    /// Fails with the reason for a file that cannot be read or understood.
    pub fn parse(text: Option<&Text>) -> Result<Self, String> {
        let text = match text {
            None => return Ok(Self::default()),
            Some(Text::Absent) => return Ok(Self { is_absent: true, ..Self::default() }),
            Some(Text::Unreadable(reason)) => return Err(reason.clone()),
            Some(Text::Read(text)) => text,
        };
        // The contents are useful even if the checksum is wrong, which kq devices verify reports.
        Ok(Self { pods: load(text.as_bytes()).shown?, is_absent: false })
    }

    /// Returns the UIDs of the recorded pods.
    pub fn uids(&self) -> impl Iterator<Item = &str> {
        self.pods.keys().map(String::as_str)
    }

    /// Returns true if a pod is recorded.
    fn knows(&self, pod: &Pod) -> bool {
        self.pods.contains_key(effective_uid(pod))
    }

    /// Puts the recorded amounts into a pod, and returns true if that changes anything
    /// (`updatePodFromAllocation`, `pkg/kubelet/allocation/allocation_manager.go`). What the pod has as a whole
    /// is that of the file alone where it can be resized: one that the file lacks is removed.
    pub fn put_into(&self, pod: &mut Pod, rules: &KubeletRules) -> bool {
        let Some(recorded) = self.pods.get(effective_uid(pod)) else { return false };
        let mut changed = false;
        let spec = &mut pod.spec;
        for container in spec.containers_and_init_mut() {
            if let Some(resources) = recorded.container_resources.get(&container.name) {
                changed |= replace(&mut container.resources, &requirements(resources));
            }
        }
        if rules.gates.enabled(Gate::InPlacePodLevelResourcesVerticalScaling) {
            let recorded = recorded.pod_level_resources.as_ref().map(requirements);
            changed |= spec.resources != recorded;
            spec.resources = recorded;
        }
        changed
    }
}

/// Where it is known from what the kubelet allocated to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The amounts of the spec, or the pod is not being resized.
    AsAsked,
    /// It is something else, from the kubelet's file.
    Recorded,
    /// It is something else, from the pod's status.
    Reported,
    /// A resize is pending, and the amounts until then are unknown.
    Unknown,
}

/// Returns true if the kubelet may have allocated something else to a pod than its spec asks for.
pub fn may_be_allocated(pod: &Pod, recorded: &RecordedResources) -> bool {
    recorded.knows(pod) || is_allocation_reported(pod) || waits_for_resize(pod)
}

fn is_allocation_reported(pod: &Pod) -> bool {
    let statuses = pod.status.containers_and_init();
    pod.status.allocated_resources.is_some()
        || statuses.into_iter().any(|it| it.allocated_resources.is_some())
}

/// Puts into a pod what the kubelet allocated to it, as the kubelet itself does before it counts
/// (`getAllocatedPods`, 1.33 and later): from its file, else from the status.
pub fn put_allocated(
    pod: &mut Pod,
    recorded: &RecordedResources,
    rules: &KubeletRules,
) -> Allocation {
    if recorded.knows(pod) {
        return match recorded.put_into(pod, rules) {
            true => Allocation::Recorded,
            false => Allocation::AsAsked,
        };
    }
    // These kubelets read the file alone.
    if recorded.is_absent && rules.counts_by_allocations() {
        return Allocation::AsAsked;
    }
    let is_known = pod.status.allocated_resources.is_some()
        || pod.status.container_statuses.iter().any(|it| it.allocated_resources.is_some());
    match put_reported(pod) {
        true => Allocation::Reported,
        false if !is_known && waits_for_resize(pod) => Allocation::Unknown,
        false => Allocation::AsAsked,
    }
}

/// The kubelet's word for a resize that waits for room.
const DEFERRED: &str = "Deferred";

/// Returns the condition of a resize that the kubelet has not granted: whether it waits for room, and the kubelet's words.
pub fn pending_resize(pod: &Pod) -> Option<(bool, &str)> {
    let mut conditions = pod.status.conditions.iter();
    let condition = conditions.find(|it| it.kind == "PodResizePending" && it.status != "False");
    match condition {
        Some(condition) => Some((condition.reason == DEFERRED, &condition.message)),
        // Before 1.33, a field has it.
        None => (pod.status.resize == DEFERRED).then_some((true, "")),
    }
}

/// The kubelet's word for a resize that it has granted and could not carry out (`PodReasonError`, `pkg/kubelet/kubelet.go`).
const ERROR: &str = "Error";

/// Returns the kubelet's words about a resize that it has granted and cannot carry out.
pub fn failed_resize(pod: &Pod) -> Option<&str> {
    let mut conditions = pod.status.conditions.iter();
    let fails = conditions
        .find(|it| it.kind == "PodResizeInProgress" && it.status != "False" && it.reason == ERROR);
    fails.map(|it| it.message.as_str())
}

/// Returns true if the kubelet has not granted a resize yet.
fn waits_for_resize(pod: &Pod) -> bool {
    let mut conditions = pod.status.conditions.iter();
    conditions.any(|it| it.kind == "PodResizePending" && it.status != "False")
}

/// Returns true if a resize of a pod is not finished according to its status: a condition, the field of
/// kubelets before 1.33, or an allocation other than the spec.
///
/// `resources` in the status is no evidence where conditions are: the kubelet reads amounts back from the
/// runtime and the kernel, which round them (30m as 40m) and hold overhead
/// (`convertToAPIContainerStatuses`, `pkg/kubelet/kubelet_pods.go`). API servers that count the generations
/// of pods have kubelets that set conditions.
pub fn is_resizing(pod: &Pod) -> bool {
    let status = &pod.status;
    let mut conditions = status.conditions.iter();
    let announced = conditions.any(|it| it.kind.starts_with("PodResize") && it.status != "False");
    let differs = |own: &ResourceRequirements, reported: Reported<'_>| {
        let (allocated, effective) = reported;
        let effective = effective.filter(|_| pod.metadata.generation.is_none());
        is_other(&own.requests, allocated)
            || is_other(&own.requests, effective.map(|it| &it.requests))
            || is_other(&own.limits, effective.map(|it| &it.limits))
    };
    let statuses = status.containers_and_init();
    let statuses = ByName::first_of(statuses);
    let of_container = |name: &str| -> Reported<'_> {
        let status = statuses.get(name);
        let allocated = status.and_then(|status| status.allocated_resources.as_ref());
        (allocated, status.and_then(|status| status.resources.as_ref()))
    };
    let of_pod = (status.allocated_resources.as_ref(), status.resources.as_ref());
    let mut containers = pod.spec.containers_and_init();
    announced
        || !status.resize.is_empty()
        || containers.any(|it| differs(&it.resources, of_container(&it.name)))
        || pod.spec.resources.as_ref().is_some_and(|it| differs(it, of_pod))
}

/// The allocated amounts of a status, and those in effect.
type Reported<'p> = (Option<&'p ResourceList>, Option<&'p ResourceRequirements>);

/// Returns true if the reported amounts of CPU or memory differ from the requested ones.
fn is_other(requested: &ResourceList, reported: Option<&ResourceList>) -> bool {
    let reported = reported.into_iter().flat_map(ResourceList::iter);
    reported.filter(|(name, _)| matches!(name, ResourceName::Cpu | ResourceName::Memory)).any(
        |(name, amount)| {
            requested.get(name).is_some_and(|requested| requested.compare(amount).is_ne())
        },
    )
}

/// The kubelet's records of resizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedResizes {
    /// `allocated_pods_state`
    pub allocated: RecordedResources,
    /// `actuated_pods_state`
    pub actuated: RecordedResources,
}

impl RecordedResizes {
    /// Returns true if a resize of a pod is not finished, by its status or by the files.
    pub fn is_resizing(&self, pod: &Pod, rules: &KubeletRules) -> bool {
        if is_resizing(pod) {
            return true;
        }
        let uid = effective_uid(pod);
        // Without a record of a pod there is nothing to compare, and no copy to make.
        if ![&self.allocated, &self.actuated].iter().any(|it| it.pods.contains_key(uid)) {
            return false;
        }
        let mut allocated = pod.clone();
        self.allocated.put_into(&mut allocated, rules);
        let mut actuated = allocated.clone();
        self.actuated.put_into(&mut actuated, rules);
        differ(pod, &allocated) || differ(&allocated, &actuated)
    }
}

/// Returns true if two states of a pod differ in amounts that can be resized.
fn differ(one: &Pod, other: &Pod) -> bool {
    let differs = |one: &ResourceList, other: &ResourceList| {
        [ResourceName::Cpu, ResourceName::Memory].iter().any(|name| {
            match (one.get(name), other.get(name)) {
                (Some(one), Some(other)) => one.compare(other).is_ne(),
                // A container's share of the pod's resources is recorded as its own.
                _ => false,
            }
        })
    };
    let differ = |one: &ResourceRequirements, other: &ResourceRequirements| {
        differs(&one.requests, &other.requests) || differs(&one.limits, &other.limits)
    };
    let containers = |pod: &Pod| {
        let spec = pod.spec.clone();
        spec.containers.into_iter().chain(spec.init_containers).collect::<Vec<_>>()
    };
    let (own, others) = (containers(one), containers(other));
    let in_containers =
        own.iter().zip(&others).any(|(one, other)| differ(&one.resources, &other.resources));
    let in_pod = one.spec.resources.as_ref().zip(other.spec.resources.as_ref());
    in_containers || in_pod.is_some_and(|(one, other)| differ(one, other))
}

/// Puts the allocated requests of the status into a pod, and returns true if that changes
/// anything.
fn put_reported(pod: &mut Pod) -> bool {
    let statuses = pod.status.containers_and_init();
    let allocated: BTreeMap<&str, Reported<'_>> = statuses
        .map(|status| {
            let reported = (status.allocated_resources.as_ref(), status.resources.as_ref());
            (status.name.as_str(), reported)
        })
        .collect();
    let waits = waits_for_resize(pod);
    let mut changed = false;
    let spec = &mut pod.spec;
    for container in spec.containers_and_init_mut() {
        let Some((Some(allocated), effective)) = allocated.get(container.name.as_str()) else {
            continue;
        };
        changed |= put_requests(&mut container.resources, allocated);
        // Only requests are reported as allocated. Until a resize is granted, the limits are those in effect.
        if let Some(effective) = effective.filter(|_| waits) {
            changed |= put_limits(&mut container.resources, &effective.limits);
        }
    }
    if let (Some(own), Some(allocated)) = (&mut spec.resources, &pod.status.allocated_resources) {
        changed |= put_requests(own, allocated);
    }
    changed
}

/// Puts allocated requests over those of the spec. Only resources of the spec can be resized.
fn put_requests(own: &mut ResourceRequirements, allocated: &ResourceList) -> bool {
    let mut changed = false;
    for (name, amount) in allocated.iter() {
        // The same amount can be written in many ways.
        if own.requests.get(name).is_some_and(|requested| requested.compare(amount).is_ne()) {
            own.requests.insert(name.clone(), amount.clone());
            changed = true;
        }
    }
    changed
}

/// Puts the limits in effect over those of the spec.
fn put_limits(own: &mut ResourceRequirements, effective: &ResourceList) -> bool {
    let mut changed = false;
    for name in [ResourceName::Cpu, ResourceName::Memory] {
        match (own.limits.get(&name), effective.get(&name)) {
            (Some(own), Some(effective)) if own.compare(effective).is_eq() => continue,
            (None, None) => continue,
            (_, Some(limit)) => own.limits.insert(name, limit.clone()),
            (Some(_), None) => drop(own.limits.remove(&name)),
        }
        changed = true;
    }
    changed
}

fn requirements(recorded: &Resources) -> ResourceRequirements {
    ResourceRequirements { requests: recorded.requests.clone(), limits: recorded.limits.clone() }
}

/// Puts the amounts in effect of the status into a pod, and returns true if that changes anything.
pub fn put_effective(pod: &mut Pod) -> bool {
    let statuses = pod.status.containers_and_init();
    let effective: BTreeMap<&str, &ResourceRequirements> = statuses
        .filter_map(|status| Some((status.name.as_str(), status.resources.as_ref()?)))
        .collect();
    let mut changed = false;
    let spec = &mut pod.spec;
    for container in spec.containers_and_init_mut() {
        if let Some(resources) = effective.get(container.name.as_str()) {
            changed |= replace(&mut container.resources, resources);
        }
    }
    if let (Some(own), Some(effective)) = (&mut spec.resources, &pod.status.resources) {
        changed |= replace(own, effective);
    }
    changed
}

fn replace(own: &mut ResourceRequirements, other: &ResourceRequirements) -> bool {
    let differs = own != other;
    if differs {
        own.clone_from(other);
    }
    differs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;
    use serde_json::json;

    /// Returns a pod that wants 2 CPUs and has one.
    fn resized() -> Pod {
        let status = json!({"name": "c", "resources": {"requests": {"cpu": "1"}}});
        objects::pod("u1").requests("cpu=2").statuses(json!([status])).read()
    }

    fn cpu(pod: &Pod) -> String {
        let requests = &pod.spec.containers[0].resources.requests;
        requests.get(&"cpu".into()).map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn what_was_before_is_found_in_files_and_status() {
        let data = r#"{"entries":{"u1":{"ContainerResources":{"c":{"requests":{"cpu":"500m"}}},"PodLevelResources":null}}}"#;
        let file = serde_json::json!({ "data": data, "checksum": 1 }).to_string();
        let recorded = RecordedResources::parse(Some(&Text::Read(file))).expect("a file");
        let mut allocated = resized();
        let rules = KubeletRules::default();
        assert!(recorded.put_into(&mut allocated, &rules));
        assert_eq!(cpu(&allocated), "500m");
        assert!(!recorded.put_into(&mut allocated, &rules), "a second time changes nothing");
        let mut effective = resized();
        assert!(put_effective(&mut effective));
        assert_eq!(cpu(&effective), "1");
    }

    #[test]
    fn a_pod_is_being_resized_where_the_kubelet_says_so() {
        let (announced, ended) = ("PodResizeInProgress=True", "PodResizeInProgress=False");
        let nothing = json!({"name": "c"});
        let read_back = json!({"name": "c", "resources": {"requests": {"cpu": "40m"}}});
        let granted = json!({"name": "c", "allocatedResources": {"cpu": "20m"}});
        let same = json!({"name": "c", "allocatedResources": {"cpu": "0.03"}});
        for (name, generation, status, conditions, file, expected) in [
            ("at rest", Some(1), &nothing, "", "30m", false),
            ("read back otherwise", Some(1), &read_back, "", "30m", false),
            ("read back otherwise, some generation", Some(2), &read_back, "", "30m", false),
            ("before conditions", None, &read_back, "", "30m", true),
            ("announced", Some(2), &read_back, announced, "30m", true),
            ("not any more", Some(2), &read_back, ended, "30m", false),
            ("not granted", Some(2), &granted, "", "30m", true),
            ("granted, written otherwise", Some(2), &same, "", "30m", false),
            ("not granted by the file", Some(2), &nothing, "", "20m", true),
        ] {
            let pod = objects::pod("u1").requests("cpu=30m").conditions(conditions);
            let pod = pod.set("/metadata/generation", generation);
            let pod: Pod = pod.statuses(json!([status])).read();
            let data = format!(
                r#"{{"entries":{{"u1":{{"ContainerResources":{{"c":{{"requests":{{"cpu":"{file}"}}}}}}}}}}}}"#
            );
            let file = serde_json::json!({ "data": data, "checksum": 1 }).to_string();
            let allocated = RecordedResources::parse(Some(&Text::Read(file))).expect("a file");
            let recorded = RecordedResizes { allocated, ..RecordedResizes::default() };
            assert_eq!(recorded.is_resizing(&pod, &KubeletRules::default()), expected, "{name}");
        }
    }

    #[test]
    fn the_kubelet_counts_with_what_it_allocated() {
        let recorded =
            r#"{"entries":{"u1":{"ContainerResources":{"c":{"requests":{"cpu":"500m"}}}}}}"#;
        let file = serde_json::json!({ "data": recorded, "checksum": 1 }).to_string();
        let recorded = RecordedResources::parse(Some(&Text::Read(file))).expect("a file");
        let nothing = RecordedResources::default();
        let reported = |cpu: &str| {
            let mut pod = resized();
            let text = format!(r#"{{"cpu":"{cpu}","example.com/x":"1"}}"#);
            let list = serde_json::from_str(&text).expect("a list");
            pod.status.container_statuses[0].allocated_resources = Some(list);
            pod
        };
        let pending = |mut pod: Pod| {
            let condition = r#"{"type":"PodResizePending","status":"True","reason":"Deferred"}"#;
            pod.status.conditions.push(serde_json::from_str(condition).expect("a condition"));
            pod
        };
        for (name, mut pod, recorded, expected, cpus) in [
            ("no resize", resized(), &nothing, Allocation::AsAsked, "2"),
            ("in the file", pending(reported("1")), &recorded, Allocation::Recorded, "500m"),
            ("in the status", pending(reported("1")), &nothing, Allocation::Reported, "1"),
            ("the same", reported("2"), &nothing, Allocation::AsAsked, "2"),
            ("the same, written otherwise", reported("2000m"), &nothing, Allocation::AsAsked, "2"),
            (
                "granted and not wanted any more",
                pending(reported("2")),
                &nothing,
                Allocation::AsAsked,
                "2",
            ),
            ("nobody says", pending(resized()), &nothing, Allocation::Unknown, "2"),
        ] {
            let rules = KubeletRules::default();
            assert_eq!(put_allocated(&mut pod, recorded, &rules), expected, "{name}");
            assert_eq!(cpu(&pod), cpus, "{name}");
            assert_eq!(pod.spec.containers[0].resources.requests.iter().count(), 1, "{name}");
        }
    }

    #[test]
    fn what_the_pod_has_as_a_whole_goes_by_the_file() {
        let data = |level: &str| {
            let data = format!(
                r#"{{"entries":{{"u1":{{"ContainerResources":{{}},"PodLevelResources":{level}}}}}}}"#
            );
            let file = serde_json::json!({ "data": data, "checksum": 1 }).to_string();
            RecordedResources::parse(Some(&Text::Read(file))).expect("a file")
        };
        // Version, what the file has, what the pod has then.
        for (version, level, expected) in [
            ("1.36", "null", None),
            ("1.36", r#"{"requests":{"cpu":"1"}}"#, Some("1")),
            ("1.34", "null", Some("3")),
            ("1.34", r#"{"requests":{"cpu":"1"}}"#, Some("3")),
        ] {
            let mut pod = resized();
            let own = r#"{"requests":{"cpu":"3"}}"#;
            pod.spec.resources = serde_json::from_str(own).expect("resources");
            let rules = KubeletRules::for_version(version.parse().expect("a version"));
            data(level).put_into(&mut pod, &rules);
            let cpu = pod.spec.resources.as_ref().and_then(|it| it.requests.get(&"cpu".into()));
            assert_eq!(cpu.map(ToString::to_string).as_deref(), expected, "{version} {level}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_empty_file() {
        let read = |text: &str| RecordedResources::parse(Some(&Text::Read(text.to_owned())));
        assert_eq!(RecordedResources::parse(None), Ok(RecordedResources::default()));
        let absent = RecordedResources { is_absent: true, ..RecordedResources::default() };
        assert_eq!(RecordedResources::parse(Some(&Text::Absent)), Ok(absent));
        assert!(read("{}").is_err() && read(r#"{"data":"{"}"#).is_err());
        assert_eq!(
            RecordedResources::parse(Some(&Text::Unreadable("permission denied".to_owned()))),
            Err("permission denied".to_owned())
        );
    }
}
