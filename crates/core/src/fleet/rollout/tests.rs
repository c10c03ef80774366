//! Judging a rollout.

use super::*;
use crate::fleet::{
    DisruptedPod, Disruption, NoAnswer, NodeDisruptions, NodeOutcome, Reply, StartOutcome,
};
use kq_answer::MissingFact;
use kq_k8s::disruption_budget::DisruptionBudget;
use serde_json::{Value, json};

use Disruption::{Ends, MayEnd, Restarts};

fn pod(app: &str, name: &str, disruption: Disruption) -> DisruptedPod {
    DisruptedPod {
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        workload: ("Deployment".to_owned(), app.to_owned()),
        labels: Some([("app".to_owned(), app.to_owned())].into()),
        disruption,
        is_healthy: true,
    }
}

/// Returns pods of workloads, as many of each as are named.
fn ending(pods: &[(&str, usize)]) -> Vec<DisruptedPod> {
    let of = |(app, count): &(&str, usize)| {
        let app = (*app).to_owned();
        (0..*count).map(move |at| pod(&app, &format!("{app}-{at}"), Ends))
    };
    pods.iter().flat_map(of).collect()
}

fn answered(node: &str, pool: &str, disruptions: NodeDisruptions) -> NodeOutcome {
    let reply = Reply::Answered { exit_code: 0, results: Vec::new(), value: None };
    NodeOutcome {
        node: node.to_owned(),
        group: Some(pool.to_owned()),
        reply,
        answer: None,
        disruptions: Some(disruptions),
    }
}

fn node(name: &str, pool: &str, pods: Vec<DisruptedPod>) -> NodeOutcome {
    answered(name, pool, NodeDisruptions { start: StartOutcome::Runs, pods: Some(pods) })
}

/// Returns a budget for the pods of an app, of which so many may be unavailable.
fn budget(app: &str, expected: u32, allowed: u32) -> Value {
    let most = json!({"maxUnavailable": allowed, "selector": {"matchLabels": {"app": app}}});
    json!({
        "kind": "PodDisruptionBudget", "apiVersion": "policy/v1",
        "metadata": {"namespace": "shop", "name": app, "generation": 1}, "spec": most,
        "status": {
            "observedGeneration": 1, "expectedPods": expected, "currentHealthy": expected,
            "desiredHealthy": expected - allowed, "disruptionsAllowed": allowed,
        },
    })
}

fn budgets(budgets: &[Value]) -> Option<Vec<DisruptionBudget>> {
    let list = json!({"kind": "List", "items": budgets});
    Some(DisruptionBudget::read(list.to_string().as_bytes()).expect("budgets"))
}

fn judged(all: Option<Vec<DisruptionBudget>>, nodes: &[NodeOutcome], most: usize) -> FleetWhatIf {
    let mut rollout = Rollout::new(all);
    nodes.iter().for_each(|node| rollout.add(node));
    rollout.finish(vec!["what-if".to_owned(), "reboot".to_owned()], most)
}

/// Returns each wave in a line.
fn waves(answer: &FleetWhatIf) -> Vec<String> {
    answer.items.iter().map(|wave| format!("{}: {}", wave.step, wave.nodes.join(" "))).collect()
}

fn left_out(answer: &FleetWhatIf) -> Vec<String> {
    answer.left_out.iter().map(|it| format!("{}: {}", it.node, it.reason)).collect()
}

#[test]
fn nodes_that_lose_nothing_go_first_and_one_of_each_pool_before_the_others() {
    let quiet = |name: &str, pool: &str| node(name, pool, Vec::new());
    let nodes = [
        node("b2", "b", ending(&[("web", 2)])),
        node("b1", "b", ending(&[("web", 1)])),
        node("a4", "a", ending(&[("web", 1)])),
        quiet("a3", "a"),
        quiet("a2", "a"),
        quiet("c1", "c"),
        quiet("a1", "a"),
    ];
    let answer = judged(budgets(&[budget("web", 9, 2)]), &nodes, 2);
    let expected = [
        "canary: a1 c1",
        "loses nothing: a2 a3",
        "losing canary: b1",
        "loses pods: a4",
        "loses pods: b2",
    ];
    assert_eq!(waves(&answer), expected);
    assert_eq!(
        answer.items[4].budgets,
        [BudgetUse { budget: "shop/web".to_owned(), pods: 2, allowed: 2 }]
    );
    let mut backwards = nodes.clone();
    backwards.reverse();
    assert_eq!(judged(budgets(&[budget("web", 9, 2)]), &backwards, 2), answer);
}

