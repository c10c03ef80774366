//! `kq admit explain` and `kq preempt explain` among pods that really run: what the runtime says decides who
//! counts.

use super::{AMPLE, Runc, Running, node};
use crate::cli::{Ran, kq};
use serde_json::{Value, json};
use std::fs;

/// One pod that stays, and one that fails.
const PODS: &str = "
metadata: {name: stays, namespace: real, uid: 22222222-0000-4000-8000-000000000001}
spec:
  nodeName: worker
  priority: 0
  containers:
  - name: only
    resources: {requests: {cpu: 1, memory: 64Mi}}
status: {phase: Running}
---
metadata: {name: leaves, namespace: real, uid: 22222222-0000-4000-8000-000000000002}
spec:
  nodeName: worker
  priority: 0
  terminationGracePeriodSeconds: 7
  containers:
  - name: only
    resources: {requests: {cpu: 400m, memory: 32Mi}}
status: {phase: Running}
";

#[test]
fn a_pod_counts_until_the_runtime_has_stopped_it() {
    let Some(node) = node() else { return };
    let running = node.run_pods(PODS, Runc::System);
    let ran = ask(&running, "preempt explain new.json");
    let answer: Value = ran.answer();
    assert_eq!((ran.code, &answer["result"]), (0, &json!("preempts")), "{}", ran.text());
    assert_eq!(answer["requirements"], json!([{"resource": "cpu", "quantity": 200}]));
    // Both are enough; the one with the smaller memory request is killed.
    let victims = answer["victims"].as_array().expect("a list");
    assert_eq!(victims.len(), 1, "{}", ran.stdout);
    assert_eq!(victims[0]["pod"], "real/leaves");
    assert_eq!(
        (&victims[0]["gracePeriodSeconds"], &victims[0]["waitsSeconds"]),
        (&json!(7), &json!(10))
    );
    let ran = ask(&running, "admit explain new.json");
    assert_eq!(
        (ran.code, &ran.answer::<Value>()["kills"]),
        (0, &json!(["real/leaves"])),
        "{}",
        ran.text()
    );
    assert_eq!(
        counts(&ran, "real/leaves"),
        (true, "its phase is Failed, and the runtime still stops it".to_owned())
    );

    running.stop_pod("leaves");
    let ran = ask(&running, "preempt explain new.json");
    assert_eq!((ran.code, &ran.answer::<Value>()["result"]), (0, &json!("fits")), "{}", ran.text());
    let ran = ask(&running, "admit explain new.json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(counts(&ran, "real/leaves"), (false, "its phase is Failed".to_owned()));
    assert!(counts(&ran, "real/stays").0, "{}", ran.stdout);
}

/// Runs kq about a critical pod that comes to a node with these pods.
fn ask(running: &Running<'_>, line: &str) -> Ran {
    let folder = &running.node.folder;
    let has = json!({"cpu": "1500m", "memory": "4Gi", "pods": "10"});
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker"},
        "status": {"capacity": has, "allocatable": has},
    });
    let new = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new", "namespace": "real"},
        "spec": {"priority": 2_000_000_000, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "300m"}}}
        ]},
    });
    // It failed after it was started.
    let text = fs::read_to_string(running.file()).expect("the file can be read");
    let mut pods: Value = serde_json::from_str(&text).expect("JSON");
    pods["items"][1]["status"]["phase"] = json!("Failed");
    for (name, object) in [("node.json", node), ("new.json", new), ("failed.json", pods)] {
        fs::write(folder.join(name), object.to_string()).expect("the file can be written");
    }
    kq(&format!("{line} -o json --node-file node.json --pods failed.json --kubelet-version 1.36"))
        // The machine bears another name.
        .arg("--node-name=worker")
        .arg("--runtime-endpoint")
        .arg(format!("unix://{}", running.node.socket.display()))
        .arg(AMPLE)
        .within(folder)
        .run()
}

/// Returns whether a pod of the ledger counts, and why.
fn counts(ran: &Ran, pod: &str) -> (bool, String) {
    let answer: Value = ran.answer();
    let line =
        answer["ledger"].as_array().and_then(|lines| lines.iter().find(|it| it["pod"] == pod));
    let line = line.unwrap_or_else(|| panic!("no {pod}: {}", ran.stdout));
    (line["counts"] == true, line["why"]["text"].as_str().unwrap_or_default().to_owned())
}
