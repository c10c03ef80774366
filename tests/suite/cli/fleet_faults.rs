//! `kq fleet run` where something around the nodes goes wrong, against the API server of `fleet_server`.

use super::fleet_server::{Fleet, clock};
use super::kq;
use super::made_up_node::{Kernel, Node};
use serde_json::Value;
use std::thread;

fn line(fleet: &Fleet, node: &Node, more: &str) -> String {
    let root = node.root();
    let root = root.display();
    format!(
        "fleet run {} -l well=true --yes {more} -- cgroup show --host-root {root}",
        fleet.flags()
    )
}

#[test]
fn two_fleets_at_once_have_each_its_own_pods() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    let line = line(&fleet, &node, "-o json");
    let both = thread::scope(|scope| {
        let one = scope.spawn(|| kq(&line).run());
        let other = kq(&line).run();
        [one.join().expect("it ran"), other]
    });
    for ran in &both {
        let answer: Value = ran.answer();
        assert_eq!(answer["nodes"]["answered"], 2, "{}", ran.text());
        fleet.is_clean(ran);
    }
    assert_eq!(both[0].stdout, both[1].stdout);
    let state = fleet.state.lock().expect("it is whole");
    let run = |pod: &Value| pod["metadata"]["labels"]["kq.fleet/run"].to_string();
    let mut runs: Vec<String> = state.created.iter().map(run).collect();
    runs.sort();
    assert_eq!(runs.len(), 4);
    assert!(runs[0] == runs[1] && runs[1] != runs[2] && runs[2] == runs[3], "{runs:?}");
}

#[test]
fn a_token_that_expires_is_named_at_every_request() {
    let node = Node::new(Kernel::V2);
    let requests = {
        let fleet = Fleet::start();
        assert!(kq(&line(&fleet, &node, "")).run().stderr.contains("2 of 2 nodes answered"));
        fleet.state.lock().expect("it is whole").requests
    };
    for end in 1..=requests {
        let fleet = Fleet::start();
        fleet.state.lock().expect("it is whole").token_ends_at = Some(end);
        let ran = kq(&line(&fleet, &node, "--timeout 2s")).run();
        let state = fleet.state.lock().expect("it is whole");
        let left: Vec<&String> = state.pods.keys().collect();
        let expected = if left.is_empty() { 3 } else { 5 };
        assert_eq!(ran.code, expected, "{end}: {left:?}: {}", ran.text());
        assert!(ran.stderr.contains("Unauthorized"), "{end}: {}", ran.text());
        for name in left {
            assert!(ran.stderr.contains(name.as_str()), "{end}: {name}: {}", ran.text());
        }
    }
}

#[test]
fn a_pod_of_another_client_is_not_taken_as_the_answer() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    let root = node.root().display().to_string();
    let line =
        format!("fleet run {} well-1 --yes -- cgroup show --host-root {root}", fleet.flags());
    let squat = |squat| fleet.state.lock().expect("it is whole").squat = Some(squat);
    // The pod is this run's although its name was taken: the first answer to its creation was lost.
    squat(("/metadata/labels/other", "label".into()));
    let ran = kq(&line).run();
    assert!(ran.stderr.contains("1 of 1 node answered"), "{}", ran.text());
    fleet.is_clean(&ran);
    for (at, other, expected) in [
        // All but the secret can be read and copied.
        ("/spec/containers/0/image", "other:1".into(), "spec.containers.image differs"),
        ("/spec/nodeName", "well-2".into(), "spec.nodeName differs"),
        ("/spec/containers/0/command/4", "version".into(), "spec.containers.command differs"),
        (
            "/spec/containers/0/env",
            serde_json::json!([{"name": "LD_PRELOAD", "value": "/host/tmp/x"}]),
            "env differs",
        ),
        (
            "/metadata/annotations/kq.fleet~1secret",
            "0".repeat(24).into(),
            "another client has a pod",
        ),
        ("/metadata/annotations", Value::Null, "another client has a pod"),
    ] {
        {
            let mut state = fleet.state.lock().expect("it is whole");
            (state.deleted, state.pods) = Default::default();
        }
        squat((at, other));
        let ran = kq(&line).run();
        // A pod that has the secret may be this run's, so that it is named.
        let code = if expected.contains("another") { 3 } else { 5 };
        assert_eq!(ran.code, code, "{at}: {}", ran.text());
        assert!(ran.stderr.contains("0 of 1 node answered"), "{at}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{at}: {}", ran.text());
        let state = fleet.state.lock().expect("it is whole");
        assert!(state.deleted.is_empty() && state.pods.len() == 1, "{at}: {:?}", state.deleted);
    }
}

#[test]
fn no_secret_and_no_name_of_a_pod_can_be_foreseen() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    kq(&line(&fleet, &node, "")).run();
    let state = fleet.state.lock().expect("it is whole");
    let text = |pod: &Value, at: &str| pod.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let mut seen = std::collections::BTreeSet::new();
    for pod in &state.created {
        let secret = text(pod, "/metadata/annotations/kq.fleet~1secret").expect("a secret");
        let name = text(pod, "/metadata/name").expect("a name");
        let end = name.rsplit('-').next().expect("an end").to_owned();
        assert!(secret.len() == 24 && end.len() == 8, "{name} {secret}");
        assert!(!pod.to_string().replace(&secret, "").contains(&secret[..8]), "{pod}");
        assert!(seen.insert(secret) && seen.insert(end), "{name}");
    }
    assert_eq!(seen.len(), 4);
}

#[test]
fn a_pod_that_was_replaced_before_its_deletion_gives_no_answer() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    fleet.state.lock().expect("it is whole").replaces_at_deletion = true;
    let ran = kq(&line(&fleet, &node, "")).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("0 of 2 nodes answered"), "{}", ran.text());
    assert!(ran.stderr.contains("another client replaced it"), "{}", ran.text());
}

#[test]
fn an_endless_log_is_read_to_its_limit() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    fleet.state.lock().expect("it is whole").has_endless_logs = true;
    let ran = kq(&line(&fleet, &node, "")).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("nodes: 0 of 2 nodes answered"), "{}", ran.text());
    assert!(ran.stderr.contains("more than 33554432 bytes"), "{}", ran.text());
    fleet.is_clean(&ran);
}

#[test]
fn the_age_of_pods_is_that_of_the_servers_clock() {
    const HOUR: i64 = 3600;
    for seconds_ahead in [-HOUR, 0, HOUR] {
        let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
        let now = {
            let mut state = fleet.state.lock().expect("it is whole");
            state.seconds_ahead = seconds_ahead;
            clock(&state)
        };
        // A pod of a living run, and one whose deadline of 150 seconds is over.
        fleet.add_pod("kq-fleet-new-0", "new", &now.to_string());
        let old = now - jiff::SignedDuration::from_secs(300);
        fleet.add_pod("kq-fleet-old-0", "old", &old.to_string());
        let flags = fleet.flags().replace(" --image kq:test", "");
        let ran = kq(&format!("fleet clean {flags} --dry-run")).run();
        let plan: Vec<&str> =
            ran.stderr.lines().filter(|line| line.starts_with("plan: ")).collect();
        assert!(plan.len() == 1 && plan[0].contains("kq-fleet-old-0"), "{}", ran.text());
        let ran = kq(&line(&fleet, &node, "")).run();
        assert!(ran.stderr.contains("warning: 1 pods of earlier runs"), "{}", ran.text());
        assert!(ran.stderr.contains("nodes: 2 of 2 nodes answered"), "{}", ran.text());
    }
}
