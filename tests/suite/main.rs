//! The integration tests: one binary, one module per kind.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read their own files and say what failed"
)]

/// kq agrees with answers recorded from the kubelet's own functions.
mod vectors;
