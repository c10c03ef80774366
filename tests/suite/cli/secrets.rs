//! What kq shows and stores has no secrets of pods, and no credentials that kq sent.

use super::made_up_node::{self as made_up, Kernel, Node};
#[cfg(feature = "apiserver")]
use super::made_up_node::{NAME, WEB};
use super::report::embedded;
use super::sources::Api;
use super::{Ran, kq};
#[cfg(feature = "apiserver")]
use crate::edges::http_server::{answer, json as said};
use serde_json::{Value, json};
use std::fs;
#[cfg(feature = "apiserver")]
use std::path::Path;

/// No secret contains another word of the node.
const SECRET: &str = "hunter2";

/// Returns pods whose probes have secrets in every part.
fn probed_pods() -> Value {
    let mut list = made_up::pods();
    let web = &mut list["items"][0];
    web["status"]["podIP"] = json!("10.0.0.9");
    web["status"]["conditions"] = json!([{
        "type": "Ready", "status": "False", "message": "http://10.0.0.9/ready?key=hunter2-query",
    }]);
    web["status"]["message"] = json!("see https://me:hunter2-user@example.com/");
    let container = &mut web["spec"]["containers"][0];
    container["env"] = json!([{"name": "PW", "value": "hunter2-variable"}]);
    container["startupProbe"] =
        json!({"exec": {"command": ["/bin/hunter2-check", "--token=hunter2-argument", "$(PW)"]}});
    container["livenessProbe"] =
        json!({"httpGet": {"port": 80, "path": "/live?key=hunter2-query"}});
    container["readinessProbe"] = json!({"httpGet": {
        "port": 80,
        "path": "/ready",
        "httpHeaders": [{"name": "Authorization", "value": "Bearer hunter2-header"}],
    }});
    list
}

/// Returns events that quote what the kubelet and the runtime had of those probes.
#[cfg(feature = "apiserver")]
fn events() -> Value {
    let event = |second: usize, reason: &str, message: &str| {
        let at = format!("2026-11-20T11:00:{second:02}Z");
        json!({
            "kind": "Event",
            "involvedObject": {
                "kind": "Pod", "namespace": "shop", "name": "web", "uid": WEB,
                "fieldPath": "spec.containers{app}",
            },
            "reason": reason,
            "message": message,
            "source": {"component": "kubelet", "host": NAME},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 2,
        })
    };
    json!({"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": [
        event(1, "Unhealthy", "Liveness probe failed: Get \"http://10.0.0.9:80/live?key=hunter2-query\": dial tcp"),
        event(2, "Unhealthy", "Startup probe errored: exec: \"/bin/hunter2-check\": hunter2-argument hunter2-variable"),
        event(3, "Unhealthy", "Readiness probe failed: denied to hunter2-header"),
        event(4, "FailedPostStartHook", "Exec lifecycle hook ([sh -c hunter2-hook]) for Container \"app\" in Pod \
            \"web\" failed - error: x, message: \"hunter2-output\""),
    ]})
}

/// Starts an API server with a node, pods and events.
#[cfg(feature = "apiserver")]
fn server(node: &Value, pods: &Value, events: &Value) -> Api {
    let (node, pods, events) =
        (said(&node.to_string()), said(&pods.to_string()), said(&events.to_string()));
    let none = json!({"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": []});
    let none = said(&none.to_string());
    Api::server(move |path| match path {
        path if path.starts_with("/api/v1/nodes/") => node.clone(),
        path if path.starts_with("/api/v1/pods") => pods.clone(),
        path if path.contains("/namespaces/shop/events?") => events.clone(),
        path if path.contains("/events?") => none.clone(),
        _ => answer("404 Not Found", &[], ""),
    })
}

#[track_caller]
fn has_none(name: &str, text: &str, secret: &str) {
    let found = text.match_indices(secret).next();
    let around = |at: usize| -> String {
        text.char_indices()
            .filter(|(here, _)| (at.saturating_sub(200)..at + 80).contains(here))
            .map(|(_, c)| c)
            .collect()
    };
    assert_eq!(found.map(|(at, _)| around(at)), None, "{name}");
}

