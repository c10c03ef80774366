//! The next start of a kubelet: what a changed configuration does to its pods, in every command that is asked about one.

use super::agreement::changed;
use super::{Ran, folder_with, kq};
use serde_json::{Value, json};

const CONFIG: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
                      cgroupDriver: systemd\nstaticPodPath: /etc/kubernetes/manifests\n";

/// Asks about a node of files: one static pod, and one of the API server.
pub fn ask(line: &str, version: &str, runtime: &str, more: &[(&str, &str)]) -> Ran {
    let pod = |name: &str, annotations: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": format!("{name}-0"), "annotations": annotations},
            "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i", "resources": {
                "requests": {"cpu": "100m", "memory": "64Mi"}}}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c", "ready": true,
                "restartCount": 0, "image": "i", "imageID": "i", "state": {"running": {}}}]},
        })
    };
    let static_pod = json!({"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "abc",
        "kubernetes.io/config.mirror": "abc"});
    let pods = json!({"apiVersion": "v1", "kind": "List", "items": [
        pod("etcd", static_pod), pod("web", json!({"kubernetes.io/config.source": "api"}))]});
    let amounts = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
        "status": {"capacity": amounts, "allocatable": amounts, "nodeInfo": {
            "kubeletVersion": version, "containerRuntimeVersion": runtime}},
    });
    let (pods, node) = (pods.to_string(), node.to_string());
    let files = [("pods.json", &*pods), ("node.json", &*node), ("config.yaml", CONFIG)];
    let files: Vec<_> =
        files.iter().chain(more).map(|(name, text)| (*name, (*text).to_owned())).collect();
    let folder = folder_with(&files);
    kq(&format!(
        "{line} --kubelet-config config.yaml --node-file node.json --pods pods.json --cgroup-version 2"
    ))
    .within(folder.path())
    .run()
}

const NEW: &str = "v1.36.2";
const OLD_CONTAINERD: &str = "containerd://1.7.28";

#[test]
fn static_pods_end_with_their_folder() {
    for change in ["set staticPodPath=/other", "set staticPodPath=", "flags --pod-manifest-path=/o"]
    {
        let ran = ask(&format!("what-if {change} -o json"), NEW, OLD_CONTAINERD, &[]);
        assert_eq!(ran.code, 1, "{change}: {}", ran.text());
        let answer: Value = ran.answer();
        let ended: Vec<&Value> = answer["pods"]
            .as_array()
            .expect("pods")
            .iter()
            .filter(|it| it["result"] == "ends")
            .map(|it| &it["pod"])
            .collect();
        assert_eq!(ended, ["shop/etcd"], "{change}: {answer}");
    }
    // The same folder, written otherwise.
    let same = "what-if set staticPodPath=/etc/kubernetes/manifests/";
    let ran = ask(same, NEW, OLD_CONTAINERD, &[]);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn one_file_of_the_serving_pair_ends_older_kubelets() {
    for (version, field, code) in [
        ("v1.32.4", "tlsCertFile", 1),
        ("v1.35.1", "tlsPrivateKeyFile", 1),
        ("v1.36.2", "tlsCertFile", 0),
    ] {
        let ran = ask(&format!("what-if set {field}=/x"), version, OLD_CONTAINERD, &[]);
        assert_eq!(ran.code, code, "{version} {field}: {}", ran.text());
        let error = "Failed to listen and serve: open : no such file or directory";
        assert_eq!(ran.stdout.contains(error), code == 1, "{version} {field}: {}", ran.text());
    }
}

#[test]
fn a_runtime_that_tells_its_driver_decides() {
    for (runtime, code) in [
        ("containerd://1.7.28", 1),
        ("containerd://2.0.5", 0),
        ("cri-o://1.33.1", 0),
        ("cri-o://1.27.0", 1),
        ("docker://28.1.0", 1),
    ] {
        let ran = ask("what-if set cgroupDriver=cgroupfs", NEW, runtime, &[]);
        assert_eq!(ran.code, code, "{runtime}: {}", ran.text());
        let assumed = ran.stderr.contains("the driver of the runtime counts");
        assert_eq!(assumed, code == 0, "{runtime}: {}", ran.text());
    }
    // Without the gate the kubelet does not ask.
    let line =
        "what-if set cgroupDriver=cgroupfs set featureGates.KubeletCgroupDriverFromCRI=false";
    let ran = ask(line, "v1.33.4", "containerd://2.0.5", &[]);
    assert_eq!(ran.code, 1, "{}", ran.text());
}

#[test]
fn fields_of_a_platform_go_over_the_configuration() {
    let openshift = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n\
                     metadata: {name: a}\nspec: {kubeletConfig: {imageGCHighThresholdPercent: 70, \
                     imageGCLowThresholdPercent: 60}}\n";
    let eks = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: \
               {imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 60}}}\n";
    for text in [openshift, eks] {
        let ran = ask("what-if config new.yaml", NEW, OLD_CONTAINERD, &[("new.yaml", text)]);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(ran.stderr.contains("go over the configuration of the node"), "{}", ran.text());
    }
    let whole = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {kubelet: 'apiVersion: \
                 kubelet.config.k8s.io/v1beta1\n\n  kind: KubeletConfiguration\n\n  maxPods: 60'}\n";
    let ran = ask("what-if config new.yaml", NEW, OLD_CONTAINERD, &[("new.yaml", whole)]);
    // What it does not set has its default: another driver, and no folder of manifests.
    assert_eq!(ran.code, 1, "{}", ran.text());
}

