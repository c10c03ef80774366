//! What the kubelet remembers decides what `kq admit` and `kq preempt` count with: devices that are given away,
//! and what was allocated to a pod that is being resized.

use super::{folder_with, kq};
use crate::objects;
use kq_facts::devices::{CheckpointEntry, CheckpointFact, DeviceFacts};
use kq_facts::host::Text;
use kq_facts::lookup::Lookup;
use kq_facts::snapshot::{API_VERSION, KIND, PodSource, RecordedPods, Snapshot};
use kq_facts::state_files::StateFiles;
use kq_k8s::manifest::load;
use serde_json::{Value, json};

const WIDGET: &str = "example.com/widget";

fn node() -> Value {
    let mut node = objects::node("n", "2");
    for list in ["capacity", "allocatable"] {
        node["status"][list][WIDGET] = json!("1");
    }
    node["status"]["nodeInfo"] = json!({"kubeletVersion": "v1.36.2"});
    node
}

fn pod(name: &str, requests: Value) -> Value {
    let running = json!({"running": {"startedAt": "2026-11-20T11:00:00Z"}});
    let pod =
        objects::pod(name).on("n").set("/spec/containers/0/resources/limits", requests.clone());
    let pod = pod.set("/status/containerStatuses", json!([{"name": "c", "state": running}]));
    pod.requests(requests).json()
}

fn snapshot(pods: &[Value]) -> Snapshot {
    let list = objects::list(pods.iter().cloned()).to_string();
    let loaded = load("pods", list.as_bytes());
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let recorded = RecordedPods {
        source: PodSource::ApiServer,
        pods: loaded.pods,
        with_labels: true,
        ..RecordedPods::default()
    };
    Snapshot {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        taken_at: "2026-11-20T12:00:00Z".to_owned(),
        node: Lookup::found("node", serde_json::from_value(node()).expect("a node")),
        pods: Lookup::found("pods", recorded),
        ..Snapshot::default()
    }
}

fn ask(line: &str, snapshot: &Snapshot, new: &Value) -> Value {
    let stored = serde_json::to_string(snapshot).expect("a snapshot");
    let folder = folder_with(&[("snapshot.json", stored), ("new.json", new.to_string())]);
    let ran = kq(&format!("{line} --snapshot snapshot.json -o json")).within(folder.path()).run();
    ran.answer()
}

#[test]
fn devices_that_are_given_away_count() {
    let pods = [pod("a", json!({WIDGET: "2"})), pod("b", json!({WIDGET: "1"}))];
    let entry = |pod: &str, ids: &[&str]| CheckpointEntry {
        pod_uid: pod.to_owned(),
        container_name: "c".to_owned(),
        resource_name: WIDGET.to_owned(),
        device_ids: [(0, ids.iter().map(|id| (*id).to_owned()).collect())].into(),
        ..CheckpointEntry::default()
    };
    let whole = CheckpointFact {
        entries: vec![entry("a", &["w0", "w1"]), entry("b", &["w2"])],
        registered: [(WIDGET.to_owned(), vec!["w0".to_owned(), "w1".to_owned()])].into(),
        ..CheckpointFact::default()
    };
    let damaged =
        CheckpointFact { error: Some("checkpoint is corrupted".to_owned()), ..whole.clone() };
    const ASSUMED: &str = "neither the answer nor a victim is certain";
    // What is known, whether a pod with devices could come anew, what is assumed.
    for (name, checkpoint, stays, assumed) in [
        ("known", Lookup::found("checkpoint", whole), true, None),
        ("not queried", Lookup::default(), false, Some("not looked for")),
        (
            "unreadable",
            Lookup::failed("checkpoint", "permission denied"),
            false,
            Some("permission denied"),
        ),
        ("damaged", Lookup::found("checkpoint", damaged), false, Some("checkpoint is corrupted")),
    ] {
        let mut snapshot = snapshot(&pods);
        snapshot.devices = Some(DeviceFacts { checkpoint, ..DeviceFacts::default() });
        let answer = ask("admit explain a", &snapshot, &Value::Null);
        assert_eq!(answer["admitted"], stays, "{name}: {answer}");
        let compared = answer["resources"].as_array().expect("a list");
        let widgets = compared.iter().find(|it| it["resource"] == WIDGET).expect("it is compared");
        assert_eq!(widgets["allocatable"], if stays { 3 } else { 1 }, "{name}: {answer}");
        let restart = ask("admit explain --kubelet-restart", &snapshot, &Value::Null);
        let results = restart["items"].as_array().expect("a list");
        // Containers that run keep their devices, unless the kubelet that starts takes no checkpoint.
        let all_stay = results.iter().all(|it| it["result"] == "admitted");
        assert_eq!(all_stay, name != "damaged", "{name}: {restart}");
        for answer in [&answer, &restart] {
            let text = answer["assumptions"].to_string();
            let is_known = assumed.is_none() || name == "damaged" && answer["items"].is_array();
            assert_eq!(!text.contains(ASSUMED), is_known, "{name}: {text}");
            let told = format!("{text} {}", answer["warnings"]);
            assert!(told.contains(assumed.unwrap_or_default()), "{name}: {told}");
        }
    }
}

