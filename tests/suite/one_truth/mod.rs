//! A question has one answer, whichever command asks it: the commands answer about the same node, each in a process of
//! its own, and their answers are compared field by field.
//!
//! `pairs` has the comparisons. `KQ_TRUTH=all` asks about every recorded restart, instead of one in four;
//! `KQ_TRUTH_PROGRAM=PATH` asks another kq.

mod pairs;

use crate::cli::{folder_with, kq, repository};
use crate::matrix;
use crate::what_if::recording::{Recording, scenarios};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A pod that is critical as a static one.
const CRITICAL: &str = "
apiVersion: v1
kind: Pod
metadata: {name: critical, namespace: kube-system}
spec:
  containers:
  - name: app
    image: node.test/app:1
    resources: {requests: {cpu: 700m, memory: 64Mi}}
";

/// A pod that a user creates.
const NEW: &str = "
apiVersion: v1
kind: Pod
metadata: {name: new, namespace: shop}
spec:
  containers:
  - name: app
    image: node.test/app:1
    resources: {requests: {cpu: 100m, memory: 64Mi}}
";

/// The answers about a node, each asked for once.
pub struct Answers {
    name: String,
    folder: tempfile::TempDir,
    known: RefCell<BTreeMap<String, Option<Rc<Value>>>>,
    /// A fault that is put into one answer: the beginning of the line, the field, and its value.
    fault: Option<(String, String, Value)>,
}

impl Answers {
    fn of(name: &str, snapshot: &str) -> Self {
        let files = [("node.json", snapshot), ("critical.yaml", CRITICAL), ("new.yaml", NEW)];
        Self {
            name: name.to_owned(),
            folder: folder_with(&files),
            known: RefCell::default(),
            fault: None,
        }
    }

    /// Returns the answer of `kq LINE --snapshot node.json`; `None`: there is none.
    pub fn ask(&self, line: &str) -> Option<Rc<Value>> {
        let snapshot = if line.starts_with("fleet ") { "" } else { " --snapshot node.json" };
        self.whole(line, &format!("{line}{snapshot}"))
    }

    /// Returns every answer so far, with its line.
    pub fn answers(&self) -> Vec<(String, Rc<Value>)> {
        let known = self.known.borrow();
        known.iter().filter_map(|(line, it)| Some((line.clone(), it.clone()?))).collect()
    }

    fn whole(&self, line: &str, command: &str) -> Option<Rc<Value>> {
        if let Some(known) = self.known.borrow().get(line) {
            return known.clone();
        }
        let command = match command.split_once(" -- ") {
            Some((start, asked)) => format!("{start} -o json -- {asked}"),
            None => format!("{command} -o json"),
        };
        let mut answer: Option<Value> = serde_json::from_slice(&self.run(&command)).ok();
        if let (Some((asked, field, value)), Some(answer)) = (&self.fault, &mut answer)
            && line.starts_with(asked.as_str())
            && let Some(field) = answer.pointer_mut(field)
        {
            field.clone_from(value);
        }
        let answer = answer.map(Rc::new);
        self.known.borrow_mut().insert(line.to_owned(), answer.clone());
        answer
    }

    /// Runs a command, and returns what it writes. Another kq than the present one is not held to the schema.
    fn run(&self, command: &str) -> Vec<u8> {
        let Some(program) = std::env::var_os("KQ_TRUTH_PROGRAM") else {
            return kq(command).within(self.folder.path()).run().stdout.into_bytes();
        };
        let mut other = std::process::Command::new(program);
        let other = other.args(command.split(' ')).current_dir(self.folder.path());
        other.env_clear().output().expect("the program runs").stdout
    }

    /// Returns the page of `kq report`.
    pub fn page(&self) -> Option<String> {
        self.run("report --snapshot node.json -o page.html");
        std::fs::read_to_string(self.folder.path().join("page.html")).ok()
    }

    /// Writes a file beside the snapshot.
    pub fn write(&self, name: &str, content: &str) {
        std::fs::write(self.folder.path().join(name), content).expect("a file can be written");
    }

    /// Returns what two commands say differently.
    fn differences(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (pair, compare) in pairs::PAIRS {
            let mut own = Vec::new();
            compare(self, &mut own);
            found.extend(own.into_iter().map(|it| format!("{}: {pair}: {it}", self.name)));
        }
        found
    }
}

