//! `kq devices serve`, `allocate` and `plugins` where something is missing, hangs, or is in the way.

use super::devices_serve::{RESOURCE, Served, able, allocate, four, json, pod};
use super::kq;
use crate::edges::device_plugin::sample_plugin::{Behaviour, Plugin};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

#[test]
fn a_resource_that_nobody_registered_is_no_success() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &[]);
    let plugin = Plugin::start(folder.path(), "gpu.sock", four(), able());
    plugin.register("example.com/gpus").expect("it is accepted");
    served.until("LISTED");
    let ran = allocate(folder.path(), &pod("web", &[("app", 1)]), "");
    assert_eq!(ran.code, 1, "{}", ran.text());
    let expected = "app lacks example.com/gpu: no plugin has registered it, and a kubelet would start \
                    the container without; did you mean example.com/gpus?";
    assert!(ran.stdout.contains(expected), "{}", ran.text());
    let report = json(&allocate(folder.path(), &pod("web", &[("app", 1)]), "-o json"));
    assert_eq!(report["admitted"], true, "as in a kubelet");
    assert_eq!(report["containers"][0]["unregistered"][0]["didYouMean"], "example.com/gpus");

    let none = allocate(folder.path(), &pod("plain", &[("app", 0)]), "");
    assert_eq!(none.code, 0, "{}", none.text());
    assert!(none.stderr.contains("the pod requests no devices"), "{}", none.text());

    // What is restored has no names.
    served.interrupt();
    let checkpoint = r#"{"Data":{"PodDeviceEntries":[{"PodUID":"bcbab8a5-1","ContainerName":"c","ResourceName":"a.b/c","DeviceIDs":{"-1":["x"]},"AllocResp":null}],"RegisteredDevices":{"a.b/c":["x"]}},"Checksum":0}"#;
    let path = folder.path().join("kubelet_internal_checkpoint");
    std::fs::write(&path, right_checksum(checkpoint)).expect("a file can be written");
    let served = Served::start(folder.path(), &[]);
    let end = |pod: &str| {
        kq(&format!("devices allocate --dir {} --remove {pod}", folder.path().display())).run()
    };
    let unknown = end("both");
    assert_eq!(unknown.code, 2, "{}", unknown.text());
    let expected = "there are: UID bcbab8a5-1 (restored from the checkpoint, which has no names)";
    assert!(unknown.stderr.contains(expected), "{}", unknown.text());
    assert_eq!(end("bcbab8a5-1").code, 0);
    served.interrupt();
}

#[test]
fn numa_nodes_count_where_a_policy_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &[]);
    let plugin = Plugin::start(folder.path(), "gpu.sock", four(), able());
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("ADDED example.com/gpu d");
    let policy = "--topology-manager-policy single-numa-node";
    let ran = allocate(folder.path(), &pod("wide", &[("app", 3)]), policy);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let refused =
        "refused: TopologyAffinityError: Resources cannot be allocated with Topology locality";
    assert!(ran.stdout.contains(refused), "{}", ran.text());
    assert!(ran.stderr.contains("of its devices and no others (--numa-nodes)"), "{}", ran.text());
    let both = pod("two", &[("left", 2), ("right", 2)]);
    let ran = allocate(folder.path(), &both, &format!("{policy} --numa-nodes 0,1 -o wide"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("left affinity: NUMA 0, preferred"), "{}", ran.text());
    assert!(ran.stdout.contains("right affinity: NUMA 1, preferred"), "{}", ran.text());
    assert!(!ran.stderr.contains("(--numa-nodes)"), "{}", ran.text());

    // The kubelet of today does not survive a device that vanished under its container.
    plugin.list(four().split_off(1));
    served.until("GONE example.com/gpu a");
    let ran = allocate(folder.path(), &both, policy);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("the kubelet crashes: device \"a\""), "{}", ran.text());
    let ran = allocate(folder.path(), &pod("none", &[("app", 1)]), "");
    assert!(ran.stderr.contains("assumed: topology manager policy none"), "{}", ran.text());
    served.interrupt();
}

#[test]
fn an_amount_below_nothing_reaches_no_plugin() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &[]);
    let plugin = Plugin::start(folder.path(), "gpu.sock", four(), able());
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("ADDED example.com/gpu d");
    let file = pod("web", &[("app", 1)]);
    let path = file.path().join("pod.yaml");
    let text = std::fs::read_to_string(&path).expect("it is there");
    std::fs::write(&path, text.replace(": 1}", ": -1}")).expect("it can be written");
    let ran = allocate(folder.path(), &file, "");
    assert_eq!(ran.code, 2, "{}", ran.text());
    let expected =
        "spec.containers[0].resources.limits[example.com/gpu]: Invalid value: \"-1\": must be";
    assert!(ran.stderr.contains(expected), "{}", ran.text());
    let calls = plugin.calls.lock().expect("no test panics with it").clone();
    assert_eq!(calls, ["ListAndWatch"]);
    served.interrupt();
}

