//! When a worker steps, and when something can come of it.
//!
//! The loop is `run`, `pkg/kubelet/prober/worker.go`; its ticker is that of Go's `time` package, whose
//! channel holds one tick and drops the others.

mod bound;
mod ticker;
mod timeline;

pub use bound::Bound;
pub use ticker::Ticker;
pub use timeline::{Milestone, Since, Timeline, TimelineEntry, timeline};
