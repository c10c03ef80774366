//! What is left of pods, and the answers about them.

mod causes;
mod preemptors;
mod sequel;
mod subjects;

use super::*;
use crate::facts::events::read_events;
use crate::objects;
use serde_json::{Value, json};

fn pod(name: &str, change: impl FnOnce(&mut Value)) -> Pod {
    let pod = objects::pod(&format!("shop/{name}")).on("n1").priority(100);
    let pod = pod.set("/metadata/uid", format!("uid-{name}"));
    let mut pod = pod.set("/status/startTime", "2026-11-20T10:00:00Z").json();
    change(&mut pod);
    serde_json::from_value(pod).expect("a pod")
}

fn ended(reason: &str, message: &str) -> impl FnOnce(&mut Value) {
    move |pod| pod["status"] = json!({"phase": "Failed", "reason": reason, "message": message})
}

fn disrupted(reason: &str, message: &str) -> impl FnOnce(&mut Value) {
    move |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2026-11-20T11:00:30Z");
        pod["status"]["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": "2026-11-20T11:00:00Z",
        }]);
    }
}

fn event(uid: &str, reporter: &str, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Event", "reason": reason, "message": message, "source": {"component": reporter},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": uid},
        "lastTimestamp": "2026-11-20T11:00:00Z",
    })
}

fn events(items: Vec<Value>) -> Vec<PodEvent> {
    read_events(objects::list(items).to_string().as_bytes()).expect("events")
}

fn ask(pods: &[Pod], events: Option<&[PodEvent]>, log: Option<&str>) -> PreemptionCause {
    let log = log.map(|text| KubeletLog::read(text.as_bytes()).expect("a log"));
    let traces = Traces {
        pods: Ok(pods.iter().collect()),
        events: events.ok_or_else(|| "nobody asked".to_owned()),
        log: log.as_ref(),
        now: "2026-11-20T12:00:00Z".parse().expect("a time"),
        are_current: true,
    };
    why_killed(&PodSelector::new("shop/web"), &traces, Basis::default()).expect("an answer")
}

/// The names of the preemptors of a pod, and their certainty.
fn for_whom(answer: &PreemptionCause) -> Vec<(&str, Certainty)> {
    answer.preemptors.iter().map(|it| (it.pod.as_deref().unwrap_or("?"), it.certainty)).collect()
}
