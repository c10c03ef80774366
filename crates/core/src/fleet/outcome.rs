//! The answer of one node, and its results.

use super::disruptions::NodeDisruptions;
use super::reported::{
    Admission, Before, Devices, Distance, Eviction, ImageGc, Known, Preemption, Reported,
    ReportedFinding,
};
use kq_answer::Severity;
use kq_eviction::Sufficiency;
use kq_k8s::duration::GoDuration;
use kq_output::json_path::Template;
use kq_output::terminal::brief;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// The most results of one node that are counted; no command has as many.
const MOST: usize = 100;

/// The most characters of a result; no rule has as long a name.
const LONGEST: usize = 200;

/// The results of a summary that are no problem.
const AS_IT_SHOULD_BE: [&str; 3] = ["MATCH", "ROUNDED", "OK"];

/// A result of a node: nodes with equal results are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeResult {
    /// How bad it is.
    pub severity: Severity,
    /// The rule of a finding, or the answer in a word.
    pub result: String,
}

/// How a node's part of the question ended. It is short, whatever a node writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// kq answered, with an exit code of 0, 1 or 3.
    Answered {
        exit_code: u8,
        /// What counts of the answer, the worst first; never nothing.
        results: Vec<NodeResult>,
        /// The number of the answer, if one is looked for and is there.
        value: Option<f64>,
    },
    /// There is no answer.
    Failed {
        /// The exit code of kq; `None`: it did not end by itself.
        exit_code: Option<u8>,
        why: NoAnswer,
    },
}

/// Why a node has no answer.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
pub enum NoAnswer {
    /// kq ended with an error, in its own words.
    #[error("{0}")]
    Refused(String),
    /// It did not end in time.
    #[error("no answer within {0}")]
    TimedOut(String),
    /// It is larger than is read.
    #[error("the answer is larger than {} MiB", .0 >> 20)]
    Large(u64),
    /// Reading it takes more time or memory than an answer of its size takes.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
    /// What it wrote is no answer.
    #[error("the output is not an answer of kq: {0}")]
    NoJson(String),
    /// The log of its pod has not the whole answer.
    #[error("the log of the pod is cut off or damaged: {0}")]
    Cut(String),
    /// Its pod did not come to an answer.
    #[error("the pod did not run: {0}")]
    Pod(String),
    /// Its pod was not created: the API server refused it.
    #[error("the pod did not run: {0}")]
    NotCreated(String),
    /// The API server did not answer for it.
    #[error("{0}")]
    ApiServer(String),
    /// It has another system than Linux: no pod is created.
    #[error("{0} nodes have no answer: -l kubernetes.io/os=linux leaves them out")]
    OtherSystem(String),
    /// It was not queried, since kq was interrupted.
    #[error("not queried: kq was interrupted")]
    Interrupted,
    /// kq itself could not be run.
    #[error("kq could not be run: {0}")]
    NotRun(String),
}

/// One node with its part of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeOutcome {
    pub node: String,
    /// The group of the node, where nodes are grouped by a label: its value, empty without the label.
    pub group: Option<String>,
    /// What it answered.
    pub reply: Reply,
    /// The whole answer in one line of JSON, where it is asked for and there is one.
    pub answer: Option<String>,
    /// The pods that a change disrupts, where they are asked for.
    pub disruptions: Option<NodeDisruptions>,
}

impl NoAnswer {
    /// Another client deleted the pod.
    pub fn deleted() -> Self {
        Self::Pod("another client deleted it".to_owned())
    }

    /// Another client put another pod in the place of the pod.
    pub fn replaced() -> Self {
        Self::Pod("another client replaced it".to_owned())
    }

    /// The process that reads what a node sent read something else.
    pub fn other_reading() -> Self {
        Self::NotRun("it is another version".to_owned())
    }
}

impl fmt::Display for NodeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.severity {
            Severity::Ok => f.write_str(&self.result),
            severity => write!(f, "{severity} {}", self.result),
        }
    }
}

impl Reply {
    /// Reads the output of kq for a node, and returns the whole answer as well; `snapshot` is the file that the node was
    /// read from, and `value` finds a number.
    pub fn parse(
        snapshot: Option<&Path>,
        exit_code: Option<u8>,
        output: &[u8],
        notes: &str,
        value: Option<&Template>,
    ) -> (Self, Option<Value>) {
        let failed = |why| (Self::Failed { exit_code, why }, None);
        match (exit_code, serde_json::from_slice::<Value>(output)) {
            (Some(code @ (0 | 1 | 3)), Ok(answer)) if answer.get("kind").is_some() => {
                (Self::of_answer(code, &answer, value), Some(answer))
            }
            (Some(0), Ok(_)) => failed(NoAnswer::NoJson("it has no kind".to_owned())),
            (Some(0), Err(error)) => failed(NoAnswer::NoJson(error.to_string())),
            (None, _) => failed(NoAnswer::NotRun("a signal ended it".to_owned())),
            (Some(_), _) => {
                let reason = error_of_kq(notes);
                let reason = reason.unwrap_or_else(|| "it ended without an answer".to_owned());
                // The same reason is the same result, whatever the file is called.
                let reason = match snapshot {
                    Some(path) => reason.replace(&*path.to_string_lossy(), "the snapshot"),
                    None => reason,
                };
                failed(NoAnswer::Refused(brief(&reason).into_owned()))
            }
        }
    }

