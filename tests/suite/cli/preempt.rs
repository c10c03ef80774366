//! `kq admit explain` and `kq preempt explain`: what cannot be understood, and what must not be guessed.

use super::{Ran, folder_with, kq};
use crate::objects::{Object, list, node, pod};
use serde_json::{Value, json};

fn critical() -> Object {
    pod("new").on("n").requests("cpu=1").priority(2_000_000_000)
}

/// The pods that use up a node with 2 CPUs.
fn two() -> Object {
    list(["a", "b"].map(|name| pod(name).on("n").requests("cpu=1")))
}

/// Asks about a pod that comes to a node with others.
fn ask(line: &str, new: &Value, pods: &Value, node: &Value) -> Ran {
    let files = [("new.json", new), ("pods.json", pods), ("node.json", node)];
    let folder = folder_with(&files.map(|(name, value)| (name, value.to_string())));
    let line = format!("{line} --pods pods.json --node-file node.json");
    kq(&line).within(folder.path()).run()
}

#[test]
fn a_static_pod_is_what_the_kubelet_makes_of_its_manifest() {
    let new = critical().priority(Value::Null).on("other").uid("");
    let new = new.set("/spec/priorityClassName", "system-node-critical");
    let spared = pod("crit").on("n").requests("cpu=2").priority(2_000_000_000);
    // What the API server shows of the same static pod, which runs.
    let mirror = pod("new-n").on("n").requests("cpu=1").config("mirror", "m");
    let pods = list([spared, mirror]);
    let ran = ask("preempt explain new.json --static", &new, &pods, &node("n"));
    assert_eq!(ran.code, 1, "{}", ran.text());
    for said in ["default/new-n on n: ", "critical: a static pod", "lacks still", "cpu 1"] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.text());
    }
    let line = "preempt explain new.json --static --priority 2000001000";
    let ran = ask(line, &new, &pods, &node("n"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("default/crit"), "{}", ran.text());
    let ran = ask("preempt explain default/crit --static", &new, &pods, &node("n"));
    assert_eq!((ran.code, &*ran.stdout), (2, ""), "{}", ran.text());
}

#[test]
fn what_is_no_resource_refuses_a_critical_pod_in_both_commands() {
    let mut new = critical();
    new["spec"]["nodeSelector"] = json!({"a": "b"});
    let pods = two();
    for line in ["admit explain new.json", "preempt explain new.json"] {
        let ran = ask(line, &new, &pods, &node("n"));
        assert_eq!(ran.code, 1, "{}", ran.text());
        assert!(ran.stdout.contains("NodeAffinity: "), "{}", ran.text());
        let because = "nodeSelector a=b: the node does not have the label";
        assert!(ran.stdout.contains(because), "{}", ran.text());
        assert!(!ran.stdout.contains("OutOfcpu"), "{}", ran.text());
    }
    new["spec"]["nodeSelector"] = json!({});
    let ran = ask("admit explain new.json", &new, &pods, &node("n"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    let said = "default/new: admitted on n after the kubelet killed default/b for it";
    assert!(ran.stdout.starts_with(said), "{}", ran.text());
}

#[test]
fn a_pod_may_be_refused_after_others_were_killed_for_it() {
    let whole = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}});
    let new = critical().set("/spec/resources", whole);
    let line = "preempt explain new.json --feature-gates PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false";
    let ran = ask(line, &new, &two(), &node("n"));
    assert_eq!(ran.code, 1, "{}", ran.text());
    for said in ["one pod is killed, and it is still rejected", "PodLevelResourcesNotSupported: "] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.text());
    }
}

#[test]
fn what_would_give_a_false_yes_is_missing() {
    let (new, here) = (critical(), pod("a").on("n").requests("cpu=1"));
    let elsewhere = pod("a").on("m").requests("cpu=2");
    let nameless = node("n").set("/metadata", json!({}));
    let half = node("n").set("/status/allocatable", json!({"memory": "4Gi", "pods": "10"}));
    let rows: [(&str, Object, Object, i32, &str); 4] = [
        ("all are elsewhere", list([elsewhere]), node("n"), 3, "no pods of node n"),
        ("a node without a name", list([here.clone()]), nameless, 3, "metadata.name is not set"),
        ("a node without CPUs", list([here.clone()]), half, 3, "status.allocatable.cpu is not set"),
        (
            "twice the same",
            list([here.clone(), here]),
            node("n"),
            0,
            "warning: default/a is listed more than once",
        ),
    ];
    for (what, pods, node, code, said) in rows {
        let ran = ask("preempt explain new.json", &new, &pods, &node);
        assert_eq!(ran.code, code, "{what}: {}", ran.text());
        assert!(ran.stderr.contains(said), "{what}: {}", ran.text());
    }
}

