//! The steps of a worker in time, and the earliest and the latest times of the consequences of a container's probes.
//!
//! A worker exists before its container does, so a container starts anywhere between two ticks: a delay
//! is over at the next tick, which is up to a period away. A probe that hangs takes its timeout and is a
//! failure; where that is longer than the period, the next one begins right after (see
//! [`Ticker`](super::Ticker)). Errors of the prober are ignored and can delay everything.

use super::bound::{Bound, Sum};
use crate::grace_period::{GracePeriods, KillReason};
use crate::worker::ProbeTiming;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::{Container, Handler, Pod, Probe, ProbeType};
use serde::Serialize;
use std::fmt;

/// What can come when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// In the order of probes, and for each in the order of time.
    pub entries: Vec<TimelineEntry>,
    /// What it rests on.
    pub assumptions: Vec<&'static str>,
}

/// What can come of one probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineEntry {
    /// Of which probe.
    pub probe: ProbeType,
    /// What comes.
    pub what: Milestone,
    /// Counted from when.
    pub since: Since,
    /// At the earliest.
    pub earliest: Bound,
    /// At the latest.
    pub latest: Bound,
    /// At the latest where the runtime does not end a command that takes too long: the kubelet does so
    /// later. Null for other probes, and where it makes no difference.
    pub latest_without_runtime_timeout: Option<Bound>,
}

/// A consequence of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Milestone {
    /// The first probe begins.
    FirstProbe,
    /// The container has started, if it ever does.
    Started,
    /// The container may get requests.
    Ready,
    /// The container gets no more requests.
    NotReady,
    /// The kubelet begins to kill the container.
    Killed,
    /// The container has stopped, and restarts if its policy allows it.
    Stopped,
}

/// From when it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Since {
    /// The start of the container, which answers in the end: at the latest, as late as its startup
    /// probe allows, and else from the start on.
    Start,
    /// The start of the container, which never answers well.
    StartInVain,
    /// The moment at which a container that answered well does so no more.
    Trouble,
    /// The moment at which it answers well again.
    Recovery,
}

/// What the timeline rests on.
const ASSUMPTIONS: [&str; 4] = [
    "the kubelet itself did not start within the last period",
    "no probe ends in an error: errors count as nothing, and only delay",
    "no failures are left from the previous container: they would count for this one",
    "a pre-stop hook is part of the grace period; back-off before the next start is not counted",
];

/// Returns what can come when.
pub fn timeline(pod: &Pod, container: &Container, runtime_request_timeout: GoDuration) -> Timeline {
    let startup = container.probe(ProbeType::Startup);
    let startup = startup.map(|probe| Numbers::of(probe, runtime_request_timeout));
    let mut entries = Vec::new();
    for (kind, probe) in container.probes() {
        let numbers = Numbers::of(probe, runtime_request_timeout);
        let plan = Plan { kind, numbers, startup, pod, container };
        plan.add_to(&mut entries);
    }
    let assumptions = if entries.is_empty() { Vec::new() } else { ASSUMPTIONS.to_vec() };
    Timeline { entries, assumptions }
}

/// The numbers of a probe.
#[derive(Clone, Copy)]
struct Numbers {
    timing: ProbeTiming,
    /// How much longer than its timeout a command may run, where the runtime does not end it.
    overtime: Option<GoDuration>,
}

/// How long a probe can take.
#[derive(Clone, Copy)]
enum Hang {
    /// It answers at once.
    None,
    /// It takes its timeout.
    Timeout,
    /// The runtime does not end it in time.
    Overtime,
}

impl Numbers {
    fn of(probe: &Probe, runtime_request_timeout: GoDuration) -> Self {
        let is_command = matches!(probe.handler(), Some(Handler::Exec(_)));
        let overtime =
            (is_command && runtime_request_timeout.0 > 0).then_some(runtime_request_timeout);
        Self { timing: ProbeTiming::of(probe), overtime }
    }