/// Runs a command on the live node.
#[track_caller]
fn live(node: &Node, flags: &str, line: &str) -> Ran {
    kq(&format!("{line} --host-root {} {flags}", node.root().display())).run()
}

/// Writes a page and a snapshot of a node; neither has a secret, and the page says what that of the snapshot says.
#[track_caller]
fn page_is_that_of_the_snapshot(name: &str, node: &Node, flags: &str) {
    let file = |file: &str| node.beside().join(file).display().to_string();
    let (page, stored) = (file("page.html"), file("node.json"));
    let ran = live(node, flags, &format!("report --with-snapshot -o {page}"));
    assert!(matches!(ran.code, 0 | 3), "{name}: {}", ran.text());
    has_none(name, &ran.text(), SECRET);
    let ran = live(node, flags, &format!("snapshot -o {stored}"));
    assert!(matches!(ran.code, 0 | 3), "{name}: {}", ran.text());
    let of_file = kq(&format!("report --snapshot {stored}")).run();
    let text = fs::read_to_string(&page).expect("the page was written");
    has_none(name, &text, SECRET);
    has_none(name, &fs::read_to_string(&stored).expect("it was stored"), SECRET);
    has_none(name, &of_file.stdout, SECRET);
    let of_page = kq(&format!("snapshot --snapshot {page}")).run();
    has_none(name, &of_page.text(), SECRET);
    let probes = embedded(&text, "probes");
    assert_eq!(probes["missing"].as_array().map(Vec::len), Some(3), "{name}: {probes}");
    assert_eq!(probes, embedded(&of_file.stdout, "probes"), "{name}");
    // The command of the operator shows the operator's pods as they are.
    let plan = live(node, flags, "probe plan shop/web").text();
    assert!(plan.contains("hunter2-query"), "{name}: {plan}");
}

#[test]
fn a_page_of_the_node_is_that_of_its_snapshot() {
    let node = Node::new(Kernel::V2);
    let pods = probed_pods();
    let file = node.beside().join("pods.json");
    fs::write(&file, pods.to_string()).expect("a file can be written");
    page_is_that_of_the_snapshot("a file", &node, &format!("--pods {}", file.display()));
    let kubelet = Api::kubelet_saying(&made_up::configz("systemd"), &pods);
    page_is_that_of_the_snapshot("the kubelet", &node, &kubelet.flags());
    #[cfg(feature = "apiserver")]
    {
        let server = server(&made_up::node_object(), &pods, &events());
        let flags = server.kubeconfig_flags(&node);
        page_is_that_of_the_snapshot("the API server", &node, &flags);
        let stored = fs::read_to_string(node.beside().join("node.json")).expect("it was stored");
        assert_eq!(stored.matches("[withheld]").count(), 8, "{stored}");
    }
}

#[test]
fn a_recording_has_no_secret() {
    let node = Node::new(Kernel::V2);
    let file = node.beside().join("pods.json");
    fs::write(&file, probed_pods().to_string()).expect("a file can be written");
    let record = node.beside().join("top.jsonl");
    let line = format!("top --plain --count 1 --record {}", record.display());
    let ran = live(&node, &format!("--pods {}", file.display()), &line);
    assert_eq!(ran.code, 0, "{}", ran.text());
    has_none("a recording", &fs::read_to_string(&record).expect("it was recorded"), SECRET);
}

/// What pods of files that a page is asked about have in their probes and their configuration.
#[test]
fn a_page_has_no_secret_of_the_files_of_its_questions() {
    let node = Node::new(Kernel::V2);
    let mut pod = probed_pods()["items"][0].clone();
    pod["kind"] = json!("Pod");
    pod["apiVersion"] = json!("v1");
    pod["metadata"] = json!({"name": "more", "namespace": "shop"});
    pod["status"] = json!({});
    pod["spec"]["priority"] = json!(2_000_000_000);
    let mut config = made_up::kubelet_config("systemd");
    config["staticPodURLHeader"] = json!({"Authorization": ["hunter2-header"]});
    let folder = node.beside();
    fs::write(folder.join("pod.json"), pod.to_string()).expect("a file can be written");
    fs::write(folder.join("config.json"), config.to_string()).expect("a file can be written");
    let snapshot = folder.join("node.json").display().to_string();
    live(&node, "", &format!("snapshot -o {snapshot}"));
    let page = kq(&format!("report --snapshot {snapshot} --preempt-for pod.json"))
        .arg("--what-if")
        .arg("add pod.json")
        .arg("--what-if")
        .arg("config config.json")
        .within(folder)
        .run();
    assert!(page.stdout.contains("add pod.json"), "{}", page.stderr);
    has_none("a page", &page.text(), SECRET);
}

