//! `kq fleet apply` against the API server of `fleet_server`, whose nodes have files of cgroups.

use super::fake_node::FakeNode;
use super::fleet_api::{granted, needed};
use super::fleet_server::{Fleet, Kill};
use super::{Ran, kq};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

const POD: &str = "/kubepods/burstable/podaaaa-1";

/// The change of each node.
const CHANGE: &str = "-- cgroup apply --host-root root --kubelet-config kubelet.yaml --kubelet-url http://127.0.0.1:1 \
                      --pods pods.json --kubelet-version 1.36 --runtime runc=1.3.6 --rollback-file back.json";

/// A cluster with two nodes on which a value drifted.
struct Cluster {
    fleet: Fleet,
    nodes: [FakeNode; 2],
}

impl Cluster {
    fn drifting() -> Self {
        let (fleet, nodes) = (Fleet::start(), [FakeNode::as_planned(), FakeNode::as_planned()]);
        for (node, name) in nodes.iter().zip(["well-1", "well-2"]) {
            node.set(POD, "memory.max", "67108864");
            node.set(POD, "cpu.weight", "9999");
            let mut state = fleet.state.lock().expect("it is whole");
            state.folders.insert(name.to_owned(), node.folder());
        }
        Self { fleet, nodes }
    }

    fn line(&self, flags: &str) -> String {
        format!("fleet apply {} well-1 well-2 {flags} {CHANGE}", self.fleet.flags())
    }

    fn apply(&self, flags: &str) -> Ran {
        kq(&self.line(flags)).run()
    }

    fn record(&self) -> String {
        self.fleet.folder.path().join("record.jsonl").display().to_string()
    }

    /// Returns how many values of each node are not as planned.
    fn drift(&self) -> [usize; 2] {
        self.nodes.each_ref().map(|node| node.differences().len())
    }

    fn pods(&self) -> usize {
        self.fleet.state.lock().expect("it is whole").created.len()
    }