#[test]
fn another_runtime_has_unknown_pods() {
    let line = "what-if set containerRuntimeEndpoint=unix:///run/crio/crio.sock";
    let ran = ask(line, NEW, OLD_CONTAINERD, &[]);
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("which pods run in the runtime at /run/crio/crio.sock"));
    let same = "what-if set containerRuntimeEndpoint=unix:///var/run/containerd/containerd.sock";
    assert_eq!(ask(same, NEW, OLD_CONTAINERD, &[]).code, 0);
}

#[test]
fn a_change_that_adds_a_check_of_an_unknown_fact_leaves_the_start_open() {
    let says = "not checked, and new with the change: ";
    for (line, code) in [
        ("what-if set cgroupRoot=/nope", 1),
        ("what-if set protectKernelDefaults=true", 3),
        ("what-if set authentication.x509.clientCAFile=/nope", 3),
        ("what-if set failSwapOn=false set protectKernelDefaults=true", 3),
    ] {
        let ran = ask(line, NEW, OLD_CONTAINERD, &[]);
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stdout.contains(says), "{line}: {}", ran.text());
    }
    // What the kubelet was started with before is no news.
    for line in
        ["what-if set maxPods=100", "what-if set failSwapOn=false", "what-if kubelet-restart"]
    {
        let ran = ask(line, NEW, OLD_CONTAINERD, &[]);
        assert!(!ran.stdout.contains(says), "{line}: {}", ran.text());
    }
}

#[test]
fn the_given_capacity_is_that_of_the_machine() {
    let reserve = "what-if set kubeReserved.memory=20Gi";
    for (line, code, ends) in [
        (reserve.to_owned(), 1, true),
        (format!("{reserve} --capacity cpu=4,memory=64Gi"), 0, false),
        ("what-if kubelet-restart --capacity cpu=4,memory=120Mi".to_owned(), 1, false),
        ("doctor --set kubeReserved.memory=20Gi --capacity cpu=4,memory=16Gi".to_owned(), 1, true),
    ] {
        let ran = ask(&line, NEW, OLD_CONTAINERD, &[]);
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        let says = ran.stdout.contains("invalid Node Allocatable configuration");
        assert_eq!(says, ends, "{line}: {}", ran.text());
    }
}

#[test]
fn the_driver_of_a_runtime_of_unknown_version_is_not_known() {
    let ran = ask("what-if set cgroupDriver=cgroupfs", NEW, "", &[]);
    let says = "whether cgroupDriver counts: the driver that the container runtime reports goes before it, and its version is not known";
    assert!(ran.stderr.contains(says), "{}", ran.text());
}

