//! Resizes that wait, and what makes room for them.

use super::{folder_with, kq, repository};
use kq_facts::checkpoint::pod_allocation;
use serde_json::Value;

/// Returns a folder with a node of 4 CPUs, where the resize of a pod from 1 CPU to 3 waits for room.
fn waiting() -> tempfile::TempDir {
    let case = repository().join("tests/cases/start-tls-min-version");
    let node = std::fs::read_to_string(case.join("node.json")).expect("the node");
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\n";
    let status = |allocated: &str, limits: &str| {
        format!(
            "status:\n  phase: Running\n  containerStatuses:\n  - {{name: app, state: {{running: {{}}}}, allocatedResources: \
             {{{allocated}}}, resources: {{requests: {{{allocated}}}, limits: {{{limits}}}}}}}\n"
        )
    };
    let pods = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: api-0, namespace: shop, uid: u1, creationTimestamp: \
         \"2026-10-02T08:00:00Z\", generation: 2}}\nspec:\n  nodeName: node-1\n  containers:\n  - name: app\n    image: i\n    \
         resizePolicy: [{{resourceName: cpu, restartPolicy: RestartContainer}}]\n    resources: {{requests: {{cpu: 3, memory: \
         1Gi}}, limits: {{cpu: 3, memory: 2Gi}}}}\n{}  conditions:\n  - {{type: PodResizePending, status: \"True\", reason: \
         Deferred, message: \"Node didn't have enough resource: cpu\"}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {{name: b, \
         namespace: shop, uid: u2, creationTimestamp: \"2026-10-02T08:01:00Z\"}}\nspec:\n  nodeName: node-1\n  containers:\n  \
         - {{name: app, image: i, resources: {{requests: {{cpu: 2, memory: 1Gi}}}}}}\n{}",
        status("cpu: 1, memory: 1Gi", "cpu: 1, memory: 2Gi"),
        status("cpu: 2, memory: 1Gi", ""),
    );
    folder_with(&[("node.json", node), ("base.yaml", config.to_owned()), ("pods.yaml", pods)])
}

const GIVEN: &str =
    "--pods pods.yaml --kubelet-config base.yaml --node-file node.json --cgroup-version 2";

#[test]
fn a_resize_that_waits_is_tried_again_when_there_is_room() {
    let folder = waiting();
    for (changes, is_granted) in [
        ("remove shop/b", true),
        ("remove shop/b kubelet-restart", true),
        ("resize shop/b cpu=1", true),
        ("kubelet-restart", false),
        // What it has already.
        ("resize shop/api-0 cpu=1,cpu-limit=1", false),
    ] {
        let ran = kq(&format!("what-if {changes} {GIVEN}")).within(folder.path()).run();
        let restarts = ran.stdout.contains("app restarts: its resizePolicy for cpu");
        assert_eq!(
            (restarts, ran.code),
            (is_granted, i32::from(is_granted)),
            "{changes}: {}",
            ran.text()
        );
    }
}

#[test]
fn doctor_names_a_resize_that_waits() {
    let folder = waiting();
    let ran = kq(&format!("doctor -o json {GIVEN}")).within(folder.path()).run();
    let answer: Value = ran.answer();
    let items = answer["items"].as_array().expect("findings");
    let found: Vec<&str> = items
        .iter()
        .filter(|it| it["id"] == "stuck-pods" && it["subject"]["pod"] == "shop/api-0")
        .filter_map(|it| it["found"].as_str())
        .collect();
    assert_eq!(found, ["its resize waits for room: Node didn't have enough resource: cpu"]);
}

#[test]
fn a_resize_that_waits_hides_no_restart() {
    let node = "--snapshot examples/night/worker-3.json";
    let count = |changes: &str| {
        let answer: Value = kq(&format!("what-if {changes} -o json {node}")).run().answer();
        let pods = answer["pods"].as_array().expect("pods");
        pods.iter().filter(|pod| pod["result"] == "restarts").count()
    };
    let alone = count("reboot");
    assert!(alone > 0);
    assert_eq!(count("resize shop/cart-0 cpu=2 reboot"), alone);
}

#[test]
fn memory_comes_before_disks() {
    let node = "--snapshot examples/night/worker-3.json";
    let evicted = |changes: &str| -> Vec<String> {
        let answer: Value = kq(&format!("what-if {changes} -o json {node}")).run().answer();
        let pods = answer["pods"].as_array().expect("pods");
        let of =
            |it: &&Value| it["result"] == "evicted" || it["orElse"].to_string().contains("evicted");
        pods.iter().filter(of).map(|pod| pod["pod"].to_string()).collect()
    };
    let alone = evicted("memory-available 80Mi");
    assert!(!alone.is_empty());
    // The images are enough for the disk.
    assert_eq!(evicted("disk 96"), Vec::<String>::new());
    for both in ["memory-available 80Mi disk 96", "disk 96 memory-available 80Mi"] {
        assert_eq!(evicted(both), alone, "{both}");
    }
}