#[test]
fn a_pod_that_is_resized_counts_with_what_was_allocated_to_it() {
    let mut new = pod("new", json!({"cpu": "1800m"}));
    new["spec"]["priority"] = json!(2_000_000_000);
    let resized = |allocated: Option<&str>| {
        let mut pod = pod("resized", json!({"cpu": "1"}));
        pod["status"]["conditions"] = json!([{"type": "PodResizePending", "status": "True"}]);
        if let Some(cpu) = allocated {
            pod["status"]["containerStatuses"] =
                json!([{"name": "c", "allocatedResources": {"cpu": cpu}, "resources": {}}]);
        }
        pod
    };
    let data =
        r#"{"entries":{"resized":{"ContainerResources":{"c":{"requests":{"cpu":"500m"}}}}}}"#;
    let file = json!({"data": data, "checksum": 1}).to_string();
    let with_file = |text: Text| {
        Some(StateFiles {
            folder: "/var/lib/kubelet".to_owned(),
            files: [("allocated_pods_state".to_owned(), text)].into(),
        })
    };
    let recorded = Text::Read(file);
    let unreadable = Text::Unreadable("permission denied".to_owned());
    let counts = "default/resized counts with the resources that the kubelet allocated";
    let waits = "default/resized waits for a resize";
    for (name, pod, files, flags, missing, gives, assumed) in [
        ("the file", resized(None), with_file(recorded.clone()), "", 300, 500, counts),
        ("the status", resized(Some("600m")), None, "", 400, 600, counts),
        ("nobody", resized(None), None, "", 800, 1000, waits),
        ("unreadable", resized(None), with_file(unreadable), "", 800, 1000, "permission denied"),
        ("1.32", resized(None), with_file(recorded), "--kubelet-version 1.32", 800, 1000, ""),
    ] {
        let mut snapshot = snapshot(&[pod]);
        snapshot.state_files = files;
        let answer = ask(&format!("preempt explain new.json {flags}"), &snapshot, &new);
        assert_eq!(answer["requirements"][0]["quantity"], missing, "{name}: {answer}");
        assert_eq!(answer["victims"][0]["gives"][0]["quantity"], gives, "{name}: {answer}");
        let text = answer["assumptions"].to_string();
        assert!(text.contains(assumed), "{name}: {text}");
        assert_eq!(
            text.contains("resize") || text.contains("allocated"),
            !assumed.is_empty(),
            "{name}: {text}"
        );
    }
    let asked = snapshot(&[pod("calm", json!({"cpu": "1"}))]);
    let answer = ask("preempt explain new.json", &asked, &new);
    let text = answer["assumptions"].to_string();
    assert!(!text.contains("resize") && !text.contains("allocated"), "no noise: {text}");
}

