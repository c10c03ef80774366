//! `kq preempt why`: from files, and what cannot be understood of them.

use super::contract::{Reason, Said};
use super::{Ran, folder_with, kq};
use crate::objects::{self, Object};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// `kq preempt why -o json`, written down once more from the outside, as in `contract`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreemptionCause {
    api_version: String,
    kind: String,
    pod: String,
    uid: Option<String>,
    exists: bool,
    node: Option<String>,
    cause: String,
    certainty: String,
    because: Reason,
    container: Option<String>,
    probe: Option<String>,
    preemptors: Vec<Preemptor>,
    evidence: Vec<Evidence>,
    assumptions: Vec<Said>,
    warnings: Vec<Said>,
    missing: Vec<Said>,
}

#[derive(Debug, Deserialize)]
struct Preemptor {
    pod: Option<String>,
    uid: Option<String>,
    priority: Option<i32>,
    certainty: String,
    because: Reason,
}

#[derive(Debug, Deserialize)]
struct Evidence {
    source: String,
    at: Option<String>,
    says: String,
    means: Reason,
}

/// Describes the pod shop/web, which has run for an hour.
fn web() -> Object {
    objects::pod("shop/web").uid("uid-web").on("n1").started("2026-11-20T10:00:00Z")
}

fn event(name: &str, reason: &str, message: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "reason": reason, "message": message,
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": name, "uid": format!("uid-{name}")},
        "reportingComponent": "default-scheduler", "eventTime": "2026-11-20T11:00:00.000000Z",
    })
}

fn list(items: impl IntoIterator<Item = impl Into<Object>>) -> String {
    objects::list(items.into_iter().map(Into::into)).to_string()
}

fn why(line: &str, files: &[(&str, String)]) -> Ran {
    let folder = folder_with(files);
    kq(&format!("preempt why {line}")).within(folder.path()).run()
}

#[test]
fn an_answer_is_as_promised() {
    let mut web = web().deleted("2026-11-20T11:00:30Z");
    web["status"]["conditions"] = json!([{
        "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
        "lastTransitionTime": "2026-11-20T11:00:00Z",
    }]);
    let files = [
        ("pods.json", list([web, objects::pod("shop/big").uid("uid-big").priority(7)])),
        ("events.json", list([event("web", "Preempted", "Preempted by pod uid-big on node n1")])),
    ];
    let ran = why("shop/web --pods pods.json --events events.json -o json", &files);
    let answer: PreemptionCause = ran.answer();
    assert_eq!((&*answer.api_version, &*answer.kind), ("kq/v2", "PreemptionCause"));
    assert_eq!((&*answer.pod, answer.uid.as_deref()), ("shop/web", Some("uid-web")));
    assert_eq!((answer.exists, answer.node.as_deref()), (true, Some("n1")));
    assert_eq!((&*answer.cause, &*answer.certainty), ("preemptedByScheduler", "certain"));
    let Reason { code, text, facts } = &answer.because;
    assert_eq!((&**code, &facts["source"]), ("evidence", &json!("condition")), "{text}");
    assert_eq!(facts["means"]["code"], "preemptedByScheduler");
    assert!(text.ends_with("(condition)"), "{text}");
    assert_eq!((&answer.container, &answer.probe), (&None, &None));
    let [Preemptor { pod, uid, priority, certainty, because }] = &*answer.preemptors else {
        panic!("{answer:?}")
    };
    assert_eq!((pod.as_deref(), uid.as_deref()), (Some("shop/big"), Some("uid-big")));
    assert_eq!((*priority, &**certainty), (Some(7), "certain"));
    assert_eq!((&*because.code, &because.facts["by"]), ("schedulerEvent", &json!("uid")));
    assert_eq!(because.text, "the scheduler's event names its UID");
    let sources: Vec<_> =
        answer.evidence.iter().map(|it| (&*it.source, it.at.as_deref().unwrap_or("-"))).collect();
    assert_eq!(
        sources,
        [
            ("condition", "2026-11-20T11:00:00Z"),
            ("event", "2026-11-20T11:00:00Z"),
            ("metadata", "2026-11-20T11:00:30Z"),
            ("status", "-"),
        ]
    );
    assert!(answer.evidence.iter().all(|it| !it.says.is_empty() && !it.means.text.is_empty()));
    assert_eq!(answer.evidence[0].means.facts["qualifications"], json!([]));
    assert!([answer.assumptions, answer.warnings, answer.missing].concat().is_empty());
    assert_eq!(ran.code, 0);
}

