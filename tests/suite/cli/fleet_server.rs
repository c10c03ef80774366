//! An API server that keeps pods, and whose kubelets run what is in them: kq itself.

use super::Ran;
use super::sources::kubeconfig_in;
use crate::edges::http_server::pki::Authority;
use crate::edges::http_server::{Seen, Server, Wire, answer, failure, json};
use crate::objects::{self, Object};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json as value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// The nodes, most of which have a fault that their name says.
const NODES: [&str; 12] = [
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
    "windows",
];

/// Nodes on which the pod that is there in the end is that of another client.
const OF_ANOTHER: [&str; 2] = ["replaced", "twice"];

#[derive(Default)]
pub struct State {
    /// The node and the log of each pod.
    pub pods: BTreeMap<String, (String, Vec<u8>)>,
    /// The object of each pod that was made.
    pub objects: BTreeMap<String, Value>,
    pub created: Vec<Value>,
    pub deleted: Vec<String>,
    pub busy: usize,
    pub faults_of_deletions: usize,
    /// The message with which an admission webhook or a quota refuses all pods.
    pub refusal: Option<&'static str>,
    /// How many requests for a log fail.
    pub faults_of_logs: usize,
    /// How many requests there were.
    pub requests: usize,
    /// When the client is killed.
    pub kill: Option<Kill>,
    /// The user may not list pods.
    pub hides_pods: bool,
    /// The folder of each node in which its kq runs.
    pub folders: BTreeMap<String, PathBuf>,
    /// The nodes on which a file gets a text before a change begins.
    pub drift: BTreeMap<String, (PathBuf, &'static str)>,
    /// The nodes that are marked as unschedulable.
    pub cordoned: BTreeMap<String, Option<String>>,
    /// How many more nodes there are, which all have one answer.
    pub more_nodes: usize,
    /// The log of their pods, once one has run.
    pub log_of_more: Option<Vec<u8>>,
    /// The most pods that were there at a time.
    pub most_pods: usize,
    /// From which request on the token is not accepted.
    pub token_ends_at: Option<usize>,
    /// A log does not end within what is read of it.
    pub has_endless_logs: bool,
    /// How far the clock of the server is ahead.
    pub seconds_ahead: i64,
    /// What was marked, and how.
    pub marks: Vec<(String, bool)>,
    /// The node whose pod has another log, if its command has a word.
    pub forged: Option<(&'static str, &'static str, Vec<u8>)>,
    /// Another client replaces each pod before it is deleted.
    pub replaces_at_deletion: bool,
    /// Another client has a pod of the name that is taken: the one that was sent, with this value in this place.
    pub squat: Option<(&'static str, Value)>,
}

/// A signal for the client.
#[derive(Clone, Copy, Debug)]
pub struct Kill {
    /// At this request, counted from 1.
    pub at: usize,
    /// Once the request had its effect, and not before.
    pub after: bool,
    /// The process, once it is known.
    pub process: Option<Pid>,
    /// The signal, such as SIGKILL.
    pub signal: Signal,
    /// It was killed.
    pub is_done: bool,
}

pub struct Fleet {
    pub server: Server,
    authority: Authority,
    pub state: Arc<Mutex<State>>,
    pub folder: tempfile::TempDir,
}

impl Fleet {
    pub fn start() -> Self {
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let server = Server::start(wire, move |_, seen, to| {
            let at = counted(&shared);
            kill(&shared, at, false);
            let is_expired = locked(&shared).token_ends_at.is_some_and(|end| at >= end);
            let answer = match is_expired {
                true => failure("401 Unauthorized", &[], "Unauthorized", "Unauthorized").into(),
                false => respond(&shared, seen),
            };
            kill(&shared, at, true);
            to.write_all(&dated(answer, clock(&locked(&shared))))
        });
        let folder = tempfile::tempdir().expect("a folder can be made");
        Self { server, authority, state, folder }
    }

    pub fn flags(&self) -> String {
        let authority = self.authority.file().display().to_string();
        let url = self.server.url("https");
        format!("{} --image kq:test", kubeconfig_in(self.folder.path(), &url, &authority))
    }

    /// Adds a pod of an earlier run.
    pub fn add_pod(&self, name: &str, run: &str, created: &str) {
        let pod = value!({
            "kind": "Pod",
            "metadata": {
                "name": name, "uid": format!("uid-of-{name}"), "creationTimestamp": created,
                "labels": {"app.kubernetes.io/managed-by": "kq-fleet", "kq.fleet/run": run},
                "annotations": {"kq.fleet/secret": format!("secret-of-{name}")},
            },
            "spec": {"nodeName": "earlier", "activeDeadlineSeconds": 150},
            "status": {"phase": "Succeeded"},
        });
        let mut state = locked(&self.state);
        state.pods.insert(name.to_owned(), ("earlier".to_owned(), Vec::new()));
        state.objects.insert(name.to_owned(), pod);
    }

    /// Every pod that was made is gone.
    #[track_caller]
    pub fn is_clean(&self, ran: &Ran) {
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

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no thread panicked")
}

/// Returns the time on the clock of the server.
pub fn clock(state: &State) -> jiff::Timestamp {
    jiff::Timestamp::now() + jiff::SignedDuration::from_secs(state.seconds_ahead)
}

/// Adds the date to an answer, as a server does.
fn dated(answer: Vec<u8>, now: jiff::Timestamp) -> Vec<u8> {
    let at = answer.windows(2).position(|two| two == b"\r\n").expect("a first line") + 2;
    let date = format!("Date: {}\r\n", now.strftime("%a, %d %b %Y %H:%M:%S GMT"));
    [&answer[..at], date.as_bytes(), &answer[at..]].concat()
}

fn counted(state: &Mutex<State>) -> usize {
    let mut state = locked(state);
    state.requests += 1;
    state.requests
}

/// Kills the client if it is time.
fn kill(state: &Mutex<State>, at: usize, after: bool) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let due = locked(state).kill.filter(|it| it.at == at && it.after == after);
        let Some(kill) = due else { return };
        match kill.process {
            Some(process) => {
                // Who sees that it ended sees why.
                locked(state).kill = Some(Kill { is_done: true, at: 0, ..kill });
                kill_process(process, kill.signal).expect("it runs");
            }
            None if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
            None => panic!("no process is named"),
        }
    }
}

fn respond(state: &Mutex<State>, seen: &Seen) -> Vec<u8> {
    const PODS: &str = "/api/v1/namespaces/kube-system/pods";
    let mut words = seen.line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let absent = || failure("404 Not Found", &[], "NotFound", "there is no such pod").into_bytes();
    if path == "/api/v1/nodes" {
        return nodes(locked(state).more_nodes, &seen.line);
    }
    if let Some(name) = path.strip_prefix("/api/v1/nodes/") {
        let is_there = NODES.contains(&name) && name != "gone";
        let mut state = locked(state);
        if method == "PATCH" && is_there {
            assert_eq!(seen.header("content-type"), Some("application/merge-patch+json"));
            let patch: Value = serde_json::from_str(&seen.body).expect("a patch is JSON");
            let mark = patch["spec"]["unschedulable"].as_bool().expect("of one field");
            assert_eq!(patch["metadata"]["resourceVersion"], "7");
            let by = &patch["metadata"]["annotations"]["kq.fleet/cordoned-by"];
            match mark {
                true => {
                    let by = by.as_str().map(str::to_owned);
                    drop(state.cordoned.insert(name.to_owned(), by));
                }
                false => drop(state.cordoned.remove(name)),
            }
            state.marks.push((name.to_owned(), mark));
        }
        let mut object = node_object(name);
        object["metadata"]["resourceVersion"] = "7".into();
        if let Some(by) = state.cordoned.get(name) {
            object["spec"] = value!({"unschedulable": true});
            object["metadata"]["annotations"] = value!({"kq.fleet/cordoned-by": by});
        }
        return match is_there {
            true => json(&object.to_string()).into_bytes(),
            false => {
                failure("404 Not Found", &[], "NotFound", "there is no such node").into_bytes()
            }
        };
    }
    if path == "/api/v1/pods" {
        let name = seen.line.split("fieldSelector=spec.nodeName%3D").nth(1).expect("of a node");
        let name = name.split('&').next().unwrap_or_default();
        if locked(state).hides_pods {
            return failure("403 Forbidden", &[], "Forbidden", "pods is forbidden").into_bytes();
        }
        let pod = objects::pod(&format!("shop/web-on-{name}")).uid("u-1").on(name);
        let pod = pod.requests("cpu=3,memory=1Gi").set("/status/qosClass", "Burstable");
        // Two pages, as a list of many pods has.
        let (items, next) = match seen.line.contains("continue=second") {
            true => (vec![pod], ""),
            false => (Vec::new(), "second"),
        };
        let list = value!({"apiVersion": "v1", "kind": "PodList", "metadata": {"continue": next}, "items": items});
        return json(&list.to_string()).into_bytes();
    }
    if method == "POST" && path == PODS {
        return create(state, &seen.body);
    }
    if method == "GET" && path == PODS {
        let state = locked(state);
        if state.hides_pods {
            return failure("403 Forbidden", &[], "Forbidden", "pods is forbidden").into_bytes();
        }
        assert!(
            seen.line.contains("labelSelector=app.kubernetes.io%2Fmanaged-by%3Dkq-fleet&limit="),
            "{}",
            seen.line
        );
        let pods: Vec<&Value> = state
            .objects
            .iter()
            .filter(|(name, _)| state.pods.contains_key(*name))
            .map(|it| it.1)
            .collect();
        return json(&value!({"kind": "PodList", "items": pods}).to_string()).into_bytes();
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
        let is_replaced = state.pods.get(name).is_some_and(|(node, _)| node == "replaced");
        if is_replaced || state.replaces_at_deletion {
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
        if state.faults_of_logs > 0 {
            state.faults_of_logs -= 1;
            return failure("500 Internal Server Error", &[], "InternalError", "dial tcp")
                .into_bytes();
        }
        let log = match state.has_endless_logs {
            true => vec![b'x'; 40 << 20],
            false => log,
        };
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

/// Returns a page of the nodes, with as many as are asked for at most.
fn nodes(more: usize, line: &str) -> Vec<u8> {
    let parameter = |name: &str| -> Option<usize> {
        let value = line.split([' ', '?', '&']).find_map(|it| it.strip_prefix(name))?;
        value.parse().ok()
    };
    let limit = parameter("limit=").expect("no list without a limit");
    let begin = parameter("continue=").unwrap_or(0);
    let names = NODES.iter().map(ToString::to_string);
    let all: Vec<String> = names.chain((0..more).map(|at| format!("more-{at:05}"))).collect();
    let page = all.iter().skip(begin).take(limit);
    let items: Vec<Object> = page.map(|name| node_object(name)).collect();
    let end = begin + items.len();
    let next = if end < all.len() { end.to_string() } else { String::new() };
    let list = value!({"kind": "NodeList", "metadata": {"continue": next}, "items": items});
    json(&list.to_string()).into_bytes()
}

fn node_object(name: &str) -> Object {
    let node = objects::node(name).amounts("cpu=4,memory=8Gi,pods=110,ephemeral-storage=50Gi");
    let node = node.set("/metadata/labels/well", name.starts_with("well").to_string());
    let node = node.set("/metadata/labels/more", name.starts_with("more").to_string());
    let system = if name == "windows" { "windows" } else { "linux" };
    let node = node.set("/metadata/labels/kubernetes.io~1os", system);
    let node = node.version("v1.36.0").set("/status/nodeInfo/operatingSystem", "linux");
    node.set("/status/nodeInfo/architecture", "amd64")
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
        if let Some(message) = state.refusal {
            return failure("403 Forbidden", &[], "Forbidden", message).into_bytes();
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
    let mut program = Command::new(env!("CARGO_BIN_EXE_kq"));
    program.args(&command[1..]).env_clear();
    {
        let mut state = locked(state);
        if command.contains(&"--yes")
            && let Some((file, text)) = state.drift.remove(&node)
        {
            std::fs::write(file, text).expect("it can be written");
        }
        if let Some(folder) = state.folders.get(&node) {
            program.current_dir(folder);
        }
    }
    let is_more = node.starts_with("more-");
    let known = locked(state).log_of_more.clone().filter(|_| is_more);
    let mut log = known.unwrap_or_else(|| program.output().expect("kq runs").stdout);
    if is_more {
        locked(state).log_of_more = Some(log.clone());
    }
    if let Some((of, word, forged)) = &locked(state).forged
        && *of == node
        && (word.is_empty() || command.contains(word))
    {
        log.clone_from(forged);
    }
    match node.as_str() {
        "cut" => log.truncate(log.len() / 2),
        "garbage" => log = b"exec format error\x1b[31m\n".to_vec(),
        _ => {}
    }
    let mut made = pod;
    made["metadata"]["uid"] = format!("uid-of-{name}").into();
    made["status"] = value!({"phase": "Running"});
    let mut state = state.lock().expect("no thread panicked");
    made["metadata"]["creationTimestamp"] = clock(&state).to_string().into();
    let is_squatted = state.squat.is_some();
    if let Some((at, other)) = &state.squat {
        let (above, field) = at.rsplit_once('/').expect("a pointer");
        let field = field.replace("~1", "/");
        match made.pointer_mut(above).expect("it is there") {
            Value::Array(items) => items[field.parse::<usize>().expect("an index")] = other.clone(),
            object => object[field] = other.clone(),
        }
    }
    state.pods.insert(name.clone(), (node.clone(), log));
    state.most_pods = state.most_pods.max(state.pods.len());
    state.objects.insert(name, made.clone());
    if is_squatted {
        return failure("409 Conflict", &[], "AlreadyExists", "it exists").into_bytes();
    }
    match node.as_str() {
        // It was made, and the answer is lost on the way.
        "lost" => failure("504 Gateway Timeout", &[], "Timeout", "gone").into_bytes(),
        _ => {
            let headers = ["Content-Type: application/json"];
            answer("201 Created", &headers, &made.to_string()).into_bytes()
        }
    }
}
