//! `kq preempt apply` against an API server with pods that can be evicted.

use super::cluster::{Budget, Cluster, node, pod};
use super::interactive::asking;
use super::made_up_node::{Kernel, Node};
use super::{Ran, Run, kq};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A node with an API server, and a critical pod that is to come to it.
pub struct World {
    pub node: Node,
    pub cluster: Cluster,
}

impl World {
    /// Makes a node with so many CPUs and these pods.
    pub fn new(cpu: &str, pods: impl IntoIterator<Item = Value>) -> Self {
        let made = Node::new(Kernel::V2);
        let mut new = pod("kube-system/dns", "1");
        new["spec"]["priority"] = json!(2_000_000_000);
        new["metadata"]["uid"] = Value::Null;
        new["spec"]["nodeName"] = Value::Null;
        new["status"] = json!({});
        std::fs::write(made.beside().join("dns.json"), new.to_string()).expect("a file");
        Self { cluster: Cluster::start(node(cpu), pods), node: made }
    }

    /// Prepares `kq preempt apply FILE` with more flags.
    pub fn apply(&self, flags: &str) -> Run {
        let root = self.node.root().display().to_string();
        let cluster = self.cluster.flags(self.node.beside());
        kq(&format!("preempt apply dns.json --host-root {root} {cluster} {flags}"))
            .within(self.node.beside())
    }

    pub fn run(&self, flags: &str) -> Ran {
        self.apply(flags).run()
    }
}

/// Returns the answer of a run in JSON, whatever its exit code.
#[track_caller]
pub fn answer(ran: &Ran) -> Value {
    ran.answer()
}

/// Returns what became of each victim.
#[track_caller]
pub fn results(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let steps = answer["steps"].as_array().expect("steps").iter();
    steps.map(|step| (text(&step["pod"]), text(&step["result"]))).collect()
}

pub fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(pod, result)| ((*pod).to_owned(), (*result).to_owned())).collect()
}

/// Two pods that fill the node, of which one is enough; `b` is the nearer one.
fn two() -> [Value; 2] {
    [pod("shop/a", "1500m"), pod("shop/b", "1")]
}

#[test]
fn victims_go_until_the_pod_fits() {
    let world =
        World::new("3", [pod("shop/a", "700m"), pod("shop/b", "700m"), pod("shop/c", "1500m")]);
    let ran = world.run("--yes");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(world.cluster.changes(), ["POST shop/c 1s: 201"]);
    assert_eq!(world.cluster.pods(), ["shop/a", "shop/b"]);
    assert!(ran.stdout.contains("1/1 shop/c: evicted, gone after "), "{}", ran.text());
    assert!(ran.stdout.contains("kube-system/dns fits on worker-1: 1 gone"), "{}", ran.text());
    assert!(
        ran.stderr.contains("disruption budgets are honoured; the kubelet ignores"),
        "{}",
        ran.text()
    );
    // The request before the question is one that changes nothing.
    assert_eq!(world.cluster.state().log[0], "POST shop/c (dry run) 1s: 201");
    let again = world.run("--yes");
    assert_eq!(again.code, 0, "{}", again.text());
    assert!(again.stdout.contains("it fits: no pod is killed"), "{}", again.text());
    assert_eq!(world.cluster.changes().len(), 1);
}

#[test]
fn each_goes_with_its_own_grace_one_after_the_other() {
    let mut slow = pod("shop/b", "600m");
    slow["spec"]["terminationGracePeriodSeconds"] = json!(2);
    let world = World::new("1", [pod("shop/a", "400m"), slow]);
    let begun = Instant::now();
    let ran = world.run("--yes -o json");
    let answer = answer(&ran);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(results(&answer), pairs(&[("shop/b", "removed"), ("shop/a", "removed")]));
    assert_eq!(world.cluster.changes(), ["POST shop/b 2s: 201", "POST shop/a 1s: 201"]);
    assert!(begun.elapsed() >= Duration::from_secs(3), "one after the other: {}", ran.stdout);
    assert!(answer["steps"][0]["tookMilliseconds"].as_u64() >= Some(2000), "{}", ran.stdout);
    assert_eq!((&answer["result"], &answer["dryRun"]), (&json!("done"), &json!(false)));
}