    /// Starts the change, and sends the signal that the server is to send.
    fn interrupted(&self, flags: &str, kill: Kill) -> Ran {
        self.fleet.state.lock().expect("it is whole").kill = Some(kill);
        let line = self.line(flags);
        let child = Command::new(env!("CARGO_BIN_EXE_kq"))
            .args(line.split_whitespace())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kq starts");
        if let Some(kill) = &mut self.fleet.state.lock().expect("it is whole").kill {
            kill.process = Some(Pid::from_child(&child));
        }
        // The guard process has standard error too, so that this is also its end.
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        // Without an exit code, it was killed.
        let code = output.status.code().unwrap_or(-1);
        Ran { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

#[test]
fn the_plans_are_shown_and_nothing_is_changed() {
    let cluster = Cluster::drifting();
    let before = cluster.drift();
    let ran = cluster.apply("--dry-run -o json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    let answer: Value = ran.answer();
    let items = answer["items"].as_array().expect("nodes");
    let digests: BTreeSet<&str> =
        items.iter().filter_map(|item| item["planDigest"].as_str()).collect();
    assert_eq!((items.len(), digests.len()), (2, 1), "equal plans have one digest: {answer}");
    assert!(items.iter().all(|item| item["state"] == "planned" && item["steps"] == 2), "{answer}");
    assert_eq!((&items[0]["isCanary"], &items[1]["isCanary"]), (&true.into(), &false.into()));
    // A person is asked, and is not there.
    let ran = cluster.apply("");
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("nodes: 2 planned\n"), "{}", ran.text());
    assert!(ran.stderr.contains("/host is writable in the pods that change"), "{}", ran.text());
    assert!(ran.stdout.contains("PLAN OF well-1, well-2\n"), "one plan: {}", ran.text());
    assert!(ran.stdout.contains("  shop/web memory.max: 67108864 -> max\n"), "{}", ran.text());
    assert_eq!(cluster.drift(), before);
    cluster.fleet.is_clean(&ran);
    assert_eq!(granted("apply"), needed(&cluster.fleet));
    let state = cluster.fleet.state.lock().expect("it is whole");
    let mounts = state.created.iter().map(|pod| &pod["spec"]["containers"][0]["volumeMounts"][0]);
    assert!(mounts.into_iter().all(|mount| mount["readOnly"] == true), "plans only read");
}

#[test]
fn nodes_change_one_after_the_other_and_a_record_says_so() {
    let cluster = Cluster::drifting();
    let record = cluster.record();
    let ran = cluster.apply(&format!("--yes --cordon --record {record}"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(cluster.drift(), [0, 0], "{}", ran.text());
    let done: Vec<&str> = ran.stdout.lines().filter(|line| line.contains(": done")).collect();
    assert_eq!(done, ["1/2 well-1: done", "2/2 well-2: done"], "{}", ran.text());
    cluster.fleet.is_clean(&ran);
    let events: Vec<Value> = fs::read_to_string(&record)
        .expect("a record")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let names: Vec<(&str, &str)> = events
        .iter()
        .map(|it| {
            (it["event"].as_str().unwrap_or_default(), it["node"].as_str().unwrap_or_default())
        })
        .collect();
    let of_node = |node| [("cordons", node), ("ended", node), ("uncordoned", node)];
    for node in ["well-1", "well-2"] {
        let has = |event: &(&str, &str)| names.contains(event);
        assert!(of_node(node).iter().all(has), "{names:?}");
    }
    assert_eq!((names[0], names[1]), (("begins", ""), ("changes", "well-1")));
    {
        let state = cluster.fleet.state.lock().expect("it is whole");
        let marks: Vec<(&str, bool)> =
            state.marks.iter().map(|(node, mark)| (node.as_str(), *mark)).collect();
        assert_eq!(
            marks,
            [("well-1", true), ("well-1", false), ("well-2", true), ("well-2", false)]
        );
        let mount = &state.created[2]["spec"]["containers"][0]["volumeMounts"][0];
        assert_eq!(mount["readOnly"], Value::Null, "a change writes");
    }
    assert_eq!(granted("apply --cordon -- cgroup apply"), needed(&cluster.fleet));
    // What is done is not planned again.
    let pods = cluster.pods();
    let ran = cluster.apply(&format!("--yes --resume {record}"));
    assert_eq!((ran.code, cluster.pods()), (0, pods), "{}", ran.text());
    assert!(ran.stderr.contains("nodes: 2 done before\n"), "{}", ran.text());
    // A record is never overwritten, and is of one command.
    let ran = cluster.apply(&format!("--yes --record {record}"));
    assert_eq!((ran.code, cluster.pods()), (4, pods), "{}", ran.text());
    assert!(ran.stderr.contains("it exists"), "{}", ran.text());
    let other = cluster.line(&format!("--yes --resume {record}")).replace("back.json", "b.json");
    let ran = kq(&other).run();
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("is the record of another command"), "{}", ran.text());
    // Two do not go on with one record, and none with that of another cluster.
    let held = fs::File::open(&record).expect("a record");
    held.lock().expect("it can be locked");
    let ran = cluster.apply(&format!("--yes --resume {record}"));
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("another kq continues it"), "{}", ran.text());
    drop(held);
    let text = fs::read_to_string(&record).expect("a record");
    let url = cluster.fleet.server.url("https");
    fs::write(&record, text.replace(&url, "https://other")).expect("written");
    let ran = cluster.apply(&format!("--yes --resume {record}"));
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("is a record of the nodes of https://other"), "{}", ran.text());
}

#[test]
fn a_plan_that_changed_is_refused_and_no_more_nodes_change() {
    let cluster = Cluster::drifting();
    let before = cluster.drift();
    let drift = |text| {
        let file = cluster.nodes[0].file(POD, "memory.max");
        let mut state = cluster.fleet.state.lock().expect("it is whole");
        state.drift.insert("well-1".to_owned(), (file, text));
    };
    drift("33554432\n");
    let ran = cluster.apply("--yes --cordon");
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stdout.contains("1/2 well-1: refused: the plan is sha256:"), "{}", ran.text());
    assert!(ran.stderr.contains("stopped: the canary well-1 failed"), "{}", ran.text());
    assert!(ran.stderr.contains("nodes: 1 refused, 1 not begun\n"), "{}", ran.text());
    assert_eq!(cluster.drift(), before);
    // Nothing was changed there, so that it needs no protection.
    assert!(cluster.fleet.state.lock().expect("it is whole").cordoned.is_empty());
    // Nor does the next one of the same wave.
    drift("50331648\n");
    let (ran, pods) = (cluster.apply("--yes --canary 0"), cluster.pods());
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("stopped: well-1 failed"), "{}", ran.text());
    assert_eq!((cluster.drift(), pods), (before, 6), "three pods each: {}", ran.text());
    // With a failure allowed, the other node changes.
    drift("16777216\n");
    let ran = cluster.apply("--yes --canary 0 --max-failures 1");
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert_eq!(cluster.drift(), [before[0], 0], "{}", ran.text());
    cluster.fleet.is_clean(&ran);
}

