//! The shape of what `kq preempt explain --all-nodes` answers in JSON, written down once more from the
//! outside, as in `contract`.

use super::contract::{Reason, Said};
use super::{folder_with, kq};
use serde::Deserialize;
use serde_json::{Value, json};

/// `kq preempt explain --all-nodes -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterPreemption {
    api_version: String,
    kind: String,
    pod: String,
    critical: Critical,
    summary: Summary,
    nodes: Vec<Node>,
    assumptions: Vec<Said>,
    warnings: Vec<Said>,
    missing: Vec<Said>,
}

#[derive(Debug, Deserialize)]
struct Critical {
    value: bool,
    because: Reason,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    fits: usize,
    preempts: usize,
    not_enough: usize,
    refused: usize,
    missing: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    node: String,
    result: String,
    because: Reason,
    refusals: Vec<Value>,
    requirements: Vec<Amount>,
    not_enough: Vec<Amount>,
    victims: Vec<Victim>,
    cost: Option<Cost>,
    waits_seconds: i64,
    unschedulable: bool,
    ready: Option<bool>,
    kubelet_version: Option<String>,
    assumptions: Vec<Said>,
    warnings: Vec<Said>,
    missing: Vec<Said>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Amount {
    resource: String,
    quantity: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Victim {
    pod: String,
    uid: String,
    qos_class: String,
    priority: Option<i32>,
    gives: Vec<Amount>,
    grace_period_seconds: i64,
    waits_seconds: i64,
    started_at: Option<String>,
    unneeded: bool,
    ties: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    highest_priority: i32,
    sum_of_priorities: i64,
    victims: usize,
    started_at: Option<String>,
}

#[test]
fn an_answer_of_all_nodes_is_as_promised() {
    let list = json!({"cpu": "2", "pods": "10"});
    let node = |name: &str| {
        json!({"kind": "Node", "metadata": {"name": name}, "spec": {"unschedulable": true}, "status": {
            "allocatable": list, "nodeInfo": {"kubeletVersion": "v1.36.2"},
            "conditions": [{"type": "Ready", "status": "False"}],
        }})
    };
    let victim = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "uid": "u"},
        "spec": {"nodeName": "n", "priority": -7, "terminationGracePeriodSeconds": 60, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
        ]},
        "status": {"phase": "Running", "startTime": "2026-11-20T10:00:00Z"},
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"},
        "spec": {"priorityClassName": "system-node-critical", "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}}}
        ]},
    });
    let of =
        |items: &[Value]| json!({"kind": "List", "apiVersion": "v1", "items": items}).to_string();
    let unknown = json!({"kind": "Node", "metadata": {"name": "m"}});
    let folder = folder_with(&[
        ("nodes.json", of(&[unknown, node("n")])),
        ("pods.json", of(&[victim])),
        ("pod.json", pod.to_string()),
    ]);
    let line =
        "preempt explain pod.json --all-nodes --node-file nodes.json --pods pods.json -o json";
    let ran = kq(line).within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    let answer: ClusterPreemption = ran.answer();
    assert_eq!((&*answer.api_version, &*answer.kind), ("kq/v2", "ClusterPreemption"));
    assert_eq!(answer.pod, "default/new");
    assert!(answer.critical.value && answer.critical.because.code == "systemCriticalPriority");
    let Summary { fits, preempts, not_enough, refused, missing } = answer.summary;
    assert_eq!((fits, preempts, not_enough, refused, missing), (0, 1, 0, 0, 1));
    assert!(
        !answer.assumptions.is_empty() && answer.warnings.is_empty() && answer.missing.is_empty()
    );
    let [n, m] = &*answer.nodes else { panic!("{:?}", answer.nodes) };
    assert_eq!((&*n.node, &*n.result, n.waits_seconds), ("n", "preempts", 90));
    assert_eq!(
        (n.unschedulable, n.ready, n.kubelet_version.as_deref()),
        (true, Some(false), Some("v1.36.2"))
    );
    assert!(n.because.code == "kills" && n.refusals.is_empty() && n.not_enough.is_empty());
    assert_eq!(n.requirements, [Amount { resource: "cpu".to_owned(), quantity: 500 }]);
    assert!(n.assumptions.is_empty() && n.warnings.is_empty() && n.missing.is_empty(), "{n:?}");
    let [victim] = &*n.victims else { panic!("{n:?}") };
    assert_eq!((&*victim.pod, &*victim.uid, &*victim.qos_class), ("default/a", "u", "Burstable"));
    assert_eq!(
        (victim.priority, victim.grace_period_seconds, victim.waits_seconds),
        (Some(-7), 60, 90)
    );
    assert_eq!(victim.gives, [Amount { resource: "cpu".to_owned(), quantity: 2000 }]);
    assert_eq!(victim.started_at.as_deref(), Some("2026-11-20T10:00:00Z"));
    assert!(!victim.unneeded && victim.ties.is_empty());
    let cost = n.cost.as_ref().expect("somebody is killed");
    assert_eq!(
        (cost.highest_priority, cost.sum_of_priorities, cost.victims),
        (-7, (1 << 31) - 7, 1)
    );
    assert_eq!(cost.started_at, victim.started_at);
    assert_eq!((&*m.node, &*m.result, m.ready, &m.kubelet_version), ("m", "missing", None, &None));
    assert!(m.because.text.contains("status.allocatable") && m.cost.is_none(), "{m:?}");
}
