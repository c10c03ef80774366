//! The vectors about command lines.

use serde_json::Value;
use std::path::{Path, PathBuf};

#[path = "../../../tests/suite/vectors/kubelet_flags.rs"]
mod kubelet_flags;

#[test]
fn command_lines_are_judged_as_by_the_kubelet() {
    run("kubelet_flags", kubelet_flags::answer);
}

fn run(family: &str, answer: fn(&Value) -> Value) {
    let folder = std::env::var_os("KQ_VECTORS_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors"),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(folder.join(format!("{family}.jsonl"))) else { return };
    let mut failures = Vec::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a vector is JSON");
        let got = answer(&case["in"]);
        let expected = &case["out"];
        let is_right = match expected.get("one_of").and_then(Value::as_array) {
            Some(several) => several.contains(&got),
            None => got == *expected,
        };
        if !is_right {
            failures.push(format!("{}\n  expected {expected}\n  got      {got}", case["id"]));
        }
    }
    let count = text.lines().count();
    println!("{family} passed {} of {count}", count - failures.len());
    assert!(failures.is_empty(), "{} of {count} failed:\n{}", failures.len(), failures.join("\n"));
}
