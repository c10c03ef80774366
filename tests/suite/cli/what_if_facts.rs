//! What a what-if rests on: a fact that was not read is missing, a pod of another node does not count, and what the API server
//! or the kubelet does whatever changes is no effect of the change.

use super::next_start::{AT_A_START, ask, ask_at_night};
use super::{Ran, folder_with, kq, repository};
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

#[test]
fn pods_that_cannot_be_ranked_may_each_be_evicted() {
    let ran = ask_at_night("what-if disk 97 -o json", |facts| facts["statsSummary"] = failed());
    let answer: Value = ran.answer();
    // A critical pod is never evicted.
    let text = answer["headline"]["text"].to_string();
    assert!(text.contains("1 of 8 pods stays, 7 pods may end"), "{answer}");
}

#[test]
fn one_pod_is_evicted_before_the_disk_is_measured_again() {
    let answer: Value = ask_at_night("what-if disk 97 -o json", |_| {}).answer();
    assert_eq!(outcome(&answer, "batch/report-day"), "evicted", "{answer}");
    // What the first pod frees is enough for both file systems.
    assert_eq!(outcome(&answer, "batch/scratch"), "kept", "{answer}");
}

#[test]
fn which_of_equal_pods_is_evicted_is_open() {
    let ran = ask_at_night("what-if disk 97 -o json", |facts| {
        let other = "99999999-0000-4000-8000-000000000009";
        let pods = facts["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        let first = pods.iter().find(|it| it["pod"]["metadata"]["name"] == "report-day");
        let mut equal = first.expect("the pod").clone();
        let uid = equal["pod"]["metadata"]["uid"].as_str().expect("a UID").to_owned();
        equal["pod"]["metadata"]["uid"] = json!(other);
        equal["pod"]["metadata"]["name"] = json!("report-hour");
        pods.push(equal);
        let used = &mut facts["statsSummary"]["found"]["value"]["pods"];
        let used = used.as_array_mut().expect("stats of pods");
        let mut equal =
            used.iter().find(|it| it["podRef"]["uid"] == *uid).expect("its stats").clone();
        equal["podRef"]["uid"] = json!(other);
        equal["podRef"]["name"] = json!("report-hour");
        used.push(equal);
    });
    let answer: Value = ran.answer();
    let pods = answer["pods"].as_array().expect("pods").iter();
    let equal =
        pods.filter(|it| it["pod"] == "batch/report-day" || it["pod"] == "batch/report-hour");
    let ends: Vec<&Value> = equal.map(|it| &it["orElse"]).collect();
    assert_eq!(ends.len(), 2, "{answer}");
    assert!(ends.iter().all(|it| it.as_array().is_some_and(|it| it.len() == 1)), "{answer}");
}

/// Asks about a node of which the Node object alone knows the container runtime.
fn ask_of_runtime(line: &str, reported: &str) -> Ran {
    ask_at_night(line, |facts| {
        facts["runtime"] = failed();
        let info = &mut facts["node"]["found"]["value"]["status"]["nodeInfo"];
        info["containerRuntimeVersion"] = json!(reported);
        info["kubeletVersion"] = json!("v1.35.1");
        facts["kubeletVersion"] =
            json!({"found": {"source": "a program", "value": "1.35.1"}, "tried": []});
    })
}

#[test]
fn a_changed_runtime_counts_where_the_node_object_alone_has_it() {
    let ends = "the support of containerd 1.x ends";
    for (change, reported, warns) in [
        ("", "containerd://1.7.20", true),
        (" runtime containerd=2.1.4", "containerd://1.7.20", false),
        ("", "containerd://2.1.4", false),
        (" runtime containerd=1.7.20", "containerd://2.1.4", true),
    ] {
        let ran = ask_of_runtime(&format!("what-if kubelet-version 1.36{change}"), reported);
        assert_eq!(ran.stdout.contains(ends), warns, "{change} {reported}: {}", ran.text());
    }
    let ran = ask_of_runtime("what-if runtime containerd=2.1.4", "cri-o://1.35.0");
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("the container runtime of the node is cri-o"), "{}", ran.text());
}

#[test]
fn a_set_of_cpus_is_all_that_is_reserved() {
    let ran = ask_at_night("what-if set reservedSystemCPUs=0-1", |facts| {
        let allocatable = &mut facts["node"]["found"]["value"]["status"]["allocatable"];
        allocatable["cpu"] = json!("3700m");
    });
    assert!(ran.stdout.contains("allocatable cpu: 3700m becomes 2\n"), "{}", ran.text());
}

