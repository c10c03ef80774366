//! `kq fleet what-if`: a change of many snapshots, judged before it is made.

use super::{Ran, folder_with, kq, repository};
use serde_json::{Value, json as value};
use tempfile::TempDir;

/// The pods that a node with `maxPods: 2` keeps.
const KEPT: [&str; 2] = ["kube-proxy-x7k2p", "agent-9tq4d"];

/// The Deployment `checkout` and the StatefulSet `cart`.
const CHECKOUT: &str = "checkout-6d5f7";
const CART: &str = "cart-0";

/// Returns the node of the example with some of its pods, in a pool.
fn node(pool: &str, pods: &[&str]) -> String {
    let text = std::fs::read_to_string(repository().join("examples/night/worker-3.json"));
    let mut node: Value = serde_json::from_str(&text.expect("the example")).expect("JSON");
    node["node"]["found"]["value"]["metadata"]["labels"]["pool"] = value!(pool);
    let all = node["pods"]["found"]["value"]["pods"].as_array_mut().expect("its pods");
    all.retain(|it| {
        let name = it["pod"]["metadata"]["name"].as_str().expect("a name");
        KEPT.contains(&name) || pods.contains(&name)
    });
    let uids: Vec<Value> = all.iter().map(|it| it["pod"]["metadata"]["uid"].clone()).collect();
    for it in all.iter_mut() {
        let metadata = &mut it["pod"]["metadata"];
        let owner = match metadata["name"].as_str() {
            Some(CHECKOUT) => {
                metadata["labels"]["pod-template-hash"] = value!("6d5f7");
                value!({"kind": "ReplicaSet", "name": CHECKOUT, "controller": true})
            }
            Some(CART) => value!({"kind": "StatefulSet", "name": "cart", "controller": true}),
            _ => continue,
        };
        metadata["ownerReferences"] = value!([owner]);
    }
    let sandboxes = &mut node["runtime"]["found"]["value"]["sandboxes"]["found"]["value"];
    sandboxes.as_array_mut().expect("sandboxes").retain(|it| uids.contains(&it["uid"]));
    node.to_string()
}

fn fleet() -> TempDir {
    folder_with(&[
        ("blue-1.json", node("blue", &[])),
        ("blue-2.json", node("blue", &[])),
        ("blue-3.json", node("blue", &[CHECKOUT])),
        ("blue-4.json", node("blue", &[CHECKOUT])),
        ("green-1.json", node("green", &[CHECKOUT, CART])),
    ])
}

fn budget(app: &str, expected: u32, allowed: u32) -> Value {
    value!({
        "kind": "PodDisruptionBudget", "apiVersion": "policy/v1",
        "metadata": {"namespace": "shop", "name": app, "generation": 3},
        "spec": {"maxUnavailable": allowed, "selector": {"matchLabels": {"app": app}}},
        "status": {
            "observedGeneration": 3, "expectedPods": expected, "currentHealthy": expected,
            "desiredHealthy": expected - allowed, "disruptionsAllowed": allowed,
        },
    })
}

fn list(budgets: &[Value]) -> String {
    value!({"kind": "List", "apiVersion": "v1", "items": budgets}).to_string()
}

fn ask(fleet: &TempDir, flags: &str, budgets: &str) -> Ran {
    let line = format!("fleet what-if . {flags} -- set maxPods=2");
    kq(&line).within(fleet.path()).stdin(budgets).run()
}

