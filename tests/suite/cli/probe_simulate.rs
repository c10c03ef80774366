//! `kq probe simulate`

use super::{folder_with, kq};
use serde_json::{Value, json};
use snapbox::str;

const TRACE: &str = "apiVersion: kq/v1
kind: ProbeTrace
type: liveness
probe: {failureThreshold: 2}
steps: [success, failure, {result: error, message: lost}, failure, failure, {restarted: true}]
";

#[test]
fn a_trace_is_simulated_step_by_step() {
    kq("probe simulate -").stdin(TRACE).shows(str![[r#"
TIME   PROBE RESULT         RUN       ON HOLD   ACTION                                                         WHY
0s     success              1/1       no        -                                                              success 1 of 1: threshold reached; new container, success until probed
10s    failure              1/2       no        -                                                              failure 1 of 2
20s    error (3 attempts)   1 stays   no        -                                                              thrown away: lost
30s    failure              2/2       yes       kill: Container app failed liveness probe, will be restarted   failure 2 of 2: threshold reached
40s    -                    -         yes       -                                                              on hold until the container id changes
50s    -                    -         no        -                                                              it would be probed, with an unknown result; new container, success until probed

Liveness probe of app: 6 steps, 4 probed; kill: Container app failed liveness probe, will be restarted at 30s
--- stderr
warning: at 1 step it would be probed, with a result that the trace does not have: nothing is counted, and what follows can be otherwise
--- exit 0

"#]]);
}

#[test]
fn other_settings_make_something_else_of_it() {
    kq("probe simulate - --failure-threshold 3 --period-seconds 5 --initial-delay-seconds 6")
        .stdin(TRACE)
        .shows(str![[r#"
TIME   PROBE RESULT         RUN       ON HOLD   ACTION   WHY
0s     -                    -         no        -        initial delay: 0 s of 6 s; new container, success until probed
5s     -                    -         no        -        initial delay: 5 s of 6 s
10s    error (3 attempts)   0 stays   no        -        thrown away: lost
15s    failure              1/3       no        -        failure 1 of 3
20s    failure              2/3       no        -        failure 2 of 3
25s    -                    -         no        -        initial delay: 0 s of 6 s; new container, success until probed

Liveness probe of app: 6 steps, 3 probed; no consequences
--- exit 0

"#]]);
}

#[test]
fn everything_is_shown_wide() {
    let trace = "apiVersion: kq/v1
kind: ProbeTrace
type: readiness
container: {name: web}
start: 2026-11-20T12:00:00Z
steps: [success, {result: warning, message: moved}, {attempts: [error, failure]}]
";
    kq("probe simulate - -o wide").stdin(trace).shows(str![[r#"
TIME   PROBE RESULT           RUN   ON HOLD   ACTION   WHY                                                                      CLOCK                  CONTAINER        RESULTS KEPT         EVENT
0s     success                1/1   no        ready    success 1 of 1: threshold reached; new container, failure until probed   2026-11-20T12:00:00Z   containerd://1   failure!, success!   -
10s    success                2/1   no        -        success 2 times in a row                                                 2026-11-20T12:00:10Z   containerd://1   success              Warning ProbeWarning: Readiness probe warning: moved
20s    failure (2 attempts)   1/3   no        -        failure 1 of 3                                                           2026-11-20T12:00:20Z   containerd://1   -                    Warning Unhealthy: Readiness probe failed: 

Readiness probe of web: 3 steps, 3 probed; ready at 0s
--- exit 0

"#]]);
}

#[test]
fn programs_get_everything() {
    let answer = kq("probe simulate -").stdin(TRACE).json();
    assert_eq!(answer["apiVersion"], "kq/v2");
    assert_eq!(answer["kind"], "ProbeSimulation");
    assert_eq!(answer["type"], "liveness");
    assert_eq!(answer["probe"]["failureThreshold"], 2);
    assert_eq!(answer["steps"].as_array().map(Vec::len), Some(6));
    let kill = json!({
        "do": "kill",
        "message": "Container app failed liveness probe, will be restarted",
        "restarts": true,
        "gracePeriod": {"seconds": 30, "from": "pod"},
    });
    assert_eq!(answer["steps"][3]["action"], kill);
    let text = "failure 2 of 2: threshold reached";
    let reason = json!({"code": "threshold-reached", "result": "failure", "run": 2, "threshold": 2, "text": text});
    assert_eq!(answer["steps"][3]["reason"], reason);
    assert_eq!(answer["steps"][3]["worker"]["onHold"], true);
    let events = answer["steps"][2]["probe"]["event"]["message"].as_str();
    assert_eq!(events, Some("Liveness probe errored and resulted in unknown state: lost"));
    assert_eq!(answer["summary"]["probes"], 4);
    assert_eq!(answer["summary"]["withoutResult"], 1);
    assert_eq!(answer["warnings"].as_array().map(Vec::len), Some(1));
    let old = kq("probe simulate - --kubelet-version 1.32").stdin(TRACE).json();
    let event = &old["steps"][2]["probe"]["event"]["message"];
    assert_eq!(*event, Value::from("Liveness probe errored: lost"));
}

#[test]
fn mistakes_are_named_with_their_file() {
    let files = [
        ("result.yaml", TRACE.replace("failure, failure", "failure, fail")),
        ("field.yaml", TRACE.replace("failureThreshold", "failuretreshold")),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\n".to_owned()),
    ];
    let folder = folder_with(&files);
    let run = |line: &str| kq(&format!("probe simulate {line}")).within(&folder).run().text();
    let lines = [
        "result.yaml",
        "field.yaml",
        "pod.yaml",
        "none.yaml",
        "pod.yaml --feature-gates X",
        "- --failure-threshold 0",
    ];
    let said: Vec<String> = lines.iter().map(|line| format!("$ {line}\n{}", run(line))).collect();
    super::matches(
        said.concat(),
        str![[r#"
$ result.yaml
--- stderr
kq: result.yaml: steps[4] is "fail", expected success, warning, failure, error or unknown
--- exit 2
$ field.yaml
--- stderr
kq: field.yaml: unknown field probe.failuretreshold
hint: did you mean failureThreshold?
--- exit 2
$ pod.yaml
--- stderr
kq: pod.yaml: apiVersion is "v1", expected kq/v1
hint: a trace begins with apiVersion: kq/v1 and kind: ProbeTrace
--- exit 2
$ none.yaml
--- stderr
kq: cannot read none.yaml: no such file or directory
--- exit 3
$ pod.yaml --feature-gates X
--- stderr
kq: pod.yaml: apiVersion is "v1", expected kq/v1
hint: a trace begins with apiVersion: kq/v1 and kind: ProbeTrace
--- exit 2
$ - --failure-threshold 0
--- stderr
error: invalid value '0' for '--failure-threshold <N>': 0 is not in 1..=2147483647

For more information, try '--help'.
--- exit 2

"#]],
    );
    let gates = kq("probe simulate - --feature-gates ContainerRestartRule=true").stdin(TRACE);
    gates.shows(str![[r#"
--- stderr
kq: unrecognized feature gate: ContainerRestartRule
hint: did you mean ContainerRestartRules?
--- exit 2

"#]]);
}
