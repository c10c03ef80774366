//! An API server on loopback that holds a node and its pods in memory, and lets them go: lists in pages,
//! single pods, eviction under disruption budgets, deletion, preconditions, dry runs. A test says beforehand
//! what goes wrong.

use super::made_up_node as made_up;
use super::sources::kubeconfig_in;
use crate::edges::http_server::pki::Authority;
use crate::edges::http_server::{Seen, Server, Wire, answer};
use crate::objects::{self, Object};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How many pods a page has.
const PAGE: usize = 2;

/// A server, the node that it knows and its pods.
pub struct Cluster {
    server: Server,
    authority: Authority,
    state: Arc<Mutex<State>>,
}

/// What goes wrong with one request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The answer takes so long.
    Slow(Duration),
    /// It is done, and the connection ends without an answer.
    CutAfter,
    /// The connection ends, and nothing was done.
    CutBefore,
    /// The pod goes right before.
    Vanishes,
    /// The pod goes right before, and another one of its name comes.
    IsReplaced,
    /// It is answered so, and nothing was done.
    Says(u16, &'static str),
    /// It is done, and answered so, with a word on when to ask again.
    DoneAndSays(u16, &'static str),
}

/// A disruption budget.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Its name.
    pub name: &'static str,
    /// The pods that it is about, as NAMESPACE/NAME.
    pub pods: &'static [&'static str],
    /// How many may go.
    pub left: u32,
    /// When more may go.
    pub more_at: Option<Instant>,
    /// What `Retry-After` says.
    pub retry_after: Option<u64>,
}

/// Who is told of something.
pub type Told = Box<dyn Fn(&str) + Send>;

/// What the server holds.
#[derive(Default)]
pub struct State {
    /// The Node object.
    pub node: Value,
    /// The pods by NAMESPACE/NAME.
    pub pods: BTreeMap<String, Value>,
    /// When pods that were deleted are gone.
    ends: BTreeMap<String, Instant>,
    /// Pods that never stop.
    pub stuck: BTreeSet<&'static str>,
    /// Pods that are made as soon as another one is gone.
    pub follow: BTreeMap<&'static str, Vec<Value>>,
    /// What goes wrong with the next requests of a method (`POST`, `DELETE`, `GET`) about a pod that are no
    /// dry runs, or for the node (`node`) or the list of pods (`pods`).
    pub faults: BTreeMap<(&'static str, &'static str), Vec<Fault>>,
    /// Methods that the user may not use on single pods; dry runs neither.
    pub forbidden: BTreeSet<&'static str>,
    /// Budgets.
    pub budgets: Vec<Budget>,
    /// What was asked to be changed, as `METHOD NAMESPACE/NAME` with `(dry run)` where it was one, the
    /// grace period, and the code of the answer.
    pub log: Vec<String>,
    /// Is told the UID of each pod that is to stop.
    pub on_removal: Option<Told>,
}

impl Cluster {
    /// Starts a server with these pods on a node.
    pub fn start(node: Value, pods: impl IntoIterator<Item = Value>) -> Self {
        let pods = pods.into_iter().map(|pod| (name_of(&pod), pod)).collect();
        let state = Arc::new(Mutex::new(State { node, pods, ..State::default() }));
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        let shared = Arc::clone(&state);
        let server = Server::start(wire, move |_, seen, to| respond(&shared, seen, to));
        Self { server, authority, state }
    }

    /// Returns what it holds, to look at or to change.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panicked")
    }

    /// Returns what it holds, for a thread of its own.
    #[cfg(feature = "cri")]
    pub fn share(&self) -> Arc<Mutex<State>> {
        Arc::clone(&self.state)
    }

    /// Writes a kubeconfig into a folder, and returns the flags that name it.
    pub fn flags(&self, folder: &Path) -> String {
        let authority = self.authority.file().display().to_string();
        kubeconfig_in(folder, &self.server.url("https"), &authority)
    }

    /// Returns a kubeconfig that names no other file.
    pub fn kubeconfig(&self) -> String {
        use base64::Engine;
        let folder = tempfile::tempdir().expect("a folder can be made");
        self.flags(folder.path());
        let written = std::fs::read(folder.path().join("kubeconfig")).expect("it was written");
        let mut config: Value = serde_json::from_slice(&written).expect("it is JSON");
        let authority = base64::engine::general_purpose::STANDARD.encode(self.authority.pem());
        config["clusters"][0]["cluster"] = json!({
            "server": self.server.url("https"),
            "certificate-authority-data": authority,
        });
        config.to_string()
    }

    /// Returns what was asked to be changed, without dry runs.
    pub fn changes(&self) -> Vec<String> {
        let log = self.state().log.clone();
        log.into_iter().filter(|line| !line.contains("(dry run)")).collect()
    }

    /// Returns the names of the pods that are left.
    pub fn pods(&self) -> Vec<String> {
        let mut state = self.state();
        state.bury();
        state.pods.keys().cloned().collect()
    }

    /// Returns the lines of all requests.
    pub fn lines(&self) -> Vec<String> {
        self.server.seen().into_iter().map(|seen| seen.line).collect()
    }
}

