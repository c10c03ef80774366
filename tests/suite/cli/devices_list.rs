//! `kq devices list`: which files win, what is refused, and what is said where something is missing.

use super::{Ran, folder_with, kq};
use crate::devices::stored::{snapshot, stored, text};
use kq_facts::lookup::Lookup;
use serde_json::Value;
use std::path::Path;

fn checkpoint() -> String {
    text("init-reuse", "kubelet_internal_checkpoint")
}

/// Returns a checkpoint with two entries that are whole.
fn half() -> String {
    let text = checkpoint();
    let (third, _) = text.match_indices("{\"PodUID\"").nth(2).expect("it has more");
    text[..third + 60].to_owned()
}

/// Returns a folder with a moment of a node, and the file of another.
fn files() -> tempfile::TempDir {
    folder_with(&[
        ("node.json", stored("one")),
        ("later", checkpoint()),
        ("told.json", text("init-reuse", "pod-resources.json")),
        ("pods.json", text("init-reuse", "pods.json")),
        ("damaged", checkpoint().replace("\"w2\"", "\"w9\"")),
        ("double", checkpoint().replace("\"w0\"", "\"w1\"")),
        ("cut", checkpoint()[..200].to_owned()),
        ("half", half()),
        ("empty", String::new()),
        ("other.json", "{\"kind\":\"PodList\"}".to_owned()),
    ])
}

fn ask(folder: &Path, line: &str) -> Ran {
    kq(&format!("devices list --snapshot node.json {line}")).within(folder).run()
}

#[test]
fn a_named_file_wins_over_the_node() {
    let folder = files();
    let line = "--checkpoint later --pod-resources told.json --pods pods.json -o json";
    let ran = ask(folder.path(), line);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let answer: Value = ran.answer();
    let items = answer["items"].as_array().expect("items");
    assert_eq!(items.len(), 6, "{answer:#}");
    let env = answer.pointer("/given/0/answer/decoded/envs/WIDGETS").expect("what it was given");
    assert_eq!(env, "w1", "{answer:#}");

    let ran = ask(folder.path(), "init-reuse --checkpoint later --pods pods.json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("main        example.com/widget   w2       1"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("default/one"), "{}", ran.stdout);
    assert!(ran.stdout.contains("MISSING"), "the kubelet of before did not tell: {}", ran.stdout);
}

#[test]
fn pods_are_named_in_three_ways() {
    let folder = files();
    for (pod, code, expected) in [
        ("one", 0, "w0"),
        ("default/one", 0, "w0"),
        ("f15af62b-4c98-4646-8723-56f2d5065452", 0, "w0"),
        ("F15AF62B-4c98-4646-8723-56f2d5065452", 0, "w0"),
        ("pod/one", 0, "w0"),
        ("one -n default", 0, "w0"),
        ("-n default", 0, "w0"),
        ("-A", 0, "w0"),
        ("example.com/widget", 0, "w0"),
        ("-n other", 0, "no container in namespace other has a device"),
        ("one -n other", 2, "kq: no pod other/one on this node"),
        ("default/one -n other", 2, "are two namespaces"),
        ("ome", 2, "did you mean one?"),
        ("two", 2, "kq: no pod two on this node, and no devices of one"),
        ("other/one", 2, "kq: no pod other/one on this node"),
    ] {
        let ran = ask(folder.path(), pod);
        assert_eq!(ran.code, code, "{pod}: {}", ran.text());
        assert!(ran.text().contains(expected), "{pod}: {}", ran.text());
    }
    // It is there, and has none.
    let nothing = folder_with(&[("node.json", stored("one")), ("none", empty_checkpoint())]);
    let ran = ask(nothing.path(), "one --source checkpoint --checkpoint none");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one has no devices\n"), "{}", ran.text());
    let ran = ask(nothing.path(), "--source checkpoint --checkpoint none");
    assert!(ran.stdout.starts_with("no container has a device\n"), "{}", ran.text());
}

fn empty_checkpoint() -> String {
    r#"{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}"#.to_owned()
}

#[test]
fn damage_is_told_with_what_could_be_read() {
    let folder = files();
    for (file, says, shown) in [
        ("damaged", "checkpoint is corrupted", "its entries are shown as they stand there"),
        ("cut", "unexpected end of JSON input", "no entry in it is whole"),
        ("half", "unexpected end of JSON input", "the 2 entries that are whole are shown"),
        ("empty", "unexpected end of JSON input", "no entry in it is whole"),
    ] {
        let ran = ask(folder.path(), &format!("--checkpoint {file} --source checkpoint"));
        assert_eq!(ran.code, 3, "{file}: {}", ran.text());
        let expected = format!("warning: the checkpoint is damaged (the kubelet says: {says})");
        assert!(ran.stderr.starts_with(&expected), "{file}: {}", ran.text());
        assert!(
            ran.stderr.lines().next().is_some_and(|line| line.ends_with(shown)),
            "{file}: {}",
            ran.text()
        );
        // Nobody says what is healthy: the kubelet starts with nothing of this.
        let line = format!("--checkpoint {file} --source checkpoint -o json");
        let list: Value = serde_json::from_str(&ask(folder.path(), &line).stdout).expect("JSON");
        for resource in list["resources"].as_object().expect("by name").values() {
            assert!(resource["healthy"].is_null() && resource["free"].is_null(), "{file}: {list}");
        }
    }
}

#[test]
fn a_damaged_file_decides_nothing_where_the_kubelet_tells() {
    let folder = files();
    let ask = |file: &str| {
        ask(
            folder.path(),
            &format!("--checkpoint {file} --pod-resources told.json --pods pods.json"),
        )
    };
    let empty = ask("empty");
    assert!(empty.stdout.contains("default/init-reuse"), "{}", empty.text());
    for file in ["damaged", "half", "double"] {
        let ran = ask(file);
        assert_eq!(ran.code, 3, "{file}: {}", ran.text());
        // Whatever stands in it.
        assert_eq!(ran.stdout, empty.stdout, "{file}: {}", ran.text());
        assert!(!ran.stdout.contains("DOUBLE"), "{file}: {}", ran.text());
        let notes = "warning: the damaged checkpoint also has";
        assert!(ran.stderr.contains(notes), "{file}: {}", ran.text());
        assert!(ran.stderr.contains("the values are the kubelet's"), "{}", ran.text());
        assert!(
            ran.stderr.contains("assumed: no init container that ended holds"),
            "{}",
            ran.text()
        );
        assert_eq!(ran.text().matches("is damaged (").count(), 1, "{}", ran.text());
    }
}

#[test]
fn files_alone_need_no_node() {
    let folder = files();
    let files = "--checkpoint later --pod-resources told.json --pods pods.json";
    for command in ["list", "list --free", "list -o wide", "capacity", "plan init-reuse"] {
        let ran = kq(&format!("devices {command} {files}")).within(folder.path()).run();
        assert_eq!(ran.code, 0, "{command}: {}", ran.text());
        for text in ["runtime could not be asked", "runtime did not answer"] {
            assert!(!ran.stderr.contains(text), "{command}: {}", ran.text());
        }
        let is_plan = command.starts_with("plan");
        assert!(is_plan || !ran.stderr.contains("configuration"), "{command}: {}", ran.text());
        assert!(!command.starts_with("list") || ran.stderr.is_empty(), "{command}: {}", ran.text());
    }
}

#[test]
fn a_pod_that_cannot_be_read_is_told() {
    let folder = files();
    let mut pods: Value = serde_json::from_str(&text("init-reuse", "pods.json")).expect("JSON");
    for pod in pods["items"].as_array_mut().expect("a list") {
        if pod["metadata"]["name"] != "init-reuse" {
            continue;
        }
        for container in pod["spec"]["containers"].as_array_mut().expect("a list") {
            let resources = container["resources"].as_object_mut().expect("an object");
            resources.remove("limits").expect("limits");
        }
    }
    std::fs::write(folder.path().join("bad.json"), pods.to_string()).expect("it can be written");
    let files = "--checkpoint later --pod-resources told.json --pods bad.json";
    let ran = kq(&format!("devices list {files}")).within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("missing: left out: "), "{}", ran.text());
    assert!(ran.stderr.contains("init-reuse"), "{}", ran.text());
    let ran = kq(&format!("devices plan init-reuse {files}")).within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("kq: pod init-reuse was left out: "), "{}", ran.text());
}

