//! A checkpoint without what is stale or damaged in it: what would be written in place of a file, and
//! why each part of it stays or goes. Pure; `src/edge/checkpoint_file.rs` writes it.
//!
//! * `pieces`: the parts of a damaged file that are whole.
//! * `salvage`: which of them are sound.
//! * `plan`: what a request makes of them.
//! * `report`, `view`: the plan, and what came of it.

mod pieces;
mod plan;
mod report;
mod salvage;
#[cfg(test)]
mod tests;
mod view;

pub use plan::{Action, Item, RepairPlan, Request, plan};
pub use report::{DeviceRepair, Done};
pub use salvage::{Salvage, salvage};
pub use view::{table, wide};
