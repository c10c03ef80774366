//! The same question for many nodes: `FleetPlan` chooses nodes of a cluster, `FleetRun` runs kq on them in short-lived
//! pods, and `SnapshotFleet` asks about many snapshots. `Member` reads what one node sends. `PodGuard` deletes the pods of a run that was killed, and `CleanPlan`
//! those that are left nevertheless.

mod apply;
mod guard;
mod member;
mod plan;
mod run;
mod snapshots;
mod work;

pub use apply::{ApplyLog, ChangeCommand, WaveOptions};
pub use guard::{CleanOptions, CleanPlan, GuardOptions, PodGuard};
pub use member::{Member, Reading, Source, Wanted};
pub use plan::{FleetNode, FleetOptions, FleetPlan, Sample, disruption_budgets};
pub use run::{FleetEvent, FleetRun};
pub use snapshots::{SnapshotFleet, SnapshotOptions};
pub use work::{SnapshotQuestion, SnapshotReply, SnapshotWorker};

/// The largest answer that is read; an answer about a node is smaller.
pub const MAX_ANSWER_BYTES: u64 = 64 << 20;
