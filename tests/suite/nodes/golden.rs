//! Every command about a node, on every recorded node, in every format.

use super::stored::stored;
use super::{ask, recorded};
use crate::cli::generate::visible_commands;
use crate::cli::{folder_with, kq, matches, repository};
use snapbox::Data;
use std::path::Path;

/// The commands that answer about a node.
const COMMANDS: &[&str] = &["cgroup plan", "cgroup shares"];

/// The commands that answer about a node as it is, with something to ask each; the container is one of
/// every recorded node.
const LIVE_COMMANDS: &[&str] = &[
    "cgroup show",
    "cgroup diff",
    "cgroup which --container CONTAINER",
    "cgroup apply --dry-run",
    "doctor",
    "probe lint",
];

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
fn the_example_is_what_the_recording_says() {
    // The first of the recorded nodes, so that the commands in the README have one to ask.
    let text = stored(&recorded()[0]);
    let example = repository().join("examples/node/snapshot.json");
    assert!(text.len() < 100_000, "an example to read, not one of {} bytes", text.len());
    matches(text, Data::read_from(&example, None));
}

#[test]
fn answers_from_a_snapshot_are_as_they_were() {
    for node in recorded() {
        let folder = folder_with(&[("snapshot.json", stored(&node))]);
        for command in LIVE_COMMANDS {
            for format in FORMATS {
                let line = command.replace("CONTAINER", &first_container(&node));
                let line = format!("{line} --snapshot snapshot.json -o{format}");
                let ran = kq(&line).within(folder.path()).run();
                let words = command.split(' ').filter(|word| word.starts_with(char::is_lowercase));
                let name = words.collect::<Vec<_>>().join("-");
                let file = node.join("golden").join(format!("{name}.{format}.txt"));
                matches(ran.text(), Data::read_from(&file, None));
            }
        }
    }
}

#[test]
fn the_kernel_had_what_kq_plans() {
    for node in recorded() {
        let folder = folder_with(&[("snapshot.json", stored(&node))]);
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
        let folder = folder_with(&[("snapshot.json", stored(&node))]);
        for command in COMMANDS {
            let described = ask(&node, command).json();
            let line = format!("{command} --snapshot snapshot.json");
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

/// Returns the beginning of a container's id.
fn first_container(node: &Path) -> String {
    let cri = super::json(node, "cri.json");
    let id = cri["containers"][0]["id"].as_str().expect("a container has an id");
    id[..12].to_owned()
}

/// Commands that know of snapshots and have no answer about a recorded node: some refuse, one stores what it
/// was given, one wants the API server's word, the pods of these nodes have no probes to plan, and nobody
/// measured what they use.
const NO_ANSWERS: &[&str] =
    &["cgroup rollback", "evict rank", "preempt apply", "probe plan", "probe run", "snapshot"];

#[test]
fn no_command_about_a_node_is_left_out() {
    let about_nodes: Vec<String> = visible_commands()
        .into_iter()
        .filter(|command| {
            let help = help(command);
            help.contains("--snapshot") || help.contains("--node-file")
        })
        .collect();
    let is_asked = |command: &String| {
        crate::images::asks(command)
            || crate::devices::asks(command)
            || crate::preemption::asks(command)
            || COMMANDS.contains(&command.as_str())
            || NO_ANSWERS.contains(&command.as_str())
            || LIVE_COMMANDS.iter().any(|line| line.starts_with(command.as_str()))
    };
    let forgotten: Vec<String> =
        about_nodes.into_iter().filter(|command| !is_asked(command)).collect();
    assert!(forgotten.is_empty(), "not asked of recorded nodes: {forgotten:?}");
}

fn help(command: &str) -> String {
    kq(&format!("{command} --help")).run().stdout
}
