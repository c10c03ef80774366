//! Boots an emulated machine that has only the unified hierarchy and runs the tests of `real` there, without those that no
//! cgroup decides.
//!
//! It takes longer than any other test, and stands where the tests begin.

use crate::cli::repository;
use crate::real::{must_be_root, output_of, script, skip};
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn the_same_holds_on_the_unified_hierarchy() {
    if let Err(reason) = must_be_root() {
        return skip(&reason);
    }
    if let Err(reason) = script("install", &["v2"]) {
        return skip(&reason);
    }
    let machine = Command::new(repository().join("scripts/real-node/boot-v2"))
        .args(["--file", env!("CARGO_BIN_EXE_kq"), "--"])
        .arg(std::env::current_exe().expect("the tests have a program"))
        .args(["real::", "--test-threads=1", "--nocapture"])
        .args(["--skip", "real::images::", "--skip", "real::release::"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the script can be run");
    let output = output_of(machine).expect("the script can be waited for");
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