#[test]
fn a_wave_takes_of_each_budget_what_it_permits() {
    let node = |name: &str, pods: &[(&str, usize)]| node(name, "", ending(pods));
    for (name, of, nodes, expected) in [
        (
            "one at a time",
            vec![budget("web", 3, 1)],
            vec![node("a", &[("web", 1)]), node("b", &[("web", 1)]), node("c", &[("web", 1)])],
            vec!["losing canary: a", "loses pods: b", "loses pods: c"],
        ),
        (
            "gaps of an earlier wave are filled",
            vec![budget("web", 9, 3), budget("db", 9, 1)],
            vec![
                node("a", &[]),
                node("b", &[("db", 1)]),
                node("c", &[("web", 2)]),
                node("d", &[("web", 1), ("db", 1)]),
                node("e", &[("web", 2), ("free", 1)]),
                node("f", &[("free", 4)]),
            ],
            vec!["canary: a", "loses pods: b c f", "loses pods: d e"],
        ),
        (
            "pods that two budgets select count for both",
            vec![
                budget("web", 9, 2),
                json!({
                    "kind": "PodDisruptionBudget", "metadata": {"namespace": "shop", "name": "all", "generation": 1},
                    "spec": {"selector": {}, "minAvailable": "50%"},
                    "status": {"observedGeneration": 1, "expectedPods": 3, "currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1},
                }),
            ],
            vec![node("a", &[("web", 1)]), node("b", &[("web", 1)]), node("c", &[("web", 2)])],
            vec!["losing canary: a", "loses pods: b"],
        ),
    ] {
        let answer = judged(budgets(&of), &nodes, 9);
        assert_eq!(waves(&answer), expected, "{name}");
        for it in answer.items.iter().flat_map(|wave| &wave.budgets) {
            assert!(it.pods <= it.allowed, "{name}: {it:?}");
        }
    }
}

#[test]
fn what_a_budget_counts_is_a_ready_pod_that_does_not_stay_up() {
    let with = |change: fn(&mut DisruptedPod)| {
        let mut pods = ending(&[("web", 2)]);
        change(&mut pods[0]);
        judged(budgets(&[budget("web", 3, 1)]), &[node("a", "", pods)], 9)
    };
    let twice = "a: 2 pods of PodDisruptionBudget shop/web at once, and 1 of 3 may be unavailable, never more than 1: \
                 shop/web-0, shop/web-1";
    for (name, answer, expected) in [
        ("both end", with(|_| {}), Some(twice)),
        ("one may end", with(|pod| pod.disruption = MayEnd), Some(twice)),
        ("one restarts", with(|pod| pod.disruption = Restarts), Some(twice)),
        ("one is not ready", with(|pod| pod.is_healthy = false), None),
        ("one is of another namespace", with(|pod| pod.namespace = "other".to_owned()), None),
        ("one has other labels", with(|pod| pod.labels = Some([].into())), None),
    ] {
        assert_eq!(left_out(&answer), Vec::from_iter(expected), "{name}");
        assert_eq!(waves(&answer).len(), usize::from(expected.is_none()), "{name}");
    }
    // What a budget permits once all its pods are ready is another question.
    let mut short = budget("web", 5, 2);
    (short["status"]["currentHealthy"], short["status"]["disruptionsAllowed"]) =
        (json!(4), json!(1));
    let answer = judged(budgets(&[short]), &[node("a", "", ending(&[("web", 2)]))], 9);
    let now = "a: 2 pods of PodDisruptionBudget shop/web at once, and 1 of 5 may be unavailable: shop/web-0, shop/web-1";
    assert_eq!(left_out(&answer), [now]);
}

#[test]
fn what_is_unknown_is_neither_nothing_nor_fine() {
    let unlabelled = || {
        let mut pods = ending(&[("web", 1)]);
        pods[0].labels = None;
        vec![node("a", "", pods)]
    };
    let stale = || {
        let mut stale = budget("web", 3, 1);
        stale["metadata"]["generation"] = json!(2);
        vec![stale]
    };
    let of = |start, pods| vec![answered("a", "", NodeDisruptions { start, pods })];
    let lost = || vec![node("a", "", ending(&[("web", 1)]))];
    let failed = Reply::Failed { exit_code: None, why: NoAnswer::TimedOut("1m0s".to_owned()) };
    let silent = NodeOutcome { reply: failed, ..node("a", "", Vec::new()) };
    for (nodes, of, expected) in [
        (
            unlabelled(),
            vec![budget("web", 3, 1)],
            "a: the labels of pod shop/web-0 are unknown, and so its PodDisruptionBudgets",
        ),
        (
            lost(),
            stale(),
            "a: what PodDisruptionBudget shop/web permits is unknown: its status is not of its present spec",
        ),
        (
            of(StartOutcome::Unknown, Some(Vec::new())),
            vec![],
            "a: whether the kubelet starts is unknown",
        ),
        (of(StartOutcome::Runs, None), vec![], "a: the outcome of its pods is unknown"),
        (
            of(StartOutcome::Fails { reason: "no swap".to_owned() }, Some(Vec::new())),
            vec![],
            "a: the kubelet does not start: no swap",
        ),
        (vec![silent], vec![], "a: no answer: no answer within 1m0s"),
    ] {
        let answer = judged(budgets(&of), &nodes, 9);
        assert_eq!(left_out(&answer), [expected]);
        assert!(answer.items.is_empty(), "{expected}");
    }
    let mixed = [
        of(StartOutcome::Unknown, None).remove(0),
        answered(
            "b",
            "",
            NodeDisruptions { start: StartOutcome::Fails { reason: "x".to_owned() }, pods: None },
        ),
    ];
    let mixed = left_out(&judged(None, &mixed, 9));
    assert_eq!(
        mixed,
        ["b: the kubelet does not start: x", "a: whether the kubelet starts is unknown"]
    );
    // A namespace without budgets needs no labels, and neither does a budget for all pods.
    assert_eq!(waves(&judged(budgets(&[]), &unlabelled(), 9)), ["losing canary: a"]);
    let mut all = budget("web", 3, 1);
    all["spec"]["selector"] = json!({});
    assert_eq!(waves(&judged(budgets(&[all]), &unlabelled(), 9)), ["losing canary: a"]);
    let answer = judged(None, &lost(), 9);
    assert_eq!((waves(&answer).len(), &answer.budgets), (1, &None));
    assert_eq!(
        answer.basis.missing.iter().map(|it| it.fact).collect::<Vec<_>>(),
        [MissingFact::DisruptionBudgets]
    );
    assert!(judged(None, &[node("a", "", Vec::new())], 9).basis.missing.is_empty());
}

#[test]
fn losses_are_counted_by_pool_and_workload() {
    let nodes = [
        node("a", "blue", vec![pod("web", "web-1", Ends), pod("web", "web-2", MayEnd)]),
        node("b", "blue", vec![pod("web", "web-3", Ends), pod("db", "db-1", Restarts)]),
        node("c", "green", vec![pod("web", "web-4", Ends)]),
    ];
    let answer = judged(budgets(&[budget("web", 9, 2)]), &nodes, 9);
    let shown: Vec<_> = answer
        .workloads
        .iter()
        .map(|it| {
            (
                it.pool.as_str(),
                it.name.as_str(),
                it.pods.ends,
                it.pods.may_end,
                it.pods.restarts,
                it.nodes,
            )
        })
        .collect();
    let expected =
        [("blue", "web", 2, 1, 0, 2), ("green", "web", 1, 0, 0, 1), ("blue", "db", 0, 0, 1, 1)];
    assert_eq!(shown, expected);
    let web = &answer.budgets.as_ref().expect("budgets")[0];
    assert_eq!((web.pods, web.nodes, web.most_on_a_node, web.most_in_a_wave), (4, 3, 2, 2));
    assert_eq!(
        (web.allowed, web.expected, web.desired, web.healthy),
        (Some(2), Some(9), Some(7), Some(9))
    );
}

#[test]
fn the_first_sentence_has_the_cost_and_the_order() {
    let quiet = || node("a", "", Vec::new());
    let lost = |name: &str| node(name, "", ending(&[("web", 2)]));
    let of = |all, nodes: &[NodeOutcome]| judged(all, nodes, 9).headline().text;
    let none = || budgets(&[]);
    for (text, expected) in [
        (of(none(), &[quiet()]), "1 node: no pod ends; the nodes change in 1 wave"),
        (of(None, &[quiet()]), "1 node: no pod ends; the nodes change in 1 wave"),
        (of(none(), &[quiet(), lost("b")]), "2 nodes: 2 pods end; the nodes change in 2 waves"),
        (
            of(None, &[quiet(), lost("b")]),
            "2 nodes: 2 pods end; the nodes change in 2 waves; PodDisruptionBudgets are not checked",
        ),
        (
            of(budgets(&[budget("web", 4, 1)]), &[quiet(), lost("b")]),
            "2 nodes: 2 pods end; 1 node changes in 1 wave; b is left out: 2 pods of PodDisruptionBudget shop/web at once, and \
             1 of 4 may be unavailable, never more than 1: shop/web-0, shop/web-1",
        ),
    ] {
        assert_eq!(text, expected);
    }
}

#[test]
fn waves_are_lines_that_other_commands_take() {
    let nodes = [
        node("b", "", Vec::new()),
        node("a", "", Vec::new()),
        node("c", "", ending(&[("web", 1)])),
    ];
    let lines = judged(budgets(&[]), &nodes, 1).lines();
    assert_eq!(
        lines,
        ["a # wave 1: canary", "b # wave 2: loses nothing", "c # wave 3: loses pods"]
    );
}

/// 1,000 nodes with 110 disrupted pods each, of 200 workloads with budgets that hardly permit anything.
#[test]
fn a_large_fleet_keeps_its_budgets() {
    let of: Vec<Value> = (0..200).map(|app| budget(&format!("app-{app}"), 550, 10 + app)).collect();
    let mut rollout = Rollout::new(budgets(&of));
    for at in 0..1_000 {
        let pods = (0..110).map(|pod| (at * 7 + pod * 3) % 200);
        let pods =
            pods.map(|app| pod(&format!("app-{app}"), &format!("app-{app}-{at}"), Ends)).collect();
        rollout.add(&node(&format!("node-{at:04}"), &format!("pool-{}", at % 5), pods));
    }
    let answer = rollout.finish(Vec::new(), 250);
    let placed: usize = answer.items.iter().map(|wave| wave.nodes.len()).sum();
    assert_eq!((placed, answer.left_out.len()), (1_000, 0));
    for it in answer.items.iter().flat_map(|wave| &wave.budgets) {
        assert!(it.pods <= it.allowed, "{it:?}");
    }
}
