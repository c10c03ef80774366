//! Every command about a node, on every recorded node, in every format.

use super::{ask, recorded};
use crate::cli::generate::visible_commands;
use crate::cli::{kq, matches};
use snapbox::Data;

/// The commands that answer about a node.
const COMMANDS: &[&str] = &["cgroup plan", "cgroup shares"];

const FORMATS: &[&str] = &["table", "wide", "json", "yaml", "name"];

#[test]
fn answers_are_as_they_were() {
    for node in recorded() {
        for command in COMMANDS {
            for format in FORMATS {
                let ran = ask(&node, command).arg(format!("-o{format}")).run();
                let name = command.replace(' ', "-");
                let file = node.join("golden").join(format!("{name}.{format}.txt"));
                matches(ran.text(), Data::read_from(&file, None));
            }
        }
    }
}

#[test]
fn no_command_about_a_node_is_left_out() {
    let about_nodes: Vec<String> = visible_commands()
        .into_iter()
        .filter(|command| kq(&format!("{command} --help")).run().stdout.contains("--node-file"))
        .collect();
    assert_eq!(about_nodes, COMMANDS);
}
