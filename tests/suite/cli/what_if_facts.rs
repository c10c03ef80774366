//! What a what-if rests on: a fact that was not read is missing, a pod of another node does not count, and what the API server
//! or the kubelet does whatever changes is no effect of the change.

use super::next_start::{AT_A_START, ask, ask_at_night};
use super::{Ran, folder_with, kq};
use serde_json::{Value, json};

/// A fact for which its source failed.
fn failed() -> Value {
    json!({"found": null, "tried": [{"source": "its source", "reason": "connection refused"}]})
}

fn missing(ran: &Ran) -> Vec<String> {
    let answer: Value = ran.answer();
    let missing = answer["missing"].as_array().cloned().unwrap_or_default();
    missing.iter().map(|it| it["fact"].as_str().unwrap_or_default().to_owned()).collect()
}

fn found(answer: &Value, id: &str) -> Vec<String> {
    let items = answer["items"].as_array().cloned().unwrap_or_default();
    let own = items.into_iter().filter(|it| it["id"] == id);
    own.map(|it| it["found"].as_str().unwrap_or_default().to_owned()).collect()
}

fn outcome(answer: &Value, pod: &str) -> String {
    let pods = answer["pods"].as_array().cloned().unwrap_or_default();
    let own = pods.into_iter().find(|it| it["pod"] == pod).unwrap_or_default();
    own["result"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn pressure_is_unknown_without_thresholds_or_measurements() {
    let ran = ask_at_night("what-if memory-available 50Mi -o json", |facts| {
        facts["kubeletConfig"] = failed();
    });
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(missing(&ran).iter().any(|it| it == "pressure"), "{}", ran.text());
    let raise = "what-if set evictionHard.memory.available=6Gi -o json";
    let ran = ask_at_night(raise, |facts| {
        facts["statsSummary"] = failed();
        facts["cgroups"] = failed();
    });
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(missing(&ran).iter().any(|it| it == "pressure"), "{}", ran.text());
}

#[test]
fn a_state_file_that_could_not_be_read_leaves_the_start_open() {
    for line in ["what-if kubelet-restart", "admit explain --kubelet-restart", "doctor"] {
        let ran = ask_at_night(line, |facts| {
            facts["stateFiles"]["files"]["memory_manager_state"] =
                json!({"unreadable": "input/output error"});
        });
        assert!(ran.text().contains("memory_manager_state could not be read"), "{}", ran.text());
        assert_ne!(ran.code, 0, "{line}: {}", ran.text());
    }
}

#[test]
fn pods_of_other_nodes_do_not_count() {
    let two = |line: &str| {
        let pod = |name: &str, node: &str| {
            json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "shop", "uid": format!("{name}-0")},
                "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i",
                    "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]},
                "status": {"phase": "Running"}})
        };
        let amounts = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
            "status": {"capacity": amounts, "allocatable": amounts,
                "nodeInfo": {"kubeletVersion": "v1.36.2", "containerRuntimeVersion": "containerd://2.1.0"}}});
        let pods = json!({"apiVersion": "v1", "kind": "List",
            "items": [pod("here", "n1"), pod("there", "n2")]});
        let folder =
            folder_with(&[("pods.json", pods.to_string()), ("node.json", node.to_string())]);
        kq(&format!("{line} --node-file node.json --pods pods.json --cgroup-version 2 -o json"))
            .within(folder.path())
            .run()
    };
    let answer: Value = two("what-if taint a=b:NoExecute").answer();
    assert_eq!(outcome(&answer, "shop/there"), "none", "{answer}");
    assert_eq!(outcome(&answer, "shop/here"), "deleted", "{answer}");
    let said = answer["assumptions"].to_string();
    assert!(said.contains("1 pod of other nodes: not counted"), "{said}");
    let ran = two("what-if remove shop/there");
    assert_eq!(ran.code, 2, "{}", ran.text());
}

#[test]
fn a_pod_that_the_api_server_would_not_bind_here_is_not_added() {
    let same = "what-if add dup.yaml";
    let dup = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\n\
               spec: {containers: [{name: c, image: i}]}\n";
    let ran = ask(same, "v1.36.2", "containerd://2.1.0", &[("dup.yaml", dup)]);
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("shop/web is on the node already"), "{}", ran.stderr);
    let again = "what-if remove shop/web add dup.yaml";
    let ran = ask(again, "v1.36.2", "containerd://2.1.0", &[("dup.yaml", dup)]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let other = dup.replace("spec: {", "spec: {nodeName: n2, ").replace("web", "new");
    let ran = ask("what-if add o.yaml", "v1.36.2", "containerd://2.1.0", &[("o.yaml", &other)]);
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("is bound to n2"), "{}", ran.stderr);
}