#[test]
fn a_custom_resource_may_have_the_name_of_a_kind() {
    let web = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n";
    for (custom, told) in [
        ("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n", "Job (batch.volcano.sh)"),
        ("apiVersion: apps.kruise.io/v1beta1\nkind: StatefulSet\n", "StatefulSet (apps.kruise.io)"),
        ("apiVersion: serving.knative.dev/v1\nkind: Service\n", "Service (serving.knative.dev)"),
        ("apiVersion: cert-manager.io/v1\nkind: Certificate\n", "over: Certificate"),
    ] {
        let text = format!("{web}---\n{custom}metadata: {{name: x}}\nspec: {{template: {{}}}}\n");
        let folder = folder_with(&[("f.yaml", text)]);
        let ran = kq("cgroup plan f.yaml --capacity cpu=4,memory=8Gi,pid=1000")
            .within(folder.path())
            .run();
        assert!(ran.stdout.contains("default/web"), "{custom}: {}", ran.text());
        assert!(ran.stderr.contains("1 custom resource is passed over: "), "{}", ran.text());
        assert!(ran.stderr.contains(told), "{custom}: {}", ran.text());
    }
    let built_in = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: x}\n";
    let folder = folder_with(&[("f.yaml", format!("{web}---\n{built_in}"))]);
    let ran =
        kq("cgroup plan f.yaml --capacity cpu=4,memory=8Gi,pid=1000").within(folder.path()).run();
    assert!(ran.stderr.contains("Ingress x carries no pods"), "{}", ran.text());
}

#[test]
fn devices_are_planned_for_a_kubelet_that_starts_and_admits() {
    for (change, code, told) in [
        (json!({"maxPods": 3}), 1, "a kubelet that starts ends ml/train-0: OutOfpods"),
        (json!({"featureGates": {"Foo": true}}), 1, "unrecognized feature gate: Foo"),
    ] {
        let folder = changed(|it| {
            let fields = change.as_object().expect("fields");
            let config = it["kubeletConfig"]["found"]["value"]["value"].as_object_mut();
            config.expect("fields").extend(fields.clone());
            if let Some(most) = change.get("maxPods") {
                it["node"]["found"]["value"]["status"]["allocatable"]["pods"] =
                    json!(most.to_string());
            }
        });
        let ran =
            kq("devices plan --kubelet-restart --snapshot s.json").within(folder.path()).run();
        assert_eq!(ran.code, code, "{change}: {}", ran.text());
        assert!(ran.stdout.contains(told), "{change}: {}", ran.text());
        assert!(!ran.stdout.contains("survives"), "{change}: {}", ran.text());
    }
}

/// The example node with a changed configuration on its disk, and with files that its unit removes.
fn with_config_on_disk(removes: &[&str], change: fn(&mut Value)) -> tempfile::TempDir {
    changed(|it| {
        let mut on_disk = it["kubeletConfig"]["found"]["value"]["value"].clone();
        change(&mut on_disk);
        on_disk["apiVersion"] = json!("kubelet.config.k8s.io/v1beta1");
        on_disk["kind"] = json!("KubeletConfiguration");
        it["kubeletConfigOnDisk"] = json!({"found": {"source": "disk", "value": {
            "process": it["kubelet"]["found"]["value"], "dropIns": [], "removes": removes,
            "file": {"path": "/var/lib/kubelet/config.yaml",
                "content": {"document": {"value": on_disk}}}}}, "tried": []});
    })
}

fn static_policy(config: &mut Value) {
    config["cpuManagerPolicy"] = json!("static");
    config["reservedSystemCPUs"] = json!("0");
}

const FILES_LINES: [&str; 3] = ["devices verify", "what-if kubelet-restart", "doctor"];

#[test]
fn state_files_are_judged_by_the_configuration_on_the_disk() {
    // The unit removes another kubelet's file.
    for removes in [&[][..], &["/other/cpu_manager_state"]] {
        let folder = with_config_on_disk(removes, static_policy);
        for command in FILES_LINES {
            let ran = kq(&format!("{command} --snapshot s.json")).within(folder.path()).run();
            assert_eq!(ran.code, 1, "{command}: {}", ran.text());
            let error =
                "configured policy \"static\" differs from state checkpoint policy \"none\"";
            assert!(ran.stdout.contains(error), "{command}: {}", ran.text());
        }
    }
}