#[test]
fn a_pod_can_be_taken_away_in_thought() {
    let (new, two) = (critical(), two());
    let ask = |line: &str| ask(line, &new, &two, &node("n"));
    let victims = |ran: &Ran| ran.answer::<Value>()["victims"].clone();
    assert_eq!(victims(&ask("preempt explain new.json -o json"))[0]["pod"], "default/b");
    let ran = ask("preempt explain new.json -o json --without default/b");
    assert_eq!((ran.code, victims(&ran)), (0, json!([])), "{}", ran.stderr);
    let ran = ask("admit explain new.json -o wide --without a");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("taken away (--without)"), "{}", ran.stdout);
    let ran = ask("admit explain new.json --without default/c");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("--without: no pod default/c on this node"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_understood_is_named() {
    let (new, two) = (critical(), two());
    let with = |list: &str, value: Value| node("n").set(&format!("/status/{list}"), value);
    // What, the question, the pod, the pods, the node, exit code, and what is said.
    type Row = (&'static str, &'static str, Object, Object, Object, i32, &'static [&'static str]);
    let rows: [Row; 10] = [
        (
            "a node that has nothing for pods",
            "admit explain new.json",
            new.clone(),
            two.clone(),
            with("allocatable", json!({})),
            3,
            &["node.json: status.allocatable", "hint: kubectl get node"],
        ),
        (
            "less than nothing",
            "admit explain new.json",
            new.clone(),
            two.clone(),
            with("capacity", json!({"cpu": "-2"})),
            3,
            &["node.json: status.capacity.cpu is -2", "hint: "],
        ),
        (
            "no quantity on the node",
            "preempt explain new.json",
            new.clone(),
            two.clone(),
            with("allocatable", json!({"cpu": "two"})),
            2,
            &["node.json", "status.allocatable", "two"],
        ),
        (
            "no quantity in the pod",
            "admit explain new.json",
            pod("new").requests("cpu=much"),
            two.clone(),
            node("n"),
            2,
            &["new.json", "requests", "much"],
        ),
        (
            "two pods at once",
            "preempt explain new.json",
            two.clone(),
            two.clone(),
            node("n"),
            2,
            &["new.json: 2 pods, expected one", "hint: "],
        ),
        (
            "no pod at all",
            "admit explain new.json",
            list([]),
            two.clone(),
            node("n"),
            2,
            &["new.json: "],
        ),
        (
            "nobody of that name",
            "admit explain c",
            new.clone(),
            two.clone(),
            node("n"),
            2,
            &["no pod c on this node", "hint: "],
        ),
        (
            "two of that name",
            "admit explain a",
            new.clone(),
            list([pod("a").on("n"), pod("other/a").on("n").uid("b")]),
            node("n"),
            2,
            &["a means 2 pods", "hint: use NAMESPACE/NAME"],
        ),
        (
            "an order with a misspelt name",
            "preempt explain new.json --order default/a,defualt/b",
            new.clone(),
            two.clone(),
            node("n"),
            2,
            &["--order: no other pod of this node is defualt/b", "did you mean default/b?"],
        ),
        (
            "an order with a name twice",
            "preempt explain new.json --order default/a,default/a",
            new,
            two,
            node("n"),
            2,
            &["--order: default/a is listed twice"],
        ),
    ];
    for (what, line, new, pods, node, code, said) in rows {
        let ran = ask(line, &new, &pods, &node);
        assert_eq!((ran.code, &*ran.stdout), (code, ""), "{what}: {}", ran.text());
        for text in said {
            assert!(ran.stderr.contains(text), "{what}: {text}: {}", ran.stderr);
        }
    }
}

#[test]
fn who_is_on_the_node_is_not_guessed() {
    let asks = |name: &str| pod(name).on("n").requests("cpu=1");
    let pods = list([
        asks("ended").phase("Succeeded"),
        asks("elsewhere").on("m"),
        asks("nowhere").on("").phase("Pending"),
        asks("no-status").uid("").set("/status", json!({})),
        asks("new"),
    ]);
    let ran = ask("admit explain new.json -o json", &asks("new"), &pods, &node("n"));
    let answer: Value = ran.answer();
    let counts: Vec<_> = answer["ledger"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (it["counts"] == true, it["why"]["text"].as_str().expect("a reason")))
        .collect();
    assert_eq!(
        counts,
        [
            (false, "it is on node m"),
            (false, "its phase is Succeeded"),
            (false, "it is the pod in question"),
            (true, "it has no status"),
            (false, "it is on no node yet"),
        ]
    );
    assert_eq!((ran.code, &answer["resources"][1]["used"]), (0, &json!(1000)));
    let assumed = answer["assumptions"].to_string();
    assert!(assumed.contains("1 pod without a UID: on the node"), "{assumed}");
}

#[test]
fn manifests_get_what_the_api_server_fills_in() {
    const PORTS: &str = "/spec/containers/0/ports";
    let of_limits = pod("a").on("n").limits("cpu=1500m").set("/spec/hostNetwork", true);
    let of_limits = of_limits.set(PORTS, json!([{"containerPort": 8080}]));
    let new = pod("new").on("n").requests("cpu=1");
    let new = new.set(PORTS, json!([{"containerPort": 80, "hostPort": 8080}]));
    let ran = ask("admit explain new.json -o wide", &new, &list([of_limits.clone()]), &node("n"));
    assert!(ran.stdout.contains("cpu: 1 > 500m = 2 - 1500m"), "{}", ran.text());
    assert!(ran.stdout.contains("8080/TCP on 0.0.0.0 is taken by default/a"), "{}", ran.text());
    let ran = ask("preempt explain new.json", &critical(), &list([of_limits]), &node("n"));
    assert!(ran.stdout.contains("cpu 1500m   -               30s     45s"), "{}", ran.text());
}

