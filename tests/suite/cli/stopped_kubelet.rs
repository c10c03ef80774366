//! A kubelet that does not run is described as its unit would start it.

use super::kq;
use super::made_up_node::{self as made_up, Kernel, Node};
use serde_json::Value;

/// A node whose kubelet was stopped.
fn stopped() -> Node {
    let node = Node::new(Kernel::V2);
    node.remove("/proc/700");
    node
}

#[track_caller]
fn snapshot(node: &Node) -> Value {
    let ran = kq(&format!("snapshot --host-root {}", node.root().display())).run();
    ran.answer()
}

#[test]
fn the_configuration_of_kubeadm_is_read_without_a_unit() {
    let node = stopped();
    node.write("/var/lib/kubelet/kubeadm-flags.env", "KUBELET_KUBEADM_ARGS=\"--max-pods=7\"\n");
    node.write("/etc/default/kubelet", "KUBELET_EXTRA_ARGS=--hostname-override=Other\n");
    let found = snapshot(&node);
    let config = &found["kubeletConfig"]["found"];
    assert_eq!(config["source"], "/var/lib/kubelet/config.yaml (no kubelet runs)");
    assert_eq!(config["value"]["value"]["podPidsLimit"], 500);
    assert_eq!(config["value"]["value"]["maxPods"], 7);
    assert_eq!(config["value"]["origins"]["maxPods"], "--max-pods of the kubelet");
    assert_eq!(found["nodeName"]["found"]["value"], "other");
    assert_eq!(found["kubelet"]["found"], Value::Null);
    // Its static pods are found by it.
    assert_eq!(found["pods"]["found"]["source"], "/etc/kubernetes/manifests");
}

#[test]
fn a_unit_with_drop_ins_says_where_the_configuration_is() {
    let node = stopped();
    node.write(
        "/usr/lib/systemd/system/kubelet.service",
        "[Service]\nExecStart=/usr/bin/kubelet\n",
    );
    node.write(
        "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
        "[Service]\nEnvironment=\"ARGS=--config=/srv/kubelet.yaml\"\nEnvironmentFile=-/srv/env\n\
         ExecStart=\nExecStart=/usr/bin/kubelet $ARGS --max-pods=${PODS}\n",
    );
    node.write("/srv/env", "PODS=9\n");
    node.write(
        "/srv/kubelet.yaml",
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\npodPidsLimit: 33\n",
    );
    let config = snapshot(&node)["kubeletConfig"]["found"].clone();
    assert_eq!(config["source"], "/srv/kubelet.yaml (no kubelet runs)");
    assert_eq!(config["value"]["value"]["podPidsLimit"], 33);
    assert_eq!(config["value"]["value"]["maxPods"], 9);
    let notes = config["value"]["notes"].to_string();
    assert!(notes.contains("/usr/lib/systemd/system/kubelet.service starts it with"), "{notes}");
}

#[test]
fn a_comparison_is_as_with_the_kubelet_that_was_stopped() {
    let node = Node::new(Kernel::V2);
    let pods = node.beside().join("pods.json");
    std::fs::write(&pods, made_up::pods().to_string()).expect("a file can be written");
    let diff = || {
        let root = node.root();
        let line = format!(
            "cgroup diff --host-root {} --pods {} --kubelet-version 1.36 -o json",
            root.display(),
            pods.display()
        );
        let ran = kq(&line).run();
        let value: Value = ran.answer();
        (value["items"].clone(), ran.stderr)
    };
    let (running, _) = diff();
    node.remove("/proc/700");
    assert_eq!(diff().0, running);
    // Without its files nothing tells, and no default is taken for what the kubelet was told.
    node.remove("/var/lib/kubelet/config.yaml");
    let found = snapshot(&node);
    assert_eq!(found["kubeletConfig"]["found"], Value::Null, "{found}");
}
