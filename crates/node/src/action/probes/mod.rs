//! Container probes: gathers the pods of a node, and sends their probes once, repeatedly, or in several ways.

mod compare;
mod container_poller;
mod gather;
mod repeat;

pub use compare::compare;
pub use gather::{FactSource, PodChoice, ProbeChoice, ProbeNode, run_once};
pub use repeat::{Event, MAX_REPEATED, Repetition, RoundResult, repeat};
