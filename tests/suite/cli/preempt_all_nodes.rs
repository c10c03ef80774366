//! `kq preempt explain --all-nodes` from files: what each node would do, and in which order they come.

use super::{Ran, folder_with, kq, matches};
use crate::objects::{self, Object, list, pod};
use serde_json::{Value, json};

const LINE: &str = "preempt explain new.json --all-nodes --node-file nodes.json --pods pods.json";

/// Describes a node of a cluster, which is ready.
fn node(name: &str) -> Object {
    objects::node(name).version("v1.36.2").conditions(objects::READY)
}

/// Describes the pod that comes.
fn new() -> Object {
    pod("new").requests("cpu=1").priority(2_000_000_000)
}

fn ask(line: &str, new: &Value, nodes: &Value, pods: &Value) -> Ran {
    let files = [("new.json", new), ("nodes.json", nodes), ("pods.json", pods)];
    let folder = folder_with(&files.map(|(name, value)| (name, value.to_string())));
    kq(line).within(folder.path()).run()
}

/// Seven nodes, each with a fate of its own.
fn cluster() -> (Object, Object) {
    let nodes = list([
        node("unknown").set("/status/allocatable", json!({})),
        node("tainted").set("/spec/taints", json!([{"key": "gone", "effect": "NoExecute"}])),
        node("critical"),
        node("dear"),
        node("cheap").set("/spec/unschedulable", true),
        node("two"),
        node("free").set("/status/conditions/3/status", "False"),
        node("broken").allocatable("cpu=much"),
    ]);
    let pods = list([
        pod("a").on("dear").requests("cpu=1500m").priority(1000),
        pod("b").on("cheap").requests("cpu=1500m").priority(10),
        pod("c1").on("two").requests("cpu=800m"),
        pod("c2").on("two").requests("cpu=800m").priority(10),
        pod("c3").on("two").requests("cpu=400m"),
        pod("d").on("critical").requests("cpu=1500m").priority(2_000_000_001),
        pod("waits").requests("cpu=1"),
        pod("e").on("elsewhere").requests("cpu=1"),
    ]);
    (nodes, pods)
}

#[test]
fn the_cheapest_comes_first_and_what_is_not_known_last() {
    let (nodes, pods) = cluster();
    let ran = ask(LINE, &new(), &nodes, &pods);
    let expected = "\
NODE       RESULT       VICTIMS       HIGHEST PRIORITY   WAITS   REASON
free       fits         -             -                  -       not ready: the scheduler passes it over
cheap      kills 1      1 Burstable   10                 45s     lacks cpu 500m; cordoned: the scheduler passes it over
two        kills 2      2 Burstable   10                 90s     lacks cpu 1
dear       kills 1      1 Burstable   1000               45s     lacks cpu 500m
critical   not enough   -             -                  -       still missing without all of them: cpu 500m
tainted    refused      -             -                  -       TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate
broken     MISSING      -             -                  -       status.allocatable.cpu: \"much\": not a number of a quantity
unknown    MISSING      -             -                  -       node unknown: status.allocatable is empty, so the amounts for pods are unknown
";
    let (table, rest) = ran.stdout.split_once("\n\n").expect("a table, and what is said of it");
    for (line, expected) in table.lines().zip(expected.lines()) {
        // What a check or a parser says is theirs; which node and what becomes of it is this test's.
        let known =
            if expected.contains("MISSING") || expected.contains("refused") { 58 } else { 200 };
        let cut = |text: &str| text.chars().take(known).collect::<String>();
        assert_eq!(cut(line), cut(expected), "{}", ran.text());
    }
    assert_eq!(table.lines().count(), expected.lines().count(), "{}", ran.text());
    assert!(table.contains("status.allocatable.cpu: \"much\""), "{table}");
    matches(
        rest,
        "critical: priority 2000000000 >= 2000000000\n\
         of 8 nodes: 1 without victims, 3 with victims, 1 not enough to kill, 1 refused, 2 \
         not known\n",
    );
    assert_eq!(ran.code, 3, "{}", ran.text());
    for said in [
        "assumed: the pod counts as bound to each node in turn\n",
        "assumed: every kubelet has the default feature gates and configuration",
        "assumed: 1 of the pods without spec.nodeName: on no node",
        "warning: nodes with pods that are not in the list of nodes: 1, such as elsewhere",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains('\r'), "no progress where nobody watches: {:?}", ran.stderr);
}

