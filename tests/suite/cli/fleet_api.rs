//! `kq fleet run` and `collect` with `--api-only`, and `kq fleet rbac`: the rights are those of the requests.

use super::fleet_server::Fleet;
use super::made_up_node::{Kernel, Node};
use super::{folder_with, kq};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const DNS: &str = "apiVersion: v1
kind: Pod
metadata: {name: dns, namespace: kube-system}
spec:
  priorityClassName: system-cluster-critical
  priority: 2000000000
  containers: [{name: dns, image: dns, resources: {requests: {cpu: \"2\"}}}]
";

fn api_flags(fleet: &Fleet) -> String {
    fleet.flags().replace(" --image kq:test", "")
}

fn answers(lines: &str) -> BTreeMap<String, Value> {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        (line["node"].as_str().expect("a node").to_owned(), line)
    };
    lines.lines().map(line).collect()
}

#[test]
fn the_api_server_answers_what_needs_no_pod() {
    let fleet = Fleet::start();
    let flags = api_flags(&fleet);
    let folder = folder_with(&[("dns.yaml", DNS)]);
    let dns = folder.path().join("dns.yaml").display().to_string();
    for (command, at, expected) in [
        ("cgroup plan".to_owned(), "/kind", "CgroupPlan"),
        (format!("admit explain {dns}"), "/kills/0", "shop/web-on-well-1"),
        (format!("preempt explain {dns}"), "/victims/0/pod", "shop/web-on-well-1"),
    ] {
        let ran =
            kq(&format!("fleet run {flags} --api-only -l well=true -o jsonl -- {command}")).run();
        let found = answers(&ran.stdout);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["well-1", "well-2"], "{}", ran.text());
        let answer = &found["well-1"]["answer"];
        assert_eq!(answer.pointer(at).and_then(Value::as_str), Some(expected), "{answer:#}");
    }
    // What the API server does not have is named.
    let ran = kq(&format!("fleet run {flags} --api-only well-1 -o jsonl -- gc dry-run")).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("not queried: only the API server is"), "{}", ran.text());
    let state = fleet.state.lock().expect("it is whole");
    assert!(state.created.is_empty());
}

#[test]
fn snapshots_of_the_api_server_give_the_same_answers() {
    let fleet = Fleet::start();
    let flags = api_flags(&fleet);
    let stored = fleet.folder.path().join("stored");
    std::fs::create_dir(&stored).expect("a folder can be made");
    let stored = stored.display();
    let ran = kq(&format!("fleet collect {flags} --api-only -l well=true --dir {stored}")).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stderr.contains("plan: no pod is created"), "{}", ran.text());
    let asked = kq(&format!("fleet ask {stored} -o jsonl -- cgroup plan")).run();
    let ran =
        kq(&format!("fleet run {flags} --api-only -l well=true -o jsonl -- cgroup plan")).run();
    assert_eq!(answers(&asked.stdout), answers(&ran.stdout), "{}", ran.text());
    assert_eq!(asked.code, ran.code);
    // A node that vanishes after the list, and pods that cannot be listed.
    let ran = kq(&format!("fleet run {flags} --api-only gone well-1 -- cgroup plan")).run();
    assert!(ran.stderr.contains("missing: gone: "), "{}", ran.text());
    assert!(ran.stderr.contains("1 of 2 nodes answered"), "{}", ran.text());
    fleet.state.lock().expect("it is whole").hides_pods = true;
    let ran = kq(&format!("fleet collect {flags} --api-only well-1 --dir {stored}")).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("well-1: the pods of the node are unknown"), "{}", ran.text());
    let ran = kq(&format!("fleet run {flags} --api-only well-1 -o jsonl -- cgroup plan")).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.text().contains("pods is forbidden"), "{}", ran.text());
}

