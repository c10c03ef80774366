//! `kq preempt apply` where something goes wrong, or changes, half-way.

use super::cluster::{Budget, Cluster, Fault, pod};
use super::preempt_apply::{World, answer, pairs, results};
use super::{Ran, kq};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// A node on which both pods have to go, `shop/b` first.
fn both() -> World {
    World::new("1", [pod("shop/a", "400m"), pod("shop/b", "600m")])
}

fn budget(left: u32, more_in: Option<u64>, retry_after: Option<u64>) -> Budget {
    Budget {
        name: "keep",
        pods: &["shop/a", "shop/b"],
        left,
        more_at: more_in.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        retry_after,
    }
}

/// Waits until something was asked to be changed.
fn begun(cluster: &Cluster) {
    let until = Instant::now() + Duration::from_secs(30);
    while cluster.changes().is_empty() {
        assert!(Instant::now() < until, "nothing was changed");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_budget_is_waited_for_as_long_as_is_said() {
    let world = both();
    world.cluster.state().budgets.push(budget(1, Some(3), Some(1)));
    let ran = world.run("--yes --budget-timeout 30s -o json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    let changes = world.cluster.changes();
    assert_eq!(changes.first().map(String::as_str), Some("POST shop/b 1s: 201"));
    assert_eq!(changes.get(1).map(String::as_str), Some("POST shop/a 1s: 429"), "{changes:?}");
    assert_eq!(changes.last().map(String::as_str), Some("POST shop/a 1s: 201"), "{changes:?}");

    // Without a word on when to ask again, and with nothing that could be asked before.
    let world = World::new("1", [pod("shop/b", "600m")]);
    world.cluster.state().budgets.push(budget(0, Some(1), None));
    let ran = world.run("--yes --budget-timeout 2s");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 429", "POST shop/b 1s: 201"]);
}

#[test]
fn a_budget_that_is_used_up_stops_it() {
    // Each alone would be allowed.
    let world = both();
    world.cluster.state().budgets.push(budget(1, None, None));
    let ran = world.run("--yes");
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 201", "POST shop/a 1s: 429"]);
    assert_eq!(world.cluster.pods(), ["shop/a"]);
    assert!(ran.stdout.contains("2/2 shop/a: refused: Cannot evict pod"), "{}", ran.text());
    assert!(ran.stdout.contains("The disruption budget keep needs 1"), "{}", ran.text());
    assert!(ran.stderr.contains("stopped: shop/a stays; 1 gone, 1 refused"), "{}", ran.text());

    // It is asked for the last time when the time is over, though the server wants to be asked later.
    for retry_after in [None, Some(60)] {
        let world = both();
        world.cluster.state().budgets.push(budget(0, None, retry_after));
        let begun = Instant::now();
        let ran = world.run("--yes --budget-timeout 1s -o json");
        assert_eq!(ran.code, 4, "nothing was changed: {}", ran.text());
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", ran.text());
        assert_eq!(results(&answer(&ran)), pairs(&[("shop/b", "refused"), ("shop/a", "left")]));
        assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 429"; 2]);
        assert_eq!(world.cluster.pods().len(), 2);
        let waits = "waiting: up to 1s for a disruption budget of shop/b: Cannot evict pod";
        assert_eq!(ran.stderr.matches(waits).count(), 1, "{}", ran.text());
    }
}

#[test]
fn what_becomes_of_a_request_is_found_out() {
    // What goes wrong, the exit code, what becomes of the victim, and a part of why.
    let rows: [(Fault, i32, &str, &str); 10] = [
        (Fault::CutAfter, 0, "removed", ""),
        (Fault::CutBefore, 5, "unknown", "the server closed the connection; it is still there"),
        (Fault::Slow(Duration::from_secs(6)), 5, "unknown", "took more than 1s"),
        (Fault::DoneAndSays(504, "timed out"), 0, "removed", ""),
        (Fault::DoneAndSays(500, "etcd"), 0, "removed", ""),
        (Fault::DoneAndSays(503, "away"), 0, "removed", ""),
        (Fault::Says(500, "more than one PodDisruptionBudget"), 4, "refused", "more than one"),
        (
            Fault::Says(403, "a webhook denied it"),
            4,
            "refused",
            "answered 403 Forbidden: a webhook denied it",
        ),
        (Fault::Vanishes, 0, "alreadyGone", ""),
        (Fault::IsReplaced, 4, "replaced", "its UID is uid-other now"),
    ];
    for (fault, code, result, because) in rows {
        let world = World::new("1", [pod("shop/b", "600m")]);
        world.cluster.state().faults.insert(("POST", "shop/b"), vec![fault.clone()]);
        let ran = world.run("--yes --timeout 1s -o json");
        assert_eq!(ran.code, code, "{fault:?}: {}", ran.text());
        let answer = answer(&ran);
        assert_eq!(results(&answer), pairs(&[("shop/b", result)]), "{fault:?}");
        let said = answer["steps"][0]["because"].as_str().unwrap_or_default();
        assert!(said.contains(because), "{fault:?}: {said}");
        if matches!(fault, Fault::DoneAndSays(..)) {
            // It is found out what became of it, and it is not asked for again.
            assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 201"], "{fault:?}");
        }
    }
}

#[test]
fn it_goes_on_while_the_server_stumbles() {
    let world = World::new("1", [pod("shop/b", "600m")]);
    let faults = vec![Fault::CutBefore, Fault::Says(500, "etcd")];
    world.cluster.state().faults.insert(("GET", "shop/b"), faults);
    let ran = world.run("--yes");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("1/1 shop/b: evicted, gone after"), "{}", ran.text());
    assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 201"]);
}

#[test]
fn the_node_is_looked_at_again_where_that_fails() {
    for (what, because, faults) in [
        (
            "node",
            "answered 503 Service Unavailable: away",
            vec![Fault::Says(503, "away"), Fault::Says(500, "etcd"), Fault::CutBefore],
        ),
        (
            "pods",
            "answered 429 Too Many Requests: busy",
            vec![Fault::Says(429, "busy"), Fault::CutBefore],
        ),
    ] {
        let world = both();
        let ran = scope(|threads| {
            let runs = threads.spawn(|| world.run("--yes"));
            begun(&world.cluster);
            // The first one takes a second to go.
            world.cluster.state().faults.insert(("GET", what), faults);
            runs.join().expect("kq ran")
        });
        assert_eq!(ran.code, 0, "{what}: {}", ran.text());
        assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 201", "POST shop/a 1s: 201"]);
        let waits = "waiting: up to 30s until the node can be read: ";
        let mut said = ran.stderr.lines().filter(|line| line.starts_with(waits));
        assert!(said.next().is_some_and(|line| line.contains(because)), "{what}: {}", ran.text());
        assert_eq!(said.next(), None, "{what}: {}", ran.text());
        assert_eq!(world.cluster.state().faults[&("GET", what)].len(), 0, "{what}");
    }
}

#[test]
fn a_victim_that_is_deleted_already_is_waited_for() {
    let mut deleted = pod("shop/b", "600m");
    deleted["metadata"]["deletionTimestamp"] = json!("2026-11-22T00:00:00Z");
    let world = World::new("1", [deleted, pod("shop/a", "400m")]);
    let ran = scope(|threads| {
        let runs = threads.spawn(|| world.run("--yes -o json"));
        sleep(Duration::from_millis(1500));
        assert_eq!(world.cluster.changes(), [""; 0], "it is not asked for again");
        world.cluster.state().pods.remove("shop/b");
        runs.join().expect("kq ran")
    });
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(results(&answer(&ran)), pairs(&[("shop/b", "alreadyGone"), ("shop/a", "removed")]));
    assert_eq!(world.cluster.changes(), ["POST shop/a 1s: 201"]);
}

#[test]
fn nobody_goes_for_a_pod_that_may_be_gone() {
    // A finalizer keeps it; whether its containers still run only the runtime knows.
    for (until, code) in [("2026-01-01T00:00:00Z", 4), ("2126-01-01T00:00:00Z", 0)] {
        let mut going = pod("shop/going", "400m");
        going["metadata"]["deletionTimestamp"] = json!(until);
        going["spec"]["priority"] = json!(2_000_000_000);
        let world = World::new("1600m", [going, pod("shop/b", "600m")]);
        let ran = world.run("--yes");
        assert_eq!(ran.code, code, "{}", ran.text());
        let said = "missing: whether shop/going still runs: its termination grace period is over (--runtime-endpoint)";
        assert_eq!(ran.stderr.contains(said), code == 4, "{}", ran.text());
        let left = if code == 4 { 2 } else { 1 };
        assert_eq!(world.cluster.pods().len(), left, "{}", ran.text());
    }
}

#[test]
fn nobody_goes_who_was_not_shown() {
    let mut later = pod("shop/b", "600m");
    later["metadata"]["uid"] = json!("uid-later");
    let mut other = pod("shop/a", "400m");
    other["metadata"]["uid"] = json!("uid-other");
    type Row = (Vec<Value>, &'static str, [(&'static str, &'static str); 2]);
    let rows: [Row; 3] = [
        (
            vec![pod("x/new", "600m")],
            "x/new would now be evicted, but was not in the plan",
            [("shop/b", "removed"), ("shop/a", "left")],
        ),
        (
            vec![later],
            "shop/b would now be evicted, but is not the pod of the plan",
            [("shop/b", "removed"), ("shop/a", "left")],
        ),
        (
            vec![other],
            "shop/a would now be evicted, but is not the pod of the plan",
            [("shop/b", "removed"), ("shop/a", "replaced")],
        ),
    ];
    for (follow, stopped, expected) in rows {
        let world = both();
        world.cluster.state().follow.insert("shop/b", follow);
        let ran = world.run("--yes -o json");
        assert_eq!(ran.code, 5, "{}", ran.text());
        let answer = answer(&ran);
        assert_eq!((&answer["result"], &answer["because"]), (&json!("stopped"), &json!(stopped)));
        assert_eq!(results(&answer), pairs(&expected));
        assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 201"]);
    }
}

#[test]
fn a_plan_that_nobody_can_read_is_not_carried_out() {
    let world = both();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let root = world.node.root().display().to_string();
    let flags = world.cluster.flags(world.node.beside());
    let line = format!("preempt apply dns.json --yes --host-root {root} {flags}");
    let ran = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(line.split_whitespace())
        .env_clear()
        .current_dir(world.node.beside())
        .stdout(writer)
        .output()
        .expect("kq runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(4), "{said}");
    assert!(said.contains("the plan could not be shown, so nothing was changed"), "{said}");
    assert_eq!(world.cluster.changes(), [""; 0]);

    // What is refused is so, whoever reads it.
    world.cluster.state().budgets.push(budget(0, None, None));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ran = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(format!("{line} -o json").split_whitespace())
        .env_clear()
        .current_dir(world.node.beside())
        .stdout(writer)
        .output()
        .expect("kq runs");
    assert_eq!(ran.status.code(), Some(4), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_pod_that_runs_already_costs_no_victim() {
    let mut runs = pod("kube-system/waits", "1");
    runs["spec"]["priority"] = json!(2_000_000_000);
    let world = World::new("1", [pod("shop/a", "400m"), pod("shop/b", "600m"), runs]);
    let flags = world.cluster.flags(world.node.beside());
    let root = world.node.root().display().to_string();
    let line = format!("preempt apply kube-system/waits --yes --host-root {root} {flags}");
    let ran = kq(&format!("{line} -o json")).run();
    assert_eq!((ran.code, &answer(&ran)["result"]), (1, &json!("helpless")), "{}", ran.text());
    assert_eq!(world.cluster.changes(), [""; 0]);
    let ran = kq(&line).run();
    let because = "kube-system/waits on worker-1: it already runs on the node: the kubelet kills no pods for an \
                   admitted pod\n";
    assert_eq!((ran.code, &*ran.stdout), (1, because), "{}", ran.text());
    let ran = kq(&format!("{line} --priority 2000001000")).run();
    assert_eq!((ran.code, &*ran.stdout), (2, ""), "{}", ran.text());
    assert!(ran.stderr.contains("--priority: kube-system/waits has its own"), "{}", ran.text());

    // One that pulls its images is taken in as well; and so it is where a file has it from before.
    let mut starts = world.cluster.state().pods["kube-system/waits"].clone();
    starts["status"] = json!({"phase": "Pending"});
    std::fs::write(world.node.beside().join("waits.json"), starts.to_string()).expect("a file");
    starts["status"]["startTime"] = json!("2026-11-22T00:00:00Z");
    world.cluster.state().pods.insert("kube-system/waits".to_owned(), starts);
    for line in [line.clone(), line.replace("kube-system/waits", "waits.json")] {
        let ran = kq(&line).within(world.node.beside()).run();
        assert_eq!((ran.code, &*ran.stdout), (1, because), "{}", ran.text());
    }
    let mut deleted = world.cluster.state().pods["kube-system/waits"].clone();
    deleted["status"] = json!({"phase": "Pending"});
    deleted["metadata"]["deletionTimestamp"] = json!("2026-11-22T00:00:00Z");
    world.cluster.state().pods.insert("kube-system/waits".to_owned(), deleted);
    let ran = kq(&line).run();
    let because = "kube-system/waits on worker-1: it is being deleted: no pod is evicted for it\n";
    assert_eq!((ran.code, &*ran.stdout), (1, because), "{}", ran.text());
    assert_eq!(world.cluster.changes(), [""; 0]);
}

#[test]
fn a_pod_that_nobody_can_help_any_more_costs_no_victim() {
    for (change, stopped) in [
        ("gone", "kube-system/waits is no longer on this node"),
        ("failed", "its phase is Failed now"),
        ("deleted", "it is being deleted: no pod is evicted for it"),
        ("mighty", "killing all pods of lower priority is not enough"),
    ] {
        let mut waits = pod("kube-system/waits", "1");
        waits["spec"]["priority"] = json!(2_000_000_000);
        waits["status"] = json!({"phase": "Pending"});
        let world = World::new("1", [pod("shop/a", "400m"), pod("shop/b", "600m"), waits]);
        let flags = world.cluster.flags(world.node.beside());
        let root = world.node.root().display().to_string();
        let line =
            format!("preempt apply kube-system/waits --yes -o json --host-root {root} {flags}");
        let ran = scope(|threads| {
            let runs = threads.spawn(|| kq(&line).run());
            begun(&world.cluster);
            let mut state = world.cluster.state();
            match change {
                "gone" => _ = state.pods.remove("kube-system/waits"),
                "failed" => {
                    let pod = state.pods.get_mut("kube-system/waits").expect("it is there");
                    pod["status"]["phase"] = json!("Failed");
                }
                "deleted" => {
                    let pod = state.pods.get_mut("kube-system/waits").expect("it is there");
                    pod["metadata"]["deletionTimestamp"] = json!("2026-11-22T00:00:00Z");
                }
                _ => {
                    let pod = state.pods.get_mut("shop/a").expect("it is there");
                    pod["spec"]["priority"] = json!(2_000_001_000);
                }
            }
            drop(state);
            runs.join().expect("kq ran")
        });
        assert_eq!(ran.code, 5, "{change}: {}", ran.text());
        let because = answer(&ran)["because"].clone();
        assert!(because.as_str().is_some_and(|it| it.contains(stopped)), "{change}: {because}");
        assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 201"], "{change}");
    }
}

#[test]
fn a_victim_that_does_not_go_stops_it() {
    let world = both();
    world.cluster.state().stuck.insert("shop/b");
    let ran = world.run("--yes --victim-timeout 1200ms");
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(ran.stdout.contains("1/2 shop/b: evicted, still going after 1."), "{}", ran.text());
    let stopped = "stopped: shop/b is still going after 1 s; 1 still going, 1 left alone";
    assert!(ran.stderr.contains(stopped), "{}", ran.text());
    assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 201"]);

    // The kubelet goes on to the next; that it fits is not said before it does.
    let world = both();
    world.cluster.state().stuck.insert("shop/b");
    let ran = world.run("--yes --like-kubelet --victim-timeout 1200ms -o json");
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert_eq!(results(&answer(&ran)), pairs(&[("shop/b", "going"), ("shop/a", "removed")]));
    assert_eq!(world.cluster.changes(), ["DELETE shop/b 1s: 200", "DELETE shop/a 1s: 200"]);
}

/// Starts `kq preempt apply --yes`, to which signals can be sent.
fn start(world: &World, flags: &str) -> Child {
    let root = world.node.root().display().to_string();
    let cluster = world.cluster.flags(world.node.beside());
    Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(["preempt", "apply", "dns.json", "--yes", "--host-root", &root])
        .args(cluster.split(' ').chain(flags.split_whitespace()))
        .current_dir(world.node.beside())
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kq runs")
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        code: output.status.code().expect("it ends by itself"),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it can be told");
}

#[test]
fn a_signal_ends_it_between_two_steps() {
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM")] {
        let world = both();
        world.cluster.state().stuck.insert("shop/b");
        let child = start(&world, "");
        begun(&world.cluster);
        // It is answered, and waits.
        sleep(Duration::from_millis(600));
        send(&child, signal);
        let ran = ended(child);
        assert_eq!(ran.code, 5, "{}", ran.text());
        let heard = format!("stopping: {name}: after this step; a second signal ends kq at once");
        assert!(ran.stderr.contains(&heard), "{}", ran.text());
        assert!(ran.stderr.contains(&format!("stopped: interrupted by {name};")), "{}", ran.text());
        assert!(ran.stdout.contains("1/2 shop/b: evicted, still going"), "{}", ran.text());
        assert_eq!(world.cluster.changes(), ["POST shop/b 1s: 201"]);
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    // The look for the plan is answered, and the one after it is not; or the eviction is not.
    let looks = vec![Fault::Slow(Duration::ZERO), Fault::Slow(Duration::from_secs(60))];
    let removals = vec![Fault::Slow(Duration::from_secs(60))];
    for (key, faults, code, said) in [
        (("GET", "pods"), looks, 4, "nothing was changed"),
        (("POST", "shop/b"), removals, 5, "the results above are all that is known"),
    ] {
        let world = both();
        world.cluster.state().faults.insert(key, faults);
        let child = start(&world, "--timeout 30s");
        let until = Instant::now() + Duration::from_secs(30);
        while !world.cluster.state().faults[&key].is_empty() {
            assert!(Instant::now() < until, "it was never asked");
            sleep(Duration::from_millis(20));
        }
        sleep(Duration::from_millis(200));
        send(&child, Signal::INT);
        sleep(Duration::from_millis(200));
        send(&child, Signal::TERM);
        let ran = ended(child);
        assert_eq!(ran.code, code, "{}", ran.text());
        assert!(ran.stderr.contains("stopping: SIGINT: after this step"), "{}", ran.text());
        let said = format!("stopped: at once, by a second signal: {said}");
        assert!(ran.stderr.contains(&said), "{}", ran.text());
    }
}

#[test]
fn all_pages_are_read_each_time() {
    let pods = (0..5).map(|at| pod(&format!("shop/p{at}"), "400m"));
    let world = World::new("2", pods);
    let ran = world.run("--yes");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(world.cluster.changes().len(), 3, "{:?}", world.cluster.changes());
    let continued = world.cluster.lines().iter().filter(|it| it.contains("continue=")).count();
    assert!(continued >= 6, "{:?}", world.cluster.lines());
}
