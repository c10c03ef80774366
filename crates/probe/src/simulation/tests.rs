//! Replayed traces.

use super::*;
use crate::attempt::Cause;
use crate::trace::{At, Changes};
use crate::worker::{ContainerFacts, PodFacts, State};

fn trace(rest: &str) -> Trace {
    let text = format!("apiVersion: kq/v1\nkind: ProbeTrace\n{rest}\n");
    Trace::parse(text.as_bytes(), &mut Vec::new()).unwrap_or_else(|error| panic!("{rest}: {error}"))
}

/// Returns what is said of each step.
fn said(rest: &str, what_if: &WhatIf) -> Vec<String> {
    let simulation = simulate(&trace(rest), what_if).expect("gates that go together");
    let one = |step: &SimulatedStep| {
        let action = step.action.as_ref().map(|action| format!(" -> {action}"));
        format!("{} {}{}", step.at, step.reason, action.unwrap_or_default())
    };
    simulation.steps.iter().map(one).collect()
}

const KILL: &str = " -> kill: Container app failed liveness probe, will be restarted";

#[test]
fn three_failures_kill() {
    let rest = "type: liveness\nsteps: [success, failure, {result: error, message: lost}, failure, \
                failure, failure, {restarted: true, result: failure}]";
    let got = said(rest, &WhatIf::default());
    let expected = [
        "0s success 1 of 1: threshold reached".to_owned(),
        "10s failure 1 of 3".to_owned(),
        "20s thrown away: lost".to_owned(),
        "30s failure 2 of 3".to_owned(),
        format!("40s failure 3 of 3: threshold reached{KILL}"),
        "50s on hold until the container id changes".to_owned(),
        "1m0s failure 1 of 3".to_owned(),
    ];
    assert_eq!(got, expected);
}

#[test]
fn what_if_changes_numbers_and_rules() {
    let rest = "type: liveness\nprobe: {failureThreshold: 1}\nsteps: [failure, failure]";
    let what_if =
        WhatIf { failure_threshold: Some(2), period_seconds: Some(5), ..WhatIf::default() };
    let expected =
        ["0s failure 1 of 2".to_owned(), format!("5s failure 2 of 2: threshold reached{KILL}")];
    assert_eq!(said(rest, &what_if), expected);
    let what_if = WhatIf { initial_delay_seconds: Some(6), ..what_if };
    let late = ["0s initial delay: 0 s of 6 s", "5s initial delay: 5 s of 6 s"];
    assert_eq!(said(rest, &what_if), late);
    let what_if = WhatIf {
        feature_gates: BTreeMap::from([("NoSuchGate".to_owned(), true)]),
        ..WhatIf::default()
    };
    simulate(&trace(rest), &what_if).expect_err("no kubelet knows the gate");
}

#[test]
fn facts_change_and_stay() {
    let rest = "type: readiness
steps:
- {statusUnknown: true}
- {statusUnknown: false, started: false, result: success}
- {started: true, result: success}
- {exitCode: 3}
- {state: waiting}
- {restarted: true, result: failure}
- {phase: Succeeded}
- success";
    let expected = [
        "0s the kubelet has no status of the pod yet",
        "10s the container has not started: the startup probe first",
        "20s success 1 of 1: threshold reached -> ready",
        "30s the container ended with exit code 3 and starts again: the pod's restartPolicy Always -> \
         not ready",
        "40s the container is waiting: failure",
        "50s failure 1 of 3",
        "1m0s the pod has ended: Succeeded",
    ];
    assert_eq!(said(rest, &WhatIf::default()), expected);
    let simulation = simulate(&trace(rest), &WhatIf::default()).expect("no gates");
    assert!(simulation.summary.stopped);
    assert_eq!(simulation.basis.warnings, ["the worker stopped: 1 step left out"]);
    assert_eq!(simulation.summary.not_asked_for, 1);
}

#[test]
fn a_startup_probe_that_succeeded_is_over() {
    let rest = "type: startup\nsteps: [failure, success, success]";
    let expected = [
        "0s failure 1 of 3",
        "10s success 1 of 1: threshold reached -> started",
        "20s on hold until the container id changes",
    ];
    assert_eq!(said(rest, &WhatIf::default()), expected);
}

#[test]
fn a_kubelet_that_restarted_leaves_what_ran() {
    let rest = "type: readiness\nkubelet: {startedAt: 1m}\nsteps: [{at: 70s, result: failure}]";
    let expected = ["1m10s failure 1 of 3"];
    assert_eq!(said(rest, &WhatIf::default()), expected);
    let before = WhatIf { version: Some(KubeletVersion::new(1, 34)), ..WhatIf::default() };
    assert_eq!(said(rest, &before), ["1m10s failure 1 of 3"]);
}

