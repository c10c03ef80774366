//! `kq admit explain` and `kq preempt explain`: what cannot be understood, and what must not be guessed.

use super::{Ran, folder_with, kq};
use crate::objects::{self, list, node};
use serde_json::{Value, json};

fn pod(name: &str, cpu: &str) -> Value {
    objects::pod(name).on("n").requests(json!({"cpu": cpu})).json()
}

fn critical() -> Value {
    let mut critical = pod("new", "1");
    critical["spec"]["priority"] = json!(2_000_000_000);
    critical
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
    let mut new = critical();
    new["spec"]["priority"] = Value::Null;
    new["spec"]["priorityClassName"] = json!("system-node-critical");
    new["spec"]["nodeName"] = json!("other");
    new["metadata"]["uid"] = json!("");
    let mut spared = pod("crit", "2");
    spared["spec"]["priority"] = json!(2_000_000_000);
    // What the API server shows of the same static pod, which runs.
    let mut mirror = pod("new-n", "1");
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "m"});
    let pods = list([spared, mirror]);
    let ran = ask("preempt explain new.json --static", &new, &pods, &node("n", "2"));
    assert_eq!(ran.code, 1, "{}", ran.text());
    for said in ["default/new-n on n: ", "critical: a static pod", "lacks still", "cpu 1"] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.text());
    }
    let ran = ask(
        "preempt explain new.json --static --priority 2000001000",
        &new,
        &pods,
        &node("n", "2"),
    );
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("default/crit"), "{}", ran.text());
    let ran = ask("preempt explain default/crit --static", &new, &pods, &node("n", "2"));
    assert_eq!((ran.code, &*ran.stdout), (2, ""), "{}", ran.text());
}

#[test]
fn what_is_no_resource_refuses_a_critical_pod_in_both_commands() {
    let mut new = critical();
    new["spec"]["nodeSelector"] = json!({"a": "b"});
    let pods = list([pod("a", "1"), pod("b", "1")]);
    for line in ["admit explain new.json", "preempt explain new.json"] {
        let ran = ask(line, &new, &pods, &node("n", "2"));
        assert_eq!(ran.code, 1, "{}", ran.text());
        assert!(ran.stdout.contains("NodeAffinity: "), "{}", ran.text());
        let because = "nodeSelector a=b: the node does not have the label";
        assert!(ran.stdout.contains(because), "{}", ran.text());
        assert!(!ran.stdout.contains("OutOfcpu"), "{}", ran.text());
    }
    new["spec"]["nodeSelector"] = json!({});
    let ran = ask("admit explain new.json", &new, &pods, &node("n", "2"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    let said = "default/new: admitted on n after the kubelet killed default/b for it";
    assert!(ran.stdout.starts_with(said), "{}", ran.text());
}

#[test]
fn a_pod_may_be_refused_after_others_were_killed_for_it() {
    let mut new = critical();
    new["spec"]["resources"] = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}});
    let pods = list([pod("a", "1"), pod("b", "1")]);
    let line = "preempt explain new.json --feature-gates PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false";
    let ran = ask(line, &new, &pods, &node("n", "2"));
    assert_eq!(ran.code, 1, "{}", ran.text());
    for said in ["one pod is killed, and it is still rejected", "PodLevelResourcesNotSupported: "] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.text());
    }
}