#[test]
fn a_mirror_stands_for_its_static_pod() {
    // As the API server shows it: with all annotations, and with the priority of its class.
    let mut mirror = pod("etcd-n", json!({"cpu": "1500m"}));
    mirror["spec"]["priority"] = json!(2_000_001_000);
    mirror["spec"]["priorityClassName"] = json!("system-node-critical");
    mirror["metadata"]["annotations"] = json!({
        "kubernetes.io/config.hash": "h", "kubernetes.io/config.mirror": "h",
        "kubernetes.io/config.seen": "2026-11-20T12:00:00Z", "kubernetes.io/config.source": "file",
    });
    let mut critical = pod("dns", json!({"cpu": "1500m"}));
    critical["spec"]["priority"] = json!(2_000_000_000);
    let snapshot = snapshot(&[mirror, critical]);
    let answer = ask("preempt explain default/etcd-n", &snapshot, &Value::Null);
    assert_eq!(answer["result"], "notEnough", "{answer}");
    let answer =
        ask("preempt explain default/etcd-n --priority 2000001000", &snapshot, &Value::Null);
    assert_eq!(answer["result"], "preempts", "{answer}");
}

#[test]
fn the_api_server_has_no_static_pods() {
    let mut new = pod("new", json!({"cpu": "1500m"}));
    new["spec"]["priority"] = json!(2_000_000_000);
    // Copied from a mirror, but for the annotation that makes one.
    let mut copied = pod("copied", json!({"cpu": "1"}));
    copied["metadata"]["annotations"] = json!({"kubernetes.io/config.source": "file"});
    copied["spec"]["priority"] = Value::Null;
    let mut snapshot = snapshot(&[copied]);
    let answer = ask("preempt explain new.json", &snapshot, &new);
    assert_eq!(answer["victims"][0]["pod"], "default/copied", "{answer}");
    if let Some(pods) = &mut snapshot.pods.found {
        pods.value.source = PodSource::Kubelet;
    }
    let answer = ask("preempt explain new.json", &snapshot, &new);
    assert_eq!(answer["result"], "notEnough", "{answer}");
}

#[test]
fn what_claims_account_to_a_pod_counts_where_the_gate_is_on() {
    let mut claiming = pod("claiming", json!({"cpu": "500m"}));
    claiming["status"]["nodeAllocatableResourceClaimStatuses"] =
        json!([{"resourceClaimName": "c", "resources": {"cpu": "1"}}]);
    let snapshot = snapshot(&[claiming]);
    let new = pod("new", json!({"cpu": "1"}));
    for (flags, used, because) in [
        ("", 500, "container 500m"),
        (
            "--feature-gates DRANodeAllocatableResources=true",
            1500,
            "container 500m; with its resource claims 1500m",
        ),
    ] {
        let answer = ask(&format!("admit explain new.json {flags}"), &snapshot, &new);
        assert_eq!(answer["resources"][1]["used"], used, "{flags}: {answer}");
        assert_eq!(
            answer["ledger"][0]["amounts"][1]["because"]["text"], because,
            "{flags}: {answer}"
        );
    }
}

#[test]
fn what_claims_account_to_the_pod_in_question_counts_too() {
    const GATE: &str = "--feature-gates DRANodeAllocatableResources=true";
    let mut claiming = pod("new", json!({"cpu": "500m", "memory": "1Mi"}));
    claiming["status"]["nodeAllocatableResourceClaimStatuses"] =
        json!([{"resourceClaimName": "c", "resources": {"cpu": "1"}}]);
    let mut whole = claiming.clone();
    whole["spec"]["resources"] = json!({"requests": {"memory": "2Mi"}});
    let mut replaced = claiming.clone();
    replaced["spec"]["resources"] = json!({"requests": {"cpu": "750m"}});
    for (name, new, flags, requested) in [
        ("the gate is off", &claiming, "", 500),
        ("containers and claims", &claiming, GATE, 1500),
        ("the pod as a whole has memory alone", &whole, GATE, 1500),
        ("the pod as a whole has CPUs", &replaced, GATE, 750),
    ] {
        let answer = ask(&format!("admit explain new.json {flags}"), &snapshot(&[]), new);
        assert_eq!(answer["resources"][1]["requested"], requested, "{name}: {answer}");
    }
    // The snapshot's node has 2 CPUs: with claims the pod needs more than is left.
    let there = pod("there", json!({"cpu": "1"}));
    let answer = ask(&format!("admit explain new.json {GATE}"), &snapshot(&[there]), &claiming);
    assert_eq!(answer["refusals"][0]["reason"], "OutOfcpu", "{answer}");
}

