//! Exit codes that never comfort wrongly: every command, where nothing is known of a node, where what was named
//! does not exist, and where a change would be refused.

use super::generate::visible_commands;
use super::{Ran, folder_with, kq, repository};
use serde_json::{Value, json};
use std::fs;

/// A command, and its arguments besides the sources.
struct Row {
    command: &'static str,
    /// What it needs in any case.
    arguments: &'static str,
    /// Runs on a folder without a node, and ends with this code.
    nowhere: Option<i32>,
    /// Runs on a snapshot in which every source failed, and ends with this code.
    unknown: Option<i32>,
    /// Arguments that name what the node of the example does not have.
    absent: Option<&'static str>,
}

/// Reads the facts of a node: without them it ends with 3.
const fn of_node(command: &'static str, arguments: &'static str) -> Row {
    Row { command, arguments, nowhere: Some(3), unknown: Some(3), absent: None }
}

impl Row {
    const fn absent(self, arguments: &'static str) -> Self {
        Self { absent: Some(arguments), ..self }
    }

    /// Does not run on a snapshot: it reads the node itself, or changes it.
    const fn live_only(self) -> Self {
        Self { unknown: None, ..self }
    }
}

/// Reads nothing but what is named on its command line.
const fn of_files(command: &'static str) -> Row {
    Row { command, arguments: "", nowhere: None, unknown: None, absent: None }
}

const COMMANDS: &[Row] = &[
    of_node("cgroup plan", "--live").absent("default/nosuch"),
    of_node("cgroup shares", "--live").absent("default/nosuch"),
    of_files("cgroup explain"),
    of_node("cgroup show", "").absent("default/nosuch"),
    of_node("cgroup throttling", "").absent("default/nosuch"),
    of_node("cgroup which", "--pid 1"),
    of_node("cgroup diff", "").absent("default/nosuch"),
    of_node("cgroup apply", "--dry-run").absent("--dry-run default/nosuch"),
    of_files("cgroup rollback"),
    of_node("gc dry-run", ""),
    of_node("gc apply", "--dry-run"),
    of_node("gc explain", "nosuch"),
    of_node("gc images", ""),
    of_node("gc policy", ""),
    of_node("gc lint", ""),
    of_node("gc record", "").live_only(),
    of_node("gc watch", "--passes 1"),
    of_node("evict rank", "--signal memory.available"),
    of_node("devices list", ""),
    of_node("devices verify", ""),
    of_node("devices plan", "default/nosuch"),
    of_node("devices capacity", ""),
    of_node("devices plugins", "").live_only(),
    of_files("devices serve"),
    of_files("devices allocate"),
    of_node("devices repair", "--remove-stale --dry-run").live_only(),
    of_node("probe run", "default/nosuch").live_only(),
    of_node("probe plan", "default/nosuch").absent("default/nosuch"),
    of_files("probe simulate"),
    of_node("probe lint", ""),
    of_node("admit explain", "examples/web.yaml"),
    of_node("preempt explain", "examples/web.yaml"),
    of_node("preempt apply", "examples/web.yaml --dry-run"),
    of_node("preempt why", "default/nosuch"),
    of_node("preempt lint", ""),
    of_node("doctor", ""),
    of_node("why", "default/nosuch"),
    of_files("fleet run"),
    of_files("fleet apply"),
    of_files("fleet collect"),
    of_files("fleet ask"),
    of_files("fleet what-if"),
    of_node("report", ""),
    of_files("fleet clean"),
    of_files("fleet rbac"),
    of_node("top", "--plain --count 1"),
    of_node("snapshot", ""),
    of_files("explain"),
    of_files("schema"),
    of_node("version", ""),
    of_node("allocatable", ""),
    of_node("what-if", "kubelet-restart").absent("remove default/nosuch"),
    of_files("completion"),
];

#[test]
fn every_command_has_a_row() {
    let mut rows: Vec<String> = COMMANDS.iter().map(|row| row.command.to_owned()).collect();
    let mut commands = visible_commands();
    rows.sort();
    commands.sort();
    assert_eq!(rows, commands);
}