#[test]
fn a_state_file_that_the_unit_removes_stops_no_start() {
    let folder = with_config_on_disk(&["/var/lib/kubelet/cpu_manager_state"], static_policy);
    for command in FILES_LINES {
        let ran = kq(&format!("{command} --snapshot s.json")).within(folder.path()).run();
        assert!(!ran.stdout.contains("differs from state checkpoint"), "{command}: {}", ran.text());
    }
    let ran = kq("devices verify --snapshot s.json").within(folder.path()).run();
    let said = "does not read it: its unit removes it before each start (ExecStartPre=)";
    assert!(ran.code == 0 && ran.stdout.contains(said), "{}", ran.text());
    let ran = kq("what-if kubelet-restart -o json --snapshot s.json").within(folder.path()).run();
    assert_eq!(ran.answer::<Value>()["kubeletStarts"], json!(true), "{}", ran.text());
}

#[test]
fn a_critical_pod_has_no_place_in_the_order_of_eviction() {
    let folder = changed(|_| ());
    let ran =
        kq("doctor kube-system/kube-proxy-x7k2p --snapshot s.json").within(folder.path()).run();
    let told = "critical, and not evicted for memory.available";
    assert!(ran.stdout.contains(told), "{}", ran.text());
}

#[test]
fn a_victim_that_succeeded_is_an_ended_pod() {
    let folder = changed(|it| {
        let pods = it["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        let of_batch = |it: &&mut Value| it["pod"]["metadata"]["namespace"] == "batch";
        let pod = pods.iter_mut().find(of_batch).expect("a pod");
        pod["pod"]["status"] = json!({"phase": "Succeeded", "conditions": [{
            "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
            "message": "Preempted in order to admit critical pod"}]});
    });
    let doctor: Value = kq("doctor -o json --snapshot s.json").within(folder.path()).run().answer();
    let items = doctor["items"].as_array().expect("findings").iter();
    let ended: Vec<&Value> =
        items.filter(|it| it["id"] == "ended-pods").map(|it| &it["severity"]).collect();
    assert_eq!(ended, ["WARNING"], "{doctor}");
}

#[test]
fn every_pod_with_a_wrong_value_is_named() {
    let folder = changed(|it| {
        let cgroups = it["cgroups"]["found"]["value"]["cgroups"].as_object_mut().expect("cgroups");
        for (path, texts) in cgroups.iter_mut().filter(|(path, _)| path.contains("/pod")) {
            let _ = path;
            for (file, text) in texts.as_object_mut().expect("files") {
                if ["memory.max", "cpu.weight", "pids.max"].contains(&file.as_str()) {
                    *text = json!("7\n");
                }
            }
        }
    });
    let diff: Value =
        kq("cgroup diff -o json --snapshot s.json").within(folder.path()).run().answer();
    let drifting = diff["items"].as_array().expect("differences").iter();
    let drifting = drifting.filter(|it| it["verdict"] == "DRIFT").count();
    let doctor: Value = kq("doctor -o json --snapshot s.json").within(folder.path()).run().answer();
    let told = doctor["items"].as_array().expect("findings").iter();
    let told = told.filter(|it| it["id"] == "cgroup-values" && it["severity"] == "ERROR").count();
    assert!(drifting > 10, "{drifting}");
    assert_eq!(told, drifting);
}

#[test]
fn no_kubelet_admits_a_pod_where_none_runs_or_starts() {
    let broken = |it: &mut Value, runs: bool| {
        it["kubeletConfig"]["found"]["value"]["value"]["featureGates"] = json!({"Foo": true});
        if !runs {
            it["kubelet"] =
                json!({"found": null, "tried": [{"source": "/proc", "reason": "none runs"}]});
        }
    };
    let new = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}"#;
    for (line, of_stopped, of_running) in [
        ("admit explain shop/cart-0", "not admitted: the kubelet", "admitted on worker-3"),
        ("preempt explain new.json", "not admitted: the kubelet", "it fits"),
        ("what-if add new.json", "no kubelet admits it: the kubelet", "the kubelet admits it"),
    ] {
        // What the configuration decides is missing, as it is refused.
        for (runs, said) in [(false, of_stopped), (true, of_running)] {
            let folder = changed(|it| broken(it, runs));
            std::fs::write(folder.path().join("new.json"), new).expect("written");
            let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
            assert!(ran.stdout.contains(said), "{line} {runs}: {}", ran.text());
            assert!(ran.code == 3 || line.starts_with("what-if"), "{line} {runs}: {}", ran.text());
        }
    }
}

