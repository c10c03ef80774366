//! Recorded collections of images: `tests/images/NAME/` holds what a node had before and after its
//! kubelet collected, and what the kubelet logged of it.
//!
//! | file | what it holds |
//! |---|---|
//! | `NN-before-*.json`, `NN-after-*.json` | images, containers and the image file system around a pass |
//! | `kubelet-config-changes.yaml` | what is set in the kubelet's configuration |
//! | `kubelet-log.txt`, `events.txt` | the kubelet's log of its actions, image by image |
//! | `golden/` | what kq answers before each pass |
//!
//! They have no cgroups, so they are no recorded nodes like those of `tests/nodes/`: other commands can
//! be asked about them. The kubelet's words are held against kq; the golden answers, which only show what changed,
//! are those of `matrix`.

use crate::cli::{matches, repository};
use snapbox::Data;
use stored::{PASSES, records, snapshot};

/// What the kubelet did.
mod kubelet;
/// The recording as snapshots.
pub mod stored;

/// Further commands for the moment with something to free; those for `records.json` with the records.
pub const MORE: &[(&str, &str, &[&str])] = &[
    ("records", "gc dry-run --snapshot records.json", &["table", "wide", "json"]),
    ("eviction", "gc dry-run --trigger eviction --snapshot records.json", &[""]),
    ("age", "gc dry-run --trigger age --set imageMaximumGCAge=2m --snapshot records.json", &[""]),
    ("90-percent", "gc dry-run --at-usage 90% --snapshot records.json", &[""]),
    ("no-start", "gc dry-run --kubelet-start 2026-11-20T12:13:00Z --snapshot records.json", &[""]),
    ("off", "gc dry-run --set imageGCHighThresholdPercent=100 --snapshot records.json", &[""]),
];

/// When `kq gc record` looked, in the records that are made up.
pub const LOOKS: [&str; 4] = ["12:04:20", "12:05:26", "12:09:26", "12:13:26"];

#[test]
fn the_example_is_what_the_recording_says() {
    // So that the commands in the README have something to free.
    let example = repository().join("examples/images/snapshot.json");
    matches(snapshot(PASSES[1].1, Some(records(&LOOKS))), Data::read_from(&example, None));
}
