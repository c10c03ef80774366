//! What the kubelet remembers decides what `kq admit` and `kq preempt` count with: devices that are given away,
//! and what was allocated to a pod that is being resized.

use super::{folder_with, kq};
use crate::objects::{self, Object};
use kq_facts::devices::{CheckpointEntry, CheckpointFact, DeviceFacts};
use kq_facts::host::Text;
use kq_facts::lookup::Lookup;
use kq_facts::snapshot::{API_VERSION, KIND, PodSource, RecordedPods, Snapshot};
use kq_facts::state_files::StateFiles;
use kq_k8s::manifest::load;
use serde_json::{Value, json};

const WIDGET: &str = "example.com/widget";

/// Describes a pod whose container runs and may use what it asks for.
fn running(name: &str, amounts: &str) -> Object {
    let state = json!({"running": {"startedAt": "2026-11-20T11:00:00Z"}});
    let pod = objects::pod(name).on("n").requests(amounts).limits(amounts);
    pod.statuses(json!([{"name": "c", "state": state}]))
}

/// Returns what is known of a node with these pods and one widget.
fn snapshot(pods: &[Object]) -> Snapshot {
    let node = objects::node("n").amounts(&format!("{WIDGET}=1")).version("v1.36.2");
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
        node: Lookup::found("node", node.read()),
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
    let pods =
        [("a", 2), ("b", 1)].map(|(name, count)| running(name, &format!("{WIDGET}={count}")));
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
    let new = running("new", "cpu=1800m").priority(2_000_000_000);
    let resized = |allocated: Option<&str>| {
        let pod = running("resized", "cpu=1").conditions("PodResizePending=True");
        let status =
            |cpu| json!([{"name": "c", "allocatedResources": {"cpu": cpu}, "resources": {}}]);
        match allocated {
            Some(cpu) => pod.statuses(status(cpu)),
            None => pod,
        }
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
    let asked = snapshot(&[running("calm", "cpu=1")]);
    let answer = ask("preempt explain new.json", &asked, &new);
    let text = answer["assumptions"].to_string();
    assert!(!text.contains("resize") && !text.contains("allocated"), "no noise: {text}");
}

#[test]
fn a_mirror_stands_for_its_static_pod() {
    // As the API server shows it: with all annotations, and with the priority of its class.
    let mirror = running("etcd-n", "cpu=1500m").priority(2_000_001_000);
    let mirror = mirror.set("/spec/priorityClassName", "system-node-critical").config("hash", "h");
    let mirror = mirror.config("mirror", "h").config("seen", "2026-11-20T12:00:00Z");
    let mirror = mirror.config("source", "file");
    let critical = running("dns", "cpu=1500m").priority(2_000_000_000);
    let snapshot = snapshot(&[mirror, critical]);
    let answer = ask("preempt explain default/etcd-n", &snapshot, &Value::Null);
    assert_eq!(answer["result"], "notEnough", "{answer}");
    let answer =
        ask("preempt explain default/etcd-n --priority 2000001000", &snapshot, &Value::Null);
    assert_eq!(answer["result"], "preempts", "{answer}");
}

#[test]
fn the_api_server_has_no_static_pods() {
    let new = running("new", "cpu=1500m").priority(2_000_000_000);
    // Copied from a mirror, but for the annotation that makes one.
    let copied = running("copied", "cpu=1").config("source", "file").priority(Value::Null);
    let mut snapshot = snapshot(&[copied]);
    let answer = ask("preempt explain new.json", &snapshot, &new);
    assert_eq!(answer["victims"][0]["pod"], "default/copied", "{answer}");
    if let Some(pods) = &mut snapshot.pods.found {
        pods.value.source = PodSource::Kubelet;
    }
    let answer = ask("preempt explain new.json", &snapshot, &new);
    assert_eq!(answer["result"], "notEnough", "{answer}");
}

const CLAIMS: &str = "/status/nodeAllocatableResourceClaimStatuses";

fn claims_of_a_cpu() -> Value {
    json!([{"resourceClaimName": "c", "resources": {"cpu": "1"}}])
}

#[test]
fn what_claims_account_to_a_pod_counts_where_the_gate_is_on() {
    let claiming = running("claiming", "cpu=500m").set(CLAIMS, claims_of_a_cpu());
    let snapshot = snapshot(&[claiming]);
    let new = running("new", "cpu=1");
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
    let claiming = running("new", "cpu=500m,memory=1Mi").set(CLAIMS, claims_of_a_cpu());
    let as_a_whole = |amounts| claiming.clone().set("/spec/resources/requests", amounts);
    let whole = as_a_whole(json!({"memory": "2Mi"}));
    let replaced = as_a_whole(json!({"cpu": "750m"}));
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
    let there = running("there", "cpu=1");
    let answer = ask(&format!("admit explain new.json {GATE}"), &snapshot(&[there]), &claiming);
    assert_eq!(answer["refusals"][0]["reason"], "OutOfcpu", "{answer}");
}

#[test]
fn kubelets_of_1_32_resize_by_another_rule() {
    let resized = |resize: &str, kind: &str| {
        let mut pod = running("resized", "cpu=1500m").set("/status/resize", resize);
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
    let new = running("new", "cpu=1");
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
    let new = running("new", "cpu=1");
    let new = new.set("/spec/securityContext/supplementalGroupsPolicy", "Strict");
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
    let new = running("new", "cpu=1");
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
