//! Pods that the kubelet admits while the node is under pressure.
//!
//! Mirrors `Admit` of `pkg/kubelet/eviction/eviction_manager.go`, read in 1.36.2.

use super::victim::REASON_EVICTED;
use kq_facts::kubelet_config::PressureCondition;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, Taint, TaintRules};
use kq_k8s::priority::is_critical_pod;
use kq_k8s::qos::{QosClass, recorded_qos_class};
use std::fmt;

/// Whether a pod is admitted, and why.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// The node reports no pressure.
    NoPressure,
    /// Critical pods always are.
    Critical,
    /// Only memory is short, and the pod is of a class that requests some, or of an unknown class.
    RequestsMemory(Option<QosClass>),
    /// Only memory is short, and the pod tolerates the taint.
    ToleratesMemoryPressure,
    Refused(Vec<PressureCondition>),
}

impl Admission {
    /// Returns true if the pod is admitted.
    pub fn admitted(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }

    /// Returns every message that the kubelet may write, since it has the conditions in a hash map
    /// (`nodeConditionsObservedSince`, `helpers.go`); nothing for an admitted pod.
    pub fn messages(&self) -> Vec<String> {
        let Self::Refused(conditions) = self else { return Vec::new() };
        orders(conditions).iter().map(|conditions| message(conditions)).collect()
    }

    /// Returns the reason in the pod's status; empty for an admitted pod.
    pub fn reason(&self) -> &'static str {
        if self.admitted() { "" } else { REASON_EVICTED }
    }
}

impl fmt::Display for Admission {
    /// Writes the kubelet's message; nothing for an admitted pod.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Refused(conditions) = self else { return Ok(()) };
        f.write_str(&message(conditions))
    }
}

fn message(conditions: &[PressureCondition]) -> String {
    let texts: Vec<&str> = conditions.iter().map(|condition| condition.as_str()).collect();
    format!("The node had condition: [{}]. ", texts.join(" "))
}

/// Returns every order of conditions.
fn orders(conditions: &[PressureCondition]) -> Vec<Vec<PressureCondition>> {
    if conditions.is_empty() {
        return vec![Vec::new()];
    }
    let starting_with = |(at, first): (usize, &PressureCondition)| {
        let mut others = conditions.to_vec();
        others.remove(at);
        let rests = orders(&others).into_iter();
        rests.map(|rest| [vec![*first], rest].concat()).collect::<Vec<_>>()
    };
    conditions.iter().enumerate().flat_map(starting_with).collect()
}

/// Decides whether a pod is admitted under the node's conditions, which are in the kubelet's order.
pub fn admit_under_pressure(
    conditions: &[PressureCondition],
    pod: &Pod,
    rules: &KubeletRules,
) -> Admission {
    if conditions.is_empty() {
        return Admission::NoPressure;
    }
    if is_critical_pod(pod) {
        return Admission::Critical;
    }
    if conditions == [PressureCondition::Memory] {
        let class = recorded_qos_class(pod, rules.gates);
        if class != Some(QosClass::BestEffort) {
            return Admission::RequestsMemory(class);
        }
        // The taint has no value to compare, so the numeric operators cannot matter.
        let taint =
            Taint { key: "node.kubernetes.io/memory-pressure", value: "", effect: "NoSchedule" };
        if pod.spec.tolerations.iter().any(|have| have.tolerates(&taint, TaintRules::default())) {
            return Admission::ToleratesMemoryPressure;
        }
    }
    Admission::Refused(conditions.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use PressureCondition::{Disk, Memory, Pid};

    #[test]
    fn the_order_of_conditions_is_left_to_chance() {
        let refused = Admission::Refused(vec![Disk, Memory, Pid]);
        let mut messages = refused.messages();
        assert_eq!(messages.len(), 6);
        assert_eq!(
            messages[0],
            "The node had condition: [DiskPressure MemoryPressure PIDPressure]. "
        );
        assert_eq!(
            messages[5],
            "The node had condition: [PIDPressure MemoryPressure DiskPressure]. "
        );
        messages.sort();
        messages.dedup();
        assert_eq!(messages.len(), 6, "each is another one");
        assert_eq!(Admission::NoPressure.messages(), Vec::<String>::new());
    }

    #[test]
    fn what_is_short_decides_who_may_start() {
        const BEARS: &str = r#""tolerations":[{"key":"node.kubernetes.io/memory-pressure","operator":"Exists","effect":"NoSchedule"}]"#;
        const ASKS: &str = r#""containers":[{"name":"c","resources":{"requests":{"cpu":"1m"}}}]"#;
        let refused = |conditions: &[PressureCondition]| Admission::Refused(conditions.to_vec());
        // Conditions, spec, answer, message.
        let rows: [(&str, &[PressureCondition], &str, Admission, &str); 8] = [
            ("nothing", &[], "", Admission::NoPressure, ""),
            ("critical", &[Disk, Pid], r#""priority":2000000000"#, Admission::Critical, ""),
            ("asks", &[Memory], ASKS, Admission::RequestsMemory(Some(QosClass::Burstable)), ""),
            ("bears", &[Memory], BEARS, Admission::ToleratesMemoryPressure, ""),
            (
                "asks for nothing",
                &[Memory],
                "",
                refused(&[Memory]),
                "The node had condition: [MemoryPressure]. ",
            ),
            (
                "memory is not alone",
                &[Memory, Disk],
                ASKS,
                refused(&[Memory, Disk]),
                "The node had condition: [MemoryPressure DiskPressure]. ",
            ),
            (
                "bears something else",
                &[Pid],
                BEARS,
                refused(&[Pid]),
                "The node had condition: [PIDPressure]. ",
            ),
            (
                "named twice is not alone",
                &[Memory, Memory],
                ASKS,
                refused(&[Memory, Memory]),
                "The node had condition: [MemoryPressure MemoryPressure]. ",
            ),
        ];
        for (name, conditions, spec, expected, message) in rows {
            let pod: Pod = serde_json::from_str(&format!(r#"{{"spec":{{{spec}}}}}"#)).unwrap();
            let got = admit_under_pressure(conditions, &pod, &KubeletRules::default());
            assert_eq!(got.to_string(), message, "{name}");
            assert!(message.is_empty() || got.messages().contains(&got.to_string()), "{name}");
            assert_eq!(got.reason(), if message.is_empty() { "" } else { "Evicted" }, "{name}");
            assert_eq!(got, expected, "{name}");
        }
    }
}