#[test]
fn a_node_that_failed_or_was_cordoned_before_stays_cordoned() {
    let cluster = Cluster::drifting();
    cluster.fleet.state.lock().expect("it is whole").cordoned.insert("well-2".to_owned(), None);
    // The rollback file is there already, so that nothing is written.
    fs::write(cluster.nodes[0].folder().join("back.json"), "{}").expect("a file");
    let ran = cluster.apply("--yes --cordon --canary 0 --max-failures 1");
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert_eq!(cluster.drift()[1], 0, "{}", ran.text());
    let state = cluster.fleet.state.lock().expect("it is whole");
    let cordoned: Vec<&str> = state.cordoned.keys().map(String::as_str).collect();
    let is_refused = ran.stdout.contains("well-1: refused");
    assert_eq!(cordoned, if is_refused { vec!["well-2"] } else { vec!["well-1", "well-2"] });
    assert!(state.marks.iter().all(|(node, _)| node == "well-1"), "{:?}", state.marks);
}

#[test]
fn only_what_kq_cordoned_is_uncordoned() {
    let cluster = Cluster::drifting();
    let record = cluster.record();
    // The rollback file is there already, so that nothing is written; a node that is open stays cordoned.
    let text = format!(
        "{}\n{}\n{}\n{}\n",
        r#"{"event":"begins","version":"kq-fleet-apply/v1","run":"r","server":"URL","command":[CHANGE]}"#,
        r#"{"event":"cordons","node":"well-1"}"#,
        r#"{"event":"changes","node":"well-1","planDigest":"d"}"#,
        r#"{"event":"cordons","node":"gone"}"#,
    );
    let words: Vec<String> =
        CHANGE.split_whitespace().skip(1).map(|word| format!("\"{word}\"")).collect();
    let url = format!("{}/", cluster.fleet.server.url("https"));
    let text = text.replace("URL", &url).replace("CHANGE", &words.join(","));
    fs::write(&record, text).expect("written");
    fs::write(cluster.nodes[0].folder().join("back.json"), "{}").expect("a file");
    let cordon = |node: &str, by: Option<&str>| {
        let mut state = cluster.fleet.state.lock().expect("it is whole");
        state.cordoned.insert(node.to_owned(), by.map(str::to_owned));
    };
    cordon("well-1", Some("r"));
    let ran = cluster.apply(&format!("--yes --canary 0 --max-failures 1 --resume {record}"));
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(ran.stderr.contains("warning: still cordoned: well-1, gone"), "{}", ran.text());
    assert!(cluster.fleet.state.lock().expect("it is whole").marks.is_empty());
    // It is changed now; meanwhile somebody else cordoned it.
    fs::remove_file(cluster.nodes[0].folder().join("back.json")).expect("it was there");
    cordon("well-1", None);
    let ran = cluster.apply(&format!("--yes --resume {record}"));
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(ran.stderr.contains("warning: still cordoned: gone\n"), "{}", ran.text());
    assert_eq!(cluster.drift(), [0, 0], "{}", ran.text());
    let state = cluster.fleet.state.lock().expect("it is whole");
    assert!(state.marks.is_empty() && state.cordoned.contains_key("well-1"));
}

