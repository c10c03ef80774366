//! `kq fleet run` and `collect` against an API server that keeps pods, and whose kubelets run what is in them: kq itself.

use super::made_up_node::{Kernel, Node};
use super::sources::kubeconfig_in;
use super::{Ran, kq};
use crate::edges::http_server::pki::Authority;
use crate::edges::http_server::{Seen, Server, Wire, answer, failure, json};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json as value};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The nodes, most of which have a fault that their name says.
const NODES: [&str; 11] = [
    "cut",
    "full",
    "garbage",
    "gone",
    "lost",
    "missing-image",
    "replaced",
    "silent",
    "twice",
    "well-1",
    "well-2",
];

/// Nodes on which the pod that is there in the end is that of another client.
const OF_ANOTHER: [&str; 2] = ["replaced", "twice"];

#[derive(Default)]
struct State {
    /// The node and the log of each pod.
    pods: BTreeMap<String, (String, Vec<u8>)>,
    /// The object of each pod that was made.
    objects: BTreeMap<String, Value>,
    created: Vec<Value>,
    deleted: Vec<String>,
    busy: usize,
    faults_of_deletions: usize,
}

struct Fleet {
    server: Server,
    authority: Authority,
    state: Arc<Mutex<State>>,
    folder: tempfile::TempDir,
}

impl Fleet {
    fn start() -> Self {
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let server = Server::start(wire, move |_, seen, to| to.write_all(&respond(&shared, seen)));
        let folder = tempfile::tempdir().expect("a folder can be made");
        Self { server, authority, state, folder }
    }

    fn flags(&self) -> String {
        let authority = self.authority.file().display().to_string();
        let url = self.server.url("https");
        format!("{} --image kq:test", kubeconfig_in(self.folder.path(), &url, &authority))
    }

    /// Every pod that was made is gone.
    #[track_caller]
    fn is_clean(&self, ran: &Ran) {
        let state = self.state.lock().expect("no thread panicked");
        let left: Vec<&String> = state
            .pods
            .iter()
            .filter(|(_, (node, _))| !OF_ANOTHER.contains(&&**node))
            .map(|(name, _)| name)
            .collect();
        assert!(left.is_empty(), "{left:?}: {}", ran.text());
        let made: BTreeSet<&str> =
            state.created.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
        let deleted: BTreeSet<&str> = state.deleted.iter().map(String::as_str).collect();
        assert!(made.is_subset(&deleted), "{made:?} {deleted:?}: {}", ran.text());
    }
}

fn respond(state: &Mutex<State>, seen: &Seen) -> Vec<u8> {
    const PODS: &str = "/api/v1/namespaces/kube-system/pods";
    let mut words = seen.line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let absent = || failure("404 Not Found", &[], "NotFound", "there is no such pod").into_bytes();
    if path == "/api/v1/nodes" {
        let node = |name: &&str| {
            value!({
                "kind": "Node",
                "metadata": {"name": name, "labels": {"well": name.starts_with("well").to_string()}},
            })
        };
        let nodes: Vec<Value> = NODES.iter().map(node).collect();
        return json(&value!({"kind": "NodeList", "items": nodes}).to_string()).into_bytes();
    }
    if method == "POST" && path == PODS {
        return create(state, &seen.body);
    }
    let Some(rest) = path.strip_prefix(PODS).and_then(|rest| rest.strip_prefix('/')) else {
        return absent();
    };
    let name = rest.trim_end_matches("/log");
    let mut state = state.lock().expect("no thread panicked");
    if method == "DELETE" {
        if state.faults_of_deletions > 0 {
            state.faults_of_deletions -= 1;
            return failure("500 Internal Server Error", &[], "InternalError", "etcd").into_bytes();
        }
        let options: Value = serde_json::from_str(&seen.body).expect("options are JSON");
        assert_eq!(options["preconditions"]["uid"], format!("uid-of-{name}"), "of its own pods");
        state.deleted.push(name.to_owned());
        if state.pods.get(name).is_some_and(|(node, _)| node == "replaced") {
            let message = "Precondition failed: UID in precondition: a, UID in object meta: b";
            return failure("409 Conflict", &[], "Conflict", message).into_bytes();
        }
        return match state.pods.remove(name) {
            Some(_) => json(&value!({"kind": "Pod"}).to_string()).into_bytes(),
            None => absent(),
        };
    }
    let Some((node, log)) = state.pods.get(name).cloned() else { return absent() };
    if rest.ends_with("/log") {
        // As kube-apiserver 1.36.2, also for a text.
        if !seen.header("accept").is_some_and(|types| types.contains("application/json")) {
            let message = "only the following media types are accepted: application/json";
            return failure("406 Not Acceptable", &[], "NotAcceptable", message).into_bytes();
        }
        let mut text = answer("200 OK", &["Content-Type: text/plain"], "")
            .replace("Content-Length: 0", &format!("Content-Length: {}", log.len()))
            .into_bytes();
        text.extend(log);
        return text;
    }
    let status = match node.as_str() {
        "silent" => value!({"phase": "Pending"}),
        "gone" => {
            state.pods.remove(name);
            return absent();
        }
        "full" => value!({
            "phase": "Failed", "reason": "OutOfpods",
            "message": "Node didn't have enough resource: pods",
        }),
        "missing-image" => value!({
            "phase": "Pending",
            "containerStatuses": [{"state": {"waiting": {
                "reason": "ImagePullBackOff", "message": "Back-off pulling image \"kq:test\"\u{1b}[2J",
            }}}],
        }),
        _ => value!({"phase": "Succeeded"}),
    };
    let mut pod = state.objects.get(name).cloned().unwrap_or_else(|| value!({"kind": "Pod"}));
    pod["status"] = status;
    if node == "replaced" {
        pod["metadata"]["uid"] = "uid-of-another".into();
    }
    json(&pod.to_string()).into_bytes()
}

