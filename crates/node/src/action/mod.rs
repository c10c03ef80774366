//! Whole changes and long-running commands: a plan, confirmed, executed step by step and reported.
//!
//! An action joins a domain's pure plan with `edge/` and `node/`. It takes plain options and reports its progress as
//! data; flags, confirmation, rendering and exit codes stay in the binary.

pub mod cgroup;
pub mod devices;
pub mod fleet;
pub mod image_gc;
mod node_cgroups;
pub mod preemption;
/// Probes, sent once, repeatedly, or in several ways.
pub mod probes;
/// The answers about a node for its page.
pub mod report;
/// The sources of the live view, and its recording.
pub mod top;