#[test]
fn an_interrupt_lets_the_node_finish_and_begins_no_other() {
    let cluster = Cluster::drifting();
    let before = cluster.drift();
    let counted = Cluster::drifting();
    assert_eq!(counted.apply("--yes").code, 0);
    let requests = {
        let state = counted.fleet.state.lock().expect("it is whole");
        let (all, pods) = (state.requests, state.created.len());
        assert_eq!(pods, 4, "two plans and two changes");
        all
    };
    // The last request deletes the last pod; half of those of the second change earlier, the first one has not ended.
    let at = requests - 7;
    let kill = Kill { at, after: false, process: None, signal: Signal::INT, is_done: false };
    let ran = cluster.interrupted("--yes", kill);
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(ran.stderr.contains("interrupted: SIGINT: no more nodes are begun"), "{}", ran.text());
    assert_eq!(cluster.drift(), [0, before[1]], "{}", ran.text());
    assert!(ran.stderr.contains("nodes: 1 done, 1 not begun\n"), "{}", ran.text());
    cluster.fleet.is_clean(&ran);
}

#[test]
fn a_change_that_is_killed_at_any_request_can_be_continued() {
    let mut reached = 0;
    for at in 1.. {
        let cluster = Cluster::drifting();
        let record = cluster.record();
        let kill = Kill { at, after: true, process: None, signal: Signal::KILL, is_done: false };
        let ran = cluster.interrupted(&format!("--yes --cordon --record {record}"), kill);
        if ran.code != -1 {
            assert_eq!(ran.code, 0, "{at}: {}", ran.text());
            break;
        }
        reached += 1;
        {
            let state = cluster.fleet.state.lock().expect("it is whole");
            assert!(state.pods.is_empty(), "{at}: {:?}", state.pods);
        }
        // A rollback file of a node that was changed stays, and is not overwritten.
        for node in &cluster.nodes {
            let _ = fs::rename(node.folder().join("back.json"), node.folder().join("back-1.json"));
        }
        let flag =
            if fs::exists(&record).expect("it can be seen") { "--resume" } else { "--record" };
        let cordon = if at % 2 == 0 { "--cordon" } else { "" };
        let ran = cluster.apply(&format!("--yes {cordon} {flag} {record}"));
        assert_eq!(ran.code, 0, "{at}: {}", ran.text());
        for node in &cluster.nodes {
            let texts = [node.get(POD, "memory.max"), node.get(POD, "cpu.weight")];
            assert_ne!(texts, ["67108864", "9999"], "{at}: {}", ran.text());
            assert!(!texts.contains(&"9999".to_owned()), "{at}: {}", ran.text());
        }
        let state = cluster.fleet.state.lock().expect("it is whole");
        assert!(state.cordoned.is_empty(), "{at}: {:?}: {}", state.cordoned, ran.text());
    }
    assert!(reached > 10, "{reached}");
}

#[test]
fn only_changes_that_pods_can_make_are_taken() {
    let fleet = Fleet::start();
    for (line, expected) in [
        ("-- doctor --host-root x", "kq doctor --host-root x: not a change"),
        ("-- doctor", "kq doctor: not a change"),
        ("-- devices repair --remove-stale", "devices repair needs a stopped kubelet"),
        ("-- preempt apply p.yaml", "preempt apply p.yaml: not a change"),
        ("-- gc apply --yes", "--dry-run, --yes, --plan-digest and -o are set for each node"),
        (
            "-- gc apply --plan-digest x",
            "--dry-run, --yes, --plan-digest and -o are set for each node",
        ),
        ("-o json -- gc apply", "-o json and yaml show no plan to confirm"),
        ("--max-unavailable 0 -- gc apply", "expected a number of nodes"),
        ("--record a --resume b -- gc apply", "cannot be used with"),
        ("--resume /nowhere -- gc apply", "/nowhere"),
        ("-- cgroup apply --rollback-file /root/b", "in a pod, the files of the node are in /host"),
    ] {
        let ran = kq(&format!("fleet apply {} {line}", fleet.flags())).run();
        assert!(matches!(ran.code, 2 | 4), "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
    }
    assert_eq!(fleet.state.lock().expect("it is whole").requests, 0);
}
