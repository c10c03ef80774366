//! The integration tests: one binary, one module per kind.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read their own files and say what failed"
)]

/// Small inputs from public reports are answered as the kubelet does.
mod cases;
/// The tests of `real` on the unified hierarchy of an emulated machine.
#[cfg(feature = "cri")]
mod cgroup_v2;
/// The command line as an operator sees it: answers, notes, exit codes.
mod cli;
/// A port without a listener.
#[path = "../support/closed_port.rs"]
mod closed_port;
/// No file of this suite is left out.
mod complete;
/// Which crate uses which.
mod crates;
/// No decision reads what kq itself wrote.
mod decisions;
/// kq agrees with what a recorded kubelet did with devices.
mod devices;
/// kq meets the world: sockets, files and programs, also those that fail.
mod edges;
/// The binary stands changed copies of every file, over every command.
pub mod fuzz_binary;
/// kq foresees which images a recorded kubelet removed.
mod images;
/// kq foretells whether a recorded kubelet started, and every gate and flag that stops one.
mod kubelet_start;
/// Every command answers about every recorded node as it did.
mod matrix;
/// What a release of Kubernetes brings is covered, or has a reason.
mod new_release;
/// kq agrees with what the kubelet, the runtime and the kernel did on recorded nodes.
mod nodes;
/// kq agrees with what a kubelet did on a node with systemd, cgroup v2 and containerd 2.
mod nodes_v2;
/// Pods and nodes that the tests describe.
#[path = "../support/objects.rs"]
mod objects;

mod one_node;
/// Every command has the same answer to whether a kubelet starts.
mod one_start;
/// A question has one answer, whichever command asks it.
mod one_truth;
/// The kubelet can be asked again for each family of vectors.
mod oracle;
/// kq predicts the victims of a recorded kubelet.
mod preemption;
/// Files of programs with a version.
#[path = "../support/program_file.rs"]
#[cfg_attr(not(feature = "cri"), expect(dead_code, reason = "some of it is for runtimes"))]
mod program_file;
/// Pods run on a real containerd and runc, and the kernel has what kq planned.
#[cfg(feature = "cri")]
mod real;
/// Pages of `kq report` in a real browser.
mod report;
/// The servers of gRPC services that kq is a client of, for fakes.
#[cfg(feature = "cri")]
mod services;
/// What did nothing here.
pub mod skipped;
/// What the sources of the whole repository contain.
mod source_files;
/// The test of `real::systemd` on an emulated machine with systemd.
#[cfg(feature = "cri")]
mod systemd_guest;
/// An unprivileged user of the node does not lead kq astray: the claims of `docs/security.md`.
mod trust;
/// kq agrees with answers recorded from the kubelet's own functions.
mod vectors;
/// What a real kubelet did when it was restarted after a change is what kq foretells.
mod what_if;
