//! `kq devices serve` and `allocate`: what a stand-in keeps, and what it does not do, when something goes wrong.

use super::devices_serve::{RESOURCE, Served, able, allocate, four, pod};
use super::{folder_with, kq};
use crate::edges::device_plugin::sample_plugin::{Behaviour, Plugin};
use kq_linux::device_plugin::send_request;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// Serves a plugin of four devices.
fn serve(folder: &Path, behaviour: Behaviour) -> (Served, Plugin) {
    let mut served = Served::start(folder, &[]);
    let plugin = Plugin::start(folder, "gpu.sock", four(), behaviour);
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("ADDED example.com/gpu d");
    (served, plugin)
}

fn remove(folder: &Path, pod: &str) -> super::Ran {
    kq(&format!("devices allocate --dir {} --remove {pod}", folder.display())).run()
}

#[test]
fn no_pod_has_what_could_not_be_written() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (mut served, _plugin) = serve(folder.path(), able());
    let checkpoint = folder.path().join("kubelet_internal_checkpoint");
    // A file does not take the place of a folder.
    std::fs::remove_file(&checkpoint).expect("it is there");
    std::fs::create_dir(&checkpoint).expect("a folder can be made");
    let ran = allocate(folder.path(), &pod("first", &[("app", 2)]), "");
    assert_eq!(ran.code, 1, "{}", ran.text());
    let expected = "refused: UnexpectedAdmissionError: Allocate failed due to failed to write checkpoint \
                    file \"kubelet_internal_checkpoint\": cannot write ";
    assert!(ran.stdout.contains(expected), "{}", ran.text());
    let said = served.until("NOT-ALLOCATED default/first");
    assert_eq!(said.matches("CHECKPOINT-FAILED").count(), 1, "{said}");
    std::fs::remove_dir(&checkpoint).expect("it is empty");
    served.until("CHECKPOINT-WRITTEN again");
    let ran = allocate(folder.path(), &pod("second", &[("app", 4)]), "");
    assert_eq!(ran.code, 0, "the first has none: {}", ran.text());

    // What cannot be written by the end is said.
    std::fs::remove_file(&checkpoint).expect("it is there");
    std::fs::create_dir(&checkpoint).expect("a folder can be made");
    assert_eq!(remove(folder.path(), "second").code, 0);
    served.until("CHECKPOINT-FAILED");
    kill_process(Pid::from_child(&served.child), Signal::TERM).expect("it runs");
    let status = served.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(3), "what changed is lost");
}

#[test]
fn a_pod_ends_when_it_is_refused_and_not_when_nothing_is_known() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (mut served, plugin) = serve(folder.path(), able());
    let keeps = pod("keeps", &[("app", 2)]);
    assert_eq!(allocate(folder.path(), &keeps, "").code, 0);
    // It has c and d.
    plugin.list(four().drain(..3).collect());
    served.until("GONE example.com/gpu d");
    let crash = allocate(folder.path(), &keeps, "--topology-manager-policy restricted");
    assert!(crash.stdout.contains("the kubelet crashes: device \"d\""), "{}", crash.text());
    let next = allocate(folder.path(), &pod("next", &[("app", 3)]), "");
    assert!(next.stdout.contains("Requested: 3, Available: 2"), "it keeps c: {}", next.text());

    // One that asks for something else than it has is refused, and is not there any more.
    let ran = allocate(folder.path(), &pod("keeps", &[("app", 1)]), "");
    assert!(ran.stdout.contains("changed request for resource"), "{}", ran.text());
    let said = served.until("ENDED keeps_default");
    assert!(said.contains("NOT-ALLOCATED default/keeps"), "{said}");
    let gone = remove(folder.path(), "keeps");
    assert!(gone.stderr.contains("no pod has been admitted"), "{}", gone.text());
    served.interrupt();
}

#[test]
fn a_pod_that_was_ended_does_not_come_back() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (served, _plugin) = serve(folder.path(), able());
    assert_eq!(allocate(folder.path(), &pod("web", &[("app", 2)]), "").code, 0);
    assert_eq!(remove(folder.path(), "web").code, 0);
    served.interrupt();
    let mut served = Served::start(folder.path(), &["-o", "json"]);
    let again = Plugin::start(folder.path(), "gpu.sock", four(), able());
    again.register(RESOURCE).expect("it is accepted");
    served.until("deviceAdded");
    let none = remove(folder.path(), "web");
    assert!(none.stderr.contains("no pod has been admitted"), "{}", none.text());
    served.interrupt();
}

