//! Every command about devices, at each recorded moment, in every format.

use super::stored::{MOMENTS, folder, stored, text};
use crate::cli::{folder_with, kq, matches, repository};
use snapbox::Data;

/// The commands, by the name of the golden file.
pub const COMMANDS: &[(&str, &str)] = &[
    ("list", "devices list"),
    ("list-checkpoint", "devices list --source checkpoint"),
    ("free", "devices list --free"),
    ("plan-restart", "devices plan --kubelet-restart"),
    ("capacity", "devices capacity"),
    ("plan", "devices plan train.yaml"),
    ("verify", "devices verify"),
];

/// Commands that act on a node, or that a stored one cannot answer.
pub const NO_ANSWERS: &[&str] =
    &["devices allocate", "devices plugins", "devices repair", "devices serve"];

const FORMATS: &[&str] = &["table", "wide", "json", "yaml"];

#[test]
fn answers_are_as_they_were() {
    for moment in MOMENTS {
        let checkpoint = text(moment, "kubelet_internal_checkpoint");
        let pod = std::fs::read_to_string(repository().join("examples/devices/pod.yaml"));
        let node = folder_with(&[
            ("snapshot.json", stored(moment)),
            ("kubelet_internal_checkpoint", checkpoint),
            ("train.yaml", pod.expect("the example is there")),
        ]);
        for (name, command) in COMMANDS {
            for format in FORMATS {
                let line = format!("{command} --snapshot snapshot.json -o {format}");
                let ran = kq(&line).within(node.path()).run();
                let file = folder(moment).join("golden").join(format!("{name}.{format}.txt"));
                matches(ran.text(), Data::read_from(&file, None));
            }
        }
        // With what plugins answered, which no snapshot holds.
        let line = "devices list --snapshot snapshot.json --checkpoint kubelet_internal_checkpoint";
        for format in ["wide", "json"] {
            let ran = kq(&format!("{line} -o {format}")).within(node.path()).run();
            let file = folder(moment).join("golden").join(format!("given.{format}.txt"));
            matches(ran.text(), Data::read_from(&file, None));
        }
    }
}

#[test]
fn the_example_is_what_the_recording_says() {
    // So that the commands in the README have something to ask.
    let example = repository().join("examples/devices/snapshot.json");
    matches(stored("restarted"), Data::read_from(&example, None));
    let example = repository().join("examples/devices/kubelet_internal_checkpoint");
    let checkpoint = text("init-reuse", "kubelet_internal_checkpoint");
    matches(checkpoint, Data::read_from(&example, None));
}
