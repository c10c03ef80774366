//! The shape of what `kq preempt apply` answers in JSON, written down once more from the outside, as in
//! `contract`.

use super::contract::Said;
#[cfg(feature = "apiserver")]
use super::{
    cluster::{Budget, pod},
    preempt_apply::World,
};
use super::{folder_with, kq};
use serde::Deserialize;
use serde_json::json;

/// `kq preempt apply -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreemptionApply {
    api_version: String,
    kind: String,
    pod: String,
    node: String,
    method: String,
    dry_run: bool,
    result: String,
    because: String,
    steps: Vec<Step>,
    notes: Vec<String>,
    assumptions: Vec<Said>,
    warnings: Vec<Said>,
    missing: Vec<Said>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    pod: String,
    uid: String,
    grace_period_seconds: i64,
    waits_milliseconds: u64,
    check: Check,
    result: String,
    because: Option<String>,
    took_milliseconds: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Check {
    result: String,
    because: Option<String>,
}

#[track_caller]
fn read(stdout: &str) -> PreemptionApply {
    let read: PreemptionApply =
        serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    assert_eq!((read.api_version.as_str(), read.kind.as_str()), ("kq/v2", "PreemptionApply"));
    assert!(!read.assumptions.is_empty() && !read.because.is_empty(), "{read:?}");
    read
}

#[test]
fn what_would_be_done_says_so() {
    let has = json!({"cpu": "1", "memory": "4Gi", "pods": "10"});
    let node = json!({
        "kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"},
        "status": {"capacity": has, "allocatable": has},
    });
    let pod = |name: &str, priority: i32, cpu: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}")},
            "spec": {
                "nodeName": "n", "priority": priority, "terminationGracePeriodSeconds": 40,
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
            },
            "status": {"phase": "Running"},
        })
    };
    let files = [
        ("new.json", pod("new", 2_000_000_000, "1").to_string()),
        ("pods.json", pod("a", 0, "1").to_string()),
        ("node.json", node.to_string()),
    ];
    let folder = folder_with(&files);
    let flags = "--pods pods.json --node-file node.json --dry-run -o json";
    for (more, method) in [("", "eviction"), ("--like-kubelet", "deletion")] {
        let ran = kq(&format!("preempt apply new.json {flags} {more}")).within(folder.path()).run();
        assert_eq!(ran.code, 0, "{}", ran.text());
        let answer = read(&ran.stdout);
        assert_eq!((answer.pod.as_str(), answer.node.as_str()), ("shop/new", "n"));
        assert_eq!((answer.method.as_str(), answer.dry_run), (method, true));
        assert_eq!(answer.result, "planned");
        assert_eq!((answer.notes.len(), answer.warnings.len(), answer.missing.len()), (3, 0, 0));
        let [step] = answer.steps.as_slice() else { panic!("{:?}", answer.steps) };
        assert_eq!((step.pod.as_str(), step.uid.as_str()), ("shop/a", "uid-a"));
        assert_eq!((step.grace_period_seconds, step.waits_milliseconds), (40, 60_000));
        assert_eq!((step.check.result.as_str(), &step.check.because), ("notAsked", &None));
        assert_eq!(step.result, "left");
        assert_eq!((&step.because, step.took_milliseconds), (&None, None));
    }
    let yaml =
        kq("preempt apply new.json --pods pods.json --node-file node.json --dry-run -o yaml")
            .within(folder.path())
            .run();
    assert!(yaml.stdout.contains("kind: PreemptionApply\n"), "{}", yaml.text());
}

#[cfg(feature = "apiserver")]
#[test]
fn what_was_done_says_so() {
    let world = World::new("1", [pod("shop/a", "400m"), pod("shop/b", "600m")]);
    world.cluster.state().budgets.push(Budget {
        name: "keep",
        pods: &["shop/a", "shop/b"],
        left: 1,
        more_at: None,
        retry_after: None,
    });
    let ran = world.run("--yes -o json");
    assert_eq!(ran.code, 5, "{}", ran.text());
    let answer = read(&ran.stdout);
    assert_eq!((answer.result.as_str(), answer.because.as_str()), ("stopped", "shop/a stays"));
    let [first, second] = answer.steps.as_slice() else { panic!("{:?}", answer.steps) };
    assert_eq!((first.check.result.as_str(), first.result.as_str()), ("allowed", "removed"));
    assert!(first.took_milliseconds.is_some_and(|took| took >= 1000), "{first:?}");
    assert_eq!(second.result, "refused");
    assert!(second.because.as_ref().is_some_and(|it| it.contains("keep")), "{second:?}");
    // Its budget is used up now, so the next one says so beforehand.
    let ran = world.run("--yes -o json");
    assert_eq!(ran.code, 4, "{}", ran.text());
    let answer = read(&ran.stdout);
    assert_eq!((answer.result.as_str(), answer.dry_run), ("refused", false));
    assert_eq!(answer.steps[0].check.result, "budget");
    assert!(answer.steps[0].check.because.is_some());
}
