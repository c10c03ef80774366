//! The times of a worker's steps and of their consequences.
//!
//! The loop is `run`, `pkg/kubelet/prober/worker.go`; its ticker is that of Go's `time` package, whose
//! channel holds one tick and drops the others.

mod bound;
mod timeline;

pub use bound::Bound;
pub use timeline::{Milestone, Since, Ticker, Timeline, TimelineEntry, timeline};