#[test]
fn a_static_pod_does_not_end_with_its_mirror_pod() {
    let ran = ask("what-if remove shop/etcd", "v1.36.2", "containerd://2.1.0", &[]);
    assert!(ran.text().contains("it ends when its manifest is removed"), "{}", ran.text());
}

#[test]
fn a_deleted_pod_ends_whatever_changes() {
    let deleted = |facts: &mut Value| {
        let pods = facts["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        let pod = pods.iter_mut().find(|it| it["pod"]["metadata"]["name"] == "cart-0");
        let metadata = &mut pod.expect("cart-0")["pod"]["metadata"];
        metadata["deletionTimestamp"] = json!("2026-11-22T01:00:00Z");
        metadata["deletionGracePeriodSeconds"] = json!(30);
    };
    let answer: Value = ask_at_night("what-if kubelet-restart -o json", deleted).answer();
    assert_eq!(outcome(&answer, "shop/cart-0"), "ends", "{answer}");
    let own = found(&answer, "pod");
    assert!(own.iter().any(|it| it.starts_with("it is deleted")), "{own:?}");
    // No container of it is left after a boot.
    let answer: Value = ask_at_night("what-if reboot -o json", deleted).answer();
    assert_eq!(outcome(&answer, "shop/cart-0"), "none", "{answer}");
    let ran = ask_at_night("admit explain --kubelet-restart", deleted);
    assert!(ran.stdout.contains("it is deleted"), "{}", ran.text());
}

#[test]
fn a_kubelet_without_a_client_cannot_ask_the_api_server() {
    let ran = ask_at_night("what-if flags --kubeconfig=", |_| {});
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("no client provided"), "{}", ran.text());
}

#[test]
fn a_configuration_file_that_was_not_read_is_missing() {
    for flag in ["--config=/nope", "--config=", "--config-dir=/nope"] {
        let ran = ask_at_night(&format!("what-if flags {flag} -o json"), |_| {});
        assert_eq!(ran.code, 3, "{flag}: {}", ran.text());
        assert!(missing(&ran).iter().any(|it| it == "kubeletConfig"), "{flag}: {}", ran.text());
        assert_eq!(ran.answer::<Value>()["kubeletStarts"], Value::Null, "{flag}");
    }
    let ran = ask_at_night("what-if flags --root-dir=/nope", |_| {});
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("could not be read (kq does not read /nope)"), "{}", ran.text());
}

#[test]
fn a_certificate_that_is_not_valid_yet_is_as_bad_as_one_that_was() {
    let ran = ask_at_night("what-if kubelet-restart", |facts| {
        let all = facts["certificates"]["found"]["value"].as_array_mut().expect("certificates");
        for it in all.iter_mut().filter(|it| it["usage"] == "client") {
            it["notBefore"] = json!("2027-01-01T00:00:00Z");
            it["notAfter"] = json!("2028-01-01T00:00:00Z");
        }
    });
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("is valid from 2027-01-01T00:00:00Z on"), "{}", ran.text());
}

#[test]
fn pods_that_run_and_are_in_no_list_are_missing_for_each_change() {
    for line in ["what-if reboot -o json", "what-if runtime-restart -o json"] {
        let ran = ask_at_night(line, |facts| facts["pods"]["found"]["value"]["pods"] = json!([]));
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        assert!(missing(&ran).iter().any(|it| it == "pods"), "{line}: {}", ran.text());
    }
}

#[test]
fn each_command_judges_a_start_alike() {
    let set = |field: &'static str, value: Value| {
        move |facts: &mut Value| {
            facts["kubeletConfig"]["found"]["value"]["value"][field] = value.clone()
        }
    };
    // The kubelet may panic on the NUMA nodes of a device; it likely refuses the reservation.
    let open = set("topologyManagerPolicy", json!("single-numa-node"));
    let likely = set("systemReserved", json!({"cpu": "8", "memory": "80Gi"}));
    for line in AT_A_START {
        let ran = ask_at_night(line, open.clone());
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        let ran = ask_at_night(line, likely.clone());
        assert_eq!(ran.code, 1, "{line}: {}", ran.text());
        assert!(ran.text().contains("Expected capacity >= reservation"), "{line}: {}", ran.text());
    }
}
