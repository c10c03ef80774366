//! What is said of a start of the kubelet: each answer about it has these findings.

use super::{Exit, Fix, StartProblem};
use kq_answer::{Certainty, Severity, Wording};
use serde::Serialize;

/// What is said of a start of the kubelet.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum StartFinding {
    /// It starts, as far as was checked.
    Starts { version: String, not_checked: Vec<String> },
    /// It does not.
    Stops {
        /// Its words.
        text: String,
        /// It panics.
        is_panic: bool,
        certainty: Certainty,
        fix: Option<String>,
        command: Option<String>,
    },
    /// It panics when it admits a pod with a device that its plugin no longer lists.
    PanicsWithDevice {
        text: String,
        pod: String,
        resource: String,
        device: String,
        certainty: Certainty,
    },
    /// The next error, once the earlier ones are fixed.
    StopsThen { text: String, fix: Option<String> },
    /// It starts and logs a warning.
    Warns { text: String },
    /// A fact that decides is not known.
    Unknown { reason: String },
}

impl StartFinding {
    /// Returns the finding of a problem.
    pub fn of(problem: &StartProblem) -> Self {
        let fix = problem.fix.as_ref().map(ToString::to_string);
        let text = problem.text.clone();
        if !problem.is_first {
            return Self::StopsThen { text, fix };
        }
        let command = match problem.fix.as_deref() {
            Some(Fix::DeleteFile { path }) => {
                Some(format!("rm -- '{}'", path.replace('\'', "'\\''")))
            }
            _ => None,
        };
        Self::Stops {
            text,
            is_panic: problem.exit == Exit::Panic,
            certainty: problem.certainty,
            fix,
            command,
        }
    }

    /// Returns the severity.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Stops { .. } | Self::StopsThen { .. } | Self::PanicsWithDevice { .. } => {
                Severity::Error
            }
            Self::Warns { .. } => Severity::Warning,
            Self::Unknown { .. } => Severity::Unknown,
            Self::Starts { not_checked, .. } if !not_checked.is_empty() => Severity::Info,
            Self::Starts { .. } => Severity::Ok,
        }
    }

    /// Returns the sentences.
    pub fn wording(&self) -> Wording {
        match self {
            Self::Starts { version, not_checked } if !not_checked.is_empty() => {
                let not_checked = not_checked.join(", ");
                Wording::new(format!("nothing that was checked stops kubelet {version}; not checked: {not_checked}"))
            }
            Self::Starts { version, .. } => Wording::new(format!("kubelet {version} starts")),
            Self::Stops { text, is_panic, certainty, fix, .. } => {
                let verb = if *is_panic { "panics" } else { "exits" };
                let sure = match certainty {
                    Certainty::Certain => String::new(),
                    other => format!(" ({other})"),
                };
                let wording = Wording::new(format!(
                    "the kubelet {verb} at its start{sure}: {}",
                    last_error(text)
                ))
                .because(text.as_str())
                .leads_to(
                    "the node becomes NotReady; running containers keep running without a kubelet",
                );
                fix.iter().fold(wording, |wording, fix| wording.advise(fix.as_str()))
            }
            Self::PanicsWithDevice { text, pod, resource, device, certainty } => {
                Wording::new(format!(
                    "the kubelet panics when it admits {pod} ({certainty}): the plugin of {resource} no longer lists {device}"
                ))
                .because(text.as_str())
                .leads_to("the kubelet panics at every start at which the plugin registers before the pods are admitted")
                .advise(format!("delete {pod} before the change, or remove its entry: kq devices repair --remove-stale"))
            }
            Self::StopsThen { text, fix } => {
                let wording = Wording::new(format!(
                    "once that is fixed, the kubelet fails: {}",
                    last_error(text)
                ))
                .because(text.as_str());
                fix.iter().fold(wording, |wording, fix| wording.advise(fix.as_str()))
            }
            Self::Warns { text } => Wording::new(format!("the kubelet starts and logs: {text}")),
            Self::Unknown { reason } => Wording::new(reason.as_str()),
        }
    }
}

/// Returns the innermost error of a text in which each caller wrapped that of its callee.
fn last_error(text: &str) -> &str {
    text.rsplit_once("error: ").map_or(text, |(_, error)| error)
}
