//! One pass of the loop that is watched.

use crate::answer::{Basis, answer};
use crate::image_gc::apply_report::{ImageGcApply, result_line, summary_line};
use crate::image_gc::loops::Outcome;
use crate::image_gc::plan::{ImageGcPlan, short, size};
use serde::Serialize;

/// A pass and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pass {
    /// Which one, from 1.
    pub pass: u64,
    /// What it would do.
    pub plan: ImageGcPlan,
    /// What was done; `None`: it only says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<ImageGcApply>,
    /// What the kubelet writes into its log.
    pub log: String,
    /// The result, and the event that the kubelet writes.
    pub outcome: Outcome,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ImageGcPass", Pass);

impl Pass {
    /// Puts a pass together.
    pub fn new(
        pass: u64,
        plan: ImageGcPlan,
        removed: Option<ImageGcApply>,
        outcome: Outcome,
    ) -> Self {
        let log = match &outcome {
            Outcome::Succeeded => "Image garbage collection succeeded",
            Outcome::FailedSilently => {
                "Image garbage collection failed once. Stats initialization may not have completed yet"
            }
            Outcome::FailedWithEvent(_) => {
                "Image garbage collection failed multiple times in a row"
            }
        };
        Self { pass, plan, removed, log: log.to_owned(), outcome, basis: Basis::default() }
    }
}

/// Returns a pass in lines.
pub fn pass_lines(pass: &Pass) -> Vec<String> {
    let plan = &pass.plan;
    let mut lines = vec![format!("PASS {} at {}", pass.pass, plan.at)];
    let decisions = plan.run.because.iter().map(|because| format!("  {because}"));
    lines.extend(decisions);
    match &pass.removed {
        None => {
            for item in plan.items.iter().filter(|item| item.verdict.is_removal()) {
                lines.push(format!(
                    "  would remove {} {} {} ({}): {}",
                    item.name(),
                    short(&item.id),
                    size(item.size_bytes),
                    item.certainty,
                    item.reason
                ));
            }
        }
        Some(report) => {
            let results =
                report.items.iter().enumerate().filter_map(|(index, item)| {
                    Some((index, &item.removal, item.result.as_ref()?))
                });
            for (index, removal, result) in results {
                let line = result_line(index, report.items.len(), removal, result);
                lines.push(format!("  {line}"));
            }
            lines.push(format!("  {}", summary_line(report)));
        }
    }
    for event in &plan.outcome.events {
        lines.push(format!("  event {} {}: {}", event.r#type, event.reason, event.message));
    }
    lines.push(format!("  log: {}", pass.log));
    if let Outcome::FailedWithEvent(event) = &pass.outcome {
        lines.push(format!("  event {} {}: {}", event.event_type, event.reason, event.message));
    }
    lines
}
