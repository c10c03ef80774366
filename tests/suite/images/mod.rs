//! Recorded collections of images: `tests/images/NAME/` holds what a node had before and after its
//! kubelet collected, and what the kubelet logged of it.
//!
//! | file | what it holds |
//! |---|---|
//! | `NN-before-*.json`, `NN-after-*.json` | images, containers and the image file system around a pass |
//! | `kubelet-config-changes.yaml` | what is set in the kubelet's configuration |
//! | `kubelet-log.txt`, `events.txt` | what the kubelet said that it did, image by image |
//! | `golden/` | what kq answers before each pass |
//!
//! They have no cgroups, so they are no recorded nodes like those of `tests/nodes/`: other commands can
//! be asked about them. The kubelet's words are held against kq; the golden answers only show what
//! changed (`SNAPSHOTS=overwrite cargo test` writes them).

/// What kq answers, in every format.
mod golden;
/// What the kubelet did.
mod kubelet;
/// The recording as snapshots.
pub mod stored;

/// Tells whether a command is asked here.
pub fn asks(command: &str) -> bool {
    golden::COMMANDS.iter().any(|(asked, _)| asked.starts_with(command))
        || golden::NO_ANSWERS.contains(&command)
}
