//! Hostile input ends soon, in little memory, with an answer or with an error that names the source and the limit.
//!
//! Each run has the time and the memory that [`crate::fuzz_binary::run`] grants input below 1 MB.

use super::{folder_with, repository};
use crate::fuzz_binary::run::{Ran, run};
use crate::objects;
use serde_json::{Value, json};
use std::path::Path;

/// Runs kq on a file, and checks what every run must hold. `FILE` in the line is the file.
#[track_caller]
fn bounded(name: &str, line: &str, content: impl AsRef<[u8]>) -> Ran {
    let folder = folder_with(&[(name, content)]);
    std::fs::create_dir(folder.path().join("root")).expect("a folder can be made");
    let repository = repository().display().to_string();
    let arguments: Vec<String> = line
        .split(' ')
        .map(|word| word.replace("FILE", name).replace("REPOSITORY", &repository))
        .collect();
    let ran = run(Path::new(env!("CARGO_BIN_EXE_kq")), &arguments, folder.path(), None);
    let wrong = ran.wrong(line.contains("-ojson"));
    assert!(wrong.is_empty(), "kq {line}: {wrong:?}: {}", said(&ran));
    ran
}

fn said(ran: &Ran) -> String {
    String::from_utf8_lossy(&ran.stderr).chars().take(2_000).collect()
}

#[track_caller]
fn refuses(ran: &Ran, code: i32, parts: &[&str]) {
    let said = format!("{}{}", said(ran), String::from_utf8_lossy(&ran.stdout));
    assert_eq!(ran.status.code(), Some(code), "{}", self::said(ran));
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in {}", self::said(ran));
    }
}

/// Returns a manifest with these containers.
fn manifest(containers: Value) -> String {
    objects::pod("d/p").containers(containers).to_string()
}

fn command(words: &[String]) -> Value {
    json!({"exec": {"command": words}})
}

/// Packs a text with the usual program; `None`: it is not there.
fn packed(text: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (plain, packed) = (folder.path().join("plain"), folder.path().join("packed"));
    std::fs::write(&plain, text).expect("a file can be written");
    let ran =
        std::process::Command::new("zstd").arg("-q").arg(&plain).arg("-o").arg(&packed).status();
    ran.is_ok_and(|status| status.success()).then(|| std::fs::read(packed).expect("it is there"))
}

/// The head of a Zstandard frame with a window of `1 << (10 + exponent)` bytes.
fn frame(exponent: u8, blocks: &[u8]) -> Vec<u8> {
    [&[0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3][..], blocks].concat()
}

#[test]
fn a_command_is_expanded_no_further_than_linux_runs_it() {
    let env = json!([{"name": "A", "value": "x".repeat(290_000)}]);
    let words = vec!["$(A)".to_owned(); 74_000];
    let pod_of = |probe: &Value| {
        manifest(json!([{"name": "c", "image": "i", "env": env, "livenessProbe": probe}]))
    };
    let ran = bounded("pod.json", "probe plan FILE -ojson", pod_of(&command(&words)));
    refuses(&ran, 3, &["the command becomes longer than 6291456 bytes"]);
    // What can be run is planned as it is.
    let ran = bounded("pod.json", "probe plan FILE -ojson", pod_of(&command(&words[..20])));
    assert_eq!(ran.status.code(), Some(0), "{}", said(&ran));
    let plan: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let request = plan["probes"][0]["target"].as_str().expect("a command");
    assert!(request.len() > 20 * 290_000, "{}", request.len());
}

#[test]
fn the_commands_of_a_pod_share_a_budget() {
    let env = json!([{"name": "A", "value": "x".repeat(300)}]);
    let container = |at: usize| {
        let probe = command(&["sh".to_owned(), "$(A)".repeat(90)]);
        json!({"name": format!("c{at}"), "image": "i", "env": env, "livenessProbe": probe})
    };
    let containers: Vec<Value> = (0..1_000).map(container).collect();
    let ran = bounded("pod.json", "probe plan FILE -ojson", manifest(containers.into()));
    refuses(&ran, 3, &["16777216 bytes longer", "-c, --type"]);
}