/// Returns a node with so much for pods.
pub fn node(cpu: &str) -> Value {
    let node = Object::from(made_up::node_object());
    node.amounts(&format!("cpu={cpu},memory=4Gi,pods=20")).into()
}

/// Returns a pod of the node without a grace period to speak of.
pub fn pod(name: &str, cpu: &str) -> Value {
    let (_, own) = name.split_once('/').expect("NAMESPACE/NAME");
    let pod = objects::pod(name).uid(&format!("uid-{own}")).on(made_up::NAME);
    let pod = pod.requests(&format!("cpu={cpu}")).set("/spec/terminationGracePeriodSeconds", 1);
    pod.set("/status/qosClass", "Burstable").into()
}

fn name_of(pod: &Value) -> String {
    let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text("namespace"), text("name"))
}

/// A code, headers and a body; `None`: the connection ends.
type Said = Option<(u16, Vec<String>, Value)>;

fn respond(state: &Mutex<State>, seen: &Seen, to: &mut dyn Write) -> io::Result<()> {
    let mut words = seen.line.split(' ');
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let said = match (method, parts.as_slice()) {
        ("GET", ["api", "v1", "nodes", _]) => {
            single(state, "GET", "node", false, |state| Some((200, Vec::new(), state.node.clone())))
        }
        ("GET", ["api", "v1", "pods"]) => {
            single(state, "GET", "pods", false, |state| state.list(query))
        }
        ("GET", ["api", "v1", "namespaces", namespace, "pods", name]) => {
            let pod = format!("{namespace}/{name}");
            single(state, "GET", &pod, false, |state| state.get(&pod))
        }
        ("POST", ["api", "v1", "namespaces", namespace, "pods", name, "eviction"]) => {
            let pod = format!("{namespace}/{name}");
            let options = &body["deleteOptions"];
            let is_dry = options["dryRun"] == json!(["All"]);
            let is_right = body["kind"] == "Eviction"
                && body["apiVersion"] == "policy/v1"
                && body["metadata"] == json!({"namespace": namespace, "name": name})
                && is_dry == (query == "dryRun=All");
            match is_right {
                true => single(state, "POST", &pod, is_dry, |state| {
                    state.remove("POST", &pod, options, is_dry)
                }),
                false => failure(400, "BadRequest", "that is no Eviction", Vec::new(), &[]),
            }
        }
        ("DELETE", ["api", "v1", "namespaces", namespace, "pods", name]) => {
            let pod = format!("{namespace}/{name}");
            let is_dry = body["dryRun"] == json!(["All"]);
            match body["kind"] == "DeleteOptions" && is_dry == (query == "dryRun=All") {
                true => single(state, "DELETE", &pod, is_dry, |state| {
                    state.remove("DELETE", &pod, &body, is_dry)
                }),
                false => failure(400, "BadRequest", "these are no DeleteOptions", Vec::new(), &[]),
            }
        }
        _ => failure(404, "NotFound", "the server could not find it", Vec::new(), &[]),
    };
    let Some((code, headers, body)) = said else { return Ok(()) };
    let mut all = vec!["Content-Type: application/json"];
    all.extend(headers.iter().map(String::as_str));
    to.write_all(answer(&format!("{code} So"), &all, &body.to_string()).as_bytes())
}

/// Answers about something, with what goes wrong.
fn single(
    state: &Mutex<State>,
    method: &'static str,
    pod: &str,
    is_dry: bool,
    act: impl FnOnce(&mut State) -> Said,
) -> Said {
    let fault = {
        let mut state = state.lock().expect("no thread panicked");
        state.bury();
        if state.forbidden.contains(method) {
            let message = format!("pods {pod:?} is forbidden: User \"u\" cannot");
            return failure(403, "Forbidden", &message, Vec::new(), &[]);
        }
        let of_pod = |key: &&(&'static str, &'static str)| key.0 == method && key.1 == pod;
        let key = state.faults.keys().find(of_pod).copied().filter(|_| !is_dry);
        let faults = key.and_then(|key| state.faults.get_mut(&key));
        faults.filter(|faults| !faults.is_empty()).map(|faults| faults.remove(0))
    };
    let act = || act(&mut state.lock().expect("no thread panicked"));
    let says = |code, message| failure(code, "Said", message, Vec::new(), &[]);
    match fault {
        None => act(),
        Some(Fault::Slow(time)) => {
            sleep(time);
            act()
        }
        Some(Fault::CutBefore) => None,
        Some(Fault::Vanishes) => {
            state.lock().expect("no thread panicked").pods.remove(pod);
            act()
        }
        Some(Fault::IsReplaced) => {
            let mut held = state.lock().expect("no thread panicked");
            let object = held.pods.get_mut(pod).expect("it is there");
            object["metadata"]["uid"] = json!("uid-other");
            drop(held);
            act()
        }
        Some(Fault::CutAfter) => {
            act();
            None
        }
        Some(Fault::Says(code, message)) => says(code, message),
        Some(Fault::DoneAndSays(code, message)) => {
            act();
            failure(code, "Said", message, vec!["Retry-After: 0".to_owned()], &[])
        }
    }
}

