//! `kq devices plan`: what a pod would get, what it is refused for, and what is taken for granted.

use super::{Ran, folder_with, kq};
use crate::devices::stored::{stored, text};
use serde_json::{Value, json};
use snapbox::str;
use std::path::Path;

const DEVICES: &str = "
- {resource: example.com/gpu, id: gpu-0, numaNodes: [0]}
- {resource: example.com/gpu, id: gpu-1, numaNodes: [0]}
- {resource: example.com/gpu, id: gpu-2, numaNodes: [1]}
- {resource: example.com/gpu, id: gpu-3, numaNodes: [1]}
- {resource: example.com/gpu, id: gpu-4, health: broken, numaNodes: [1]}
";

/// A pod whose init container leaves its devices to the next container.
fn pod(init: usize, app: usize, resource: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Pod
metadata: {{name: train, namespace: shop}}
spec:
  initContainers:
  - name: warm
    image: i
    resources: {{limits: {{{resource}: {init}}}}}
  containers:
  - name: app
    image: i
    resources: {{limits: {{{resource}: {app}}}}}
"
    )
}

fn files() -> tempfile::TempDir {
    let gpu = "example.com/gpu";
    folder_with(&[
        ("devices.yaml", DEVICES.to_owned()),
        ("two.yaml", pod(2, 2, gpu)),
        ("more.yaml", pod(2, 3, gpu)),
        ("many.yaml", pod(5, 1, gpu)),
        ("both.yaml", format!("{}---{}", pod(1, 3, gpu), pod(1, 2, gpu).replace("train", "next"))),
        ("widget.yaml", pod(1, 1, "example.com/widget")),
        ("other.yaml", pod(1, 1, "example.com/other")),
        ("wigdet.yaml", pod(1, 1, "example.com/wigdet")),
        ("damaged", "{\"Data\":".to_owned()),
        ("pod-resources.json", text("init-reuse", "pod-resources.json")),
        ("pods.json", text("init-reuse", "pods.json")),
        ("old", text("one", "kubelet_internal_checkpoint")),
        ("node.json", stored("restarted")),
        ("broken.yaml", "- {resource: a/b}".to_owned()),
        ("typo.yaml", "- {resource: a/b, id: x, heath: Healthy}".to_owned()),
        ("object.yaml", "{a: b}".to_owned()),
        ("escape.yaml", "- {resource: example.com/gpu, id: \"\\e[31mred\"}".to_owned()),
        ("one.yaml", pod(1, 1, gpu)),
    ])
}

fn ask(folder: &Path, line: &str) -> Ran {
    kq(&format!("devices plan {line}")).within(folder).run()
}

#[test]
fn containers_get_devices_in_their_order() {
    let folder = files();
    kq("devices plan more.yaml --devices devices.yaml -o wide").within(folder.path()).shows(str![[
        r#"
CONTAINER     RESOURCE          NEED   DEVICES                              NUMA   REASON
warm (init)   example.com/gpu   2      2 of (gpu-0, gpu-1, gpu-2, gpu-3)    0,1?   4 free; what the plugin prefers is not known
app           example.com/gpu   3      gpu-0, gpu-1 + 1 of (gpu-2, gpu-3)   0,1    2 left by init containers; 2 free; what the plugin prefers is not known

before
RESOURCE          HEALTHY   UNHEALTHY   IN USE   FREE
example.com/gpu   4         1           0        4

topology manager: policy none, scope container, NUMA nodes 0,1
shop/train warm: leaves gpu-0, gpu-1 of example.com/gpu to the next container
--- stderr
assumed: no device is in use (--checkpoint)
assumed: what the plugins of example.com/gpu prefer is not known, so it may be any device of the set (--ask-plugin)
assumed: for what follows a choice, the first of its set by id are taken
--- exit 0

"#
    ]]);
}

#[test]
fn what_is_refused_is_told_in_the_words_of_the_kubelet() {
    let folder = files();
    let unavailable = "requested number of devices unavailable for example.com/gpu. Requested: ";
    for (line, code, expected) in [
        ("many.yaml", 1, format!("{unavailable}5, Available: 4")),
        (
            "more.yaml --unhealthy gpu-0 --unhealthy gpu-1",
            1,
            format!("{unavailable}1, Available: 0"),
        ),
        ("two.yaml --unhealthy example.com/gpu=gpu-0", 0, "2 of (gpu-1, gpu-2, gpu-3)".to_owned()),
        (
            "more.yaml --topology-manager-policy restricted",
            1,
            "Resources cannot be allocated with Topology locality".to_owned(),
        ),
        ("two.yaml --topology-manager-policy restricted", 0, "2 aligned, 2 not".to_owned()),
        (
            "two.yaml --topology-manager-policy single-numa-node --topology-manager-scope pod",
            0,
            "2 aligned, 2 not".to_owned(),
        ),
        (
            "other.yaml",
            1,
            "no plugin offers it: the scheduler does not place the pod here".to_owned(),
        ),
    ] {
        let ran = ask(folder.path(), &format!("{line} --devices devices.yaml"));
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stdout.contains(&expected), "{line}: {}", ran.text());
    }
}

#[test]
fn a_plan_is_a_value() {
    let folder = files();
    let ran = ask(folder.path(), "many.yaml --devices devices.yaml -o json");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let plan: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(plan["apiVersion"], "kq/v1");
    assert_eq!(plan["kind"], "DevicePlan");
    let pod = &plan["pods"][0];
    assert_eq!(pod["admitted"], false);
    assert_eq!(pod["reason"], "UnexpectedAdmissionError");
    assert_eq!(
        pod["message"],
        "Allocate failed due to requested number of devices unavailable for example.com/gpu. \
         Requested: 5, Available: 4, which is unexpected"
    );
    assert_eq!(pod["uid"], "kq-1");
    assert_eq!(pod["containers"][0]["resources"][0]["outcome"], "refused");
    assert_eq!(plan["resources"]["example.com/gpu"]["unhealthy"], 1);
}