#[test]
fn many_variables_are_no_square() {
    let env: Vec<Value> =
        (0..15_000).map(|at| json!({"name": format!("a{at}"), "value": "x"})).collect();
    let names: String = (0..40_000).map(|at| format!("$(a{})", at % 100)).collect();
    let unknown: String = (0..40_000).map(|at| format!("$(b{at})")).collect();
    let open = "$(".repeat(200_000);
    for (name, text) in [("known", names), ("unknown", unknown), ("open", open)] {
        let probe = command(&[text]);
        let container = json!({"name": "c", "image": "i", "env": env, "livenessProbe": probe});
        for line in ["probe plan FILE -ojson", "probe lint FILE -ojson"] {
            let ran = bounded("pod.json", line, manifest(json!([container])));
            assert!(matches!(ran.status.code(), Some(0 | 1)), "{name}: {}", said(&ran));
        }
    }
}

#[test]
fn many_containers_are_no_square() {
    let probe = json!({"tcpSocket": {"port": 80}});
    let container = |at| json!({"name": format!("c{at}"), "image": "i", "livenessProbe": probe});
    let containers: Vec<Value> = (0..9_000).map(container).collect();
    let file = manifest(containers.into());
    for line in ["probe plan FILE -ojson", "probe lint FILE -ojson"] {
        let ran = bounded("pod.json", line, &file);
        assert!(matches!(ran.status.code(), Some(0 | 1)), "{}", said(&ran));
    }
}

#[test]
fn many_unknown_names_are_compared_soon() {
    let gates: serde_json::Map<String, Value> =
        (0..60_000).map(|at| (format!("Gate{at}"), true.into())).collect();
    let config = json!({"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1",
                        "featureGates": gates});
    let line = "cgroup plan --kubelet-config FILE --capacity cpu=4,memory=8Gi,pid=1000 -ojson";
    bounded("config.json", line, config.to_string().as_bytes());
}

#[test]
fn ties_are_stored_once() {
    let example = repository().join("examples/images/snapshot.json");
    let example = std::fs::read(example).expect("it can be read");
    let mut snapshot: Value = serde_json::from_slice(&example).expect("JSON");
    let images = &mut snapshot["runtime"]["found"]["value"]["images"]["found"]["value"];
    let one = images[0].clone();
    let image = |at: usize| {
        let mut image = one.clone();
        image["id"] = format!("sha256:{at:064}").into();
        image["repoTags"] = json!([format!("example.com/i{at}:1")]);
        image["repoDigests"] = json!([]);
        image
    };
    *images = (0..3_000).map(image).collect();
    for line in ["gc dry-run --snapshot FILE -ojson", "gc dry-run --snapshot FILE -owide"] {
        let ran = bounded("snapshot.json", line, snapshot.to_string().as_bytes());
        assert!(matches!(ran.status.code(), Some(0 | 1)), "{}", said(&ran));
        if line.ends_with("json") {
            let plan: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
            let items = plan["items"].as_array().expect("items");
            let tied: Vec<&Value> =
                items.iter().filter(|item| !item["tiedPlaces"].is_null()).collect();
            assert!(tied.len() > 2_900, "{}", tied.len());
            let (first, last) = (&tied[0]["tiedPlaces"]["first"], &tied[0]["tiedPlaces"]["last"]);
            assert!(last.as_u64() >= first.as_u64().map(|first| first + 2_900), "{first} {last}");
            assert_eq!(tied[0]["tiedWith"].as_array().map(Vec::len), Some(100));
        }
    }
}

