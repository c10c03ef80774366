//! kq executes nothing of a node: neither of a copy, nor of a container, nor of the node itself.

use super::{Node, in_own_namespaces};
use crate::cli::{folder_with, kq};
use crate::program_file::kubelet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Every command that reads a node.
const COMMANDS: [&str; 27] = [
    "snapshot",
    "version",
    "doctor",
    "doctor default/web",
    "report -o /dev/null",
    "cgroup plan --live",
    "cgroup diff",
    "cgroup show",
    "cgroup throttling",
    "cgroup which 1",
    "cgroup shares --live",
    "cgroup apply --dry-run",
    "gc dry-run",
    "gc images",
    "gc policy",
    "gc explain x",
    "gc lint",
    "gc apply --dry-run",
    "devices list",
    "devices verify",
    "devices capacity",
    "devices repair --remove-stale --dry-run",
    "devices plugins",
    "evict rank",
    "probe plan",
    "preempt lint",
    "what-if kubelet-restart",
];

/// Returns a folder whose files say that a kubelet runs, whose program leaves a mark.
fn copy() -> tempfile::TempDir {
    let stat = "77 (kubelet) S 1 77 77 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4200 0 0\n";
    let folder = folder_with(&[
        ("proc/1/stat", "1 (systemd) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4 0 0\n"),
        ("proc/77/comm", "kubelet\n"),
        ("proc/77/cmdline", "/usr/bin/kubelet\0"),
        ("proc/77/stat", stat),
        ("proc/77/status", "Name:\tkubelet\nUid:\t0\t0\t0\t0\nNSpid:\t77\n"),
        ("proc/77/exe", ""),
        ("etc/hostname", "copied\n"),
        ("var/lib/kubelet/x", ""),
    ]);
    let mark = folder.path().join("executed");
    for program in ["usr/bin/kubelet", "usr/bin/runc", "proc/77/exe"] {
        let path = folder.path().join(program);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let script = format!("#!/bin/sh\ntouch {}\necho Kubernetes v6.6.6\n", mark.display());
        fs::write(&path, script).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a mode");
    }
    folder
}

#[test]
fn no_program_of_a_copy_is_executed() {
    let as_file = copy();
    let as_link = copy();
    fs::remove_file(as_link.path().join("proc/77/exe")).expect("removed");
    std::os::unix::fs::symlink("/usr/bin/kubelet", as_link.path().join("proc/77/exe"))
        .expect("a link");
    for copy in [as_file, as_link] {
        for command in COMMANDS {
            let ran = kq(&format!("{command} --host-root {}", copy.path().display())).run();
            assert!(!copy.path().join("executed").exists(), "{command}: {}", ran.text());
            assert!(!ran.text().contains("6.6.6"), "{command}: {}", ran.text());
            assert!(ran.code <= 4 && !ran.stderr.contains("panicked"), "{command}: {}", ran.text());
        }
    }
}

/// What the kernel says of it: with a copy, in the root of a process, and on a node with a running kubelet.
#[test]
fn kq_starts_no_program() {
    const STRACE: &str = "/usr/bin/strace";
    if !Path::new(STRACE).exists() {
        assert!(std::env::var_os("KQ_REAL_NODE").is_none(), "strace is missing");
        eprintln!("left out, because strace is missing");
        return;
    }
    in_own_namespaces("trust::execution::kq_starts_no_program", || {
        let node = Node::new();
        node.write("usr/bin/other", kubelet("v1.36.2"));
        let _kubelet = node.kubelet(&["--hostname-override=traced"]);
        let copied = copy();
        let of_process = format!("/proc/{}/root", std::process::id());
        let roots =
            [node.root().display().to_string(), copied.path().display().to_string(), of_process];
        let log = copied.path().join("trace");
        for root in roots {
            for command in COMMANDS {
                let mut traced = Command::new(STRACE);
                traced
                    .args(["-f", "-qq", "-e", "trace=execve,execveat", "-o"])
                    .arg(&log)
                    .arg(env!("CARGO_BIN_EXE_kq"))
                    .args(command.split(' '))
                    .args(["--host-root", &root, "--timeout", "2s"])
                    .env_clear();
                let ran = traced.output().expect("strace runs");
                let trace = fs::read_to_string(&log).expect("a trace");
                // Where another program serves a file system, kq starts its own file once more, by descriptor.
                let is_own = |line: &&str| line.contains("\"/proc/self/fd/");
                let started: Vec<&str> =
                    trace.lines().filter(|line| line.contains("execve") && !is_own(line)).collect();
                assert_eq!(started.len(), 1, "{root}: {command}: {trace}");
                assert!(ran.status.code().is_some(), "{root}: {command}: {ran:?}");
            }
        }
    });
}