/// Puts the checksum in which the kubelet would have written.
fn right_checksum(text: &str) -> String {
    let loaded = kq_facts::checkpoint::device::DeviceCheckpoint::parse(text.as_bytes());
    let bytes = loaded.expect("it is JSON").checkpoint.to_bytes();
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

#[test]
fn rubbish_and_a_lost_socket_are_told() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &[]);
    let socket = folder.path().join("kubelet.sock");
    // One that only looks is none of it.
    drop(UnixStream::connect(&socket).expect("it listens"));
    let mut caller = UnixStream::connect(&socket).expect("it listens");
    caller.write_all(b"GET / HTTP/1.1\r\nHost: kubelet\r\n\r\n").expect("it takes it");
    let said = served.until("REFUSED a caller of kubelet.sock that does not use gRPC");
    assert_eq!(said.matches("REFUSED").count(), 1, "{said}");

    // Another takes the place: it is left alone.
    std::fs::remove_file(&socket).expect("it is there");
    std::fs::write(&socket, "").expect("a file can be written");
    let status = served.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(3));
    let mut stderr = String::new();
    let pipe = served.child.stderr.as_mut().expect("it is piped");
    pipe.read_to_string(&mut stderr).expect("UTF-8");
    assert!(stderr.contains("kubelet.sock was removed or replaced"), "{stderr}");
    assert!(socket.exists() && !folder.path().join("kq.sock").exists());
}

#[test]
fn folders_that_will_not_do_are_left_as_they_are() {
    let host = tempfile::tempdir().expect("a temporary folder can be made");
    let root = host.path();
    std::fs::create_dir_all(root.join("proc/1")).expect("a folder can be made");
    let stat = format!("1 (init) S{}", " 0".repeat(40));
    std::fs::write(root.join("proc/1/stat"), stat).expect("a file can be written");
    let long = "x".repeat(120);
    for (dir, code, expected) in [
        ("var/lib/kubelet/device-plugins", 4, "the usual root folder of kubelets"),
        (long.as_str(), 2, "is too long for sockets"),
    ] {
        let dir = root.join(dir).display().to_string();
        let ran = kq(&format!("devices serve --host-root {} --dir {dir}", root.display())).run();
        assert_eq!(ran.code, code, "{}", ran.text());
        assert!(ran.stderr.contains(expected), "{}", ran.text());
        let left = std::fs::read_dir(root).expect("it can be read").count();
        assert_eq!(left, 1, "nothing was made: {}", ran.text());
    }
    let dir = root.join(&long).display().to_string();
    let file = pod("web", &[("app", 1)]);
    let ran = allocate(Path::new(&dir), &file, "");
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("and may have 94"), "{}", ran.text());
}

#[test]
fn what_hangs_or_is_not_there_yet_is_in_the_table() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("plugins");
    let look = |more: &str| {
        let path = path.display();
        kq(&format!("devices plugins --call-timeout 500ms --dir {path} {more}")).run()
    };
    assert_eq!(look("").code, 3, "there is no folder");
    let waited = look(&format!("--wait {RESOURCE} --timeout 600ms"));
    assert_eq!(waited.code, 1, "it may come: {}", waited.text());
    assert!(waited.stderr.contains("no kubelet has started"), "{}", waited.text());

    std::fs::create_dir(&path).expect("a folder can be made");
    let empty = look("");
    assert_eq!(empty.code, 0, "{}", empty.text());
    assert!(empty.stderr.contains("no plugin has registered yet"), "{}", empty.text());
    assert!(!empty.stderr.contains("os error"), "{}", empty.text());

    let mut served = Served::start(&path, &[]);
    let mut plugin = Plugin::start(&path, "gpu.sock", four(), able());
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("LISTED");
    plugin.die();
    served.until("DISCONNECTED");
    let shown = look("");
    let line = shown.stdout.lines().find(|line| line.starts_with("none")).unwrap_or_default();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells, ["none", "-", "-", RESOURCE, "0", "-", "-"], "{}", shown.text());
    assert!(!shown.stdout.contains("kq.sock"), "{}", shown.text());
    let behaviour = Behaviour { hangs: true, ..Behaviour::default() };
    let _hung = Plugin::start(&path, "hung.sock", four(), behaviour);
    let shown = look("");
    assert_eq!(shown.code, 0, "{}", shown.text());
    let mut lines = shown.stdout.lines();
    let hung = |line: &str| line.starts_with("hung.sock") && line.contains("no answer");
    assert!(lines.any(hung), "{}", shown.text());
    let warned = "hung.sock listens and does not answer: no answer within 500ms";
    assert!(shown.stderr.contains(warned), "{}", shown.text());
    served.interrupt();
}