#[test]
fn what_is_not_needed_any_more_is_spared() {
    // Both have to go; while the first goes, another pod ends, and the second can stay.
    let world = World::new("1", [pod("shop/a", "400m"), pod("shop/b", "600m")]);
    let mut ended = pod("shop/b", "600m");
    ended["metadata"]["name"] = json!("a");
    ended["metadata"]["uid"] = json!("uid-a");
    ended["status"]["phase"] = json!("Succeeded");
    world.cluster.state().follow.insert("shop/b", vec![ended]);
    let ran = world.run("--yes -o json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 201"]);
    assert_eq!(results(&answer(&ran)), pairs(&[("shop/b", "removed"), ("shop/a", "alreadyGone")]));

    let world =
        World::new("1", [pod("shop/a", "300m"), pod("shop/b", "600m"), pod("x/live", "100m")]);
    let mut small = pod("shop/c", "0");
    small["metadata"]["name"] = json!("a");
    small["metadata"]["uid"] = json!("uid-a");
    world.cluster.state().follow.insert("shop/b", vec![small, pod("x/live", "0")]);
    let ran = world.run("--yes -o json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    let expected = [("shop/b", "removed"), ("shop/a", "spared"), ("x/live", "spared")];
    assert_eq!(results(&answer(&ran)), pairs(&expected));
    assert_eq!(world.cluster.pods(), ["shop/a", "x/live"]);
}