#[test]
fn waves_keep_the_budgets() {
    let budgets = list(&[budget("checkout", 3, 1), budget("cart", 2, 1)]);
    let ran = ask(&fleet(), "--pdbs - --wave-size 2", &budgets);
    assert_eq!(
        ran.text(),
        "WAVE   STEP            NODES   END   MAY END   RESTART   NAMES\n\
         1      canary          1       0     0         0         blue-1\n\
         2      loses nothing   1       0     0         0         blue-2\n\
         3      losing canary   1       2     0         0         green-1\n\
         4      loses pods      1       1     0         0         blue-3\n\
         5      loses pods      1       1     0         0         blue-4\n\
         \n\
         POOL    NAMESPACE   WORKLOAD              END   MAY END   RESTART   NODES\n\
         blue    shop        Deployment checkout   2     0         0         2\n\
         green   shop        Deployment checkout   1     0         0         1\n\
         green   shop        StatefulSet cart      1     0         0         1\n\
         \n\
         BUDGET          ALLOWED   PODS   NODES   ON A NODE   IN A WAVE   READY\n\
         shop/cart       1         1      1       1           1           2 of 2, 1 must be\n\
         shop/checkout   1         3      3       1           1           3 of 3, 2 must be\n\
         The kubelet ends pods without asking their budgets: only evictions through the API server do.\n\
         --- stderr\n\
         assumed: before a wave begins, the pods of the waves before it are ready again, on their nodes or on others\n\
         --- exit 1\n"
    );
}

#[test]
fn a_node_that_breaks_a_budget_alone_is_left_out() {
    let budgets = list(&[budget("checkout", 3, 1), budget("cart", 1, 0)]);
    let ran = ask(&fleet(), "--pdbs - -o json", &budgets);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(ran.code, 1, "{}", ran.text());
    let reason = &answer["leftOut"][0]["reason"];
    assert_eq!(answer["leftOut"][0]["node"], "green-1");
    assert_eq!(reason["code"], "breaksBudget");
    assert_eq!((&reason["budget"], &reason["allowed"]), (&value!("shop/cart"), &value!(0)));
    assert_eq!(reason["pods"], value!(["shop/cart-0"]));
    assert_eq!(
        answer["headline"]["text"],
        "5 nodes: 4 pods end; 4 nodes change in 4 waves; green-1 is left out: 1 pod of PodDisruptionBudget shop/cart at once, \
         and 0 of 1 may be unavailable, never more than 0: shop/cart-0"
    );
}

#[test]
fn budgets_that_nothing_names_are_not_checked() {
    let ran = ask(&fleet(), "", "");
    assert_eq!(ran.code, 1, "{}", ran.text());
    let missing = "missing: the PodDisruptionBudgets: no wave takes account of them (--pdbs FILE, --context NAME)\n";
    assert!(ran.stderr.contains(missing), "{}", ran.text());
    assert!(!ran.stdout.contains("BUDGET"), "{}", ran.text());
    // Where no pod ends, no budget counts.
    let quiet = folder_with(&[("a.json", node("", &[])), ("b.json", node("", &[]))]);
    let ran = ask(&quiet, "", "");
    let waves = "WAVE   STEP            NODES   END   MAY END   RESTART   NAMES\n\
                 1      canary          1       0     0         0         a\n\
                 2      loses nothing   1       0     0         0         b\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, waves), "{}", ran.text());
    assert!(!ran.stderr.contains("missing"), "{}", ran.text());
}

#[test]
fn the_lines_of_waves_name_nodes_to_other_commands() {
    let fleet = fleet();
    let ran = ask(&fleet, "--pdbs - -o name", &list(&[budget("checkout", 3, 2)]));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let expected = [
        "blue-1 # wave 1: canary",
        "blue-2 # wave 2: loses nothing",
        "green-1 # wave 3: losing canary",
        "blue-3 blue-4 # wave 4: loses pods",
    ];
    assert_eq!(lines, expected, "{}", ran.text());
    let collect = kq("fleet collect --from-ssh --dir stored --nodes-from -");
    let script = collect.within(fleet.path()).stdin(lines[3]).run();
    assert_eq!(script.code, 0, "{}", script.text());
    let named = |node: &str| script.stdout.contains(node);
    assert!(
        named("blue-3") && named("blue-4") && !named("wave") && !named("blue-1"),
        "{}",
        script.text()
    );
}