#[test]
fn files_that_are_something_else_are_refused() {
    let folder = files();
    std::fs::create_dir(folder.path().join("folder")).expect("a folder can be made");
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.is_ok_and(|status| status.success()), "a named pipe can be made");
    let large = std::fs::File::create(folder.path().join("large")).expect("a file can be made");
    large.set_len(1 << 30).expect("a file can be sparse");
    for (line, code, expected) in [
        ("--checkpoint nothing", 3, "kq: cannot read nothing: no such file"),
        ("--checkpoint folder", 3, "kq: cannot read folder: is a directory, expected a file"),
        ("--checkpoint fifo", 3, "kq: cannot read fifo: a named pipe without a writer"),
        ("--checkpoint large", 3, "kq: large has more than 268435456 bytes, which"),
        ("--checkpoint /dev/zero", 3, "kq: /dev/zero has more than 268435456 bytes, which"),
        ("--pod-resources nothing", 3, "kq: cannot read nothing: no such file"),
        (
            "--pod-resources other.json",
            2,
            "kq: --pod-resources other.json: neither podResources nor List is present",
        ),
        ("--node-file other.json", 2, "kind \"PodList\", expected Node"),
        ("--source all", 2, "invalid value 'all'"),
        ("one --free", 2, "cannot be used with"),
    ] {
        let ran = ask(folder.path(), line);
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
    }
}

