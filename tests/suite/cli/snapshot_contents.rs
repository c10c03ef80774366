//! The texts of others that a snapshot holds: those of the table in `docs/security.md`, and no others.

use super::made_up_node::{self as made_up, Kernel, NAME, Node, WEB};
use super::sources::Api;
use super::{kq, repository};
use crate::edges::http_server::{answer, json as said};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Texts by the name of their place.
#[derive(Default)]
struct Planted(BTreeMap<String, String>);

impl Planted {
    /// Returns a text for a place, which is of the kind of text that the place has.
    fn text(&mut self, source: &str, place: &str) -> String {
        let text = format!("planted-{:02}", self.0.len());
        self.0.insert(format!("{source} `{place}`"), text.clone());
        text
    }
}

/// Plants a text at a path of a value; numbers are places in lists.
fn plant(planted: &mut Planted, source: &str, value: &mut Value, path: &str, place: &str) {
    let text = planted.text(source, place);
    *at(value, path) = Value::String(text);
}

/// Returns a place in a value, which is made.
fn at<'v>(value: &'v mut Value, path: &str) -> &'v mut Value {
    path.split('/').fold(value, |value, step| match step.parse::<usize>() {
        Ok(index) => {
            if !value.is_array() {
                *value = json!([]);
            }
            let list = value.as_array_mut().expect("a list");
            while list.len() <= index {
                list.push(json!({}));
            }
            &mut list[index]
        }
        Err(_) => {
            let step = step.replace('~', "/");
            value.as_object_mut().expect("a mapping").entry(step).or_insert_with(|| json!({}))
        }
    })
}

fn pods(planted: &mut Planted) -> Value {
    let mut list = made_up::pods();
    let pod = &mut list["items"][0];
    let container = "spec/containers/0";
    for (path, place) in [
        ("metadata/labels/app", "metadata.labels"),
        ("metadata/ownerReferences/0/name", "metadata.ownerReferences[].name"),
        ("metadata/annotations/example.com~note", "metadata.annotations"),
        ("metadata/annotations/kubernetes.io~config.source", "kubernetes.io/config.source"),
        ("metadata/annotations/kubernetes.io~config.hash", "kubernetes.io/config.hash"),
        ("metadata/annotations/kubernetes.io~config.mirror", "kubernetes.io/config.mirror"),
        ("metadata/managedFields/0/manager", "metadata.managedFields"),
        ("spec/priorityClassName", "spec.priorityClassName"),
        ("spec/runtimeClassName", "spec.runtimeClassName"),
        ("spec/nodeSelector/zone", "spec.nodeSelector"),
        ("spec/tolerations/0/value", "spec.tolerations[].value"),
        ("spec/volumes/0/name", "spec.volumes[].name"),
        ("spec/volumes/0/secret/secretName", "spec.volumes[].secret.secretName"),
        ("spec/volumes/1/hostPath/path", "spec.volumes[].hostPath.path"),
        ("spec/volumes/2/csi/volumeAttributes/key", "spec.volumes[].csi"),
        ("spec/serviceAccountName", "spec.serviceAccountName"),
        ("spec/imagePullSecrets/0/name", "spec.imagePullSecrets"),
        ("spec/hostname", "spec.hostname"),
        ("spec/hostAliases/0/hostnames/0", "spec.hostAliases"),
        ("status/reason", "status.reason"),
        ("status/message", "status.message"),
        ("status/nominatedNodeName", "status.nominatedNodeName"),
        ("status/podIP", "status.podIP"),
        ("status/hostIP", "status.hostIP"),
        ("status/conditions/0/message", "status.conditions[].message"),
        ("status/conditions/0/reason", "status.conditions[].reason"),
    ] {
        plant(planted, "pod", pod, path, place);
    }
    pod["status"]["conditions"][0]["type"] = json!("Ready");
    for (path, place) in [
        ("image", "image"),
        ("command/0", "command"),
        ("args/0", "args"),
        ("workingDir", "workingDir"),
        ("env/0/value", "env[].value"),
        ("envFrom/0/secretRef/name", "envFrom"),
        ("lifecycle/preStop/exec/command/0", "lifecycle"),
        ("ports/0/name", "ports[].name"),
        ("ports/0/hostIP", "ports[].hostIP"),
        ("startupProbe/exec/command/0", "exec.command"),
        ("livenessProbe/httpGet/host", "httpGet.host"),
        ("readinessProbe/grpc/service", "grpc.service"),
    ] {
        plant(planted, "container", pod, &format!("{container}/{path}"), place);
    }
    let container = &mut pod["spec"]["containers"][0];
    container["env"][0]["name"] = json!("NAME");
    container["ports"][0]["containerPort"] = json!(80);
    container["readinessProbe"]["grpc"]["port"] = json!(80);
    let path = planted.text("container", "httpGet.path");
    let query = planted.text("container", "httpGet.path, after ?");
    let (host, token) = (
        planted.text("container", "httpHeaders: Host"),
        planted.text("container", "httpHeaders: Authorization"),
    );
    let get = &mut container["livenessProbe"]["httpGet"];
    get["port"] = json!(80);
    get["path"] = json!(format!("/{path}?{query}"));
    get["httpHeaders"] =
        json!([{"name": "Host", "value": host}, {"name": "Authorization", "value": token}]);
    for (path, place) in [
        ("state/waiting/reason", "state.waiting.reason"),
        ("state/waiting/message", "state.waiting.message"),
        ("lastState/terminated/reason", "lastState.terminated.reason"),
        ("lastState/terminated/message", "lastState.terminated.message"),
        ("imageID", "imageID"),
    ] {
        let path = format!("status/containerStatuses/0/{path}");
        plant(planted, "container", pod, &path, place);
    }
    list
}

