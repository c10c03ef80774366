//! What is known and what is not: amounts of zero, settings that nothing configures, settings that count in an answer, and
//! configurations that could not be read.

use super::Ran;
use super::next_start::ask_at_night;
use serde_json::{Value, json};

fn config(node: &mut Value) -> &mut Value {
    &mut node["kubeletConfig"]["found"]["value"]["value"]
}

/// Changes each file system of a node: in the stats, and as the kernel has it.
fn file_systems(node: &mut Value, stats: &Value, folder: &Value) {
    let merge = |into: &mut Value, from: &Value| {
        let from = from.as_object().expect("fields").clone();
        into.as_object_mut().expect("a file system").extend(from);
    };
    let of_node = &mut node["statsSummary"]["found"]["value"]["node"];
    merge(&mut of_node["fs"], stats);
    merge(&mut of_node["runtime"]["imageFs"], stats);
    merge(&mut of_node["runtime"]["containerFs"], stats);
    for place in node["folders"].as_object_mut().expect("folders").values_mut() {
        merge(&mut place["filesystem"]["found"]["value"], folder);
    }
}

fn without_inodes(node: &mut Value) {
    let stats = json!({"inodes": 0, "inodesFree": 0, "inodesUsed": 0});
    file_systems(node, &stats, &json!({"inodes": 0, "inodesFree": 0}));
    let thresholds = json!({"memory.available": "100Mi", "nodefs.available": "10%",
        "nodefs.inodesFree": "5%", "imagefs.available": "5%", "imagefs.inodesFree": "5%"});
    config(node)["evictionHard"] = thresholds;
}

fn without_capacity(node: &mut Value) {
    let stats = json!({"capacityBytes": 0, "availableBytes": 0, "usedBytes": 0});
    let folder = json!({"capacityBytes": 0, "freeBytes": 0, "availableBytes": 0});
    file_systems(node, &stats, &folder);
}

fn headline(ran: &Ran) -> String {
    let answer: Value = ran.answer();
    answer["headline"]["text"].as_str().expect("a text").to_owned()
}

#[test]
fn nothing_is_never_below_a_part_of_nothing() {
    for change in [without_inodes, without_capacity] {
        let ran = ask_at_night("evict rank -o json", change);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(!ran.text().contains("not measured"), "{}", ran.text());
    }
    // An amount is more than nothing.
    let ran = ask_at_night("evict rank -o json", |node| {
        without_capacity(node);
        config(node)["evictionHard"]["nodefs.available"] = json!("1Gi");
    });
    assert!(headline(&ran).contains("nodefs.available is crossed by 1Gi"), "{}", ran.text());
    let plan = ask_at_night("gc dry-run", without_capacity);
    assert_eq!(plan.code, 1, "{}", plan.text());
    assert!(plan.stdout.contains("stays: the collection fails"), "{}", plan.text());
    assert!(!plan.stdout.contains("no space is needed"), "{}", plan.text());
}

#[test]
fn a_kubelet_without_thresholds_evicts_for_no_signal() {
    let off = |node: &mut Value| {
        config(node)["evictionHard"] = json!({"memory.available": "0%", "nodefs.available": "0%",
            "imagefs.available": "0%"});
    };
    let ran = ask_at_night("evict rank -o json", off);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let expected = "no pod is evicted for any signal: no eviction threshold is configured";
    assert_eq!(headline(&ran), expected);
    let shown = ask_at_night("evict rank", off);
    assert!(shown.stdout.contains("this kubelet evicts no pod for any signal"), "{}", shown.text());
}

/// Puts the last heartbeat so many minutes back.
fn heartbeat(node: &mut Value, minutes: i64) {
    let conditions = &mut node["node"]["found"]["value"]["status"]["conditions"];
    for condition in conditions.as_array_mut().expect("conditions") {
        let at = 3 * 60 + 7 - minutes;
        condition["lastHeartbeatTime"] =
            json!(format!("2026-11-22T{:02}:{:02}:41Z", at / 60, at % 60));
    }
}

#[test]
fn a_heartbeat_is_stale_by_the_frequency_of_the_node() {
    let stale = "the kubelet last reported the node's status";
    for (fields, minutes, is_stale) in [
        (json!({}), 8, false),
        (json!({}), 20, true),
        (json!({"nodeStatusReportFrequency": "30m"}), 20, false),
        (json!({"nodeStatusReportFrequency": "30m"}), 65, true),
        (json!({"nodeStatusReportFrequency": "1m"}), 6, true),
        // It counts for both where it is set alone.
        (json!({"nodeStatusUpdateFrequency": "20m"}), 25, false),
        (json!({"nodeStatusUpdateFrequency": "10s"}), 6, true),
    ] {
        let ran = ask_at_night("doctor", |node| {
            heartbeat(node, minutes);
            let set = fields.as_object().expect("fields").clone();
            config(node).as_object_mut().expect("a configuration").extend(set);
        });
        assert_eq!(ran.stdout.contains(stale), is_stale, "{fields} {minutes}: {}", ran.text());
    }
}

