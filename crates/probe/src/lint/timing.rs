//! When something happens, and how soon.
//!
//! The first probe comes at the first tick of the period at which `initialDelaySeconds` have passed since the
//! container started; each other a period later, or when the one before has ended, whichever is later; the
//! last of `failureThreshold` failures in a row counts (`doProbe`, `pkg/kubelet/prober/worker.go`).

use super::rule::{ProbeRule, SlowStart};
use super::{Found, Probed};
use crate::injected::is_proxy;
use crate::resolve_port;
use kq_k8s::pod::{Container, Handler, Probe, ProbeType};

/// A container that is killed earlier than this after its start may well not be up yet.
const SLOW_START_SECONDS: i64 = 60;
/// The same for a startup probe, which was set on purpose.
const SHORT_STARTUP_SECONDS: i64 = 10;
/// The longest time that a failure may reasonably go unnoticed.
const LATE_SECONDS: i64 = 600;
/// What the kubelet takes where a pod says nothing (`SetDefaults_PodSpec`).
const DEFAULT_GRACE_SECONDS: i64 = 30;

/// How soon `failureThreshold` failures can have come together.
struct Verdict {
    /// Counted from the start of the container, where no probe ever succeeds.
    earliest: i64,
    /// The same at the latest: each probe takes all its time, and ticks come late.
    latest: i64,
    /// The longest time from the moment at which a healthy container stops answering.
    notice: i64,
}

impl Verdict {
    fn of(probe: &Probe) -> Self {
        let [delay, timeout, period, failures] = [
            probe.initial_delay_seconds,
            probe.timeout_seconds,
            probe.period_seconds,
            probe.failure_threshold,
        ]
        .map(|number| i64::from(number.max(0)));
        let between = failures.saturating_sub(1).max(0);
        let slowest = between * period.max(timeout);
        Self {
            earliest: delay + between * period,
            latest: delay + period + slowest + timeout,
            notice: period + slowest + timeout,
        }
    }
}

pub(super) fn findings(probed: &Probed<'_>) -> Vec<Found> {
    let mut findings = Vec::new();
    findings.extend(slow_start(probed));
    findings.extend(delay_beside_startup(probed));
    for (kind, path, probe) in probed.probes() {
        // Istio's startup probe has a period of 1 second and a timeout of 3: its injector sets both.
        if !is_proxy(probed.container) {
            findings.extend(timeout_above_period(&path, probe));
        }
        findings.extend(exec_timeout(&path, probe, probed.fails_on_timeout));
        let counts_timeouts = probe.exec.is_none() || probed.fails_on_timeout;
        findings.extend(single_failure(kind, &path, probe, counts_timeouts));
        findings.extend(late(kind, &path, probe));
        findings.extend(longer_grace(probed, kind, &path, probe));
    }
    findings
}

/// Returns true if a probe names a port that the container does not have: the kubelet ignores its result.
fn has_no_port(container: &Container, probe: &Probe) -> bool {
    let port = match probe.handler() {
        Some(Handler::HttpGet(get)) => &get.port,
        Some(Handler::TcpSocket(socket)) => &socket.port,
        Some(Handler::Exec(_) | Handler::Grpc(_)) | None => return false,
    };
    resolve_port(port, &container.ports).is_err()
}

/// Finds containers that are killed too soon after their start.
fn slow_start(probed: &Probed<'_>) -> Option<Found> {
    if !probed.has_verdict {
        return None;
    }
    let (kind, probe, limit) = match (&probed.startup, &probed.liveness) {
        (Some(startup), _) => (ProbeType::Startup, startup, SHORT_STARTUP_SECONDS),
        (None, Some(liveness)) => (ProbeType::Liveness, liveness, SLOW_START_SECONDS),
        (None, None) => return None,
    };
    if has_no_port(probed.container, probe) {
        return None;
    }
    let Verdict { earliest, latest, .. } = Verdict::of(probe);
    let start = SlowStart {
        earliest_seconds: earliest,
        latest_seconds: latest,
        initial_delay_seconds: probe.initial_delay_seconds,
        period_seconds: probe.period_seconds,
        failure_threshold: probe.failure_threshold,
        timeout_seconds: probe.timeout_seconds,
    };
    let rule = match kind {
        ProbeType::Startup => ProbeRule::ShortStartup(start),
        ProbeType::Readiness | ProbeType::Liveness => ProbeRule::NoStartupProbe(start),
    };
    (earliest < limit).then(|| (format!("{}.{}", probed.path, kind.field()), rule))
}

