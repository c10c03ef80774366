//! Real pods: an own containerd, the real runc, the kernel's own cgroups.
//!
//! [`node`] starts the node with the first test that wants it and lends it to one test at a time; the
//! tests play the kubelet through [`Node::run_pods`]. It stops itself when the tests end, however they
//! end, and touches nothing but its own folder and the cgroups below `/kq-test-PID`.
//!
//! The same tests run on this machine's cgroups and, through `cgroup_v2`, on the unified hierarchy of an
//! emulated one. Where there cannot be a node, they say why on stderr and pass;
//! `KQ_REAL_NODE=required` makes them fail instead.

use crate::cli::repository;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, Output};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

pub use node::{Node, script};
pub use pods::{Runc, Running};

/// Admission and preemption among running pods.
mod admission;
/// What the runtime says of pods that run.
mod asked;
/// The kernel's hierarchies: cgroups come, get values and go.
mod cgroups;
/// A real kubelet does what kq says before.
#[cfg(feature = "apiserver")]
mod cluster;
/// Images come and go, on every containerd.
mod images;
/// A planned limit is felt.
mod limits;
/// Drift is found, repaired and taken back.
mod live;
/// A pod is what the kubelet would make of it, on a real node.
mod node;
/// Pods that run.
mod pods;
/// Victims are evicted, and the runtime lets them go.
#[cfg(feature = "apiserver")]
mod preempt;
/// Probes of containers that run.
mod probes;
/// CPU limits of cgroup v1 change without a moment that the kernel refuses.
mod quota;
/// What is shipped.
mod release;
/// The runtime over its socket, one call after the other.
mod runtime;
/// A node as most have it: systemd, cgroup v2, containerd 2.
mod systemd;
/// Units of systemd, as libcontainer makes them.
mod units;
/// The kernel's files hold what was planned.
mod values;

/// Says what is to be done without a node, and which machine this is.
const VARIABLE: &str = "KQ_REAL_NODE";

/// The time limit of a read: an emulated machine may need longer than a node for the answer of its runtime.
const AMPLE: &str = "--timeout=60s";

/// Lends the node; `None`, after saying why, where there cannot be one.
pub fn node() -> Option<MutexGuard<'static, Node>> {
    static NODE: OnceLock<Result<Mutex<Node>, String>> = OnceLock::new();
    let started = NODE.get_or_init(|| {
        must_be_root()?;
        exclusively()?;
        Ok(Mutex::new(Node::start()?))
    });
    match started {
        Ok(node) => Some(node.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(reason) => {
            skip(reason);
            None
        }
    }
}

pub fn must_be_root() -> Result<(), String> {
    let root = rustix::process::geteuid().is_root();
    root.then_some(()).ok_or_else(|| "needs root".to_owned())
}

/// Waits until no other run of the tests has nodes in the same folders; from then on this one has them
/// until it ends.
fn exclusively() -> Result<(), String> {
    static LOCK: OnceLock<Result<File, String>> = OnceLock::new();
    let lock = LOCK.get_or_init(|| {
        let folder = repository().join("target/real-node");
        let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(fail)?;
        let file = File::create(folder.join("tests.lock")).map_err(fail)?;
        file.lock().map_err(fail)?;
        Ok(file)
    });
    lock.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// Waits for a script, and shows at once what it is doing, since an installation or a boot may take minutes.
pub fn output_of(mut script: Child) -> std::io::Result<Output> {
    let stderr = script.stderr.take();
    thread::scope(|scope| {
        let shown = scope.spawn(|| stderr.map(shown).unwrap_or_default());
        let output = script.wait_with_output()?;
        Ok(Output { stderr: shown.join().unwrap_or_default(), ..output })
    })
}

/// Reads the lines of a script, and shows its own: the output of tests that pass is not shown.
fn shown(stderr: ChildStderr) -> Vec<u8> {
    let mut all = Vec::new();
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        if line.starts_with(b"real-node: ") {
            let _ = writeln!(std::io::stderr(), "{}", String::from_utf8_lossy(&line));
        }
        all.extend(line);
        all.push(b'\n');
    }
    all
}

/// Says why a test did nothing; fails where it must not.
pub fn skip(reason: &str) {
    assert!(!is_required(), "there must be a node: {reason}");
    crate::skipped::skip(reason);
}

fn is_required() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Returns true if the tests run in an emulated machine.
fn is_guest() -> bool {
    is_machine() || std::env::var_os(VARIABLE).is_some_and(|value| value == "v2")
}

/// Returns true if the tests run in the emulated machine with systemd, which is theirs as a whole.
fn is_machine() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|value| value == "systemd")
}
