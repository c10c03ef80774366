//! Every row of the recorded versions that can stop a kubelet or cost it pods.

use super::recording::{Recording, scenarios};
use super::{asked, words_of};
use crate::cli::repository;
use crate::new_release::covered;
use kq_core::question::what_if::{ChangeFiles, NodeState, reported_behaviours, what_if};
use kq_core::what_if::{PodResult, RestartCause, WhatIf};
use kq_facts::devices::{CheckpointEntry, CheckpointFact};
use kq_facts::lookup::Lookup;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

const VERSIONS: [&str; 6] = ["1.32", "1.33", "1.34", "1.35", "1.36", "1.37"];

fn rows(name: &str) -> Vec<Value> {
    let path = repository().join(format!("tests/vectors/versions/{name}.jsonl"));
    let text = fs::read_to_string(path).expect("the recorded versions");
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn ask(node: &NodeState, words: &[&str]) -> WhatIf {
    let changes: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let changes = kq_core::what_if::parse(&changes).expect("changes");
    what_if(node, &changes, &ChangeFiles::default()).expect("an answer")
}

/// Returns what stops the kubelet.
fn stops(answer: &WhatIf) -> String {
    let start = answer.items.iter().filter(|it| it.id == "kubelet-start");
    let texts = start.filter_map(|it| it.facts.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("; ")
}

/// The node without the pods and cgroups of the recording: only its start is looked at.
fn node() -> NodeState {
    let mut node = Recording::of("01-plain").node();
    node.snapshot.pods.found = None;
    node
}

/// Each alone is asked in `kubelet_start`; the kubelet names all of one kind at once.
#[test]
fn every_gate_that_a_version_refuses_stops_it_and_no_other_does() {
    let node = node();
    let rows = rows("gates");
    for version in VERSIONS {
        let (mut unknown, mut locked) = (Vec::new(), Vec::new());
        for row in &rows {
            let gate = row["gate"].as_str().expect("a name");
            let state = &row["versions"][version];
            if state["exists"] != true {
                unknown.push((gate, true, format!("unrecognized feature gate: {gate}")));
            } else if state["lockedToDefault"] == true {
                let default = state["default"].as_bool().expect("a default");
                let message = format!(
                    "cannot set feature gate {gate} to {}, feature is locked to {default}",
                    !default
                );
                locked.push((gate, !default, message));
            }
        }
        assert!(unknown.len() > 20 && locked.len() > 20, "{version}");
        for refused in [unknown, locked] {
            let set: Vec<String> =
                refused.iter().map(|(gate, value, _)| format!("{gate}={value}")).collect();
            let answer = ask(&node, &["kubelet-version", version, "feature-gates", &set.join(",")]);
            assert_eq!(answer.kubelet_starts, Some(false), "{version} {set:?}");
            let stops = stops(&answer);
            for (_, _, message) in &refused {
                assert!(stops.contains(message), "{version}: no {message}: {stops}");
            }
        }
    }
}

#[test]
fn every_gate_that_a_version_knows_may_have_its_default() {
    let node = node();
    for version in VERSIONS {
        let rows = rows("gates");
        let known = rows.iter().filter(|row| row["versions"][version]["exists"] == true);
        let set: Vec<String> = known
            .filter(|row| !matches!(row["gate"].as_str(), Some("AllAlpha" | "AllBeta")))
            .map(|row| {
                let gate = row["gate"].as_str().expect("a name");
                format!("{gate}={}", row["versions"][version]["default"])
            })
            .collect();
        let answer = ask(&node, &["kubelet-version", version, "feature-gates", &set.join(",")]);
        assert_eq!(answer.kubelet_starts, Some(true), "{version}: {}", stops(&answer));
    }
}

#[test]
fn every_flag_that_a_version_lacks_stops_it() {
    let node = node();
    let mut compared = 0;
    for row in rows("flags") {
        let flag = row["flag"].as_str().expect("a name");
        for version in VERSIONS {
            if row["versions"][version]["exists"] == true {
                continue;
            }
            let line = format!("{flag}=x");
            let answer = ask(&node, &["kubelet-version", version, "flags", &line]);
            let expected = format!("failed to parse kubelet flag: unknown flag: {flag}");
            assert_eq!(answer.kubelet_starts, Some(false), "{version} {flag}");
            assert!(stops(&answer).contains(&expected), "{version} {flag}: {}", stops(&answer));
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared}");
}

#[test]
fn a_field_that_a_version_lacks_is_passed_over_with_a_warning() {
    let node = node();
    let mut compared = 0;
    for row in rows("fields") {
        let field = row["field"].as_str().expect("a name");
        if field.contains('.') {
            continue;
        }
        for version in VERSIONS.iter().filter(|it| row["versions"][**it]["exists"] != true) {
            let set = format!("{field}={}", serde_json::json!({}));
            let answer = ask(&node, &["kubelet-version", version, "set", &set]);
            assert_eq!(answer.kubelet_starts, Some(true), "{version} {field}: {}", stops(&answer));
            assert!(stops(&answer).contains(field), "{version} {field}: {}", stops(&answer));
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared}");
}

/// A node of 1.36 whose pods and settings 1.37 treats otherwise.
fn touched(node: &mut NodeState) {
    let read = |text: &str| serde_json::from_str(text).expect("a part of a pod");
    let web = pod(node, "guar");
    web.spec.resources = Some(kq_k8s::pod::ResourceRequirements::default());
    web.spec.volumes = vec![read_volume(r#"{"name": "v", "persistentVolumeClaim": {}}"#)];
    let burst = pod(node, "be");
    burst.spec.init_containers = vec![
        read(
            r#"{"name": "proxy", "restartPolicy": "Always",
            "resources": {"limits": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}}}"#,
        ),
        read(r#"{"name": "setup"}"#),
    ];
    for container in &mut burst.spec.containers {
        let limits = r#"{"limits": {"cpu": "1", "memory": "1Gi"}}"#;
        container.resources = serde_json::from_str(limits).expect("limits");
        container.readiness_probe =
            serde_json::from_str(r#"{"exec": {"command": ["true"]}}"#).expect("a probe");
    }
    let stats = r#"{"node": {"memory": {"availableBytes": 8589934592, "workingSetBytes": 1}}}"#;
    let stats = serde_json::from_str(stats).expect("stats");
    node.snapshot.stats_summary = Lookup::found("stats", stats);
    let object = node.snapshot.node.found.as_mut().expect("a node");
    let hugepages = kq_k8s::pod::ResourceName::from("hugepages-2Mi");
    object.value.status.capacity.insert(hugepages, "1Gi".parse().expect("an amount"));
}

fn read_volume(text: &str) -> kq_k8s::pod::Volume {
    serde_json::from_str(text).expect("a volume")
}

fn told_of(answer: &WhatIf) -> Vec<&str> {
    let facts = answer.items.iter().filter_map(|it| it.facts.get("behaviour")?.as_str());
    facts.collect()
}

#[test]
fn what_1_37_does_otherwise_is_told_of_the_pods_that_it_concerns() {
    let line = "set eventRecordQPS=0 kubelet-version 1.37";
    let answer = edited(line, touched);
    let told = told_of(&answer);
    for id in [
        "selinux-mount",
        "hugepage-aware-eviction",
        "sidecar-ephemeral-storage",
        "qos-empty-pod-resources",
        "pod-limits-declared",
        "event-record-qps-zero",
    ] {
        assert!(told.contains(&id), "{id}: {told:?}");
    }
    let assumed: Vec<String> = answer.basis.assumptions.iter().map(|it| it.text.clone()).collect();
    let notes = "behaviour sidecar-ephemeral-storage is known by its release notes alone";
    assert!(assumed.iter().any(|it| it == notes), "{assumed:#?}");
    let unread = "kubelet 1.37, probes: no file was read; as in 1.36";
    assert!(assumed.iter().any(|it| it.starts_with(unread)), "{assumed:#?}");
    // Nothing of it concerns the node as it was recorded, nor a restart.
    let plain = edited("kubelet-version 1.37", |_| {});
    assert_eq!(told_of(&plain), Vec::<&str>::new());
    let restart = edited("kubelet-restart", touched);
    assert_eq!(told_of(&restart), Vec::<&str>::new());
    assert!(restart.basis.assumptions.iter().all(|it| !it.text.contains("1.37")));
    // The gates bring the behaviour of 1.36 back.
    let gates = "HugepageAwareEviction=false,SELinuxMount=false,\
                 PodLevelResourcesFixKubeletQOSClass=false";
    let answer = edited(&format!("kubelet-version 1.37 feature-gates {gates}"), touched);
    let told = told_of(&answer);
    assert_eq!(told, ["sidecar-ephemeral-storage", "pod-limits-declared"]);
}

#[test]
fn huge_pages_are_taken_from_the_available_memory() {
    let available = |answer: &WhatIf| {
        let texts = answer.basis.assumptions.iter().map(|it| it.text.as_str());
        texts.filter(|it| it.starts_with("memory.available is")).collect::<Vec<_>>().join("; ")
    };
    let less = available(&edited("kubelet-version 1.37", touched));
    assert_eq!(less, "memory.available is less by the huge pages of the node, 1Gi");
    assert_eq!(available(&edited("kubelet-version 1.37", |_| {})), "", "there are none");
    let line = "kubelet-version 1.37 memory-available 4Gi";
    assert_eq!(available(&edited(line, touched)), "", "the amount is named");
    let back = edited("kubelet-version 1.36", |node| {
        touched(node);
        node.overrides.kubelet.version = Some("1.37".parse().expect("a version"));
    });
    assert!(available(&back).starts_with("memory.available is more by"), "{}", available(&back));
    // What was enough is too little without the huge pages.
    let nearly = |node: &mut NodeState| {
        touched(node);
        let stats = node.snapshot.stats_summary.found.as_mut().expect("stats");
        let memory = stats.value.node.memory.as_mut().expect("memory");
        memory.available_bytes = Some(1 << 30);
    };
    let crossed = |answer: &WhatIf| {
        let mut found = answer.items.iter().filter(|it| it.id == "eviction");
        found.any(|it| it.facts.get("signal").and_then(Value::as_str) == Some("memory.available"))
    };
    assert!(crossed(&edited("kubelet-version 1.37", nearly)));
    let off = "kubelet-version 1.37 feature-gates HugepageAwareEviction=false";
    assert!(!crossed(&edited(off, nearly)));
}

#[test]
fn of_1_38_what_is_announced_is_told_and_the_start_is_not_known() {
    let containerd = |version: &'static str| {
        move |node: &mut NodeState| {
            let runtime = node.snapshot.runtime.found.as_mut().expect("a runtime");
            runtime.value.version.runtime_name = "containerd".to_owned();
            runtime.value.version.runtime_version = version.to_owned();
        }
    };
    let line = "kubelet-version 1.38 feature-gates ExecProbeTimeout=true,SELinuxMount=false";
    let answer = edited(line, containerd("v1.7.27"));
    assert_eq!(answer.kubelet_starts, None);
    assert_eq!(told_of(&answer), ["containerd-1x-ends", "subordinate-ids", "gates-announced"]);
    let answer = edited("kubelet-version 1.38", containerd("v2.1.4"));
    assert_eq!(told_of(&answer), ["subordinate-ids"]);
    // 1.37 still starts with it.
    let answer = edited("kubelet-version 1.37", containerd("v1.7.27"));
    assert_eq!((answer.kubelet_starts, told_of(&answer)), (Some(true), Vec::new()));
    let answer = edited("kubelet-version 1.36", |node| {
        containerd("v1.7.27")(node);
        node.overrides.kubelet.version = Some("1.35".parse().expect("a version"));
    });
    let mut found = answer
        .items
        .iter()
        .filter(|it| it.facts.get("behaviour").and_then(Value::as_str) == Some("containerd-1x"));
    let about = found.next().and_then(|it| it.facts.get("about")?.as_str()).unwrap_or_default();
    assert!(about.contains("put off to 1.38"), "{:#?}", answer.items);
}

#[test]
fn what_1_37_does_otherwise_is_a_rule_or_not_covered() {
    let page = fs::read_to_string(repository().join("docs/what-if.md")).expect("the page");
    let rows = rows("behaviours-1.37");
    assert_eq!(rows.len(), 71);
    let covered = covered("behaviours", "1.37");
    for row in &rows {
        let id = row["id"].as_str().expect("an id");
        let (how, by) = covered.get(id).unwrap_or_else(|| panic!("{id} has no row"));
        let line = format!("| `{id}` | {by} |");
        match how.as_str() {
            "told" => assert!(reported_behaviours().any(|(told, _)| told == by), "{id}: {by}"),
            "test" => assert!(repository().join(by).exists(), "{id}: there is no {by}"),
            "none" => assert!(page.contains(&line), "docs/what-if.md lacks: {line}"),
            other => panic!("{id}: {other}"),
        }
        let is_rule = how != "none";
        assert_eq!(page.contains(&format!("| `{id}` |")), !is_rule, "{id}");
        let danger = row["danger"].as_u64().expect("a danger");
        assert!(danger < 5 || is_rule, "{id} is dangerous, and not covered");
    }
}

/// Changes between two versions that can do harm: each is reported, or has a reason here.
const OTHERWISE: [(&str, &str); 21] = [
    ("ready-on-restart", "readiness at the start"),
    ("failcgroupv1", "start"),
    ("gate-dependencies", "start"),
    ("flag-pod-infra", "start"),
    ("flag-cloud-config", "start"),
    ("flag-register-schedulable", "start"),
    ("validate-log-max-files", "start"),
    ("exec-probe-timeout", "start: the gate is locked"),
    ("swap", "start: the gate is locked; the values are planned"),
    ("size-memory-volumes", "start: the gate is unknown"),
    ("eviction-grace", "start: the gate is locked"),
    ("actuated-missing", "restarts of containers by their resizePolicy"),
    ("resize-static-pods", "restarts of containers by their resizePolicy"),
    ("admit-supplemental", "admission"),
    ("userns-mapping", "not told: the ranges of the user kubelet are no fact"),
    ("dra-grpc", "not told: what a DRA driver speaks is no fact"),
    ("state-pods", "not told: the file of an alpha gate of 1.32"),
    ("portworx", "not told: the volume's kind is not kept; its gates are the start's"),
    ("cloud-provider-values", "not told: refused before 1.34 only"),
    ("validate-image-min-age", "start"),
    ("validate-crashloop", "start"),
];

#[test]
fn what_a_version_does_otherwise_is_told_where_it_can_cost_something() {
    let rows: Vec<Value> = rows("behaviours").into_iter().chain(rows("behaviours-1.37")).collect();
    let row = |id: &str| rows.iter().find(|row| row["id"] == id);
    // Of 1.38 there is a preview alone.
    for (id, since) in reported_behaviours().filter(|(_, since)| *since < 38) {
        let row = row(id).unwrap_or_else(|| panic!("{id} is no row"));
        assert_eq!(row["changed_between"][1], format!("1.{since}"), "{id}");
    }
    for (id, _) in OTHERWISE {
        assert!(row(id).is_some(), "{id} is no row");
        assert!(reported_behaviours().all(|(told, _)| told != id), "{id} is told");
    }
    let silent: Vec<&str> = rows
        .iter()
        .filter(|row| row["danger"].as_u64() >= Some(4) && row["changed_between"].is_array())
        // Those of 1.37 have a test of their own.
        .filter(|row| row["changed_between"][1] != "1.37")
        .map(|row| row["id"].as_str().expect("an id"))
        .filter(|id| reported_behaviours().all(|(told, _)| told != *id))
        .filter(|id| OTHERWISE.iter().all(|(other, _)| other != id))
        .collect();
    assert!(silent.is_empty(), "nobody tells of {silent:?}");
}

fn edited(line: &str, edit: impl FnOnce(&mut NodeState)) -> WhatIf {
    let mut node = Recording::of("01-plain").node();
    edit(&mut node);
    asked(&node, line)
}

fn pod<'n>(node: &'n mut NodeState, name: &str) -> &'n mut kq_k8s::pod::Pod {
    let pods = &mut node.snapshot.pods.found.as_mut().expect("pods").value.pods;
    let found = pods.iter_mut().find(|it| it.pod.metadata.name == name);
    &mut found.unwrap_or_else(|| panic!("no pod {name}")).pod
}

#[test]
fn a_container_with_the_policy_restarts_where_the_kubelet_has_no_record_of_it() {
    let restart = |node: &mut NodeState| {
        node.overrides.kubelet.version = Some("1.32".parse().expect("a version"));
        let policy = kq_k8s::pod::ContainerResizePolicy {
            resource_name: "cpu".to_owned(),
            restart_policy: "RestartContainer".to_owned(),
        };
        for name in ["guar", "be", "static-web-vm"] {
            pod(node, name).spec.containers[0].resize_policy = vec![policy.clone()];
        }
    };
    let restarted = |answer: &WhatIf| {
        let pods = answer.pods.iter().filter(|it| it.cause == Some(RestartCause::ResizePolicy));
        pods.map(|it| (it.pod.clone(), it.containers.join(","))).collect::<Vec<_>>()
    };
    let guar = || ("default/guar".to_owned(), "c".to_owned());
    let answer = edited("kubelet-version 1.33", restart);
    assert_eq!(restarted(&answer), [guar()], "{:#?}", answer.items);
    assert!(answer.gets_worse());
    let answer = edited("kubelet-restart", restart);
    assert_eq!(restarted(&answer), [], "1.32 does not resize");
    let answer =
        edited("kubelet-version 1.33 feature-gates InPlacePodVerticalScaling=false", restart);
    assert_eq!(restarted(&answer), [], "the gate is off");
    let answer = edited("state-file missing actuated_pods_state", |node| {
        restart(node);
        node.overrides.kubelet.version = None;
    });
    assert!(restarted(&answer).contains(&guar()), "{:#?}", answer.items);
}

#[test]
fn a_static_pod_that_names_objects_of_the_api_is_lost_with_1_34() {
    let references = |node: &mut NodeState| {
        pod(node, "static-web-vm").spec.service_account_name = "web".to_owned();
        pod(node, "guar").spec.service_account_name = "web".to_owned();
        node.overrides.kubelet.version = Some("1.33".parse().expect("a version"));
    };
    let told = |answer: &WhatIf| {
        let mut found = answer.items.iter().filter(|it| {
            it.facts.get("behaviour").and_then(Value::as_str) == Some("admit-static-api-refs")
        });
        let about = found.next().and_then(|it| it.facts.get("about")?.as_str().map(str::to_owned));
        about.unwrap_or_default()
    };
    let about = told(&edited("kubelet-version 1.34", references));
    assert!(about.contains("static-web-vm") && !about.contains("guar"), "{about}");
    assert_eq!(told(&edited("kubelet-version 1.34", |_| {})), "");
    let line = "kubelet-version 1.34 feature-gates PreventStaticPodAPIReferences=false";
    assert_eq!(told(&edited(line, references)), "", "the gate is off");
}

#[test]
fn a_restart_with_the_present_configuration_finds_no_danger() {
    // There the kubelet has forgotten the device of a pod, so that it refuses the pod at any restart.
    for scenario in scenarios().into_iter().filter(|it| it != "19-image-gc") {
        let recording = Recording::of(&scenario);
        let node = recording.node();
        let changes = words_of("kubelet-restart");
        let answer = what_if(&node, &changes, &ChangeFiles::default()).expect("an answer");
        assert_eq!(answer.kubelet_starts, Some(true), "{scenario}: {}", stops(&answer));
        assert!(answer.values.is_empty(), "{scenario}: {:#?}", answer.values);
        let lost = answer.pods.iter().filter(|it| it.result.is_lost());
        let lost: Vec<String> = lost.map(|it| format!("{} {:?}", it.pod, it.message)).collect();
        assert!(lost.is_empty(), "{scenario}: {lost:?}");
        assert!(answer.pods.iter().any(|it| it.result == PodResult::Kept), "{scenario}");
    }
}

#[test]
fn a_device_that_is_no_longer_listed_panics_a_kubelet_that_aligns() {
    let with_devices = |numa: i64| {
        move |node: &mut NodeState| {
            let uid = pod(node, "widget").metadata.uid.clone();
            let devices = node.snapshot.devices.get_or_insert_default();
            let found = devices.checkpoint.found.take().map(|it| it.value).unwrap_or_default();
            let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
            let entry = CheckpointEntry {
                pod_uid: uid,
                container_name: "c".to_owned(),
                resource_name: "example.com/widget".to_owned(),
                device_ids: [(numa, ids(&["w0"]))].into(),
                ..CheckpointEntry::default()
            };
            let registered =
                BTreeMap::from([("example.com/widget".to_owned(), ids(&["w0", "w1"]))]);
            let fact = CheckpointFact { entries: vec![entry], registered, absent: false, ..found };
            devices.checkpoint = Lookup::found("a checkpoint", fact);
        }
    };
    let panics = |answer: &WhatIf| {
        answer.kubelet_starts.is_none() && stops(answer).contains("nil pointer dereference")
    };
    let aligned = "topologyManagerPolicy=best-effort device gone w0";
    let answer = edited(&format!("set {aligned}"), with_devices(0));
    assert!(panics(&answer) && answer.gets_worse(), "{:#?}", answer.items);
    for (line, numa) in [
        ("set topologyManagerPolicy=none device gone w0", 0),
        ("set topologyManagerPolicy=best-effort device gone w1", 0),
        ("set topologyManagerPolicy=best-effort device gone w0 device gone w1", 0),
        ("set topologyManagerPolicy=best-effort device gone w0", -1),
    ] {
        let answer = edited(line, with_devices(numa));
        assert!(!panics(&answer), "{line} {numa}: {:#?}", answer.items);
    }
}

#[test]
fn probed_containers_keep_their_readiness_from_1_35_on() {
    let told = |line: &str| {
        let answer = edited(line, |_| {});
        let found = answer.items.iter().find(|it| it.id == "readiness");
        found.and_then(|it| it.facts.get("isKept")?.as_bool())
    };
    assert_eq!(told("kubelet-restart"), Some(true));
    assert_eq!(told("kubelet-version 1.34"), Some(false));
    assert_eq!(told("feature-gates ChangeContainerStatusOnKubeletRestart=true"), Some(false));
    assert_eq!(told("label a=b"), None, "nothing restarts");
}

#[test]
fn a_kubelet_with_another_name_leaves_its_node() {
    let told = |line: &str| {
        let answer = ask(&Recording::of("01-plain").node(), &["flags", line]);
        answer.items.iter().find(|it| it.id == "other-node-name").map(|it| it.facts.clone())
    };
    let facts = told("--hostname-override=other").expect("it is told");
    assert_eq!((&facts["name"], &facts["staticPods"]), (&"other".into(), &2.into()));
    assert_eq!(told("--hostname-override=vm"), None);
    assert_eq!(told("--v=4"), None);
}

/// A node with copies of a pod that were created in one second, after all others or in that of many others.
fn crowded(copies: usize, is_later: bool) -> impl FnOnce(&mut NodeState) {
    move |node| {
        let model = pod(node, "guar").clone();
        let pods = &mut node.snapshot.pods.found.as_mut().expect("pods").value.pods;
        let mut loaded =
            pods.iter().find(|it| it.pod.metadata.name == "guar").cloned().expect("a pod");
        for number in 0..copies {
            loaded.pod = model.clone().into();
            if is_later {
                loaded.pod.metadata.create_after([&model.metadata].into_iter());
            }
            loaded.pod.metadata.name = format!("copy-{number:03}");
            loaded.pod.metadata.uid = format!("copy-{number:03}");
            pods.push(loaded.clone());
        }
    }
}

#[test]
fn pods_of_one_second_are_tried_out_or_all_left_open() {
    let open = |answer: &WhatIf| {
        let pods = answer.pods.iter().filter(|it| it.pod.starts_with("default/copy-"));
        let causes = pods.map(|it| it.depends_on.clone().unwrap_or_default());
        causes.collect::<Vec<_>>()
    };
    let few = open(&edited("set maxPods=30", crowded(20, true)));
    assert_eq!(few.len(), 20);
    assert!(few.iter().all(|it| it.contains("same second in random order")), "{few:?}");
    let many = open(&edited("set maxPods=30", crowded(200, false)));
    assert_eq!(many.len(), 200);
    assert!(many.iter().all(|it| it.ends_with("too many to try")), "{many:?}");
}
