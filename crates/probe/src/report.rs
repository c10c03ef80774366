//! The results of probes: the value behind every output format.

use super::attempt::{Attempt, Cause, Exchange, Output, PhaseTime, ProbeResult};
use super::compare::{Trial, status_code};
use super::events::ProbeEvent;
use super::pod_status::PredictedStatus;
use super::reason::{Consequence, Difference, ProbeNote};
use super::results::Verdict;
use super::retry::Conclusion;
use super::subject::{ContainerKind, HandlerKind};
use super::worker::StepReason;
use kq_answer::{Basis, Headline, Worded, answer};
use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::ProbeType;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The results of probes that ran once or repeatedly.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeRun {
    /// The start.
    pub at: Timestamp,
    /// The probes, in the order in which the kubelet makes workers for them.
    pub probes: Vec<ProbeReport>,
    /// The predicted statuses of the containers, once these results have come often enough in a row.
    pub outlook: Vec<PredictedStatus>,
    /// The facts and assumptions of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ProbeRun", ProbeRun; ProbeRun::headline);

impl ProbeRun {
    /// Returns the result: of one probe with its message, of several in numbers.
    fn headline(&self) -> Headline {
        let failed = |it: &&ProbeReport| {
            matches!(it.outcome.verdict, ProbeVerdict::Failure | ProbeVerdict::Errored)
        };
        let title =
            |it: &ProbeReport| format!("{} {}", it.name, it.probe_type.to_string().to_lowercase());
        let all = self.probes.len();
        match (self.probes.iter().find(failed), all) {
            (None, 0) => Headline::good("none", "there is no probe"),
            (None, 1) => {
                let name = self.probes.first().map(title).unwrap_or_default();
                Headline::good("success", format!("{name} succeeds"))
            }
            (None, all) => Headline::good("success", format!("all {all} probes succeed")),
            (Some(first), all) => {
                let message = first.outcome.message.text();
                let message = message.lines().next().unwrap_or_default().trim_end().to_owned();
                let count = self.probes.iter().filter(failed).count();
                let many = if all == 1 {
                    String::new()
                } else {
                    format!("{count} of {all} probes fail: ")
                };
                Headline::new("failure", format!("{many}{} fails: {message}", title(first)))
            }
        }
    }
}

/// The container of a probe; all are null for a probe of no pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeName {
    pub namespace: Option<String>,
    pub pod: Option<String>,
    pub container: Option<String>,
    /// The role of the container in its pod.
    pub container_kind: Option<ContainerKind>,
}

/// A probe with its result.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeReport {
    /// Its container.
    #[serde(flatten)]
    pub name: ProbeName,
    /// The kind of probe.
    #[serde(rename = "type")]
    pub probe_type: ProbeType,
    /// The handler; null if the probe has none.
    pub handler: Option<HandlerKind>,
    /// The request and its destination in one line.
    pub target: String,
    /// The pod's IP with its source; null where it does not matter.
    #[serde(rename = "podIP")]
    pub pod_ip: Option<Sourced>,
    /// The last result.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The consequences of such a result.
    pub follows: Vec<Worded<Consequence>>,
    /// Reasons why the kubelet would not run it now, and oddities.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Worded<ProbeNote>>,
    /// The results of a repeated probe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// The number of results by verdict, counting those for which a kubelet would have probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<BTreeMap<ProbeVerdict, u64>>,
    /// The percentiles of the durations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Percentiles>,
    /// The results, for `kq probe simulate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<serde_json::Value>,
    /// The same probe, sent in other ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// A fact with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Sourced {
    /// The fact.
    pub value: String,
    pub source: String,
}

/// The result of one run of a probe.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub verdict: ProbeVerdict,
    /// The output or the error of the kubelet's prober.
    pub message: Output,
    /// The message in Base64, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_base64: Option<String>,
    /// The reason, if it is not a success.
    pub cause: Option<Cause>,
    /// The duration of the last attempt, in microseconds.
    pub took_us: u64,
    /// The time limit; null: none.
    pub timeout_us: Option<u64>,
    /// The time left; less than 0: the probe took longer. Null: there is no limit.
    pub margin_us: Option<i64>,
    /// The attempts in order; the last one counts.
    pub attempts: Vec<AttemptReport>,
    /// The event that the kubelet would write.
    pub event: Option<ProbeEvent>,
}

