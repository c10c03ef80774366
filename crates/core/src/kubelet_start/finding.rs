//! What is said of a start of the kubelet: each answer about it has these findings.

use super::{Exit, Fix, StartProblem, StartRule, StartWarning};
use kq_answer::{Certainty, Severity, Wording};
use serde::Serialize;

/// What is said of a start of the kubelet.
#[derive(Clone, Debug, PartialEq, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum StartFinding {
    /// It starts, as far as was checked.
    #[text(if not_checked.is_empty() => "kubelet {version} starts")]
    #[text(
        "nothing that was checked stops kubelet {version}; not checked: {not_checked}",
        not_checked = not_checked.join(", ")
    )]
    #[advice(
        if !not_checked.is_empty() => "run kq as root on the node, or take a new snapshot there"
    )]
    Starts { version: String, not_checked: Vec<String> },
    /// It does not.
    #[text(
        certainty: Certainty::Certain => "the kubelet {ends} at its start: {cause}",
        ends = if *is_panic { "panics" } else { "exits" }
    )]
    #[text(
        "the kubelet {ends} at its start ({certainty}): {cause}",
        ends = if *is_panic { "panics" } else { "exits" }
    )]
    #[why("{text}")]
    #[leads_to(
        "the node becomes NotReady; running containers keep running without a kubelet{writes}",
        writes = written(writes)
    )]
    #[advice(fix: Some(fix) => "{fix}")]
    Stops {
        /// Its words.
        text: String,
        /// The innermost error of them.
        cause: String,
        is_panic: bool,
        certainty: Certainty,
        fix: Option<String>,
        command: Option<String>,
        /// What it has written into cgroups before.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        writes: Vec<StartWrite>,
    },
    /// systemd does not start it.
    #[text("systemd does not start the kubelet: {text} ({path})", text = text.trim_end_matches('.'))]
    #[why("the file of the unit is empty or a link to /dev/null")]
    #[leads_to("a kubelet that runs keeps running until it ends, and none starts after it")]
    #[advice("{fix}")]
    Masked {
        /// The words of systemctl.
        text: String,
        path: String,
        fix: String,
    },
    /// It panics when it admits a pod with a device that its plugin no longer lists.
    #[text(
        certainty: Certainty::Possible =>
        "the kubelet may panic when it admits {pod}: {device} of {resource} is unhealthy, or its \
         plugin no longer lists it"
    )]
    #[text(
        "the kubelet panics when it admits {pod} ({certainty}): the plugin of {resource} no longer \
         lists {device}"
    )]
    #[why("{text}")]
    #[leads_to(
        "the kubelet panics at every start at which the plugin registers before the pods are \
         admitted"
    )]
    #[advice(
        "delete {pod} first, or remove its entry while the kubelet is stopped: kq devices repair \
         --remove {pod} --force"
    )]
    PanicsWithDevice {
        text: String,
        pod: String,
        resource: String,
        device: String,
        certainty: Certainty,
    },
    /// The next error, once the earlier ones are fixed.
    #[text("once that is fixed, the kubelet fails: {cause}")]
    #[why("{text}")]
    #[advice(fix: Some(fix) => "{fix}")]
    StopsThen { text: String, cause: String, fix: Option<String> },
    /// It starts and logs a warning.
    #[text("the kubelet starts and logs: {text}")]
    Warns { text: String },
    /// It starts and logs a warning that the kubelet which runs has logged as well.
    #[text("the kubelet starts and logs, as at its last start: {text}")]
    WarnsAgain { text: String },
    /// It starts without what its strict decoding refuses.
    #[text(
        "the kubelet starts and ignores: {strict_error}",
        strict_error = strict_error.split_whitespace().collect::<Vec<_>>().join(" ")
    )]
    #[why("{text}")]
    #[advice(
        knows_all: true => "remove all but one value of the field in {path}: the last one counts"
    )]
    #[advice("correct the name of the field in {path}, or remove it")]
    Ignores {
        /// What it logs.
        text: String,
        /// The error of the strict decoding.
        strict_error: String,
        /// The file.
        path: String,
        /// Fields come twice, and none is unknown.
        #[serde(skip)]
        knows_all: bool,
    },
    /// It starts with the cgroup driver of the runtime, which is not that of the configuration.
    #[text(
        "the kubelet starts and ignores cgroupDriver {configured}: the runtime reports {runtime}"
    )]
    #[why("{text}")]
    #[advice(
        "set cgroupDriver: {runtime} in the kubelet's configuration: it counts again when a \
         runtime does not report its driver"
    )]
    OtherDriver {
        /// What it logs.
        text: String,
        configured: String,
        runtime: String,
    },
    /// It starts without a field of a drop-in, and says nothing of it.
    #[text(
        "the kubelet starts without {field} of {path}, which it does not know, and logs nothing"
    )]
    #[advice("correct the name of the field in {path}, or remove it")]
    Drops { path: String, field: String },
    /// It starts with a field of a drop-in that is written otherwise.
    #[text("the kubelet takes {field} of {path} for {known}, and logs nothing")]
    #[why(
        "the drop-ins are merged as JSON, which Go decodes by names in any case; the file of --config is not"
    )]
    #[advice("write it {known}")]
    OtherCase { path: String, field: String, known: String },
    /// The change makes the kubelet check what is not known.
    #[text("not checked, and new with the change: {what} (missing: {fact})")]
    #[advice(
        "run kq on the node, pass a snapshot of it, or give the fact (--swap-capacity, --cgroup-version, --capacity)"
    )]
    NewCheck { what: &'static str, fact: &'static str },
    /// A fact that decides is not known.
    #[text("{reason}")]
    #[why(text: Some(text) => "{text}")]
    #[advice(text: Some(_) => "read the state files: run kq on the node, or pass a snapshot of it")]
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
        if let StartRule::MaskedUnit { path, .. } = &problem.rule {
            return Self::Masked { text, path: path.clone(), fix: fix.unwrap_or_default() };
        }
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

    /// Returns the finding of a warning. `is_logged`: the kubelet that runs has logged it as well.
    pub fn of_warning(warning: &StartWarning, is_logged: bool) -> Self {
        let text = warning.to_string();
        match warning {
            StartWarning::Lenient { path, strict_error, knows_all } => {
                let (strict_error, path) = (strict_error.clone(), path.clone());
                Self::Ignores { text, strict_error, path, knows_all: *knows_all }
            }
            StartWarning::RuntimeDriver { configured, runtime } => {
                Self::OtherDriver { text, configured: configured.clone(), runtime: runtime.clone() }
            }
            StartWarning::UnknownField { path, field } => {
                Self::Drops { path: path.clone(), field: field.clone() }
            }
            StartWarning::OtherCase { path, field, known } => {
                let (path, field, known) = (path.clone(), field.clone(), known.clone());
                Self::OtherCase { path, field, known }
            }
            _ if is_logged => Self::WarnsAgain { text },
            _ => Self::Warns { text },
        }
    }

    pub fn severity(&self) -> Severity {
        match self {
            Self::PanicsWithDevice { certainty: Certainty::Possible, .. } => Severity::Unknown,
            Self::Stops { .. }
            | Self::StopsThen { .. }
            | Self::Masked { .. }
            | Self::PanicsWithDevice { .. } => Severity::Error,
            Self::Warns { .. }
            | Self::Ignores { .. }
            | Self::OtherDriver { .. }
            | Self::Drops { .. }
            | Self::OtherCase { .. } => Severity::Warning,
            Self::WarnsAgain { .. } => Severity::Info,
            Self::NewCheck { .. } | Self::Unknown { .. } => Severity::Unknown,
            Self::Starts { not_checked, .. } if !not_checked.is_empty() => Severity::Info,
            Self::Starts { .. } => Severity::Ok,
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
