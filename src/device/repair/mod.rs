//! A checkpoint without what is stale or damaged in it: what would be written in place of a file, and
//! why each part of it stays or goes. Pure; `src/edge/checkpoint_file.rs` writes it.
//!
//! * `plan`: what a request makes of the entries that are sound.
//! * `report`, `view`: the plan, and what came of it.

mod plan;
mod report;
#[cfg(test)]
mod tests;
mod view;

pub use plan::{Action, Item, RepairPlan, Request, plan};
pub use report::{DeviceRepair, Done};
pub use view::{entries, kept, table, wide};