#[test]
fn the_exit_code_says_whether_any_node_takes_it() {
    let (full, critical) = (pod("a").on("n"), pod("b").on("m").priority(2_000_000_001));
    let both = list([node("n"), node("m")]);
    let refuses = list([node("m")]);
    let pods = list([full, critical].map(|pod| pod.requests("cpu=2")));
    assert_eq!(ask(LINE, &new(), &both, &pods).code, 0);
    let ran = ask(LINE, &new(), &refuses, &pods);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let ran = ask(LINE, &pod("new").requests("cpu=1"), &both, &pods);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let unknown = list([node("n"), node("m").set("/status", json!({}))]);
    assert_eq!(ask(LINE, &new(), &unknown, &pods).code, 3);
}

/// Of the two devices one is not healthy: whether the other is free depends on which of them the pod has.
#[test]
fn a_check_that_is_unknown_leaves_the_node_open() {
    const GPU: &str = "example.com/gpu=1";
    let with = node("n").capacity("example.com/gpu=2").allocatable(GPU);
    let pods = list([pod("a").on("n").limits(GPU)]);
    let ran = ask(&format!("{LINE} -o json"), &new().limits(GPU), &list([with, node("m")]), &pods);
    let answer: Value = ran.answer();
    assert_eq!(ran.code, 3, "{}", ran.text());
    let [first, second] = [&answer["nodes"][0], &answer["nodes"][1]];
    assert_eq!((&first["result"], &second["result"]), (&json!("fits"), &json!("missing")));
    let because = second["because"].to_string();
    assert!(because.contains("devices: which pods hold the unhealthy devices"), "{because}");
}

#[test]
fn victims_are_shown_in_full_on_demand() {
    let pods = [pod("a"), pod("b").priority(7)];
    let pods = pods.map(|pod| pod.on("n").requests("cpu=1").started("2026-11-20T10:00:00Z"));
    let pods = list(pods);
    let ran = ask(&format!("{LINE} -o wide"), &new(), &list([node("n")]), &pods);
    let shown = ran.stdout.lines().last().expect("a line");
    assert_eq!(
        shown,
        "n      1      default/b   Burstable   7          cpu 1   2026-11-20T10:00:00Z   30s     45s     \
         or, as equal: default/a"
    );
    assert!(ran.stderr.contains("assumed: equal pods are in the order"), "{}", ran.stderr);
}

#[test]
fn the_pod_may_be_of_the_cluster_and_where_it_is_does_not_count() {
    let namesake = pod("other/a").uid("other").on("n").requests("cpu=2");
    let pods = list([new().on("m"), pod("a").on("m").requests("cpu=1"), namesake]);
    let nodes = list([node("n"), node("m")]);
    let line = LINE.replace("new.json", "default/new");
    let ran = ask(&format!("{line} -o json"), &new(), &nodes, &pods);
    let answer: Value = ran.answer();
    let results: Vec<_> = answer["nodes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (&it["node"], &it["result"]))
        .collect();
    assert_eq!(results, [(&json!("m"), &json!("fits")), (&json!("n"), &json!("preempts"))]);
    let assumed = answer["assumptions"].to_string();
    assert!(assumed.contains("its spec.nodeName m is ignored"), "{assumed}");
    let ran = ask(&LINE.replace("new.json", "a"), &new(), &nodes, &pods);
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("a means 2 pods"), "{}", ran.stderr);
    let ran = ask(&LINE.replace("new.json", "nobody"), &new(), &nodes, &pods);
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("no pod nobody in this cluster"), "{}", ran.stderr);
}

