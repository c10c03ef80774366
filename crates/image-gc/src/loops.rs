//! When the kubelet collects garbage, and which failures it reports; one pass of the loop that is watched.
//!
//! Rules: `StartGarbageCollection` in `pkg/kubelet/kubelet.go`; pinned by `tests/vectors/gc_loop.jsonl`.
//! Each loop is a state and a step, so that production code runs the loop that is tested.
//!
//! ```text
//!              interval   a failure is an event               starts
//! containers   1 minute   always                              always
//! images       5 minutes  if the run before failed as well    unless turned off by the policy
//! ```
//!
//! Older kubelets (1.32 is one) take the error's text as a format: a percent sign in it comes out changed
//! in the event, which kq does not imitate.

use crate::apply_report::{ImageGcApply, result_line, summary_line};
use crate::plan::{ImageGcPlan, short, size};
use crate::policy::ImageGcPolicy;
use kq_answer::{Basis, answer};
use kq_k8s::duration::GoDuration;
use serde::Serialize;

/// Which garbage is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Garbage {
    /// Dead containers, sandboxes and log folders.
    Containers,
    /// Images that nothing uses.
    Images,
}

impl Garbage {
    /// Returns how long the kubelet waits after the end of a run.
    pub fn interval(self) -> GoDuration {
        match self {
            Self::Containers => GoDuration::MINUTE,
            Self::Images => GoDuration(5 * GoDuration::MINUTE.0),
        }
    }

    /// Returns the reason of the event about a failed run.
    pub fn failure_reason(self) -> &'static str {
        match self {
            Self::Containers => "ContainerGCFailed",
            Self::Images => "ImageGCFailed",
        }
    }
}

/// One of the kubelet's loops between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcLoop {
    garbage: Garbage,
    failed_before: bool,
}

/// What follows from a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcPass {
    /// When the next run is, in nanoseconds on the clock of the run.
    pub next_run_at: i64,
    /// How the run went, as far as the loop is concerned.
    pub outcome: Outcome,
}

/// How a run went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It succeeded.
    Succeeded,
    /// It failed for the first time, which is only logged: statistics may not be there yet.
    FailedSilently,
    /// It failed, and the kubelet says so in an event on its node.
    #[serde(rename = "failedAndTold")]
    FailedWithEvent(GcEvent),
}

/// An event on the node, of type `Warning`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcEvent {
    /// When, in nanoseconds on the clock of the run.
    pub at: i64,
    /// `Warning`
    #[serde(rename = "type")]
    pub event_type: &'static str,
    /// `ContainerGCFailed` or `ImageGCFailed`
    pub reason: &'static str,
    /// The error.
    pub message: String,
}

impl GcLoop {
    /// Returns the loop of containers, whose first run is at the start of the kubelet.
    pub fn containers() -> Self {
        Self { garbage: Garbage::Containers, failed_before: false }
    }

    /// Returns the loop of images, whose first run is at the start of the kubelet; `None` if the policy
    /// turns it off.
    pub fn images(policy: &ImageGcPolicy) -> Option<Self> {
        policy.is_collecting().then_some(Self { garbage: Garbage::Images, failed_before: false })
    }

    /// Returns what the loop collects.
    pub fn garbage(&self) -> Garbage {
        self.garbage
    }

    /// Takes the result of a run that ended at some time, and returns what follows.
    ///
    /// The wait begins with the end of a run, so runs that take long drift.
    pub fn step(&mut self, ended_at: i64, result: Result<(), &str>) -> GcPass {
        let outcome = match result {
            Ok(()) => Outcome::Succeeded,
            Err(_) if self.garbage == Garbage::Images && !self.failed_before => {
                Outcome::FailedSilently
            }
            Err(error) => Outcome::FailedWithEvent(GcEvent {
                at: ended_at,
                event_type: "Warning",
                reason: self.garbage.failure_reason(),
                message: error.to_owned(),
            }),
        };
        self.failed_before = result.is_err();
        GcPass { next_run_at: ended_at.saturating_add(self.garbage.interval().0), outcome }
    }
}

impl GcPass {
    /// Returns the event that the run leads to.
    pub fn event(&self) -> Option<&GcEvent> {
        match &self.outcome {
            Outcome::FailedWithEvent(event) => Some(event),
            Outcome::Succeeded | Outcome::FailedSilently => None,
        }
    }
}

/// A pass and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pass {
    /// Which one, from 1.
    pub pass: u64,
    /// What it would do.
    pub plan: ImageGcPlan,
    /// What was done; null: the event is a message alone.
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

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: ImageGcPolicy = ImageGcPolicy {
        high_threshold_percent: 85,
        low_threshold_percent: 80,
        min_age: GoDuration(0),
        max_age: GoDuration(0),
    };

    /// Writes runs as `.` and failures as `x`, those with an event as `X`.
    fn told(mut gc: GcLoop, runs: &str) -> String {
        let mut at = 0;
        let mut told = String::new();
        for run in runs.chars() {
            let turn = gc.step(at, if run == '.' { Ok(()) } else { Err("why") });
            at = turn.next_run_at;
            told.push(match turn.outcome {
                Outcome::Succeeded => '.',
                Outcome::FailedSilently => 'x',
                Outcome::FailedWithEvent(_) => 'X',
            });
        }
        told
    }

    #[test]
    fn failures_are_told() {
        let images = GcLoop::images(&POLICY).expect("a loop");
        for (name, gc, runs, expected) in [
            ("containers", GcLoop::containers(), "x.xx", "X.XX"),
            ("images, one in a row", images, "x.x.", "x.x."),
            ("images, several in a row", images, "xxx.xx", "xXX.xX"),
        ] {
            assert_eq!(told(gc, runs), expected, "{name}");
        }
    }

    #[test]
    fn the_wait_begins_with_the_end_of_a_run() {
        let mut gc = GcLoop::containers();
        assert_eq!(gc.step(7, Ok(())).next_run_at, 60_000_000_007);
        assert_eq!(gc.step(i64::MAX, Ok(())).next_run_at, i64::MAX);
        let mut gc = GcLoop::images(&POLICY).expect("a loop");
        gc.step(0, Err("once"));
        let turn = gc.step(300, Err("50% twice"));
        let event = turn.event().expect("an event");
        assert_eq!((event.at, event.reason), (300, "ImageGCFailed"));
        assert_eq!(event.message, "50% twice");
        assert_eq!(turn.next_run_at, 300_000_000_300);
    }

    #[test]
    fn the_loop_of_images_can_be_off() {
        let off = ImageGcPolicy { high_threshold_percent: 100, ..POLICY };
        assert_eq!(GcLoop::images(&off), None);
    }
}
