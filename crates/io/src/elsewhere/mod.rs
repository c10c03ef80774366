//! Replacements of the Linux-only modules for macOS and Windows.
//!
//! [`open`] and [`replace`] work on every system, with the means of the standard library. [`node`] and [`processes`]
//! hold the readers of a live node, with the signatures of those for Linux: each fails with
//! [`NEEDS_LINUX`](super::NEEDS_LINUX).

pub mod node;
pub mod open;
pub mod processes;
pub mod replace;

use crate::memory::Exceeded;
use std::io;

/// The kernel does not say.
pub fn resident_memory() -> Option<u64> {
    None
}

/// Fails, because the resident memory is not known: only the limits of the readers hold.
pub fn watch_memory(
    _allowed: impl Fn(u64) -> u64 + Send + 'static,
    _over: impl Fn(&Exceeded) + Send + 'static,
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
