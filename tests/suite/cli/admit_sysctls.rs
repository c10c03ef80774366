//! `kq admit explain` of pods that set sysctls, and the start of a kubelet that allows some.

use super::{folder_with, kq};
use crate::objects::{Object, list, node, pod};
use serde_json::{Value, json};

/// Describes a node with a kernel of this version.
fn with_kernel(version: &str) -> String {
    let node = node("n").amounts("ephemeral-storage=90Gi").version("v1.36.2");
    node.set("/status/nodeInfo/kernelVersion", version).to_string()
}

fn config(patterns: &[&str]) -> String {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "allowedUnsafeSysctls": patterns,
    })
    .to_string()
}

/// Returns the exit code, the check, and the messages of the refusals.
fn admitted(kernel: &str, patterns: &[&str], pod: &Object) -> (i32, Value, Vec<String>) {
    let (node, pod, config) = (with_kernel(kernel), pod.to_string(), config(patterns));
    let pods = list([]).to_string();
    let folder = folder_with(&[
        ("node.json", node.as_bytes()),
        ("pod.json", pod.as_bytes()),
        ("config.yaml", config.as_bytes()),
        ("pods.json", pods.as_bytes()),
    ]);
    let line = "admit explain pod.json --node-file node.json --pods pods.json --kubelet-config \
                config.yaml -ojson";
    let ran = kq(line).within(&folder).run();
    let answer: Value = ran.answer();
    let checks = answer["checks"].as_array().unwrap_or_else(|| panic!("{}", ran.text()));
    let check = checks.iter().find(|it| it["check"] == "sysctls");
    let check = check.unwrap_or_else(|| panic!("{}", ran.text()));
    let refusals = answer["refusals"].as_array().into_iter().flatten();
    let text = |it: &Value, field: &str| it[field].as_str().unwrap_or_default().to_owned();
    let messages =
        refusals.map(|it| format!("{}: {}", text(it, "reason"), text(it, "message"))).collect();
    (ran.code, check["result"].clone(), messages)
}

#[test]
fn sysctls_are_admitted_as_the_kubelet_admits_them() {
    let sets = |name: &str| {
        let sysctl = json!([{ "name": name, "value": "1" }]);
        pod("shop/tuned").set("/spec/securityContext/sysctls", sysctl)
    };
    let with = |name: &str, field: &str| sets(name).set(&format!("/spec/{field}"), true);
    let refused = |message: &str| vec![format!("SysctlForbidden: forbidden sysctl: {message}")];
    let none: Vec<String> = Vec::new();
    let wmem = "net.ipv4.tcp_wmem";
    let rows: [(&str, &[&str], Object, Vec<String>); 9] = [
        ("6.8.0", &[], pod("shop/plain"), none.clone()),
        (
            "6.8.0",
            &[],
            sets("net.core.somaxconn"),
            refused("\"net.core.somaxconn\" not allowlisted"),
        ),
        ("6.8.0", &["net.core.*"], sets("net/core/somaxconn"), none.clone()),
        ("6.8.0", &[], sets(wmem), none.clone()),
        ("4.14.9", &[], sets(wmem), refused("\"net.ipv4.tcp_wmem\" not allowlisted")),
        // Nothing says which kernel it is.
        ("", &[], sets(wmem), none.clone()),
        (
            "6.8.0",
            &[],
            with(wmem, "hostNetwork"),
            refused("\"net.ipv4.tcp_wmem\" not allowed with host Net enabled"),
        ),
        (
            "6.8.0",
            &["kernel.msg*"],
            with("kernel.msgmax", "hostIPC"),
            refused("\"kernel.msgmax\" not allowed with host IPC enabled"),
        ),
        ("6.8.0", &["kernel.msg*"], with("kernel.msgmax", "hostNetwork"), none),
    ];
    for (kernel, patterns, pod, refusals) in rows {
        let (code, result, messages) = admitted(kernel, patterns, &pod);
        let expected = if refusals.is_empty() { (0, "PASS") } else { (1, "FAIL") };
        assert_eq!(
            (code, result.as_str()),
            (expected.0, Some(expected.1)),
            "{kernel} {}",
            pod["spec"]
        );
        assert_eq!(messages, refusals, "{kernel} {}", pod["spec"]);
    }
}

#[test]
fn a_kubelet_does_not_start_with_sysctls_outside_of_namespaces() {
    let pattern = "sysctl \"net.*.x\" must have at most 253 characters and match regex \
                   ([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]";
    for (patterns, said) in [
        (&["net.core.somaxconn"][..], None),
        (
            &["net.core.somaxconn", "vm.max_map_count"],
            Some("the sysctls \"vm.max_map_count\" are not known to be namespaced"),
        ),
        (&["net.*.x"], Some(pattern)),
    ] {
        let (node, base, new) = (with_kernel("6.8.0"), config(&[]), config(patterns));
        let pods = list([]).to_string();
        let folder = folder_with(&[
            ("node.json", node.as_bytes()),
            ("base.yaml", base.as_bytes()),
            ("new.yaml", new.as_bytes()),
            ("pods.json", pods.as_bytes()),
        ]);
        let line = "what-if config new.yaml --kubelet-config base.yaml --node-file node.json --pods \
                    pods.json --cgroup-version 2 -owide";
        let ran = kq(line).within(&folder).run();
        match said {
            None => assert_eq!(ran.code, 0, "{}", ran.text()),
            Some(said) => {
                let text = format!("failed to run Kubelet: failed to create kubelet: {said}");
                assert_eq!(ran.code, 1, "{}", ran.text());
                assert!(ran.stdout.contains(&text), "{}", ran.text());
            }
        }
    }
}