#[test]
fn each_kubelet_goes_by_the_rules_of_its_version() {
    // Kubelets before 1.34 do not count the pod's own resources.
    let whole = json!({"requests": {"cpu": "2"}});
    let on = |node: &str| pod(node).on(node).set("/spec/resources", whole.clone());
    let nodes = list([
        node("old").version("v1.33.1"),
        node("young"),
        node("silent").version(""),
        node("odd").version("x"),
    ]);
    let pods = list([on("old").requests("cpu=0"), on("young").requests("cpu=0")]);
    let ran = ask(&format!("{LINE} -o json"), &new(), &nodes, &pods);
    let answer: Value = ran.answer();
    let told: Vec<_> = answer["nodes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| {
            (
                it["node"].as_str().expect("a name"),
                it["result"].as_str().expect("a word"),
                it["kubeletVersion"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("old", "fits", Some("v1.33.1")),
            ("silent", "fits", None),
            ("young", "preempts", Some("v1.36.2")),
            ("odd", "missing", Some("x")),
        ]
    );
    assert!(
        answer["nodes"][1]["assumptions"].to_string().contains("the Node object has no version")
    );
    let ran = ask(&format!("{LINE} --kubelet-version 1.36"), &new(), &nodes, &pods);
    assert!(ran.stdout.contains("of 4 nodes: 2 without victims, 2 with victims"), "{}", ran.text());
    assert!(ran.stderr.contains("assumed: every kubelet has the version, gates"), "{}", ran.stderr);
}

#[test]
fn a_pod_that_was_read_twice_counts_once_and_windows_is_not_known() {
    let windows = node("w").set("/metadata/labels", json!({"kubernetes.io/os": "windows"}));
    let (nodes, pods) = (list([node("n"), windows]), list([pod("a").on("n").requests("cpu=1")]));
    let ran = ask(&format!("{LINE} --pods pods.json -o json"), &new(), &nodes, &pods);
    assert_eq!(ran.code, 3, "{}", ran.text());
    let answer: Value = ran.answer();
    assert_eq!(
        (&answer["nodes"][0]["node"], &answer["nodes"][0]["result"]),
        (&json!("n"), &json!("fits"))
    );
    assert!(
        answer["warnings"].to_string().contains("default/a is listed more than once"),
        "{answer}"
    );
    assert_eq!(answer["nodes"][1]["result"], "missing");
    let because = answer["nodes"][1]["because"].to_string();
    assert!(because.contains("kq supports the kubelet on linux"), "{because}");
}

#[test]
fn nodes_may_be_written_in_yaml() {
    let yaml = "apiVersion: v1\nkind: List\nitems:\n- kind: Node\n  metadata: {name: worker-1}\n  status:\n    allocatable: {cpu: 2, pods: 3}\n";
    let folder = folder_with(&[
        ("nodes.yaml", yaml.to_owned()),
        ("new.json", new().to_string()),
        ("pods.json", list([pod("a").on("worker-1").requests("cpu=1")]).to_string()),
    ]);
    let ran = kq(&LINE.replace("nodes.json", "nodes.yaml")).within(folder.path()).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("whether it is ready is unknown"), "{}", ran.text());
}

#[test]
fn what_cannot_be_understood_is_named() {
    let (nodes, pods) = (list([node("n")]), list([pod("a").on("n").requests("cpu=1")]));
    let twice = list([node("n"), node("n")]);
    let rows: [(&str, &str, &Value, i32, &[&str]); 10] = [
        ("a pod less", "--without default/a", &nodes, 2, &["--without applies to one node"]),
        (
            "a snapshot",
            "--snapshot s",
            &nodes,
            2,
            &["--snapshot applies to one node", "hint: all nodes"],
        ),
        ("a node's name", "--node-name n", &nodes, 2, &["--node-name applies to one node"]),
        ("another root", "--host-root /x", &nodes, 2, &["--host-root applies to one node"]),
        ("an order", "--order default/a", &nodes, 2, &["--order"]),
        ("a node twice", "", &twice, 2, &["nodes.json: node n is listed twice"]),
        ("pods for nodes", "", &pods, 2, &["nodes.json: items[0].kind: \"Pod\", expected Node"]),
        ("no nodes", "", &list([]), 3, &["nodes.json: there are no nodes"]),
        ("no list", "", &json!({"kind": "Pod"}), 2, &["kind \"Pod\", expected a list of nodes"]),
        (
            "a node without a name",
            "",
            &list([json!({"kind": "Node"}).into()]),
            2,
            &["items[0].metadata.name is not set"],
        ),
    ];
    for (what, flags, nodes, code, said) in rows {
        let ran = ask(&format!("{LINE} {flags}"), &new(), nodes, &pods);
        assert_eq!((ran.code, &*ran.stdout), (code, ""), "{what}: {}", ran.text());
        for text in said {
            assert!(ran.stderr.contains(text), "{what}: {text}: {}", ran.stderr);
        }
    }
}
