//! Attempts, what they come to, and the event about it.

use super::probe_input::{attempts, probe_type, rules};
use crate::objects;
use kq_k8s::pod::{Pod, Probe};
use kq_probe::{Conclusion, Verdict, unusable};
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let kind = probe_type(&case["probe_type"]);
    let given = attempts(&case["attempts"]);
    let made_up = case.get("attempts").is_none();
    let conclusion = if made_up {
        let probe: Option<Probe> =
            serde_json::from_value(case["probe"].clone()).expect("a probe, or null");
        match probe {
            None => Conclusion::without_probe(),
            Some(probe) => {
                // The pod of the cases that have none.
                let pod: Pod = objects::pod("default/web").uid("1234").read();
                let attempt = unusable(&probe, &pod.metadata, &pod.spec.containers[0]);
                let attempt = attempt.expect("no usable handler");
                Conclusion::of_repeating(kind, &[attempt], rules(case))
            }
        }
    } else {
        Conclusion::of_repeating(kind, &given, rules(case))
    };
    let event = conclusion.event.as_ref().map(|event| {
        json!({
            "type": event.event_type,
            "reason": event.reason,
            "message": event.message,
        })
    });
    let mut out = json!({
        "result": if conclusion.result == Verdict::Success { "Success" } else { "Failure" },
        "error": conclusion.error,
        "result_is_used_by_worker": conclusion.is_used_by_worker(),
        "events": event.into_iter().collect::<Vec<_>>(),
    });
    if !made_up {
        out["attempts_made"] = conclusion.attempts.len().into();
    }
    out
}