#[test]
fn a_folder_without_a_node_is_never_an_answer() {
    let folder = folder_with(&[("etc/hostname", "nowhere\n")]);
    let root = folder.path().display();
    for Row { command, arguments, nowhere, .. } in COMMANDS {
        let Some(expected) = nowhere else { continue };
        let timeout = if *command == "devices plugins" { "" } else { "--timeout 300ms" };
        let ran = kq(&format!("{command} {arguments} --host-root {root} {timeout}")).run();
        ends_with(*expected, &ran, command);
    }
}

#[test]
fn a_snapshot_in_which_every_source_failed_is_never_an_answer() {
    let folder = folder_with(&[("unknown.json", unknown().to_string())]);
    let file = folder.path().join("unknown.json");
    for Row { command, arguments, unknown, .. } in COMMANDS {
        let Some(expected) = unknown else { continue };
        let arguments = arguments.replace("--live", "");
        let ran = kq(&format!("{command} {arguments} --snapshot {}", file.display())).run();
        ends_with(*expected, &ran, command);
    }
}

#[test]
fn a_name_that_does_not_exist_is_a_mistake_where_all_names_are_known() {
    for Row { command, absent, .. } in COMMANDS {
        let Some(absent) = absent else { continue };
        let ran = kq(&format!("{command} {absent} --snapshot examples/node/snapshot.json")).run();
        ends_with(2, &ran, command);
        assert!(ran.stdout.is_empty(), "kq {command}: {}", ran.text());
        assert!(ran.stderr.contains("nosuch"), "kq {command}: {}", ran.text());
        assert!(ran.stderr.contains("\nhint: "), "kq {command}: {}", ran.text());
    }
}

#[test]
fn a_name_that_does_not_exist_is_unknown_where_pods_may_be_missing() {
    let mut snapshot = example();
    let pods = snapshot["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
    pods.truncate(3);
    let folder = folder_with(&[("some.json", snapshot.to_string())]);
    let file = folder.path().join("some.json");
    // These have the names of all pods from the runtime.
    let knows_names = |row: &&Row| ["cgroup show", "cgroup throttling"].contains(&row.command);
    for row in COMMANDS.iter().filter(|row| !knows_names(row)) {
        let Some(absent) = row.absent.filter(|absent| absent.contains("default/nosuch")) else {
            continue;
        };
        let ran = kq(&format!("{} {absent} --snapshot {}", row.command, file.display())).run();
        ends_with(3, &ran, row.command);
        assert!(ran.stdout.is_empty(), "kq {}: {}", row.command, ran.text());
    }
}

#[test]
fn values_that_are_all_unknown_are_no_match() {
    let mut snapshot = example();
    for fact in ["pods", "kubeletConfig", "node", "runtime"] {
        snapshot[fact] = failed();
    }
    let folder = folder_with(&[("tree.json", snapshot.to_string())]);
    let file = folder.path().join("tree.json");
    let ran = kq(&format!("cgroup diff --snapshot {} -ojson", file.display())).run();
    assert_ne!(ran.code, 0, "{}", ran.text());
    // What is known still matches, and a single unknown value leaves the question open.
    let mut snapshot = example();
    snapshot["runtime"] = failed();
    fs::write(&file, snapshot.to_string()).expect("a file can be written");
    let ran = kq(&format!("cgroup diff --snapshot {} -ojson", file.display())).run();
    let answer: Value = ran.answer();
    assert_eq!(answer["summary"]["DRIFT"], 0, "{}", ran.text());
    assert!(answer["summary"]["UNKNOWN"].as_u64() > Some(0), "{}", ran.text());
    ends_with(3, &ran, "cgroup diff");
}

#[test]
fn a_lint_that_could_not_look_at_images_is_no_answer_unless_it_found_something() {
    let snapshot = |high: i32| {
        let mut snapshot = example();
        snapshot["runtime"] = failed();
        let settings = &mut snapshot["kubeletConfig"]["found"]["value"]["value"];
        settings["imageGCHighThresholdPercent"] = high.into();
        snapshot.to_string()
    };
    let folder = folder_with(&[("fine.json", snapshot(85)), ("off.json", snapshot(100))]);
    for (file, expected) in [("fine.json", 3), ("off.json", 1)] {
        let ran = kq(&format!("gc lint --snapshot {file}")).within(folder.path()).run();
        ends_with(expected, &ran, file);
        assert!(ran.stderr.contains("missing: images: "), "{}", ran.text());
    }
}

#[test]
fn a_dry_run_is_refused_like_the_change() {
    // Pods have no cgroup that is the kubelet's alone, so nothing may be written.
    let mut snapshot = example();
    let settings = &mut snapshot["kubeletConfig"]["found"]["value"]["value"];
    settings["cgroupsPerQOS"] = false.into();
    settings["enforceNodeAllocatable"] = json!(["none"]);
    let ran = dry_run(&snapshot.to_string());
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("cgroupsPerQOS: false"), "{}", ran.text());
}

