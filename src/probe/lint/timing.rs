//! When something happens, and how soon.
//!
//! The first probe comes at the first tick of the period at which `initialDelaySeconds` have passed since the
//! container started; each other a period later, or when the one before has ended, whichever is later; the
//! last of `failureThreshold` failures in a row counts (`doProbe`, `pkg/kubelet/prober/worker.go`).

use super::{Probed, field, info, warning};
use crate::answer::{Finding, Severity};
use crate::k8s::pod::{Probe, ProbeType};

/// A container that is killed earlier than this after its start may well not be up yet.
const SLOW_START_SECONDS: i64 = 60;
/// And hardly any is up so soon on a busy node.
const QUICK_START_SECONDS: i64 = 15;
/// The same for a startup probe, which was set on purpose.
const SHORT_STARTUP_SECONDS: i64 = 10;
/// Nobody expects the kubelet to need longer than this to notice.
const LATE_SECONDS: i64 = 600;
/// What the kubelet takes where a pod says nothing (`SetDefaults_PodSpec`).
const DEFAULT_GRACE_SECONDS: i64 = 30;

/// How soon `failureThreshold` failures can have come together.
struct Verdict {
    /// Counted from the start of the container, where no probe ever succeeds.
    earliest: i64,
    /// The same at the latest: each probe takes all its time, and ticks come late.
    latest: i64,
    /// Counted from the moment at which a container that was well is not any more, at the latest.
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

pub(super) fn findings(probed: &Probed<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(slow_start(probed));
    findings.extend(delay_beside_startup(probed));
    for (kind, path, probe) in probed.probes() {
        findings.extend(timeout_above_period(&path, probe));
        findings.extend(exec_timeout(&path, probe, probed.fails_on_timeout));
        let may_hang = probe.exec.is_some() && !probed.fails_on_timeout;
        findings.extend(single_failure(kind, &path, probe, may_hang));
        findings.extend(late(kind, &path, probe));
        findings.extend(longer_grace(probed, kind, &path, probe));
    }
    findings
}

/// Says how soon a container is killed that does not get up.
fn slow_start(probed: &Probed<'_>) -> Option<Finding> {
    let (kind, probe, limit) = match (&probed.startup, &probed.liveness) {
        (Some(startup), _) => (ProbeType::Startup, startup, SHORT_STARTUP_SECONDS),
        (None, Some(liveness)) => (ProbeType::Liveness, liveness, SLOW_START_SECONDS),
        (None, None) => return None,
    };
    let Verdict { earliest, latest, .. } = Verdict::of(probe);
    if earliest >= limit {
        return None;
    }
    let path = format!("{}.{}", probed.path, field(kind));
    let found = format!(
        "a container that does not answer is killed {earliest} s to {latest} s after its start \
         (initialDelaySeconds {}, periodSeconds {}, failureThreshold {}, timeoutSeconds {})",
        probe.initial_delay_seconds,
        probe.period_seconds,
        probe.failure_threshold,
        probe.timeout_seconds,
    );
    let why = "a start that takes longer once, on a busy node or with a cold cache, ends in a restart, \
               and the next start is no quicker";
    Some(if kind == ProbeType::Startup {
        warning("short-startup", path, found).because(why).advise(
            "raise failureThreshold of the startup probe: a container that is up sooner loses nothing",
        )
    } else {
        let soon = earliest < QUICK_START_SECONDS;
        let severity = if soon { Severity::Warning } else { Severity::Info };
        let advice = "add a startup probe that covers the slowest start: liveness waits for it";
        let finding = warning("no-startup-probe", path, found).because(why).advise(advice);
        Finding { severity, ..finding }
    })
}

/// A delay counts from the start of the container, as does what the startup probe waits for.
fn delay_beside_startup(probed: &Probed<'_>) -> Vec<Finding> {
    if probed.startup.is_none() {
        return Vec::new();
    }
    let probes = probed
        .probes()
        .filter(|(kind, _, probe)| *kind != ProbeType::Startup && probe.initial_delay_seconds > 0);
    let findings = probes.map(|(_, path, probe)| {
        let delay = probe.initial_delay_seconds;
        info(
            "delay-beside-startup",
            format!("{path}.initialDelaySeconds"),
            format!("counts {delay} s from the start of the container, not from the end of its startup probe"),
        )
        .because("it changes nothing where the start takes longer, and delays where it does not")
        .advise("leave it out: the startup probe says when the container is up")
    });
    findings.collect()
}

fn timeout_above_period(path: &str, probe: &Probe) -> Option<Finding> {
    let (timeout, period) = (probe.timeout_seconds, probe.period_seconds);
    (timeout > period && period > 0).then(|| {
        warning(
            "timeout-above-period",
            format!("{path}.timeoutSeconds"),
            format!("a probe may take {timeout} s and is due every {period} s"),
        )
        .because(format!(
            "probes do not overlap: one that hangs puts the next off, so that failures are counted every \
             {timeout} s instead of every {period} s"
        ))
        .advise("lower timeoutSeconds to periodSeconds or below")
    })
}

fn exec_timeout(path: &str, probe: &Probe, fails_on_timeout: bool) -> Option<Finding> {
    if !fails_on_timeout {
        return probe.exec.as_ref().map(|_| {
            warning(
                "exec-timeout-ignored",
                format!("{path}.timeoutSeconds"),
                format!("a command that takes longer than {} s never fails", probe.timeout_seconds),
            )
            .because(
                "without the feature gate ExecProbeTimeout the kubelet takes that for an error of the \
                 prober, and throws it away: a container that hangs is never noticed",
            )
            .advise("leave the gate on, or let the command end itself in time: timeout 5 ...")
        });
    }
    (probe.exec.is_some() && probe.timeout_seconds == 1).then(|| {
        info(
            "exec-one-second",
            format!("{path}.timeoutSeconds"),
            "the command has 1 s, with all that the runtime needs to start it",
        )
        .because(
            "starting a process in a container can take that long on a busy node, and a command \
                  that takes longer counts as a failure",
        )
        .advise("give a command several seconds")
    })
}

fn single_failure(kind: ProbeType, path: &str, probe: &Probe, may_hang: bool) -> Option<Finding> {
    if probe.failure_threshold != 1 {
        return None;
    }
    let field = format!("{path}.failureThreshold");
    let advice = "take 3, the default, unless one failure is proof";
    match kind {
        ProbeType::Liveness => {
            let timeout = probe.timeout_seconds;
            let found = match may_hang {
                true => "one probe that fails kills the container".to_owned(),
                false => format!(
                    "one probe that fails, or takes longer than {timeout} s, kills the container"
                ),
            };
            let why = "one lost packet or one long pause is enough";
            Some(warning("single-failure", field, found).because(why).advise(advice))
        }
        ProbeType::Readiness => {
            let found = "one probe that fails takes the pod out of its services";
            let why = "under load all pods of a service can go at once";
            Some(info("single-failure", field, found).because(why).advise(advice))
        }
        // `slow_start` has it.
        ProbeType::Startup => None,
    }
}

/// Says where the kubelet takes longer to notice than anybody expects.
fn late(kind: ProbeType, path: &str, probe: &Probe) -> Vec<Finding> {
    let notice = Verdict::of(probe).notice;
    let mut findings = Vec::new();
    if kind != ProbeType::Startup && notice > LATE_SECONDS {
        let what = match kind {
            ProbeType::Liveness => "is killed",
            ProbeType::Readiness | ProbeType::Startup => "gets no more requests",
        };
        let found = format!(
            "a container that stops answering {what} up to {notice} s later (periodSeconds {}, \
             failureThreshold {})",
            probe.period_seconds, probe.failure_threshold,
        );
        findings.push(
            info("late-failure", path, found).because("until then it counts as well").advise(
                "lower periodSeconds or failureThreshold; a slow start is for a startup probe",
            ),
        );
    }
    let successes = i64::from(probe.success_threshold.saturating_sub(1).max(0));
    let ready = successes * i64::from(probe.period_seconds.max(0));
    if kind == ProbeType::Readiness && ready >= SLOW_START_SECONDS {
        let found = format!(
            "a container is ready {ready} s after its first success at the earliest ({} of them, every \
             {} s)",
            probe.success_threshold, probe.period_seconds,
        );
        findings.push(
            info("late-success", format!("{path}.successThreshold"), found)
                .because("a rollout waits that long for each pod")
                .advise("lower successThreshold or periodSeconds"),
        );
    }
    findings
}

fn longer_grace(
    probed: &Probed<'_>,
    kind: ProbeType,
    path: &str,
    probe: &Probe,
) -> Option<Finding> {
    let of_pod = probed.spec.termination_grace_period_seconds.unwrap_or(DEFAULT_GRACE_SECONDS);
    let of_probe = probe.termination_grace_period_seconds?;
    (kind != ProbeType::Readiness && of_probe > of_pod).then(|| {
        info(
            "longer-grace-period",
            format!("{path}.terminationGracePeriodSeconds"),
            format!(
                "a container that failed this probe has {of_probe} s to stop, any other {of_pod} s"
            ),
        )
        .because(
            "a container that does not answer is rarely one that stops by itself, and until it has \
                  stopped it does not start again",
        )
        .advise("take less time than the pod's, or leave it out")
    })
}