#[test]
fn a_priority_that_only_the_cluster_knows_is_assumed() {
    let unknown = pod("new").requests("cpu=2").priority(Value::Null);
    let unknown = unknown.set("/spec/priorityClassName", "gold");
    let pods = list([pod("a").on("n").requests("cpu=1")]);
    let ran = ask("preempt explain new.json", &unknown, &pods, &node("n"));
    assert!(
        ran.stderr.contains("assumed: priority 0: only the cluster has the value of class gold")
    );
    assert_eq!(ran.code, 1, "{}", ran.text());
    let ran = ask("preempt explain new.json --priority 2000000000", &unknown, &pods, &node("n"));
    assert!(!ran.stderr.contains("priority 0"), "{}", ran.stderr);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn the_order_decides_between_equals_and_only_its_absence_is_assumed() {
    for (order, victim, is_assumed) in
        [("", "default/b", true), ("--order default/b,default/a", "default/a", false)]
    {
        let line = format!("preempt explain new.json {order} -o json");
        let ran = ask(&line, &critical(), &two(), &node("n"));
        let answer: Value = ran.answer();
        let other = if victim == "default/a" { "default/b" } else { "default/a" };
        assert_eq!(answer["victims"][0]["pod"], victim, "{order}");
        assert_eq!(answer["victims"][0]["ties"], json!([other]), "{order}");
        let assumed = answer["assumptions"].to_string();
        assert_eq!(assumed.contains("--order"), is_assumed, "{assumed}");
    }
}

#[test]
fn a_node_under_pressure_says_no_before_anything_else() {
    let under = |status: &str| {
        let disk = format!("DiskPressure={status}");
        node("n").conditions(&format!("MemoryPressure=False,{disk},PIDPressure=False,Ready=True"))
    };
    let (new, none) = (pod("new").on("n").requests("cpu=8"), list([]));
    let ran = ask("admit explain new.json -o json", &new, &none, &under("True"));
    let answer: Value = ran.answer();
    assert_eq!(
        answer["refusals"],
        json!([{"reason": "Evicted", "message": "The node had condition: [DiskPressure]. "}])
    );
    let results: Vec<_> = answer["checks"].as_array().expect("a list").iter().collect();
    let results: Vec<_> = results.iter().map(|it| it["result"].as_str().expect("a word")).collect();
    assert_eq!(results[0], "FAIL");
    assert!(results[1..].iter().all(|it| *it == "SKIPPED"), "{results:?}");
    let ran = ask("preempt explain new.json", &new, &none, &under("True"));
    assert!(ran.stdout.contains("Evicted: The node had condition"), "{}", ran.text());
    let ran = ask("admit explain new.json", &critical(), &none, &under("True"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(!ran.stderr.contains("no DiskPressure"), "{}", ran.stderr);
    let ran = ask("admit explain new.json", &critical(), &none, &under("Unknown"));
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("missing: whether the node is under pressure"), "{}", ran.stderr);
}

#[test]
fn a_kubelet_that_starts_anew_takes_the_oldest_first() {
    let made = |name: &str, at: &str| pod(name).on("n").requests("cpu=500m").created(at);
    // 2 CPUs: the static one and two others fit, the critical one takes a place, the last one has none.
    let pods = list([
        made("young", "2026-11-20T10:00:03Z"),
        made("critical", "2026-11-20T10:00:02Z").priority(2_000_000_000),
        made("old", "2026-11-20T10:00:00Z").requests("cpu=1"),
        made("of-folder", "2026-11-20T12:00:00Z").config("source", "file"),
        made("middle", "2026-11-20T10:00:01Z"),
    ]);
    let ran = ask("admit explain --kubelet-restart -o json", &json!({}), &pods, &node("n"));
    let answer: Value = ran.answer();
    let items = answer["items"].as_array().expect("a list").iter();
    let became: Vec<_> = items
        .map(|it| {
            (it["pod"].as_str().unwrap_or_default(), it["result"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(
        became,
        [
            ("default/of-folder", "admitted"),
            ("default/old", "admitted"),
            ("default/middle", "killed"),
            ("default/critical", "admitted"),
            ("default/young", "refused"),
        ]
    );
    assert_eq!(answer["items"][3]["kills"], json!(["default/middle"]));
    assert_eq!(answer["items"][2]["killedFor"], "default/critical");
    assert_eq!(answer["items"][4]["refusals"][0]["reason"], "OutOfcpu");
    assert_eq!((ran.code, &answer["kind"]), (1, &json!("PodReadmission")));
    let ran = ask("admit explain --kubelet-restart new.json", &json!({}), &pods, &node("n"));
    assert_eq!(ran.code, 2, "{}", ran.text());
}
