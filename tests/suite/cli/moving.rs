//! `kq cgroup diff` and `doctor` on a node that changes while they look, on one with missing facts, and on
//! one whose kubelet asks for no place.

use super::fake_node::FakeNode;
use super::{Run, kq};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const POD: &str = "/kubepods/burstable/podaaaa-1";
const APP: &str = "/kubepods/burstable/podaaaa-1/app1";

/// Returns what is not as planned: verdict, cgroup, file.
#[track_caller]
fn differing(run: Run) -> (Vec<String>, Vec<String>, i32) {
    let ran = run.run();
    let report: Value = ran.answer();
    let word = |item: &Value, field: &str| item[field].as_str().unwrap_or("-").to_owned();
    let items = report["items"].as_array().expect("a comparison has items").iter();
    let found = items.filter(|item| !matches!(&*word(item, "verdict"), "MATCH" | "ROUNDED"));
    let found: Vec<&Value> = found.collect();
    let lines =
        found.iter().map(|item| ["verdict", "cgroup", "file"].map(|it| word(item, it)).join(" "));
    let reasons = found.iter().map(|item| word(item, "reason"));
    (lines.collect(), reasons.collect(), ran.code)
}

/// Says at its end, however that comes, that nothing has to change any more.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn what_changes_from_look_to_look_is_no_drift() {
    let node = FakeNode::as_planned();
    let is_over = AtomicBool::new(false);
    let wrong = thread::scope(|scope| {
        scope.spawn(|| {
            // A pod of which nobody knows comes and goes, and a value is never the same twice.
            for turn in 1.. {
                let orphan = format!("/kubepods/besteffort/podcccc-{turn}");
                node.set(&orphan, "cpu.weight", "1");
                node.set(POD, "pids.max", &(100 + turn).to_string());
                thread::sleep(Duration::from_millis(120));
                fs::remove_dir_all(node.file(&orphan, "cpu.weight").parent().expect("a folder"))
                    .expect("it can be removed");
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let _over = Over(&is_over);
        let mut wrong = Vec::new();
        for _ in 0..3 {
            let (found, reasons, code) = differing(node.described("cgroup diff -o json"));
            let is_sure = |line: &&String| !line.starts_with("CHANGING ");
            wrong.extend(found.iter().filter(is_sure).cloned());
            assert!(!found.is_empty(), "something is always in motion");
            assert!(
                reasons.iter().all(|it| it.contains("changed between two looks")),
                "{reasons:?}"
            );
            wrong.extend((code != 0).then(|| format!("code {code}")));
        }
        let ran = node.described("doctor -o json").run();
        let report: Value = ran.answer();
        for check in report["items"].as_array().expect("checks") {
            if ["orphaned-pods", "cgroup-values"]
                .contains(&check["name"].as_str().unwrap_or_default())
            {
                wrong.extend((check["status"] == "FAIL").then(|| check.to_string()));
            }
        }
        let ran = node.described("cgroup apply --dry-run").run();
        wrong.extend((!ran.stdout.starts_with("nothing to write")).then_some(ran.stdout));
        wrong
    });
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_differs_twice_is_drift() {
    let node = FakeNode::as_planned();
    node.set(POD, "pids.max", "7");
    node.set("/kubepods/besteffort/podcccc-1", "cpu.weight", "1");
    let (found, _, code) = differing(node.described("cgroup diff -o json"));
    let expected =
        [format!("DRIFT {POD} pids.max"), "EXTRA /kubepods/besteffort/podcccc-1 -".to_owned()];
    assert_eq!((found, code), (expected.to_vec(), 1));
}

#[test]
fn a_stored_node_is_one_look_and_says_so() {
    let node = FakeNode::as_planned();
    node.set(POD, "pids.max", "7");
    let ran = node.with_pods("snapshot -o node.json").run();
    assert!(node.folder().join("node.json").exists(), "{}", ran.stderr);
    let line = "cgroup diff --snapshot node.json --kubelet-config kubelet.yaml --pods pods.json \
                --kubelet-version 1.36 --runtime runc=1.3.6";
    let ran = kq(line).within(node.folder()).run();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("the node was read once"), "{}", ran.stderr);
}

/// Prepares a command on a node of whose kubelet no source tells the configuration.
fn without_configuration(node: &FakeNode, line: &str) -> Run {
    let run = kq(line).within(node.folder()).arg("--host-root").arg("root");
    let run = run.arg("--kubelet-url").arg("http://127.0.0.1:1").arg("--pods").arg("pods.json");
    run.arg("--kubelet-version").arg("1.36").arg("--runtime").arg("runc=1.3.6")
}

#[test]
fn without_the_configuration_what_rests_on_it_is_unknown() {
    let node = FakeNode::as_planned();
    for (cgroup, file, text) in [
        (POD, "pids.max", "7"),
        ("/kubepods", "memory.max", "4096000"),
        (APP, "cpu.max", "1000 100000"),
        ("/kubepods/burstable", "memory.low", "1000"),
    ] {
        node.set(cgroup, file, text);
    }
    let (found, reasons, code) = differing(without_configuration(&node, "cgroup diff -o json"));
    assert_ne!(code, 1, "nothing is known to drift");
    assert!(found.iter().all(|line| line.starts_with("UNKNOWN ")), "{found:#?}");
    for expected in [
        format!("UNKNOWN {POD} pids.max"),
        format!("UNKNOWN {APP} cpu.max"),
        "UNKNOWN /kubepods memory.max".to_owned(),
        "UNKNOWN /kubepods/burstable memory.low".to_owned(),
    ] {
        assert!(found.contains(&expected), "{expected}: {found:#?}");
    }
    assert!(
        reasons
            .iter()
            .all(|it| it.contains("configuration is not known") && it.contains("--kubelet-config")),
        "{reasons:#?}"
    );
    // What the pods say themselves is known.
    node.set(POD, "cpu.weight", "77");
    let (found, ..) = differing(without_configuration(&node, "cgroup diff -o json"));
    assert!(found.contains(&format!("DRIFT {POD} cpu.weight")), "{found:#?}");
    // A flag gives a field.
    let run =
        without_configuration(&node, "cgroup diff -o json").arg("--set").arg("podPidsLimit=100");
    let (found, ..) = differing(run);
    assert!(found.contains(&format!("DRIFT {POD} pids.max")), "{found:#?}");
    let ran = without_configuration(&node, "cgroup apply --yes").run();
    assert_eq!(ran.code, 4, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(node.get(POD, "pids.max"), "7");
    let ran = without_configuration(&node, "cgroup plan --live -o json").run();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let planned: Value = ran.answer();
    let names = |list: &str| -> Vec<String> {
        let items = planned[list].as_array().expect("a list").iter();
        items
            .map(|it| {
                format!(
                    "{} {}",
                    it["cgroup"].as_str().unwrap_or("-"),
                    it["file"].as_str().unwrap_or("-")
                )
            })
            .collect()
    };
    assert!(
        names("unknown").contains(&"/kubepods memory.max".to_owned()),
        "{:?}",
        names("unknown")
    );
    assert!(!names("items").contains(&"/kubepods memory.max".to_owned()));
}

#[test]
fn a_sum_over_some_of_the_pods_is_unknown_at_every_level() {
    let node = FakeNode::as_planned();
    let pods: Value =
        serde_json::from_str(&fs::read_to_string(node.folder().join("pods.json")).expect("a file"))
            .expect("JSON");
    let manifests = node.root().join("etc/kubernetes/manifests");
    fs::create_dir_all(&manifests).expect("a folder");
    let mut pod = pods["items"][0].clone();
    pod["status"] = json!({});
    fs::write(manifests.join("web.json"), pod.to_string()).expect("a file");
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
staticPodPath: /etc/kubernetes/manifests
featureGates: {MemoryQoS: true}
memoryReservationPolicy: TieredReservation
";
    fs::write(node.folder().join("kubelet.yaml"), config).expect("a file");
    node.set("/kubepods", "memory.min", "335544320");
    node.set("/kubepods/burstable", "memory.low", "335544320");
    node.set("/kubepods/burstable", "cpu.weight", "77");
    let run = |line: &str| {
        node.kq(line)
            .arg("--pods-from")
            .arg("static")
            .arg("--kubelet-version")
            .arg("1.36")
            .arg("--runtime")
            .arg("runc=1.3.6")
    };
    let (found, reasons, _) = differing(run("cgroup diff -o json"));
    for expected in [
        "UNKNOWN /kubepods memory.min",
        "UNKNOWN /kubepods/burstable memory.low",
        "UNKNOWN /kubepods/burstable cpu.weight",
    ] {
        let at = found.iter().position(|line| line == expected);
        let at = at.unwrap_or_else(|| panic!("{expected}: {found:#?}"));
        assert!(reasons[at].contains("may not have all pods"), "{expected}: {}", reasons[at]);
    }
    let ran = run("cgroup apply --dry-run").run();
    let steps = ["/kubepods ", "/kubepods/burstable "].iter().any(|path| {
        ran.stdout.lines().any(|line| {
            format!("{} ", line.trim_end()).ends_with(&format!(" {path}"))
                && line.contains("memory.")
        })
    });
    assert!(!steps, "{}", ran.stdout);
}

#[test]
fn without_a_parent_the_place_is_the_runtimes() {
    let node = FakeNode::as_planned();
    let config = fs::read_to_string(node.folder().join("kubelet.yaml")).expect("a file");
    let config = format!("{config}cgroupsPerQOS: false\nenforceNodeAllocatable: []\n");
    fs::write(node.folder().join("kubelet.yaml"), config).expect("a file");
    for id in ["app1", "log1", "job1"] {
        node.set(&format!("/k8s.io/{id}"), "cpu.weight", "39");
    }
    let (found, reasons, code) = differing(node.described("cgroup diff -o json"));
    assert_eq!(found.len(), 3, "one for each container: {found:#?}");
    assert!(found.iter().all(|line| line.starts_with("UNKNOWN ")), "{found:#?}");
    assert!(reasons.iter().all(|it| it.contains("the runtime decides the place")), "{reasons:#?}");
    assert_ne!(code, 1);
    let ran = node.described("doctor -o json").run();
    let report: Value = ran.answer();
    let failed =
        report["items"].as_array().expect("checks").iter().filter(|it| it["status"] == "FAIL");
    let failed: Vec<&Value> = failed.filter(|it| it["name"] != "cgroup-version").collect();
    assert_eq!(failed, Vec::<&Value>::new());
}
