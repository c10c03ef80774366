//! A comparison as a value: what `-o json` and `-o yaml` print.

use crate::cgroup::live::diff::{Difference, is_incomplete, summary};
use crate::cgroup::report::{API_VERSION, Assumption, Basis};
use crate::facts::node::NodeFacts;
use serde::Serialize;
use std::collections::BTreeMap;

/// Plan against kernel.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CgroupDiff<'a> {
    /// `kq/v1`
    pub api_version: &'static str,
    /// `CgroupDiff`
    pub kind: &'static str,
    /// The facts about the node, with their origins.
    pub node: &'a NodeFacts,
    /// What nobody said and was taken for granted.
    pub assumptions: Vec<Assumption>,
    /// What an operator should know.
    pub warnings: Vec<String>,
    /// How many of each verdict there are.
    pub summary: BTreeMap<String, usize>,
    /// One for each value, and one for each cgroup that is on one side only.
    pub items: Vec<Difference<'a>>,
}

impl<'a> CgroupDiff<'a> {
    /// Puts differences together with what they rest on.
    pub fn new(node: &'a NodeFacts, items: Vec<Difference<'a>>, basis: Basis) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "CgroupDiff",
            node,
            assumptions: basis.assumptions,
            warnings: basis.warnings,
            summary: summary(&items),
            items,
        }
    }

    /// Tells whether anything differs for no known reason.
    pub fn has_drift(&self) -> bool {
        self.items.iter().any(|found| found.verdict.is_drift())
    }

    /// Returns true if nothing was compared, or a side of a comparison is unknown.
    pub fn is_incomplete(&self) -> bool {
        is_incomplete(&self.items)
    }
}
