//! `kq admit explain --kubelet-restart`, and what `-o wide` says of sums.

use super::{Ran, folder_with, kq, repository};
use crate::objects::{self, Object, pod};
use serde_json::{Value, json};
use snapbox::str;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const CRITICAL: i32 = 2_000_000_000;

/// Asks about these pods on a node with these amounts.
fn ask(line: &str, pods: &[Object], amounts: &str, new: &Object) -> Ran {
    let node = objects::node("n").amounts(amounts);
    let list = objects::list(pods.iter().map(|pod| pod.clone().on("n")));
    let files = [("pods.json", &list), ("node.json", &node), ("new.json", new)];
    let folder = folder_with(&files.map(|(name, value)| (name, value.to_string())));
    kq(&format!("admit explain {line} --pods pods.json --node-file node.json"))
        .within(folder.path())
        .run()
}

fn restart(line: &str, pods: &[Object], amounts: &str) -> Ran {
    ask(&format!("--kubelet-restart {line}"), pods, amounts, &pod("new"))
}

#[test]
fn the_oldest_moment_comes_first_however_it_is_written() {
    let pods = [
        pod("utc").requests("cpu=1").created("2026-01-02T00:00:00Z"),
        pod("east").requests("cpu=1").created("2026-01-02T00:30:00+02:00"),
        pod("none").requests("cpu=500m"),
    ];
    let ran = restart("", &pods, "cpu=1500m");
    assert_eq!(ran.code, 1, "{}", ran.text());
    super::matches(
        &*ran.stdout,
        str![[r#"
PLACE   POD            SOURCE   CREATED                RESULT     BECAUSE
1       default/none   api      -                      admitted   -
2       default/east   api      2026-01-01T22:30:00Z   admitted   -
3       default/utc    api      2026-01-02T00:00:00Z   REFUSED    OutOfcpu: Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 1500

"#]],
    );
}

#[test]
fn a_moment_that_is_none_is_refused_by_name() {
    let pods = [pod("a").created("yesterday")];
    let ran = restart("", &pods, "cpu=1");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.text());
    let said = "pods.json: document 1: items[0]: Pod a: metadata.creationTimestamp: \"yesterday\": invalid \
                value: string \"yesterday\", expected a time of RFC 3339";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
}

#[test]
fn who_took_the_room_stands_beside_what_was_compared() {
    let at = |second: u8| format!("2026-01-02T00:00:0{second}Z");
    let pods = [
        pod("v").requests("cpu=500m").created(at(0)),
        pod("w").requests("cpu=400m").created(at(1)),
        // It kills for its room, and then goes for one that is more.
        pod("ca").requests("cpu=500m").priority(CRITICAL).created(at(2)),
        pod("nb").requests("cpu=600m").priority(CRITICAL + 1000).created(at(3)),
        pod("late").requests("cpu=600m").created(at(4)),
    ];
    let ran = restart("-o wide", &pods, "cpu=1,pods=100000");
    assert_eq!(ran.code, 1, "{}", ran.text());
    super::matches(
        &*ran.stdout,
        str![[r#"
PLACE   POD            SOURCE   CREATED                RESULT     BECAUSE
1       default/v      api      2026-01-02T00:00:00Z   KILLED     to take in default/nb
2       default/w      api      2026-01-02T00:00:01Z   KILLED     to take in default/ca
3       default/ca     api      2026-01-02T00:00:02Z   KILLED     for it are killed: default/w; then killed to take in default/nb
4       default/nb     api      2026-01-02T00:00:03Z   admitted   for it are killed: default/ca, default/v
5       default/late   api      2026-01-02T00:00:04Z   REFUSED    OutOfcpu: Node didn't have enough resource: cpu, requested: 600, used: 600, capacity: 1000

PLACE   POD            RESOURCE   ALLOCATABLE   USED   FREE     REQUESTED   MISSING   TAKEN BY
1       default/v      pods       100000        0      100000   1           -         -
1       default/v      cpu        1             0      1        500m        -         -
2       default/w      pods       100000        1      99999    1           -         -
2       default/w      cpu        1             500m   500m     400m        -         -
3       default/ca     pods       100000        2      99998    1           -         -
3       default/ca     cpu        1             900m   100m     500m        400m      default/v 500m, default/w 400m
4       default/nb     pods       100000        2      99998    1           -         -
4       default/nb     cpu        1             1      0        600m        600m      default/v 500m, default/ca 500m
5       default/late   pods       100000        1      99999    1           -         -
5       default/late   cpu        1             600m   400m     600m        200m      default/nb 600m

"#]],
    );
}

#[test]
fn of_many_only_the_first_who_took_the_room_are_named() {
    let small = (0..13).map(|at| pod(&format!("p{at:02}")).requests("cpu=1"));
    let pods: Vec<Object> =
        small.chain(["z", "zz"].map(|name| pod(name).requests("cpu=5"))).collect();
    let ran = restart("-o json", &pods, "cpu=18,pods=20");
    let answer: Value = ran.answer();
    let last = &answer["items"][14];
    assert_eq!(last["result"], "refused");
    let cpu = &last["compared"][1];
    assert_eq!(
        (&cpu["resource"], &cpu["missing"], &cpu["moreTakers"]),
        (&json!("cpu"), &json!(5000), &json!(4))
    );
    let takers = cpu["takenBy"].as_array().expect("a list");
    assert_eq!(takers.len(), 10);
    assert_eq!(takers[0], json!({"pod": "default/z", "amount": 5000}));
    assert_eq!(takers[9], json!({"pod": "default/p08", "amount": 1000}));
}

#[test]
fn many_pods_and_many_who_make_room_take_seconds() {
    let old = (0..2000).map(|at| pod(&format!("p{at:05}")).created("2026-01-01T00:00:00Z"));
    let young = (0..1000).map(|at| pod(&format!("c{at:05}")).created("2026-01-02T00:00:00Z"));
    let critical = young.map(|pod| pod.priority(CRITICAL));
    let pods: Vec<Object> = old.chain(critical).map(|pod| pod.requests("cpu=1")).collect();
    let start = Instant::now();
    let ran = restart("-o json", &pods, "cpu=2000,pods=5000");
    let answer: Value = ran.answer();
    let items = answer["items"].as_array().expect("a list");
    let became = |what: &str| items.iter().filter(|it| it["result"] == what).count();
    assert_eq!((became("admitted"), became("killed"), became("refused")), (2000, 1000, 0));
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn what_does_not_count_is_not_in_the_sum_either() {
    let gpus = |count: &str| json!({"requests": {"example.com/gpu": count}, "limits": {"example.com/gpu": count}});
    let new = pod("new").on("n").containers(json!([
        {"name": "own", "image": "i", "resources": gpus("2")},
        {"name": "claims", "image": "i", "resources": gpus("1")},
    ]));
    let claims = json!([
        {"containerName": "claims", "resourceName": "example.com/gpu", "requestName": "r"}]);
    let new = new.set("/status/extendedResourceClaimStatus/requestMappings", claims);
    let ran = ask("new.json -o json", &[], "cpu=1,example.com/gpu=4", &new);
    let answer: Value = ran.answer();
    let resources = answer["resources"].as_array().expect("a list").iter();
    let gpu =
        resources.clone().find(|it| it["resource"] == "example.com/gpu").expect("it is compared");
    assert_eq!((&gpu["requested"], &gpu["because"]["text"]), (&json!(2), &json!("2 containers 2")));
    assert_eq!(answer["removedRequests"][0]["container"], "claims");
}

#[test]
fn a_pod_with_a_thousand_resources_takes_a_moment() {
    let pages: Vec<_> = (4..1500).map(|size| format!("hugepages-{size}Ki={size}Ki")).collect();
    let pages = pages.join(",");
    let all = format!("cpu=1,{pages}");
    let new = pod("new").on("n").requests(&all).limits(&all);
    let others = ["p0", "p1", "p2"].map(|name| pod(name).requests("cpu=1"));
    let start = Instant::now();
    let ran = ask("new.json -o wide", &others, &format!("cpu=8,{pages}"), &new);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn the_ledger_is_in_the_data_and_in_wide() {
    let (new, others) = (pod("new").requests("cpu=1"), [pod("other").requests("cpu=1")]);
    let shows = |line: &str| ask(line, &others, "cpu=8", &new).stdout;
    assert!(!shows("new.json").contains("default/other"));
    for line in ["new.json -o wide", "new.json -o json", "new.json -o yaml"] {
        assert!(shows(line).contains("default/other"), "{line}");
    }
}

#[test]
fn resources_of_the_pod_as_a_whole_are_asked_about_after_all_else() {
    let whole = pod("whole").requests("cpu=1").created("2026-01-02T00:00:00Z");
    let whole = [whole.set("/spec/resources/requests/cpu", "1")];
    // A kubelet of 1.33 has no such handler, and ignores them where its gate is off.
    let off = "--set featureGates.PodLevelResources=false";
    for (version, set, code) in [("1.33", "", 0), ("1.34", off, 1), ("1.36", "", 0)] {
        let ran = restart(&format!("--kubelet-version {version} {set}"), &whole, "cpu=2");
        assert_eq!(ran.code, code, "{}", ran.text());
        let said = "PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled";
        assert_eq!(ran.stdout.contains(said), code == 1, "{}", ran.text());
    }
}

/// Returns a node with another cgroup driver in the kubelet's configuration on its disk, which its runtime does not tell.
fn with_other_driver() -> tempfile::TempDir {
    let file = repository().join("tests/nodes-v2/36-memory-eviction/before.kq.json.gz");
    let packed = std::process::Command::new("gzip").arg("-dc").arg(file).output();
    let mut snapshot: Value =
        serde_json::from_slice(&packed.expect("gzip").stdout).expect("a snapshot");
    let document = "/kubeletConfigOnDisk/found/value/file/content/document/value";
    snapshot.pointer_mut(document).expect("fields")["cgroupDriver"] = json!("cgroupfs");
    snapshot["runtime"]["found"]["value"]["cgroupDriver"] =
        json!({"found": null, "tried": [{"source": "the runtime", "reason": "Unimplemented"}]});
    folder_with(&[("s.json", snapshot.to_string())])
}

#[test]
fn three_commands_say_which_containers_restart_with_the_kubelet() {
    let folder = with_other_driver();
    let ask =
        |line: &str| kq(&format!("{line} -o json --snapshot s.json")).within(folder.path()).run();
    let readmission = ask("admit explain --kubelet-restart");
    assert_eq!(readmission.code, 1, "{}", readmission.text());
    let readmission: Value = readmission.answer();
    let text = readmission["headline"]["text"].as_str().expect("a sentence");
    assert!(text.starts_with("11 of 11 pods restart: "), "{text}");
    let admitted = readmission["items"].as_array().expect("items").iter();
    let admitted: BTreeSet<String> = admitted
        .map(|it| {
            assert_eq!(it["stopped"]["startAgain"], true, "{it}");
            format!("{} {} {}", it["pod"], it["stopped"]["names"], it["stopped"]["cause"])
        })
        .collect();
    let what_if: Value = ask("what-if kubelet-restart").answer();
    let restarted = what_if["pods"].as_array().expect("pods").iter();
    let restarted: BTreeSet<String> =
        restarted.map(|it| format!("{} {} {}", it["pod"], it["containers"], it["cause"])).collect();
    assert_eq!(admitted, restarted);
    let doctor: Value = ask("doctor").answer();
    let found = doctor["items"].as_array().expect("findings").iter();
    let found = found.filter(|it| it["id"] == "kubelet-restart" && it["severity"] == "WARNING");
    assert_eq!(found.count(), 11, "{doctor}");
}