/// A change of a node.
type Variant = (&'static str, fn(&mut Value));

/// Nodes that are like worker-3, and in trouble.
const VARIANTS: &[Variant] = &[
    ("worker-3 without a runtime", |node| {
        let failed = json!({ "source": "the runtime", "reason": "connection refused" });
        node["runtime"] = json!({ "found": null, "tried": [failed] });
    }),
    ("worker-3 without measurements", |node| {
        let failed = json!({ "source": "the kubelet", "reason": "connection refused" });
        node["statsSummary"] = json!({ "found": null, "tried": [failed] });
    }),
    ("worker-3 short of memory", |node| {
        node["statsSummary"]["found"]["value"]["node"]["memory"]["availableBytes"] =
            json!(50 << 20);
    }),
    ("worker-3 with a full disk", |node| {
        let stats = &mut node["statsSummary"]["found"]["value"]["node"];
        stats["fs"]["availableBytes"] = json!(2_u64 << 30);
        for folder in node["folders"].as_object_mut().into_iter().flatten() {
            let filesystem = &mut folder.1["filesystem"]["found"]["value"];
            if filesystem.is_object() {
                filesystem["availableBytes"] = json!(2_u64 << 30);
                filesystem["freeBytes"] = json!(2_u64 << 30);
            }
        }
    }),
    ("worker-3 without devices", |node| {
        node["devices"] = Value::Null;
    }),
    ("worker-3 with kubelet 1.33", |node| {
        let version = &mut node["node"]["found"]["value"]["status"]["nodeInfo"]["kubeletVersion"];
        *version = json!("v1.33.4");
    }),
];

/// Removes the messages of runtimes, which a report that is passed on does not have.
fn without_messages(snapshot: &str) -> String {
    snapshot.replace("secret \\\"report-key\\\" not found", "").replace("link down", "")
}

/// Returns the snapshots of all nodes: made-up ones, recorded ones, and recorded restarts.
fn snapshots() -> Vec<(String, String)> {
    let mut all = matrix::snapshots();
    let text = |path: &str| std::fs::read_to_string(repository().join(path)).expect("a snapshot");
    for path in ["examples/night/worker-3.json", "tests/cases/doctor-pods-themselves/node.json"] {
        all.push((path.to_owned(), without_messages(&text(path))));
    }
    let night: Value = serde_json::from_str(&text("examples/night/worker-3.json")).expect("JSON");
    for (name, change) in VARIANTS {
        let mut node = night.clone();
        change(&mut node);
        all.push(((*name).to_owned(), node.to_string()));
    }
    for name in ["00-base-34-pods", "10-system-reserved-cpu"] {
        let recording = repository().join("tests/nodes-v2").join(name);
        let node = crate::nodes_v2::snapshot(&recording, "before").expect("the recording");
        all.push((name.to_owned(), without_messages(&node)));
    }
    let every = if std::env::var("KQ_TRUTH").is_ok_and(|it| it == "all") { 1 } else { 4 };
    for scenario in scenarios().into_iter().step_by(every) {
        let snapshot = Recording::of(&scenario).node().snapshot;
        all.push((scenario, serde_json::to_string(&snapshot).expect("a snapshot")));
    }
    all
}

#[test]
fn every_command_agrees_with_the_others() {
    let snapshots = snapshots();
    let found: Vec<String> = std::thread::scope(|scope| {
        let halves = snapshots.chunks(snapshots.len().div_ceil(2));
        let compared = halves.map(|half| {
            scope.spawn(move || {
                let of_node =
                    |(name, snapshot): &(String, String)| Answers::of(name, snapshot).differences();
                half.iter().flat_map(of_node).collect::<Vec<_>>()
            })
        });
        let threads: Vec<_> = compared.collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).collect()
    });
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}

/// A fact that is changed in one source only, a verdict that is dropped, a flag that is lost, a version that is ignored: each
/// is put into one answer, and the comparison finds it.
#[test]
fn each_fault_of_one_command_is_found() {
    let night = std::fs::read_to_string(repository().join("examples/night/worker-3.json"));
    let night = night.expect("the example");
    let ended =
        std::fs::read_to_string(repository().join("tests/cases/doctor-pods-themselves/node.json"));
    let ended = without_messages(&ended.expect("the case"));
    let (_, device) = matrix::snapshots()
        .into_iter()
        .find(|(name, _)| name.trim_end().ends_with("tests/devices/one"))
        .expect("the recording");
    for snapshot in [&night, &ended, &device] {
        let sound = Answers::of("sound", snapshot).differences();
        assert!(sound.is_empty(), "{sound:?}");
    }
    let faults: &[(&str, &str, &str, Value)] = &[
        (&night, "gc dry-run", "/freed/images", json!(2)),
        (&night, "gc dry-run", "/run/wantsSpace", json!(false)),
        (&night, "evict rank --signal nodefs.available", "/thresholds/0/available", json!(1)),
        (&night, "evict rank --signal nodefs.available", "/first/oneOf", json!([])),
        (
            &night,
            "gc dry-run --trigger eviction --at-usage",
            "/pressure/acts/0/settlement/enough",
            json!(false),
        ),
        (&night, "devices list", "/items/0/findings", json!([])),
        (&night, "cgroup diff", "/items", json!([])),
        (&night, "admit explain --kubelet-restart", "/items/0/result", json!("refused")),
        (&night, "what-if kubelet-restart", "/pods/0/result", json!("refused")),
        (&device, "what-if device gone", "/items", json!([])),
        (&device, "devices plan --unhealthy", "/pods", json!([])),
        (&night, "devices plan --reboot", "/pods/0/admitted", json!(true)),
        (&night, "preempt explain critical.yaml --static", "/victims/0/pod", json!("shop/other")),
        (&night, "what-if add new.yaml", "/pods", json!([])),
        (&night, "cgroup plan --set systemReserved.cpu", "/items/0/value", json!("1")),
        (&night, "version", "/kubelet/version", json!("v1.33.0")),
        (&night, "fleet ask", "/items", json!([])),
        (&night, "fleet what-if", "/workloads", json!([])),
        (&ended, "preempt why batch/gone-1", "/cause", json!("notKilled")),
    ];
    for (snapshot, line, field, value) in faults {
        let fault = Some(((*line).to_owned(), (*field).to_owned(), value.clone()));
        let answers = Answers { fault, ..Answers::of("faulty", snapshot) };
        let found = answers.differences();
        assert!(!found.is_empty(), "{line}: {field}: {value} is not found");
    }
}