/// Keeps a pod and runs it.
fn create(state: &Mutex<State>, body: &str) -> Vec<u8> {
    let pod: Value = serde_json::from_str(body).expect("a pod is JSON");
    let text = |at: &str| pod.pointer(at).and_then(Value::as_str).expect(at).to_owned();
    let (name, node) = (text("/metadata/name"), text("/spec/nodeName"));
    {
        let mut state = state.lock().expect("no thread panicked");
        if state.busy > 0 {
            state.busy -= 1;
            let headers = ["Retry-After: 0"];
            return failure("429 Too Many Requests", &headers, "TooManyRequests", "busy")
                .into_bytes();
        }
        if node == "twice" {
            // The pod of another client, which stays.
            state.pods.insert(name, (node, Vec::new()));
            return failure("409 Conflict", &[], "AlreadyExists", "it exists").into_bytes();
        }
        state.created.push(pod.clone());
    }
    let command: Vec<&str> = pod["spec"]["containers"][0]["command"]
        .as_array()
        .expect("a command")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(command[0], "/usr/bin/kq");
    let ran = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(&command[1..])
        .env_clear()
        .output()
        .expect("kq runs");
    let mut log = ran.stdout;
    match node.as_str() {
        "cut" => log.truncate(log.len() / 2),
        "garbage" => log = b"exec format error\x1b[31m\n".to_vec(),
        _ => {}
    }
    let mut made = pod;
    made["metadata"]["uid"] = format!("uid-of-{name}").into();
    let mut state = state.lock().expect("no thread panicked");
    state.pods.insert(name.clone(), (node.clone(), log));
    state.objects.insert(name, made.clone());
    match node.as_str() {
        // It was made, and the answer is lost on the way.
        "lost" => failure("504 Gateway Timeout", &[], "Timeout", "gone").into_bytes(),
        _ => {
            let headers = ["Content-Type: application/json"];
            answer("201 Created", &headers, &made.to_string()).into_bytes()
        }
    }
}

#[test]
fn nodes_answer_through_their_pods_as_they_do_themselves() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    fleet.state.lock().expect("it is whole").busy = 1;
    let question = format!("cgroup show --host-root {}", node.root().display());
    let line = format!("fleet run {} -l well=true --yes -o jsonl -- {question}", fleet.flags());
    let ran = kq(&line).run();
    let alone = kq(&format!("{question} -o json")).run();
    let expected: Value = serde_json::from_str(&alone.stdout).expect("JSON");
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let nodes: BTreeSet<&str> = lines.iter().filter_map(|line| line["node"].as_str()).collect();
    assert_eq!(nodes, BTreeSet::from(["well-1", "well-2"]), "{}", ran.text());
    for line in &lines {
        assert_eq!(line["answer"], expected);
        assert_eq!(line["exitCode"], alone.code);
    }
    assert_eq!(ran.code, alone.code);
    assert!(ran.stderr.contains("plan: image kq:test; privileged"), "{}", ran.text());
    fleet.is_clean(&ran);
    let created = fleet.state.lock().expect("it is whole").created.clone();
    let spec = &created[0]["spec"];
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["activeDeadlineSeconds"], 150);
    assert_eq!(spec["containers"][0]["volumeMounts"][0]["readOnly"], true);
}

#[test]
fn every_fault_of_a_node_is_named_and_nothing_is_left() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V1));
    let line = format!(
        "fleet run {} --timeout 3s --yes -- cgroup show --host-root {}",
        fleet.flags(),
        node.root().display()
    );
    let ran = kq(&line).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("nodes: 2 of 11 nodes answered"), "{}", ran.text());
    for expected in [
        "missing: cut: the log of the pod is cut off or damaged: ",
        "missing: full: the pod did not run: OutOfpods: Node didn't have enough resource: pods",
        "missing: garbage: the output is not an answer of kq: the log of the pod ends with \"exec format error",
        "missing: gone: the pod did not run: another client deleted it",
        "missing: lost: the pod did not run: ",
        "missing: missing-image: the pod did not run: ImagePullBackOff: Back-off pulling image",
        "missing: replaced: the pod did not run: another client replaced it",
        "missing: silent: no answer within 3s",
        "missing: twice: the pod did not run: ",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.text());
    }
    assert!(!ran.text().contains('\u{1b}'), "{:?}", ran.text());
    fleet.is_clean(&ran);
}

