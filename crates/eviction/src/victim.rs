//! The eviction of one pod: critical pods that stay, the status, and the messages.
//!
//! Mirrors `evictPod` of `pkg/kubelet/eviction/eviction_manager.go`, read in 1.36.2.
//!
//! Messages of an eviction.
//!
//! Mirrors `evictionMessage` of `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

use super::observation::{Observations, unsigned};
use kq_facts::kubelet_config::{EvictionThreshold, StarvedResource};
use kq_facts::stats_summary::{ContainerStats, PodStats};
use kq_k8s::disruption_target::DisruptionTarget;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ByName, Container, Pod, ResourceName};
use kq_k8s::priority::is_critical_pod;
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::resources::has_pod_level_resources;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The reason of events and of the status.
pub const REASON_EVICTED: &str = "Evicted";

/// The grace period of an immediate eviction.
pub const IMMEDIATE_GRACE_SECONDS: i64 = 1;

/// Whether a pod is evicted.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is critical: the kubelet only logs that it cannot evict it, and goes on.
    SparedAsCritical,
    /// It is evicted, also if killing it fails.
    Evicted(Eviction),
}

/// The effect of an eviction: an event of type `Warning` and reason `Evicted`, then the kill, with the phase
/// `Failed` and the reason `Evicted` in the status.
#[derive(Clone, Debug, PartialEq)]
pub struct Eviction {
    /// The grace period, which overrides the pod's own.
    pub grace_seconds: i64,
    /// The message of the event, of the status and of the condition.
    pub message: String,
    /// The annotations of the event; `None` for an eviction that never has any.
    pub annotations: Option<BTreeMap<String, String>>,
    /// The condition that is added to the status, if any.
    pub condition: Option<DisruptionTarget>,
}

/// Decides whether a pod is evicted.
pub fn evict_pod(pod: &Pod, eviction: Eviction) -> Verdict {
    if is_critical_pod(pod) { Verdict::SparedAsCritical } else { Verdict::Evicted(eviction) }
}

/// A message and its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvictionMessage {
    /// The message.
    pub text: String,
    /// The annotations of the event; none for an unmeasured pod.
    pub annotations: BTreeMap<String, String>,
    /// The threshold and the available amount.
    pub threshold: Option<(Quantity, Quantity)>,
    /// The pod, if the message has its own resources, exceeded or not.
    pub pod: Option<Offender>,
    /// The containers that use more than they request.
    pub containers: Vec<Offender>,
}

/// The usage of a pod or container.
#[derive(Clone, Debug, PartialEq)]
pub struct Offender {
    /// The name of the pod or container.
    pub name: String,
    pub usage: Quantity,
    /// Its request; zero without one.
    pub request: Quantity,
}

/// Returns the message of an eviction for a resource.
///
/// The message names the first observed threshold of the resource.
pub fn eviction_message(
    resource: StarvedResource,
    pod: &Pod,
    stats: Option<&PodStats>,
    thresholds: &[EvictionThreshold],
    observations: &Observations,
    rules: &KubeletRules,
) -> EvictionMessage {
    let mut told = EvictionMessage {
        text: format!("The node was low on resource: {resource}. "),
        ..EvictionMessage::default()
    };
    told.threshold = thresholds
        .iter()
        .filter(|threshold| threshold.signal.resource() == resource)
        .find_map(|threshold| Some((threshold, observations.get(&threshold.signal)?)))
        .map(|(threshold, seen)| {
            (threshold.value.quantity(&seen.capacity), seen.available.clone())
        });
    if let Some((quantity, available)) = &told.threshold {
        told.text += &format!("Threshold quantity: {quantity}, available: {available}. ");
    }
    let Some(stats) = stats else { return told };
    let mut annotate = |key: &str, value: String| {
        told.annotations.insert(key.to_owned(), value);
    };
    told.pod = pod_offender(resource, pod, stats, rules);
    if let Some(offender) = &told.pod {
        told.text += &sentence("Pod", offender, resource);
        annotate("offending_pod", offender.name.clone());
        annotate("offending_pod_usage", offender.usage.to_string());
    }
    let containers = ByName::first_of(pod.spec.containers_and_init());
    let offender = |measured| container_offender(resource, &containers, measured);
    told.containers = stats.containers.iter().filter_map(offender).collect();
    for offender in &told.containers {
        told.text += &sentence("Container", offender, resource);
    }
    let list = |text: fn(&Offender) -> String| {
        told.containers.iter().map(text).collect::<Vec<_>>().join(",")
    };
    annotate("offending_containers", list(|offender| offender.name.clone()));
    annotate("offending_containers_usage", list(|offender| offender.usage.to_string()));
    annotate("starved_resource", resource.to_string());
    told
}

