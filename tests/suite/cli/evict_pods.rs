//! `kq evict rank`: which of the pods that are given are ranked, and what of them counts.

use super::evict_rank::places;
use super::{Ran, folder_with, kq};
use crate::objects::{self, Object, pod};
use serde_json::{Value, json};

/// What was measured of pods: name, UID, bytes.
fn measured(node: Value, pods: &[(&str, &str, u64)]) -> Value {
    let pods = pods.iter().map(|(name, uid, bytes)| {
        json!({"podRef": {"name": name, "namespace": "a", "uid": uid}, "memory": {"workingSetBytes": bytes}})
    });
    json!({"node": node, "pods": pods.collect::<Vec<_>>()})
}

/// Asks about files with these pods and what was measured.
fn of_values(pods: &[Object], summary: &Value, line: &str) -> (Ran, Value) {
    let list = objects::list(pods.iter().cloned());
    let folder = folder_with(&[("pods.json", list.to_string()), ("sum.json", summary.to_string())]);
    let line = format!("evict rank --signal memory --pods pods.json --stats sum.json {line}");
    let shown = kq(&line).within(folder.path()).run();
    let told = kq(&format!("{line} -o json")).within(folder.path()).run();
    let value = told.answer();
    (shown, value)
}

/// The node of a summary that knows what is left.
fn known(name: &str) -> Value {
    json!({"nodeName": name, "memory": {"availableBytes": 1 << 30, "workingSetBytes": 1 << 30}})
}

#[test]
fn manifests_are_ranked_as_the_api_server_would_have_them() {
    let lim = pod("a/lim").uid("1").limits("memory=1Gi");
    let pods = [lim, pod("a/none").uid("2")].map(|pod| pod.on("n1"));
    let summary = measured(known("n1"), &[("lim", "1", 900 << 20), ("none", "2", 1 << 20)]);
    let (_, answer) = of_values(&pods, &summary, "");
    assert_eq!(places(&answer), ["1 none", "2 lim"]);
    let lim = &answer["items"][1];
    assert_eq!((&lim["request"], &lim["exceeds"]), (&json!(1 << 30), &json!(false)));
    // Half a minute to stop, unless the kubelet is told to give less.
    let soft = "--set evictionMaxPodGracePeriod=60";
    assert_eq!(of_values(&pods, &summary, soft).1["items"][1]["softGraceSeconds"], 30);
}

#[test]
fn a_name_tells_whose_it_is_and_no_uid_is_not_no_stats() {
    let pods = [
        pod("a/a").uid("1").on("n1"),
        pod("a/manifest").uid("").on("n1"),
        pod("a/stranger").uid("").on("n1"),
    ];
    let summary = measured(known("n1"), &[("a", "1", 5), ("manifest", "9", 7)]);
    let (shown, answer) = of_values(&pods, &summary, "");
    assert_eq!((shown.code, places(&answer)), (3, vec!["1 manifest".to_owned(), "2 a".to_owned()]));
    assert!(
        shown.stderr.contains("missing: the UID of a/stranger: no stats under its name"),
        "{}",
        shown.stderr
    );
    assert!(
        shown.stderr.contains("assumed: 1 pod without a UID: matched with stats by name"),
        "{}",
        shown.stderr
    );
    assert_eq!(answer["warnings"], json!([]));
    // A summary without UIDs is of names.
    let (shown, answer) = of_values(&pods[..1], &measured(known("n1"), &[("a", "", 5)]), "");
    assert_eq!((shown.code, &answer["items"][0]["usage"]), (0, &json!(5)));
    assert_eq!(answer["warnings"], json!([]));
}

#[test]
fn pods_of_other_nodes_are_told_from_those_without_stats() {
    let nameless = json!({"memory": {"availableBytes": 1 << 30, "workingSetBytes": 1 << 30}});
    let pods = [
        pod("a/a").uid("1").on("n1"),
        pod("a/new").uid("2").on("n1"),
        pod("a/other").uid("3").on("n2"),
    ];
    let (shown, answer) = of_values(&pods, &measured(nameless.clone(), &[("a", "1", 5)]), "");
    assert_eq!((shown.code, places(&answer)), (0, vec!["1 new".to_owned(), "2 a".to_owned()]));
    for said in [
        "assumed: the node is n1, where the measured pods are",
        "assumed: 1 pod on other nodes than n1: not counted",
    ] {
        assert!(shown.stderr.contains(said), "{said}: {}", shown.stderr);
    }
    let both = measured(nameless, &[("a", "1", 5), ("other", "3", 6)]);
    let (shown, answer) = of_values(&pods, &both, "");
    assert_eq!((shown.code, places(&answer)), (3, vec!["1 other".to_owned(), "2 a".to_owned()]));
    assert!(
        shown.stderr.contains("missing: a/new: unknown whether its node n1 is the one measured"),
        "{}",
        shown.stderr
    );
}