    /// Adds as many probes in a row as a threshold wants, from the begin of the first to the end of the
    /// last.
    fn row(&self, sum: Sum, threshold: i32, hang: Hang) -> Sum {
        let (period, timeout) = (self.timing.period_seconds, self.timing.timeout_seconds);
        let pauses = i64::from(threshold.max(1)) - 1;
        let extra = match hang {
            Hang::None => return sum.plus_times("period", period.into(), pauses),
            Hang::Timeout => GoDuration(0),
            Hang::Overtime => self.overtime.unwrap_or_default(),
        };
        let takes = i128::from(timeout) * 1_000_000_000 + i128::from(extra.0);
        if takes <= i128::from(period) * 1_000_000_000 {
            let sum = sum.plus_times("period", period.into(), pauses);
            let sum = sum.plus("timeout", timeout.into());
            return sum.plus_request_timeouts(extra, 1);
        }
        // One begins right after the other: the ticks in between are lost.
        let count = pauses.saturating_add(1);
        let sum = sum.plus_times("timeout", timeout.into(), count);
        sum.plus_request_timeouts(extra, count)
    }
}

/// One probe of a container.
struct Plan<'a> {
    kind: ProbeType,
    numbers: Numbers,
    startup: Option<Numbers>,
    pod: &'a Pod,
    container: &'a Container,
}

impl Plan<'_> {
    fn add_to(&self, entries: &mut Vec<TimelineEntry>) {
        let timing = self.numbers.timing;
        let (successes, failures) = (timing.success_threshold, timing.failure_threshold);
        let period = |sum: Sum| sum.plus("period", timing.period_seconds.into());
        let mut add = |what, since, earliest: Sum, latest: &dyn Fn(Hang) -> Sum| {
            let overtime = self.has_overtime().then(|| latest(Hang::Overtime).bound());
            let latest = latest(Hang::Timeout).bound();
            let overtime = overtime.filter(|bound| bound.after != latest.after);
            entries.push(TimelineEntry {
                probe: self.kind,
                what,
                since,
                earliest: earliest.bound(),
                latest,
                latest_without_runtime_timeout: overtime,
            });
        };
        let begins = |hang| self.begins(hang);
        add(Milestone::FirstProbe, Since::Start, begins(Hang::None), &|hang| period(begins(hang)));
        let in_a_row = |sum, threshold, hang| self.numbers.row(sum, threshold, hang);
        let from_start = |threshold| move |hang| in_a_row(period(begins(hang)), threshold, hang);
        let from_now = |threshold| move |hang| in_a_row(period(Sum::default()), threshold, hang);
        // When not ready, each computation of the pod's status probes at once: several successes can
        // come within a moment.
        match self.kind {
            ProbeType::Readiness => {
                add(Milestone::Ready, Since::Start, begins(Hang::None), &from_start(successes));
                let soonest = in_a_row(Sum::default(), failures, Hang::None);
                add(Milestone::NotReady, Since::Trouble, soonest, &from_now(failures));
                add(Milestone::Ready, Since::Recovery, Sum::default(), &from_now(successes));
            }
            ProbeType::Startup => {
                let soonest = in_a_row(begins(Hang::None), successes, Hang::None);
                // The last chance is the last probe that may fail.
                add(Milestone::Started, Since::Start, soonest, &from_start(failures));
                self.add_kill(
                    &mut add,
                    Since::StartInVain,
                    begins(Hang::None),
                    &from_start(failures),
                );
            }
            ProbeType::Liveness => {
                // With a startup probe, one that never answers is not probed for liveness at all.
                if self.startup.is_none() {
                    let soonest = begins(Hang::None);
                    self.add_kill(&mut add, Since::StartInVain, soonest, &from_start(failures));
                }
                self.add_kill(&mut add, Since::Trouble, Sum::default(), &from_now(failures));
            }
        }
    }

    /// Adds that the container is killed, and gone.
    fn add_kill(
        &self,
        add: &mut impl FnMut(Milestone, Since, Sum, &dyn Fn(Hang) -> Sum),
        since: Since,
        soonest: Sum,
        latest: &dyn Fn(Hang) -> Sum,
    ) {
        let failures = self.numbers.timing.failure_threshold;
        let soonest = self.numbers.row(soonest, failures, Hang::None);
        add(Milestone::Killed, since, soonest.clone(), latest);
        let periods = GracePeriods::of(self.pod, self.container);
        let grace = periods.decide(KillReason::Probe(self.kind)).given_to_runtime(0);
        add(Milestone::Stopped, since, soonest, &|hang| latest(hang).plus("grace period", grace));
    }

    /// Returns when probes begin after the start of the container: after their delay, and once it has
    /// started.
    fn begins(&self, hang: Hang) -> Sum {
        let own = i64::from(self.numbers.timing.initial_delay_seconds);
        let own = Sum::default().plus("initialDelay", own);
        let Some(startup) = self.startup.filter(|_| self.kind != ProbeType::Startup) else {
            return own;
        };
        let timing = startup.timing;
        let delay = i64::from(timing.initial_delay_seconds);
        let started = Sum::default().plus("startup initialDelay", delay);
        let started = match hang {
            Hang::None => started,
            _ => {
                let started = started.plus("startup period", timing.period_seconds.into());
                startup.row(started, timing.failure_threshold, hang)
            }
        };
        own.or_later(started)
    }

    fn has_overtime(&self) -> bool {
        let startup = self.startup.and_then(|startup| startup.overtime);
        self.numbers.overtime.or(startup).is_some()
    }
}

