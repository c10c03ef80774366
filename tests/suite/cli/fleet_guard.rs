//! What is left of `kq fleet run` that was killed: nothing, and what `kq fleet clean` does about pods that are left nevertheless.

use super::fleet_server::{Fleet, Kill};
use super::kq;
use super::made_up_node::{Kernel, Node};
use rustix::process::{Pid, Signal};
use std::process::{Command, Output, Stdio};
use std::thread;

/// More requests than a run on the nodes of the tests sends.
const MOST: usize = 40;

fn start(fleet: &Fleet, nodes: &str, root: &str) -> Output {
    let flags = fleet.flags();
    let mut arguments: Vec<&str> = vec!["fleet", "run"];
    arguments.extend(nodes.split(' '));
    arguments.extend("--yes --timeout 20s".split(' '));
    arguments.extend(flags.split(' '));
    arguments.extend(["--", "cgroup", "show", "--host-root", root]);
    let child = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kq starts");
    if let Some(kill) = &mut fleet.state.lock().expect("it is whole").kill {
        kill.process = Some(Pid::from_child(&child));
    }
    // The guard process has standard error too, so that this is also its end.
    child.wait_with_output().expect("it ends")
}

/// Kills a run at a request, and returns whether it got so far.
fn killed(nodes: &str, root: &str, at: usize, after: bool) -> bool {
    let fleet = Fleet::start();
    let kill = Kill { at, after, process: None, signal: Signal::KILL, is_done: false };
    fleet.state.lock().expect("it is whole").kill = Some(kill);
    let output = start(&fleet, nodes, root);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let state = fleet.state.lock().expect("it is whole");
    let is_killed = state.kill.is_some_and(|kill| kill.is_done);
    assert_eq!(output.status.code().is_none(), is_killed, "{at} {after}: {stderr}");
    let left: Vec<&String> = state.pods.keys().collect();
    assert!(left.is_empty(), "{at} {after}: {left:?}: {stderr}");
    assert!(!stderr.contains("left behind"), "{at} {after}: {stderr}");
    is_killed
}

#[test]
fn a_run_that_is_killed_at_any_request_leaves_nothing() {
    let node = Node::new(Kernel::V2);
    let root = node.root().display().to_string();
    for after in [false, true] {
        // The last request of the run, and all before it.
        let kills = |at: &usize| killed("well-1 lost", &root, *at, after);
        let mut reached = 0;
        for four in (1..MOST).collect::<Vec<_>>().chunks(4) {
            let done: Vec<bool> = thread::scope(|scope| {
                let all: Vec<_> = four.iter().map(|at| scope.spawn(move || kills(at))).collect();
                all.into_iter().map(|it| it.join().expect("no panic")).collect()
            });
            reached += done.iter().filter(|is_killed| **is_killed).count();
            if done.contains(&false) {
                break;
            }
        }
        assert!((8..MOST - 1).contains(&reached), "{reached} requests");
    }
}

#[test]
fn pods_of_a_killed_run_are_deleted_while_deletions_fail() {
    let node = Node::new(Kernel::V2);
    let fleet = Fleet::start();
    {
        let mut state = fleet.state.lock().expect("it is whole");
        state.kill =
            Some(Kill { at: 5, after: true, process: None, signal: Signal::KILL, is_done: false });
        state.faults_of_deletions = 3;
    }
    let output = start(&fleet, "silent", &node.root().display().to_string());
    assert_eq!(output.status.code(), None);
    let state = fleet.state.lock().expect("it is whole");
    assert!(state.pods.is_empty() && !state.created.is_empty(), "{:?}", state.pods);
}

