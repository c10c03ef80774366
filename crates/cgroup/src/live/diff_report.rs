//! A comparison as a value: what `-o json` and `-o yaml` print.

use crate::live::difference::{Difference, is_incomplete, summary};
use kq_answer::{Basis, answer};
use serde::Serialize;
use std::collections::BTreeMap;

/// Plan against kernel.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CgroupDiff<'a> {
    /// How many of each verdict there are.
    pub summary: BTreeMap<String, usize>,
    /// One for each value, and one for each cgroup that is on one side only.
    pub items: Vec<Difference<'a>>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("CgroupDiff", CgroupDiff<'_>);

impl<'a> CgroupDiff<'a> {
    /// Puts differences together with what they rest on.
    pub fn new(items: Vec<Difference<'a>>, basis: Basis) -> Self {
        Self { summary: summary(&items), items, basis }
    }

    /// Returns true if anything differs for no known reason.
    pub fn has_drift(&self) -> bool {
        self.items.iter().any(|found| found.verdict.is_drift())
    }

    /// Returns true if nothing was compared, or a side of a comparison is unknown.
    pub fn is_incomplete(&self) -> bool {
        is_incomplete(&self.items)
    }
}