/// The verdict on a run of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ProbeVerdict {
    /// The probe succeeded.
    Success,
    /// It counts as success, with an event.
    Warning,
    /// It counts as failure.
    Failure,
    /// The prober failed: the kubelet ignores the result.
    Errored,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptReport {
    /// The result of the prober.
    pub result: ProbeResult,
    /// The error of the prober.
    pub error: Option<String>,
    /// The duration, in microseconds.
    pub took_us: u64,
    /// Its parts.
    pub phases: Vec<PhaseTime>,
    /// The requests over HTTP: the first, and one for each followed redirect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<Hop>,
    /// The bytes on the wire; only with --verbose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
}

/// A request of an attempt over HTTP, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hop {
    /// The address of the connection.
    pub address: String,
    /// The path with the query.
    pub target: String,
    /// The status code; null: no response.
    pub status: Option<u16>,
    /// The target of a redirect.
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
    pub verdict: ProbeVerdict,
    /// The message of the prober.
    pub message: Output,
    /// The duration, in microseconds.
    pub took_us: u64,
    /// A kubelet would have probed now; otherwise the worker does not count the result.
    pub counted: bool,
    /// The last counted result; null: none.
    pub result: Option<Verdict>,
    /// The number of such results in a row.
    pub run: Option<u64>,
    /// The worker waits for another container.
    pub on_hold: bool,
    /// The action of the kubelet; null: none.
    pub action: Option<String>,
    /// The reason.
    pub because: Worded<StepReason>,
}

/// The same probe, sent in several ways.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The ways with their results.
    pub trials: Vec<Trial>,
    /// The explanations of the differences.
    pub differences: Vec<Worded<Difference>>,
}

impl ProbeVerdict {
    /// Returns the verdict on the last attempt.
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
    /// Returns the result of a run. `times_us`: the duration of each attempt. `limit_us`: the time limit of an attempt.
    /// `shows_wire`: keep the bytes on the wire.
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
    /// Returns the result of an HTTP request; `None` for other protocols.
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

/// How long probes took, in microseconds; a percentile is the smallest time that so many of a hundred did
/// not exceed (nearest rank).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Percentiles {
    /// How many there were.
    pub count: usize,
    /// The shortest.
    pub min_us: u64,
    /// Half of them.
    pub p50_us: u64,
    /// Nine of ten.
    pub p90_us: u64,
    /// Ninety-nine of a hundred.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Percentiles {
    /// Returns those of some times; `None` of none.
    pub fn of(mut times_us: Vec<u64>) -> Option<Self> {
        times_us.sort_unstable();
        let count = times_us.len();
        let rank = |percent: usize| {
            let at = (count * percent).div_ceil(100).saturating_sub(1);
            times_us.get(at).copied()
        };
        Some(Self {
            count,
            min_us: *times_us.first()?,
            p50_us: rank(50)?,
            p90_us: rank(90)?,
            p99_us: rank(99)?,
            max_us: *times_us.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_nearest() {
        assert_eq!(Percentiles::of(Vec::new()), None);
        let one = Percentiles::of(vec![7]).expect("one");
        assert_eq!((one.min_us, one.p50_us, one.p99_us, one.max_us), (7, 7, 7, 7));
        let hundred = Percentiles::of((1..=100).rev().collect()).expect("a hundred");
        let got = (hundred.min_us, hundred.p50_us, hundred.p90_us, hundred.p99_us, hundred.max_us);
        assert_eq!(got, (1, 50, 90, 99, 100));
        let three = Percentiles::of(vec![1, 2, 3]).expect("three");
        assert_eq!((three.p50_us, three.p90_us), (2, 3));
    }
}
