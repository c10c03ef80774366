//! Findings of lints, verifications and checks.

use kq_output::screen::Tone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// The severity of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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

impl Severity {
    /// Returns the tone of its word.
    pub fn tone(self) -> Option<Tone> {
        match self {
            Self::Error => Some(Tone::Bad),
            Self::Unknown | Self::Warning => Some(Tone::Doubtful),
            Self::Info => None,
            Self::Ok => Some(Tone::Good),
        }
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

/// The part of a node that a finding is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topic {
    Memory,
    Cpu,
    Images,
    Eviction,
    Devices,
    Probes,
    /// The next start of the kubelet.
    Restart,
    Preemption,
    /// The kubelet and the container runtime: without them no pod is kept running.
    RunsPods,
    /// The node and its sources.
    #[default]
    Node,
}

/// A rule's result about a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The rule; it does not change from version to version of kq.
    pub id: String,
    /// The subject of the finding.
    pub subject: Subject,
    /// The numbers and names in the text, by name; their meaning depends on the rule.
    pub facts: Map<String, Value>,
    /// What was found, with the numbers.
    pub found: String,
    /// Why that matters; null: the rule needs no explanation.
    pub why: Option<String>,
    /// What follows if nothing is done; null: nothing, or `why` has it.
    pub leads_to: Option<String>,
    /// What to do; null: nothing.
    pub advice: Option<String>,
    /// The command of kq that shows more; null: none does.
    pub command: Option<String>,
    /// The source of the facts; null: the sources of the answer.
    pub source: Option<String>,
    /// The part of the node that it is about.
    #[serde(skip)]
    pub topic: Topic,
}

/// A finding that has sentences; the derive of [`Wording`] makes them.
pub trait Sentences {
    /// Returns the sentences.
    fn sentences(&self) -> Wording;
}

/// The findings of a domain's rules, as data: an enum in which each variant is a rule with its facts.
///
/// It is written with `#[serde(tag = "id")]`: the variant is the [`Finding::id`], its fields are the [`Finding::facts`].
pub trait Rule: Sentences + Serialize {
    /// How bad it is.
    fn severity(&self) -> Severity;

    /// Returns the sentences that are shown.
    fn wording(&self) -> Wording {
        self.sentences()
    }

    /// The part of the node that it is about.
    fn topic(&self) -> Topic {
        Topic::default()
    }
}

/// A finding before it is written: what is decided about it reads its rule, not the ID and the facts made of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFinding<R> {
    /// The subject of the finding.
    pub subject: Subject,
    /// What was found, as data.
    pub rule: R,
    /// The source of the facts; `None`: the sources of the answer.
    pub source: Option<String>,
}

impl<R: Rule> RuleFinding<R> {
    /// Returns what a rule found about a subject.
    pub fn new(subject: Subject, rule: R) -> Self {
        Self { subject, rule, source: None }
    }

    /// Adds the source of the facts.
    pub fn from(self, source: impl Into<String>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Adds the source of the fact, where the finding names none. The reason of an unknown result names the source that failed.
    pub fn told_by(self, source: Option<&str>) -> Self {
        match (&self.source, source) {
            (None, Some(source)) if self.rule.severity() != Severity::Unknown => self.from(source),
            _ => self,
        }
    }

    /// Writes the rule down.
    pub fn written(self) -> Finding {
        Finding { source: self.source, ..Finding::of(self.subject, &self.rule) }
    }
}

/// The sentences of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wording {
    /// What was found, with the numbers.
    pub found: String,
    /// Why that matters.
    pub why: Option<String>,
    /// What follows if nothing is done.
    pub leads_to: Option<String>,
    /// What to do.
    pub advice: Option<String>,
    /// The command of kq that shows more.
    pub command: Option<String>,
}

impl Wording {
    /// Returns what was found, without an explanation.
    pub fn new(found: impl Into<String>) -> Self {
        Self { found: found.into(), ..Self::default() }
    }

    /// Adds why it matters.
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { why: Some(why.into()), ..self }
    }

    /// Adds what follows if nothing is done.
    pub fn leads_to(self, consequence: impl Into<String>) -> Self {
        Self { leads_to: Some(consequence.into()), ..self }
    }

    /// Adds what to do.
    pub fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Adds the command of kq that shows more.
    pub fn see(self, command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..self }
    }
}

