//! A comparison as a value: what `-o json` and `-o yaml` print.

use crate::live::difference::{Difference, Verdict, is_incomplete, summary};
use kq_answer::{Basis, Headline, answer};
use kq_output::units::counted;
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

answer!("CgroupDiff", CgroupDiff<'_>; CgroupDiff::headline);

impl CgroupDiff<'_> {
    /// Returns how many values differ, and the first.
    fn headline(&self) -> Headline {
        let mut differing = self.items.iter().filter(|it| it.verdict.is_drift());
        let all = self.items.len();
        let unknown = self.items.iter().filter(|it| it.verdict == Verdict::Unknown).count();
        let Some(first) = differing.next() else {
            let known = |it: &&Difference<'_>| {
                matches!(
                    it.verdict,
                    Verdict::Changing | Verdict::ResizePending | Verdict::OlderConfig
                )
            };
            let known = self.items.iter().filter(known).count();
            return match (all, unknown) {
                (0, _) => Headline::good("nothing", "nothing to compare"),
                (_, 0) if known > 0 => {
                    let differ = if known == 1 { "differs" } else { "differ" };
                    let text =
                        format!("{known} of {all} values {differ}, for a reason that is known");
                    Headline::good("known-differences", text)
                }
                (_, 0) => Headline::good(
                    "as-planned",
                    format!("all {} are as planned", counted(all, "value")),
                ),
                _ => {
                    let text = format!("no value differs; {unknown} of {all} are unknown");
                    Headline::new("unknown", text)
                }
            };
        };
        let owner = match (&first.namespace, &first.pod) {
            (Some(namespace), Some(pod)) => format!("{namespace}/{pod}"),
            _ => first.cgroup.clone(),
        };
        let file = first.file.as_deref().unwrap_or("the cgroup");
        let text = match 1 + differing.count() {
            1 => format!("1 of {all} values differs from the plan: {file} of {owner}"),
            count => {
                format!(
                    "{count} of {all} values differ from the plan, the first: {file} of {owner}"
                )
            }
        };
        Headline::new("drift", text)
    }
}

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
