//! `kq preempt apply` among pods that really run: an API server that stands in for the real one tells the
//! runtime to stop those that are evicted, as a kubelet would.

use super::runtime::Runtime;
use super::{AMPLE, Node, Runc, node};
use crate::cli::cluster::{Cluster, State, node as node_object};
use crate::cli::kq;
use crate::cli::made_up_node::NAME;
use kq_linux::cri::v1;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// Two that have to go, and one that stays.
const PODS: &str = "
metadata: {name: first, namespace: real, uid: 33333333-0000-4000-8000-000000000001}
spec:
  nodeName: worker-1
  priority: 0
  terminationGracePeriodSeconds: 1
  containers:
  - name: only
    resources: {requests: {cpu: 600m, memory: 32Mi}}
status: {phase: Running}
---
metadata: {name: second, namespace: real, uid: 33333333-0000-4000-8000-000000000002}
spec:
  nodeName: worker-1
  priority: 0
  terminationGracePeriodSeconds: 1
  containers:
  - name: only
    resources: {requests: {cpu: 500m, memory: 32Mi}}
status: {phase: Running}
---
metadata: {name: stays, namespace: real, uid: 33333333-0000-4000-8000-000000000003}
spec:
  nodeName: worker-1
  priority: 0
  containers:
  - name: only
    resources: {requests: {cpu: 100m, memory: 32Mi}}
status: {phase: Running}
";

/// How long a pod is still run after its object is gone, as one without a grace period.
const LATE: Duration = Duration::from_secs(2);

#[test]
fn a_node_is_freed_and_what_went_does_not_run_any_more() {
    let Some(node) = node() else { return };
    let mut running = node.run_pods(PODS, Runc::System);
    let text = std::fs::read_to_string(running.file()).expect("the file can be read");
    let pods: Value = serde_json::from_str(&text).expect("JSON");
    let mut object = node_object("1200m");
    object["status"]["nodeInfo"] = json!({"kubeletVersion": "v1.36.2"});
    let cluster = Cluster::start(object, pods["items"].as_array().expect("a list").clone());
    let shared = cluster.share();
    let socket = node.socket.clone();
    {
        let mut state = cluster.state();
        // Their objects go when the runtime is done, or before.
        state.stuck.extend(["real/first", "real/second"]);
        state.on_removal = Some(Box::new(move |uid| {
            let (shared, socket, uid) = (Arc::clone(&shared), socket.clone(), uid.to_owned());
            spawn(move || stop(&shared, &socket, &uid));
        }));
    }
    write_new(&node.folder);
    let ask = |line: &str| {
        kq(&format!("{line} new.json --node-name {NAME} {}", cluster.flags(&node.folder)))
            .arg("--runtime-endpoint")
            .arg(format!("unix://{}", node.socket.display()))
            .arg(AMPLE)
            .within(&node.folder)
            .run()
    };
    let ran = ask("preempt explain");
    assert!(ran.stdout.contains("2 pods are killed"), "{}", ran.text());
    assert_eq!(running_pods(&node), ["first", "second", "stays"]);

    // An emulated machine may need longer for a pod than the kubelet waits for it.
    let ran = ask("preempt apply --yes --victim-timeout 5m -o json");
    // Looked at before anything else can happen.
    assert_eq!(running_pods(&node), ["stays"], "{}", ran.text());
    assert_eq!(ran.code, 0, "{}", ran.text());
    let answer: Value = ran.answer();
    let steps = answer["steps"].as_array().expect("a list");
    assert_eq!(steps.len(), 2, "{}", ran.stdout);
    for step in steps {
        assert_eq!(step["result"], "removed", "{}", ran.stdout);
    }
    // An object that is gone does not free what still runs.
    let took = |pod: &str| {
        let step = steps.iter().find(|step| step["pod"] == pod).expect("a step");
        step["tookMilliseconds"].as_u64().expect("a time")
    };
    assert!(took("real/second") >= 2_000, "{}", ran.stdout);
    assert_eq!(cluster.pods(), ["real/stays"]);
    ["first", "second"].into_iter().for_each(|pod| running.forget(pod));

    let ran = ask("preempt explain");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("it fits: no pod is killed"), "{}", ran.text());
}

/// Plays the kubelet for a pod that was evicted: of the first, the containers end before the object; of the
/// second, the object goes first.
fn stop(state: &Mutex<State>, socket: &Path, uid: &str) {
    let runtime = Runtime::connect(socket).expect("the runtime listens");
    let request = v1::ListPodSandboxRequest::default();
    let all = runtime.call(runtime.client().list_pod_sandbox(request)).expect("a list").items;
    let is_its = |it: &v1::PodSandbox| it.metadata.as_ref().is_some_and(|it| it.uid == uid);
    let sandbox = all.into_iter().find(is_its).expect("it runs");
    let name = sandbox.metadata.expect("it has a name").name;
    let forget = || state.lock().expect("no thread panicked").pods.remove(&format!("real/{name}"));
    if name == "second" {
        forget();
        sleep(LATE);
    }
    let id = || sandbox.id.clone();
    let request = v1::StopPodSandboxRequest { pod_sandbox_id: id() };
    runtime.call(runtime.client().stop_pod_sandbox(request)).expect("it is stopped");
    let request = v1::RemovePodSandboxRequest { pod_sandbox_id: id() };
    runtime.call(runtime.client().remove_pod_sandbox(request)).expect("it is removed");
    forget();
}

/// Returns the pods of this test of which containers run.
fn running_pods(node: &Node) -> Vec<String> {
    let request = v1::ListContainersRequest::default();
    let runtime = &node.runtime;
    let all = runtime.call(runtime.client().list_containers(request)).expect("a list").containers;
    let label = |it: &v1::Container, name: &str| it.labels.get(name).cloned().unwrap_or_default();
    let mut pods: Vec<String> = all
        .iter()
        .filter(|it| it.state == v1::ContainerState::ContainerRunning as i32)
        .filter(|it| label(it, "io.kubernetes.pod.uid").starts_with("33333333-"))
        .map(|it| label(it, "io.kubernetes.pod.name"))
        .collect();
    pods.sort();
    pods
}

fn write_new(folder: &Path) {
    let new = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new", "namespace": "kube-system"},
        "spec": {"priority": 2_000_000_000, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        ]},
    });
    let written = std::fs::write(folder.join("new.json"), new.to_string());
    written.expect("the file can be written");
}
