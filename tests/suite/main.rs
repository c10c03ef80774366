//! The integration tests: one binary, one module per kind.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read their own files and say what failed"
)]

/// The command line as an operator sees it: answers, notes, exit codes.
mod cli;
/// No file of this suite is left out.
mod complete;
/// What reads the world, against real sockets and files.
mod edges;
/// kq agrees with what the kubelet, the runtime and the kernel did on recorded nodes.
mod nodes;
/// kq agrees with answers recorded from the kubelet's own functions.
mod vectors;
