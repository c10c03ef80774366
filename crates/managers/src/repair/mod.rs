//! A checkpoint without stale or damaged entries, with the reason why each entry stays or goes. Pure;
//! `crates/io/src/checkpoint_file.rs` writes it.
//!
//! * `plan`: the entries that stay and go, and the report of the repair.
//! * `view`: the plan and its result as tables.

mod plan;
#[cfg(test)]
mod tests;
mod view;

pub use plan::{Action, DeviceRepair, Done, Item, RepairPlan, Request, plan};
pub use view::{entries, kept, table, wide};
