//! Families of the managers, without the rest of the suite, which has them too.
//!
//! `KQ_VECTORS_DIR=DIR` runs the cases of that folder instead of those of `tests/vectors`.

#![expect(clippy::disallowed_methods, reason = "tests read the recorded answers")]

#[path = "../../../tests/suite/vectors/cpu_admit.rs"]
mod cpu_admit;
#[path = "../../../tests/suite/vectors/cpu_allocate.rs"]
mod cpu_allocate;
#[path = "../../../tests/suite/vectors/cpu_hints.rs"]
mod cpu_hints;
#[path = "../../../tests/suite/vectors/cpu_input.rs"]
mod cpu_input;
#[path = "../../../tests/suite/vectors/cpu_start.rs"]
mod cpu_start;
#[path = "../../../tests/suite/vectors/device_allocate.rs"]
mod device_allocate;
#[path = "../../../tests/suite/vectors/device_input.rs"]
mod device_input;
#[path = "../../../tests/suite/vectors/input.rs"]
#[expect(dead_code, reason = "some of it is for other families")]
mod input;
#[path = "../../../tests/suite/vectors/topology_hints.rs"]
mod topology_hints;
#[path = "../../../tests/suite/vectors/topology_merge.rs"]
mod topology_merge;

use serde_json::Value;
use std::path::{Path, PathBuf};

type Answer = fn(&Value) -> Value;

/// Returns true if an answer is the recorded one, or one of several.
fn agrees(got: &Value, expected: &Value) -> bool {
    match expected["one_of"].as_array() {
        Some(answers) => answers.contains(got),
        None => got == expected,
    }
}

fn run(family: &str, answer: Answer) {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let dir = std::env::var_os("KQ_VECTORS_DIR").map_or_else(own, PathBuf::from);
    let file = dir.join(format!("{family}.jsonl"));
    // Another folder may have other families.
    let Ok(text) = std::fs::read_to_string(&file) else { return };
    let mut failures = Vec::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a vector line is JSON");
        let got = answer(&case["in"]);
        let expected = &case["out"];
        if !device_allocate::agrees(&got, expected) {
            failures.push(format!("{}\n    expected {expected}\n    got      {got}", case["id"]));
        }
    }
    let shown = failures.iter().take(3).map(|it| it.chars().take(6000).collect::<String>());
    assert!(
        failures.is_empty(),
        "{} failed\n{}",
        failures.len(),
        shown.collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn cpus_are_allocated() {
    run("cpu_allocate", cpu_allocate::answer);
}

#[test]
fn cpus_have_hints() {
    run("cpu_hints", cpu_hints::answer);
}

#[test]
fn the_cpu_manager_starts() {
    run("cpu_start", cpu_start::answer);
}

#[test]
fn hints_are_merged() {
    run("topology_merge", topology_merge::answer);
}

#[test]
fn pods_are_admitted_with_cpus() {
    run("cpu_admit", cpu_admit::answer);
}

#[test]
fn devices_have_hints() {
    run("topology_hints", topology_hints::answer);
}

#[test]
fn devices_are_allocated() {
    run("device_allocate", device_allocate::answer);
}
