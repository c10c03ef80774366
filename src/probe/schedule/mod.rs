//! The times of a worker's steps and of their consequences.
//!
//! The loop is `run`, `pkg/kubelet/prober/worker.go`; its ticker is that of Go's `time` package, whose
//! channel holds one tick and drops the others.

mod bound;
mod ticker;
mod timeline;

pub use bound::Bound;
pub use ticker::Ticker;
pub use timeline::{Milestone, Since, Timeline, TimelineEntry, timeline};