#[test]
fn mistakes_with_api_only_are_named() {
    let fleet = Fleet::start();
    let flags = api_flags(&fleet);
    for (line, expected) in [
        ("--api-only --image x -- doctor", "cannot be used with"),
        ("-- doctor", "--image"),
        ("--api-only -- admit explain -", "standard input cannot be read for each node"),
        ("--api-only -- cgroup apply", "cannot be asked of many nodes"),
    ] {
        let ran = kq(&format!("fleet run {flags} {line}")).run();
        assert_eq!(ran.code, 2, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
    }
}

/// The rights that manifests give, as `cluster list nodes` or `kube-system get pods`.
pub(super) fn granted(arguments: &str) -> BTreeSet<String> {
    let ran = kq(&format!("fleet rbac -o json {arguments}")).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let list: Value = ran.answer();
    let items = list["items"].as_array().expect("a list");
    let mut granted = BTreeSet::new();
    for item in items {
        let scope = item["metadata"]["namespace"].as_str().unwrap_or("cluster");
        for rule in item["rules"].as_array().into_iter().flatten() {
            let group = match rule["apiGroups"][0].as_str().expect("a group") {
                "" => String::new(),
                group => format!("{group}/"),
            };
            for verb in rule["verbs"].as_array().expect("verbs") {
                let resource = rule["resources"][0].as_str().expect("a resource");
                let verb = verb.as_str().expect("a verb");
                granted.insert(format!("{scope} {verb} {group}{resource}"));
            }
        }
    }
    granted
}

/// The rights that the requests so far needed.
pub(super) fn needed(fleet: &Fleet) -> BTreeSet<String> {
    let right = |line: &str| {
        let mut words = line.split(' ');
        let (method, path) = (words.next().expect("a method"), words.next().expect("a path"));
        let path = path.split('?').next().expect("a path").trim_start_matches("/api/v1/");
        let (scope, path) = match path.strip_prefix("namespaces/") {
            Some(rest) => rest.split_once('/').expect("a resource"),
            None => ("cluster", path),
        };
        let parts: Vec<&str> = path.split('/').collect();
        let (resource, is_single) = match parts[..] {
            [resource] => (resource.to_owned(), false),
            [resource, _] => (resource.to_owned(), true),
            [resource, _, below] => (format!("{resource}/{below}"), true),
            _ => panic!("{line}"),
        };
        let verb = match (method, is_single) {
            ("GET", false) => "list",
            ("GET", true) => "get",
            ("POST", _) => "create",
            ("DELETE", true) => "delete",
            ("PATCH", true) => "patch",
            _ => panic!("{line}"),
        };
        format!("{scope} {verb} {resource}")
    };
    fleet.server.seen().iter().map(|seen| right(&seen.line)).collect()
}

#[test]
fn the_rights_are_those_of_the_requests() {
    let node = Node::new(Kernel::V2);
    let root = node.root().display().to_string();
    let fleet = Fleet::start();
    let flags = fleet.flags();
    kq(&format!("fleet run {flags} well-1 --yes -- cgroup show --host-root {root}")).run();
    assert_eq!(granted("run -- doctor"), needed(&fleet));
    assert_eq!(granted("collect"), needed(&fleet));
    let fleet = Fleet::start();
    kq(&format!("fleet run {} --api-only well-1 -- cgroup plan", api_flags(&fleet))).run();
    assert_eq!(granted("run --api-only -- cgroup plan"), needed(&fleet));
    assert_eq!(granted("collect --api-only"), needed(&fleet));
    let fleet = Fleet::start();
    fleet.add_pod("kq-fleet-old-0", "old", "2026-01-01T00:00:00Z");
    kq(&format!("fleet clean {} --yes", api_flags(&fleet))).run();
    assert_eq!(granted("clean"), needed(&fleet));
}

#[test]
fn manifests_are_documents_that_bind_one_account() {
    let ran = kq("fleet rbac run -n fleet --name reader").run();
    let kinds: Vec<&str> =
        ran.stdout.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    let expected = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    assert_eq!(kinds, expected, "{}", ran.text());
    assert_eq!(ran.stdout.matches("---\n").count(), 5);
    assert_eq!(ran.stdout.matches("namespace: fleet").count(), 5, "{}", ran.text());
    for (line, expected) in [
        ("run -n ../x", "--namespace \"../x\": not a valid name"),
        ("run -- gc apply", "cannot be asked of many nodes"),
        ("collect -- doctor", "only kq fleet run and apply have a command"),
        ("clean --api-only", "clean deletes pods"),
        ("what-if --api-only", "what-if reads snapshots and asks no node"),
    ] {
        let ran = kq(&format!("fleet rbac {line}")).run();
        assert_eq!(ran.code, 2, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
    }
}