#[test]
fn nodes_without_an_answer_are_left_out() {
    let mut silent: Value = serde_json::from_str(&node("blue", &[])).expect("JSON");
    silent["pods"] =
        value!({"found": null, "tried": [{"source": "the API server", "reason": "down"}]});
    let fleet = folder_with(&[
        ("broken.json", "{}".to_owned()),
        ("silent.json", silent.to_string()),
        ("well.json", node("blue", &[])),
    ]);
    let ran = ask(&fleet, "-o json", "");
    assert_eq!(ran.code, 3, "{}", ran.text());
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let left_out = answer["leftOut"].as_array().expect("a list");
    let left_out: Vec<_> = left_out.iter().map(|it| (&it["node"], &it["reason"]["code"])).collect();
    let expected =
        [(&value!("broken"), &value!("noAnswer")), (&value!("silent"), &value!("podsUnknown"))];
    assert_eq!(left_out, expected);
    assert_eq!(answer["items"][0]["nodes"], value!(["well"]));
    assert_eq!(answer["missing"][0]["fact"], "nodeAnswer");
}

#[test]
fn a_kubelet_that_does_not_start_is_no_rollout() {
    let ran = kq("fleet what-if . -o json -- set evictionHard.memory.available=lots")
        .within(fleet().path())
        .run();
    let answer: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.text()));
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert_eq!(answer["items"], value!([]));
    let left_out = answer["leftOut"].as_array().expect("a list");
    assert_eq!(left_out.len(), 5);
    assert!(left_out.iter().all(|it| it["reason"]["code"] == "doesNotStart"), "{answer:#}");
}

#[cfg(feature = "apiserver")]
#[test]
fn the_api_server_has_the_budgets() {
    use super::sources::kubeconfig_in;
    use crate::edges::http_server::pki::Authority;
    use crate::edges::http_server::{Server, Wire, failure, json};
    let page = |next: &str, budget: Value| value!({"kind": "PodDisruptionBudgetList", "apiVersion": "policy/v1", "metadata": {"continue": next}, "items": [budget]});
    let pages = [page("more", budget("checkout", 3, 1)), page("", budget("cart", 2, 1))]
        .map(|it| json(&it.to_string()));
    let authority = Authority::new();
    let wire = || Wire::Tls(authority.sign(&["127.0.0.1"]).server());
    let server = Server::start(wire(), move |number, _, to| to.write_all(pages[number].as_bytes()));
    let fleet = fleet();
    let authority_file = authority.file().display().to_string();
    let flags = kubeconfig_in(authority.folder(), &server.url("https"), &authority_file);
    let of_server = ask(&fleet, &flags, "");
    let of_file = ask(&fleet, "--pdbs -", &list(&[budget("checkout", 3, 1), budget("cart", 2, 1)]));
    assert_eq!(of_server.text(), of_file.text());
    let lines: Vec<String> = server.seen().into_iter().map(|seen| seen.line).collect();
    let path = "/apis/policy/v1/poddisruptionbudgets?limit=500";
    assert_eq!(
        lines,
        [format!("GET {path} HTTP/1.1"), format!("GET {path}&continue=more HTTP/1.1")]
    );
    let granted = super::fleet_api::granted("what-if");
    assert_eq!(granted, ["cluster list policy/poddisruptionbudgets".to_owned()].into());
    let refuses = Server::start(wire(), |_, _, to| {
        to.write_all(failure("403 Forbidden", &[], "Forbidden", "no").as_bytes())
    });
    let flags = kubeconfig_in(authority.folder(), &refuses.url("https"), &authority_file);
    let ran = ask(&fleet, &flags, "");
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.text());
    assert!(ran.stderr.contains("needs the verb list on poddisruptionbudgets"), "{}", ran.text());
}

#[test]
fn mistakes_are_named() {
    let fleet = fleet();
    for (line, stdin, expected) in [
        (". -- frob", "", "frob"),
        (". -- set maxPods=2 --snapshot x", "", "--snapshot"),
        (". -l pool=none -- set maxPods=2", "", "no node has the labels"),
        (". --pdbs - -- set maxPods=2", "", "standard input: it is empty"),
        (
            ". --pdbs - -- set maxPods=2",
            r#"{"kind":"Pod"}"#,
            "kind \"Pod\", expected PodDisruptionBudget",
        ),
        (". --pdbs - --context x -- set maxPods=2", "", "--pdbs and --context both name"),
        (". --wave-size 0 -- set maxPods=2", "", "expected a number of nodes"),
        (".", "", "required arguments"),
    ] {
        let ran = kq(&format!("fleet what-if {line}")).within(fleet.path()).stdin(stdin).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
    }
}