#[test]
fn a_live_run_comes_out_the_same() {
    let second = Timestamp::from_seconds;
    let status = |id: &str, state, started| PodFacts {
        phase: "Running".to_owned(),
        containers: vec![ContainerFacts {
            name: "web".to_owned(),
            container_id: id.to_owned(),
            state,
            started,
            ready: false,
        }],
        ..PodFacts::default()
    };
    let running = |at| State::Running { started_at: Some(second(at)) };
    let seen = [
        None,
        Some(status("", State::Waiting, None)),
        Some(status("docker://a", running(19), None)),
        Some(status("docker://a", running(19), Some(true))),
        Some(status("docker://a", State::Terminated { exit_code: 1 }, Some(false))),
        Some(status("docker://b", running(49), Some(true))),
        Some(status("docker://b", running(49), Some(true))),
        Some(status("docker://b", running(49), Some(true))),
    ];
    let pod = r#"{"spec": {"containers": [{"name": "web",
        "livenessProbe": {"failureThreshold": 2, "initialDelaySeconds": 2}}]}}"#;
    let pod: Arc<Pod> = Arc::new(serde_json::from_str(pod).expect("a pod"));
    let (kind, rules) = (ProbeType::Liveness, KubeletRules::default());
    let mut worker = Worker::new(pod.clone(), "web", kind, rules, second(-9)).expect("a worker");
    let mut cache = ResultsCache::default();
    let (mut steps, mut live) = (Vec::new(), Vec::new());
    for (number, status) in (0..).zip(&seen) {
        let now = second(10 * number);
        let facts = StepFacts { status: status.as_ref(), deletion_timestamp_set: false };
        let mut step = TraceStep { at: Some(At::Time(now)), ..TraceStep::default() };
        let report = match worker.begin(&mut cache, facts, now) {
            Begun::Done(report) => *report,
            Begun::Probe(pending) => {
                let attempt = Attempt::failure(Cause::Unhealthy, "bad");
                let conclusion = Conclusion::of_repeating(kind, &[attempt], rules);
                step = TraceStep::probed(now, &conclusion);
                worker.finish(&mut cache, pending, conclusion)
            }
        };
        step.changes = Changes::to(status.as_ref(), "web");
        steps.push(step);
        live.push((report.reason, report.action, report.calls, report.state));
    }
    let container = &pod.spec.containers[0];
    let trace = Trace::of_steps(kind, &pod, container, &rules, second(0), steps);
    let mut trace = trace.expect("it has a probe");
    trace.pod.termination_grace_period_seconds = 2;
    let stored = serde_json::to_vec(&trace).expect("JSON");
    let trace = Trace::parse(&stored, &mut Vec::new()).expect("a trace");
    let simulated = simulate(&trace, &WhatIf::default()).expect("gates that go together");
    assert_eq!(simulated.steps.len(), live.len());
    for (step, (reason, action, calls, state)) in simulated.steps.iter().zip(&live) {
        assert_eq!((&step.reason.0, &step.calls, &step.worker), (reason, calls, state));
        let killed = |action: &Option<Action>| matches!(action, Some(Action::Kill { .. }));
        assert_eq!(killed(&step.action), killed(action), "{reason}");
    }
    let last = live.last().map(|(reason, ..)| reason);
    assert_eq!(last, Some(&StepReason::OnHold), "it went all the way");
}

#[test]
fn a_later_kubelet_is_reported() {
    let rest = "type: liveness\nkubelet: {startedAt: 5s}\nsteps: [{at: 4s, result: success}]";
    let simulation = simulate(&trace(rest), &WhatIf::default()).expect("no gates");
    assert_eq!(simulation.basis.warnings.len(), 1, "{:?}", simulation.basis.warnings);
}

#[test]
fn unknowns_are_reported() {
    let rest = "type: liveness\nsteps: [failure, {at: 9s}, {at: 10s, result: failure}]";
    let what_if = WhatIf { period_seconds: Some(1), ..WhatIf::default() };
    let simulation = simulate(&trace(rest), &what_if).expect("no gates");
    assert_eq!(simulation.summary.without_result, 1);
    assert_eq!(simulation.steps[1].reason.0, StepReason::NoResult);
    assert_eq!(simulation.basis.warnings.len(), 1, "{:?}", simulation.basis.warnings);
    // Steps by the period of the trace never overtake; with a longer one they do.
    let rest = "type: liveness\nsteps: [failure, failure, {at: 15s, result: failure}]";
    let what_if = WhatIf { period_seconds: Some(20), ..WhatIf::default() };
    let got = said(rest, &what_if);
    assert!(got[2].starts_with("20s "), "{got:?}");
}

#[test]
fn views_say_the_same() {
    let rest = "type: liveness\nprobe: {failureThreshold: 1}\nsteps: [success, \
                {result: failure, message: \"bad\\e[2J\"}]";
    let simulation = simulate(&trace(rest), &WhatIf::default()).expect("no gates");
    let shown = table(&simulation).to_string();
    let expected = "\
TIME   PROBE RESULT   RUN   ON HOLD   ACTION                                                         WHY
0s     success        1/1   no        -                                                              success 1 of 1: threshold reached; new container, success until probed
10s    failure        1/1   yes       kill: Container app failed liveness probe, will be restarted   failure 1 of 1: threshold reached

Liveness probe of app: 2 steps, 2 probed; kill: Container app failed liveness probe, will be restarted at 10s; on hold at the end
";
    assert_eq!(shown, expected);
    let shown = wide(&simulation).to_string();
    assert!(shown.contains("Warning Unhealthy: Liveness probe failed: bad\\u{1b}[2J"), "{shown}");
    assert!(shown.contains("containerd://1   success!, success"), "{shown}");
}

#[test]
fn a_million_steps_are_fine() {
    let mut trace = trace("type: readiness\nsteps: []");
    trace.steps = vec![TraceStep::default(); 1_000_000];
    let simulation = simulate(&trace, &WhatIf::default()).expect("no gates");
    assert_eq!((simulation.steps.len(), simulation.summary.without_result), (1_000_000, 1_000_000));
}