/// Changes the example of a night, and asks about it.
pub fn ask_at_night(line: &str, change: impl FnOnce(&mut Value)) -> Ran {
    let folder = changed(change);
    kq(&format!("{line} --snapshot s.json")).within(folder.path()).run()
}

pub const AT_A_START: [&str; 3] = [
    "what-if kubelet-restart",
    "admit explain --kubelet-restart",
    "devices plan --kubelet-restart",
];

#[test]
fn a_start_of_an_unknown_version_is_no_all_clear() {
    for version in ["v1.29.3", "v1.40.0"] {
        let of_version = |node: &mut Value| {
            node["kubeletVersion"]["found"]["value"] = json!(version);
            node["node"]["found"]["value"]["status"]["nodeInfo"]["kubeletVersion"] = json!(version);
        };
        for line in AT_A_START {
            let ran = ask_at_night(line, of_version);
            assert_eq!(ran.code, 3, "{line} {version}: {}", ran.text());
            assert!(ran.text().contains("kq knows the gates"), "{line}: {}", ran.text());
        }
        let doctor: Value = ask_at_night("doctor -o json", of_version).answer();
        let items = doctor["items"].as_array().expect("findings").iter();
        let of_starts: Vec<_> = items
            .filter(|it| {
                ["kubelet-start", "kubelet-restart"].contains(&it["id"].as_str().expect("an id"))
            })
            .map(|it| &it["severity"])
            .collect();
        assert_eq!(of_starts, ["UNKNOWN", "UNKNOWN"], "{version}: {doctor}");
    }
}

#[test]
fn a_runtime_that_was_silent_may_end_the_start() {
    for line in AT_A_START {
        let ran = ask_at_night(line, |node| {
            let socket = "/run/containerd/containerd.sock";
            node["runtime"] = json!({"found": null, "tried": [
                {"source": format!("unix://{socket}"), "reason": "connection refused"}]});
            node["kubeletConfig"]["found"]["value"]["containerRuntimeEndpoint"] =
                json!(format!("unix://{socket}"));
            node["startFiles"] = json!({"found": {"source": "/", "value": {"files": {socket: "socket"}}},
                "tried": []});
        });
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        assert!(ran.text().contains("runtime does not answer exits"), "{line}: {}", ran.text());
    }
}

#[test]
fn amounts_that_are_not_reported_are_not_zero() {
    for line in AT_A_START.into_iter().chain(["what-if set maxPods=3"]) {
        let ran = ask_at_night(line, |node| {
            node["node"]["found"]["value"]["status"]["allocatable"] = json!({});
        });
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        assert!(ran.text().contains("status.allocatable is empty"), "{line}: {}", ran.text());
    }
}

#[test]
fn a_node_without_a_kubelet_comforts_nobody() {
    let gone = |node: &mut Value| {
        node["kubelet"] = json!({"found": null, "tried": [{"source": "/proc", "reason": "no process named kubelet"}]});
    };
    let ran = ask_at_night("doctor shop/cart-0", gone);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("no process named kubelet"), "{}", ran.text());
    for line in ["gc dry-run", "evict rank", "admit explain shop/cart-0"] {
        let answer: Value = ask_at_night(&format!("{line} -o json"), gone).answer();
        let told = answer["headline"]["text"].as_str().expect("a text");
        assert!(told.starts_with("no kubelet was found; "), "{line}: {told}");
    }
}