impl State {
    /// Takes out the pods whose time is over.
    fn bury(&mut self) {
        let now = Instant::now();
        let over: Vec<String> =
            self.ends.iter().filter(|(_, end)| **end <= now).map(|(pod, _)| pod.clone()).collect();
        for pod in over {
            self.ends.remove(&pod);
            self.pods.remove(&pod);
            for follows in self.follow.remove(pod.as_str()).unwrap_or_default() {
                self.pods.insert(name_of(&follows), follows);
            }
        }
    }

    fn list(&mut self, query: &str) -> Said {
        self.bury();
        let value = |name: &str| {
            query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap_or("")
        };
        if value("fieldSelector") != format!("spec.nodeName%3D{}", made_up::NAME) {
            return failure(400, "BadRequest", "which node?", Vec::new(), &[]);
        }
        let start: usize = value("continue").parse().unwrap_or(0);
        let items: Vec<&Value> = self.pods.values().skip(start).take(PAGE).collect();
        let end = start + items.len();
        let more = if end < self.pods.len() { end.to_string() } else { String::new() };
        let list = json!({
            "kind": "PodList", "apiVersion": "v1", "metadata": {"continue": more}, "items": items,
        });
        Some((200, Vec::new(), list))
    }

    fn get(&self, pod: &str) -> Said {
        match self.pods.get(pod) {
            Some(object) => Some((200, Vec::new(), object.clone())),
            None => not_found(pod),
        }
    }

    fn remove(&mut self, method: &str, pod: &str, options: &Value, is_dry: bool) -> Said {
        let said = self.try_remove(method, pod, options, is_dry);
        let code = said.as_ref().map_or(0, |(code, ..)| *code);
        let dry = if is_dry { " (dry run)" } else { "" };
        let grace = &options["gracePeriodSeconds"];
        self.log.push(format!("{method} {pod}{dry} {grace}s: {code}"));
        said
    }

    fn try_remove(&mut self, method: &str, pod: &str, options: &Value, is_dry: bool) -> Said {
        let Some(object) = self.pods.get_mut(pod) else { return not_found(pod) };
        let uid = &object["metadata"]["uid"];
        let wanted = &options["preconditions"]["uid"];
        if uid != wanted {
            let message =
                format!("Precondition failed: UID in precondition: {wanted}, in meta: {uid}");
            return failure(409, "Conflict", &message, Vec::new(), &[]);
        }
        let budgets = self.budgets.iter_mut().filter(|it| it.pods.contains(&pod));
        for budget in budgets.filter(|_| method == "POST") {
            if budget.more_at.is_some_and(|at| at <= Instant::now()) {
                (budget.left, budget.more_at) = (budget.left + 1, None);
            }
            if budget.left == 0 {
                let headers = budget.retry_after.map(|seconds| format!("Retry-After: {seconds}"));
                let message = "Cannot evict pod as it would violate the pod's disruption budget.";
                let cause =
                    format!("The disruption budget {} needs 1 healthy pods and has 1", budget.name);
                let headers = headers.into_iter().collect();
                return failure(429, "TooManyRequests", message, headers, &[cause]);
            }
            if !is_dry {
                budget.left -= 1;
            }
        }
        if !is_dry {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-22T00:00:00Z");
            let grace = options["gracePeriodSeconds"].as_u64().unwrap_or(30);
            if let Some(told) = &self.on_removal {
                told(object["metadata"]["uid"].as_str().unwrap_or_default());
            }
            if !self.stuck.contains(pod) {
                self.ends
                    .entry(pod.to_owned())
                    .or_insert_with(|| Instant::now() + Duration::from_secs(grace));
            }
        }
        match method {
            "POST" => Some((201, Vec::new(), json!({"kind": "Status", "status": "Success"}))),
            _ => Some((200, Vec::new(), self.pods[pod].clone())),
        }
    }
}

fn not_found(pod: &str) -> Said {
    failure(404, "NotFound", &format!("pods {pod:?} not found"), Vec::new(), &[])
}

fn failure(
    code: u16,
    reason: &str,
    message: &str,
    headers: Vec<String>,
    budgets: &[String],
) -> Said {
    let causes: Vec<Value> =
        budgets.iter().map(|text| json!({"reason": "DisruptionBudget", "message": text})).collect();
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
        "message": message, "code": code, "details": {"causes": causes},
    });
    Some((code, headers, status))
}
