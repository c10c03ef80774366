//! Boots an emulated machine that has only the unified hierarchy and runs the tests of `real` there.
//!
//! It takes longer than any other test, and stands where the tests begin.

use crate::cli::repository;
use crate::real::{must_be_root, skip};
use std::io::Write;
use std::process::Command;

#[test]
fn the_same_holds_on_the_unified_hierarchy() {
    if let Err(reason) = must_be_root() {
        return skip(&reason);
    }
    let scripts = repository().join("scripts/real-node");
    let install = Command::new(scripts.join("install")).arg("v2").output();
    let install = install.expect("the script can be run");
    if !install.status.success() {
        return skip(&String::from_utf8_lossy(&install.stderr));
    }
    let output = Command::new(scripts.join("boot-v2"))
        .args(["--file", env!("CARGO_BIN_EXE_kq"), "--"])
        .arg(std::env::current_exe().expect("the tests have a program"))
        .args(["real::", "--test-threads=1", "--nocapture"])
        .output()
        .expect("the script can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    let printed = format!("{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}");
    // A filter that matches nothing would succeed as well.
    let summary = said.lines().find(|line| line.starts_with("test result: ok."));
    let summary = summary.unwrap_or_else(|| panic!("{printed}"));
    let passed = summary.split(' ').nth(3).and_then(|count| count.parse::<u32>().ok());
    assert!(passed.is_some_and(|passed| passed > 2), "{printed}");
    let times = said.lines().filter(|line| line.starts_with("kq-v2: ")).collect::<Vec<_>>();
    let _ = writeln!(std::io::stderr(), "{}", times.join("; "));
}
