//! Recorded moments of a node with devices: `tests/devices/NAME/` holds what its kubelet had written and
//! told.
//!
//! | file | what it holds |
//! |---|---|
//! | `kubelet_internal_checkpoint`, `cpu_manager_state`, `memory_manager_state` | byte for byte |
//! | `pod-resources.json` | the answers of the pod-resources API |
//! | `pods.json`, `node-resources.json` | what the API server said |
//! | `note.txt` | what had happened, and when it was taken |
//! | `golden/` | what kq answers |
//!
//! They have no cgroups, so they are no recorded nodes like those of `tests/nodes/`. The kubelet's words
//! are held against kq; the golden answers only show what changed (`SNAPSHOTS=overwrite cargo test`
//! writes them).

/// What kq answers, in every format.
mod golden;
/// What the kubelet did.
mod kubelet;
/// The recordings as snapshots.
pub mod stored;

/// Tells whether a command is asked here.
pub fn asks(command: &str) -> bool {
    golden::COMMANDS.iter().any(|(_, asked)| asked.starts_with(command))
        || golden::NO_ANSWERS.contains(&command)
}
