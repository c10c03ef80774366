//! The report: the fields of its JSON, and its lines.

use super::{Apply, EvictionResponse, Removal, RemovalOptions, StepResult, Target};
use kq_answer::{Basis, answer};
use kq_output::table::{Column, Rows, Table};
use serde::Serialize;
use std::time::Duration;

/// `kq preempt apply`
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreemptionApply {
    /// The pod that is to fit, as NAMESPACE/NAME.
    pub pod: String,
    pub node: String,
    /// The request to the API server.
    pub method: Removal,
    /// Nothing was to be changed.
    pub dry_run: bool,
    /// How it ended.
    pub result: ApplyResult,
    /// Why, in words.
    pub because: String,
    /// The victims, in the order in which the kubelet would kill them.
    pub steps: Vec<StepReport>,
    /// Differences from the kubelet's own preemption, and their possible effects.
    pub notes: Vec<String>,
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("PreemptionApply", PreemptionApply);

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApplyResult {
    /// The pod fits, and did so before.
    Fits,
    /// The kubelet would kill no pod for it.
    #[serde(rename = "helpless")]
    NoVictims,
    /// This is what would be done.
    Planned,
    /// Nothing was changed.
    Refused,
    /// The pod fits now.
    Done,
    /// The pod does not fit, and something was changed.
    Stopped,
}

/// A victim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    pub pod: String,
    pub uid: String,
    /// Its own grace period.
    pub grace_period_seconds: i64,
    /// The longest wait for the pod to stop.
    pub waits_milliseconds: u64,
    /// The API server's answer to a dry run.
    pub check: Check,
    pub result: StepResult,
    /// Why, where there is something to say.
    pub because: Option<String>,
    /// How long it took to go.
    pub took_milliseconds: Option<u64>,
}

/// The API server's answer to a dry run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Check {
    /// Whether it would do it.
    pub result: CheckResult,
    /// What it said.
    pub because: Option<String>,
}

/// Whether the API server would do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckResult {
    /// It would.
    Allowed,
    /// There is no such pod any more.
    Gone,
    /// A disruption budget does not allow it now.
    Budget,
    /// It would not.
    Refused,
    /// kq does not evict it.
    Unfit,
    /// It gave no answer.
    NoAnswer,
    /// It was not queried.
    #[serde(rename = "notAsked")]
    NotQueried,
}

impl Check {
    pub const NOT_QUERIED: Self = Self { result: CheckResult::NotQueried, because: None };

    /// Takes it from what was said.
    pub fn of(said: &EvictionResponse) -> Self {
        let result = match said {
            EvictionResponse::Accepted => CheckResult::Allowed,
            EvictionResponse::NotFound { .. } => CheckResult::Gone,
            EvictionResponse::Budget { .. } => CheckResult::Budget,
            EvictionResponse::Conflict { .. } | EvictionResponse::Refused { .. } => {
                CheckResult::Refused
            }
            EvictionResponse::Unclear { .. } | EvictionResponse::Unsent { .. } => {
                CheckResult::NoAnswer
            }
        };
        Self { result, because: said.objection() }
    }

    /// The pod is one that kq does not evict.
    pub fn unfit(because: String) -> Self {
        Self { result: CheckResult::Unfit, because: Some(because) }
    }

    /// Returns true if it is an objection to the plan; a budget is none if kq waits for it.
    pub fn is_against(&self, waits_for_budgets: bool) -> bool {
        match self.result {
            CheckResult::Allowed | CheckResult::Gone | CheckResult::NotQueried => false,
            CheckResult::Budget => !waits_for_budgets,
            CheckResult::Refused | CheckResult::Unfit | CheckResult::NoAnswer => true,
        }
    }
}

impl StepReport {
    /// Puts together what is known of a victim to which nothing was done.
    pub fn planned(target: &Target, options: &RemovalOptions, check: Check) -> Self {
        Self {
            pod: target.pod.clone(),
            uid: target.uid.clone(),
            grace_period_seconds: target.grace_period_seconds,
            waits_milliseconds: milliseconds(options.timeout(target)),
            check,
            result: StepResult::Left,
            because: None,
            took_milliseconds: None,
        }
    }
}

impl PreemptionApply {
    /// Puts an answer together.
    pub fn new(pod: String, node: String, method: Removal, basis: Basis) -> Self {
        Self {
            pod,
            node,
            method,
            dry_run: false,
            result: ApplyResult::Planned,
            because: String::new(),
            steps: Vec::new(),
            notes: Vec::new(),
            basis,
        }
    }