#[test]
fn who_is_not_needed_in_hindsight_is_spared() {
    let with = |name: &str, cpu: &str, memory: &str| {
        let mut pod = pod(name, cpu);
        pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = json!(memory);
        pod
    };
    let mut stays = with("x/stays", "0", "2560Mi");
    stays["spec"]["priority"] = json!(2_000_001_000);
    // The nearest to both is taken first, and the other two are enough.
    let pods = [
        with("shop/both", "500m", "512Mi"),
        with("shop/cpu", "1", "0"),
        with("shop/memory", "0", "1Gi"),
        stays,
    ];
    let world = World::new("1500m", pods);
    let mut new = with("kube-system/dns", "1", "1Gi");
    new["spec"]["priority"] = json!(2_000_000_000);
    (new["metadata"]["uid"], new["spec"]["nodeName"], new["status"]) =
        (Value::Null, Value::Null, json!({}));
    std::fs::write(world.node.beside().join("dns.json"), new.to_string()).expect("a file");
    let dry = world.run("--dry-run");
    assert!(dry.stdout.contains("not needed in hindsight"), "{}", dry.text());
    let ran = world.run("--yes -o json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    let mut became = results(&answer(&ran));
    became.sort();
    let expected = [("shop/both", "spared"), ("shop/cpu", "removed"), ("shop/memory", "removed")];
    assert_eq!(became, pairs(&expected));
    assert_eq!(world.cluster.pods(), ["shop/both", "x/stays"]);
}

#[test]
fn like_the_kubelet_no_budget_is_asked() {
    let world = World::new("2", two());
    world.cluster.state().budgets.push(Budget {
        name: "keep",
        pods: &["shop/a", "shop/b"],
        left: 0,
        more_at: None,
        retry_after: None,
    });
    let ran = world.run("--yes --like-kubelet");
    assert_eq!(ran.code, 0, "{}", ran.text());
    let changes = world.cluster.changes();
    assert!(changes.iter().all(|line| line.starts_with("DELETE ")), "{changes:?}");
    assert!(ran.stdout.contains(": deleted, gone after "), "{}", ran.text());
    assert!(world.cluster.state().log[0].starts_with("DELETE shop/"), "asked before");
    assert!(ran.stderr.contains("disruption budgets are ignored"), "{}", ran.text());
}

#[test]
fn nothing_is_changed_that_was_not_allowed() {
    let world = World::new("2", two());
    for (flags, code, said) in [
        ("", 4, "nothing was changed: confirmation needs a terminal"),
        ("--dry-run", 0, ""),
        ("--dry-run -o json", 0, ""),
        ("--dry-run --like-kubelet -o yaml", 0, ""),
        ("-o json", 2, "-o json and yaml show no plan to confirm"),
        ("-o yaml", 2, "hint: --dry-run shows the plan, --yes applies it without confirmation"),
        ("--yes --dry-run", 2, "cannot be used with"),
        ("--yes --like-kubelet --budget-timeout 1s", 2, "cannot be used with"),
        ("--yes --budget-timeout=-1s", 2, "not negative"),
        ("--yes --victim-timeout soon", 2, "--victim-timeout"),
    ] {
        let ran = world.run(flags);
        assert_eq!(ran.code, code, "{flags}: {}", ran.text());
        assert!(ran.stderr.contains(said), "{flags}: {}", ran.text());
        assert_eq!(world.cluster.changes(), [""; 0], "{flags}");
    }
    assert_eq!(world.cluster.pods().len(), 2);
    let dry = answer(&world.run("--dry-run -o json"));
    assert_eq!((&dry["result"], &dry["dryRun"]), (&json!("planned"), &json!(true)));
    assert_eq!(dry["steps"][0]["check"]["result"], "allowed");
    let table = world.run("--dry-run");
    assert!(table.stdout.contains("allows it"), "{}", table.text());
    // Its rounds are those of explain; what the kubelet would write, it does not.
    let wide = world.run("--dry-run -o wide");
    assert_eq!(wide.code, 0, "{}", wide.text());
    assert!(wide.stdout.contains(": killed"), "{}", wide.text());
    assert!(!wide.stdout.contains("written to each victim"), "{}", wide.text());
}

#[test]
fn a_person_is_asked() {
    type Answer = fn(&mut super::interactive::HalfWay);
    let rows: [(&str, Answer, i32); 7] = [
        ("y", |it| it.answer("y"), 0),
        ("Yes", |it| it.answer("Yes"), 0),
        ("n", |it| it.answer("n"), 4),
        ("nothing", |it| it.answer(""), 4),
        ("something else", |it| it.answer("yesterday"), 4),
        ("the end of the input", |it| it.end_input(), 4),
        ("an interrupt", |it| it.interrupt(), -1),
    ];
    for (name, answer, code) in rows {
        let world = World::new("2", two());
        let root = world.node.root().display().to_string();
        let file = world.node.beside().join("dns.json").display().to_string();
        let mut arguments =
            ["preempt", "apply", &file, "--host-root", &root].map(str::to_owned).to_vec();
        let flags = world.cluster.flags(world.node.beside());
        arguments.extend(flags.split(' ').map(str::to_owned));
        let mut run = asking(&arguments);
        run.question();
        assert_eq!(world.cluster.changes(), [""; 0], "{name}: before the answer");
        answer(&mut run);
        let (ended, said) = run.end();
        assert_eq!(ended, code, "{name}: {said}");
        let count = world.cluster.changes().len();
        assert_eq!(count, if code == 0 { 1 } else { 0 }, "{name}: {said}");
        assert_eq!(said.contains("kq: nothing was changed"), code == 4, "{name}: {said}");
    }
}

#[test]
fn facts_of_files_are_only_shown() {
    let world = World::new("2", two());
    let files = [
        ("pods.json", json!({"apiVersion": "v1", "kind": "List", "items": two()})),
        ("node.json", node("2")),
    ];
    for (name, value) in files {
        std::fs::write(world.node.beside().join(name), value.to_string()).expect("a file");
    }
    let snapshot = format!(
        "snapshot -o snapshot.json --host-root {} {}",
        world.node.root().display(),
        world.cluster.flags(world.node.beside())
    );
    let ran = kq(&snapshot).within(world.node.beside()).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    for (flags, refused) in [
        ("--snapshot snapshot.json", "a snapshot cannot be changed"),
        ("--pods pods.json --node-file node.json", "--pods: pods in a file cannot be evicted"),
        ("--node-file node.json", "--node-file: pods in a file cannot be evicted"),
        ("--without shop/b", "--without: an assumption cannot be applied"),
    ] {
        let run = |flags: &str| match flags.contains("--snapshot") {
            // A stored node is not looked at.
            true => {
                kq(&format!("preempt apply dns.json {flags}")).within(world.node.beside()).run()
            }
            false => world.run(flags),
        };
        let ran = run(&format!("--yes {flags}"));
        assert_eq!(ran.code, 2, "{flags}: {}", ran.text());
        assert!(ran.stderr.contains(refused), "{flags}: {}", ran.text());
        assert!(ran.stderr.contains("hint: --dry-run shows the plan"), "{flags}: {}", ran.text());
        let ran = run(&format!("--dry-run -o json {flags}"));
        assert_eq!(ran.code, 0, "{flags}: {}", ran.text());
        assert_eq!(answer(&ran)["steps"][0]["check"]["result"], "notAsked", "{flags}");
    }
    assert_eq!(world.cluster.state().log, [""; 0]);
}

#[test]
fn a_pod_for_which_nobody_is_killed_is_told_why() {
    let mut mighty = pod("shop/a", "2");
    mighty["spec"]["priority"] = json!(2_000_001_000);
    let world = World::new("2", [mighty]);
    let ran = world.run("--yes");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("no set of running pods found"), "{}", ran.text());
    let helpless = answer(&world.run("--yes -o json"));
    assert_eq!((&helpless["result"], &helpless["steps"]), (&json!("helpless"), &json!([])));
    let ran = world.run("--yes --priority 5");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("it is not critical: no pod is killed for it"), "{}", ran.text());
    assert_eq!(world.cluster.state().log, [""; 0]);
}

