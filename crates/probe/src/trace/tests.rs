//! Written traces can be read, and errors name their field.

use super::*;
use crate::attempt::ProbeResult;
use proptest::option;
use proptest::prelude::*;

const SHORT: &str = "apiVersion: kq/v1
kind: ProbeTrace
type: liveness
probe: {periodSeconds: 5, httpGet: {port: http}}
steps: [success, failure, {at: 30s, result: error, message: lost}, {restarted: true}]
";

fn parse(text: &str) -> Result<Trace, TraceError> {
    Trace::parse(text.as_bytes(), &mut Vec::new())
}

#[test]
fn the_short_form_is_read() {
    let trace = parse(SHORT).expect("a good trace");
    assert_eq!(trace.probe.timing.period_seconds, 5);
    assert_eq!(trace.probe.timing.failure_threshold, 3, "the default of the API");
    assert_eq!((trace.container, trace.pod), Default::default());
    assert_eq!(trace.steps.len(), 4);
    assert_eq!(trace.steps[0].attempts[0].result, ProbeResult::Success);
    let lost = TraceAttempt { error: Some("lost".to_owned()), ..TraceAttempt::default() };
    assert_eq!(trace.steps[2], TraceStep::after(GoDuration(30_000_000_000), lost));
    assert!(trace.steps[3].changes.restarted && trace.steps[3].attempts.is_empty());
}

#[test]
fn json_and_odd_yaml_are_read() {
    let json = serde_json::to_string(&parse(SHORT).expect("a good trace")).expect("JSON");
    assert_eq!(parse(&json), parse(SHORT));
    let mut notes = Vec::new();
    let twice = SHORT.replace("type: liveness", "type: startup\ntype: liveness");
    assert_eq!(Trace::parse(twice.as_bytes(), &mut notes), parse(SHORT));
    assert_eq!(notes, ["line 4: key \"type\" came before; the last one counts"]);
}

#[test]
fn mistakes_are_named() {
    let steps = |steps: &str| (SHORT.lines().last().expect("a line"), format!("steps: {steps}"));
    for (name, (from, to), expected, hint) in [
        (
            "a pod",
            ("kind: ProbeTrace", "kind: Pod".to_owned()),
            "kind is \"Pod\", expected ProbeTrace",
            Some("a trace begins with apiVersion: kq/v1 and kind: ProbeTrace"),
        ),
        (
            "no version",
            ("apiVersion: kq/v1\n", String::new()),
            "apiVersion is missing, expected kq/v1",
            Some("a trace begins with apiVersion: kq/v1 and kind: ProbeTrace"),
        ),
        (
            "no type",
            ("type: liveness\n", String::new()),
            "type is missing, expected liveness, readiness or startup",
            None,
        ),
        (
            "a type",
            ("type: liveness", "type: lifeness".to_owned()),
            "type is \"lifeness\", expected liveness, readiness or startup",
            Some("did you mean liveness?"),
        ),
        (
            "a field",
            ("periodSeconds", "periodSecond".to_owned()),
            "unknown field probe.periodSecond",
            Some("did you mean periodSeconds?"),
        ),
        (
            "a number",
            ("periodSeconds: 5", "periodSeconds: 5s".to_owned()),
            "probe.periodSeconds is \"5s\", expected a whole number of at least 0",
            None,
        ),
        (
            "a negative number",
            ("periodSeconds: 5", "periodSeconds: -5".to_owned()),
            "probe.periodSeconds is -5, expected a whole number of at least 0",
            None,
        ),
        (
            "a result",
            steps("[success, sucess]"),
            "steps[1] is \"sucess\", expected success, warning, failure, error or unknown",
            Some("did you mean success?"),
        ),
        ("a step that is a number", steps("[5]"), "steps[0] is 5, expected a map of fields", None),
        (
            "a field of a step",
            steps("[{result: success, container: x}]"),
            "unknown field steps[0].container",
            None,
        ),
        (
            "a message alone",
            steps("[{message: x}]"),
            "steps[0].message goes with result only",
            None,
        ),
        (
            "result and attempts",
            steps("[{result: success, attempts: [success]}]"),
            "steps[0].result and attempts: only one of them is allowed",
            None,
        ),
        (
            "two errors",
            steps("[{attempts: [{result: error, error: x}]}]"),
            "steps[0].attempts[0].error and result: error: only one of them is allowed",
            None,
        ),
        (
            "no attempts",
            steps("[{attempts: []}]"),
            "steps[0].attempts is a list of 0, expected at least one, or no such field",
            None,
        ),
        (
            "a moment",
            steps("[{at: 5, result: success}]"),
            "steps[0].at is 5, expected a duration from the start such as 30s, or a time such as \
             2026-11-20T12:00:00Z",
            None,
        ),
        (
            "an order",
            steps("[{at: 10s, result: success}, {at: 9s, result: success}]"),
            "steps[1].at is 9s, earlier than the previous step, at 10s",
            Some("order the steps by time; a step without at is one period later"),
        ),
        (
            "an order by period",
            steps("[success, success, {at: 1s, result: success}]"),
            "steps[2].at is 1s, earlier than the previous step, at 5s",
            Some("order the steps by time; a step without at is one period later"),
        ),
        (
            "a time with nothing to compare",
            steps("[success, {at: \"2026-11-20T12:00:00Z\", result: success}]"),
            "steps[1].at is a time, and the time of 0s is not set",
            Some("add start: 2026-11-20T12:00:00Z, or give the first step a time"),
        ),
        (
            "an exit code while it runs",
            steps("[{state: running, exitCode: 1}]"),
            "steps[0].exitCode goes with state: terminated only",
            None,
        ),
        (
            "no steps",
            steps("~"),
            "steps is missing, expected a list such as [success, failure, failure]",
            None,
        ),
        ("steps", steps("success"), "steps is \"success\", expected a list such as [a, b]", None),
        (
            "a version",
            ("type: liveness", "type: liveness\nkubelet: {version: 1.36}".to_owned()),
            "kubelet.version is 1.36, expected a version in quotes, such as \"1.36\"",
            None,
        ),
        (
            "a gate",
            ("type: liveness", "type: liveness\nkubelet: {featureGates: {A: on it}}".to_owned()),
            "kubelet.featureGates.A is \"on it\", expected true or false",
            None,
        ),
        (
            "a policy of a sidecar",
            (
                "type: liveness",
                "type: liveness\ncontainer: {sidecar: true, restartPolicy: Never}".to_owned(),
            ),
            "container.restartPolicy is \"Never\", expected Always, which makes an init container a \
             sidecar",
            None,
        ),
    ] {
        assert!(SHORT.contains(from), "{name}: nothing to replace");
        let error = parse(&SHORT.replacen(from, &to, 1)).expect_err(name);
        assert_eq!(error.to_string(), expected, "{name}");
        if hint.is_some() {
            assert_eq!(error.hint().as_deref(), hint, "{name}");
        }
    }
    for (name, text) in
        [("nothing", ""), ("a list", "[]"), ("two", "a: 1\n---\nb: 1"), ("broken", "a: [")]
    {
        parse(text).expect_err(name);
    }
    assert_eq!(Trace::parse(b"\xff", &mut Vec::new()), Err(TraceError::NotText));
}