#[test]
fn values_that_the_kubelet_compares_are_refused_together() {
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
                  imageGCHighThresholdPercent: 80\nimageGCLowThresholdPercent: 90\n\
                  systemReserved: {cpu: 200m}\n";
    let ran = ask_of_files("allocatable -o json", config);
    assert_eq!(ran.code, 3, "{}", ran.text());
    let text = "kq uses the default of imageGCHighThresholdPercent, imageGCLowThresholdPercent";
    assert!(ran.text().contains(text), "{}", ran.text());
    assert!(ran.text().contains("200m"), "{}", ran.text());
}

#[test]
fn a_running_kubelet_of_unknown_version_may_refuse_its_configuration() {
    for line in AT_A_START {
        let ran = ask_at_night(line, |facts| {
            facts["kubeletVersion"] = failed();
            facts["node"]["found"]["value"]["status"]["nodeInfo"]["kubeletVersion"] = json!("");
        });
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        assert!(ran.text().contains("its version is unknown"), "{line}: {}", ran.text());
    }
}

#[test]
fn pressure_that_the_node_object_does_not_know_is_unknown() {
    for line in ["admit explain shop/cart-0", "what-if kubelet-restart"] {
        let silent = |facts: &mut Value| {
            let conditions = &mut facts["node"]["found"]["value"]["status"]["conditions"];
            *conditions = json!([{"type": "MemoryPressure", "status": "Unknown"},
                {"type": "DiskPressure", "status": "Unknown"}, {"type": "PIDPressure", "status": "Unknown"}]);
        };
        let ran = ask_at_night(line, |facts| {
            silent(facts);
            facts["statsSummary"] = failed();
        });
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        let text = "whether the node is under pressure: MemoryPressure";
        assert!(ran.text().contains(text), "{line}: {}", ran.text());
        // What was measured is known.
        assert_eq!(ask_at_night(line, silent).code, 0, "{line}");
    }
}

#[test]
fn an_unknown_configuration_may_allow_a_sysctl() {
    for line in
        ["admit explain shop/cart-0", "admit explain --kubelet-restart", "what-if kubelet-restart"]
    {
        let ran = ask_at_night(&format!("{line} -o json"), |facts| {
            facts["kubeletConfig"] = failed();
            let pods = facts["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
            for pod in pods {
                pod["pod"]["spec"]["securityContext"] =
                    json!({"sysctls": [{"name": "net.core.somaxconn", "value": "1024"}]});
            }
        });
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        let text = "whether allowedUnsafeSysctls allows net.core.somaxconn";
        assert!(ran.text().contains(text), "{line}: {}", ran.text());
        assert!(!ran.text().contains("SysctlForbidden"), "{line}: {}", ran.text());
    }
}

/// Asks about a node whose machine and state files are not known.
fn ask_of_files(line: &str, config: &str) -> Ran {
    let case = repository().join("tests/cases/admit-cpu-manager");
    let file = |name: &str| std::fs::read_to_string(case.join(name)).expect("a file of the case");
    let files = ["odd.yaml", "node.json", "pods.json"].map(|name| (name, file(name)));
    let folder = folder_with(&files);
    std::fs::write(folder.path().join("config.yaml"), config).expect("a file");
    let node = "--node-file node.json --pods pods.json --kubelet-config config.yaml";
    kq(&format!("{line} {node}")).within(folder.path()).run()
}

const STATIC_CPU: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
                          cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n";

#[test]
fn a_pod_is_not_admitted_to_cpus_that_are_not_known() {
    let ran = ask_of_files("admit explain odd.yaml", STATIC_CPU);
    assert_eq!(ran.code, 3, "{}", ran.text());
    let line = ran.stdout.lines().next().unwrap_or_default();
    assert!(line.contains("not known whether"), "{}", ran.text());
    let placement = ran.stdout.lines().find(|line| line.starts_with("placement"));
    assert!(placement.is_some_and(|line| line.contains(" unknown ")), "{}", ran.text());
    let ran = ask_of_files("what-if add odd.yaml", STATIC_CPU);
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("starts or refused"), "{}", ran.text());
}

#[test]
fn state_files_that_are_not_known_may_have_other_reservations() {
    let same = ask_of_files("what-if set maxPods=60", STATIC_CPU);
    assert_eq!(same.code, 0, "{}", same.text());
    for field in ["cpuManagerPolicyOptions.strict-cpu-reservation=true", "reservedSystemCPUs=0-1"] {
        let ran = ask_of_files(&format!("what-if set {field}"), STATIC_CPU);
        assert_eq!(ran.code, 3, "{field}: {}", ran.text());
        assert!(ran.text().contains("cpu_manager_state is not known"), "{field}: {}", ran.text());
    }
}

#[test]
fn a_resize_below_the_request_names_the_request() {
    let ran = ask_at_night("what-if resize shop/cart-0 memory-limit=1Mi", |_| {});
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("set the request too: memory=1Mi"), "{}", ran.text());
}
