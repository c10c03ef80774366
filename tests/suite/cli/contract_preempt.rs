//! The shape of what `kq admit` and `kq preempt` answer in JSON, written down once more from the outside, as
//! in `contract`.

use super::contract::{Reason, Said, said};
use super::{folder_with, kq};
use crate::objects::{self, Object, node};
use serde::Deserialize;
use serde_json::{Value, json};

/// `kq admit explain -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodAdmission {
    api_version: String,
    kind: String,
    pod: String,
    node: String,
    admitted: bool,
    kills: Vec<String>,
    refusals: Vec<Refusal>,
    checks: Vec<Check>,
    resources: Vec<Compared>,
    ledger: Vec<LedgerLine>,
    removed_requests: Vec<Removed>,
    assumptions: Vec<Said>,
    warnings: Vec<Said>,
    missing: Vec<Said>,
}

/// `kq preempt explain -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodPreemption {
    api_version: String,
    kind: String,
    pod: String,
    node: String,
    critical: Critical,
    result: String,
    because: Reason,
    refusals: Vec<Refusal>,
    requirements: Vec<Amount>,
    not_enough: Vec<Amount>,
    stages: Vec<Stage>,
    victims: Vec<Victim>,
    spared: Vec<Spared>,
    admission: Value,
    assumptions: Vec<Said>,
    warnings: Vec<Said>,
    missing: Vec<Said>,
}