#[test]
fn an_interrupt_deletes_the_pods() {
    for signal in [Signal::INT, Signal::TERM] {
        let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
        let flags = fleet.flags();
        let root = node.root().display().to_string();
        let mut arguments: Vec<&str> = "fleet run silent well-1 --yes".split(' ').collect();
        arguments.extend(flags.split(' '));
        arguments.extend(["--", "cgroup", "show", "--host-root", &root]);
        let child = Command::new(env!("CARGO_BIN_EXE_kq"))
            .args(arguments)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kq starts");
        let end = Instant::now() + Duration::from_secs(20);
        while !fleet
            .state
            .lock()
            .expect("it is whole")
            .pods
            .values()
            .any(|(node, _)| node == "silent")
        {
            assert!(Instant::now() < end, "no pod was made");
            std::thread::sleep(Duration::from_millis(20));
        }
        kill_process(Pid::from_child(&child), signal).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let ran = Ran {
            code: output.status.code().expect("it ends by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert_eq!(ran.code, 3, "{}", ran.text());
        assert!(
            ran.stderr.contains("missing: silent: not queried: kq was interrupted"),
            "{}",
            ran.text()
        );
        fleet.is_clean(&ran);
    }
}

#[test]
fn a_pod_that_cannot_be_deleted_is_named() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    let question = format!("cgroup show --host-root {}", node.root().display());
    let line = format!("fleet run {} well-1 --yes -- {question}", fleet.flags());
    fleet.state.lock().expect("it is whole").faults_of_deletions = 2;
    let ran = kq(&line).run();
    assert_eq!(ran.code, 0, "the third time it goes: {}", ran.text());
    fleet.is_clean(&ran);
    fleet.state.lock().expect("it is whole").faults_of_deletions = 100;
    let ran = kq(&line).run();
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(ran.stderr.contains("kubectl delete pod -n kube-system kq-fleet-"), "{}", ran.text());
}

#[test]
fn snapshots_are_collected_and_asked_again() {
    let fleet = Fleet::start();
    let folder = fleet.folder.path().join("stored");
    std::fs::create_dir(&folder).expect("a folder can be made");
    let flags = fleet.flags();
    let line = format!("fleet collect {flags} -l well=true --yes --dir {}", folder.display());
    let ran = kq(&line).run();
    // The pods of this test are on a machine that may have no kubelet.
    let is_node = !ran.stderr.contains("warning: well-1: kq found no node in its pod");
    assert_eq!(ran.code, if is_node { 0 } else { 3 }, "{}", ran.text());
    assert!(ran.stderr.contains("stored: 2 of 2 nodes"), "{}", ran.text());
    fleet.is_clean(&ran);
    let asked = kq(&format!("fleet ask {} -o name -- version", folder.display())).run();
    assert_eq!(asked.stdout, "well-1\nwell-2\n", "{}", asked.text());
    let ran = kq(&format!("fleet collect {flags} cut --yes --dir {}", folder.display())).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(
        ran.stderr.contains("warning: cut is not stored: the log of the pod"),
        "{}",
        ran.text()
    );
}

#[test]
fn nothing_is_made_without_a_yes() {
    let fleet = Fleet::start();
    let flags = fleet.flags();
    for (line, code, expected) in [
        ("well-1 -- doctor", 4, "nothing was changed: confirmation needs a terminal"),
        ("--dry-run -- doctor", 0, "plan: a pod on cut and 10 more nodes of https://127.0.0.1"),
        ("--dry-run --sample 2 -- doctor", 0, "plan: a pod on cut and 1 more nodes"),
        ("well-3 --yes -- doctor", 2, "hint: did you mean well-1?"),
        ("-l well=maybe --yes -- doctor", 2, "no node of the cluster is selected"),
        ("--yes -- gc apply", 2, "kq gc apply cannot be asked of many nodes"),
        ("--yes -- schema X", 2, "kq schema X: unexpected argument '--output'"),
        ("--yes -- doctor -w", 2, "it does not end"),
        (
            "--yes -- admit explain examples/web.yaml",
            2,
            "a file of this machine, which the nodes do not have",
        ),
        ("--yes -- cgroup diff --kubelet-config=examples/web.yaml", 2, "a file of this machine"),
    ] {
        let ran = kq(&format!("fleet run {flags} {line}")).run();
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
        assert_eq!(ran.stdout, "", "{line}");
    }
    let nowhere =
        format!("fleet collect {flags} --yes --dir {}/nowhere", fleet.folder.path().display());
    assert_eq!(kq(&nowhere).run().code, 2);
    assert!(fleet.state.lock().expect("it is whole").created.is_empty());
}
