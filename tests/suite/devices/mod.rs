//! Recorded moments of a node with devices: `tests/devices/NAME/` holds what its kubelet had written and
//! told.
//!
//! | file | what it holds |
//! |---|---|
//! | `kubelet_internal_checkpoint`, `cpu_manager_state`, `memory_manager_state` | byte for byte |
//! | `pod-resources.json` | the answers of the pod-resources API |
//! | `pods.json`, `node-resources.json` | the answers of the API server |
//! | `note.txt` | what had happened, and when it was taken |
//! | `golden/` | what kq answers |
//!
//! They have no cgroups, so they are no recorded nodes like those of `tests/nodes/`. The kubelet's words
//! are held against kq; the golden answers, which only show what changed, are those of `matrix`.

use crate::cli::{matches, repository};
use snapbox::Data;
use stored::{stored, text};

/// What the kubelet did.
mod kubelet;
/// The recordings as snapshots.
pub mod stored;

/// Further commands for each.
pub const MORE: &[(&str, &str, &[&str])] = &[
    (
        "devices-list-checkpoint",
        "devices list --source checkpoint --snapshot snapshot.json",
        &["table", "wide", "json", "yaml"],
    ),
    (
        "devices-list-free",
        "devices list --free --snapshot snapshot.json",
        &["table", "wide", "json", "yaml"],
    ),
    // With what plugins answered, which no snapshot holds.
    (
        "devices-list-given",
        "devices list --snapshot snapshot.json --checkpoint kubelet_internal_checkpoint",
        &["wide", "json"],
    ),
    (
        "devices-plan-restart",
        "devices plan --kubelet-restart --snapshot snapshot.json",
        &["table", "wide", "json", "yaml"],
    ),
];

#[test]
fn the_example_is_what_the_recording_says() {
    // So that the commands in the README have something to ask.
    let example = repository().join("examples/devices/snapshot.json");
    matches(stored("restarted"), Data::read_from(&example, None));
    let example = repository().join("examples/devices/kubelet_internal_checkpoint");
    let checkpoint = text("init-reuse", "kubelet_internal_checkpoint");
    matches(checkpoint, Data::read_from(&example, None));
}