#[test]
fn the_exit_code_tells_preempted_from_not_and_from_unknown() {
    let evicted = objects::pod("shop/evicted").on("n1").phase("Failed");
    let evicted = evicted.set("/status/reason", "Evicted").set("/status/message", "low");
    let pods = ("pods.json", list([web(), evicted]));
    let gone = event("gone", "Preempted", "Preempted by a pod on node n1");
    let started = event("started", "Started", "Started container c");
    let events = ("events.json", list([gone, started]));
    let files = [pods, events];
    for (line, code, said) in [
        ("web", 1, "shop/web on n1: not killed (certain)"),
        ("evicted", 1, "not preempted: evicted by the kubelet (certain)"),
        ("gone", 0, "shop/gone on n1: preempted by the scheduler (certain)"),
        ("gone", 0, "for: not known"),
        ("started", 3, "not known"),
        ("nobody", 3, "no pod nobody, and no trace of one: 2 pods; 2 events about pods"),
    ] {
        let ran = why(&format!("{line} --pods pods.json --events events.json"), &files);
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.text().contains(said), "{line}: {said}: {}", ran.text());
    }
    let ran = why("gone --events events.json", &files);
    let missing = "missing: the pods: no file with pods was given (--pods, --kubeconfig)";
    assert!(ran.stderr.contains(missing), "{}", ran.text());
    let ran = why("started --pods pods.json", &files);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("events: no file with events was given"), "{}", ran.text());
}

