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