#[test]
fn what_a_snapshot_lacks_is_said() {
    let mut old = snapshot("one");
    old.devices = None;
    let mut deaf = snapshot("one");
    let facts = deaf.devices.as_mut().expect("it has devices");
    facts.pod_resources = Lookup::failed("kubelet.sock", "connection refused");
    let json = |value| serde_json::to_vec(&value).expect("it can be written");
    let folder = folder_with(&[
        ("node.json", json(old)),
        ("deaf.json", json(deaf)),
        ("checkpoint", checkpoint().into_bytes()),
    ]);
    let ran = ask(folder.path(), "");
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("take a new one with kq snapshot"), "{}", ran.text());
    assert_eq!(ran.stdout, "");
    let ran = ask(folder.path(), "--checkpoint checkpoint --source checkpoint");
    assert_eq!(ran.code, 0, "{}", ran.text());

    let line = "devices list --snapshot deaf.json";
    let ran = kq(line).within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("UNKNOWN"), "{}", ran.text());
    let expected = "missing: the pod-resources API is unavailable (kubelet.sock: connection";
    assert!(ran.stderr.contains(expected), "{}", ran.text());
    let ran = kq(&format!("{line} --source checkpoint")).within(folder.path()).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn names_cannot_play_with_the_terminal() {
    let odd = checkpoint().replace("\"w2\"", "\"w\\u001b[31m\\n2\"");
    let folder = folder_with(&[("node.json", stored("one")), ("odd", odd)]);
    for format in ["table", "wide"] {
        let ran = ask(folder.path(), &format!("--checkpoint odd -o {format}"));
        assert!(ran.stderr.contains("w\\u{1b}[31m\\n2 of"), "{}", ran.text());
        let line = format!("--checkpoint odd --source checkpoint -o {format}");
        let ran = ask(folder.path(), &line);
        assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.text());
        assert!(ran.stdout.contains("\\u{1b}[31m"), "{}", ran.text());
    }
}

#[test]
fn no_snapshot_holds_what_plugins_answered() {
    let text = stored("init-reuse");
    assert!(text.contains("withheld") && !text.contains("WIDGETS"), "{text}");
}

/// The shape of the answer, written down once more from the outside.
#[expect(dead_code, reason = "the fields are there to be read")]
mod contract {
    use super::{checkpoint, folder_with, kq};
    use crate::cli::contract::{Reason, Said};
    use crate::devices::stored::{MOMENTS, stored};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct DeviceList {
        api_version: String,
        kind: String,
        at: String,
        source: String,
        items: Vec<Item>,
        given: Vec<Given>,
        resources: BTreeMap<String, Resource>,
        damage: Option<Reason>,
        assumptions: Vec<Said>,
        warnings: Vec<Said>,
        missing: Vec<Said>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct FreeDevices {
        api_version: String,
        kind: String,
        at: String,
        items: Vec<FreeOf>,
        unknown: Vec<String>,
        damage: Option<Reason>,
        assumptions: Vec<Said>,
        warnings: Vec<Said>,
        missing: Vec<Said>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct FreeOf {
        resource: String,
        device: String,
        numa_nodes: Option<Vec<i64>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Pod {
        namespace: String,
        name: String,
        uid: Option<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Item {
        pod: Pod,
        container: String,
        role: String,
        resource: String,
        device: String,
        numa_nodes: Vec<i64>,
        health: String,
        health_because: Reason,
        state: String,
        findings: Vec<Finding>,
        in_checkpoint: Option<bool>,
        in_pod_resources: Option<bool>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Finding {
        state: String,
        reason: Reason,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Given {
        pod: Pod,
        container: String,
        resource: String,
        answer: Answer,
        dropped: Vec<BTreeMap<String, serde_json::Value>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Answer {
        Withheld,
        Undecodable(String),
        Decoded(Response),
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Response {
        envs: BTreeMap<String, String>,
        mounts: Vec<BTreeMap<String, serde_json::Value>>,
        devices: Vec<BTreeMap<String, String>>,
        annotations: BTreeMap<String, String>,
        cdi_devices: Vec<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Resource {
        capacity: Option<i64>,
        allocatable: Option<i64>,
        healthy: Option<u64>,
        allocated: u64,
        stale: u64,
        free: Option<Vec<Free>>,
        notes: Vec<Reason>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Free {
        device: String,
        numa_nodes: Option<Vec<i64>>,
    }

    #[test]
    fn a_list_has_its_shape() {
        for moment in MOMENTS {
            let folder = folder_with(&[("node.json", stored(moment)), ("other", checkpoint())]);
            for more in ["", "--checkpoint other", "--source checkpoint", "--source podresources"] {
                let line = format!("devices list --snapshot node.json {more} -o json");
                let ran = kq(&line).within(folder.path()).run();
                let list: DeviceList = ran.answer();
                assert_eq!((&*list.api_version, &*list.kind), ("kq/v2", "DeviceList"));
                assert!(!list.items.is_empty(), "{line}");
                let ran = kq(&format!("{line} --free")).within(folder.path()).run();
                let free: FreeDevices = ran.answer();
                let left =
                    list.resources.values().flat_map(|resource| resource.free.iter().flatten());
                assert_eq!((&*free.kind, free.items.len()), ("FreeDevices", left.count()));
            }
        }
    }
}