#[test]
fn a_pod_whose_containers_are_gone_does_not_run_on() {
    let uid = |node: &Value| {
        let pods = node["pods"]["found"]["value"]["pods"].as_array().expect("pods");
        let cart = pods.iter().find(|it| it["pod"]["metadata"]["name"] == "cart-0").expect("a pod");
        cart["pod"]["metadata"]["uid"].clone()
    };
    let gone = |node: &mut Value| {
        let uid = uid(node);
        let runtime = &mut node["runtime"]["found"]["value"];
        for (list, field) in [("sandboxes", "uid"), ("containers", "podUid")] {
            let list = runtime[list]["found"]["value"].as_array_mut().expect("a list");
            list.retain(|it| it[field] != uid);
        }
    };
    let exited = |node: &mut Value| {
        let uid = uid(node);
        let containers = &mut node["runtime"]["found"]["value"]["containers"]["found"]["value"];
        let own = containers.as_array_mut().expect("a list").iter_mut();
        own.filter(|it| it["podUid"] == uid).for_each(|it| it["state"] = json!("exited"));
    };
    for (name, change) in [("gone", &gone as &dyn Fn(&mut Value)), ("exited", &exited)] {
        let ran = ask_at_night("doctor shop/cart-0", change);
        assert_eq!(ran.code, 1, "{name}: {}", ran.text());
        assert!(ran.stdout.contains("none of its containers runs"), "{name}: {}", ran.text());
        let answer: Value = ask_at_night("what-if kubelet-restart -o json", change).answer();
        let pods = answer["pods"].as_array().expect("pods");
        let cart = pods.iter().find(|it| it["pod"] == "shop/cart-0").expect("a pod");
        assert_eq!(cart["result"], "restarts", "{name}: {cart}");
    }
}

#[test]
fn a_pod_is_not_fine_where_the_configuration_is_unknown() {
    let ran = ask_at_night("doctor shop/cart-0", |node| {
        node["kubeletConfig"] =
            json!({"found": null, "tried": [{"source": "configz", "reason": "forbidden"}]});
    });
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("configuration is unknown"), "{}", ran.text());
}

#[test]
fn an_expired_client_certificate_is_in_the_first_sentence() {
    let ran = ask_at_night("what-if kubelet-restart -o json", |node| {
        let all = node["certificates"]["found"]["value"].as_array_mut().expect("certificates");
        for certificate in all.iter_mut().filter(|it| it["usage"] == "client") {
            certificate["notAfter"] = json!("2026-11-01T00:00:00Z");
        }
    });
    assert_eq!(ran.code, 1, "{}", ran.text());
    let answer: Value = ran.answer();
    let told = answer["headline"]["text"].as_str().expect("a text");
    assert!(told.contains("expired at 2026-11-01T00:00:00Z"), "{told}");
}