#[test]
fn a_dry_run_on_a_guess_is_refused_where_it_would_change_something() {
    let mut snapshot = example();
    snapshot["kubeletConfig"] = failed();
    let same = snapshot.to_string();
    let ran = dry_run(&same);
    assert_eq!(ran.code, 3, "{}", ran.text());
    let ran = dry_run(&same.replace("\"30\\n\"", "\"31\\n\""));
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("refused: the kubelet's whole configuration"), "{}", ran.text());
}

/// Shows the changes on the node of a snapshot.
fn dry_run(snapshot: &str) -> Ran {
    let folder = folder_with(&[("node.json", snapshot.to_owned())]);
    let file = folder.path().join("node.json");
    kq(&format!("cgroup apply --dry-run --snapshot {}", file.display())).run()
}

#[test]
fn a_node_without_its_kubelet_fails() {
    let mut snapshot = example();
    snapshot["kubelet"] = json!({"tried": [
        {"source": "/proc", "reason": "no kubelet runs on this node"}
    ]});
    let folder = folder_with(&[("dead.json", snapshot.to_string())]);
    let file = folder.path().join("dead.json");
    let ran = kq(&format!("doctor --snapshot {} -ojson", file.display())).run();
    ends_with(1, &ran, "doctor");
    let answer: Value = ran.answer();
    let items = answer["items"].as_array().expect("checks");
    let kubelet = items.iter().find(|check| check["id"] == "kubelet").expect("a check");
    assert_eq!(kubelet["severity"], "ERROR", "{kubelet}");
}

/// Checks a code; what is not answered says why.
fn ends_with(expected: i32, ran: &Ran, command: &str) {
    assert_eq!(ran.code, expected, "kq {command}: {}", ran.text());
    assert!(!ran.stderr.is_empty() || !ran.stdout.is_empty(), "kq {command} said nothing");
}

/// Returns the snapshot of the example.
fn example() -> Value {
    let file = repository().join("examples/node/snapshot.json");
    let text = fs::read_to_string(file).expect("the example can be read");
    serde_json::from_str(&text).expect("the example is JSON")
}

/// Returns a fact whose source failed.
fn failed() -> Value {
    json!({"tried": [{"source": "a source", "reason": "it did not answer"}]})
}

/// Returns a snapshot in which every source failed.
fn unknown() -> Value {
    let mut snapshot = json!({
        "apiVersion": "kq/v1",
        "kind": "NodeSnapshot",
        "takenAt": "2026-11-20T10:19:39Z",
        "takenBy": "a test",
        "hostRoot": {"path": "/nowhere", "because": "given"},
        "host": {"texts": {}},
    });
    for fact in [
        "nodeName",
        "kubelet",
        "kubeletVersion",
        "kubeletConfig",
        "node",
        "pods",
        "runtime",
        "cgroups",
        "imageRecords",
        "statsSummary",
    ] {
        snapshot[fact] = failed();
    }
    snapshot
}