fn sentence(kind: &str, offender: &Offender, resource: StarvedResource) -> String {
    let Offender { name, usage, request } = offender;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "{kind} {name} was using {usage}, request is {request}, has larger consumption of \
         {resource}. "
    );
    text
}

/// The pod is named whenever it requests memory of its own, exceeded or not.
fn pod_offender(
    resource: StarvedResource,
    pod: &Pod,
    stats: &PodStats,
    rules: &KubeletRules,
) -> Option<Offender> {
    let told = resource == StarvedResource::Memory
        && rules.ranks_by_pod_level_resources()
        && rules.gates.enabled(Gate::PodLevelResources)
        && has_pod_level_resources(pod);
    let resources = pod.spec.resources.as_ref().filter(|_| told)?;
    let request = resources.requests.get(&ResourceName::Memory)?.clone();
    let memory = stats.memory.as_ref()?;
    let usage = unsigned(memory.working_set_bytes.unwrap_or(0), Format::BinarySi);
    Some(Offender { name: pod.metadata.name.clone(), usage, request })
}

/// Ephemeral containers have no requests; the kubelet does not blame them.
fn container_offender(
    resource: StarvedResource,
    containers: &ByName<'_, Container>,
    measured: &ContainerStats,
) -> Option<Offender> {
    let container = containers.get(&measured.name)?;
    let usage = match resource {
        StarvedResource::Memory => measured.memory.as_ref()?.working_set_bytes?,
        StarvedResource::EphemeralStorage => {
            let rootfs = measured.rootfs.as_ref()?.used_bytes?;
            rootfs.wrapping_add(measured.logs.as_ref()?.used_bytes?)
        }
        StarvedResource::Inodes | StarvedResource::Pids => return None,
    };
    let usage = unsigned(usage, Format::BinarySi);
    let name = ResourceName::from(resource.as_str());
    let request = container.resources.requests.get(&name).cloned().unwrap_or_default();
    (usage.compare(&request) == Ordering::Greater).then(|| Offender {
        name: container.name.clone(),
        usage,
        request,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_k8s::disruption_target::written_to_victim;
    use serde_json::{Value, json};

    #[test]
    fn what_the_kubelet_does_not_write_stays() {
        let ready = json!({"type": "Ready", "status": "True", "observedGeneration": 3});
        let had = |status: &str| {
            json!({"type": "DisruptionTarget", "status": status, "reason": "PreemptionByScheduler",
                "lastTransitionTime": "2026-11-20T11:00:00Z"})
        };
        let condition = DisruptionTarget { message: "m".to_owned(), observed_generation: Some(4) };
        let new = |time: &str| {
            json!({"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
                "message": "m", "observedGeneration": 4, "lastTransitionTime": time})
        };
        let (before, now) = ("2026-11-20T11:00:00Z", "2026-11-20T12:00:00Z");
        for (name, conditions, expected) in [
            ("none", json!(null), json!([new(now)])),
            ("another", json!([ready]), json!([ready, new(now)])),
            ("one that is False", json!([had("False"), ready]), json!([new(now), ready])),
            ("one that is True", json!([had("True"), ready]), json!([new(before), ready])),
        ] {
            let status = json!({
                "phase": "Running", "hostIP": "192.0.2.2", "podIP": "10.0.0.1", "observedGeneration": 3,
                "conditions": conditions,
            });
            let status = status.as_object().expect("an object");
            let written = written_to_victim(status, "Preempting", "p", Some(&condition), Some(now));
            let expected = json!({
                "phase": "Failed", "reason": "Preempting", "message": "p", "hostIP": "192.0.2.2",
                "podIP": "10.0.0.1", "observedGeneration": 3, "conditions": expected,
            });
            assert_eq!(Value::Object(written), expected, "{name}");
        }
    }
}

#[cfg(test)]
mod message_tests {
    use super::*;
    use kq_k8s::version::KubeletVersion;

    #[test]
    fn resources_of_the_pod_are_told_where_the_kubelet_knows_them() {
        let text = r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}],
            "resources":{"requests":{"memory":"2Ki"},"limits":{"cpu":"1"}}}}"#;
        let pod: Pod = serde_json::from_str(text).unwrap();
        let new = KubeletRules::default();
        let off = KubeletRules { gates: new.gates.with(Gate::PodLevelResources, false) };
        let old: KubeletVersion = "1.33".parse().unwrap();
        let old = KubeletRules::for_version(old);
        let old = KubeletRules { gates: old.gates.with(Gate::PodLevelResources, true) };
        let told = "Pod p was using 1Ki, request is 2Ki, has larger consumption of memory. ";
        // Rules, what was measured, what is known of the pod.
        let rows = [
            ("not exceeded and told", new, r#"{"memory":{"workingSetBytes":1024}}"#, told),
            ("not measured", new, "{}", ""),
            ("gate off", off, r#"{"memory":{"workingSetBytes":1024}}"#, ""),
            ("version before", old, r#"{"memory":{"workingSetBytes":1024}}"#, ""),
        ];
        for (name, rules, stats, told) in rows {
            let stats: PodStats = serde_json::from_str(stats).unwrap();
            let memory = StarvedResource::Memory;
            let none = Observations::new();
            let got = eviction_message(memory, &pod, Some(&stats), &[], &none, &rules);
            let expected = format!("The node was low on resource: memory. {told}");
            assert_eq!(got.text, expected, "{name}");
            assert_eq!(got.annotations.contains_key("offending_pod"), !told.is_empty(), "{name}");
        }
    }

    #[test]
    fn usage_is_added_up_and_read_as_the_kubelet_does() {
        let text = r#"{"spec":{"containers":[{"name":"c"},{"name":"c","resources":{"requests":
            {"ephemeral-storage":"100"}}}],"ephemeralContainers":[{"name":"e"}]}}"#;
        let pod: Pod = serde_json::from_str(text).unwrap();
        let stats = |name: &str, rootfs: u64, logs: u64| {
            format!(
                r#"{{"containers":[{{"name":"{name}","rootfs":{{"usedBytes":{rootfs}}},
                "logs":{{"usedBytes":{logs}}}}}]}}"#
            )
        };
        let rows = [
            ("the first container of the name", stats("c", 1, 2), "3"),
            ("ephemeral containers are not blamed", stats("e", 1, 2), ""),
            ("more than fits wraps", stats("c", u64::MAX, 2), "1"),
            ("more than half of what fits is negative", stats("c", 1 << 63, 0), ""),
        ];
        for (name, stats, expected) in rows {
            let stats: PodStats = serde_json::from_str(&stats).unwrap();
            let storage = StarvedResource::EphemeralStorage;
            let (none, rules) = (Observations::new(), KubeletRules::default());
            let got = eviction_message(storage, &pod, Some(&stats), &[], &none, &rules);
            assert_eq!(got.annotations["offending_containers_usage"], expected, "{name}");
        }
    }
}