    /// Returns what counts of an answer.
    pub fn of_answer(exit_code: u8, answer: &Value, value: Option<&Template>) -> Self {
        let result = |severity, result: &str| NodeResult { severity, result: result.to_owned() };
        let found = counted(answer, exit_code);
        let results = match found.is_empty() {
            true => vec![match exit_code {
                0 => result(Severity::Ok, "OK"),
                3 => result(Severity::Unknown, "facts are missing"),
                _ => result(Severity::Warning, "no"),
            }],
            false => found.into_iter().take(MOST).collect(),
        };
        let number = |template: &Template| template.text(answer).trim().parse::<f64>().ok();
        let value = value.and_then(number).filter(|value| value.is_finite());
        Self::Answered { exit_code, results, value }
    }

    /// Returns what counts of it, the worst first; never nothing.
    pub fn results(&self) -> Vec<NodeResult> {
        match self {
            Self::Answered { results, .. } => results.clone(),
            Self::Failed { why, .. } => {
                let result = brief(&format!("no answer: {why}")).into_owned();
                vec![NodeResult { severity: Severity::Unknown, result }]
            }
        }
    }

    /// Returns the exit code that counts.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Answered { exit_code, .. } => *exit_code,
            Self::Failed { exit_code: Some(2), .. } => 2,
            Self::Failed { .. } => 3,
        }
    }
}

/// Returns the error that ended kq, among its notes.
pub fn error_of_kq(notes: &str) -> Option<String> {
    let mut lines = notes.lines();
    let error = lines.find_map(|line| line.strip_prefix("kq: ").or(line.strip_prefix("error: ")));
    error.map(str::to_owned)
}

/// Returns the beginning of a result.
fn short(result: &str) -> String {
    match result.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &result[..end]),
        None => result.to_owned(),
    }
}

/// Returns what counts of an answer, the worst first. An answer without findings is as bad as its exit code has it.
fn counted(answer: &Value, exit_code: u8) -> BTreeSet<NodeResult> {
    let severity = match exit_code {
        0 => Severity::Ok,
        3 => Severity::Unknown,
        _ => Severity::Warning,
    };
    let result = |result: &str| NodeResult { severity, result: short(result) };
    let one = |word: &str| [result(word)].into();
    match Reported::read(answer) {
        Reported::Findings(found) => found.into_iter().filter_map(problem).collect(),
        Reported::Admission(Admission { start_error: Some(_), .. })
        | Reported::Preemption(Preemption { start_error: Some(_), .. }) => one("no kubelet"),
        Reported::Admission(Admission { admitted: Some(false), refusals, .. }) => {
            refusals.iter().map(|it| result(&it.reason)).collect()
        }
        Reported::Admission(Admission { admitted: Some(true), .. }) => one("admitted"),
        Reported::Admission(Admission { admitted: None, .. })
        | Reported::Preemption(Preemption {
            admission: Some(Admission { admitted: None, .. }),
            ..
        }) => one("undecided"),
        Reported::Preemption(it) => one(&it.result),
        Reported::ImageGc(ImageGc { headline: Some(it), .. }) if it.code == "unknown" => {
            one("undecided")
        }
        Reported::ImageGc(it) if it.falls_short() => one("frees too little"),
        Reported::ImageGc(it) if it.removes_images() => one("removes images"),
        Reported::ImageGc(_) => one("removes nothing"),
        Reported::Eviction(it) => one(eviction(&it)),
        Reported::Devices(Devices { items }) => {
            let states = items.into_iter().filter_map(|device| match device.state {
                Known::Value(state) => Some(state.result()),
                Known::Other(_) => None,
            });
            states
                .map(|(severity, word)| NodeResult { severity, result: word.to_owned() })
                .collect()
        }
        Reported::Counted(counts) => {
            let counts = counts
                .iter()
                .filter(|(name, count)| **count > 0 && !AS_IT_SHOULD_BE.contains(&name.as_str()));
            counts.map(|(name, _)| result(name)).collect()
        }
        Reported::Headed(headline) => one(&headline.text),
        Reported::Other => BTreeSet::new(),
    }
}

/// Returns the rule of a problem; `None`: the finding is none.
fn problem(finding: ReportedFinding) -> Option<NodeResult> {
    match finding.severity {
        Known::Value(severity) if severity <= Severity::Warning => {
            Some(NodeResult { severity, result: short(&finding.id) })
        }
        Known::Value(_) | Known::Other(_) => None,
    }
}

/// Returns what the kubelet does. At a threshold with a grace period, it waits for as long.
fn eviction(found: &Eviction) -> &'static str {
    let graces = found.now.iter().filter_map(|distance| match distance {
        Distance::Crossed { threshold } => Some(threshold.grace_period),
        Distance::NotCrossed => None,
    });
    let reclaimed = found.reclaimed.as_ref().map(|it| &it.sufficiency);
    match graces.min() {
        // A pod above a limit of its own goes whatever a threshold says.
        _ if found.before.iter().any(|it| matches!(it, Before::LocalStorageLimits {})) => {
            "evicts now"
        }
        None => "evicts nothing",
        _ if matches!(reclaimed, Some(Known::Value(Sufficiency::Enough))) => "reclaims enough",
        Some(GoDuration(..=0)) => "evicts now",
        Some(_) => "evicts after the grace period",
    }
}