#[test]
fn a_refusal_that_is_foreseen_changes_nothing() {
    let budget =
        Budget { name: "keep", pods: &["shop/b"], left: 0, more_at: None, retry_after: None };
    let world = World::new("1", [pod("shop/a", "400m"), pod("shop/b", "600m")]);
    world.cluster.state().budgets.push(budget);
    for flags in ["--yes", "--dry-run"] {
        let ran = world.run(flags);
        assert_eq!(ran.code, 4, "{flags}: {}", ran.text());
        assert!(ran.stdout.contains("The disruption budget keep needs 1"), "{}", ran.text());
        assert!(
            ran.stderr.contains("refused: the API server would refuse: shop/b"),
            "{}",
            ran.text()
        );
        assert!(ran.stderr.contains("hint: --budget-timeout waits"), "{}", ran.text());
    }
    let refused = answer(&world.run("--yes -o json"));
    assert_eq!(refused["result"], "refused");
    assert_eq!(refused["steps"][0]["check"]["result"], "budget");
    assert_eq!(refused["steps"][1]["check"]["result"], "allowed");
    assert_eq!(world.cluster.changes(), [""; 0]);

    for (flags, method, verb) in
        [("", "POST", "create on pods/eviction"), ("--like-kubelet", "DELETE", "delete on pods")]
    {
        let world = World::new("2", two());
        world.cluster.state().forbidden.insert(method);
        let ran = world.run(&format!("--yes {flags}"));
        assert_eq!(ran.code, 4, "{}", ran.text());
        assert!(ran.stdout.contains("is forbidden: User"), "{}", ran.text());
        assert!(ran.stdout.contains(&format!("needs the verb {verb}")), "{}", ran.text());
        assert_eq!(world.cluster.pods().len(), 2);
    }
}