    /// Takes in what was done.
    pub fn record(&mut self, done: &Apply) {
        for (report, step) in self.steps.iter_mut().zip(done.steps()) {
            report.result = step.result;
            report.because.clone_from(&step.because);
            report.took_milliseconds = step.took.map(milliseconds);
        }
        (self.result, self.because) = match (done.stopped(), done.is_changed()) {
            (None, _) => (ApplyResult::Done, "the pod fits".to_owned()),
            (Some(reason), true) => (ApplyResult::Stopped, reason.to_owned()),
            (Some(reason), false) => (ApplyResult::Refused, reason.to_owned()),
        };
    }

    /// Returns why the plan is not to be carried out.
    pub fn objection(&self, waits_for_budgets: bool) -> Option<String> {
        let against = || self.steps.iter().filter(|step| step.check.is_against(waits_for_budgets));
        if let Some(step) = against().find(|step| step.check.result == CheckResult::Unfit) {
            let because = step.check.because.as_deref().unwrap_or_default();
            return Some(format!("kq does not evict {}: {because}", step.pod));
        }
        let pods: Vec<&str> = against().map(|step| step.pod.as_str()).collect();
        let because = || format!("the API server would refuse: {}", pods.join(", "));
        (!pods.is_empty()).then(because)
    }

    /// Counts the results: `2 removed, 1 spared`.
    pub fn counts(&self) -> String {
        let all = [
            (StepResult::Removed, "gone"),
            (StepResult::AlreadyGone, "gone by themselves"),
            (StepResult::Going, "still going"),
            (StepResult::Unknown, "not known"),
            (StepResult::Refused, "refused"),
            (StepResult::Replaced, "replaced"),
            (StepResult::Spared, "spared"),
            (StepResult::Left, "left alone"),
        ];
        let counted = all.map(|(result, word)| {
            let count = self.steps.iter().filter(|step| step.result == result).count();
            (count > 0).then(|| format!("{count} {word}"))
        });
        counted.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Shows what the API server says to the plan, and how long each victim is waited for.
pub fn table(steps: &[StepReport]) -> Table {
    let rows: Vec<(usize, &StepReport)> = steps.iter().enumerate().collect();
    Rows::of(&rows).table(&[
        Column::new("STEP", |(at, _)| (at + 1).to_string()),
        Column::name("POD", |(_, step)| step.pod.clone()),
        Column::new("UID", |(_, step)| step.uid.clone()),
        Column::new("GRACE", |(_, step)| format!("{}s", step.grace_period_seconds)),
        Column::new("WAITS", |(_, step)| seconds(step.waits_milliseconds)),
        Column::text("API SERVER", |(_, step)| answered(&step.check)),
    ])
}

fn answered(check: &Check) -> String {
    let word = match check.result {
        CheckResult::Allowed => "allows it",
        CheckResult::Gone => "has no such pod any more",
        CheckResult::Budget => "not now",
        CheckResult::Refused => "refused",
        CheckResult::Unfit => "not queried, as kq refuses",
        CheckResult::NoAnswer => "no answer",
        CheckResult::NotQueried => "not queried",
    };
    match &check.because {
        Some(because) => format!("{word}: {because}"),
        None => word.to_owned(),
    }
}

/// Returns the line about one victim.
pub fn result_line(at: usize, steps: &[StepReport], method: Removal) -> String {
    let Some(step) = steps.get(at) else { return String::new() };
    let done = match method {
        Removal::Eviction => "evicted",
        Removal::Deletion => "deleted",
    };
    let took = step.took_milliseconds.map(seconds).unwrap_or_default();
    let what = match step.result {
        StepResult::Left => "left alone".to_owned(),
        StepResult::Spared => "spared: the pod fits without".to_owned(),
        StepResult::Removed => format!("{done}, gone after {took}"),
        StepResult::AlreadyGone => "gone by itself".to_owned(),
        StepResult::Going if step.because.is_some() => format!("still going after {took}"),
        StepResult::Going => format!("{done}, still going after {took}"),
        StepResult::Refused => "refused".to_owned(),
        StepResult::Replaced => "it is another pod now".to_owned(),
        StepResult::Unknown => format!("whether it is {done} is not known"),
    };
    let because = step.because.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    format!("{}/{} {}: {what}{because}", at + 1, steps.len(), step.pod)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Writes a length of time with tenths: `1.5s`, and without where there are none.
fn seconds(milliseconds: u64) -> String {
    match (milliseconds / 1000, milliseconds % 1000 / 100) {
        (seconds, 0) => format!("{seconds}s"),
        (seconds, tenths) => format!("{seconds}.{tenths}s"),
    }
}
