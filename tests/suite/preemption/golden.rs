//! What kq answers about each recording, in every format.

use super::{RECORDINGS, folder};
use crate::cli::{kq, matches};
use snapbox::Data;

/// The commands, by the name of the golden file.
pub const COMMANDS: &[(&str, &str)] = &[
    ("admit", "admit explain preemptor.json"),
    ("restart", "admit explain --kubelet-restart"),
    ("preempt", "preempt explain preemptor.json"),
];

const FORMATS: &[&str] = &["table", "wide", "json", "yaml"];

#[test]
fn answers_are_as_they_were() {
    for recording in RECORDINGS {
        for (name, command) in COMMANDS {
            for format in FORMATS {
                let line =
                    format!("{command} --pods pods-before.json --node-file node.json -o {format}");
                let ran = kq(&line).within(folder(recording)).run();
                let file = folder(recording).join("golden").join(format!("{name}.{format}.txt"));
                matches(ran.text(), Data::read_from(&file, None));
            }
        }
    }
}