fn node_object(planted: &mut Planted) -> Value {
    let mut node = made_up::node_object();
    for (path, place) in [
        ("metadata/labels/zone", "metadata.labels"),
        ("metadata/annotations/note", "metadata.annotations"),
        ("spec/taints/0/value", "spec.taints[].value"),
        ("spec/providerID", "spec.providerID"),
        ("status/conditions/0/reason", "status.conditions[].reason"),
        ("status/conditions/0/message", "status.conditions[].message"),
        ("status/addresses/0/address", "status.addresses"),
    ] {
        plant(planted, "node", &mut node, path, place);
    }
    node["spec"]["taints"][0]["key"] = json!("key");
    node["spec"]["taints"][0]["effect"] = json!("NoSchedule");
    node["status"]["conditions"][0]["type"] = json!("Ready");
    node["status"]["conditions"][0]["status"] = json!("True");
    node
}

fn event(planted: &mut Planted) -> Value {
    let mut event = json!({
        "kind": "Event",
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": WEB},
        "source": {"host": NAME},
        "lastTimestamp": "2026-11-20T11:00:00Z",
    });
    for (path, place) in [
        ("reason", "reason"),
        ("message", "message"),
        ("source/component", "source.component"),
        ("metadata/annotations/note", "metadata.annotations"),
        ("action", "action"),
    ] {
        plant(planted, "event", &mut event, path, place);
    }
    event
}

/// Starts the kubelet with flags, and with a configuration.
fn kubelet(planted: &mut Planted, node: &Node) {
    let mut config = made_up::kubelet_config(node.driver());
    for (path, place) in [
        ("clusterDomain", "clusterDomain"),
        ("noSuchField", "an unknown field"),
        ("staticPodURL", "staticPodURL"),
        ("staticPodURLHeader/Authorization/0", "staticPodURLHeader"),
    ] {
        plant(planted, "configuration", &mut config, path, place);
    }
    node.write("/var/lib/kubelet/config.yaml", config.to_string());
    let mut arguments = vec!["--config=/var/lib/kubelet/config.yaml".to_owned()];
    for (flag, before) in [
        ("kubeconfig", "/etc/"),
        ("bootstrap-kubeconfig", "/etc/"),
        ("node-labels", "label="),
        ("provider-id", ""),
        ("manifest-url", "https://"),
        ("manifest-url-header", "Authorization:"),
        ("storage-driver-password", ""),
        ("no-such-flag", ""),
    ] {
        let text = planted.text("command line", &format!("--{flag}"));
        arguments.push(format!("--{flag}={before}{text}"));
    }
    node.start_kubelet(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Returns the places of the table: in the column of what is kept, and in that of what is left out.
fn documented() -> [BTreeSet<String>; 2] {
    let text = fs::read_to_string(repository().join("docs/security.md")).expect("the document");
    let (_, section) = text.split_once("## What a snapshot holds").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("another section");
    let mut places = [BTreeSet::new(), BTreeSet::new()];
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    for row in rows.take_while(|row| !row.starts_with("| claim ")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [source, columns @ ..] = cells.as_slice() else { panic!("{row}") };
        assert_eq!(columns.len(), 2, "{row}");
        for (column, places) in columns.iter().zip(&mut places) {
            let spans = column.split('`').skip(1).step_by(2);
            places.extend(spans.map(|place| format!("{source} `{place}`")));
        }
    }
    places
}

#[test]
fn a_snapshot_holds_what_the_documentation_lists() {
    let node = Node::new(Kernel::V2);
    let mut planted = Planted::default();
    let (pods, object) = (pods(&mut planted), node_object(&mut planted));
    let events = json!({"kind": "EventList", "apiVersion": "v1", "metadata": {},
        "items": [event(&mut planted)]});
    kubelet(&mut planted, &node);
    let (pods, object, events) =
        (said(&pods.to_string()), said(&object.to_string()), said(&events.to_string()));
    let none = json!({"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": []});
    let none = said(&none.to_string());
    let server = Api::server(move |path| match path {
        path if path.starts_with("/api/v1/nodes/") => object.clone(),
        path if path.starts_with("/api/v1/pods") => pods.clone(),
        path if path.contains("/namespaces/shop/events?") => events.clone(),
        path if path.contains("/events?") => none.clone(),
        _ => answer("404 Not Found", &[], ""),
    });
    let flags = server.kubeconfig_flags(&node);
    let ran = kq(&format!("snapshot --host-root {} {flags}", node.root().display())).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let (kept, left_out): (BTreeMap<_, _>, BTreeMap<_, _>) =
        planted.0.iter().partition(|(_, text)| ran.stdout.contains(text.as_str()));
    let names = |places: BTreeMap<&String, &String>| -> BTreeSet<String> {
        places.into_keys().cloned().collect()
    };
    let [documented_kept, documented_left_out] = documented();
    assert_eq!(names(kept), documented_kept, "kept");
    assert_eq!(names(left_out), documented_left_out, "left out");
}
