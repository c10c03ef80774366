//! Why things go and stay, ties, and that the steps and what is left are everything there was.

use super::*;
use kq_facts::runtime::ContainerState;
use kq_k8s::duration::GoDuration;
use proptest::prelude::*;
use serde_json::json;

/// Returns a container of pod `POD.NAME.NUMBER` that was created at a time.
fn container(id: &str, created_at: i64) -> GcContainer {
    let mut parts = id.split('.');
    let mut part = || parts.next().unwrap_or_default().to_owned();
    GcContainer {
        id: id.to_owned(),
        pod_uid: part(),
        name: part(),
        state: ContainerState::Exited,
        created_at,
        sandbox_id: "sandbox".to_owned(),
        ..GcContainer::default()
    }
}

fn sandbox(id: &str, ready: bool, created_at: i64) -> GcSandbox {
    GcSandbox { id: id.to_owned(), pod_uid: "a".to_owned(), ready, created_at }
}

fn state(containers: Vec<GcContainer>) -> GcState {
    let log_root = "/var/log/pods".to_owned();
    GcState { now: 100, containers, all_sources_ready: true, log_root, ..GcState::default() }
}

fn policy(min_age: i64, per_container: i64, in_all: i64) -> ContainerGcPolicy {
    ContainerGcPolicy {
        min_age: GoDuration(min_age),
        max_per_pod_container: ContainerGcPolicy::limit(per_container),
        max_containers: ContainerGcPolicy::limit(in_all),
    }
}

fn planned(policy: &ContainerGcPolicy, state: &GcState, trigger: GcTrigger) -> ContainerGcPlan {
    plan(policy, state, trigger, &Failures::default()).expect("a policy that is taken")
}

/// Writes what goes and what stays, each with the words for it.
fn told(plan: &ContainerGcPlan) -> Vec<String> {
    let steps = plan.steps.iter().map(|step| format!("- {}: {}", step.id(), step.reason()));
    let left = [&plan.containers, &plan.sandboxes, &plan.log_directories].into_iter().flatten();
    let left = left.map(|remaining| format!("{}: {}", remaining.id, remaining.reason));
    steps.chain(left).collect()
}

#[test]
fn every_container_has_its_reason() {
    let mut running = container("a.x.9", 1);
    running.state = ContainerState::Running;
    let containers =
        vec![running, container("a.x.0", 10), container("a.x.1", 20), container("b.x.0", 95)];
    let ended = GcPod { runtime_should_be_removed: true, ..GcPod::default() };
    let mut state = state(containers);
    state.pods.insert("a".to_owned(), ended);
    const RUNS: &str = "a.x.9: runs";
    for (name, policy, trigger, ready, expected) in [
        (
            "newest",
            policy(0, 1, -1),
            GcTrigger::Loop,
            true,
            vec![
                "- a.x.0: 2 dead ones of this container, 1 may stay",
                RUNS,
                "a.x.1: number 1 from the newest of this container, 1 may stay",
                "b.x.0: number 1 from the newest of this container, 1 may stay",
            ],
        ),
        (
            "too young",
            policy(10, 0, -1),
            GcTrigger::Loop,
            true,
            vec![
                "- a.x.1: 2 dead ones of this container, 0 may stay",
                "- a.x.0: 2 dead ones of this container, 0 may stay",
                RUNS,
                "b.x.0: created 5ns ago, must be 10ns old",
            ],
        ),
        (
            "share and oldest",
            policy(0, -1, 1),
            GcTrigger::Loop,
            true,
            vec![
                "- a.x.0: 2 dead ones of this container, its share of the 1 on the node is 1",
                "- a.x.1: among the oldest of 2 on the node, 1 may stay",
                RUNS,
                "b.x.0: 1 dead ones may stay on the node",
            ],
        ),
        (
            "no limit",
            policy(0, -1, -1),
            GcTrigger::Loop,
            true,
            vec![
                RUNS,
                "a.x.0: no limit is set",
                "a.x.1: no limit is set",
                "b.x.0: no limit is set",
            ],
        ),
        (
            "pods that have ended",
            policy(0, 1, -1),
            GcTrigger::Eviction,
            true,
            vec![
                "- a.x.1: its pod has ended",
                "- a.x.0: its pod has ended",
                RUNS,
                "b.x.0: number 1 from the newest of this container, 1 may stay",
            ],
        ),
        (
            "pods that have ended, sources not ready",
            policy(0, 2, -1),
            GcTrigger::Eviction,
            false,
            vec![
                RUNS,
                "a.x.0: its pod has ended, but not every source of pods has been heard",
                "a.x.1: its pod has ended, but not every source of pods has been heard",
                "b.x.0: number 1 from the newest of this container, 2 may stay",
            ],
        ),
    ] {
        state.all_sources_ready = ready;
        assert_eq!(told(&planned(&policy, &state, trigger)), expected, "{name}");
    }
}