/// The token of [`Api::kubeconfig_flags`].
#[cfg(feature = "apiserver")]
const TOKEN: &str = "hunter2-token";

#[cfg(feature = "apiserver")]
const PASSWORD: &str = "pa/ss \"word\" &1";

/// Returns a node, its pods and its events, which repeat a text wherever a server can.
#[cfg(feature = "apiserver")]
fn echoing(text: &str) -> (Value, Value, Value) {
    let mut node = made_up::node_object();
    node["metadata"]["labels"] = json!({text: text, "zone": text});
    node["spec"] = json!({"taints": [{"key": text, "value": text, "effect": "NoSchedule"}]});
    node["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "reason": text}]);
    let mut pods = made_up::pods();
    let pod = &mut pods["items"][0];
    pod["metadata"]["labels"] = json!({"app": text, text: text});
    pod["metadata"]["annotations"] = json!({"kubernetes.io/config.source": text});
    pod["metadata"]["ownerReferences"] =
        json!([{"kind": text, "name": text, "controller": true, "uid": "u", "apiVersion": "v1"}]);
    pod["status"]["reason"] = json!(text);
    pod["status"]["message"] = json!(format!("{} {text} {text}", "x".repeat(1980)));
    pod["status"]["conditions"] =
        json!([{"type": "Ready", "status": "False", "reason": text, "message": text}]);
    pod["spec"]["containers"][0]["livenessProbe"] =
        json!({"httpGet": {"port": 80, "path": format!("/{text}"), "host": text}});
    pod["spec"]["priorityClassName"] = json!(text);
    pod["spec"]["nodeSelector"] = json!({text: text});
    let mut other = pod.clone();
    other["metadata"]["name"] = json!(text);
    other["metadata"]["uid"] = json!("33333333-2222-4333-8444-555555555555");
    pods["items"].as_array_mut().expect("pods").push(other);
    // One that cannot be read is named.
    pods["items"].as_array_mut().expect("pods").push(json!({
        "metadata": {"name": "broken", "namespace": "shop", "creationTimestamp": text},
    }));
    let mut events = events();
    for event in events["items"].as_array_mut().expect("events") {
        event["message"] = json!(format!("{} {text}", "y".repeat(1010)));
        event["reason"] = json!(text);
        event["source"]["component"] = json!(text);
    }
    (node, pods, events)
}

#[cfg(feature = "apiserver")]
const FORMATS: [&str; 8] = [
    "table",
    "wide",
    "json",
    "yaml",
    "name",
    "metrics",
    "jsonpath={..message}",
    "custom-columns=A:.pod,B:.found,C:.item",
];

/// Checks everything that kq shows and stores of a server that repeats a credential.
#[cfg(feature = "apiserver")]
#[track_caller]
fn shows_none(node: &Node, flags: &str, text: &str, spellings: &[&str], formats: &[&str]) {
    let check = |name: &str, shown: &str| spellings.iter().for_each(|it| has_none(name, shown, it));
    let mut marks = 0;
    for command in [
        "doctor",
        "doctor shop/web",
        "cgroup show",
        "cgroup plan --live",
        "cgroup shares --live",
        "cgroup diff",
        "probe plan shop/web",
        "preempt why shop/web",
        "preempt lint",
        "probe lint --live",
        "evict rank --signal memory",
        "admit explain --kubelet-restart",
        "devices list",
        "gc dry-run",
        "version",
        "snapshot",
        "report",
        "top --plain --count 1",
        "top --plain --count 1 --panel probes",
    ] {
        for format in formats {
            let has_formats =
                !["snapshot", "report", "top"].iter().any(|it| command.starts_with(it));
            if !has_formats && *format != "table" {
                continue;
            }
            let format = if has_formats { format!("-v -o {format}") } else { String::new() };
            let ran = live(node, flags, &format!("{command} {format}"));
            check(&format!("{command} {format}"), &ran.text());
            marks += ran.text().matches("[credentials]").count();
        }
    }
    assert!(marks > 20, "{marks} of {text}");
    let file = |name: &str| node.beside().join(name);
    for name in ["stored.json", "stored.json.zst"] {
        let ran = live(node, flags, &format!("snapshot -o {}", file(name).display()));
        check(name, &ran.text());
        check(name, &kq(&format!("snapshot --snapshot {}", file(name).display())).run().text());
    }
    let page = file("page.html").display().to_string();
    live(node, flags, &format!("report --with-snapshot -o {page}"));
    check("a page", &fs::read_to_string(&page).expect("a page"));
    check("its snapshot", &kq(&format!("snapshot --snapshot {page}")).run().text());
    let record = file("top.jsonl");
    live(node, flags, &format!("top --plain --count 1 --record {}", record.display()));
    check("a recording", &fs::read_to_string(&record).expect("a recording"));
    fs::remove_file(&record).expect("it is there");
    let stored = fs::read_to_string(file("stored.json")).expect("it was stored");
    check("stored.json", &stored);
    let stored: Value = serde_json::from_str(&stored).expect("JSON");
    let pods = stored["pods"]["found"]["value"]["pods"].as_array().expect("its fields are whole");
    assert!(pods.len() >= 2 && pods[0]["pod"]["status"]["reason"] == "[credentials]", "{pods:?}");
}

#[cfg(feature = "apiserver")]
#[test]
fn no_credential_that_a_server_repeats_is_shown_or_stored() {
    let node = Node::new(Kernel::V2);
    let (object, pods, events) = echoing(TOKEN);
    let server_of_token = server(&object, &pods, &events);
    shows_none(&node, &server_of_token.kubeconfig_flags(&node), TOKEN, &[TOKEN], &FORMATS);
    let (object, pods, events) = echoing(PASSWORD);
    let server_of_password = server(&object, &pods, &events);
    let flags = server_of_password.kubeconfig_flags(&node);
    with_password(&node.beside().join("kubeconfig"));
    let spellings = ["pa/ss", "pa%2Fss", "\\\"word\\\""];
    shows_none(&node, &flags, PASSWORD, &spellings, &["table", "json"]);
    let sent = "dTpwYS9zcyAid29yZCIgJjE=";
    let (object, pods, events) = echoing(sent);
    let server_of_sent = server(&object, &pods, &events);
    let flags = server_of_sent.kubeconfig_flags(&node);
    with_password(&node.beside().join("kubeconfig"));
    shows_none(&node, &flags, sent, &[sent], &["table"]);
}

/// Replaces the token of a kubeconfig by a user with a password.
#[cfg(feature = "apiserver")]
fn with_password(kubeconfig: &Path) {
    let text = fs::read_to_string(kubeconfig).expect("a kubeconfig");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    config["users"][0]["user"] = json!({"username": "u", "password": PASSWORD});
    fs::write(kubeconfig, config.to_string()).expect("it can be written");
}

#[cfg(feature = "apiserver")]
#[test]
fn answers_are_those_of_a_server_that_repeats_no_credential() {
    // The pod's phase and its QoS class are the token.
    let node = Node::new(Kernel::V2);
    let api = server(&made_up::node_object(), &made_up::pods(), &events());
    let flags = api.kubeconfig_flags(&node);
    let usual = live(&node, &flags, "cgroup plan --live -o json");
    let kubeconfig = node.beside().join("kubeconfig");
    let text = fs::read_to_string(&kubeconfig).expect("a kubeconfig");
    fs::write(&kubeconfig, text.replace(TOKEN, "Burstable")).expect("it can be written");
    let ran = live(&node, &flags, "cgroup plan --live -o json");
    assert_eq!(ran.code, usual.code, "{}", ran.text());
    assert!(ran.stdout.contains("[credentials]"), "{}", ran.stdout);
    let restored = ran.stdout.replace("[credentials]", "Burstable");
    assert_eq!(restored, usual.stdout);
}