impl Finding {
    /// Returns what a rule found about a subject.
    ///
    /// # Panics
    ///
    /// If the rule is not an enum with `#[serde(tag = "id")]`: a mistake in kq.
    pub fn of(subject: Subject, rule: &impl Rule) -> Self {
        let Ok(Value::Object(mut facts)) = serde_json::to_value(rule) else {
            panic!("a rule is written as an object");
        };
        let Some(Value::String(id)) = facts.remove("id") else {
            panic!("a rule is written with its id");
        };
        let Wording { found, why, leads_to, advice, command } = rule.wording();
        let (severity, topic, source) = (rule.severity(), rule.topic(), None);
        Self { severity, id, subject, facts, found, why, leads_to, advice, command, source, topic }
    }

    /// Returns a finding without an explanation.
    pub fn new(
        severity: Severity,
        id: &'static str,
        subject: Subject,
        found: impl Into<String>,
    ) -> Self {
        let (id, facts, found) = (id.to_owned(), Map::new(), found.into());
        let (why, leads_to, advice, command, source) = (None, None, None, None, None);
        let topic = Topic::default();
        Self { severity, id, subject, facts, found, why, leads_to, advice, command, source, topic }
    }

    /// Adds facts: the fields of an object.
    pub fn with(mut self, facts: Value) -> Self {
        if let Value::Object(facts) = facts {
            self.facts.extend(facts);
        }
        self
    }

    /// Adds why it matters.
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { why: Some(why.into()), ..self }
    }

    /// Adds what to do.
    pub fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Adds the part of the node that it is about.
    pub fn on(self, topic: Topic) -> Self {
        Self { topic, ..self }
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

/// The subject of a finding.
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
    /// A pod, or a container of it.
    #[serde(rename_all = "camelCase")]
    Pod {
        /// The pod, as NAMESPACE/NAME.
        pod: String,
        /// The container; null: the pod as a whole.
        container: Option<String>,
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
    /// Returns the subject as `KIND/NAME`; of a container, its pod.
    pub fn name(&self) -> String {
        match self {
            Self::Node => "node".to_owned(),
            Self::Setting { name } => format!("setting/{name}"),
            Self::Image { name } => format!("image/{name}"),
            Self::Container { pod, .. } | Self::Pod { pod, .. } => format!("pod/{pod}"),
            Self::File { path, .. } => format!("file/{path}"),
        }
    }

    /// Returns the place within the subject: a field, or a part of a file.
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::Container { field: place, .. } | Self::File { place, .. } => Some(place),
            Self::Node | Self::Setting { .. } | Self::Image { .. } | Self::Pod { .. } => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => f.write_str("node"),
            Self::Setting { name } | Self::Image { name } => f.write_str(name),
            Self::Container { pod, container, .. }
            | Self::Pod { pod, container: Some(container) } => write!(f, "{pod} {container}"),
            Self::Pod { pod, container: None } => f.write_str(pod),
            Self::File { path, .. } => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Serialize, kq_derive::Wording)]
    #[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
    enum Gap<'a> {
        #[text("{high_percent}%")]
        #[why("it is little")]
        #[advice(name: Some(name) => "ask {name}")]
        SmallGap { high_percent: i32, name: Option<&'a str> },
        #[wording(Wording::new(*text).see("kq"))]
        Other { text: &'a str },
    }

    impl Rule for Gap<'_> {
        fn severity(&self) -> Severity {
            Severity::Info
        }
    }

    #[test]
    fn a_rule_gives_its_id_its_facts_and_its_sentences() {
        let gap = Gap::SmallGap { high_percent: 85, name: Some("me") };
        let finding = Finding::of(Subject::Node, &gap);
        assert_eq!((&*finding.id, &*finding.found), ("small-gap", "85%"));
        assert_eq!(Value::Object(finding.facts), json!({"highPercent": 85, "name": "me"}));
        assert_eq!(finding.why.as_deref(), Some("it is little"));
        assert_eq!((finding.advice.as_deref(), finding.leads_to), (Some("ask me"), None));
        assert_eq!(Gap::SmallGap { high_percent: 1, name: None }.wording().advice, None);
        let other = Gap::Other { text: "large" }.wording();
        assert_eq!(other, Wording::new("large").see("kq"));
    }
}
