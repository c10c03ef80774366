//! Traces: the results of a probe, step by step, with the changes around it.
//!
//! A trace is written by hand, or recorded from a live run. It is kq's own format, in the words of the
//! Kubernetes API. `docs/probe-trace.md` documents it.

mod changes;
mod error;
mod field;
mod read;

#[cfg(test)]
mod tests;

pub use changes::{Changes, TraceAttempt, TraceState};
pub use error::TraceError;

use super::retry::Conclusion;
use super::worker::ProbeTiming;
use kq_answer::warning::Warning;
use kq_facts::snapshot::API_VERSION;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, ContainerRestartRule, Pod, ProbeType};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::BTreeMap;

/// What the value calls itself.
pub const KIND: &str = "ProbeTrace";

/// A trace. What it leaves out is the default that its field names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    api_version: &'static str,
    kind: &'static str,
    #[serde(rename = "type")]
    pub probe_type: ProbeType,
    /// Its numbers.
    pub probe: TraceProbe,
    /// Whose it is.
    #[serde(skip_serializing_if = "is_default")]
    pub container: TraceContainer,
    /// In which pod.
    #[serde(skip_serializing_if = "is_default")]
    pub pod: TracePod,
    /// By which kubelet.
    #[serde(skip_serializing_if = "is_default")]
    pub kubelet: TraceKubelet,
    /// The time that `0s` stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// The steps of the worker.
    pub steps: Vec<TraceStep>,
}

/// The numbers of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceProbe {
    /// The numbers with the defaults of the API.
    #[serde(flatten)]
    pub timing: ProbeTiming,
    /// How long the container may take to stop once this probe has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
}

/// The container of a probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceContainer {
    pub name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub sidecar: bool,
    /// Its own policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<String>,
    /// Its own rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restart_policy_rules: Vec<ContainerRestartRule>,
}

/// The pod of a probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TracePod {
    /// Which containers start again.
    pub restart_policy: String,
    /// How long it may take to stop.
    pub termination_grace_period_seconds: i64,
}

/// The kubelet that probes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceKubelet {
    /// Its version, as it was written; the newest that kq knows as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The feature gates that were set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// When it started; long before the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<At>,
}

/// One step of the worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceStep {
    /// When; one period after the step before.
    pub at: Option<At>,
    /// What the attempts gave; the last one repeats where there were fewer than the kubelet makes.
    /// `None`: unknown, or the worker did not probe.
    pub attempts: Vec<TraceAttempt>,
    /// What changed before the step.
    pub changes: Changes,
}

impl Trace {
    /// Returns a trace of the usual container, to which steps are added.
    pub fn new(probe_type: ProbeType) -> Self {
        Self {
            api_version: API_VERSION,
            kind: KIND,
            probe_type,
            probe: TraceProbe::default(),
            container: TraceContainer::default(),
            pod: TracePod::default(),
            kubelet: TraceKubelet::default(),
            start: None,
            steps: Vec::new(),
        }
    }

    /// Returns the trace of a live run; `None` where the container has no such probe.
    ///
    /// Only the gates that the rules of probes ask for are kept, where they are not at their default.
    pub fn of_steps(
        probe_type: ProbeType,
        pod: &Pod,
        container: &Container,
        rules: &KubeletRules,
        start: Timestamp,
        steps: Vec<TraceStep>,
    ) -> Option<Self> {
        let probe = container.probe(probe_type)?;
        let init = &pod.spec.init_containers;
        let sidecar =
            container.restarts_always() && init.iter().any(|it| it.name == container.name);
        let policy = &pod.spec.restart_policy;
        let own = TracePod::default();
        let grace = pod.spec.termination_grace_period_seconds;
        Some(Self {
            probe: TraceProbe {
                timing: ProbeTiming::of(probe),
                termination_grace_period_seconds: probe.termination_grace_period_seconds,
            },
            container: TraceContainer {
                name: container.name.clone(),
                sidecar,
                restart_policy: container.restart_policy.clone().filter(|_| !sidecar),
                restart_policy_rules: container.restart_policy_rules.clone(),
            },
            pod: TracePod {
                restart_policy: if policy.is_empty() { own.restart_policy } else { policy.clone() },
                termination_grace_period_seconds: grace
                    .unwrap_or(own.termination_grace_period_seconds),
            },
            kubelet: TraceKubelet {
                version: Some(rules.gates.version().to_string()),
                feature_gates: read::set_gates(rules),
                started_at: None,
            },
            start: Some(start),
            steps,
            ..Self::new(probe_type)
        })
    }

    /// Reads a trace: JSON, or one document of YAML. What is odd becomes a warning.
    /// Fails for anything outside of the format, with the field, its value and a hint.
    pub fn parse(content: &[u8], warnings: &mut Vec<Warning>) -> Result<Self, TraceError> {
        read::parse(content, warnings)
    }

    /// Returns the time that `0s` stands for, where it is known: what was said, or else the first
    /// step's time.
    pub fn origin(&self) -> Option<Timestamp> {
        self.start.or_else(|| match self.steps.first()?.at? {
            At::Time(time) => Some(time),
            At::Offset(_) => None,
        })
    }
}

impl TraceStep {
    /// Returns a step without a probe.
    pub fn at(at: Timestamp) -> Self {
        Self { at: Some(At::Time(at)), ..Self::default() }
    }

    /// Returns a step with the result of a probe.
    pub fn probed(at: Timestamp, conclusion: &Conclusion) -> Self {
        let attempts = conclusion.attempts.iter().map(TraceAttempt::from).collect();
        Self { at: Some(At::Time(at)), attempts, changes: Changes::default() }
    }

    /// Returns a step some time after the start, at which an attempt gave something.
    pub fn after(offset: GoDuration, attempt: TraceAttempt) -> Self {
        let at = Some(At::Offset(offset));
        Self { at, attempts: vec![attempt], changes: Changes::default() }
    }
}

impl Default for TraceContainer {
    fn default() -> Self {
        Self {
            name: "app".to_owned(),
            sidecar: false,
            restart_policy: None,
            restart_policy_rules: Vec::new(),
        }
    }
}

impl Default for TracePod {
    fn default() -> Self {
        Self { restart_policy: "Always".to_owned(), termination_grace_period_seconds: 30 }
    }
}

impl Serialize for TraceStep {
    /// As short as people would write it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let (None, [only], true) = (&self.at, self.attempts.as_slice(), self.changes.is_empty())
        {
            return only.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(at) = &self.at {
            map.serialize_entry("at", at)?;
        }
        match self.attempts.as_slice() {
            [] => {}
            [only] => only.serialize_fields(&mut map)?,
            several => map.serialize_entry("attempts", several)?,
        }
        self.changes.serialize_fields(&mut map)?;
        map.end()
    }
}

/// Returns true if a value is what its absence means.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A moment of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A duration after `0s`.
    Offset(GoDuration),
    Time(Timestamp),
}

impl At {
    /// Reads `30s`, or a time of RFC 3339.
    pub fn parse(text: &str) -> Option<Self> {
        let offset = text.parse().ok().map(Self::Offset);
        offset.or_else(|| text.parse().ok().map(Self::Time))
    }

    /// Returns how long after `0s` it is.
    pub fn offset(self, origin: Timestamp) -> GoDuration {
        match self {
            Self::Offset(offset) => offset,
            Self::Time(time) => GoDuration(time.since(origin)),
        }
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Offset(offset) => offset.serialize(serializer),
            Self::Time(time) => time.serialize(serializer),
        }
    }
}
