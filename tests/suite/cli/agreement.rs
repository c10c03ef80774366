//! Commands that answer one question in several ways: they say the same.

use super::kq;
use serde_json::{Value, json};

const NODE: &str = "--snapshot examples/night/worker-3.json";

/// Returns the texts of the findings of a rule.
fn found(answer: &Value, rule: &str) -> Vec<String> {
    let items = answer["items"].as_array().expect("findings").iter();
    let of_rule = items.filter(|it| it["id"] == rule);
    of_rule.map(|it| it["found"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn a_soft_threshold_refuses_pods_at_a_start_in_every_command() {
    let soft = "evictionSoft={\"nodefs.available\":\"20%\"}";
    let grace = "evictionSoftGracePeriod={\"nodefs.available\":\"90s\"}";
    let set =
        |line: &str| kq(&format!("{line} {NODE}")).arg("--set").arg(soft).arg("--set").arg(grace);
    let admitted: Value = set("admit explain --kubelet-restart -o json").run().answer();
    let items = admitted["items"].as_array().expect("pods");
    let refused: Vec<&str> = items
        .iter()
        .filter(|it| it["result"] == "refused")
        .map(|it| it["pod"].as_str().expect("a name"))
        .collect();
    assert_eq!(refused.len(), 7, "{admitted}");
    let doctor: Value = set("doctor -o json").run().answer();
    assert_eq!(found(&doctor, "kubelet-restart").len(), 7, "{doctor}");
    let what_if: Value = kq(&format!("what-if -o json {NODE}"))
        .arg("set")
        .arg(soft)
        .arg("set")
        .arg(grace)
        .run()
        .answer();
    let ended = what_if["pods"].as_array().expect("pods").iter();
    let ended: Vec<&str> = ended
        .filter(|it| it["result"] == "refused")
        .map(|it| it["pod"].as_str().expect("a name"))
        .collect();
    assert_eq!(ended.len(), 7, "{what_if}");
    assert!(refused.iter().all(|pod| ended.contains(pod)), "{refused:?} {ended:?}");
}

#[test]
fn images_that_are_too_young_after_a_start_free_no_disk() {
    let ran = kq(&format!("what-if set imageMinimumGCAge=48h disk 95 {NODE}")).run();
    assert!(ran.stdout.contains("removes no image"), "{}", ran.text());
    assert!(!ran.text().contains("unused images (7.2Gi)"), "{}", ran.text());
}

#[test]
fn an_image_is_removed_once() {
    // The eviction manager removes all unused images first; a collection finds none then.
    let answer: Value = kq(&format!("what-if disk 95 -o json {NODE}")).run().answer();
    let [collection] = &found(&answer, "image-gc")[..] else { panic!("{answer}") };
    assert!(collection.contains("(89% of") && collection.contains("freed 0 bytes"), "{collection}");
}

#[test]
fn what_is_too_old_goes_before_the_disk_is_measured() {
    for line in ["gc dry-run", "doctor"] {
        let ran = kq(&format!("{line} --set imageMaximumGCAge=48h {NODE}")).run();
        assert!(!ran.text().contains("Insufficient free disk space"), "{}", ran.text());
    }
    let plan: Value =
        kq(&format!("gc dry-run --set imageMaximumGCAge=48h -o json {NODE}")).run().answer();
    assert_eq!(plan["run"]["usage"]["percent"], 80, "{plan}");
    assert_eq!(plan["run"]["wantsSpace"], json!(false), "{plan}");
    // Whether the age pass runs decides whether space is still needed: without the kubelet's start, that is open.
    let text = std::fs::read_to_string("examples/night/worker-3.json");
    let mut without: Value = serde_json::from_str(&text.expect("the example")).expect("JSON");
    without["kubelet"]["found"] = Value::Null;
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("snapshot.json");
    std::fs::write(&path, without.to_string()).expect("a file");
    let node = format!("--snapshot {}", path.display());
    let ran = kq(&format!("gc dry-run --set imageMaximumGCAge=48h {node}")).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("what they free is unknown"), "{}", ran.text());
    let change = "set imageMaximumGCAge=1h set imageGCHighThresholdPercent=100";
    let answer: Value = kq(&format!("what-if {change} -o json {NODE}")).run().answer();
    let [aged] = &found(&answer, "image-gc")[..] else { panic!("{answer}") };
    assert!(aged.contains("5 images"), "{aged}");
}

#[test]
fn processes_and_inodes_are_counted() {
    for (threshold, text) in [
        (
            "evictionHard={\"pid.available\":\"99.9%\"}",
            "126389 available, below the threshold of 126873",
        ),
        (
            "evictionHard={\"nodefs.inodesFree\":\"90%\"}",
            "5100000 available, below the threshold of 5898239",
        ),
    ] {
        let ran = kq(&format!("what-if {NODE}")).arg("set").arg(threshold).run();
        assert!(ran.stdout.contains(text), "{}", ran.text());
    }
}

#[test]
fn a_change_that_changes_nothing_is_refused() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {}\n";
    let ran = kq(&format!("what-if add - {NODE}")).stdin(service).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.text());
    assert!(ran.stderr.contains("Service x carries no pods"), "{}", ran.text());
    let ran = kq(&format!("what-if memory-available 100Gi {NODE}")).run();
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("the node has 15.6Gi"), "{}", ran.text());
}

#[test]
fn first_tries_get_a_line_that_works() {
    for (line, hint) in [
        ("fleet ask examples doctor", "hint: kq fleet ask examples -- doctor"),
        ("what-if feature-gates MemoryQoS", "hint: kq what-if feature-gates MemoryQoS=true"),
        ("what-if disk=95", "hint: kq what-if disk 95"),
        ("what-if drain ml/train-0", "hint: kq what-if remove ml/train-0"),
    ] {
        let ran = kq(line).run();
        assert_eq!(ran.code, 2, "{}", ran.text());
        assert!(ran.stderr.contains(hint), "{}", ran.text());
        assert!(!ran.stderr.contains("bool: malformed"), "{}", ran.text());
    }
    for (condition, signal) in
        [("DiskPressure", "nodefs.available"), ("PIDPressure", "pid.available")]
    {
        let answer: Value =
            kq(&format!("evict rank --signal {condition} -o json {NODE}")).run().answer();
        assert_eq!(answer["signal"], signal);
    }
    // A hint is another line than the one that was typed.
    let ran = kq(&format!("cgroup show checkout {NODE}")).run();
    assert!(!ran.stderr.contains("hint: kq cgroup show checkout\n"), "{}", ran.text());
    assert!(ran.stderr.contains("did you mean shop/checkout-6d5f7?"), "{}", ran.text());
}

#[test]
fn pods_that_run_and_are_not_listed_are_missing() {
    let text = std::fs::read_to_string(super::repository().join("examples/night/worker-3.json"));
    let mut node: Value = serde_json::from_str(&text.expect("the example")).expect("JSON");
    node["pods"]["found"]["value"]["pods"] = json!([]);
    let folder = super::folder_with(&[("node.json", node.to_string())]);
    for line in
        ["what-if kubelet-restart", "admit explain --kubelet-restart", "evict rank", "preempt lint"]
    {
        let ran = kq(&format!("{line} --snapshot node.json")).within(folder.path()).run();
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
    }
    let ran = kq("doctor --snapshot node.json -o json").within(folder.path()).run();
    let restart = found(&ran.answer(), "kubelet-restart");
    assert!(restart.iter().any(|it| it.contains("7 others are not known")), "{restart:?}");
}
