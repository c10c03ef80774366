//! A checkpoint without stale or damaged entries, with the reason why each entry stays or goes. Pure;
//! `src/edge/checkpoint_file.rs` writes it.
//!
//! * `plan`: the entries that stay and go.
//! * `report`, `view`: the plan and its result.

mod plan;
mod report;
#[cfg(test)]
mod tests;
mod view;

pub use plan::{Action, Item, RepairPlan, Request, plan};
pub use report::{DeviceRepair, Done};
pub use view::{entries, kept, table, wide};
