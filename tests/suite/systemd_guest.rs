//! Boots an emulated machine whose first process is systemd and runs tests of `real` there: `real::systemd`, where kq plays
//! the kubelet, and `real::cluster` with the real one.
//!
//! Each takes a quarter of an hour and more, so they are left out unless `KQ_SYSTEMD_GUEST` names a suite of Debian:
//! `trixie`, `forky`. The real kubelet is in the folder `$KQ_KUBERNETES`.

use crate::cli::repository;
use crate::real::{must_be_root, output_of, skip};
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// One machine at a time: each is meant for all processors.
static MACHINE: Mutex<()> = Mutex::new(());

const KUBERNETES: &str = "KQ_KUBERNETES";

#[test]
fn a_node_with_systemd_holds_what_is_planned() {
    let Some(suite) = suite() else { return };
    boot(suite, "real::systemd::", None, "after the reboot, with swap");
}

#[test]
fn a_real_kubelet_with_systemd_does_what_kq_says_before() {
    let Some(suite) = suite() else { return };
    let Some(programs) = std::env::var_os(KUBERNETES) else {
        let reason = "$KQ_KUBERNETES names no folder with kube-apiserver, etcd and kubelet";
        return crate::skipped::skip(reason);
    };
    boot(suite, "real::cluster::", Some(programs), "kubelet: ");
}

/// Returns the suite of Debian that is asked for; `None`, after saying why: the test is left out.
fn suite() -> Option<OsString> {
    let suite = std::env::var_os("KQ_SYSTEMD_GUEST");
    if suite.is_none() {
        crate::skipped::skip("KQ_SYSTEMD_GUEST names no suite of Debian");
    }
    let suite = suite?;
    must_be_root().map_err(|reason| skip(&reason)).ok().map(|()| suite)
}

/// Runs the tests that a filter matches in the machine, which must print something.
#[track_caller]
fn boot(suite: OsString, filter: &str, programs: Option<OsString>, must_print: &str) {
    let _one = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut script = Command::new(repository().join("scripts/real-node/boot-systemd"));
    match programs {
        Some(programs) => script.env(KUBERNETES, programs),
        None => script.env_remove(KUBERNETES),
    };
    let machine = script
        .arg(suite)
        .args(["--file", env!("CARGO_BIN_EXE_kq"), "--"])
        .arg(std::env::current_exe().expect("the tests have a program"))
        .args([filter, "--test-threads=1", "--nocapture"])
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
    assert!(said.contains(must_print), "{printed}");
    let is_told = |line: &&str| line.starts_with("kq-systemd: ") || line.starts_with("systemd: ");
    for line in said.lines().filter(is_told) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