#[test]
fn a_guard_without_a_run_deletes_only_pods_of_its_run() {
    let fleet = Fleet::start();
    fleet.add_pod("kq-fleet-a-0", "a", "2026-01-01T00:00:00Z");
    fleet.add_pod("kq-fleet-b-0", "b", "2026-01-01T00:00:00Z");
    // Another client read the label of the run, and not the secret of a pod.
    fleet.add_pod("kq-fleet-a-1", "a", "2026-01-01T00:00:00Z");
    let planned = |name: &str, secret: &str| {
        format!("{{\"step\":\"planned\",\"name\":\"{name}\",\"secret\":\"{secret}\"}}\n")
    };
    let steps = [
        planned("kq-fleet-a-0", "secret-of-kq-fleet-a-0"),
        planned("kq-fleet-a-1", "another"),
        planned("kq-fleet-b-0", "another"),
        planned("../../nodes/x", ""),
        "garbage\n{\"step\":\"clo".to_owned(),
    ];
    let steps = steps.concat();
    let flags = fleet.flags().replace(" --image kq:test", "");
    let ran =
        kq(&format!("fleet guard --namespace kube-system --run a {flags}")).stdin(steps).run();
    let state = fleet.state.lock().expect("it is whole");
    let left: Vec<&String> = state.pods.keys().collect();
    assert_eq!(left, ["kq-fleet-a-1", "kq-fleet-b-0"], "{}", ran.text());
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "ready\n", ""));
}

#[test]
fn pods_that_outlived_their_run_are_named_and_cleaned() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    let now = jiff::Timestamp::now().to_string();
    fleet.add_pod("kq-fleet-old-0", "old", "2026-01-01T00:00:00Z");
    fleet.add_pod("kq-fleet-old-1", "old", "2026-01-01T00:00:00Z");
    fleet.add_pod("kq-fleet-new-0", "new", &now);
    let root = node.root().display().to_string();
    let line =
        format!("fleet run {} well-1 --yes -- cgroup show --host-root {root}", fleet.flags());
    let ran = kq(&line).run();
    let expected =
        "warning: 2 pods of earlier runs outlived their deadline; kq fleet clean -n kube-system";
    assert!(ran.stderr.contains(expected), "{}", ran.text());
    let flags = fleet.flags().replace(" --image kq:test", "");
    for (line, code, expected) in [
        ("", 4, "plan: delete pod kube-system/kq-fleet-old-1 on earlier: Succeeded, created"),
        ("--dry-run", 0, "kept: 1 pods of runs that may not have ended"),
        ("--dry-run -n other", 3, "the pods of fleets: "),
    ] {
        let ran = kq(&format!("fleet clean {flags} {line}")).run();
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
    }
    assert_eq!(fleet.state.lock().expect("it is whole").pods.len(), 3);
    fleet.state.lock().expect("it is whole").faults_of_deletions = 1;
    let ran = kq(&format!("fleet clean {flags} --yes")).run();
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert_eq!(ran.stdout, "deleted pod kube-system/kq-fleet-old-1\n", "{}", ran.text());
    assert!(
        ran.stderr.contains("pod kube-system/kq-fleet-old-0 was not deleted"),
        "{}",
        ran.text()
    );
    let ran = kq(&format!("fleet clean {flags} --yes --pods-of new")).run();
    assert_eq!((ran.code, &*ran.stdout), (0, "deleted pod kube-system/kq-fleet-new-0\n"));
    assert_eq!(kq(&format!("fleet clean {flags} --yes")).run().code, 0);
    let ran = kq(&format!("fleet clean {flags}")).run();
    assert!(ran.stderr.contains("no pod of an earlier run is left"), "{}", ran.text());
    // Who may not list pods can run all the same.
    fleet.state.lock().expect("it is whole").hides_pods = true;
    let ran = kq(&line).run();
    assert!(ran.stderr.contains("warning: pods of earlier runs: "), "{}", ran.text());
    assert_eq!(kq(&format!("fleet clean {flags}")).run().code, 3);
}

#[test]
fn a_closed_pipe_hides_no_pod_that_was_not_deleted() {
    let fleet = Fleet::start();
    fleet.add_pod("kq-fleet-old-0", "old", "2026-01-01T00:00:00Z");
    fleet.add_pod("kq-fleet-old-1", "old", "2026-01-01T00:00:00Z");
    fleet.state.lock().expect("it is whole").faults_of_deletions = 1;
    let flags = fleet.flags().replace(" --image kq:test", "");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(format!("fleet clean {flags} --yes").split(' '))
        .env_clear()
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .expect("kq runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains("pod kube-system/kq-fleet-old-0 was not deleted"), "{stderr}");
    assert_eq!(fleet.state.lock().expect("it is whole").pods.len(), 1);
}
