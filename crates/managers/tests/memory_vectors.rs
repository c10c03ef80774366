//! The vectors of the memory manager, run against this crate alone; the suite runs them too.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "other vectors are read from a folder"
)]

#[path = "../../../tests/suite/vectors/input.rs"]
#[expect(dead_code, reason = "some of it is for other families")]
mod input;
#[path = "../../../tests/suite/vectors/memory_allocate.rs"]
mod memory_allocate;
#[path = "../../../tests/suite/vectors/memory_input.rs"]
mod memory_input;
#[path = "../../../tests/suite/vectors/memory_start.rs"]
mod memory_start;

use serde_json::Value;

/// Runs a family, from the folder in `KQ_VECTORS_DIR` if it is set.
fn run(name: &str, recorded: &str, answer: fn(&Value) -> Value) {
    let other = std::env::var_os("KQ_VECTORS_DIR")
        .and_then(|dir| std::fs::read_to_string(std::path::Path::new(&dir).join(name)).ok());
    let text = other.as_deref().unwrap_or(recorded);
    let (mut failed, mut count) = (Vec::new(), 0);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a vector line is JSON");
        let expected = &case["out"];
        let got = memory_start::comparable(answer(&case["in"]), expected);
        let answers = expected["one_of"].as_array();
        let agrees = answers.map_or(got == *expected, |answers| answers.contains(&got));
        count += 1;
        if !agrees {
            failed.push(format!("{}\n  expected {expected}\n  got      {got}", case["id"]));
        }
    }
    println!("{name} passed {} failed {}", count - failed.len(), failed.len());
    assert!(
        failed.is_empty(),
        "{} of {count} failed:\n{}",
        failed.len(),
        failed[..failed.len().min(5)].join("\n")
    );
}

#[test]
fn starts() {
    let recorded = include_str!("../../../tests/vectors/memory_start.jsonl");
    run("memory_start.jsonl", recorded, memory_start::answer);
}

#[test]
fn allocations() {
    let recorded = include_str!("../../../tests/vectors/memory_allocate.jsonl");
    run("memory_allocate.jsonl", recorded, memory_allocate::answer);
}

#[test]
fn hints() {
    let recorded = include_str!("../../../tests/vectors/memory_hints.jsonl");
    run("memory_hints.jsonl", recorded, memory_allocate::hints);
}