#[test]
fn a_live_run_becomes_a_trace() {
    let pod = r#"{"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 7,
        "initContainers": [{"name": "log", "restartPolicy": "Always",
                            "startupProbe": {"failureThreshold": 9}}]}}"#;
    let pod: Pod = serde_json::from_str(pod).expect("a pod");
    let container = &pod.spec.init_containers[0];
    let rules = KubeletRules::default();
    let start = Timestamp::from_seconds(1_795_176_000);
    let of = |kind| Trace::of_steps(kind, &pod, container, &rules, start, Vec::new());
    assert_eq!(of(ProbeType::Liveness), None, "it has no such probe");
    let trace = of(ProbeType::Startup).expect("it has one");
    assert!(trace.container.sidecar && trace.kubelet.feature_gates.is_empty());
    assert_eq!(trace.probe.timing.failure_threshold, 9);
    assert_eq!((trace.pod.restart_policy.as_str(), trace.start), ("Never", Some(start)));
    let written = serde_json::to_string(&trace).expect("JSON");
    assert_eq!(parse(&written), Ok(trace));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z]{1,4}", any::<String>()]
}

fn attempt() -> impl Strategy<Value = TraceAttempt> {
    let result = prop_oneof![
        Just(ProbeResult::Success),
        Just(ProbeResult::Warning),
        Just(ProbeResult::Failure),
        Just(ProbeResult::Unknown),
    ];
    (result, text(), option::of(text())).prop_map(|(result, message, error)| TraceAttempt {
        result,
        message,
        error,
    })
}

fn changes() -> impl Strategy<Value = Changes> {
    let state = prop_oneof![
        Just((None, None, None)),
        any::<i32>().prop_map(|code| (Some(TraceState::Terminated), Some(code), None)),
        any::<i32>().prop_map(|code| (None, Some(code), None)),
        Just((Some(TraceState::Waiting), None, None)),
        any::<i64>().prop_map(|at| (
            Some(TraceState::Running),
            None,
            Some(At::Offset(GoDuration(at)))
        )),
    ];
    let flags = proptest::array::uniform4(option::of(any::<bool>()));
    (state, flags, any::<bool>(), option::of(text())).prop_map(|(state, flags, restarted, id)| {
        Changes {
            restarted,
            container_id: id,
            state: state.0,
            exit_code: state.1,
            started_at: state.2,
            started: flags[0],
            phase: flags[1].map(|failed| if failed { "Failed" } else { "Running" }.to_owned()),
            deleted: flags[1],
            status_unknown: flags[2],
            all_containers_restarting: flags[3],
        }
    })
}

fn steps() -> impl Strategy<Value = Vec<TraceStep>> {
    let step = (any::<u32>(), any::<bool>(), proptest::collection::vec(attempt(), 0..4), changes());
    proptest::collection::vec(step, 0..6).prop_map(|steps| {
        let mut last = 0;
        let mut with_times = |(later, timed, attempts, changes): (u32, bool, _, _)| {
            last += 10_000_000_000 + i64::from(later);
            // One period after the one before, or later.
            let at = timed.then_some(At::Offset(GoDuration(last)));
            TraceStep { at, attempts, changes }
        };
        steps.into_iter().map(&mut with_times).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_again(
        kind in 0_usize..3,
        steps in steps(),
        name in "[a-z]{1,8}",
        sidecar in any::<bool>(),
        grace in option::of(any::<i64>()),
        start in option::of(any::<i64>()),
    ) {
        let mut trace = Trace::new(ProbeType::ALL[kind]);
        trace.container = TraceContainer { name, sidecar, ..TraceContainer::default() };
        trace.probe.termination_grace_period_seconds = grace;
        trace.start = start.map(Timestamp);
        trace.steps = steps;
        let json = serde_json::to_vec(&trace).expect("JSON");
        prop_assert_eq!(Trace::parse(&json, &mut Vec::new()), Ok(trace.clone()));
        let mut yaml = Vec::new();
        kq_output::value::write_yaml(&mut yaml, &trace).expect("YAML");
        prop_assert_eq!(Trace::parse(&yaml, &mut Vec::new()), Ok(trace));
    }
}
