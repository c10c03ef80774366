//! The report of a repair.

use super::plan::{Action, Item, RepairPlan};
use crate::answer::{Basis, Warning, WarningCode, answer};
use crate::device::flipped_bit::FlippedBit;
use serde::Serialize;

/// A repair as a value.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRepair {
    /// The file.
    pub checkpoint: String,
    /// It was only planned.
    pub dry_run: bool,
    /// Why the kubelet rejects the file as it was, in its words.
    pub error: Option<String>,
    /// Why it is not done.
    pub refusals: Vec<String>,
    /// The entries in their order.
    pub items: Vec<Item>,
    /// At least so many entries of a damaged file cannot be read at all, and go.
    pub lost: usize,
    /// The bit of a damaged file that is put back, which makes it what the kubelet wrote.
    pub restored: Option<FlippedBit>,
    /// The checksum of what is written.
    pub checksum: u32,
    /// What was done; `None`: nothing was written.
    pub done: Option<Done>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DeviceRepair", DeviceRepair);

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// Where the old file is.
    pub backup: String,
    /// The command that brings it back, while the kubelet is stopped.
    pub undo: String,
    /// The new file was read again and is what it should be.
    pub verified: bool,
}

impl DeviceRepair {
    /// Puts a plan into a report.
    pub fn new(checkpoint: &str, plan: &RepairPlan, dry_run: bool, warnings: &[Warning]) -> Self {
        let mut basis = Basis::default();
        basis.warn_all(WarningCode::DeviceCheckpoint.each(&plan.notes));
        basis.warn_all(warnings.iter().cloned());
        Self {
            checkpoint: checkpoint.to_owned(),
            dry_run,
            error: plan.error.clone(),
            refusals: plan.refusals.clone(),
            items: plan.items.clone(),
            lost: plan.lost,
            restored: plan.restored,
            checksum: plan.after.checksum(),
            done: None,
            basis,
        }
    }

    /// Counts the entries that stay and those that go, with those that are lost.
    pub fn counts(&self) -> (usize, usize) {
        let kept = self.items.iter().filter(|item| item.action == Action::Keep).count();
        (kept, self.items.len() - kept + self.lost)
    }
}
