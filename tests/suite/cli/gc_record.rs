//! `kq gc record`: a file that is always whole, whatever happens, and what it makes sure.

use super::gc_apply::{Node, container, five};
use super::interactive::telling;
use crate::edges::cri::world::{Changing, World};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

const RUNTIME: (&str, &str) = ("containerd", "1.7.24");

/// Where the records are unless somebody says otherwise.
const PLACE: &str = "root/var/lib/kq/image-records.json";

/// Returns a node where one of five images is used.
fn node() -> Node {
    let world = World { containers: vec![container("app", "c")], ..five() };
    Node::new(Changing::new(world, |_, _| None), RUNTIME)
}

/// Returns the arguments of `gc record`, which wants to hear nothing of kubelet and pods but its rules.
fn record(node: &Node, line: &str) -> Vec<String> {
    std::fs::create_dir_all(node.folder.path().join("root/var/lib")).expect("a folder");
    node.arguments(&format!("gc record {line}"))
}

fn read(path: &Path) -> Value {
    let text = std::fs::read(path).expect("there are records");
    serde_json::from_slice(&text).expect("they are whole")
}

/// Runs kq in the node's folder and returns its exit code and what it said.
fn run(node: &Node, arguments: &[String]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(arguments)
        .env_clear()
        .current_dir(node.folder.path())
        .output()
        .expect("kq runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(!said.contains("panicked"), "{said}");
    (output.status.code().unwrap_or(-1), said)
}

#[test]
fn what_is_recorded_once_is_read_and_narrows_verdicts() {
    let node = node();
    let (code, said) = run(&node, &record(&node, "--once"));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("5 images: 1 in use, 5 first found now"), "{said}");
    let path = node.folder.path().join(PLACE);
    let mut records = read(&path);
    assert_eq!(records["images"].as_array().map(Vec::len), Some(5));

    // The same, made older by hand: kq has looked since before the kubelet's start.
    let at = |minutes: i64| {
        (jiff::Timestamp::now() - jiff::SignedDuration::from_mins(minutes)).to_string()
    };
    let plan = |flags: &str| {
        let ran = node.kq(&format!("gc dry-run --trigger eviction -o json {flags}")).run();
        // How full the kubelet's disk is is unknown.
        assert_eq!(ran.code, 3, "{}", ran.text());
        ran.answer::<Value>()
    };
    let certainty = |plan: &Value, id: &str| {
        let items = plan["items"].as_array().expect("items").iter();
        let mut item = items.filter(|item| item["id"] == id).map(|item| item["certainty"].clone());
        item.next().expect("it is listed")
    };
    records["unbrokenSince"] = json!(at(120));
    for image in records["images"].as_array_mut().expect("images") {
        image["firstDetected"] = json!(at(120));
        image["absentAt"] = json!(at(121));
        if image["unusedAt"] != Value::Null {
            image["unusedAt"] = json!(at(120));
        }
        if image["usedSince"] != Value::Null {
            image["usedSince"] = json!(at(120));
        }
    }
    std::fs::write(&path, records.to_string()).expect("it can be written");
    let with = plan("");
    std::fs::remove_file(&path).expect("it can be removed");
    let without = plan("");
    for id in ["a", "b", "d", "e"] {
        assert_eq!(certainty(&without, id), "possible", "{id}: {without}");
        assert_eq!(certainty(&with, id), "certain", "{id}: {with}");
    }
    assert_eq!(certainty(&with, "c"), "certain");
}

#[test]
fn a_relative_path_is_that_of_the_folder_and_is_read_as_well() {
    let node = node();
    let (code, said) = run(&node, &record(&node, "--once --records here.json"));
    assert_eq!(code, 0, "{said}");
    let path = node.folder.path().join("here.json");
    assert_eq!(read(&path)["images"].as_array().map(Vec::len), Some(5));
    assert!(!node.folder.path().join(PLACE).exists());
    let (code, said) = run(&node, &node.arguments("gc images --records here.json -o json"));
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("\"firstSeen\": null"), "{said}");
    let (code, said) = run(&node, &node.arguments("gc images --records nowhere.json"));
    assert_eq!(code, 3, "{said}");
}

