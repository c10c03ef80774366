//! The same question for many nodes: `FleetPlan` chooses nodes of a cluster, `FleetRun` runs kq on them in short-lived
//! pods, and `SnapshotFleet` runs kq for many snapshots.

mod plan;
mod run;
mod snapshots;
mod workers;

pub use plan::{FleetNode, FleetOptions, FleetPlan};
pub use run::{FleetEvent, FleetRun};
pub use snapshots::{SnapshotFleet, SnapshotOptions};

/// The largest answer that is read; an answer about a node is smaller.
pub const MAX_ANSWER_BYTES: u64 = 64 << 20;
