//! `kq why`: what happened to a pod, over all domains.

use super::agreement::changed;
use super::{folder_with, kq};
use serde_json::{Value, json};

#[test]
fn the_first_line_has_the_numbers_of_the_status() {
    let refused = |reason: &str, message: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "train-0", "namespace": "ml", "uid": "aaaaaaaa-0000-4000-8000-000000000001"},
            "spec": {"nodeName": "worker-3", "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Failed", "reason": reason, "message": message},
        })
        .to_string()
    };
    let cpu = "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 1800, capacity: 1930";
    let first = "ml/train-0: refused by the kubelet (certain)";
    for (reason, message, expected) in [
        (
            "OutOfcpu",
            cpu,
            ". The pod asks for 500 milliCPU of cpu; the pods here have requested 1800 of 1930 \
             allocatable, so that 370 milliCPU are missing",
        ),
        ("OutOfcpu", "words that no kubelet has", ""),
        ("OutOfcpu", "", ""),
    ] {
        let folder = folder_with(&[("pods.json", refused(reason, message))]);
        let run = |more: &str| {
            kq(&format!("why ml/train-0 --pods pods.json{more}")).within(folder.path()).run()
        };
        let table = run("");
        let line = table.stdout.lines().next().unwrap_or_default();
        assert_eq!(line, format!("{first}{expected}"), "{}", table.text());
        let answer: Value = serde_json::from_str(&run(" -o json").stdout).expect("JSON");
        assert_eq!(answer["said"].is_null(), expected.is_empty(), "{answer}");
        if !expected.is_empty() {
            assert_eq!(answer["said"]["message"], message);
            assert!(table.stdout.contains("\ndo: Look for two schedulers"), "{}", table.text());
        }
    }
}

#[test]
fn the_trouble_of_the_pod_comes_before_that_of_its_node() {
    let folder = changed(|node| {
        let none = json!([{"source": "/proc", "reason": "no kubelet runs on this node"}]);
        node["kubelet"] = json!({"found": null, "tried": none});
        let pods = node["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        let cart = pods.iter_mut().find(|it| it["pod"]["metadata"]["name"] == "cart-0");
        let status = &mut cart.expect("the pod")["pod"]["status"];
        status["phase"] = json!("Pending");
        status["containerStatuses"][0]["state"] =
            json!({"waiting": {"reason": "ErrImagePull", "message": "m"}});
    });
    for line in ["why", "doctor"] {
        let line = format!("{line} shop/cart-0 --snapshot s.json -o json");
        let answer: Value = kq(&line).within(folder.path()).run().answer();
        let findings = answer["findings"].as_array().expect("findings");
        let errors = findings.iter().filter(|it| it["severity"] == "ERROR");
        let of: Vec<bool> = errors.map(|it| it["subject"]["kind"] == "node").collect();
        assert!(of.is_sorted() && of.contains(&false) && of.contains(&true), "{line}: {answer}");
    }
}
