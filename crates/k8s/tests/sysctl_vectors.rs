//! The vectors of sysctls, run against this crate alone; the suite runs them too.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "other vectors are read from a folder"
)]

#[path = "../../../tests/suite/vectors/input.rs"]
#[expect(dead_code, reason = "some of it is for other families")]
mod input;
#[path = "../../../tests/suite/vectors/sysctl_admit.rs"]
mod sysctl_admit;

use serde_json::Value;

#[test]
fn sysctls() {
    let recorded = include_str!("../../../tests/vectors/sysctl_admit.jsonl");
    let other = std::env::var_os("KQ_VECTORS_DIR").and_then(|dir| {
        std::fs::read_to_string(std::path::Path::new(&dir).join("sysctl_admit.jsonl")).ok()
    });
    let (mut failed, mut count) = (Vec::new(), 0);
    for line in other.as_deref().unwrap_or(recorded).lines() {
        let case: Value = serde_json::from_str(line).expect("a vector line is JSON");
        let got = sysctl_admit::answer(&case["in"]);
        count += 1;
        if got != case["out"] {
            failed.push(format!("{}\n  expected {}\n  got      {got}", case["id"], case["out"]));
        }
    }
    println!("sysctl_admit passed {} failed {}", count - failed.len(), failed.len());
    assert!(failed.is_empty(), "{} of {count} failed:\n{}", failed.len(), failed.join("\n"));
}