#[test]
fn victims_that_nobody_can_ask_for_are_refused() {
    let mut mirror = pod("shop/b", "1");
    mirror["metadata"]["annotations"] =
        json!({"kubernetes.io/config.mirror": "h", "kubernetes.io/config.source": "file"});
    let mut odd = pod("shop/b", "1");
    odd["metadata"]["name"] = json!("b/../../../nodes/worker-1");
    let mut nameless = pod("shop/b", "1");
    nameless["metadata"]["uid"] = json!("");
    for (victim, code, said) in [
        (mirror, 1, "so no pod is killed"),
        (odd, 3, "missing: a pod that could not be read"),
        (nameless, 4, "refused: kq does not evict shop/b: metadata.uid"),
    ] {
        // Of another one that would have to go as well, the server is not asked either.
        let other = (code == 4).then(|| pod("shop/a", "400m"));
        let world = World::new("1", [victim].into_iter().chain(other));
        let ran = world.run("--yes --priority 2000001000");
        assert_eq!(ran.code, code, "{said}: {}", ran.text());
        assert!(ran.text().contains(said), "{said}: {}", ran.text());
        assert_eq!(world.cluster.state().log, [""; 0], "{said}");
        let lines = world.cluster.lines();
        assert!(lines.iter().all(|line| line.starts_with("GET ")), "{lines:?}");
    }
}

#[test]
fn a_server_that_cannot_be_asked_is_named() {
    let world = World::new("2", two());
    let kubelet = super::sources::Api::kubelet_saying(
        &super::made_up_node::configz("systemd"),
        &json!({"kind": "PodList", "apiVersion": "v1", "items": two()}),
    );
    let root = world.node.root().display().to_string();
    let line = format!("preempt apply dns.json --host-root {root} {} --yes", kubelet.flags());
    let ran = kq(&line).within(world.node.beside()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("the Node object is unknown"), "{}", ran.text());
}

#[test]
fn a_node_elsewhere_needs_the_api_server_alone() {
    let made = Node::new(Kernel::V2);
    let owned = |name: &str, cpu: &str, kind: &str| {
        let mut pod = pod(name, cpu);
        pod["metadata"]["ownerReferences"] =
            json!([{"kind": kind, "name": "o", "controller": true}]);
        pod
    };
    let mut elsewhere = node("3");
    elsewhere["status"]["nodeInfo"]["machineID"] = json!("0123456789abcdef0123456789abcdef");
    elsewhere["status"]["nodeInfo"]["bootID"] = json!("01234567-89ab-cdef-0123-456789abcdef");
    let pods = [
        owned("shop/web", "1", "ReplicaSet"),
        owned("shop/agent", "1", "DaemonSet"),
        pod("shop/bare", "1"),
    ];
    let cluster = Cluster::start(elsewhere, pods);
    let mut new = pod("kube-system/dns", "3");
    new["spec"]["priority"] = json!(2_000_000_000);
    new["metadata"]["uid"] = Value::Null;
    new["spec"]["nodeName"] = Value::Null;
    new["status"] = json!({});
    std::fs::write(made.beside().join("dns.json"), new.to_string()).expect("a file");
    let run = |flags: &str| {
        let access = cluster.flags(made.beside());
        kq(&format!("preempt apply dns.json {access} {flags} -o json")).within(made.beside()).run()
    };
    let dry = run("--node-name worker-1 --dry-run");
    let planned = answer(&dry);
    assert_eq!((dry.code, &planned["result"]), (0, &json!("planned")), "{}", dry.text());
    let said = planned.to_string();
    assert!(said.contains("this machine is not node worker-1"), "{said}");
    for note in [
        "shop/web: a controller makes a new pod",
        "shop/agent: its DaemonSet makes a new pod on worker-1",
        "shop/bare: no controller makes a new pod, so it is gone for good",
    ] {
        assert!(said.contains(note), "{note}: {said}");
    }
    assert_eq!(cluster.changes(), [""; 0]);
    let done = run("--node-name worker-1 --yes");
    assert_eq!((done.code, &answer(&done)["result"]), (0, &json!("done")), "{}", done.text());
    assert_eq!(cluster.changes().len(), 3);
    let unknown = kq(&format!(
        "preempt apply dns.json {} --node-name worker-9 --dry-run",
        cluster.flags(made.beside())
    ));
    let unknown = unknown.within(made.beside()).run();
    assert_eq!((unknown.code, &*unknown.stdout), (3, ""), "{}", unknown.text());
}