#[test]
fn a_runtime_that_does_not_list_its_containers_leaves_it_open_who_counts() {
    for line in ["admit explain kube-system/kube-proxy-x7k2p", "admit explain --kubelet-restart"] {
        let ran = ask_at_night(line, |node| {
            node["runtime"]["found"]["value"]["containers"] = json!({"found": null, "tried": [{"source": "ListContainers", "reason": "timed out"}]});
            let pods = node["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
            let of_batch = |it: &&mut Value| it["pod"]["metadata"]["namespace"] == "batch";
            let pod = pods.iter_mut().find(of_batch).expect("a pod");
            pod["pod"]["status"]["phase"] = json!("Failed");
        });
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        assert!(ran.text().contains("did not list its containers"), "{line}: {}", ran.text());
    }
}

#[test]
fn an_image_is_not_judged_by_a_disk_that_could_not_be_read() {
    for line in ["gc dry-run", "gc explain shop.example/train:cuda-11"] {
        let ran = ask_at_night(&format!("{line} -o json"), |node| {
            for folder in node["folders"].as_object_mut().expect("folders").values_mut() {
                folder["filesystem"] =
                    json!({"found": null, "tried": [{"source": "statfs", "reason": "timed out"}]});
            }
        });
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        let answer: Value = ran.answer();
        let facts: Vec<_> = answer["missing"]
            .as_array()
            .expect("missing facts")
            .iter()
            .map(|it| it["fact"].as_str().expect("a fact"))
            .collect();
        assert!(facts.contains(&"imageFilesystems"), "{line}: {answer}");
    }
}

#[test]
fn a_change_of_one_field_does_not_make_a_configuration_known() {
    let ran = ask_at_night("what-if set maxPods=3 -o json", |node| {
        node["kubeletConfig"] =
            json!({"found": null, "tried": [{"source": "configz", "reason": "forbidden"}]});
    });
    assert_eq!(ran.code, 1, "{}", ran.text());
    let answer: Value = ran.answer();
    let pods = answer["pods"].as_array().expect("pods").iter();
    let refused: Vec<_> =
        pods.filter(|it| it["result"] == "refused").map(|it| &it["reason"]).collect();
    assert_eq!(refused, ["OutOfpods"; 5], "{answer}");
    assert!(ran.stdout.contains("thresholds are unknown"), "{answer}");
}

#[test]
fn a_configuration_that_is_refused_as_a_whole_is_unknown() {
    let refused = |facts: &mut Value| {
        let config = &mut facts["kubeletConfig"]["found"]["value"]["value"];
        config["apiVersion"] = json!("kubelet.config.k8s.io/v9");
    };
    let ran = ask_at_night("cgroup diff", refused);
    assert!(!ran.stdout.contains("DRIFT"), "{}", ran.text());
    assert_eq!(ran.code, 3, "{}", ran.text());
    let ran = ask_at_night("doctor shop/cart-0", refused);
    assert!(!ran.stdout.contains("planned none"), "{}", ran.text());
}

#[test]
fn doctor_has_the_fields_that_the_next_start_ignores() {
    // `/configz` has no field that the kubelet does not know.
    let folder = with_config_on_disk(&[], |config| config["maxPod"] = json!(9));
    let mut severities = Vec::new();
    for command in ["doctor", "what-if kubelet-restart"] {
        let line = format!("{command} --snapshot s.json -o json");
        let ran = kq(&line).within(folder.path()).run();
        severities.push(severity_of(&ran, "unknown field \"maxPod\""));
    }
    assert_eq!(severities, ["WARNING", "WARNING"]);
}

/// Returns the severity of the finding that has a text.
fn severity_of(ran: &Ran, text: &str) -> String {
    let answer: Value = ran.answer();
    let mut items = answer["items"].as_array().expect("findings").iter();
    let found = items.find(|it| it["found"].as_str().is_some_and(|it| it.contains(text)));
    let found = found.unwrap_or_else(|| panic!("{text}: {answer}"));
    found["severity"].as_str().expect("a severity").to_owned()
}

#[test]
fn a_masked_unit_is_no_start() {
    let unit = "[Service]\nExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml\n";
    let node = folder_with(&[
        ("lib/systemd/system/kubelet.service", unit),
        ("etc/systemd/system/other", ""),
        ("var/lib/kubelet/config.yaml", CONFIG),
    ]);
    let own = node.path().join("etc/systemd/system/kubelet.service");
    let doctor = || kq(&format!("doctor --host-root {}", node.path().display())).run();
    let said = "systemd does not start the kubelet: Unit kubelet.service is masked \
                (/etc/systemd/system/kubelet.service)";
    assert!(!doctor().stdout.contains(said), "{}", doctor().text());
    std::os::unix::fs::symlink("/dev/null", &own).expect("a link");
    let ran = doctor();
    assert!(ran.stdout.contains(said), "{}", ran.text());
    assert!(ran.text().contains("systemctl unmask kubelet.service"), "{}", ran.text());
    std::fs::remove_file(&own).expect("it was there");
    std::fs::write(&own, "").expect("an empty file");
    assert!(doctor().stdout.contains(said), "{}", doctor().text());
    // The kubelet of a distribution has another unit.
    let rancher = node.path().join("var/lib/rancher");
    let drop_ins = rancher.join("rke2/agent/etc/kubelet.conf.d");
    std::fs::create_dir_all(&drop_ins).expect("folders");
    std::fs::write(drop_ins.join("00-rke2.conf"), CONFIG).expect("a file");
    assert!(!doctor().stdout.contains("masked"), "{}", doctor().text());
    std::fs::remove_dir_all(&rancher).expect("it was there");
    // Its own file wins over that of the package.
    std::fs::write(&own, unit).expect("a unit");
    assert!(!doctor().stdout.contains("masked"), "{}", doctor().text());
}

const WHOLE: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: whole}\nspec:\n  containers:\n  - name: c\n    image: i\n    \
                     resources: {limits: {cpu: CPUS, memory: 64Mi}}\n";

/// Asks about a Guaranteed pod with so many CPUs, `pod.yaml`, on the node at night.
fn ask_about_whole(line: &str, cpus: &str, change: impl FnOnce(&mut Value)) -> Ran {
    let folder = changed(change);
    std::fs::write(folder.path().join("pod.yaml"), WHOLE.replace("CPUS", cpus)).expect("a file");
    kq(&format!("{line} --snapshot s.json")).within(folder.path()).run()
}

