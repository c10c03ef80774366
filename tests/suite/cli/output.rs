//! What kq shows of others' texts: they forge no line, play no game with the terminal, and break no table.

use super::{Ran, folder_with, kq, repository};
use kq_facts::checkpoint::device::DeviceCheckpoint;
use kq_output::terminal::is_unsafe;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What would forge a hint, turn writing around, clear the screen and hide a part of a name.
const HOSTILE: &str = "\nhint: forged\r\nwarning: forged\u{2028}kq: forged\u{1b}[2J\u{9b}2J\u{202e}\u{200f}\
                       \u{61c}\u{200b}\u{feff}\u{fff9}\u{e0041}\u{7f}\t";

const NODE: &[&str] = &[
    "cgroup plan --live",
    "cgroup shares --live",
    "cgroup show",
    "cgroup diff",
    "cgroup apply --dry-run",
    "doctor",
    "probe lint",
    "evict rank --signal memory",
];

const IMAGES: &[&str] = &[
    "gc dry-run",
    "gc dry-run --trigger eviction",
    "gc explain node.test/bulk-03:v1",
    "gc images",
    "gc lint",
    "gc policy",
];

const DEVICES: &[&str] = &[
    "devices list",
    "devices list --free",
    "devices capacity",
    "devices plan --kubelet-restart",
    "devices plan pod.yaml",
    "devices verify",
];

const PREEMPTION: &[&str] = &[
    "admit explain preemptor.json",
    "admit explain --kubelet-restart",
    "preempt explain preemptor.json",
];

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the keys of all texts in a value: of texts in a list, the list's.
fn keys(value: &Value, key: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::String(_) => drop(found.insert(key.to_owned())),
        Value::Array(items) => items.iter().for_each(|item| keys(item, key, found)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| keys(value, key, found)),
        _ => {}
    }
}

/// Adds something to every text that has a key.
fn add(value: &mut Value, of: &str, key: &str, text: &str) {
    match value {
        Value::String(string) if of == key => string.push_str(text),
        Value::Array(items) => items.iter_mut().for_each(|item| add(item, of, key, text)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(of, value)| add(value, of, key, text));
        }
        _ => {}
    }
}

/// Runs every command with the texts of each key in a file changed in turn, in one format after the other.
fn ask_with(
    text: &str,
    files: &[&str],
    flags: &str,
    questions: &[&str],
    check: impl Fn(&str, &str, &Ran),
) {
    let (changed, others) = files.split_first().expect("a file is changed");
    let sound: Value = serde_json::from_str(&read(changed)).expect("JSON");
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut found = BTreeSet::new();
    keys(&sound, "", &mut found);
    assert!(found.len() > 10, "{found:?}");
    let files: Vec<(String, String)> = others.iter().map(|path| (name(path), read(path))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = folder_with(&files);
    for (turn, key) in found.iter().enumerate() {
        let mut hostile = sound.clone();
        add(&mut hostile, "", key, text);
        let path = folder.path().join(name(changed));
        std::fs::write(path, hostile.to_string()).expect("a file can be written");
        for (number, question) in questions.iter().enumerate() {
            let format = ["table", "wide", "json", "yaml"][(turn + number) % 4];
            let line = format!("{question} {flags} -o {format}");
            check(key, format, &kq(&line).within(folder.path()).run());
        }
    }
}

/// Fails for an unsafe character, and for a line that kq did not begin.
fn assert_safe(what: &str, format: &str, ran: &Ran) {
    for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        let raw = text.chars().find(|&c| c != '\n' && is_unsafe(c));
        assert_eq!(raw, None, "{what} in {format} on {stream}: {text}");
        // A block of YAML is indented: what is in it is no line of its own.
        let forged = text.lines().find(|line| {
            ["hint:", "warning:", "kq:"].iter().any(|kind| {
                line.strip_prefix(kind).is_some_and(|rest| rest.trim_start().starts_with("forged"))
            })
        });
        assert_eq!(forged, None, "{what} in {format} on {stream}: {text}");
    }
    let is_kind = |kind: &str| {
        (1..=20).contains(&kind.len()) && kind.chars().all(|c| c.is_ascii_lowercase() || c == ' ')
    };
    for line in ran.stderr.lines() {
        let kind = line.split_once(": ").map(|(kind, _)| kind);
        assert!(kind.is_some_and(is_kind), "{what}: not a line of kq: {}", ran.stderr);
    }
}

/// Fails for a line that buries all others.
fn assert_bounded(what: &str, format: &str, ran: &Ran) {
    if matches!(format, "table" | "wide") {
        let longest = ran.stdout.lines().map(str::len).max().unwrap_or(0);
        assert!(longest < 200_000, "{what} in {format}: a line of {longest} bytes");
    }
}