#[test]
fn a_packed_snapshot_stays_in_proportion() {
    let end = [1, 0, 0];
    // A block of one byte that is repeated 131,072 times.
    let repeated = [(131_072_u32 << 3 | 2).to_le_bytes()[..3].to_vec(), vec![b' ']].concat();
    let whole = [repeated.repeat(8_000), end.to_vec()].concat();
    for (name, content, parts) in [
        ("a large window", frame(17, &end), &["window of 134217728 bytes", "zstd -d"][..]),
        ("many windows", frame(13, &end).repeat(1_400), &["is not a kq snapshot"]),
        ("a gigabyte", frame(10, &whole), &["unpacks to more than", "too much for its size"]),
    ] {
        let ran = bounded("snapshot.zst", "doctor --snapshot FILE -ojson", &content);
        assert!(matches!(ran.status.code(), Some(2 | 3)), "{name}: {}", said(&ran));
        parts.iter().for_each(|part| assert!(said(&ran).contains(part), "{name}: {}", said(&ran)));
    }
}

#[test]
fn tiny_values_end_where_the_memory_does() {
    let example = repository().join("examples/node/snapshot.json");
    let example = std::fs::read(example).expect("it can be read");
    let example: Value = serde_json::from_slice(&example).expect("JSON");
    // The snapshot with so many small values in one place.
    let with = |place: &str, one: &str, count: usize| {
        let mut snapshot = example.clone();
        *snapshot.pointer_mut(place).expect("the example has it") = "HERE".into();
        let list = format!("[{}{one}]", format!("{one},").repeat(count));
        snapshot.to_string().replace("\"HERE\"", &list)
    };
    let containers = "/pods/found/value/pods/0/pod/spec/containers";
    let config = "/kubeletConfig/found/value/value/clusterDNS";
    let line = "cgroup plan --snapshot FILE -ojson";
    let small = with(containers, "{}", 280_000);
    assert!(small.len() < 1_000_000);
    let ran = bounded("snapshot.json", line, small.as_bytes());
    refuses(&ran, 3, &["MiB of memory are needed", "bytes from snapshot.json", "hint: "]);
    for (name, place, one, count) in [
        ("containers", containers, "{}", 5_000_000),
        ("values", config, "[]", 5_000_000),
        ("texts", config, "\"\"", 5_000_000),
    ] {
        let Some(packed) = packed(&with(place, one, count)) else { return };
        assert!(packed.len() < 100_000, "{name}");
        let ran = bounded("snapshot.zst", line, &packed);
        // The memory of an answer is bounded as well.
        assert!(matches!(ran.status.code(), Some(0 | 2 | 3)), "{name}: {}", said(&ran));
        assert_eq!(ran.stdout.is_empty(), ran.status.code() != Some(0), "{name}");
    }
}

#[cfg(feature = "apiserver")]
#[test]
fn a_kubeconfig_has_a_limit() {
    let folder = folder_with(&[("empty/.keep", "")]);
    let path = folder.path().join("kubeconfig");
    let file = std::fs::File::create(&path).expect("a file can be made");
    file.set_len(700 << 20).expect("it can be made large");
    let line = "preempt explain p --all-nodes --kubeconfig kubeconfig";
    let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let ran = run(Path::new(env!("CARGO_BIN_EXE_kq")), &arguments, folder.path(), None);
    assert!(ran.wrong(false).is_empty(), "{:?}: {}", ran.wrong(false), said(&ran));
    refuses(&ran, 3, &["kubeconfig", "has more than 16777216 bytes"]);
}

#[test]
fn the_timeout_covers_reading_what_was_received() {
    use crate::edges::http_server::{Server, Wire, answer};
    // To read them all takes longer than that, with optimisation too.
    let list = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","items":[{}{{}}]}}"#,
        "{},".repeat(8_000_000)
    );
    let list = answer("200 OK", &[], &list);
    let server = Server::start(Wire::Plain, move |_, seen, to| match seen.line.contains("/pods") {
        true => to.write_all(list.as_bytes()),
        false => to.write_all(answer("404 Not Found", &[], "").as_bytes()),
    });
    let folder = tempfile::tempdir().expect("a folder can be made");
    let line = format!(
        "evict rank --signal memory.available --host-root {} --kubelet-url {} --timeout 1s",
        folder.path().display(),
        server.url("http"),
    );
    let begun = std::time::Instant::now();
    let ran = super::kq(&line).run();
    let took = begun.elapsed();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.text().contains("could not be read within"), "{}", ran.text());
    // Several sources have a second each; to read the list takes far longer than all of them.
    assert!(took.as_secs() < 20, "{took:?}");
}