#[test]
fn every_sandbox_and_log_folder_has_its_reason() {
    let mut used = container("a.x.0", 99);
    used.sandbox_id = "used".to_owned();
    let mut state = state(vec![used]);
    state.sandboxes = vec![
        sandbox("old", false, 1),
        sandbox("ready", true, 2),
        sandbox("used", false, 3),
        sandbox("new", false, 4),
    ];
    state.log_directories = ["ns_pod_a", "ns_pod_gone", "gone"].map(str::to_owned).to_vec();
    let gone = GcPod { content_should_be_removed: true, ..GcPod::default() };
    state.pods.insert("gone".to_owned(), gone);
    let policy = policy(0, 1, -1);
    assert_eq!(
        told(&planned(&policy, &state, GcTrigger::Loop)),
        [
            "- old: its pod has a newer sandbox, new",
            "- ns_pod_gone: its pod is gone or evicted",
            "- gone: its pod is gone or evicted",
            "a.x.0: number 1 from the newest of this container, 1 may stay",
            "ready: ready",
            "used: has a container",
            "new: the newest of its pod",
            "ns_pod_a: its pod is not gone",
        ]
    );
    let failures = Failures {
        list_sandboxes: Some("down".to_owned()),
        read_log_root: Some("denied".to_owned()),
        remove_container: [("a.x.0".to_owned(), "busy".to_owned())].into(),
        ..Failures::default()
    };
    state.pods.insert("a".to_owned(), gone);
    let failed = plan(&policy, &state, GcTrigger::Loop, &failures).expect("a policy");
    assert_eq!(
        told(&failed),
        [
            "- a.x.0: its pod is gone or evicted",
            "a.x.0: RemoveContainer failed: busy",
            "old: the list is unknown: down",
            "ready: the list is unknown: down",
            "used: the list is unknown: down",
            "new: the list is unknown: down",
            "ns_pod_a: the list is unknown: denied",
            "ns_pod_gone: the list is unknown: denied",
            "gone: the list is unknown: denied",
        ]
    );
    let expected = "[down, failed to read podLogsDirectory \"/var/log/pods\": denied]";
    assert_eq!(failed.error().as_deref(), Some(expected));
}

#[test]
fn with_no_dead_one_left_the_oldest_still_goes_first() {
    let state = state(vec![container("a.x.0", 3), container("b.x.0", 1), container("c.x.0", 2)]);
    let plan = planned(&policy(0, -1, 0), &state, GcTrigger::Loop);
    let gone: Vec<&str> = plan.steps.iter().map(Step::id).collect();
    assert_eq!(gone, ["b.x.0", "c.x.0", "a.x.0"]);
}

#[test]
fn a_tie_is_told_only_where_it_decides() {
    let state = |times: [i64; 3]| {
        state(
            ["a.x.0", "b.x.0", "c.x.0"]
                .into_iter()
                .zip(times)
                .map(|(id, at)| container(id, at))
                .collect(),
        )
    };
    for (name, times, expected) in [
        ("all equal", [5, 5, 5], Some((3, 1))),
        ("the oldest is clear", [5, 5, 4], None),
        ("the newest is clear", [5, 6, 5], Some((2, 1))),
    ] {
        let plan = planned(&policy(0, -1, 2), &state(times), GcTrigger::Loop);
        let tie = plan.tie.map(|tie| (tie.ids.len(), tie.removed));
        assert_eq!(tie, expected, "{name}");
        assert_eq!(plan.containers.len(), 2, "{name}");
    }
}

