//! What is said of a start of the kubelet: each answer about it has these findings.

use super::{Exit, Fix, StartProblem, StartWarning};
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
        /// The innermost error of them.
        cause: String,
        /// It panics.
        is_panic: bool,
        certainty: Certainty,
        fix: Option<String>,
        command: Option<String>,
        /// What it has written into cgroups before.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        writes: Vec<StartWrite>,
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
    StopsThen { text: String, cause: String, fix: Option<String> },
    /// It starts and logs a warning.
    Warns { text: String },
    /// It starts without what its strict decoding refuses.
    Ignores {
        /// What it logs.
        text: String,
        /// The error of the strict decoding.
        strict_error: String,
        /// The file.
        path: String,
    },
    /// It starts with the cgroup driver of the runtime, which is not that of the configuration.
    OtherDriver {
        /// What it logs.
        text: String,
        configured: String,
        runtime: String,
    },
    /// It starts without a field of a drop-in, and says nothing of it.
    Drops { path: String, field: String },
    /// A fact that decides is not known.
    Unknown {
        reason: String,
        /// The words with which it ends, if it does.
        text: Option<String>,
    },
}

/// A value that a kubelet writes into a cgroup before its start fails. It stays there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartWrite {
    /// The path below the root of the hierarchy.
    pub cgroup: String,
    pub file: String,
    pub value: String,
    /// The value that it may have instead; null: none.
    pub or: Option<String>,
    /// False: a thread of its own writes it, which may not come to it before the end, or the cgroup may be missing.
    pub is_certain: bool,
}

impl StartFinding {
    /// Returns the finding of a problem.
    pub fn of(problem: &StartProblem) -> Self {
        let fix = problem.fix.as_ref().map(ToString::to_string);
        let (text, cause) = (problem.text.clone(), problem.rule.cause());
        if !problem.is_first {
            return Self::StopsThen { text, cause, fix };
        }
        let command = match problem.fix.as_deref() {
            Some(Fix::DeleteFile { path }) => {
                Some(format!("rm -- '{}'", path.replace('\'', "'\\''")))
            }
            _ => None,
        };
        Self::Stops {
            text,
            cause,
            is_panic: problem.exit == Exit::Panic,
            certainty: problem.certainty,
            fix,
            command,
            writes: Vec::new(),
        }
    }

    /// Returns the finding of a warning.
    pub fn of_warning(warning: &StartWarning) -> Self {
        let text = warning.to_string();
        match warning {
            StartWarning::Lenient { path, strict_error } => {
                Self::Ignores { text, strict_error: strict_error.clone(), path: path.clone() }
            }
            StartWarning::RuntimeDriver { configured, runtime } => {
                Self::OtherDriver { text, configured: configured.clone(), runtime: runtime.clone() }
            }
            StartWarning::UnknownField { path, field } => {
                Self::Drops { path: path.clone(), field: field.clone() }
            }
            _ => Self::Warns { text },
        }
    }

    pub fn severity(&self) -> Severity {
        match self {
            Self::PanicsWithDevice { certainty: Certainty::Possible, .. } => Severity::Unknown,
            Self::Stops { .. } | Self::StopsThen { .. } | Self::PanicsWithDevice { .. } => {
                Severity::Error
            }
            Self::Warns { .. }
            | Self::Ignores { .. }
            | Self::OtherDriver { .. }
            | Self::Drops { .. } => Severity::Warning,
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
                    .advise("run kq as root on the node, or take a new snapshot there")
            }
            Self::Starts { version, .. } => Wording::new(format!("kubelet {version} starts")),
            Self::Stops { text, cause, is_panic, certainty, fix, writes, .. } => {
                let verb = if *is_panic { "panics" } else { "exits" };
                let sure = match certainty {
                    Certainty::Certain => String::new(),
                    other => format!(" ({other})"),
                };
                let wording = Wording::new(format!(
                    "the kubelet {verb} at its start{sure}: {cause}"
                ))
                .because(text.as_str())
                .leads_to(format!(
                    "the node becomes NotReady; running containers keep running without a kubelet{}",
                    written(writes)
                ));
                fix.iter().fold(wording, |wording, fix| wording.advise(fix.as_str()))
            }
            Self::PanicsWithDevice { text, pod, resource, device, certainty } => {
                let found = match certainty {
                    Certainty::Possible => format!(
                        "the kubelet may panic when it admits {pod}: {device} of {resource} is unhealthy, or its plugin no longer lists it"
                    ),
                    _ => format!(
                        "the kubelet panics when it admits {pod} ({certainty}): the plugin of {resource} no longer lists {device}"
                    ),
                };
                Wording::new(found)
                .because(text.as_str())
                .leads_to("the kubelet panics at every start at which the plugin registers before the pods are admitted")
                .advise(format!("delete {pod} before the change, or remove its entry: kq devices repair --remove-stale"))
            }
            Self::StopsThen { text, cause, fix } => {
                let wording = Wording::new(format!(
                    "once that is fixed, the kubelet fails: {cause}"
                ))
                .because(text.as_str());
                fix.iter().fold(wording, |wording, fix| wording.advise(fix.as_str()))
            }
            Self::Warns { text } => Wording::new(format!("the kubelet starts and logs: {text}")),
            Self::Ignores { text, strict_error, path } => {
                Wording::new(format!("the kubelet starts and ignores: {strict_error}"))
                    .because(text.as_str())
                    .advise(format!("correct the name of the field in {path}, or remove it"))
            }
            Self::OtherDriver { text, configured, runtime } => Wording::new(format!(
                "the kubelet starts and ignores cgroupDriver {configured}: the runtime reports {runtime}"
            ))
            .because(text.as_str())
            .advise(format!(
                "set cgroupDriver: {runtime} in the kubelet's configuration: it counts again when a runtime does not report its driver"
            )),
            Self::Drops { path, field } => Wording::new(format!(
                "the kubelet starts without {field} of {path}, which it does not know, and logs nothing"
            ))
            .advise(format!("correct the name of the field in {path}, or remove it")),
            Self::Unknown { reason, text } => {
                let wording = Wording::new(reason.as_str());
                text.iter().fold(wording, |wording, text| {
                    wording
                        .because(text.as_str())
                        .advise("read the state files: run kq on the node, or pass a snapshot of it")
                })
            }
        }
    }
}

/// Returns what a kubelet has written before its end, cgroup by cgroup.
fn written(writes: &[StartWrite]) -> String {
    let of = |is_certain: bool| -> String {
        let mut cgroups: Vec<(&str, Vec<String>)> = Vec::new();
        for write in writes.iter().filter(|it| it.is_certain == is_certain) {
            let or = write.or.iter().map(|other| format!(" or {other}")).collect::<String>();
            let value = format!("{} {}{or}", write.file, write.value);
            match cgroups.last_mut().filter(|(cgroup, _)| *cgroup == write.cgroup) {
                Some((_, values)) => values.push(value),
                None => cgroups.push((&write.cgroup, vec![value])),
            }
        }
        let texts = cgroups.iter().map(|(name, values)| format!("{name}: {}", values.join(", ")));
        texts.collect::<Vec<_>>().join("; ")
    };
    let (certain, open) = (of(true), of(false));
    let certain = match certain.as_str() {
        "" => certain,
        values => format!("; before it ends, it writes what stays: {values}"),
    };
    match open.as_str() {
        "" => certain,
        values => {
            format!("{certain}; perhaps also, by threads that the end may come before: {values}")
        }
    }
}
