//! The events of the node's pods in a snapshot: bounded, and used as on the node.

use super::kq;
use super::made_up_node::{self as made_up, Kernel, Node, WEB};
use super::sources::Api;
use crate::edges::http_server::{answer, json as said};
use serde_json::{Value, json};

/// An event about the pod, by its kubelet; a later one has a greater number.
fn event(number: usize, reason: &str, message: &str) -> Value {
    let at = format!("2026-11-20T11:{:02}:{:02}Z", number / 60, number % 60);
    json!({
        "kind": "Event",
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": WEB},
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": made_up::NAME},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 2,
    })
}

/// An API server with events about the pod, about one of another node, and about a Node.
fn server(events: impl Into<Option<Vec<Value>>>) -> Api {
    let list = |items: Vec<Value>| {
        said(
            &json!({"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": items})
                .to_string(),
        )
    };
    let events = events.into().map(|mut events: Vec<Value>| {
        let mut other = event(59, "Pulled", "of another node");
        other["involvedObject"]["name"] = json!("elsewhere");
        other["source"]["host"] = json!("worker-2");
        let mut node = event(59, "NodeReady", "not of a pod");
        node["involvedObject"] = json!({"kind": "Node", "name": made_up::NAME});
        events.extend([other, node]);
        list(events)
    });
    let (node, pods) =
        (said(&made_up::node_object().to_string()), said(&made_up::pods().to_string()));
    Api::server(move |path| match path {
        path if path.starts_with("/api/v1/nodes/") => node.clone(),
        path if path.starts_with("/api/v1/pods") => pods.clone(),
        path if path.contains("/namespaces/shop/events?") => match &events {
            Some(events) => events.clone(),
            None => answer(
                "403 Forbidden",
                &["Content-Type: application/json"],
                r#"{"kind":"Status","message":"events is forbidden","reason":"Forbidden"}"#,
            ),
        },
        path if path.contains("/events?") => list(Vec::new()),
        _ => answer("404 Not Found", &[], ""),
    })
}

/// Stores a node and returns the file.
#[track_caller]
fn store(node: &Node, api: &Api) -> String {
    let file = node.beside().join("node.json").display().to_string();
    let flags = api.kubeconfig_flags(node);
    let ran =
        kq(&format!("snapshot -o {file} --host-root {} {flags}", node.root().display())).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    file
}

#[track_caller]
fn stored(file: &str) -> Value {
    let text = std::fs::read_to_string(file).expect("it was stored");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn the_newest_events_of_the_pods_are_stored() {
    let node = Node::new(Kernel::V2);
    let mut events: Vec<Value> =
        (0..40).map(|number| event(number, "BackOff", &format!("number {number}"))).collect();
    events.push(event(50, "Failed", &"x".repeat(5000)));
    let found = stored(&store(&node, &server(events)));
    let kept = found["events"]["found"]["value"].as_array().expect("events");
    assert_eq!(kept.len(), 20);
    assert_eq!(kept[0]["message"].as_str().map(str::len), Some(1024 + 4));
    assert_eq!(kept[1]["message"], "number 39");
    assert_eq!(kept[19]["message"], "number 21");
    assert!(kept.iter().all(|event| event["pod"]["name"] == "web"), "{kept:?}");
}

#[test]
fn the_page_of_a_pod_has_its_events_from_a_snapshot_as_on_the_node() {
    let node = Node::new(Kernel::V2);
    let events = (0..9)
        .map(|number| event(number, "Unhealthy", "\u{1b}[31mred\u{1b}[0m"))
        .collect::<Vec<_>>();
    let api = server(events);
    let file = store(&node, &api);
    let flags = api.kubeconfig_flags(&node);
    let live = kq(&format!("doctor shop/web --host-root {} {flags}", node.root().display())).run();
    let of_file = kq(&format!("doctor shop/web --snapshot {file}")).run();
    for ran in [&live, &of_file] {
        let rows = ran.stdout.lines().filter(|line| line.starts_with("event "));
        assert_eq!(rows.count(), 5, "{}", ran.text());
        assert!(ran.stdout.contains("2 times, 2026-11-20T11:00:08Z, kubelet"), "{}", ran.stdout);
        assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    }
    // The checks of the node need them too: they show the kills for a probe.
    let checks = kq(&format!("doctor -v --snapshot {file}")).run();
    assert!(checks.stderr.contains("source: events: "), "{}", checks.stderr);
}

#[test]
fn why_a_pod_was_killed_is_told_by_a_snapshot() {
    let node = Node::new(Kernel::V2);
    let message = "Preempted in order to admit critical pod";
    let api = server(vec![event(7, "Preempting", message)]);
    let file = store(&node, &api);
    let ran = kq(&format!("preempt why shop/web --snapshot {file} -o json")).run();
    assert!(ran.stdout.contains(message), "{}", ran.text());
    assert!(!ran.stdout.contains("the snapshot has none"), "{}", ran.stdout);
}

#[test]
fn events_that_may_not_be_listed_are_a_failed_source() {
    let node = Node::new(Kernel::V2);
    let api = server(None);
    let file = store(&node, &api);
    let found = stored(&file);
    assert_eq!(found["events"]["found"], Value::Null);
    let tried = found["events"]["tried"][0]["reason"].as_str().expect("a reason");
    assert!(tried.contains("events is forbidden"), "{tried}");
    // The rest is there.
    assert_eq!(found["pods"]["found"]["value"]["source"], "apiServer");
    let ran = kq(&format!("preempt why shop/web -v --snapshot {file}")).run();
    assert!(ran.text().contains("events is forbidden"), "{}", ran.text());
}
