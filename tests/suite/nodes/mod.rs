//! Recorded nodes: `tests/nodes/NAME/` holds what one real node was given and what came of it.
//!
//! | file | what it holds |
//! |---|---|
//! | `pods.json`, `node.json`, `configz.json` | what the API server and the kubelet said |
//! | `args` | what else kq must be told about that node |
//! | `cgroup-tree.json` | the kernel's values of every cgroup, a minute after the pods ran |
//! | `cri.json` | what the kubelet asked of the runtime |
//! | `cpu_manager_state.json`, `memory_manager_state.json` | what the kubelet remembered |
//! | `golden/` | what kq answers, command by command and format by format |
//!
//! The kernel's and the kubelet's words are held against kq; the golden answers only show what
//! changed (`SNAPSHOTS=overwrite cargo test` writes them).

use crate::cli::{Run, kq, repository};
use std::path::{Path, PathBuf};

/// What kq answers, in every format.
mod golden;
/// What the kernel had in every file.
mod kernel;
/// What the kubelet asked of the runtime, and what it left for pods.
mod kubelet;
/// What kq says when something about a node is otherwise than it was.
mod otherwise;
/// The recording as a snapshot.
pub mod stored;

/// Returns the folders of all recorded nodes.
fn recorded() -> Vec<PathBuf> {
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