/// A delay counts from the start of the container, as does what the startup probe waits for.
fn delay_beside_startup(probed: &Probed<'_>) -> Vec<Found> {
    if probed.startup.is_none() {
        return Vec::new();
    }
    let probes = probed
        .probes()
        .filter(|(kind, _, probe)| *kind != ProbeType::Startup && probe.initial_delay_seconds > 0);
    let findings = probes.map(|(_, path, probe)| {
        let initial_delay_seconds = probe.initial_delay_seconds;
        let rule = ProbeRule::DelayBesideStartup { initial_delay_seconds };
        (format!("{path}.initialDelaySeconds"), rule)
    });
    findings.collect()
}

fn timeout_above_period(path: &str, probe: &Probe) -> Option<Found> {
    let &Probe { timeout_seconds, period_seconds, .. } = probe;
    let rule = ProbeRule::TimeoutAbovePeriod { timeout_seconds, period_seconds };
    (timeout_seconds > period_seconds && period_seconds > 0)
        .then(|| (format!("{path}.timeoutSeconds"), rule))
}

fn exec_timeout(path: &str, probe: &Probe, fails_on_timeout: bool) -> Option<Found> {
    probe.exec.as_ref()?;
    let timeout_seconds = probe.timeout_seconds;
    let rule = match fails_on_timeout {
        false => ProbeRule::ExecTimeoutIgnored { timeout_seconds },
        true if timeout_seconds == 1 => ProbeRule::ExecOneSecond,
        true => return None,
    };
    Some((format!("{path}.timeoutSeconds"), rule))
}

fn single_failure(
    probe_type: ProbeType,
    path: &str,
    probe: &Probe,
    counts_timeouts: bool,
) -> Option<Found> {
    let timeout_seconds = probe.timeout_seconds;
    let rule = ProbeRule::SingleFailure { probe_type, timeout_seconds, counts_timeouts };
    // Of a startup probe, `slow_start` has it.
    (probe.failure_threshold == 1 && probe_type != ProbeType::Startup)
        .then(|| (format!("{path}.failureThreshold"), rule))
}

/// Finds probes whose failures go unnoticed for too long.
fn late(probe_type: ProbeType, path: &str, probe: &Probe) -> Vec<Found> {
    let &Probe { period_seconds, failure_threshold, success_threshold, .. } = probe;
    let latest_seconds = Verdict::of(probe).notice;
    let mut findings = Vec::new();
    if probe_type != ProbeType::Startup && latest_seconds > LATE_SECONDS {
        let rule = ProbeRule::LateFailure {
            probe_type,
            latest_seconds,
            period_seconds,
            failure_threshold,
        };
        findings.push((path.to_owned(), rule));
    }
    let successes = i64::from(success_threshold.saturating_sub(1).max(0));
    let earliest_seconds = successes * i64::from(period_seconds.max(0));
    if probe_type == ProbeType::Readiness && earliest_seconds >= SLOW_START_SECONDS {
        let rule = ProbeRule::LateSuccess { earliest_seconds, success_threshold, period_seconds };
        findings.push((format!("{path}.successThreshold"), rule));
    }
    findings
}

fn longer_grace(probed: &Probed<'_>, kind: ProbeType, path: &str, probe: &Probe) -> Option<Found> {
    let pod_seconds = probed.spec.termination_grace_period_seconds.unwrap_or(DEFAULT_GRACE_SECONDS);
    let probe_seconds = probe.termination_grace_period_seconds?;
    let rule = ProbeRule::LongerGracePeriod { probe_seconds, pod_seconds };
    (kind != ProbeType::Readiness && probe_seconds > pod_seconds)
        .then(|| (format!("{path}.terminationGracePeriodSeconds"), rule))
}
