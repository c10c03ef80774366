//! Evicting one pod: who is spared, and what is written and told.
//!
//! Mirrors `evictPod` of `pkg/kubelet/eviction/eviction_manager.go`, read in 1.36.2.

use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::Pod;
use crate::k8s::priority::is_critical_pod;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The reason of events and of the status.
pub const REASON_EVICTED: &str = "Evicted";

/// The grace of a pod that has to go at once.
pub const IMMEDIATE_GRACE_SECONDS: i64 = 1;

/// Whether a pod is evicted.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is critical: the kubelet only logs that it cannot evict it, and goes on.
    SparedAsCritical,
    /// It goes. It counts as evicted even if killing it fails.
    Evicted(Eviction),
}

/// What the kubelet does to a pod that goes: an event of type `Warning` and reason `Evicted`, then the
/// kill, with the phase `Failed` and the reason `Evicted` written to the status.
#[derive(Clone, Debug, PartialEq)]
pub struct Eviction {
    /// How long the pod may take, whatever it asked for.
    pub grace_seconds: i64,
    /// The message of the event, of the status and of the condition.
    pub message: String,
    /// The annotations of the event; `None` for one that never has any.
    pub annotations: Option<BTreeMap<String, String>>,
    /// The condition that is added to the status, if any.
    pub condition: Option<DisruptionTarget>,
}

/// The condition `DisruptionTarget`: status `True`, reason `TerminationByKubelet`.
#[derive(Clone, Debug, PartialEq)]
pub struct DisruptionTarget {
    /// The message.
    pub message: String,
    /// The generation that was seen, where the API server counted.
    pub observed_generation: Option<i64>,
}

impl DisruptionTarget {
    /// The type of the condition.
    pub const TYPE: &'static str = "DisruptionTarget";
    /// The reason of the condition.
    pub const REASON: &'static str = "TerminationByKubelet";

    /// Returns the condition for a victim, with the generation of the pod where such a kubelet tells it
    /// (`CalculatePodConditionObservedGeneration`, `pkg/api/v1/pod/util.go`).
    pub fn of(victim: &Pod, message: String, rules: &KubeletRules) -> Self {
        let generation = victim.metadata.generation.filter(|generation| *generation != 0);
        let mut conditions = victim.status.conditions.iter();
        let had_one = conditions
            .any(|it| it.kind == Self::TYPE && it.observed_generation.is_some_and(|had| had != 0));
        let tells = rules.conditions_tell_generation()
            || (had_one && rules.conditions_keep_telling_generation());
        Self { message, observed_generation: generation.filter(|_| tells) }
    }

    /// Puts the condition into a list: in the place of one that is there, whose time stays if it was `True`
    /// (`UpdatePodCondition`, `pkg/api/v1/pod/util.go`).
    fn put_into(&self, conditions: &mut Vec<Value>, now: Option<&str>) {
        let before = conditions.iter_mut().find(|it| it["type"] == Self::TYPE);
        let kept = before.as_ref().filter(|it| it["status"] == "True");
        let time = match kept {
            Some(before) => before.get("lastTransitionTime").cloned(),
            None => now.map(Value::from),
        };
        let mut condition = json!({
            "type": Self::TYPE,
            "status": "True",
            "reason": Self::REASON,
            "message": self.message,
        });
        if let Some(time) = time.filter(|time| !time.is_null()) {
            condition["lastTransitionTime"] = time;
        }
        if let Some(generation) = self.observed_generation {
            condition["observedGeneration"] = generation.into();
        }
        match before {
            Some(before) => *before = condition,
            None => conditions.push(condition),
        }
    }
}

/// Returns the status of a victim as the kubelet writes it when it begins to stop the pod: the phase `Failed`, a reason, a
/// message and the condition. All else stays: addresses, other conditions, the generation that was observed.
///
/// `now` is the time of a new condition; `None` leaves it out. What is sent in the end also has the ends of the
/// containers; where all of them exit with 0, its phase is `Succeeded`, without reason and message (`getPhase`,
/// `pkg/kubelet/kubelet_pods.go`).
pub fn written_to_victim(
    status: &Map<String, Value>,
    reason: &str,
    message: &str,
    condition: Option<&DisruptionTarget>,
    now: Option<&str>,
) -> Map<String, Value> {
    let mut written = status.clone();
    for (field, value) in [("phase", "Failed"), ("reason", reason), ("message", message)] {
        written.insert(field.to_owned(), value.into());
    }
    if let Some(condition) = condition {
        let list = written.entry("conditions").or_insert_with(|| json!([]));
        if list.is_null() {
            *list = json!([]);
        }
        if let Some(list) = list.as_array_mut() {
            condition.put_into(list, now);
        }
    }
    written
}

/// Decides whether a pod is evicted.
pub fn evict_pod(pod: &Pod, eviction: Eviction) -> Verdict {
    if is_critical_pod(pod) { Verdict::SparedAsCritical } else { Verdict::Evicted(eviction) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
