//! Sources that are not there, refuse, hang, lie or break off: kq answers from the others in time, and
//! names what is missing with its reason and the flag that supplies it.

#[cfg(feature = "apiserver")]
use super::made_up_node::node_object;
use super::made_up_node::{Kernel, Node, WEB};
#[cfg(feature = "apiserver")]
use super::sources::{Api, kubeconfig_flags};
use super::{Ran, kq};
use crate::edges::http_server::{Server, Wire, answer, json};
use crate::program_file;
use snapbox::str;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long each source may take.
const TIMEOUT: &str = "--timeout 300ms";

/// No command may take longer, with all its sources.
const PATIENCE: Duration = Duration::from_secs(10);

/// What everybody asks of a node.
const QUESTIONS: [&str; 5] =
    ["cgroup show", "cgroup diff", "cgroup which --pid 900", "cgroup apply --dry-run", "snapshot"];

/// Asks a node everything; each answer comes in time.
#[track_caller]
fn ask_all(name: &str, node: &Node, flags: &str) -> Vec<(&'static str, Ran)> {
    let ask = |question: &'static str| {
        let line = format!("{question} --host-root {} {TIMEOUT} -v {flags}", node.root().display());
        let began = Instant::now();
        let ran = kq(&line).run();
        let took = began.elapsed();
        assert!(took < PATIENCE, "{name}: {question} took {took:?}: {}", ran.text());
        (question, ran)
    };
    QUESTIONS.map(ask).into()
}

/// Asks a node everything; each question is answered and says this beside it.
#[track_caller]
fn answers_saying(name: &str, node: &Node, flags: &str, expected: &[&str]) {
    for (question, ran) in ask_all(name, node, flags) {
        let is_answered = matches!(
            (question, ran.code),
            (_, 0 | 3) | ("cgroup diff", 1) | ("cgroup apply --dry-run", 4)
        );
        assert!(is_answered, "{name}: {question}: {}", ran.text());
        for expected in expected {
            assert!(
                ran.stderr.contains(expected),
                "{name}: {question}: {expected:?} is not said: {}",
                ran.stderr
            );
        }
    }
}

