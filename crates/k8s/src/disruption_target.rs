//! The condition `DisruptionTarget`, which a pod gets that the kubelet evicts or preempts.

use crate::kubelet_rules::KubeletRules;
use crate::pod::Pod;
use serde_json::{Map, Value, json};

/// The condition `DisruptionTarget`: status `True`, reason `TerminationByKubelet`.
#[derive(Clone, Debug, PartialEq)]
pub struct DisruptionTarget {
    pub message: String,
    /// The observed generation, where the API server counts generations.
    pub observed_generation: Option<i64>,
}

impl DisruptionTarget {
    /// The type of the condition.
    pub const TYPE: &'static str = "DisruptionTarget";
    /// The reason of the condition.
    pub const REASON: &'static str = "TerminationByKubelet";

    /// Returns the condition for a victim, with the generation of the pod where the kubelet sets it
    /// (`CalculatePodConditionObservedGeneration`, `pkg/api/v1/pod/util.go`).
    pub fn of(victim: &Pod, message: String, rules: &KubeletRules) -> Self {
        let generation = victim.metadata.generation.filter(|generation| *generation != 0);
        let mut conditions = victim.status.conditions.iter();
        let had_one = conditions
            .any(|it| it.kind == Self::TYPE && it.observed_generation.is_some_and(|had| had != 0));
        let tells =
            rules.conditions_have_generation() || (had_one && rules.conditions_keep_generation());
        Self { message, observed_generation: generation.filter(|_| tells) }
    }

    /// Puts the condition into a list, replacing an existing one, whose time stays if it was `True`
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
/// message and the condition. The rest stays: addresses, other conditions, the observed generation.
///
/// `now` is the time of a new condition; `None` leaves it out. The final status also has the containers' ends; where
/// all of them exit with 0, its phase is `Succeeded`, without reason and message (`getPhase`,
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