/// Returns the pod `shop/cart-0`.
fn cart(node: &mut Value) -> &mut Value {
    let pods = node["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
    let names = pods.iter_mut().map(|it| if it.get("pod").is_some() { &mut it["pod"] } else { it });
    names.into_iter().find(|it| it["metadata"]["name"] == "cart-0").expect("the pod")
}

#[test]
fn a_crashing_container_waits_as_long_as_its_node_says() {
    for (version, fields, expected) in [
        ("v1.36.2", json!({}), "waits up to 5 minutes before each start"),
        (
            "v1.36.2",
            json!({"crashLoopBackOff": {"maxContainerRestartPeriod": "10s"}}),
            "waits up to 10s before each start",
        ),
        (
            "v1.34.1",
            json!({"featureGates": {"ReduceDefaultCrashLoopBackOffDecay": true}}),
            "waits up to 1 minute before each start",
        ),
    ] {
        let ran = ask_at_night("doctor", |node| {
            node["kubeletVersion"]["found"]["value"] = json!(version);
            let set = fields.as_object().expect("fields").clone();
            config(node).as_object_mut().expect("a configuration").extend(set);
            let state = &mut cart(node)["status"]["containerStatuses"][0]["state"];
            *state = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        });
        assert!(ran.text().contains(expected), "{fields}: {}", ran.text());
    }
}

#[test]
fn an_end_that_the_kubelet_does_not_know_is_unknown() {
    let ran = ask_at_night("why shop/cart-0", |node| {
        let status = &mut cart(node)["status"];
        status["phase"] = json!("Failed");
        status["containerStatuses"][0]["state"] =
            json!({"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}});
    });
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(!ran.stdout.contains("ended by itself"), "{}", ran.text());
    assert!(ran.text().contains("the kubelet did not find out"), "{}", ran.text());
}

#[test]
fn a_resize_that_fails_has_a_finding() {
    let fails = |node: &mut Value| {
        cart(node)["status"]["conditions"] = json!([{"type": "PodResizeInProgress",
            "status": "True", "reason": "Error", "message": "cannot decrease memory limits"}]);
    };
    let expected = "its resize fails: cannot decrease memory limits";
    for line in ["doctor", "doctor shop/cart-0", "why shop/cart-0"] {
        let ran = ask_at_night(line, fails);
        assert!(ran.stdout.contains(expected), "{line}: {}", ran.text());
    }
}

#[test]
fn the_threshold_of_the_pods_goes_with_their_limit() {
    let line = "what-if set enforceNodeAllocatable=none";
    let ran = ask_at_night(line, |_| ());
    assert_eq!(ran.code, 1, "{}", ran.text());
    let expected = "no threshold of eviction any more: allocatableMemory.available";
    assert!(ran.stdout.contains(expected), "{}", ran.text());
}

#[test]
fn the_cpu_manager_moves_containers_after_its_period() {
    for (period, expected) in [("60s", "within 1m1s"), ("10s", "within 11s")] {
        let set = format!("set cpuManagerReconcilePeriod={period}");
        let change = if period == "10s" { "" } else { set.as_str() };
        let line = format!(
            "what-if set cpuManagerPolicy=static {change} state-file missing cpu_manager_state"
        );
        let ran = ask_at_night(&line, |_| ());
        assert!(ran.stdout.contains(expected), "{}", ran.text());
    }
}

fn unknown() -> Value {
    json!({"found": null, "tried": [{"source": "x", "reason": "connection refused"}]})
}

#[test]
fn images_are_not_judged_for_certain_by_default_settings() {
    let without = |node: &mut Value| node["kubeletConfig"] = unknown();
    let image = "shop.example/train:cuda-11";
    for line in ["gc dry-run".to_owned(), format!("gc explain {image}")] {
        let ran = ask_at_night(&line, without);
        assert_eq!(ran.code, 3, "{}", ran.text());
        let sure = ran.stdout.lines().filter(|it| it.contains("certain"));
        // An image in use stays in any case.
        let sure: Vec<&str> =
            sure.filter(|it| !it.contains("IN-USE") && !it.contains("PINNED")).collect();
        assert!(sure.is_empty(), "{line}: {sure:?}");
        assert!(ran.stdout.contains("possible"), "{line}: {}", ran.text());
    }
    let doctor = ask_at_night("doctor", without);
    let unknown = doctor.stdout.lines().any(|it| {
        it.starts_with("UNKNOWN")
            && it.contains("image-gc")
            && it.contains("thresholds are unknown")
    });
    assert!(unknown, "{}", doctor.text());
    let plan = ask_at_night("gc dry-run -o json", without);
    assert!(headline(&plan).starts_with("with the default settings, "), "{}", plan.text());
}

#[test]
fn a_crossed_threshold_comes_before_the_periodic_collection() {
    let crossed =
        |node: &mut Value| config(node)["evictionHard"]["imagefs.available"] = json!("15%");
    let expected = "imagefs.available is crossed now: the eviction manager removes unused images";
    for line in ["gc dry-run", "gc explain shop.example/report:8"] {
        let ran = ask_at_night(line, crossed);
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
        assert!(!ran.stdout.contains("TARGET-REACHED   certain"), "{}", ran.text());
        assert!(!ran.stdout.contains("TARGET-REACHED (certain"), "{}", ran.text());
        let calm = ask_at_night(line, |_| ());
        assert!(!calm.stderr.contains("is crossed now"), "{line}: {}", calm.text());
    }
}

#[test]
fn a_fix_names_the_flags_of_what_is_missing() {
    let ran = ask_at_night("doctor", |node| node["pods"] = unknown());
    let fix = ran.stderr.lines().find(|it| it.starts_with("fix: eviction:"));
    assert!(fix.is_some_and(|it| it.contains("--pods")), "{}", ran.text());
    let ran = ask_at_night("doctor", |node| node["kubeletConfig"] = unknown());
    let fix = ran.stderr.lines().find(|it| it.starts_with("fix: kubelet-restart:"));
    let names = |it: &str| it.contains("--kubelet-config") && !it.contains("--pods");
    assert!(fix.is_some_and(names), "{}", ran.text());
}