/// Asks a node everything; nothing can be answered.
#[track_caller]
fn has_no_tree(name: &str, node: &Node, expected: &str) {
    for (question, ran) in ask_all(name, node, "") {
        let code = if question == "snapshot" { 0 } else { 3 };
        assert_eq!(ran.code, code, "{name}: {question}: {}", ran.text());
        assert!(ran.stderr.contains("the cgroup tree could not be read"), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{name}: {question}: {}", ran.stderr);
    }
}

/// A server that says something and then nothing more, for longer than anybody waits.
fn stuck_after(said: &str) -> Server {
    let said = said.to_owned();
    Server::start(Wire::Plain, move |_, _, to| {
        to.write_all(said.as_bytes())?;
        to.flush()?;
        sleep(Duration::from_secs(12));
        Ok(())
    })
}

const CUT_OFF: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n{\"kubeletconfig\":";

#[test]
fn a_kubelet_that_does_not_answer_is_named() {
    let node = Node::new(Kernel::V2);
    for (name, server, reason) in [
        (
            "refuses who does not say who asks",
            Server::saying(Wire::Plain, answer("401 Unauthorized", &[], "Unauthorized")),
            "401",
        ),
        (
            "refuses who asks",
            Server::saying(Wire::Plain, answer("403 Forbidden", &[], "Forbidden")),
            "403",
        ),
        (
            "breaks",
            Server::saying(Wire::Plain, answer("500 Internal Server Error", &[], "x")),
            "500",
        ),
        ("says nothing", Server::start(Wire::Silent, |_, _, _| Ok(())), "300ms"),
        (
            "stops after its headers",
            stuck_after("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"),
            "300ms",
        ),
        ("stops in the middle", stuck_after(CUT_OFF), "300ms"),
        ("hangs up", Server::saying(Wire::Plain, ""), ""),
        ("hangs up in the middle", Server::saying(Wire::Plain, CUT_OFF), ""),
        ("speaks no HTTP", Server::saying(Wire::Plain, "220 mail.example.com ESMTP\r\n"), ""),
        ("says no JSON", Server::saying(Wire::Plain, json("kubelet")), "the answer is not JSON"),
        (
            "says something else",
            Server::saying(Wire::Plain, json(r#"{"kind":"Secret","apiVersion":"v1"}"#)),
            "the answer has no kubeletconfig",
        ),
    ] {
        let url = server.url("http");
        answers_saying(
            name,
            &node,
            &format!("--kubelet-url {url}"),
            &[
                &format!("source: kubelet configuration: {url}/configz: "),
                reason,
                "source: kubelet configuration: read from /var/lib/kubelet/config.yaml",
                &format!("source: pods: {url}/pods: "),
                "source: pods: 1 from the static pod manifests",
            ],
        );
    }
    answers_saying(
        "is not there",
        &node,
        "--kubelet-url http://127.0.0.1:1",
        &["/configz: ", "/pods: ", "refused"],
    );
}

#[cfg(feature = "apiserver")]
#[test]
fn an_api_server_that_does_not_answer_is_named() {
    let node = Node::new(Kernel::V1);
    let refused = answer(
        "403 Forbidden",
        &[],
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"nodes is forbidden","reason":"Forbidden","code":403}"#,
    );
    let mut stranger = node_object();
    stranger["status"]["nodeInfo"]["bootID"] = "another".into();
    let stranger = stranger.to_string();
    for (name, said, reason) in [
        ("refuses", refused, "forbidden"),
        (
            "has another machine",
            json(&stranger),
            "is another machine: its bootID is another, here it is",
        ),
        ("says no JSON", json("apiserver"), "expected value"),
        ("says something else", json(r#"{"kind":"Node","status":{"capacity":7}}"#), "invalid type"),
        ("is cut off", CUT_OFF.to_owned(), ""),
        ("says nothing", String::new(), ""),
    ] {
        let server = Api::server(move |_| said.clone());
        let flags = server.kubeconfig_flags(&node);
        answers_saying(
            name,
            &node,
            &flags,
            &["source: pods: ", reason, "source: pods: 1 from the static pod manifests"],
        );
        // The pods of another machine are not taken either.
        for (question, ran) in ask_all(name, &node, &flags) {
            assert!(!ran.stdout.contains("shop/web"), "{name}: {question}: {}", ran.stdout);
        }
    }
    for (name, server) in [
        ("hangs", Server::start(Wire::Silent, |_, _, _| Ok(()))),
        ("speaks no TLS", Server::saying(Wire::Plain, "x")),
    ] {
        let authority = crate::edges::http_server::pki::Authority::new();
        let file = authority.file().display().to_string();
        let flags = kubeconfig_flags(&node, &server.url("https"), &file);
        answers_saying(name, &node, &flags, &["source: pods: the API server https://127.0.0.1:"]);
    }
    for (question, ran) in ask_all("no kubeconfig", &node, "--kubeconfig /nowhere") {
        assert_eq!(ran.code, 3, "{question}: {}", ran.text());
        assert!(ran.stderr.contains("--kubeconfig /nowhere: no such file"), "{question}");
    }
}

#[cfg(feature = "cri")]
#[test]
fn a_runtime_that_does_not_answer_is_named() {
    use super::sources::SOCKET;
    use crate::edges::cri::fake::{Answers, Server as Runtime};
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    let absent: fn(&Node) -> Option<Runtime> = |_| None;
    let refuses: fn(&Node) -> Option<Runtime> = |node| {
        drop(UnixListener::bind(node.path(SOCKET)).expect("a socket can be made"));
        None
    };
    let no_socket: fn(&Node) -> Option<Runtime> = |node| {
        node.write(SOCKET, "x");
        None
    };
    let hangs: fn(&Node) -> Option<Runtime> = |node| {
        Some(Runtime::handling(&node.path(SOCKET), |mut stream: UnixStream| {
            let mut lost = [0; 1024];
            while stream.read(&mut lost).is_ok_and(|read| read > 0) {}
        }))
    };
    let lies: fn(&Node) -> Option<Runtime> = |node| {
        Some(Runtime::handling(&node.path(SOCKET), |mut stream: UnixStream| {
            _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }))
    };
    let hangs_up: fn(&Node) -> Option<Runtime> =
        |node| Some(Runtime::handling(&node.path(SOCKET), drop));
    for (name, start) in [
        ("is not there", absent),
        ("refuses", refuses),
        ("is no socket", no_socket),
        ("hangs", hangs),
        ("lies", lies),
        ("hangs up", hangs_up),
    ] {
        let node = Node::new(Kernel::V2);
        let _runtime = start(&node);
        answers_saying(
            name,
            &node,
            "",
            &[
                "source: runtime: unix:///run/containerd/containerd.sock",
                "the container runtime did not answer; name it with --runtime-endpoint",
            ],
        );
        // One that a person named is another matter.
        let flags = "--runtime-endpoint unix:///run/containerd/containerd.sock";
        for (question, ran) in ask_all(name, &node, flags) {
            assert_eq!(ran.code, 3, "{name}: {question}: {}", ran.text());
            assert!(
                ran.stderr.contains("hint: check --runtime-endpoint"),
                "{name}: {}",
                ran.stderr
            );
        }
    }
    // One that answers, but not everything.
    for (name, answers, expected) in [
        (
            "tells nothing",
            Answers::default(),
            ["does not report its sandboxes", "does not report its containers"],
        ),
        (
            "is stuck",
            Answers { is_stuck: true, ..Answers::default() },
            ["does not report its sandboxes", "does not report its containers"],
        ),
    ] {
        let node = Node::new(Kernel::V2);
        let _runtime = Runtime::answering(&node.path(SOCKET), answers);
        answers_saying(name, &node, "", &expected);
    }
}

#[test]
fn a_kubelet_whose_process_tells_little_is_named() {
    for (name, change, expected) in [
        (
            "does not run",
            (|node| node.remove("/proc/700")) as fn(&Node),
            "no kubelet runs on this node",
        ),
        (
            "has no file",
            |node| node.remove("/var/lib/kubelet/config.yaml"),
            "/var/lib/kubelet/config.yaml",
        ),
        (
            "has a file that is no YAML",
            |node| node.write("/var/lib/kubelet/config.yaml", "{a: ["),
            "/var/lib/kubelet/config.yaml",
        ),
        (
            "has a file of another kind",
            |node| node.write("/var/lib/kubelet/config.yaml", "kind: Pod\napiVersion: v1\n"),
            "/var/lib/kubelet/config.yaml",
        ),
        (
            "has a field of another type",
            |node| {
                node.write("/var/lib/kubelet/config.yaml", "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nkubeReserved: 7\n")
            },
            "kubeReserved",
        ),
    ] {
        let node = Node::new(Kernel::V2);
        change(&node);
        for (question, ran) in ask_all(name, &node, "") {
            // That a file is not what it should be is told when it is used; it is stored as it is.
            // Names and usage do not depend on it.
            let is_judged = !["snapshot", "cgroup show", "cgroup which"]
                .iter()
                .any(|other| question.starts_with(other));
            let is_code = match question {
                "cgroup diff" => matches!(ran.code, 0 | 1 | 3),
                // What rests on an assumption is not written.
                "cgroup apply --dry-run" => matches!(ran.code, 0 | 1 | 3 | 4),
                _ => matches!(ran.code, 0 | 3),
            };
            assert!(is_code, "{name}: {question}: {}", ran.text());
            let is_said = ran.text().contains(expected);
            assert!(
                is_said || (name.contains(" of another ") && !is_judged),
                "{name}: {question}: {}",
                ran.text()
            );
        }
    }
}

#[test]
fn a_kubelet_whose_program_shows_no_version_is_named() {
    let mut old = program_file::kubelet("v1.36.2");
    old.truncate(500);
    for (name, program, expected) in [
        ("a script", b"#!/bin/sh\necho Kubernetes v1.36.2\n".to_vec(), "is not an ELF program"),
        ("cut", old, "cannot be read"),
        (
            "another",
            program_file::elf(&[(".rodata", b"x")]),
            "contains no version that kq recognises",
        ),
    ] {
        let node = Node::new(Kernel::V2);
        node.write("/usr/bin/kubelet", program);
        for (question, ran) in ask_all(name, &node, "") {
            if question.contains("diff") || question.contains("apply") || question == "snapshot" {
                let said = format!("source: kubelet version: /proc/700/exe: {expected}");
                let alike = ran.stderr.contains("kubelet version") && ran.stderr.contains(expected);
                assert!(alike, "{name}: {question}: {said}: {}", ran.text());
            }
            let is_code = match question {
                "cgroup apply --dry-run" => ran.code == 4,
                _ => matches!(ran.code, 0 | 1 | 3),
            };
            assert!(is_code, "{name}: {question}: {}", ran.text());
        }
    }
}

#[test]
fn a_node_without_a_tree_has_no_answer() {
    for (name, change, expected) in [
        (
            "no hierarchy",
            (|node| node.write("/proc/1/mountinfo", "24 31 0:22 / /proc rw - proc proc rw\n"))
                as fn(&Node),
            "no cgroup hierarchy is mounted",
        ),
        ("no mounts", |node| node.remove("/proc/1/mountinfo"), "/proc/1/mountinfo: no such file"),
        ("garbage", |node| node.write("/proc/1/mountinfo", "garbage\n"), "/proc/1/mountinfo"),
        (
            "cut off",
            |node| node.write("/proc/1/mountinfo", "35 25 0:30 / /sys/fs/cgr"),
            "/proc/1/mountinfo",
        ),
        ("no text", |node| node.write("/proc/1/mountinfo", b"\xff\xfe"), "not text"),
    ] {
        let node = Node::new(Kernel::V2);
        change(&node);
        has_no_tree(name, &node, expected);
    }
}

#[test]
fn a_file_that_is_none_is_named() {
    let node = Node::new(Kernel::V2);
    let app = node.app();
    for (file, make) in [
        ("cpu.weight", (|node, path| node.write(path, b"\xff\n")) as fn(&Node, &str)),
        ("cpu.max", |node, path| {
            std::os::unix::fs::symlink("/etc/passwd", node.path(path)).expect("a link can be made");
        }),
        ("memory.max", |node, path| std::fs::create_dir(node.path(path)).expect("a folder")),
        ("pids.max", |node, path| node.write(path, "garbage\n")),
    ] {
        let path = format!("/sys/fs/cgroup{app}/{file}");
        node.remove(&path);
        make(&node, &path);
    }
    for (question, ran) in ask_all("files", &node, "") {
        assert!(matches!(ran.code, 0 | 1), "{question}: {}", ran.text());
        assert!(!ran.text().contains("root:x:"), "{question}: nothing is read through a link");
        if question == "cgroup diff" || question == "cgroup show" {
            let weight = format!("/sys/fs/cgroup{app}/cpu.weight: ");
            assert!(ran.stderr.contains(&weight), "{question}: {}", ran.text());
        }
    }
}

#[test]
fn a_node_that_says_nothing_at_all_is_still_shown() {
    for kernel in [Kernel::V1, Kernel::V2] {
        let node = Node::new(kernel);
        for path in ["/proc/700", "/etc", "/var", "/proc/sys", "/proc/meminfo", "/sys/devices"] {
            node.remove(path);
        }
        for (question, ran) in ask_all("nothing", &node, "") {
            // Names and usage need no configuration once the root is found.
            let needs =
                !question.starts_with("cgroup show") && !question.starts_with("cgroup which");
            let config = needs.then_some("--kubelet-config");
            for flag in config.into_iter().chain(["--pods FILE", "--runtime-endpoint"]) {
                assert!(ran.stderr.contains(flag), "{question}: {flag}: {}", ran.text());
            }
            match question {
                "cgroup show" | "cgroup which --pid 900" => {
                    assert_eq!(ran.code, 0, "{question}: {}", ran.text());
                    assert!(ran.stdout.contains(WEB), "{question}: {}", ran.stdout);
                }
                "cgroup diff" => {
                    assert!(
                        !ran.stdout.contains("DRIFT"),
                        "nothing is known to differ: {}",
                        ran.text()
                    );
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_snapshot_that_is_none_is_refused() {
    let node = Node::new(Kernel::V1);
    let file = |name: &str| node.beside().join(name).display().to_string();
    for name in ["good.json", "good.json.zst"] {
        let ran =
            kq(&format!("snapshot -o {} --host-root {}", file(name), node.root().display())).run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let good = std::fs::read(file("good.json")).expect("it is there");
    let packed = std::fs::read(file("good.json.zst")).expect("it is there");
    let text = String::from_utf8(good.clone()).expect("JSON is text");
    let cases: [(&str, Vec<u8>, i32); 8] = [
        ("empty", Vec::new(), 2),
        ("garbage", b"kubelet".to_vec(), 2),
        ("cut off", good[..good.len() / 2].to_vec(), 2),
        ("packed and cut off", packed[..packed.len() / 2].to_vec(), 2),
        ("packed garbage", [&packed[..4], b"garbage"].concat(), 2),
        ("something else", br#"{"kind":"Pod","apiVersion":"v1"}"#.to_vec(), 2),
        ("later", text.replace("kq/v1", "kq/v2").into_bytes(), 2),
        ("two", [&good[..], b"{}"].concat(), 2),
    ];
    for (name, content, code) in cases {
        std::fs::write(file("bad"), content).expect("a file can be written");
        for question in ["cgroup show", "cgroup diff", "cgroup which --pid 1"] {
            let ran = kq(&format!("{question} --snapshot {}", file("bad"))).run();
            assert_eq!((ran.code, &*ran.stdout), (code, ""), "{name}: {question}: {}", ran.text());
            assert!(ran.stderr.contains(&file("bad")), "{name}: {question}: {}", ran.stderr);
        }
    }
    for path in [file("nowhere.json"), node.root().display().to_string()] {
        let ran = kq(&format!("cgroup show --snapshot {path}")).run();
        assert_eq!(ran.code, 3, "{path}: {}", ran.text());
    }
}

#[test]
fn a_root_that_is_none_is_refused() {
    let ran = kq("cgroup show --host-root /nowhere").run();
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("--host-root /nowhere: folder not found"), "{}", ran.stderr);
}

#[test]
fn a_process_that_does_not_exist_is_a_mistake() {
    // The highest number that a kernel gives is 4194304.
    kq("cgroup which --pid 2000000000").shows(str![[r#"
--- stderr
kq: no process 2000000000 on this node
--- exit 2

"#]]);
}