#[test]
fn a_container_that_does_not_run_has_its_new_resources_at_its_start() {
    let case = repository().join("tests/cases/start-tls-min-version");
    let node = std::fs::read_to_string(case.join("node.json")).expect("the node");
    let pods = "apiVersion: v1\nkind: Pod\nmetadata: {name: crash, namespace: shop, uid: u1}\nspec:\n  nodeName: node-1\n  \
        containers:\n  - {name: app, image: i, resources: {requests: {memory: 128Mi}, limits: {memory: 128Mi}}}\nstatus:\n  \
        phase: Running\n  containerStatuses:\n  - {name: app, state: {waiting: {reason: CrashLoopBackOff}}, allocatedResources: \
        {memory: 128Mi}, resources: {requests: {memory: 128Mi}, limits: {memory: 128Mi}}}\n";
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    let folder =
        folder_with(&[("node.json", node.as_str()), ("base.yaml", config), ("pods.yaml", pods)]);
    let line = format!("what-if resize shop/crash memory-limit=256Mi,memory=256Mi {GIVEN}");
    let ran = kq(&line).within(folder.path()).run();
    // The pod's cgroup keeps its limit: the kubelet writes it with the files of containers that run.
    assert!(!ran.stdout.contains("at resize"), "{}", ran.text());
}

#[test]
fn the_api_server_refuses_more_than_the_pod_has() {
    let case = repository().join("tests/cases/start-tls-min-version");
    let node = std::fs::read_to_string(case.join("node.json")).expect("the node");
    let pods = "apiVersion: v1\nkind: Pod\nmetadata: {name: whole, namespace: shop, uid: u1}\nspec:\n  nodeName: node-1\n  \
        resources: {requests: {cpu: 60m, memory: 48Mi}, limits: {cpu: 155m, memory: 96Mi}}\n  containers:\n  \
        - {name: a, image: i, resources: {requests: {cpu: 10m}}}\n  - {name: b, image: i}\nstatus: {phase: Running}\n";
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    let folder =
        folder_with(&[("node.json", node.as_str()), ("base.yaml", config), ("pods.yaml", pods)]);
    for (resize, refusal) in [
        ("shop/whole:a cpu-limit=200m", "must be less than or equal to pod limits of 155m"),
        ("shop/whole:a cpu=100m", "must be greater than or equal to aggregate container requests"),
        ("shop/whole:a memory-limit=1Gi", "must be less than or equal to pod limits of 96Mi"),
    ] {
        let line = format!("what-if resize {resize} {GIVEN}");
        let ran = kq(&line).within(folder.path()).run();
        assert!(ran.stdout.replace('\n', " ").contains(refusal), "{resize}: {}", ran.text());
        assert_eq!(ran.code, 1, "{resize}");
    }
}

#[test]
fn a_pod_with_claims_on_the_node_is_not_resized() {
    let case = repository().join("tests/cases/start-tls-min-version");
    let node = std::fs::read_to_string(case.join("node.json")).expect("the node");
    let pods = "apiVersion: v1\nkind: Pod\nmetadata: {name: dra, namespace: shop, uid: u1}\nspec:\n  nodeName: node-1\n  \
        containers:\n  - {name: a, image: i, resources: {requests: {cpu: 100m}}}\nstatus:\n  phase: Running\n  \
        nodeAllocatableResourceClaimStatuses:\n  - {resourceClaimName: c, containers: [a], resources: {cpu: 1}}\n";
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    let folder =
        folder_with(&[("node.json", node.as_str()), ("base.yaml", config), ("pods.yaml", pods)]);
    let line = format!("what-if resize shop/dra cpu=200m {GIVEN}");
    let ran = kq(&line).within(folder.path()).run();
    assert!(
        ran.stdout.contains("pods with node allocatable resource claims cannot be resized"),
        "{}",
        ran.text()
    );
}

#[test]
fn without_the_allocations_a_kubelet_takes_the_spec() {
    let folder = waiting();
    let kubelet = folder.path().join("root/var/lib/kubelet");
    std::fs::create_dir_all(&kubelet).expect("a folder");
    let file = |cpu: &str| {
        let data = format!(
            "{{\"entries\":{{\"u1\":{{\"ContainerResources\":{{\"app\":{{\"requests\":{{\"cpu\":\"{cpu}\",\"memory\":\"1Gi\"}},\
             \"limits\":{{\"cpu\":\"{cpu}\",\"memory\":\"2Gi\"}}}}}},\"PodLevelResources\":null}}}}}}"
        );
        let file = serde_json::json!({"data": data, "checksum": 1}).to_string();
        let pods = pod_allocation::load(file.as_bytes()).shown.expect("the pods");
        pod_allocation::encode(&pods).text
    };
    std::fs::write(kubelet.join("allocated_pods_state"), file("1")).expect("a file");
    std::fs::write(kubelet.join("actuated_pods_state"), file("1")).expect("a file");
    let line = format!("what-if state-file missing allocated_pods_state --host-root root {GIVEN}");
    let ran = kq(&line).within(folder.path()).run();
    // It has 3 CPUs from now on, and its container was given 1: there is no room for the other pod.
    assert!(ran.stdout.contains("shop/api-0"), "{}", ran.text());
    assert!(ran.stdout.contains("RestartContainer"), "{}", ran.text());
}