const PREEMPTION_FILES: &[&str] = &[
    "tests/preemption/not-enough/pods-before.json",
    "tests/preemption/not-enough/node.json",
    "tests/preemption/not-enough/preemptor.json",
];
const DEVICE_FILES: &[&str] = &["examples/devices/snapshot.json", "examples/devices/pod.yaml"];

#[test]
fn texts_of_a_node_forge_nothing() {
    let flags = "--snapshot snapshot.json";
    ask_with(HOSTILE, &["examples/node/snapshot.json"], flags, NODE, assert_safe);
}

#[test]
fn texts_of_a_runtime_forge_nothing() {
    let flags = "--snapshot snapshot.json";
    ask_with(HOSTILE, &["examples/images/snapshot.json"], flags, IMAGES, assert_safe);
}

#[test]
fn texts_of_device_plugins_forge_nothing() {
    ask_with(HOSTILE, DEVICE_FILES, "--snapshot snapshot.json", DEVICES, assert_safe);
}

#[test]
fn texts_of_pods_forge_nothing() {
    let flags = "--pods pods-before.json --node-file node.json";
    ask_with(HOSTILE, PREEMPTION_FILES, flags, PREEMPTION, assert_safe);
}

#[test]
fn long_texts_break_no_table() {
    let long = "x".repeat(70_000);
    let flags = "--snapshot snapshot.json";
    ask_with(&long, &["examples/images/snapshot.json"], flags, IMAGES, assert_bounded);
    ask_with(&long, DEVICE_FILES, flags, DEVICES, assert_bounded);
}

#[test]
fn sixteen_thousand_devices_fit_a_cell() {
    let ids: Vec<String> = (0..16_384).map(|n| format!("GPU-0-fraction-{n:05}")).collect();
    let entry = json!({
        "PodUID": "5a2b", "ContainerName": "train", "ResourceName": "example.com/gpu",
        "DeviceIDs": {"0": ids}, "AllocResp": "",
    });
    let checkpoint = json!({
        "Data": {"PodDeviceEntries": [entry], "RegisteredDevices": {"example.com/gpu": ids}},
        "Checksum": 0,
    });
    let loaded = DeviceCheckpoint::parse(checkpoint.to_string().as_bytes()).expect("a checkpoint");
    let folder = folder_with(&[("checkpoint", loaded.checkpoint.to_bytes())]);
    for question in ["devices list", "devices list --free", "devices capacity", "devices verify"] {
        for format in ["table", "wide", "json"] {
            let line = format!("{question} --checkpoint checkpoint -o {format}");
            assert_bounded(&line, format, &kq(&line).within(folder.path()).run());
        }
    }
    // One pod takes all of them.
    let devices = ids.iter().map(|id| format!("- {{resource: example.com/gpu, id: {id}}}\n"));
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, uid: u1, namespace: default}\nspec: \
               {nodeName: worker-1, containers: [{name: c, image: x, resources: {limits: \
               {example.com/gpu: 16384}}}]}\n";
    let folder =
        folder_with(&[("devices.yaml", devices.collect::<String>()), ("pod.yaml", pod.into())]);
    let ask = |format: &str| {
        let line = "devices plan pod.yaml --devices devices.yaml --pods pod.yaml -o";
        kq(&format!("{line} {format}")).within(folder.path()).run()
    };
    let (wide, json) = (ask("wide"), ask("json"));
    assert!(wide.stdout.contains("more characters)"), "{}", wide.text());
    assert_bounded("devices plan", "wide", &wide);
    assert!(json.stdout.contains("GPU-0-fraction-16383"), "{}", json.stderr);
}

#[test]
fn arguments_are_shown_safely() {
    let long = "y".repeat(70_000);
    for (name, before, argument) in [
        ("an unknown flag", "cgroup plan", format!("--unknown{HOSTILE}")),
        ("an unknown command", "", format!("command{HOSTILE}")),
        ("a wrong value", "cgroup plan -o", HOSTILE.to_owned()),
        ("a wrong duration", "probe run --timeout", format!("1{HOSTILE}")),
        ("no file", "cgroup plan", format!("no-such-file{HOSTILE}")),
        ("an unknown flag with a value", "doctor", format!("--unknown={HOSTILE}")),
        ("a long flag", "doctor", format!("--{long}")),
        ("a long value", "cgroup plan -o", long.clone()),
    ] {
        let ran = kq(before).arg(argument).run();
        assert!(matches!(ran.code, 2 | 3), "{name}: {}", ran.text());
        let said = [ran.stdout.as_str(), &ran.stderr].concat();
        let raw = said.chars().find(|&c| c != '\n' && is_unsafe(c));
        assert_eq!(raw, None, "{name}: {said}");
        let forged = said.lines().find(|line| line.trim_start().starts_with("hint: forged"));
        assert_eq!(forged, None, "{name}: {said}");
        assert!(said.len() < 20_000, "{name}: {} bytes", said.len());
    }
}
