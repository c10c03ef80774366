//! What a lint, a verification or a check finds.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Refused by a component, or wrong: no healthy component writes it.
    Error,
    /// A fact is missing, so that the rule could not be applied.
    Unknown,
    /// Works, and does not do what one expects.
    Warning,
    /// Worth knowing.
    Info,
    /// As it should be.
    Ok,
}

impl Severity {
    /// All of them, the worst first.
    pub const ALL: [Self; 5] = [Self::Error, Self::Unknown, Self::Warning, Self::Info, Self::Ok];

    /// Returns how many findings there are of each severity.
    pub fn count(findings: &[Finding]) -> BTreeMap<String, usize> {
        let count = |severity: Self| {
            let of_it = findings.iter().filter(|finding| finding.severity == severity);
            (severity.to_string(), of_it.count())
        };
        Self::ALL.map(count).into()
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "ERROR",
            Self::Unknown => "UNKNOWN",
            Self::Warning => "WARNING",
            Self::Info => "INFO",
            Self::Ok => "OK",
        })
    }
}

/// A rule's result about a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The rule; it does not change from version to version of kq.
    pub id: &'static str,
    /// What the finding is about.
    pub subject: Subject,
    /// What was found, with the numbers.
    pub found: String,
    /// Why that matters; null: the rule needs no explanation.
    pub why: Option<String>,
    /// What to do; null: nothing.
    pub advice: Option<String>,
    /// The source of the facts; null: the sources of the answer.
    pub source: Option<String>,
}

impl Finding {
    /// Returns a finding without an explanation.
    pub fn new(
        severity: Severity,
        id: &'static str,
        subject: Subject,
        found: impl Into<String>,
    ) -> Self {
        let found = found.into();
        Self { severity, id, subject, found, why: None, advice: None, source: None }
    }

    /// Adds why it matters.
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { why: Some(why.into()), ..self }
    }

    /// Adds what to do.
    pub fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Adds the source of the facts.
    pub fn from(self, source: impl Into<String>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Returns true if something should be done.
    pub fn is_problem(&self) -> bool {
        self.severity <= Severity::Warning
    }
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Subject {
    /// The node.
    Node,
    /// A setting of the kubelet.
    #[serde(rename_all = "camelCase")]
    Setting {
        /// The field of its configuration, or the flag.
        name: String,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// A name or the ID.
        name: String,
    },
    /// A field of a container of a pod.
    #[serde(rename_all = "camelCase")]
    Container {
        /// The pod, as NAMESPACE/NAME.
        pod: String,
        /// The container.
        container: String,
        /// The path of the field.
        field: String,
    },
    /// A place in a file.
    #[serde(rename_all = "camelCase")]
    File {
        /// The path.
        path: String,
        /// The place in the file.
        place: String,
    },
}

impl Subject {
    /// Returns the place within the subject: a field, or a part of a file.
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::Container { field: place, .. } | Self::File { place, .. } => Some(place),
            Self::Node | Self::Setting { .. } | Self::Image { .. } => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => f.write_str("node"),
            Self::Setting { name } | Self::Image { name } => f.write_str(name),
            Self::Container { pod, container, .. } => write!(f, "{pod} {container}"),
            Self::File { path, .. } => f.write_str(path),
        }
    }
}
