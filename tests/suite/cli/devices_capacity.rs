//! `kq devices capacity`: numbers, their reasons, and what the Node object says.

use super::{folder_with, kq};
use crate::devices::stored::{stored, text};
use serde_json::Value;

#[test]
fn resources_are_held_against_the_node() {
    let node = text("restarted", "node-resources.json");
    let folder = folder_with(&[
        ("node.json", stored("restarted")),
        ("behind.json", format!("{{\"kind\": \"Node\", \"status\": {}}}", with(&node, "3"))),
    ]);
    let ask = |line: &str| kq(&format!("devices capacity {line}")).within(folder.path()).run();
    let ran = ask("--snapshot node.json -o json");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.text());
    let report: Value = ran.answer();
    assert_eq!(report["kind"], "DeviceCapacity");
    let widget = &report["resources"]["example.com/widget"];
    assert_eq!(widget["allocatable"]["devices"], 4);
    assert_eq!((&widget["state"], &widget["contradicts"]), (&"offered".into(), &false.into()));
    let gadget = &report["resources"]["example.com/gadget"];
    assert_eq!((&gadget["state"], &gadget["capacity"]["devices"]), (&"waiting".into(), &0.into()));

    let ran = ask("--snapshot node.json --kubelet-start 1m");
    assert!(ran.stdout.contains("waited for until 2026-11-20T11:4"), "{}", ran.text());

    let ran = ask("--snapshot node.json --node-file behind.json");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("but the Node object says 3 of 3"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("no Node object"), "a cell contradicts itself: {}", ran.stdout);
}

/// Returns the status of a node that has another number of widgets.
fn with(node: &str, number: &str) -> String {
    let mut node: Value = serde_json::from_str(node).expect("JSON");
    for list in ["capacity", "allocatable"] {
        node[list]["example.com/widget"] = Value::from(number);
    }
    node.to_string()
}

#[test]
fn devices_that_are_given_need_no_node() {
    let devices = "[{resource: a/b, id: x}, {resource: a/b, id: z, health: Sick}]";
    let folder = folder_with(&[("devices.yaml", devices.to_owned())]);
    let ran = kq("devices capacity --devices devices.yaml").within(folder.path()).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("1 of 2 devices are healthy, as given"), "{}", ran.text());
    assert_eq!(ran.stderr, "assumed: no device is in use (--checkpoint)\n");
}

#[test]
fn nothing_known_is_no_answer() {
    let folder = folder_with(&[(
        "empty.json",
        "{\"apiVersion\": \"kq/v1\", \"kind\": \"NodeSnapshot\", \"takenAt\": \"2026-11-20T11:39:18Z\"}",
    )]);
    let ran = kq("devices capacity --snapshot empty.json").within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("the devices of the node are unknown"), "{}", ran.stderr);
}

#[test]
fn what_is_not_known_is_said_in_words() {
    let checkpoint = text("init-reuse", "kubelet_internal_checkpoint");
    let folder = folder_with(&[
        ("corrupt", checkpoint.replace("w3", "w9")),
        ("sound", checkpoint),
        ("told.json", text("init-reuse", "pod-resources.json")),
    ]);
    let ask = |line: &str| kq(&format!("devices capacity {line}")).within(folder.path()).run();
    let more = "the number of unhealthy devices is unknown";
    for (line, code, expected) in [
        ("--checkpoint sound --pod-resources told.json", 0, more),
        ("--checkpoint sound", 3, "how many are now is not known"),
        ("--checkpoint corrupt", 3, "the devices are unknown"),
    ] {
        let ran = ask(line);
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stdout.contains(expected), "{line}: {}", ran.text());
    }
    let ran = ask("--checkpoint corrupt -o json");
    let report: Value = ran.answer();
    let widget = report["resources"]["example.com/widget"].as_object().expect("it is there");
    for field in ["capacity", "allocatable", "allocated", "node"] {
        assert_eq!(widget[field], Value::Null, "{field}: {report}");
    }
    assert_eq!(widget["state"], "unknown");
}