#[test]
fn what_stands_in_the_way_changes_nothing() {
    let future = json!({
        "apiVersion": "kq/v1", "kind": "ImageRecords", "detectedAt": "2100-01-01T00:00:00Z",
        "unbrokenSince": "2099-01-01T00:00:00Z", "images": [],
    });
    for (name, content, expected) in [
        ("garbage", "\0\u{1}garbage".to_owned(), "image-records.json"),
        ("nothing", String::new(), "image-records.json"),
        ("something else", r#"{"kind":"Pod","apiVersion":"v1"}"#.to_owned(), "image-records.json"),
        ("from the future", future.to_string(), "before the last detection at 2100-01-01"),
    ] {
        let node = node();
        let arguments = record(&node, "--once");
        let path = node.folder.path().join(PLACE);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, &content).expect("a file");
        let (code, said) = run(&node, &arguments);
        assert_eq!(code, 4, "{name}: {said}");
        assert!(said.contains(expected), "{name}: {said}");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), content, "{name}");
    }
    let mut node = node();
    let arguments = record(&node, "--once");
    assert_eq!(run(&node, &arguments).0, 0);
    let before = read(&node.folder.path().join(PLACE));
    std::fs::remove_file(node.folder.path().join("root/runtime.sock")).expect("a socket");
    std::mem::forget(node.server.take());
    let (code, said) = run(&node, &arguments);
    assert_eq!(code, 3, "there is no runtime: {said}");
    assert_eq!(read(&node.folder.path().join(PLACE)), before);
}

#[test]
fn a_full_disk_leaves_the_old_records() {
    let node = node();
    let arguments = record(&node, "--once");
    let folder = node.folder.path().join("root/var/lib/kq");
    std::fs::create_dir_all(&folder).expect("a folder");
    if mount("tmpfs", &folder, "tmpfs", MountFlags::empty(), Some(c"size=32k")).is_err() {
        return eprintln!("no file system can be mounted here");
    }
    let full = || {
        assert_eq!(run(&node, &arguments).0, 0);
        let before = read(&node.folder.path().join(PLACE));
        let filling = std::fs::write(folder.join("filling"), vec![0; 64 << 10]);
        assert!(filling.is_err(), "it is full");
        let (code, said) = run(&node, &arguments);
        (before, read(&node.folder.path().join(PLACE)), code, said)
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(full));
    unmount(&folder, UnmountFlags::DETACH).expect("it can be unmounted");
    let (before, after, code, said) = result.expect("see above");
    assert_eq!(code, 4, "{said}");
    assert!(said.to_lowercase().contains("no space left"), "{said}");
    assert_eq!(before, after);
}

#[test]
fn two_at_a_time_and_any_that_is_killed_leave_whole_records() {
    let node = node();
    let arguments = record(&node, "--interval 1s");
    let once = record(&node, "--once");
    let mut first_found = None;
    for round in 0..6 {
        let mut first = telling(&arguments);
        first.until("5 images");
        let mut second = telling(&arguments);
        // Killed at another moment each time: before its look, in it, while it writes, after it.
        std::thread::sleep(std::time::Duration::from_millis(7 * round));
        second.kill();
        first.kill();
        let records = read(&node.folder.path().join(PLACE));
        assert_eq!(records["images"].as_array().map(Vec::len), Some(5));
        let (code, said) = run(&node, &once);
        assert_eq!(code, 0, "{said}");
        let found = read(&node.folder.path().join(PLACE))["images"][0]["firstDetected"].clone();
        assert_eq!(first_found.get_or_insert(found.clone()), &found, "nothing is forgotten");
    }
    let start = |_| {
        let mut kq = Command::new(env!("CARGO_BIN_EXE_kq"));
        kq.args(&once).stdout(Stdio::null()).spawn().expect("kq starts")
    };
    let at_once: Vec<_> = (0..4).map(start).collect();
    for mut child in at_once {
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn a_runtime_that_is_away_for_a_while_is_waited_for() {
    let mut node = node();
    let mut run = telling(&record(&node, "--interval 1s"));
    run.until("5 images");
    std::fs::remove_file(node.folder.path().join("root/runtime.sock")).expect("a socket");
    std::mem::forget(node.server.take());
    run.until_error("warning: nothing recorded: ");
    node.world.now().images.truncate(3);
    node.revive();
    run.until(" 3 images");
    run.kill();
}

#[test]
fn an_interval_that_makes_gaps_is_refused() {
    let node = node();
    for (interval, code) in [("10m", 2), ("9m1s", 2), ("0s", 2), ("-1s", 2), ("x", 2)] {
        let (got, said) = run(&node, &record(&node, &format!("--interval={interval}")));
        assert_eq!(got, code, "{interval}: {said}");
    }
}