impl fmt::Display for Milestone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstProbe => "first probe",
            Self::Started => "started",
            Self::Ready => "ready",
            Self::NotReady => "not ready",
            Self::Killed => "killed",
            Self::Stopped => "stopped",
        })
    }
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "the container starts",
            Self::StartInVain => "the container starts, and never answers",
            Self::Trouble => "the container stops answering",
            Self::Recovery => "the container answers again",
        })
    }
}

/// The ticks between the steps.
///
/// A step that takes longer than a period does not lose all the ticks: the first of them waits, and the
/// next step begins right after. The others are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticker {
    start: Timestamp,
    period: i64,
    taken: Timestamp,
}

impl Ticker {
    /// Begins with the first step. A period that is not positive is taken as a second; no kubelet
    /// takes such a probe.
    pub fn new(first_step: Timestamp, period: GoDuration) -> Self {
        let period = if period.0 > 0 { period.0 } else { GoDuration::SECOND.0 };
        Self { start: first_step, period, taken: first_step }
    }

    /// Returns when the next step begins, after one that ended now.
    pub fn next(&mut self, now: Timestamp) -> Timestamp {
        let waited = self.taken.since(self.start).max(0);
        let ticks = (waited / self.period).saturating_add(1);
        let tick = self.start.plus(ticks.saturating_mul(self.period));
        // What ticked while the step went on is there to be taken; later ticks found it full.
        self.taken = tick.max(now);
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Returns a line for each entry.
    fn lines(container: Value, grace: i64) -> Vec<String> {
        let spec = json!({"terminationGracePeriodSeconds": grace, "containers": [container]});
        let pod: Pod = serde_json::from_value(json!({ "spec": spec })).expect("a pod");
        let timeline = timeline(&pod, &pod.spec.containers[0], GoDuration(120_000_000_000));
        let one = |entry: &TimelineEntry| {
            let TimelineEntry { probe, what, since, earliest, latest, .. } = entry;
            let overtime = entry.latest_without_runtime_timeout.as_ref();
            let overtime = overtime.map(|bound| format!(" or {bound}")).unwrap_or_default();
            format!("{probe} {since:?} {what}: {earliest} to {latest}{overtime}")
        };
        timeline.entries.iter().map(one).collect()
    }

    #[test]
    fn a_hang_is_noticed_after_threshold_periods_and_a_timeout() {
        let got = lines(json!({"name": "app", "livenessProbe": {"httpGet": {"port": 80}}}), 30);
        let expected = [
            "Liveness Start first probe: 0s to 10s",
            "Liveness StartInVain killed: 20s to 31s",
            "Liveness StartInVain stopped: 20s to 1m1s",
            "Liveness Trouble killed: 20s to 31s",
            "Liveness Trouble stopped: 20s to 1m1s",
        ];
        assert_eq!(got, expected);
    }

    #[test]
    fn a_timeout_longer_than_the_period_sets_the_pace() {
        let probe = json!({"tcpSocket": {"port": 80}, "periodSeconds": 2, "timeoutSeconds": 5,
                           "failureThreshold": 3, "terminationGracePeriodSeconds": 1});
        let got = lines(json!({"name": "app", "livenessProbe": probe}), 30);
        assert_eq!(got[3], "Liveness Trouble killed: 4s to 17s", "2 + 3 x 5");
        assert_eq!(got[4], "Liveness Trouble stopped: 4s to 19s", "at least 2 s to stop");
    }

    #[test]
    fn others_wait_for_the_startup_probe() {
        let container = json!({"name": "app",
            "startupProbe": {"httpGet": {"port": 80}, "initialDelaySeconds": 5, "failureThreshold": 30},
            "readinessProbe": {"httpGet": {"port": 80}, "successThreshold": 2},
            "livenessProbe": {"httpGet": {"port": 80}, "initialDelaySeconds": 600}});
        let expected = [
            "Startup Start first probe: 5s to 15s",
            "Startup Start started: 5s to 5m6s",
            "Startup StartInVain killed: 4m55s to 5m6s",
            "Startup StartInVain stopped: 4m55s to 5m36s",
            "Readiness Start first probe: 5s to 5m16s",
            "Readiness Start ready: 5s to 5m27s",
            "Readiness Trouble not ready: 20s to 31s",
            "Readiness Recovery ready: 0s to 21s",
            "Liveness Start first probe: 10m0s to 10m10s",
            "Liveness Trouble killed: 20s to 31s",
            "Liveness Trouble stopped: 20s to 1m1s",
        ];
        assert_eq!(lines(container, 30), expected);
    }

    #[test]
    fn a_command_without_a_limit_takes_longer() {
        let got =
            lines(json!({"name": "app", "livenessProbe": {"exec": {"command": ["true"]}}}), 30);
        assert_eq!(got[0], "Liveness Start first probe: 0s to 10s");
        assert_eq!(got[3], "Liveness Trouble killed: 20s to 31s or 6m13s", "10 + 3 x (1 + 120)");
    }

    #[test]
    fn formulas_have_the_numbers() {
        let pod = Pod::default();
        let probe = json!({"httpGet": {"port": 80}, "initialDelaySeconds": 5});
        let container = json!({"name": "app", "livenessProbe": probe});
        let container: Container = serde_json::from_value(container).expect("a container");
        let got = timeline(&pod, &container, GoDuration(0));
        let killed = &got.entries[1];
        assert_eq!(killed.earliest.formula, "initialDelay 5 + period 10 x 2 = 25s");
        let latest = "initialDelay 5 + period 10 + period 10 x 2 + timeout 1 = 36s";
        assert_eq!(killed.latest.formula, latest);
        assert_eq!(timeline(&pod, &Container::default(), GoDuration(0)), Timeline::default());
    }

    fn at(tenths: i64) -> Timestamp {
        Timestamp(tenths * GoDuration::SECOND.0 / 10)
    }

    #[test]
    fn one_tick_waits_and_the_others_are_lost() {
        // When each step ends, and when the next one begins, in tenths of a second.
        for (name, steps) in [
            ("quick", &[(1, 10), (11, 20), (20, 30)][..]),
            ("as long as a period", &[(10, 10), (20, 20)]),
            ("longer, then quick again", &[(15, 15), (16, 20), (21, 30)]),
            ("much longer", &[(55, 55), (56, 60), (61, 70)]),
            ("always longer", &[(15, 15), (30, 30), (45, 45), (60, 60)]),
        ] {
            let mut ticker = Ticker::new(at(0), GoDuration::SECOND);
            for (end, next) in steps {
                assert_eq!(ticker.next(at(*end)), at(*next), "{name}: {end}");
            }
        }
    }

    #[test]
    fn odd_numbers_do_no_harm() {
        assert_eq!(Ticker::new(at(0), GoDuration(0)).next(at(0)), at(10), "no endless loop");
        let mut end = Ticker::new(Timestamp(i64::MAX - 1), GoDuration(i64::MAX));
        assert_eq!(end.next(Timestamp(i64::MAX)), Timestamp(i64::MAX));
        assert_eq!(Ticker::new(Timestamp(i64::MIN), GoDuration::SECOND).next(at(0)), at(0));
    }
}
