//! Boots an emulated machine whose first process is systemd and runs the test of `real::systemd` there.
//!
//! It takes a quarter of an hour, so it is left out unless `KQ_SYSTEMD_GUEST` names a suite of Debian: `trixie`, `forky`.

use crate::cli::repository;
use crate::real::{must_be_root, output_of, skip};
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn a_node_with_systemd_holds_what_is_planned() {
    let Some(suite) = std::env::var_os("KQ_SYSTEMD_GUEST") else {
        return crate::skipped::skip("KQ_SYSTEMD_GUEST names no suite of Debian");
    };
    if let Err(reason) = must_be_root() {
        return skip(&reason);
    }
    let machine = Command::new(repository().join("scripts/real-node/boot-systemd"))
        .arg(suite)
        .args(["--file", env!("CARGO_BIN_EXE_kq"), "--"])
        .arg(std::env::current_exe().expect("the tests have a program"))
        .args(["real::systemd::", "--test-threads=1", "--nocapture"])
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
    assert!(said.contains("after the reboot, with swap"), "{printed}");
    let is_told = |line: &&str| line.starts_with("kq-systemd: ") || line.starts_with("systemd: ");
    for line in said.lines().filter(is_told) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
