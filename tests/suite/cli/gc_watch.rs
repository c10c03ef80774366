//! `kq gc watch`: passes, the kubelet's rules for failures, and a runtime that comes and goes.

use super::gc_apply::{Node, five, image};
use super::interactive::telling;
use crate::edges::cri::world::{Changing, World};
use serde_json::Value;
use std::time::{Duration, Instant};

const RUNTIME: (&str, &str) = ("containerd", "1.7.24");

/// Full enough that everything would go, and that it would not be enough.
const FULL: &str =
    "gc watch --allow-unsure --at-usage 99% --image-fs-capacity 100Gi --interval 100ms";

fn passes(said: &str) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(said).into_iter();
    values.map(|value| value.expect("JSON")).collect()
}

#[test]
fn the_first_failure_is_logged_and_the_next_is_told_until_it_recovers() {
    // What would be enough comes with the third pass, and goes with the fourth.
    let turn = |world: &mut World, call: &str| {
        if call == "ListImages" {
            world.removed.push(String::new());
            let size = if world.removed.len() == 3 { 60 << 30 } else { 1 << 30 };
            world.images.iter_mut().for_each(|image| image.size = size);
        }
        None
    };
    let node = Node::new(Changing::new(five(), turn), RUNTIME);
    let began = Instant::now();
    let ran = node.kq(&format!("{FULL} --passes 5 -o json")).run();
    assert!(began.elapsed() >= Duration::from_millis(400), "four waits");
    assert_eq!(ran.code, 0, "{}", ran.text());
    let passes = passes(&ran.stdout);
    let told: Vec<(Option<u64>, bool, bool)> = passes
        .iter()
        .map(|pass| {
            let outcome = &pass["outcome"];
            let is_told = outcome["failedAndTold"]["reason"] == "ImageGCFailed";
            (pass["pass"].as_u64(), outcome == "succeeded", is_told)
        })
        .collect();
    assert_eq!(
        told,
        [
            (Some(1), false, false),
            (Some(2), false, true),
            (Some(3), true, false),
            (Some(4), false, false),
            (Some(5), false, true),
        ],
        "{}",
        ran.stdout
    );
    assert!(passes.iter().all(|pass| pass["removed"] == Value::Null), "{}", ran.stdout);
    let ran = node.kq(&format!("{FULL} --passes 2")).run();
    assert!(ran.stdout.contains("event Warning ImageGCFailed: "), "{}", ran.text());
}

#[test]
fn with_yes_passes_remove_what_they_say() {
    let turn = |world: &mut World, call: &str| {
        // Something new for the second pass.
        if call == "RemoveImage e" {
            world.images.push(image("new"));
        }
        None
    };
    let node = Node::new(Changing::new(five(), turn), RUNTIME);
    let line = FULL.replace("100Gi", "20Gi");
    let ran = node.kq(&format!("{line} --yes --passes 2 --keep node.test/b")).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let world = node.world.now().clone();
    assert_eq!(world.removed, ["a", "c", "d", "e", "new"], "{}", ran.text());
    assert_eq!(world.wrong, Vec::<String>::new());
    let left: Vec<&str> = world.images.iter().map(|image| image.id.as_str()).collect();
    assert_eq!(left, ["b"]);
}

#[test]
fn a_pass_without_a_runtime_counts_as_failed() {
    let mut node = Node::new(Changing::new(five(), |_, _| None), RUNTIME);
    let mut run = telling(&node.arguments(&format!("{FULL} --passes 30").replace("99%", "10%")));
    run.until("PASS 1 ");
    std::fs::remove_file(node.folder.path().join("root/runtime.sock")).expect("a socket");
    std::mem::forget(node.server.take());
    std::thread::sleep(Duration::from_millis(700));
    node.revive();
    // Whatever it wrote before is read away; one that comes now is of a later pass.
    run.until("succeeded");
    run.until("succeeded");
    let (code, said) = run.end();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("failed: "), "{said}");
    assert!(said.contains("failed, an event ImageGCFailed: "), "the second in a row: {said}");
}

#[test]
fn a_loop_that_the_kubelet_does_not_turn_is_off() {
    let node = Node::new(Changing::new(five(), |_, _| None), RUNTIME);
    let off = "--set imageGCHighThresholdPercent=100";
    for flags in ["", "--yes"] {
        let ran = node.kq(&format!("{FULL} {off} {flags}")).run();
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(ran.stderr.contains("off: the kubelet does not run this loop"), "{}", ran.text());
    }
    assert_eq!(node.world.now().removed, Vec::<String>::new());
    let ran = node.kq(&format!("{FULL} {off} --set imageMaximumGCAge=1h --passes 1")).run();
    assert!(ran.stdout.contains("PASS 1 "), "with a maximum age it is on: {}", ran.text());
}

#[test]
fn an_interrupt_ends_it_quietly() {
    let node = Node::new(Changing::new(five(), |_, _| None), RUNTIME);
    let mut run = telling(&node.arguments(&FULL.replace("100ms", "1h")));
    run.until("log: ");
    run.interrupt();
    let (_, said) = run.end();
    assert!(!said.contains("error") && !said.contains("kq: "), "{said}");
}