/// Whether CPUs of its own are refused to a pod is open where the policy of the CPU manager is.
#[test]
fn a_pod_is_not_admitted_by_a_policy_that_is_not_known() {
    let failed = json!({"found": null, "tried": [{"source": "configz", "reason": "forbidden"}]});
    let ask = |cpus: &str, state: Value, more: &str| {
        let line = format!("admit explain pod.yaml {more}");
        ask_about_whole(&line, cpus, |node| {
            node["kubeletConfig"] = failed.clone();
            node["stateFiles"]["files"]["cpu_manager_state"] = state.clone();
            node["node"]["found"]["value"]["status"]["allocatable"]["cpu"] = json!("16");
        })
    };
    let state = |policy: &str| json!({"read": format!("{{\"policyName\":\"{policy}\",\"defaultCpuSet\":\"\",\"checksum\":1}}")});
    for open in [json!("absent"), state("static")] {
        let ran = ask("'1'", open.clone(), "");
        assert_eq!(ran.code, 3, "{open}: {}", ran.text());
        let says = "default/whole: not known whether worker-3 admits it: placement: cpuManagerPolicy is unknown";
        assert!(ran.stdout.starts_with(says), "{open}: {}", ran.text());
    }
    // Of a part of a CPU no policy decides, and the state file or a flag names the policy.
    for (cpus, state, more) in [
        ("100m", json!("absent"), ""),
        ("'1'", state("none"), ""),
        ("'1'", json!("absent"), "--set cpuManagerPolicy=none"),
    ] {
        let ran = ask(cpus, state.clone(), more);
        assert_eq!(ran.code, 0, "{cpus} {state} {more}: {}", ran.text());
    }
}

/// Amounts that the Node object does not have, or has below 0, are missing in every command.
#[test]
fn a_broken_node_object_is_answered_alike() {
    let ask = |line: &str, change: fn(&mut Value)| {
        ask_about_whole(line, "'1'", |node| change(&mut node["node"]["found"]["value"]))
    };
    let without = |node: &mut Value| {
        node["status"]["allocatable"].as_object_mut().expect("amounts").remove("cpu");
    };
    let negative = |node: &mut Value| node["status"]["allocatable"]["cpu"] = json!("-4");
    let nameless = |node: &mut Value| {
        node["metadata"].as_object_mut().expect("fields").remove("name");
    };
    type Change = fn(&mut Value);
    for (change, says) in [
        (without as Change, "status.allocatable.cpu is not set"),
        (negative, "status.allocatable.cpu is -4"),
        (nameless, "metadata.name is not set"),
    ] {
        for line in [
            "admit explain pod.yaml",
            "admit explain --kubelet-restart",
            "preempt explain pod.yaml",
            "what-if add pod.yaml",
            "what-if kubelet-restart",
        ] {
            let ran = ask(line, change);
            assert!(ran.code == 3 && ran.text().contains(says), "{line}: {}", ran.text());
        }
    }
    // A capacity below 0 is not that of the machine.
    let negative = |node: &mut Value| node["status"]["capacity"]["cpu"] = json!("-4");
    for line in ["allocatable", "cgroup plan", "cgroup diff", "doctor", "devices plan pod.yaml"] {
        let ran = ask(line, negative);
        assert!(ran.code != 2 && !ran.text().contains("capacity of -4"), "{line}: {}", ran.text());
    }
}

#[test]
fn an_unknown_version_is_said_once() {
    let ran = ask("allocatable", "v1.25.3", OLD_CONTAINERD, &[]);
    let said = ran.stderr.matches("1.25.3 is computed by those of 1.32").count();
    assert_eq!(said, 1, "{}", ran.text());
}

/// The node reports what its kubelet reserves, whatever of it is known.
#[test]
fn defaults_of_an_unknown_configuration_are_taken_off_once() {
    let failed = json!({"found": null, "tried": [{"source": "configz", "reason": "forbidden"}]});
    let folder = changed(|node| node["kubeletConfig"] = failed);
    let ran = kq("what-if set podPidsLimit=100 --snapshot s.json").within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(!ran.stdout.contains("allocatable"), "{}", ran.text());
}
