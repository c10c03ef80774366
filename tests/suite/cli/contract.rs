//! The shape of JSON answers, written down once more from the outside.
//!
//! A field that appears, goes away, or changes its type fails here first; then `docs/json.md` and
//! the changelog must say so. Nothing in here uses kq's own types.

use super::{doctor, kq};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// `kq cgroup plan -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CgroupPlan {
    api_version: String,
    kind: String,
    facts: BTreeMap<String, Fact>,
    assumptions: Vec<Assumption>,
    warnings: Vec<Said>,
    unknown: Vec<Missing>,
    items: Vec<Item>,
    units: Vec<Unit>,
    sandboxes: Vec<Sandbox>,
}

#[derive(Debug, Deserialize)]
struct Unit {
    cgroup: String,
    unit: String,
    parent: String,
    properties: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Sandbox {
    namespace: String,
    pod: String,
    resources: SandboxResources,
    overhead: SandboxResources,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SandboxResources {
    cpu_shares: i64,
    cpu_quota: i64,
    cpu_period: i64,
    memory_limit_in_bytes: i64,
}

#[derive(Debug, Deserialize)]
struct Fact {
    value: Value,
    origin: String,
}

#[derive(Debug, Deserialize)]
struct Assumption {
    fact: String,
    value: String,
    origin: String,
    flags: Vec<String>,
}

/// A note of an answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Said {
    pub text: String,
}

/// A reason: its code, its facts, and its text.
#[derive(Clone, Debug, Deserialize)]
pub struct Reason {
    pub code: String,
    pub text: String,
    #[serde(flatten)]
    pub facts: BTreeMap<String, Value>,
}

/// Returns the texts of notes, one a line.
pub fn said(notes: &[Said]) -> String {
    let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    texts.join("\n")
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Missing {
    level: Level,
    namespace: Option<String>,
    pod: Option<String>,
    container: Option<String>,
    qos_class: Option<QosClass>,
    cgroup: String,
    file: String,
    reason: String,
    flag: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    level: Level,
    namespace: Option<String>,
    pod: Option<String>,
    container: Option<String>,
    qos_class: Option<QosClass>,
    cgroup: String,
    controller: String,
    file: String,
    value: String,
    writer: Writer,
    because: Vec<BTreeMap<String, Value>>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Level {
    Node,
    Qos,
    Pod,
    Container,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum QosClass {
    Guaranteed,
    Burstable,
    BestEffort,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Writer {
    Kubelet,
    Runtime,
}

/// `kq cgroup shares -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CpuShares {
    api_version: String,
    kind: String,
    cpus: u64,
    assumptions: Vec<Assumption>,
    warnings: Vec<Said>,
    items: Vec<Share>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Share {
    namespace: Option<String>,
    pod: Option<String>,
    container: Option<String>,
    sibling: Option<String>,
    qos_class: Option<QosClass>,
    cgroup: Option<String>,
    request_milli_cpu: Option<i64>,
    cpus: String,
    decimal: String,
    meets_request: Option<bool>,
    limited_by: String,
    at: Option<String>,
}

/// `kq cgroup explain -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Explanation {
    file: String,
    value: String,
    cgroup_version: Option<u8>,
    level: Option<String>,
    purpose: String,
    meaning: String,
    formulas: Vec<Candidate>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    writer: String,
    formula: String,
    possible: bool,
    from: Vec<Range>,
}

#[derive(Debug, Deserialize)]
struct Range {
    source: String,
    from: i64,
    to: Option<i64>,
}

/// Fields that are null must be there all the same: a program may look them up.
const ITEM_FIELDS: &[&str] = &[
    "because",
    "cgroup",
    "container",
    "controller",
    "file",
    "level",
    "namespace",
    "pod",
    "qosClass",
    "value",
    "writer",
];

/// Reads a plan twice: as it is promised, and as it is.
fn plan(line: &str) -> (CgroupPlan, Value) {
    let answer = kq(line).json();
    let plan = serde_json::from_value(answer.clone());
    let plan: CgroupPlan = plan.unwrap_or_else(|error| panic!("kq {line}: {error}"));
    (plan, answer)
}

#[test]
fn a_plan_is_as_promised() {
    for line in [
        "cgroup plan --kubelet-version 1.36",
        "cgroup plan examples/classic.yaml",
        "cgroup plan examples/classic.yaml --capacity cpu=3,memory=8Gi,pid=32768",
        "cgroup plan examples/classic.yaml --cgroup-version 1 --cgroup-driver systemd",
        "cgroup plan examples/node/pods.json --node-file examples/node/node.json \
         --kubelet-config examples/node/configz.json --cgroup-version 1",
    ] {
        let (plan, answer) = plan(line);
        assert_eq!(plan.api_version, "kq/v2", "{line}");
        assert_eq!(plan.kind, "CgroupPlan", "{line}");
        assert!(plan.facts.contains_key("kubeletVersion"), "{line}");
        assert!(plan.facts.values().all(|fact| !fact.origin.is_empty()));
        assert!(
            plan.facts["capacity.cpu"].value.is_string() || plan.unknown.iter().any(needs_cpus)
        );
        for assumption in &plan.assumptions {
            assert!(!assumption.fact.is_empty() && !assumption.value.is_empty());
            let mut flags = assumption.flags.iter();
            assert!(flags.all(|flag| flag.starts_with("--")), "{line}: {assumption:?}");
            let origin = assumption.origin.as_str();
            assert!(matches!(origin, "assumed" | "default"), "{line}: {assumption:?}");
        }
        for item in &plan.items {
            check_place(item.level, &item.namespace, &item.pod, &item.container, item.qos_class);
            assert!(item.cgroup.starts_with('/') && !item.value.is_empty(), "{item:?}");
            let by_runtime = item.level == Level::Container;
            assert_eq!(item.writer == Writer::Runtime, by_runtime, "{item:?}");
            let controllers = ["cpu", "cpuset", "memory", "pids", "hugetlb", "process"];
            assert!(controllers.contains(&item.controller.as_str()), "{item:?}");
            if item.controller != "process" {
                assert!(item.file.starts_with(&format!("{}.", item.controller)));
            }
            assert!(!item.because.is_empty(), "no reason: {item:?}");
            for step in &item.because {
                let texts =
                    ["step", "text"].map(|field| step.get(field).is_some_and(Value::is_string));
                assert_eq!(texts, [true, true], "{item:?}");
            }
        }
        let systemd = plan.facts["cgroupDriver"].value == "systemd";
        assert_eq!(plan.units.is_empty(), !systemd, "{line}");
        for Unit { cgroup, unit, parent, properties } in &plan.units {
            assert!(cgroup.ends_with(unit) && parent.ends_with(".slice"), "{cgroup}");
            assert!(properties.values().all(|value| value.is_u64() || value.is_array()));
        }
        for Sandbox { namespace, pod, resources, overhead } in &plan.sandboxes {
            assert!(!namespace.is_empty() && !pod.is_empty(), "{line}");
            assert!(resources.cpu_shares >= 2 && overhead.cpu_shares >= 0, "{pod}");
            assert!(resources.cpu_period == 100_000 && resources.cpu_quota >= 0, "{pod}");
            let limits = [resources.memory_limit_in_bytes, overhead.memory_limit_in_bytes];
            assert!(limits.iter().all(|limit| *limit >= 0), "{pod}");
        }
        for missing in &plan.unknown {
            let Missing { level, namespace, pod, container, qos_class, .. } = missing;
            check_place(*level, namespace, pod, container, *qos_class);
            assert!(missing.flag.starts_with("--") && !missing.reason.is_empty());
            let same = |item: &&Item| item.cgroup == missing.cgroup && item.file == missing.file;
            assert!(plan.items.iter().find(same).is_none(), "{missing:?} is known");
        }
        for item in answer["items"].as_array().expect("items") {
            let item = item.as_object().expect("an item is an object");
            let mut fields: Vec<&str> = item.keys().map(String::as_str).collect();
            fields.sort_unstable();
            assert_eq!(fields, ITEM_FIELDS, "{line}");
        }
        assert!(plan.warnings.iter().all(|warning| !warning.text.is_empty()));
    }
}

fn needs_cpus(missing: &Missing) -> bool {
    missing.flag == "--capacity cpu=N"
}

/// What a level knows: a container has a pod, a pod has a namespace and a class.
fn check_place(
    level: Level,
    namespace: &Option<String>,
    pod: &Option<String>,
    container: &Option<String>,
    qos_class: Option<QosClass>,
) {
    let has_pod = matches!(level, Level::Pod | Level::Container);
    assert_eq!(namespace.is_some(), has_pod);
    assert_eq!(pod.is_some(), has_pod);
    assert_eq!(container.is_some(), level == Level::Container);
    assert_eq!(qos_class.is_some(), level != Level::Node);
}

/// `kq doctor -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeChecks {
    api_version: String,
    kind: String,
    facts: BTreeMap<String, Fact>,
    warnings: Vec<Said>,
    summary: BTreeMap<CheckStatus, usize>,
    items: Vec<NodeCheck>,
}

#[derive(Debug, Deserialize)]
struct NodeCheck {
    id: String,
    severity: CheckStatus,
    found: String,
    source: Option<String>,
    advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum CheckStatus {
    Ok,
    Warning,
    Error,
    Unknown,
    Info,
}

#[test]
fn checks_are_as_promised() {
    let report: NodeChecks = serde_json::from_value(doctor::healthy_answer()).expect("as promised");
    assert_eq!((report.api_version.as_str(), report.kind.as_str()), ("kq/v2", "NodeChecks"));
    assert!(report.facts.contains_key("kubeletVersion"));
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    let statuses =
        [CheckStatus::Ok, CheckStatus::Warning, CheckStatus::Error, CheckStatus::Unknown];
    for status in statuses {
        let count = report.items.iter().filter(|check| check.severity == status).count();
        assert_eq!(report.summary.get(&status), Some(&count), "{status:?}");
    }
    let names: Vec<&str> = report.items.iter().map(|check| check.id.as_str()).collect();
    assert_eq!(
        names,
        [
            "kubelet-start",
            "kubelet",
            "kubelet-config",
            "node-object",
            "pods",
            "container-runtime",
            "cgroup-version",
            "cgroup-driver",
            "cgroup-tree",
            "orphaned-pods",
            "cpu-limits",
            "cpu-weight",
            "swap",
            "cgroup-values",
            "state-files",
            "node-conditions",
            "certificates",
            "image-gc",
            "eviction",
            "devices",
            "cpu-throttling",
            "memory-limit",
            "ended-pods",
            "stuck-pods",
            "oom-kills",
            "restarts",
            "kubelet-restart",
            "preemption-headroom",
        ]
    );
    for NodeCheck { id, severity, found, source, advice } in report.items {
        assert!(!found.is_empty() && source.is_some(), "{id}");
        assert_eq!(advice.is_none(), severity == CheckStatus::Ok, "{id}");
    }
}

#[test]
fn shares_are_as_promised() {
    let line = "cgroup shares examples/classic.yaml --capacity cpu=3 --sibling system.slice=100";
    let shares: CpuShares = serde_json::from_value(kq(line).json()).expect("as promised");
    assert_eq!((shares.api_version.as_str(), shares.kind.as_str()), ("kq/v2", "CpuShares"));
    assert_eq!((shares.cpus, shares.items.len()), (3, 5));
    assert!(!shares.assumptions.is_empty() && shares.warnings.is_empty());
    for share in shares.items {
        let is_container = share.sibling.is_none();
        assert_eq!(share.namespace.is_some(), is_container);
        assert_eq!(share.pod.is_some(), is_container);
        assert_eq!(share.container.is_some(), is_container);
        assert_eq!(share.qos_class.is_some(), is_container);
        assert_eq!(share.meets_request.is_some(), share.request_milli_cpu.is_some());
        let (above, below) = share.cpus.split_once('/').expect("a fraction");
        let [above, below] = [above, below].map(|part| part.parse::<f64>().expect("a number"));
        let decimal: f64 = share.decimal.parse().expect("a number");
        assert!((above / below - decimal).abs() < 0.000_001, "{share:?}");
        assert!(!share.limited_by.is_empty());
        assert_eq!(share.cgroup.is_some(), share.container.is_some(), "{share:?}");
        assert!(share.at.as_ref().is_none_or(|at| at.starts_with('/')), "{share:?}");
    }
}

#[test]
fn an_explanation_is_as_promised() {
    for line in [
        "cpu.weight 35",
        "cpu.max '50000 100000'",
        "memory.max max",
        "oom_score_adj 985",
        "/sys/fs/cgroup/kubepods/burstable/cpu.weight 35",
    ] {
        let answer = kq(&format!("cgroup explain {line}")).json();
        let explained: Explanation = serde_json::from_value(answer).expect("as promised");
        assert!(line.contains(&explained.file) && line.contains(&explained.value));
        let level = line.starts_with('/').then_some("burstable");
        assert_eq!(explained.level.as_deref(), level, "{line}");
        assert!(matches!(explained.cgroup_version, None | Some(1 | 2)));
        let texts = [&explained.purpose, &explained.meaning];
        assert!(texts.into_iter().chain(&explained.notes).all(|text| !text.is_empty()));
        for candidate in explained.formulas {
            assert!(!candidate.writer.is_empty() && !candidate.formula.is_empty());
            assert!(candidate.possible || candidate.from.is_empty());
            for Range { source, from, to } in candidate.from {
                assert!(!source.is_empty() && to.is_none_or(|to| from <= to));
            }
        }
    }
}