#[test]
fn what_would_give_a_false_yes_is_missing() {
    let (new, here) = (critical(), pod("a", "1"));
    let mut elsewhere = pod("a", "2");
    elsewhere["spec"]["nodeName"] = json!("m");
    let mut nameless = node("n", "2");
    nameless["metadata"] = json!({});
    let mut half = node("n", "2");
    half["status"]["allocatable"] = json!({"memory": "4Gi", "pods": "10"});
    let rows: [(&str, Value, Value, i32, &str); 4] = [
        ("all are elsewhere", list([elsewhere]), node("n", "2"), 3, "no pods of node n"),
        ("a node without a name", list([here.clone()]), nameless, 2, "metadata.name is not set"),
        ("a node without CPUs", list([here.clone()]), half, 3, "missing: status.allocatable.cpu"),
        (
            "twice the same",
            list([here.clone(), here]),
            node("n", "2"),
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
    let (new, two) = (critical(), list([pod("a", "1"), pod("b", "1")]));
    let ask = |line: &str| ask(line, &new, &two, &node("n", "2"));
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
    let (new, two) = (critical(), list([pod("a", "1"), pod("b", "1")]));
    let with = |list: &str, value: Value| {
        let mut node = node("n", "2");
        node["status"][list] = value;
        node
    };
    // What, the question, the pod, the pods, the node, exit code, and what is said.
    type Row = (&'static str, &'static str, Value, Value, Value, i32, &'static [&'static str]);
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
            2,
            &["node.json: status.capacity.cpu: -2", "hint: "],
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
            pod("new", "much"),
            two.clone(),
            node("n", "2"),
            2,
            &["new.json", "requests", "much"],
        ),
        (
            "two pods at once",
            "preempt explain new.json",
            two.clone(),
            two.clone(),
            node("n", "2"),
            2,
            &["new.json: 2 pods, expected one", "hint: "],
        ),
        (
            "no pod at all",
            "admit explain new.json",
            list([]),
            two.clone(),
            node("n", "2"),
            2,
            &["new.json: "],
        ),
        (
            "nobody of that name",
            "admit explain c",
            new.clone(),
            two.clone(),
            node("n", "2"),
            2,
            &["no pod c on this node", "hint: "],
        ),
        (
            "two of that name",
            "admit explain a",
            new.clone(),
            list([pod("a", "1"), {
                let mut other = pod("a", "1");
                other["metadata"]["namespace"] = json!("other");
                other["metadata"]["uid"] = json!("b");
                other
            }]),
            node("n", "2"),
            2,
            &["a means 2 pods", "hint: use NAMESPACE/NAME"],
        ),
        (
            "an order with a misspelt name",
            "preempt explain new.json --order default/a,defualt/b",
            new.clone(),
            two.clone(),
            node("n", "2"),
            2,
            &["--order: no other pod of this node is defualt/b", "did you mean default/b?"],
        ),
        (
            "an order with a name twice",
            "preempt explain new.json --order default/a,default/a",
            new,
            two,
            node("n", "2"),
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
    let changed = |name: &str, change: fn(&mut Value)| {
        let mut pod = pod(name, "1");
        change(&mut pod);
        pod
    };
    let pods = list([
        changed("ended", |it| it["status"]["phase"] = json!("Succeeded")),
        changed("elsewhere", |it| it["spec"]["nodeName"] = json!("m")),
        changed("nowhere", |it| {
            it["spec"]["nodeName"] = json!("");
            it["status"]["phase"] = json!("Pending");
        }),
        changed("no-status", |it| {
            it["status"] = json!({});
            it["metadata"]["uid"] = json!("");
        }),
        pod("new", "1"),
    ]);
    let ran = ask("admit explain new.json -o json", &pod("new", "1"), &pods, &node("n", "2"));
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
    let mut of_limits = pod("a", "1");
    of_limits["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "1500m"}});
    of_limits["spec"]["hostNetwork"] = json!(true);
    of_limits["spec"]["containers"][0]["ports"] = json!([{"containerPort": 8080}]);
    let mut new = pod("new", "1");
    new["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 8080}]);
    let ran =
        ask("admit explain new.json -o wide", &new, &list([of_limits.clone()]), &node("n", "2"));
    assert!(ran.stdout.contains("cpu: 1 > 500m = 2 - 1500m"), "{}", ran.text());
    assert!(ran.stdout.contains("8080/TCP on 0.0.0.0 is taken by default/a"), "{}", ran.text());
    let ran = ask("preempt explain new.json", &critical(), &list([of_limits]), &node("n", "2"));
    assert!(ran.stdout.contains("cpu 1500m   -               30s     45s"), "{}", ran.text());
}

#[test]
fn a_priority_that_only_the_cluster_knows_is_assumed() {
    let mut unknown = pod("new", "2");
    unknown["spec"] =
        json!({"priorityClassName": "gold", "containers": unknown["spec"]["containers"]});
    let pods = list([pod("a", "1")]);
    let ran = ask("preempt explain new.json", &unknown, &pods, &node("n", "2"));
    assert!(
        ran.stderr.contains("assumed: priority 0: only the cluster has the value of class gold")
    );
    assert_eq!(ran.code, 1, "{}", ran.text());
    let ran =
        ask("preempt explain new.json --priority 2000000000", &unknown, &pods, &node("n", "2"));
    assert!(!ran.stderr.contains("priority 0"), "{}", ran.stderr);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn the_order_decides_between_equals_and_only_its_absence_is_assumed() {
    let pods = list([pod("a", "1"), pod("b", "1")]);
    for (order, victim, is_assumed) in
        [("", "default/b", true), ("--order default/b,default/a", "default/a", false)]
    {
        let ran = ask(
            &format!("preempt explain new.json {order} -o json"),
            &critical(),
            &pods,
            &node("n", "2"),
        );
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
        let mut node = node("n", "2");
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
        node["status"]["conditions"] = json!([
            condition("MemoryPressure", "False"),
            condition("DiskPressure", status),
            condition("PIDPressure", "False"),
            condition("Ready", "True"),
        ]);
        node
    };
    let none = list([]);
    let ran = ask("admit explain new.json -o json", &pod("new", "8"), &none, &under("True"));
    let answer: Value = ran.answer();
    assert_eq!(
        answer["refusals"],
        json!([{"reason": "Evicted", "message": "The node had condition: [DiskPressure]. "}])
    );
    let results: Vec<_> = answer["checks"].as_array().expect("a list").iter().collect();
    let results: Vec<_> = results.iter().map(|it| it["result"].as_str().expect("a word")).collect();
    assert_eq!(results[0], "FAIL");
    assert!(results[1..].iter().all(|it| *it == "SKIPPED"), "{results:?}");
    let ran = ask("preempt explain new.json", &pod("new", "8"), &none, &under("True"));
    assert!(ran.stdout.contains("Evicted: The node had condition"), "{}", ran.text());
    let ran = ask("admit explain new.json", &critical(), &none, &under("True"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(!ran.stderr.contains("no DiskPressure"), "{}", ran.stderr);
    let ran = ask("admit explain new.json", &critical(), &none, &under("Unknown"));
    assert!(
        ran.stderr.contains("assumed: no DiskPressure: not in the Node object"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_kubelet_that_starts_anew_takes_the_oldest_first() {
    let made = |name: &str, cpu: &str, at: &str| {
        let mut pod = pod(name, cpu);
        pod["metadata"]["creationTimestamp"] = json!(at);
        pod
    };
    let mut critical = made("critical", "500m", "2026-11-20T10:00:02Z");
    critical["spec"]["priority"] = json!(2_000_000_000);
    let mut of_folder = made("of-folder", "500m", "2026-11-20T12:00:00Z");
    of_folder["metadata"]["annotations"] = json!({"kubernetes.io/config.source": "file"});
    // 2 CPUs: the static one and two others fit, the critical one takes a place, the last one has none.
    let pods = list([
        made("young", "500m", "2026-11-20T10:00:03Z"),
        critical,
        made("old", "1", "2026-11-20T10:00:00Z"),
        of_folder,
        made("middle", "500m", "2026-11-20T10:00:01Z"),
    ]);
    let ran = ask("admit explain --kubelet-restart -o json", &json!({}), &pods, &node("n", "2"));
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
    let ran = ask("admit explain --kubelet-restart new.json", &json!({}), &pods, &node("n", "2"));
    assert_eq!(ran.code, 2, "{}", ran.text());
}
