//! The vectors about command lines, as a test that builds fast; the suite runs those of other folders too.

use serde_json::Value;

#[path = "../../../tests/suite/vectors/kubelet_flags.rs"]
mod kubelet_flags;

#[test]
fn command_lines_are_judged_as_by_the_kubelet() {
    let text = include_str!("../../../tests/vectors/kubelet_flags.jsonl");
    let mut failures = Vec::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a vector is JSON");
        let got = kubelet_flags::answer(&case["in"]);
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
    assert!(failures.is_empty(), "{} of {count} failed:\n{}", failures.len(), failures.join("\n"));
}