#[test]
fn pods_and_what_was_measured_are_of_one_node() {
    let pods = [pod("a/a").uid("1").on("n1"), pod("a/b").uid("2").on("n1")];
    let of_both = [("a", "1", 5), ("b", "2", 6)];
    for (name, pods, summary, said) in [
        (
            "the summary is of another node",
            &pods[..],
            measured(known("n2"), &of_both),
            "missing: the pods of n2: all 2 given are on n1 (--pods of n2, or --stats of n1)",
        ),
        (
            "no pods",
            &[],
            measured(known("n1"), &of_both),
            "missing: the pods of the node: 0 given, 2 measured (--pods)",
        ),
        (
            "other pods",
            &pods[..],
            measured(known(""), &[("x", "9", 5)]),
            "missing: the 1 measured pods: none of the 2 pods given is one of them",
        ),
    ] {
        let (shown, answer) = of_values(pods, &summary, "");
        assert_eq!((shown.code, &answer["items"]), (3, &json!([])), "{name}: {}", shown.text());
        assert!(shown.stderr.contains(said), "{name}: {}", shown.stderr);
        assert!(shown.stdout.contains("FIRST      unknown"), "{name}: {}", shown.stdout);
        assert_eq!(answer["warnings"], json!([]), "{name}");
    }
    // A node without pods is one.
    let (shown, _) = of_values(&[], &measured(known("n1"), &[]), "");
    assert_eq!(shown.code, 0, "{}", shown.text());
}

#[test]
fn a_node_object_says_whose_pods_count_and_what_it_reports() {
    let pods = [pod("a/a").uid("1").on("n1"), pod("a/b").uid("2").on("n2")];
    let node = objects::node("n2").version("v1.34.1").conditions("MemoryPressure=True");
    let mut nameless = known("n1");
    nameless["nodeName"] = json!("");
    let both = [("a", "1", 5), ("b", "2", 6)];
    let folder = folder_with(&[
        ("pods.json", objects::list(pods).to_string()),
        ("n2.json", node.to_string()),
        ("sum.json", measured(nameless, &both).to_string()),
        ("of-n1.json", measured(known("n1"), &both).to_string()),
    ]);
    let run = |line: &str| {
        kq(&format!("evict rank --signal memory --pods pods.json {line}"))
            .within(folder.path())
            .run()
    };
    let ran = run("--stats sum.json --node-file n2.json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    for said in ["FIRST      a/b\n", "NOW        the node reports MemoryPressure: "] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    assert!(!ran.stderr.contains("--kubelet-version"), "{}", ran.stderr);
    assert!(!run("--stats sum.json --node-name n1").stdout.contains("the node reports"));
    for of_n2 in ["--node-file n2.json", "--node-name n2"] {
        let ran = run(&format!("--stats of-n1.json {of_n2}"));
        assert_eq!((ran.code, &*ran.stdout), (3, ""), "{}", ran.text());
        let said = "kq: of-n1.json has the stats of node n1, not of n2\nhint: ";
        assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
    }
}

#[test]
fn what_is_beyond_64_bits_is_shown_as_measured_and_counts_as_the_kubelet_counts_it() {
    let much = (1_u64 << 63) + 5;
    let pods = [pod("a/much").uid("1").on("n1"), pod("a/some").uid("2").on("n1")];
    let summary = measured(known("n1"), &[("much", "1", much), ("some", "2", 1)]);
    let (shown, answer) = of_values(&pods, &summary, "");
    let last = &answer["items"][1];
    assert_eq!((&last["name"], &last["usage"]), (&json!("much"), &json!(much)));
    assert_eq!((&last["over"], &last["exceeds"]), (&json!(much as i64), &json!(false)));
    let said = "warning: a/much: the measured 9223372036854775813 is 2^63 or more: the kubelet reads it \
                as -9223372036854775803";
    assert!(shown.stderr.contains(said), "{}", shown.stderr);
}

#[test]
fn who_was_measured_and_was_not_read_is_missing() {
    let pods = [pod("a/one").uid("u-one").on("n").requests("memory=1Mi")];
    let both = [("one", "u-one", 1 << 20), ("two", "u-two", 2 << 20)];
    for (measured_pods, missing) in [
        (&both[..1], None),
        (&both[..], Some("measured pods that are not in the files: a/two (--pods)")),
        (&[], Some("the pods' usage: the stats have no pods (--stats)")),
    ] {
        let (shown, told) = of_values(&pods, &measured(known("n"), measured_pods), "");
        assert_eq!(shown.code, if missing.is_some() { 3 } else { 0 }, "{}", shown.text());
        let texts =
            told["missing"].as_array().into_iter().flatten().filter_map(|it| it["text"].as_str());
        assert_eq!(texts.collect::<Vec<_>>(), missing.into_iter().collect::<Vec<_>>());
    }
}