#[cfg(feature = "cri")]
#[test]
fn a_runtime_may_have_very_many_images() {
    use super::made_up_node::{Kernel, Node};
    use crate::edges::cri::fake::{Answers, Server};
    use kq_linux::cri::v1;
    // More than 30 MB of them: more than the memory that is taken without having received anything.
    let image = |number: usize| v1::Image {
        id: format!("sha256:{number:064}"),
        repo_tags: vec![format!("registry.example.com/team/{number}:v1")],
        size: 1_000,
        ..v1::Image::default()
    };
    let images = (0..250_000).map(image).collect();
    let answers = Answers {
        sandboxes: Some(v1::ListPodSandboxResponse::default()),
        containers: Some(v1::ListContainersResponse::default()),
        images: Some(v1::ListImagesResponse { images }),
        filesystems: Some(v1::ImageFsInfoResponse::default()),
        ..Answers::default()
    };
    let node = Node::new(Kernel::V2);
    let _runtime = Server::answering(&node.path("run/containerd/containerd.sock"), answers);
    let line = format!(
        "gc dry-run --trigger eviction -o name --timeout 60s --kubelet-start 2026-01-01T00:00:00Z \
         --host-root {}",
        node.root().display()
    );
    let ran = super::kq(&line).run();
    assert!(!ran.stderr.contains("MiB of memory"), "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().count(), 250_000, "{} {}", ran.code, ran.stderr);
}

#[test]
fn a_unit_of_a_copied_node_has_no_square() {
    let unit = |text: String| {
        let folder = folder_with(&[
            ("root/etc/systemd/system/kubelet.service", format!("[Service]\n{text}")),
            ("root/etc/env", "A=1\n".repeat(100_000)),
        ]);
        let line = "gc policy --live --host-root root";
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let ran = run(Path::new(env!("CARGO_BIN_EXE_kq")), &arguments, folder.path(), None);
        let wrong = ran.wrong(false);
        assert!(wrong.is_empty(), "{wrong:?}: {}", said(&ran));
    };
    unit(format!("ExecStart=/usr/bin/kubelet --node-ip={}\n", "${".repeat(480_000)));
    let files = "EnvironmentFile=/etc/env\n".repeat(8_000);
    unit(format!("{files}ExecStart=/usr/bin/kubelet --v=2\n"));
}

#[test]
fn a_large_snapshot_is_no_reason_to_refuse() {
    let example = repository().join("examples/node/snapshot.json");
    let example = std::fs::read_to_string(example).expect("it can be read");
    let folder = folder_with(&[("large.json", format!("{}{example}", " ".repeat(160 << 20)))]);
    let ran = super::kq("gc policy --snapshot large.json").within(folder.path()).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn pipes_and_files_without_an_end_are_refused() {
    use rustix::fs::{CWD, Gid, Mode, Uid, chownat, mkfifoat};
    let folder = folder_with(&[("used", "")]);
    let pipe = folder.path().join("pipe");
    mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o666)).expect("it can be made");
    std::os::unix::fs::symlink("/proc/version", folder.path().join("link")).expect("made");
    let ask = |line: &str| super::kq(line).within(folder.path()).run();
    for line in ["gc policy --snapshot link", "gc policy --kubelet-config link"] {
        let ran = ask(line);
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        assert!(ran.stderr.contains("a file of the kernel's (proc)"), "{line}: {}", ran.text());
    }
    let (uid, gid) = (Uid::from_raw(65534), Gid::from_raw(65534));
    if chownat(CWD, &pipe, Some(uid), Some(gid), rustix::fs::AtFlags::empty()).is_err() {
        return crate::skipped::skip("only root can give a pipe to another user");
    }
    // Its writer says nothing, for ever.
    let _writer = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).expect("opened");
    let ran = ask("gc policy --snapshot pipe");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("a pipe or a device of user 65534"), "{}", ran.text());
}