#[test]
fn kubelets_of_1_32_resize_by_another_rule() {
    let resized = |resize: &str, kind: &str| {
        let mut pod = pod("resized", json!({"cpu": "1500m"}));
        pod["status"]["resize"] = json!(resize);
        let status = json!([{"name": "c", "allocatedResources": {"cpu": "1800m"},
            "resources": {"requests": {"cpu": "1200m"}}}]);
        if kind == "initContainers" {
            let mut sidecar = pod["spec"]["containers"][0].clone();
            sidecar["restartPolicy"] = json!("Always");
            pod["spec"]["initContainers"] = json!([sidecar]);
            pod["spec"]["containers"] = json!([{"name": "d", "image": "i"}]);
            pod["status"]["initContainerStatuses"] = status;
        } else {
            pod["status"]["containerStatuses"] = status;
        }
        pod
    };
    const ON: &str = "--feature-gates InPlacePodVerticalScaling=true";
    let new = pod("new", json!({"cpu": "1"}));
    for (name, resize, kind, flags, used) in [
        ("off", "Infeasible", "containers", "--kubelet-version 1.32", 1500),
        ("the larger", "InProgress", "containers", &*format!("--kubelet-version 1.32 {ON}"), 1500),
        ("infeasible", "Infeasible", "containers", &*format!("--kubelet-version 1.32 {ON}"), 1200),
        (
            "sidecars",
            "Infeasible",
            "initContainers",
            &*format!("--kubelet-version 1.32 {ON}"),
            1500,
        ),
        ("later", "Infeasible", "containers", "--kubelet-version 1.36", 1800),
    ] {
        let snapshot = snapshot(&[resized(resize, kind)]);
        let answer = ask(&format!("admit explain new.json {flags}"), &snapshot, &new);
        assert_eq!(answer["resources"][1]["used"], used, "{name}: {answer}");
    }
}

#[test]
fn strict_groups_are_asked_about_since_they_are_beta() {
    let mut new = pod("new", json!({"cpu": "1"}));
    new["spec"]["securityContext"] = json!({"supplementalGroupsPolicy": "Strict"});
    for (flags, admitted) in [
        ("--kubelet-version 1.32 --feature-gates SupplementalGroupsPolicy=true", true),
        ("--kubelet-version 1.33", false),
        ("--kubelet-version 1.33 --feature-gates SupplementalGroupsPolicy=false", false),
        ("--kubelet-version 1.36", false),
    ] {
        let answer = ask(&format!("admit explain new.json {flags}"), &snapshot(&[]), &new);
        assert_eq!(answer["admitted"], admitted, "{flags}: {answer}");
    }
}

#[test]
fn under_several_pressures_the_message_is_left_to_chance() {
    let mut snapshot = snapshot(&[]);
    if let Some(node) = &mut snapshot.node.found {
        let conditions = json!([{"type": "MemoryPressure", "status": "True"},
            {"type": "DiskPressure", "status": "True"}]);
        node.value.status.conditions = serde_json::from_value(conditions).expect("conditions");
    }
    let new = pod("new", json!({"cpu": "1"}));
    let answer = ask("admit explain new.json", &snapshot, &new);
    let messages: Vec<&str> = answer["refusals"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["message"].as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "The node had condition: [MemoryPressure DiskPressure]. ",
            "The node had condition: [DiskPressure MemoryPressure]. ",
        ],
        "{answer}"
    );
}
