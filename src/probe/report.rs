//! What probes came to: the value behind every form of the answer.

use super::attempt::{Attempt, Cause, Exchange, Output, PhaseTime, ProbeResult};
use super::compare::{Trial, status_code};
use super::events::ProbeEvent;
use super::outlook::Outlook;
use super::percentiles::Percentiles;
use super::reason::{Consequence, Difference, ProbeNote};
use super::results::Verdict;
use super::retry::Conclusion;
use super::subject::{ContainerKind, HandlerKind};
use super::worker::StepReason;
use crate::answer::{Basis, Worded, answer};
use crate::facts::timestamp::Timestamp;
use crate::k8s::pod::ProbeType;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What was probed once, or several times.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeRun {
    /// When it began.
    pub at: Timestamp,
    /// The probes, in the order in which the kubelet makes workers for them.
    pub probes: Vec<ProbeReport>,
    /// What the statuses of the containers would say, once these results have come often enough in a row.
    pub outlook: Vec<Outlook>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ProbeRun", ProbeRun);

/// Whose probe it is; all are null for one that nobody wrote into a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeName {
    /// The namespace.
    pub namespace: Option<String>,
    /// The pod.
    pub pod: Option<String>,
    /// The container.
    pub container: Option<String>,
    /// What the container is in its pod.
    pub container_kind: Option<ContainerKind>,
}

/// A probe and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeReport {
    /// Whose it is.
    #[serde(flatten)]
    pub name: ProbeName,
    /// The kind of probe.
    #[serde(rename = "type")]
    pub probe_type: ProbeType,
    /// The way to probe; null where the probe names none.
    pub handler: Option<HandlerKind>,
    /// What was sent to whom, in one line.
    pub target: String,
    /// The pod's IP, and who says so; null where it does not matter.
    #[serde(rename = "podIP")]
    pub pod_ip: Option<Sourced>,
    /// What came of it last.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What follows from such a result.
    pub follows: Vec<Worded<Consequence>>,
    /// Why the kubelet would not do this now, and what is odd.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Worded<ProbeNote>>,
    /// What came of it each time, where it was asked for more than once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// How often it came to what, as far as a kubelet would have probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<BTreeMap<ProbeVerdict, u64>>,
    /// How long that took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Percentiles>,
    /// The results, for `kq probe simulate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<serde_json::Value>,
    /// The same probe in other ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// A fact and where it is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Sourced {
    /// The fact.
    pub value: String,
    /// Who says so.
    pub source: String,
}

/// What one run of a probe came to.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The verdict.
    pub verdict: ProbeVerdict,
    /// What the kubelet's prober says: its output, or its error.
    pub message: Output,
    /// The same in Base64, where it is no UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_base64: Option<String>,
    /// Why it is no success.
    pub cause: Option<Cause>,
    /// How long the attempt that decided took, in microseconds.
    pub took_us: u64,
    /// How long it may take; null: without end.
    pub timeout_us: Option<u64>,
    /// What was left of that; less than 0: it took longer. Null: there is no limit.
    pub margin_us: Option<i64>,
    /// The attempts, in order; the last one decided.
    pub attempts: Vec<AttemptReport>,
    /// The event that the kubelet would write.
    pub event: Option<ProbeEvent>,
}

/// The verdict on a run of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ProbeVerdict {
    /// All is well.
    Success,
    /// It counts as success, with an event.
    Warning,
    /// It counts as failure.
    Failure,
    /// The prober could not tell: the kubelet throws it away.
    Errored,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptReport {
    /// What the prober says.
    pub result: ProbeResult,
    /// The error of the prober.
    pub error: Option<String>,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// Its parts.
    pub phases: Vec<PhaseTime>,
    /// Where it went, if that was over HTTP: each redirect that was followed is one more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<Hop>,
    /// What went over the wire; only where it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
}