#[test]
fn pods_of_a_file_follow_each_other() {
    let folder = files();
    let ran = ask(folder.path(), "both.yaml --devices devices.yaml -o json");
    let plan: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let admitted: Vec<&Value> =
        plan["pods"].as_array().expect("pods").iter().map(|pod| &pod["admitted"]).collect();
    assert_eq!(admitted, [&json!(true), &json!(false)], "the second finds one device");
    assert_eq!(ran.code, 1);
}

#[test]
fn a_node_gives_what_is_free() {
    let folder = files();
    let ran = ask(folder.path(), "widget.yaml --snapshot node.json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("1 of (w0, w1)"), "w2 and w3 are in use: {}", ran.stdout);

    let ran = ask(folder.path(), "default/one --snapshot node.json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("recorded already"), "{}", ran.text());

    let ran = ask(folder.path(), "default/one --snapshot node.json --unhealthy w3");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("previously allocated devices are no longer healthy"));

    let ran = ask(folder.path(), "default/gadget2 --snapshot node.json");
    assert_eq!(ran.code, 1, "the plugin is gone: {}", ran.text());
    assert!(ran.stdout.contains("no healthy devices present; cannot allocate unhealthy devices"));
}

#[test]
fn running_containers_survive_a_restart_and_others_do_not() {
    let folder = files();
    let ran = ask(folder.path(), "--kubelet-restart --snapshot node.json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(ran.stdout.matches("its container runs and is left alone").count(), 4);
    assert!(ran.stderr.contains("assumed: the kubelet admits the pods before"), "{}", ran.stderr);

    let ran = ask(folder.path(), "widget.yaml --kubelet-restart --snapshot node.json");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("no healthy devices present"), "{}", ran.stdout);
}

#[test]
fn a_running_container_keeps_its_unhealthy_device() {
    let folder = files();
    let ran = ask(folder.path(), "--unhealthy w3 --snapshot node.json -o json");
    let plan: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(plan["changes"][0]["allocatableBefore"], 4);
    assert_eq!(plan["changes"][0]["allocatableAfter"], 3);
    let pods = plan["pods"].as_array().expect("pods");
    assert_eq!(pods.len(), 1, "nobody else has it: {}", ran.stdout);
    assert_eq!(pods[0]["name"], "one");
    assert_eq!(pods[0]["outlook"]["verdict"], "refusedAnew");
    assert_eq!(pods[0]["outlook"]["held"][0]["fate"], "keeps");
    assert_eq!(pods[0]["outlook"]["held"][0]["unhealthy"], json!(["w3"]));

    let ran = ask(folder.path(), "--unhealthy w0 --snapshot node.json");
    assert_eq!(ran.code, 0, "nobody has it: {}", ran.text());
    assert!(ran.stdout.contains("allocatable 4 -> 3"), "{}", ran.stdout);
}

#[test]
fn what_the_running_kubelet_says_is_in_use_is_in_use() {
    let folder = files();
    let files = "--pod-resources pod-resources.json --pods pods.json";
    let ran = ask(folder.path(), &format!("widget.yaml --checkpoint old {files} -o json"));
    let plan: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(plan["resources"]["example.com/widget"]["allocated"], 3, "{}", ran.stdout);
    assert!(plan["warnings"].to_string().contains("the checkpoint does not have"), "{plan}");

    let ran = ask(folder.path(), &format!("--kubelet-restart --checkpoint damaged {files}"));
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("forgotten: a kubelet that starts"), "{}", ran.stdout);
}

#[test]
fn a_misspelt_resource_is_guessed() {
    let folder = files();
    let ran = ask(folder.path(), "wigdet.yaml --snapshot node.json");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("did you mean example.com/widget?"), "{}", ran.stdout);
}

#[test]
fn what_is_wrong_is_named() {
    let folder = files();
    let hint = "hint: a list is expected";
    for (line, code, expected) in [
        ("", 2, "POD|FILE"),
        (
            "two.yaml --devices devices.yaml --unhealthy gpu-9",
            2,
            "--unhealthy gpu-9: no device has",
        ),
        (
            "two.yaml --devices devices.yaml --unhealthy gpu-0 --kubelet-restart",
            2,
            "cannot be used",
        ),
        ("two.yaml --devices broken.yaml", 2, "device 1: missing field `id`"),
        ("two.yaml --devices typo.yaml", 2, "device 1: unknown field `heath`"),
        ("two.yaml --devices object.yaml", 2, hint),
        ("two.yaml --devices absent.yaml", 3, "absent.yaml"),
        ("absent.yaml --devices devices.yaml", 3, "absent.yaml"),
        (
            "two.yaml --devices devices.yaml --topology-manager-policy some",
            2,
            "\"some\" is none of",
        ),
        ("two.yaml --devices devices.yaml --ask-plugin gpu.sock", 2, "expected RESOURCE=SOCKET"),
        (
            "two.yaml --devices devices.yaml --ask-plugin example.com/gpu=absent.sock",
            3,
            "--ask-plugin example.com/gpu=absent.sock",
        ),
        ("default/none --snapshot node.json", 3, "no pod default/none on this node"),
    ] {
        let ran = ask(folder.path(), line);
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.stderr);
    }
    let ran = ask(folder.path(), "one.yaml --devices escape.yaml");
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
}