#[test]
fn a_node_that_is_none_changes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (mut served, plugin) = serve(folder.path(), able());
    let web = pod("web", &[("app", 1)]);
    for (nodes, expected) in [
        ("-1,100", "a NUMA node is a whole number from 0 on"),
        ("9999999999", "a NUMA node is a whole number from 0 on"),
        ("0,0,1", "--numa-nodes: 0 is named twice"),
    ] {
        let ran = allocate(folder.path(), &web, &format!("--numa-nodes={nodes}"));
        assert_eq!(ran.code, 2, "{nodes}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{nodes}: {}", ran.text());
    }
    // Nor where somebody else than kq says so.
    let text = std::fs::read_to_string(web.path().join("pod.yaml")).expect("it is there");
    for nodes in [[-1, 0], [1, 1]] {
        let request = serde_json::json!({"allocate": {"file": "pod.yaml", "text": text, "terms": {
            "policy": "restricted", "scope": "container", "numaNodes": nodes, "start": true,
        }}});
        let request = serde_json::to_vec(&request).expect("it can be written");
        let answer = send_request(folder.path(), &request, None).expect("it answers");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.contains("{\"refused\":\""), "{nodes:?}: {answer}");
    }
    let calls = plugin.calls.lock().expect("no test panics with it").clone();
    assert_eq!(calls, ["ListAndWatch"]);
    drop(plugin);
    served.until("DISCONNECTED");
    served.interrupt();
}

#[test]
fn each_pod_has_a_name_of_its_own() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (served, plugin) = serve(folder.path(), able());
    let one = |metadata: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec: {{containers: [{{name: c, image: \
             x, resources: {{limits: {{{RESOURCE}: 1}}}}}}]}}\n"
        )
    };
    let twice = one("{name: t}") + &one("{name: t}");
    let generated = one("{name: t}") + &one("{generateName: t-}");
    for (text, expected) in [
        (twice, "document 2: metadata.name: default/t is the pod of "),
        (generated, "document 2: metadata.name is empty"),
    ] {
        let ran = allocate(folder.path(), &folder_with(&[("pod.yaml", text)]), "");
        assert_eq!(ran.code, 2, "{}", ran.text());
        assert!(ran.stderr.contains(expected), "{}", ran.text());
    }
    let calls = plugin.calls.lock().expect("no test panics with it").clone();
    assert_eq!(calls, ["ListAndWatch"], "none of them has anything");
    let deployment = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec:\n  replicas: 3\n  selector: \
         {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      \
         containers: [{{name: c, image: x, resources: {{limits: {{{RESOURCE}: 1}}}}}}]\n"
    );
    let ran = allocate(folder.path(), &folder_with(&[("pod.yaml", deployment)]), "");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stderr.contains("Deployment d: one pod of 3 is admitted"), "{}", ran.text());
    served.interrupt();
}

#[test]
fn one_that_ends_says_how_far_it_came() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let hangs = Behaviour { hangs_allocate: true, ..Behaviour::default() };
    let mut served = Served::start(folder.path(), &["--call-timeout", "60s"]);
    let plugin = Plugin::start(folder.path(), "gpu.sock", four(), hangs);
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("ADDED example.com/gpu d");
    let text = ["one", "two", "three"].map(|name| {
        let file = pod(name, &[("app", 1)]);
        std::fs::read_to_string(file.path().join("pod.yaml")).expect("it is there")
    });
    let file = folder_with(&[("pod.yaml", text.join("---\n"))]);
    let ran = thread::scope(|scope| {
        let asked = scope.spawn(|| allocate(folder.path(), &file, ""));
        while !plugin
            .calls
            .lock()
            .expect("no test panics with it")
            .iter()
            .any(|it| it.starts_with("All"))
        {
            thread::yield_now();
        }
        kill_process(Pid::from_child(&served.child), Signal::TERM).expect("it runs");
        asked.join().expect("no test panics with it")
    });
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(ran.stderr.contains("the fake kubelet ended after 1 of 3 pods"), "{}", ran.text());
    assert!(
        ran.stdout.contains("POD default/one") && !ran.stdout.contains("two"),
        "{}",
        ran.text()
    );
    assert!(served.child.wait().expect("it ends").success());
}

