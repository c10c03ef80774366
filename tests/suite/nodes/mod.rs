//! Recorded nodes: `tests/nodes/NAME/` holds what one real node was given and what came of it.
//!
//! | file | what it holds |
//! |---|---|
//! | `pods.json`, `node.json`, `configz.json` | the answers of the API server and the kubelet |
//! | `args` | further flags for that node |
//! | `cgroup-tree.json` | the kernel's values of every cgroup, a minute after the pods ran |
//! | `cri.json` | the kubelet's requests to the runtime |
//! | `cpu_manager_state.json`, `memory_manager_state.json` | what the kubelet remembered |
//! | `golden/` | what kq answers, command by command and format by format |
//!
//! The kernel's and the kubelet's words are held against kq; the golden answers, which only show what changed, are
//! those of `matrix`.

use crate::cli::{Run, folder_with, kq, matches, repository};
use snapbox::Data;
use std::path::{Path, PathBuf};

/// What the kernel had in every file.
mod kernel;
/// The kubelet's requests to the runtime, and the amounts that it left for pods.
mod kubelet;
/// What kq says when something about a node is otherwise than it was.
mod otherwise;
/// The recording as a snapshot.
pub mod stored;

/// The files that `args` names, and the pods.
pub const FILES: &[&str] = &["pods.json", "node.json", "configz.json"];

/// The commands that answer from files alone.
const COMMANDS: [&str; 2] = ["cgroup plan", "cgroup shares"];

/// Returns the folders of all recorded nodes.
pub fn recorded() -> Vec<PathBuf> {
    let folder = repository().join("tests/nodes");
    let mut nodes: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("tests/nodes can be read")
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.is_dir())
        .collect();
    nodes.sort();
    assert!(!nodes.is_empty(), "no recorded nodes");
    nodes
}

/// Prepares a command about all pods of a node.
fn ask(node: &Path, command: &str) -> Run {
    let arguments = text(node, "args");
    kq(&format!("{command} pods.json {arguments}")).within(node)
}

fn text(node: &Path, file: &str) -> String {
    let path = node.join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(node: &Path, file: &str) -> serde_json::Value {
    serde_json::from_str(&text(node, file))
        .unwrap_or_else(|error| panic!("{}: {file}: {error}", node.display()))
}

/// Returns the beginning of a container's id.
pub fn first_container(node: &Path) -> String {
    let cri = json(node, "cri.json");
    let id = cri["containers"][0]["id"].as_str().expect("a container has an id");
    id[..12].to_owned()
}

#[test]
fn the_example_is_what_the_recording_says() {
    // The first of the recorded nodes, so that the commands in the README have one to ask.
    let text = stored::stored(&recorded()[0]);
    let example = repository().join("examples/node/snapshot.json");
    assert!(text.len() < 100_000, "an example to read, not one of {} bytes", text.len());
    matches(text, Data::read_from(&example, None));
}

#[test]
fn the_kernel_had_what_kq_plans() {
    for node in recorded() {
        let folder = folder_with(&[("snapshot.json", stored::stored(&node))]);
        let answer = kq("cgroup diff --snapshot snapshot.json").within(folder.path()).json();
        let items = answer["items"].as_array().expect("a comparison has items");
        let strange: Vec<_> = items
            .iter()
            .filter(|item| item["verdict"] != "MATCH" && item["verdict"] != "ROUNDED")
            .collect();
        assert!(strange.is_empty(), "{}: {strange:#?}", node.display());
        assert!(items.len() > 100, "{}: {} values", node.display(), items.len());
    }
}

#[test]
fn a_snapshot_is_planned_like_the_files() {
    for node in recorded() {
        let folder = folder_with(&[("snapshot.json", stored::stored(&node))]);
        for command in COMMANDS {
            let described = ask(&node, command).json();
            // Of a node, shares are those of its kernel.
            let planned = if command == "cgroup shares" { "--planned" } else { "" };
            let line = format!("{command} --snapshot snapshot.json {planned}");
            let read = kq(&line).within(folder.path()).json();
            assert_eq!(places(&read), places(&described), "{command}");
        }
    }
}

/// Returns what is planned where, without the reasons, which name other sources.
fn places(answer: &serde_json::Value) -> Vec<String> {
    let items = answer["items"].as_array().expect("an answer has items");
    let fields = ["cgroup", "file", "value", "pod", "container", "shares", "milliCpu"];
    let mut places: Vec<String> =
        items.iter().map(|item| fields.map(|field| item[field].to_string()).join(" ")).collect();
    places.sort();
    assert!(places.len() > 20, "{answer}");
    places
}