#[test]
fn what_cannot_be_understood_is_named() {
    let files = [
        ("empty", String::new()),
        ("pods.json", list([web(), objects::pod("other/web")])),
        ("broken.json", r#"{"kind":"List","items":[{"kind":"Event","count":"#.to_owned()),
        (
            "time.json",
            r#"{"kind":"EventList","items":[{"kind":"Event","lastTimestamp":"now"}]}"#.to_owned(),
        ),
        ("log", "-- No entries --\n".to_owned()),
        (
            "table",
            format!("LAST SEEN   TYPE\n{}", "5m   Normal   pod/web   Stopping\n".repeat(200)),
        ),
        ("none", "No resources found\n".to_owned()),
    ];
    for (line, code, said) in [
        ("web --events empty", 2, "--events empty: it is empty, expected events"),
        (
            "web --events pods.json",
            2,
            "--events pods.json: a list of Pods, with no event among them",
        ),
        ("web --events broken.json", 2, "--events broken.json: items: EOF while parsing"),
        (
            "web --events time.json",
            2,
            "--events time.json: items[0].lastTimestamp: \"now\" is not a time",
        ),
        ("web --events nowhere.json", 3, "cannot read nowhere.json: no such file"),
        (
            "web --events table",
            2,
            "--events table: not JSON or YAML; expected the output of kubectl get events -A -o json",
        ),
        ("web --events none", 2, "--events none: not JSON or YAML; expected the output of kubectl"),
        (
            "'' --pods pods.json",
            2,
            "invalid value '' for '<POD>': expected NAME, NAMESPACE/NAME or a UID",
        ),
        ("a/b/c --pods pods.json", 2, "invalid value 'a/b/c' for '<POD>': expected NAME"),
        ("shop/ --pods pods.json", 2, "expected NAME, NAMESPACE/NAME or a UID"),
        ("third/web --pods pods.json", 3, "hint: did you mean other/web?"),
        ("shop/wbe --pods pods.json", 3, "hint: did you mean shop/web?"),
        ("web --kubelet-log empty", 2, "--kubelet-log empty: it is empty"),
        ("web --kubelet-log log", 2, "--kubelet-log log: no line is from a kubelet's log"),
        ("web --kubelet-log /dev/zero", 3, "/dev/zero has more than 268435456 bytes"),
        ("web --kubelet-log .", 3, "cannot read .: is a directory"),
        ("web --pods pods.json", 2, "web means more than one pod: other/web, shop/web"),
    ] {
        let ran = why(line, &files);
        assert_eq!((ran.code, &*ran.stdout), (code, ""), "{line}: {}", ran.text());
        assert!(ran.stderr.contains(said), "{line}: {said}: {}", ran.stderr);
        assert!(ran.stderr.len() < 400, "{line}: {}", ran.stderr);
    }
}

#[test]
fn a_container_that_its_probe_stopped_is_no_preemption() {
    let web = web().statuses(json!([{
        "name": "c", "restartCount": 9, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {
            "exitCode": 137, "reason": "Error", "finishedAt": "2026-11-20T11:00:10Z"}},
    }]));
    let mut killing =
        event("web", "Killing", "Container c failed liveness probe, will be restarted");
    killing["reportingComponent"] = json!("kubelet");
    let files = [("pods.json", list([web])), ("events.json", list([killing]))];
    let ran = why("web --pods pods.json --events events.json", &files);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let answer = "shop/web on n1: not preempted: container c was restarted by its liveness probe (certain)\n\
                  because: container c was stopped for its liveness probe; it was started again 9 times in all (event)\n\
                  next: kq probe plan shop/web --container c --type liveness\n";
    assert!(ran.stdout.starts_with(answer), "{}", ran.stdout);
    let evidence =
        "c: before: Error, exit code 137; started again 9 times, and waits for the next time\n";
    assert!(ran.stdout.contains(evidence), "{}", ran.stdout);
    let told = why("web --pods pods.json --events events.json -o json", &files);
    let told: PreemptionCause = told.answer();
    assert_eq!(told.cause, "restartedByProbe");
    assert_eq!((told.container.as_deref(), told.probe.as_deref()), (Some("c"), Some("liveness")));
}

#[test]
fn foreign_text_is_safe_and_comes_last() {
    let message = format!("\u{1b}[2J\nkq: all is well\u{202e}{}", "x".repeat(9_000));
    let evicted = web().phase("Failed");
    let evicted = evicted.set("/status/reason", "Evicted").set("/status/message", message);
    let files = [("pods.json", list([evicted]))];
    for form in ["table", "wide"] {
        let ran = why(&format!("web --pods pods.json -o {form}"), &files);
        assert_eq!(ran.code, 1, "{}", ran.text());
        assert!(!ran.text().contains('\u{1b}') && !ran.text().contains('\u{202e}'), "{form}");
        assert!(!ran.stdout.lines().any(|line| line.starts_with("kq:")), "{}", ran.stdout);
        let line = ran.stdout.lines().last().unwrap_or_default();
        assert!(line.ends_with(" more characters)"), "{form}: {line}");
    }
}

#[test]
fn a_hundred_thousand_events_take_a_moment() {
    let others =
        (0..100_000).map(|at| event(&format!("pod-{at}"), "Started", "Started container c"));
    let own = event("web", "Preempted", "Preempted by shop/big on node n1");
    let events = list(others.chain([own]));
    let began = Instant::now();
    let ran = why("web --events events.json -o json", &[("events.json", events)]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("shop/big") && ran.stdout.len() < 5_000, "{}", ran.stdout);
    // A build without optimization on a busy machine; what grows faster than the events takes hours.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
