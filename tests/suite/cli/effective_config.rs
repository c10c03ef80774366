//! The thresholds and reservations that a kubelet has, by where its configuration comes from.

use super::{folder_with, kq};
use serde_json::{Value, json};

const TYPE: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const CAPACITY: &str = "--capacity cpu=4,memory=16Gi,ephemeral-storage=100Gi";

/// Returns the row of a resource without its spaces.
fn row(table: &str, resource: &str) -> Vec<String> {
    let line = table.lines().find(|line| line.starts_with(resource));
    let line = line.unwrap_or_else(|| panic!("no {resource}: {table}"));
    line.split_whitespace().map(str::to_owned).collect()
}

/// Returns what a running kubelet says of itself, changed.
fn configz(change: impl FnOnce(&mut Value)) -> String {
    let file = super::repository().join("examples/node/configz.json");
    let text = std::fs::read_to_string(file).expect("a file");
    let mut answer: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut answer["kubeletconfig"]);
    answer.to_string()
}

#[test]
fn what_a_running_kubelet_leaves_out_is_empty() {
    let without = |field: &'static str| {
        configz(move |it| {
            it.as_object_mut().expect("fields").remove(field);
        })
    };
    let merged = configz(|it| {
        it["mergeDefaultEvictionSettings"] = json!(true);
        it["evictionHard"] = json!({ "memory.available": "1Gi" });
    });
    let part = json!({ "kubeletconfig": { "maxPods": 50 } }).to_string();
    let folder = folder_with(&[
        ("no-hard.json", without("evictionHard")),
        ("no-keys.json", without("enforceNodeAllocatable")),
        ("merged.json", merged),
        ("part.json", part),
    ]);
    let ask = |line: &str| kq(line).within(folder.path()).run().stdout;
    let allocatable = |file: &str| ask(&format!("allocatable --kubelet-config {file} {CAPACITY}"));
    assert_eq!(row(&allocatable("no-hard.json"), "memory")[4], "-");
    assert_eq!(row(&allocatable("no-hard.json"), "ephemeral-storage")[4], "-");
    assert_eq!(row(&allocatable("merged.json"), "memory")[4], "1Gi");
    assert_eq!(row(&allocatable("merged.json"), "ephemeral-storage")[4], "-");
    // What was cut by hand is no whole answer.
    assert_eq!(row(&allocatable("part.json"), "memory")[4], "100Mi");
    let plan =
        ask("cgroup plan --kubelet-config no-keys.json --capacity cpu=4,memory=16Gi,pid=32768 \
         --cgroup-version 2");
    assert!(row(&plan, "kubepods").contains(&"16Gi".to_owned()), "{plan}");
}

#[test]
fn default_thresholds_are_merged_before_the_drop_ins() {
    let folder = folder_with(&[
        ("a.yaml", format!("{TYPE}evictionHard: {{memory.available: 1Gi}}\n")),
        ("a.d/a.conf", format!("{TYPE}mergeDefaultEvictionSettings: true\n")),
        (
            "b.yaml",
            format!(
                "{TYPE}mergeDefaultEvictionSettings: true\nevictionHard: {{memory.available: 1Gi}}\n"
            ),
        ),
        ("b.d/a.conf", format!("{TYPE}evictionHard: {{nodefs.available: null}}\n")),
    ]);
    for name in ["a", "b"] {
        let line = format!(
            "allocatable --kubelet-config {name}.yaml --kubelet-config-dir {name}.d {CAPACITY}"
        );
        let table = kq(&line).within(folder.path()).run().stdout;
        assert_eq!(row(&table, "ephemeral-storage")[4], "-", "{name}: {table}");
        assert_eq!(row(&table, "memory")[4], "1Gi", "{name}: {table}");
    }
}

#[test]
fn a_kubelet_without_a_file_has_no_thresholds() {
    let unit = |flags: &str| {
        format!(
            "[Service]\nExecStart=/usr/bin/kubelet --kubeconfig=/etc/kubernetes/kubelet.conf {flags}\n"
        )
    };
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" },
        "status": { "capacity": { "cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi" },
            "nodeInfo": { "kubeletVersion": "v1.36.2" } } });
    let place = "etc/systemd/system/kubelet.service";
    let folder = folder_with(&[
        ("node.json", node.to_string()),
        (&*format!("flags/{place}"), unit("--max-pods=77")),
        (&*format!("drop-ins/{place}"), unit("--config-dir=/var/lib/kubelet/d")),
        (
            "drop-ins/var/lib/kubelet/d/a.conf",
            format!("{TYPE}evictionHard: {{memory.available: 1Gi}}\n"),
        ),
        (&*format!("file/{place}"), unit("--config=/var/lib/kubelet/config.yaml")),
        ("file/var/lib/kubelet/config.yaml", TYPE.to_owned()),
    ]);
    for (root, memory, disk) in
        [("flags", "-", "-"), ("drop-ins", "1Gi", "-"), ("file", "100Mi", "10737418400")]
    {
        let line = format!("allocatable --host-root {root} --node-file node.json");
        let table = kq(&line).within(folder.path()).run().stdout;
        assert_eq!(row(&table, "memory")[4], memory, "{root}: {table}");
        assert_eq!(row(&table, "ephemeral-storage")[4], disk, "{root}: {table}");
    }
}
