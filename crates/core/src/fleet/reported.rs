//! The answer of a node, as far as it is counted. A node may have another version of kq, so its JSON is read here, once and
//! leniently, and what is decided of it is decided by types.

use kq_answer::Severity;
use kq_eviction::Sufficiency;
use kq_k8s::duration::GoDuration;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;

/// What is counted of an answer.
#[derive(Debug, Default)]
pub(super) enum Reported {
    /// Findings of rules.
    Findings(Vec<ReportedFinding>),
    /// `kq admit explain`
    Admission(Admission),
    /// `kq preempt explain`
    Preemption(Preemption),
    /// `kq gc dry-run`
    ImageGc(ImageGc),
    /// `kq evict rank`
    Eviction(Eviction),
    /// `kq devices list`
    Devices(Devices),
    /// Another answer with a summary: how often it has each verdict.
    Counted(BTreeMap<String, u64>),
    /// An answer of which only the first sentence counts.
    Headed(ReportedHeadline),
    /// No other answer is counted.
    #[default]
    Other,
}

/// The answer in one sentence.
#[derive(Debug, Deserialize)]
pub(super) struct ReportedHeadline {
    #[serde(default)]
    pub code: String,
    pub text: String,
}

/// A finding.
#[derive(Debug, Deserialize)]
pub(super) struct ReportedFinding {
    pub severity: Known<Severity>,
    pub id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Admission {
    /// `None`: undecided.
    pub admitted: Option<bool>,
    #[serde(default)]
    pub refusals: Vec<Refusal>,
    /// Why no kubelet admits it.
    pub start_error: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    pub reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Preemption {
    pub result: String,
    /// The admission of the pod.
    pub admission: Option<Admission>,
    /// Why no kubelet admits the pod.
    pub start_error: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ImageGc {
    pub headline: Option<ReportedHeadline>,
    pub freed: Freed,
    pub outcome: Outcome,
    /// Of a collection under disk pressure.
    pub pressure: Option<Pressure>,
}

impl ImageGc {
    /// Returns true if the reclaim or the collection is not enough.
    pub fn falls_short(&self) -> bool {
        let is_short = self.headline.as_ref().is_some_and(|it| it.code == "not-enough");
        is_short || self.outcome.error.is_some()
    }

    /// Returns true if the kubelet removes images, and not only once a threshold is crossed.
    pub fn removes_images(&self) -> bool {
        let is_due =
            |it: &Pressure| it.thresholds.iter().any(|threshold| threshold.met != Some(false));
        self.freed.images > 0 && self.pressure.as_ref().is_none_or(is_due)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Pressure {
    pub thresholds: Vec<EvictionThreshold>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EvictionThreshold {
    /// Null: it was not measured.
    pub met: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Freed {
    pub images: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Outcome {
    pub error: Option<String>,
}

/// What is reclaimed before a pod is evicted.
#[derive(Debug, Deserialize)]
pub(super) struct Reclaimed {
    pub sufficiency: Known<Sufficiency>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Eviction {
    pub now: Vec<Distance>,
    /// What comes before the order of pods.
    #[serde(default)]
    pub before: Vec<Before>,
    pub reclaimed: Option<Reclaimed>,
}

/// What the kubelet does before it evicts pods by their order (`BeforeReason` of `kq_eviction`).
#[derive(Debug, Deserialize)]
#[serde(tag = "code", rename_all = "camelCase")]
pub(super) enum Before {
    LocalStorageLimits {},
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct Devices {
    pub items: Vec<Device>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Device {
    pub state: Known<DeviceState>,
}

/// A state of a device that is a problem (`State` of `kq_managers`).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum DeviceState {
    Double,
    Unhealthy,
    Orphan,
    Missing,
    Stale,
}

impl DeviceState {
    /// Returns how bad it is, and its word.
    pub fn result(self) -> (Severity, &'static str) {
        match self {
            Self::Double => (Severity::Error, "DOUBLE"),
            Self::Unhealthy => (Severity::Error, "UNHEALTHY"),
            Self::Orphan => (Severity::Warning, "ORPHAN"),
            Self::Missing => (Severity::Warning, "MISSING"),
            Self::Stale => (Severity::Warning, "STALE"),
        }
    }
}

/// How near the node is to an eviction (`DistanceReason` of `kq_eviction`).
#[derive(Debug, Deserialize)]
#[serde(tag = "code", rename_all = "camelCase")]
pub(super) enum Distance {
    Crossed {
        threshold: Threshold,
    },
    #[serde(other)]
    NotCrossed,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Threshold {
    pub grace_period: GoDuration,
}

/// A value, or one that only another version of kq knows.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Known<T> {
    Value(T),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
struct Head {
    kind: String,
}

#[derive(Deserialize)]
struct WithItems {
    items: Vec<ReportedFinding>,
    summary: Option<Value>,
}

#[derive(Deserialize)]
struct WithFindings {
    findings: Vec<ReportedFinding>,
    summary: Option<Value>,
}

#[derive(Deserialize)]
struct WithHeadline {
    headline: ReportedHeadline,
}

#[derive(Deserialize)]
struct Summarised {
    summary: BTreeMap<String, Value>,
}

impl Reported {
    /// Reads an answer.
    pub fn read(answer: &Value) -> Self {
        if let Some(findings) = findings(answer) {
            return Self::Findings(findings);
        }
        let kind = Head::deserialize(answer).map(|head| head.kind).unwrap_or_default();
        let found = match kind.as_str() {
            "PodAdmission" => Admission::deserialize(answer).map(Self::Admission),
            "PodPreemption" => Preemption::deserialize(answer).map(Self::Preemption),
            "ImageGcPlan" => ImageGc::deserialize(answer).map(Self::ImageGc),
            "DeviceList" => Devices::deserialize(answer).map(Self::Devices),
            "EvictionRank" => Eviction::deserialize(answer).map(Self::Eviction),
            _ => Summarised::deserialize(answer).map(|it| Self::Counted(counts(it.summary))),
        };
        let headed = || WithHeadline::deserialize(answer).map(|it| Self::Headed(it.headline));
        found.or_else(|_| headed()).unwrap_or_default()
    }
}

/// Returns the findings; `None`: the answer is not about findings.
fn findings(answer: &Value) -> Option<Vec<ReportedFinding>> {
    let items = WithItems::deserialize(answer).map(|it| (it.items, it.summary));
    let either = || WithFindings::deserialize(answer).map(|it| (it.findings, it.summary));
    let (findings, summary) = items.or_else(|_| either()).ok()?;
    (!findings.is_empty() || summary.is_some()).then_some(findings)
}

fn counts(summary: BTreeMap<String, Value>) -> BTreeMap<String, u64> {
    summary.into_iter().filter_map(|(name, count)| Some((name, count.as_u64()?))).collect()
}