/// A request of an attempt over HTTP, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hop {
    /// The address that was connected to.
    pub address: String,
    /// The path with the query.
    pub target: String,
    /// The status code; null where there was no answer.
    pub status: Option<u16>,
    /// Where a redirect pointed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// One of several runs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// Counted from 1.
    pub number: u64,
    /// When it began.
    pub at: Timestamp,
    /// The verdict.
    pub verdict: ProbeVerdict,
    /// What the prober says.
    pub message: Output,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// A kubelet would have probed now; without that, the worker does not count it.
    pub counted: bool,
    /// The last result that the worker counted; null: it has none.
    pub result: Option<Verdict>,
    /// How many of them in a row.
    pub run: Option<u64>,
    /// The worker waits for another container.
    pub on_hold: bool,
    /// What the kubelet does now; null: nothing.
    pub action: Option<String>,
    /// What decided.
    pub because: Worded<StepReason>,
}

/// The same probe in several ways.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The ways and what came of them.
    pub trials: Vec<Trial>,
    /// What the difference tells.
    pub differences: Vec<Worded<Difference>>,
}

impl ProbeVerdict {
    /// Returns the verdict on an attempt that decided.
    pub fn of(attempt: &Attempt) -> Self {
        match (&attempt.error, attempt.result) {
            (Some(_), _) => Self::Errored,
            (None, ProbeResult::Success) => Self::Success,
            (None, ProbeResult::Warning) => Self::Warning,
            (None, ProbeResult::Failure | ProbeResult::Unknown) => Self::Failure,
        }
    }
}

impl Outcome {
    /// Returns what a run came to. `times_us` has how long each attempt took, `limit_us` how long one may
    /// take; the bytes on the wire are kept where `shows_wire`.
    pub fn of(
        conclusion: Conclusion,
        times_us: &[u64],
        limit_us: Option<u64>,
        shows_wire: bool,
    ) -> Self {
        let took_us = times_us.last().copied().unwrap_or_default();
        let last = conclusion.last();
        let verdict = last.map_or(ProbeVerdict::Success, ProbeVerdict::of);
        let message = last.map(|attempt| match &attempt.error {
            Some(error) => Output::from(error.as_str()),
            None => attempt.output.clone(),
        });
        let message = message.unwrap_or_default();
        let cause = last.and_then(|attempt| attempt.cause);
        let event = conclusion.event;
        let times = times_us.iter().copied().chain(std::iter::repeat(0));
        let attempts =
            conclusion.attempts.into_iter().zip(times).map(|(attempt, took_us)| AttemptReport {
                result: attempt.result,
                error: attempt.error,
                took_us,
                phases: attempt.phases,
                hops: attempt.exchanges.iter().filter_map(Hop::of).collect(),
                exchanges: if shows_wire { attempt.exchanges } else { Vec::new() },
            });
        Self {
            verdict,
            message_base64: message.base64(),
            message,
            cause,
            took_us,
            timeout_us: limit_us,
            margin_us: limit_us.map(|limit| {
                let margin = i128::from(limit) - i128::from(took_us);
                i64::try_from(margin).unwrap_or(i64::MAX)
            }),
            attempts: attempts.collect(),
            event,
        }
    }
}

impl Hop {
    /// Returns what a request over HTTP came to; `None` of other protocols.
    fn of(exchange: &Exchange) -> Option<Self> {
        let request = exchange.request.text();
        let target = request.lines().next()?.strip_prefix("GET ")?;
        let head = exchange.head.text();
        let location = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
        });
        Some(Self {
            address: exchange.address.clone(),
            target: target.rsplit_once(" HTTP/").map_or(target, |(path, _)| path).to_owned(),
            status: status_code(&exchange.head.0),
            location,
        })
    }
}

impl fmt::Display for ProbeVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "SUCCESS",
            Self::Warning => "WARNING",
            Self::Failure => "FAILURE",
            Self::Errored => "ERRORED",
        })
    }
}

impl fmt::Display for ProbeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.namespace, &self.pod) {
            (Some(namespace), Some(pod)) => write!(f, "{namespace}/{pod}")?,
            (None, Some(pod)) => f.write_str(pod)?,
            _ => f.write_str("-")?,
        }
        match &self.container {
            Some(container) => write!(f, " {container}"),
            None => Ok(()),
        }
    }
}
