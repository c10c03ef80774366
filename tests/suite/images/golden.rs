//! Every command about garbage collection, before each pass, in every format.

use super::stored::{PASSES, folder, records, snapshot};
use crate::cli::{folder_with, kq, matches, repository};
use snapbox::Data;

/// The commands, and the formats of each.
pub const COMMANDS: &[(&str, &[&str])] = &[
    ("gc dry-run", &["table", "wide", "json", "yaml", "name"]),
    ("gc explain node.test/bulk-03:v1", &["table", "wide", "json", "yaml"]),
    ("gc images", &["table", "wide", "json", "yaml"]),
    ("gc lint", &["table", "wide", "json", "yaml"]),
    ("gc policy", &["table", "wide", "json", "yaml"]),
];

/// Commands that act on a node, or that a stored one cannot answer.
pub const NO_ANSWERS: &[&str] = &["gc apply", "gc record", "gc watch"];

/// What else is asked at the moment at which there is something to free.
const MORE: &[(&str, &str)] = &[
    ("eviction", "gc dry-run --trigger eviction"),
    ("age", "gc dry-run --trigger age --set imageMaximumGCAge=2m"),
    ("90-percent", "gc dry-run --at-usage 90%"),
    ("no-start", "gc dry-run --kubelet-start 2026-11-20T12:13:00Z"),
    ("off", "gc dry-run --set imageGCHighThresholdPercent=100"),
];

#[test]
fn answers_before_each_pass_are_as_they_were() {
    for (name, before, _) in PASSES {
        let node = folder_with(&[("snapshot.json", snapshot(before, None))]);
        for (command, formats) in COMMANDS {
            for format in *formats {
                let line = format!("{command} --snapshot snapshot.json -o {format}");
                let words: Vec<&str> = command.split(' ').take(2).collect();
                let file = format!("{}.{name}.{format}.txt", words.join("-"));
                let file = folder().join("golden").join(file);
                let ran = kq(&line).within(node.path()).run();
                matches(ran.text(), Data::read_from(&file, None));
            }
        }
    }
}

/// When `kq gc record` looked, in the records that are made up.
const LOOKS: [&str; 4] = ["12:04:20", "12:05:26", "12:09:26", "12:13:26"];

#[test]
fn the_example_is_what_the_recording_says() {
    // So that the commands in the README have something to free.
    let example = repository().join("examples/images/snapshot.json");
    matches(snapshot(PASSES[1].1, Some(records(&LOOKS))), Data::read_from(&example, None));
}

#[test]
fn answers_with_records_are_as_they_were() {
    let node = folder_with(&[("snapshot.json", snapshot(PASSES[1].1, Some(records(&LOOKS))))]);
    for format in ["table", "wide", "json"] {
        let line = format!("gc dry-run --snapshot snapshot.json -o {format}");
        let file = folder().join("golden").join(format!("records.{format}.txt"));
        matches(kq(&line).within(node.path()).run().text(), Data::read_from(&file, None));
    }
    for (name, line) in MORE {
        let line = format!("{line} --snapshot snapshot.json");
        let file = folder().join("golden").join(format!("{name}.txt"));
        matches(kq(&line).within(node.path()).run().text(), Data::read_from(&file, None));
    }
}