/// `kq admit explain --kubelet-restart -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodReadmission {
    api_version: String,
    kind: String,
    node: String,
    items: Vec<Readmitted>,
    assumptions: Vec<Said>,
    warnings: Vec<Said>,
    missing: Vec<Said>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Readmitted {
    pod: String,
    is_static: bool,
    created_at: Option<String>,
    result: String,
    refusals: Vec<Refusal>,
    kills: Vec<String>,
    killed_for: Option<String>,
    compared: Vec<ComparedAnew>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ComparedAnew {
    resource: String,
    requested: i64,
    used: i64,
    allocatable: i64,
    free: i64,
    missing: i64,
    taken_by: Vec<Taker>,
    more_takers: usize,
}

#[derive(Debug, Deserialize)]
struct Taker {
    pod: String,
    amount: i64,
}

#[derive(Debug, Deserialize)]
struct Refusal {
    reason: String,
    message: String,
}

#[derive(Debug, Deserialize)]
struct Check {
    check: String,
    result: String,
    because: Reason,
}

#[derive(Debug, Deserialize)]
struct Compared {
    resource: String,
    requested: i64,
    because: Reason,
    used: i64,
    capacity: Option<i64>,
    reserved: Option<i64>,
    allocatable: i64,
    free: i64,
    missing: i64,
}

#[derive(Debug, Deserialize)]
struct LedgerLine {
    pod: String,
    phase: String,
    counts: bool,
    why: Reason,
    amounts: Vec<LedgerAmount>,
}

#[derive(Debug, Deserialize)]
struct LedgerAmount {
    resource: String,
    amount: i64,
    because: Reason,
}

#[derive(Debug, Deserialize)]
struct Removed {
    container: String,
    resource: String,
    because: Reason,
}

#[derive(Debug, Deserialize)]
struct Critical {
    value: bool,
    because: Reason,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Amount {
    resource: String,
    quantity: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stage {
    qos_class: String,
    requirements: Vec<Amount>,
    rounds: Vec<Round>,
}

#[derive(Debug, Deserialize)]
struct Round {
    requirements: Vec<Amount>,
    candidates: Vec<Candidate>,
    chosen: String,
    distance: f64,
    ties: Vec<String>,
    remaining: Vec<Amount>,
}

#[derive(Debug, Deserialize)]
struct Candidate {
    pod: String,
    distance: f64,
    result: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Victim {
    pod: String,
    uid: String,
    qos_class: String,
    priority: Option<i32>,
    gives: Vec<Amount>,
    grace_period_seconds: i64,
    waits_seconds: i64,
    remaining: Vec<Amount>,
    unneeded: bool,
    ties: Vec<String>,
    status: Written,
}

#[derive(Debug, Deserialize)]
struct Written {
    phase: String,
    reason: String,
    message: String,
    condition: Condition,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
    observed_generation: Option<i64>,
    keeps_transition_time: bool,
}

#[derive(Debug, Deserialize)]
struct Spared {
    pod: String,
    because: Reason,
}

/// Asks about a node with 4 CPUs, of which half a one is kept back, and two pods of 1 and 2 CPUs.
fn answer(command: &str, pod: &Value) -> Value {
    let node = node("n").capacity("cpu=4").allocatable("cpu=3500m");
    let other = |(name, amounts): (&str, &str)| {
        let pod = objects::pod(name).on("n").requests(amounts).set("/metadata/generation", 3);
        pod.set("/spec/terminationGracePeriodSeconds", 30)
    };
    let pods = [("one", "cpu=1,memory=1Gi"), ("two", "cpu=2,memory=1Gi")];
    let pods = objects::list(pods.map(other));
    let folder = folder_with(&[
        ("node.json", node.to_string()),
        ("pods.json", pods.to_string()),
        ("pod.json", pod.to_string()),
    ]);
    let line = format!("{command} --pods pods.json --node-file node.json -o json");
    let ran = kq(&line).within(folder.path()).run();
    ran.answer()
}

/// Describes a pod as it is in a manifest.
fn manifest(name: &str) -> Object {
    objects::pod(name).uid("").priority(Value::Null).set("/status", json!({}))
}

#[test]
fn an_admission_is_as_promised() {
    let amounts = "cpu=1,example.com/x=1";
    let wanted = manifest("new").requests(amounts).limits(amounts);
    let answer: PodAdmission =
        serde_json::from_value(answer("admit explain pod.json", &wanted)).expect("as promised");
    assert_eq!((&*answer.api_version, &*answer.kind), ("kq/v2", "PodAdmission"));
    assert_eq!((&*answer.pod, &*answer.node, answer.admitted), ("default/new", "n", false));
    assert!(answer.kills.is_empty(), "{:?}", answer.kills);
    let [Refusal { reason, message }] = &*answer.refusals else { panic!("{:?}", answer.refusals) };
    assert_eq!(reason, "OutOfcpu");
    assert!(message.contains("requested: 1000, used: 3000, capacity: 3500"), "{message}");
    let checks: Vec<_> = answer.checks.iter().map(|it| (&*it.check, &*it.result)).collect();
    let first =
        [("pressure", "PASS"), ("sysctls", "PASS"), ("placement", "PASS"), ("devices", "PASS")];
    assert_eq!(checks[..4], first);
    assert_eq!(checks[9], ("resources", "FAIL"));
    assert!(answer.checks.iter().all(|it| !it.because.text.is_empty()));
    let cpu = answer.resources.iter().find(|it| it.resource == "cpu").expect("it is compared");
    assert_eq!((cpu.capacity, cpu.reserved, cpu.allocatable), (Some(4000), Some(500), 3500));
    assert_eq!((cpu.used, cpu.free, cpu.requested, cpu.missing), (3000, 500, 1000, 500));
    assert_eq!((&*cpu.because.code, &*cpu.because.text), ("containers", "container 1"));
    assert_eq!(cpu.because.facts["amount"], 1000);
    let short = &answer.checks[9].because;
    assert_eq!((&*short.code, &short.facts["shortages"][0]["used"]), ("short", &json!(3000)));
    let disk = answer.resources.iter().find(|it| it.resource == "ephemeral-storage");
    let disk = disk.expect("it is compared");
    assert_eq!((disk.capacity, disk.reserved), (None, None));
    let used: i64 = answer.ledger.iter().map(|line| line.amounts[1].amount).sum();
    assert_eq!(used, cpu.used);
    for line in &answer.ledger {
        assert_eq!((line.counts, &*line.phase), (true, "Running"));
        assert!(line.pod.starts_with("default/") && line.why.code == "phase");
        assert!(
            line.amounts.iter().all(|it| !it.resource.is_empty() && !it.because.text.is_empty())
        );
    }
    let [Removed { container, resource, because }] = &*answer.removed_requests else { panic!() };
    assert_eq!((&**container, &**resource), ("c", "example.com/x"));
    assert_eq!(because.code, "notOnNode");
    let assumed = said(&answer.assumptions);
    assert!(assumed.contains("AppArmor, declared features and node shutdown"), "{assumed}");
    let [warning] = &*answer.warnings else { panic!("{:?}", answer.warnings) };
    assert!(warning.text.starts_with("c asks for example.com/x: "), "{warning:?}");
    assert!(answer.missing.is_empty(), "{:?}", answer.missing);
}

#[test]
fn a_preemption_is_as_promised() {
    let wanted = manifest("new").requests("cpu=1");
    let wanted = wanted.set("/spec/priorityClassName", "system-node-critical");
    let value = answer("preempt explain pod.json", &wanted);
    let answer: PodPreemption = serde_json::from_value(value).expect("as promised");
    assert_eq!((&*answer.api_version, &*answer.kind), ("kq/v2", "PodPreemption"));
    assert_eq!((&*answer.pod, &*answer.node, &*answer.result), ("default/new", "n", "preempts"));
    assert!(answer.critical.value && answer.critical.because.code == "systemCriticalPriority");
    assert_eq!((&*answer.because.code, &answer.because.facts["pods"]), ("kills", &json!(1)));
    assert!(answer.refusals.is_empty());
    let half = [Amount { resource: "cpu".to_owned(), quantity: 500 }];
    assert_eq!((&*answer.requirements, &*answer.not_enough), (&half[..], &[][..]));
    let classes: Vec<&str> = answer.stages.iter().map(|it| &*it.qos_class).collect();
    assert_eq!(classes, ["Guaranteed", "Burstable", "BestEffort"]);
    let [Round { requirements, candidates, chosen, distance, ties, remaining }] =
        &*answer.stages[1].rounds
    else {
        panic!("{:?}", answer.stages)
    };
    assert_eq!((&**requirements, &*answer.stages[1].requirements), (&half[..], &half[..]));
    assert_eq!((&**chosen, *distance), ("default/one", 0.0));
    assert!(ties.is_empty() && remaining.is_empty());
    let compared: Vec<_> = candidates.iter().map(|it| (&*it.pod, &*it.result)).collect();
    assert_eq!(compared, [("default/one", "nearer"), ("default/two", "tieMore")]);
    assert!(candidates.iter().all(|it| it.distance == 0.0));
    let [victim] = &*answer.victims else { panic!("{:?}", answer.victims) };
    assert_eq!(
        (&*victim.pod, &*victim.uid, &*victim.qos_class),
        ("default/one", "one", "Burstable")
    );
    assert_eq!((victim.priority, victim.gives[0].quantity), (Some(0), 1000));
    assert_eq!((victim.grace_period_seconds, victim.waits_seconds), (30, 45));
    assert!(victim.remaining.is_empty() && !victim.unneeded && victim.ties.is_empty());
    let Written { phase, reason, message, condition } = &victim.status;
    assert_eq!((&**phase, &**reason), ("Failed", "Preempting"));
    assert_eq!(message, "Preempted in order to admit critical pod");
    assert_eq!((&*condition.kind, &*condition.status), ("DisruptionTarget", "True"));
    assert_eq!(condition.reason, "TerminationByKubelet");
    assert!(condition.message.starts_with("Pod was preempted by Kubelet"));
    assert_eq!((condition.observed_generation, condition.keeps_transition_time), (Some(3), false));
    let [Spared { pod, because }] = &*answer.spared else { panic!("{:?}", answer.spared) };
    assert_eq!(
        (&**pod, &*because.code, &*because.text),
        ("default/two", "notNeeded", "not needed")
    );
    assert_eq!(answer.admission["admitted"], true);
    assert_eq!(answer.admission["kills"].as_array().map(Vec::len), Some(answer.victims.len()));
    assert!(!answer.assumptions.is_empty());
    assert!(answer.warnings.is_empty() && answer.missing.is_empty(), "{answer:?}");
}

#[test]
fn a_readmission_is_as_promised() {
    let value = answer("admit explain --kubelet-restart", &Value::Null);
    let answer: PodReadmission = serde_json::from_value(value).expect("as promised");
    assert_eq!((&*answer.api_version, &*answer.kind), ("kq/v2", "PodReadmission"));
    assert_eq!((&*answer.node, answer.items.len()), ("n", 2));
    for it in &answer.items {
        assert_eq!((&*it.result, it.is_static, &it.created_at), ("admitted", false, &None));
        assert!(it.pod.starts_with("default/"));
        assert!(it.refusals.is_empty() && it.kills.is_empty() && it.killed_for.is_none());
        let [pods, cpu, memory] = &*it.compared else { panic!("{:?}", it.compared) };
        assert_eq!([&*pods.resource, &cpu.resource, &memory.resource], ["pods", "cpu", "memory"]);
        for line in &it.compared {
            assert_eq!((line.missing, line.free), (0, line.allocatable - line.used));
            assert!(line.requested > 0 && line.taken_by.is_empty() && line.more_takers == 0);
        }
    }
    let assumed = said(&answer.assumptions);
    assert!(assumed.contains("2 of the pods have no creationTimestamp"), "{assumed}");
    assert!(answer.warnings.is_empty() && answer.missing.is_empty(), "{answer:?}");
}

#[test]
fn who_has_what_is_missing_is_told_as_promised() {
    let pods = objects::list(["a", "b"].map(|name| manifest(name).requests("cpu=2")));
    let node = node("n").amounts("cpu=3");
    let folder = folder_with(&[("node.json", node.to_string()), ("pods.json", pods.to_string())]);
    let line = "admit explain --kubelet-restart --pods pods.json --node-file node.json -o json";
    let ran = kq(line).within(folder.path()).run();
    let answer: PodReadmission = ran.answer();
    let lacks = answer.items.last().and_then(|it| it.compared.last()).expect("a line");
    let [Taker { pod, amount }] = &*lacks.taken_by else { panic!("{lacks:?}") };
    assert_eq!((&**pod, *amount, lacks.missing), ("default/a", 2000, 1000));
}