#[test]
fn a_plan_is_a_value() {
    let mut state = state(vec![container("a.x.0", 1), container("a.x.1", 2)]);
    state.sandboxes = vec![sandbox("s", true, 1)];
    let busy = Failures {
        remove_container: [("a.x.0".to_owned(), "busy".to_owned())].into(),
        ..Failures::default()
    };
    let plan = plan(&policy(0, 1, -1), &state, GcTrigger::Loop, &busy).expect("a policy");
    let value = serde_json::to_value(&plan).expect("a value");
    assert_eq!(
        value["steps"],
        json!([{
            "what": "container",
            "id": "a.x.0",
            "podUid": "a",
            "name": "x",
            "state": "exited",
            "createdAt": 1,
            "stopTimeoutSeconds": null,
            "reason": { "rule": "maxPerPodContainer", "limit": 1, "dead": 2 },
            "failed": { "call": "removeContainer", "error": "busy" },
        }])
    );
    let reasons = ["containers", "sandboxes"].map(|what| &value[what][0]["reason"]["rule"]);
    assert_eq!(reasons, ["failed", "newestSandbox"]);
}

fn any_state() -> impl Strategy<Value = GcState> {
    let states = [
        ContainerState::Created,
        ContainerState::Running,
        ContainerState::Exited,
        ContainerState::Unknown,
    ];
    let container = ("[ab]", "[xy]", prop::sample::select(states.to_vec()), any::<i64>(), "[st]");
    let containers = prop::collection::vec(container, 0..12);
    let sandboxes = prop::collection::vec(("[ab]", any::<bool>(), any::<i64>()), 0..4);
    let pods = prop::collection::btree_map("[ab]", any::<(bool, bool)>(), 0..2);
    let now = any::<i64>();
    (containers, sandboxes, pods, any::<bool>(), now).prop_map(
        |(containers, sandboxes, pods, all_sources_ready, now)| {
            let container = |(at, container): (usize, (String, String, _, i64, String))| {
                let (pod_uid, name, state, created_at, sandbox_id) = container;
                let id = format!("c{at}");
                GcContainer {
                    id,
                    pod_uid,
                    name,
                    state,
                    created_at,
                    sandbox_id,
                    ..GcContainer::default()
                }
            };
            let sandbox = |(at, (pod_uid, ready, created_at)): (usize, (String, bool, i64))| {
                let id = ["s", "t", "u", "v"].get(at).copied().unwrap_or_default().to_owned();
                GcSandbox { id, pod_uid, ready, created_at }
            };
            let pod = |(uid, (runtime, content))| {
                let pod = GcPod {
                    runtime_should_be_removed: runtime,
                    content_should_be_removed: content,
                };
                (uid, pod)
            };
            GcState {
                now,
                containers: containers.into_iter().enumerate().map(container).collect(),
                sandboxes: sandboxes.into_iter().enumerate().map(sandbox).collect(),
                pods: pods.into_iter().map(pod).collect(),
                all_sources_ready,
                log_root: "/var/log/pods".to_owned(),
                log_directories: vec!["ns_pod_a".to_owned(), "b".to_owned(), String::new()],
            }
        },
    )
}

proptest! {
    /// Nothing is lost, nothing goes twice, and what runs or is used stays.
    #[test]
    fn steps_and_remainder_are_everything(
        state in any_state(),
        (min_age, per_container, in_all) in (0..i64::MAX, -1..3_i64, -1..5_i64),
        evicts in any::<bool>(),
    ) {
        let policy = policy(min_age, per_container, in_all);
        let trigger = if evicts { GcTrigger::Eviction } else { GcTrigger::Loop };
        let plan = planned(&policy, &state, trigger);
        let left = [&plan.containers, &plan.sandboxes, &plan.log_directories];
        let mut after: Vec<&str> = plan.steps.iter().map(Step::id).collect();
        after.extend(left.into_iter().flatten().map(|remaining| remaining.id.as_str()));
        after.sort_unstable();
        let mut before: Vec<&str> = state.containers.iter().map(|one| one.id.as_str()).collect();
        before.extend(state.sandboxes.iter().map(|one| one.id.as_str()));
        before.extend(state.log_directories.iter().map(String::as_str));
        before.sort_unstable();
        prop_assert_eq!(after, before);
        for step in &plan.steps {
            match step {
                Step::Container(step) => prop_assert!(step.state != ContainerState::Running),
                Step::Sandbox(step) => {
                    let found = state.sandboxes.iter().find(|one| one.id == step.id);
                    prop_assert!(found.is_some_and(|one| !one.ready));
                    let mut users = state.containers.iter().filter(|one| one.sandbox_id == step.id);
                    let left = |one: &GcContainer| plan.containers.iter().any(|it| it.id == one.id);
                    prop_assert!(!users.any(left));
                }
                Step::LogDirectory(_) => prop_assert!(state.all_sources_ready),
            }
        }
    }
}
