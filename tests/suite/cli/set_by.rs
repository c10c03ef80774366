//! Who wrote a value that is not planned, in `kq cgroup diff` and `kq doctor`.

use super::doctor::{FakeNode, container, examine};
use super::lookups::{found, not_asked};
use super::{folder_with, kq};
use serde_json::{Value, json};

/// A quota that is not planned, and what is known of its writer.
fn drifting(drop_ins: Value) -> Value {
    let mut node = FakeNode::new().snapshot();
    container(&mut node)["cpu.max"] = json!("20000 100000\n");
    node["dropIns"] = drop_ins;
    node
}

fn property(node: &mut Value, value: &str, path: &str) {
    let cgroups = node["cgroups"]["found"]["value"]["cgroups"].as_object().expect("cgroups");
    let path_of = cgroups.keys().find(|path| path.contains("c0ffee")).expect("a container");
    let unit = path_of.rsplit('/').next().expect("a name").to_owned();
    node["dropIns"] = found(
        "/run/systemd/transient",
        json!([{ "unit": unit, "property": "CPUQuota", "value": value, "path": path }]),
    );
}

/// Returns the reason of the drift, and who set the value.
fn told(node: &Value) -> (Value, Value) {
    let folder = folder_with(&[("node.json", node.to_string())]);
    let ran = kq("cgroup diff --snapshot node.json -ojson").within(folder.path()).run();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let answer: Value = ran.answer();
    let items = answer["items"].as_array().expect("items");
    let mut drifts = items.iter().filter(|item| item["verdict"] == "DRIFT");
    let drift = drifts.next().expect("a drift").clone();
    assert!(drifts.next().is_none() && drift["file"] == "cpu.max", "{answer}");
    let checks: Value = serde_json::from_str(&examine(node, "-ojson").stdout).expect("JSON");
    let found = checks["items"].as_array().expect("items");
    let found = found.iter().find(|item| item["id"] == "cgroup-values").expect("the finding");
    assert_eq!(found["facts"]["setBy"], drift["setBy"]);
    assert_eq!(found["why"], drift["reason"]);
    (drift["reason"].clone(), drift["setBy"].clone())
}

#[test]
fn a_drop_in_with_the_kernels_value_wrote_it() {
    let mut node = drifting(Value::Null);
    let path = "/run/systemd/transient/x.scope.d/50-CPUQuota.conf";
    property(&mut node, "20.00%", path);
    let (reason, by) = told(&node);
    let expected = format!(
        "set by systemd: CPUQuota=20.00% in {path}, as systemctl set-property writes it, and as the kubelet or \
         the runtime do over D-Bus"
    );
    assert_eq!(reason, expected);
    let expected =
        json!({ "code": "systemd", "property": "CPUQuota", "value": "20.00%", "path": path });
    assert_eq!(by, expected);
}

#[test]
fn without_a_record_or_a_drop_in_it_was_somebody_else() {
    let mut node = drifting(found("/run/systemd/transient", json!([])));
    let (reason, by) = told(&node);
    assert!(reason.as_str().is_some_and(|text| text.contains("by another program")), "{reason}");
    assert_eq!(by, json!({ "code": "other" }));
    // A drop-in with another value did not write this one.
    property(&mut node, "30%", "/etc/systemd/system/x.scope.d/a.conf");
    assert_eq!(told(&node).1, json!({ "code": "other" }));
}

#[test]
fn nothing_is_said_where_a_record_is_unknown() {
    assert_eq!(told(&drifting(not_asked())), (Value::Null, Value::Null));
    let mut unread = found("/run/systemd/transient", json!([]));
    unread["tried"] = json!([{ "source": "/etc/systemd/system", "reason": "Permission denied" }]);
    assert_eq!(told(&drifting(unread)), (Value::Null, Value::Null));
    let mut node = drifting(found("/run/systemd/transient", json!([])));
    node["stateFiles"]["files"]["allocated_pods_state"] =
        json!({ "unreadable": "Input/output error" });
    assert_eq!(told(&node), (Value::Null, Value::Null));
}