#[test]
fn a_checkpoint_of_somebody_else_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = |name: &str| folder.path().join(format!("kubelet_internal_checkpoint{name}"));
    let text =
        r#"{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"a.b/c":["x"]}},"Checksum":0}"#;
    let sound = kq_facts::checkpoint::device::DeviceCheckpoint::parse(text.as_bytes());
    let bytes = sound.expect("it is JSON").checkpoint.to_bytes();
    std::fs::write(path(""), &bytes).expect("a file can be written");
    let (served, _plugin) = serve(folder.path(), able());
    assert_ne!(std::fs::read(path("")).expect("it is there"), bytes, "it is written anew");
    assert_eq!(std::fs::read(path(".before-1")).expect("it is kept"), bytes);
    served.interrupt();
    let served = Served::start(folder.path(), &[]);
    assert!(!path(".before-2").exists(), "this one is its own");
    served.interrupt();
}

#[test]
fn nothing_is_changed_where_it_cannot_listen() {
    let folder = folder_with(&[("kubelet_internal_checkpoint", ""), ("kubelet.sock", "")]);
    let ran = kq(&format!("devices serve --dir {}", folder.path().display())).run();
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("kubelet.sock exists, and is not a socket"), "{}", ran.text());
    let left = std::fs::read_dir(folder.path()).expect("it can be read").count();
    assert_eq!(left, 2, "{}", ran.text());
}

#[test]
fn what_was_done_is_told_where_it_cannot_be_shown() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (served, _plugin) = serve(folder.path(), able());
    let web = pod("web", &[("app", 2)]);
    let to_full = |more: &[&std::ffi::OsStr]| {
        let full = File::options().write(true).open("/dev/full").expect("Linux has one");
        let mut command = Command::new(env!("CARGO_BIN_EXE_kq"));
        command.args(["devices", "allocate", "--dir"]).arg(folder.path()).args(more).env_clear();
        let ran = command.stdout(Stdio::from(full)).output().expect("kq starts");
        (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
    };
    let (code, stderr) = to_full(&[web.path().join("pod.yaml").as_os_str()]);
    assert_eq!(code, Some(0), "it has its devices: {stderr}");
    assert!(
        stderr.contains("the answer could not be written")
            && stderr.contains("default/web is admitted"),
        "{stderr}"
    );
    let (code, stderr) = to_full(&["--remove".as_ref(), "web".as_ref()]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("web_default has ended"), "{stderr}");
    served.interrupt();
}

#[test]
fn calls_are_in_words_and_nodes_are_named_once() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (served, _plugin) = serve(folder.path(), able());
    let ran = allocate(folder.path(), &pod("web", &[("app", 2)]), "-o wide");
    let call = "call Allocate example.com/gpu [c d] -> variable SAMPLE_DEVICES=c,d, mount /opt/sample from ";
    assert!(ran.stdout.contains(call), "{}", ran.text());
    let row = ran.stdout.lines().find(|line| line.starts_with("app ")).unwrap_or_default();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["app", "app", RESOURCE, "c,d", "1", "called"], "{}", ran.text());
    served.interrupt();
}

#[test]
fn a_terminal_that_is_closed_ends_it() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &[]);
    kill_process(Pid::from_child(&served.child), Signal::HUP).expect("it runs");
    served.until("STOPPING");
    assert!(served.child.wait().expect("it ends").success());
    assert!(!folder.path().join("kubelet.sock").exists());
}

#[test]
fn a_path_counts_as_the_stand_in_has_it() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (served, _plugin) = serve(folder.path(), able());
    let long = folder.path().join("x".repeat(100));
    std::os::unix::fs::symlink(folder.path(), &long).expect("a link can be made");
    let web = pod("web", &[("app", 1)]);
    let ran = allocate(&long, &web, "");
    assert_eq!(ran.code, 0, "{}", ran.text());

    // What is too long to be taken is not sent.
    let mut text = std::fs::read_to_string(web.path().join("pod.yaml")).expect("it is there");
    text.push_str(&format!("# {}\n", "\"".repeat(9 << 20)));
    let ran = allocate(folder.path(), &folder_with(&[("pod.yaml", text)]), "");
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("and may have 16777216"), "{}", ran.text());
    served.interrupt();
}
