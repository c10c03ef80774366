//! What kq says of a change is what a real kubelet did when it was restarted after it.

mod fatal;
pub mod recording;
mod resize;
mod restart;
mod versions;

use kq_answer::Finding;
use kq_core::question::what_if::{ChangeFiles, NodeState, what_if};
use kq_core::what_if::change::Change;
use kq_core::what_if::{PodOutcome, PodResult, WhatIf, Written, parse};
use kq_facts::config_on_disk::{ConfigContent, ConfigText};
use kq_facts::host::Text;
use kq_facts::kubelet_process::Flag;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::ContainerState;
use kq_facts::stats_summary::{MemoryStats, NodeStats, StatsSummary};
use recording::{Recording, scenarios};
use serde_json::Value;

/// What was done besides the configuration, in the words of `kq what-if`, and in facts.
fn words(scenario: &str) -> &'static str {
    match scenario {
        "08f-reserved-cpus-none" => "state-file missing cpu_manager_state",
        "09-memory-static" | "09b-memory-static-no-reserved" => {
            "state-file missing memory_manager_state"
        }
        "17-plugin-gone-and-back" | "17b-plugin-gone-container-dead" => {
            "plugin gone example.com/widget"
        }
        "18a-allocated-deleted" => {
            "state-file missing allocated_pods_state state-file missing actuated_pods_state"
        }
        "20a-unknown-flag" => "flags --no-such-flag=1",
        "20b-deprecated-flag" => "flags --max-pods=10",
        "20f-flag-and-config" => "flags --max-pods=100",
        "21-taint-noexecute" => "taint kq/x=y:NoExecute",
        "22-hostname-override" => "flags --hostname-override=other",
        _ => "",
    }
}

/// Changes the facts as the scenario did, where no change of kq says so.
fn prepare(scenario: &str, node: &mut NodeState) {
    let stop: &[(&str, &str)] = match scenario {
        "17b-plugin-gone-container-dead" => &[("widget", "c")],
        "12d-limits-with-dead-container" | "12e-cfs-period-dead-container" => {
            &[("guar", "c"), ("burst", "c")]
        }
        "16a-containers-killed" => &[
            ("guar", "c"),
            ("two", "a"),
            ("sidecar", "side"),
            ("burst", "c"),
            ("sel", "c"),
            ("hostport", "c"),
            ("tol", "c"),
        ],
        _ => &[],
    };
    for (pod, name) in stop {
        let pods = node.snapshot.pods.value().expect("pods are known");
        let found = pods.pods.iter().find(|it| it.pod.metadata.name == *pod).expect("the pod");
        let uid = found.pod.metadata.uid.clone();
        let runtime = &mut node.snapshot.runtime.found.as_mut().expect("a runtime").value;
        let containers = &mut runtime.containers.found.as_mut().expect("containers").value;
        for container in containers.iter_mut().filter(|it| it.pod_uid == uid && it.name == *name) {
            container.state = ContainerState::Exited;
        }
    }
    if scenario == "07c-dropin-no-kind" {
        let path = "/var/lib/kubelet/config.d/10-x.conf".to_owned();
        let content = ConfigContent::of(b"maxPods: 50\n");
        node.on_disk.drop_ins.push(ConfigText { path, content });
        let process = node.on_disk.process.as_mut().expect("a command line");
        let value = Some("/var/lib/kubelet/config.d".to_owned());
        process.flags.push(Flag { name: "config-dir".to_owned(), value });
    }
    if scenario == "18c-cpu-state-garbage" {
        let files = &mut node.snapshot.state_files.as_mut().expect("state files").files;
        files.insert("cpu_manager_state".to_owned(), Text::Read("garbage".to_owned()));
    }
    if scenario == "11-memory-pressure" {
        // As the kubelet's log has it.
        let memory = MemoryStats {
            available_bytes: Some(23_668_192 << 10),
            working_set_bytes: Some((24_684_084 - 23_668_192) << 10),
            ..MemoryStats::default()
        };
        let summary = StatsSummary {
            node: NodeStats {
                node_name: "vm".to_owned(),
                memory: Some(memory),
                ..NodeStats::default()
            },
            ..StatsSummary::default()
        };
        node.snapshot.stats_summary = Lookup::found("the recording", summary);
    }
}

/// Runs what-if with the change of a scenario.
fn ask(scenario: &str) -> (Recording, WhatIf) {
    let recording = Recording::of(scenario);
    let mut node = recording.node();
    prepare(scenario, &mut node);
    let file = recording.config_after();
    let mut words: Vec<String> = words(scenario).split_whitespace().map(str::to_owned).collect();
    words.push("kubelet-restart".to_owned());
    let after = recording.text("after-config.yaml");
    let is_changed =
        serde_json::from_str(&after).ok() != Some(recording.json("before-config.yaml"));
    let mut files = ChangeFiles::default();
    if is_changed {
        words.extend(["config".to_owned(), file.clone()]);
        files.config = Some(ConfigContent::of(recording.text("after-config.yaml").as_bytes()));
    }
    let changes: Vec<Change> = parse(&words).expect("changes");
    let answer = what_if(&node, &changes, &files);
    (recording, answer.unwrap_or_else(|failure| panic!("{scenario}: {}", failure.reason())))
}

fn start_text(answer: &WhatIf) -> String {
    let start = answer.items.iter().find(|it| it.id == "kubelet-start");
    let fact =
        |finding: &Finding| finding.facts.get("text").and_then(Value::as_str).map(str::to_owned);
    start.and_then(fact).unwrap_or_default()
}

/// Distinguishes the last kubelet of this tree from that of Kubernetes, which rejects unknown gates.
fn is_of_other_tree(scenario: &str) -> bool {
    ["05-unknown-gate", "06c-removed-gate"].contains(&scenario)
}

#[test]
fn the_kubelet_starts_where_it_started_and_stops_with_its_words() {
    let mut wrong = Vec::new();
    for scenario in scenarios() {
        let (recording, answer) = ask(&scenario);
        let said = start_text(&answer);
        if is_of_other_tree(&scenario) {
            if !said.contains("unrecognized feature gate") {
                wrong.push(format!("{scenario}: {said:?}"));
            }
            continue;
        }
        let ran = recording.outcome["kubelet"] == "running";
        let text = recording.outcome["attempts_that_exited"][0]["text"].as_array();
        let lines = text.into_iter().flatten().filter_map(Value::as_str);
        let text = lines.collect::<Vec<_>>().join("\n");
        // The kubelet's log escapes quotes, and indents the lines of an error.
        let plain = |text: &str| text.replace(['\\', '"', '\n', '\t'], "");
        let is_right = answer.kubelet_starts == Some(ran)
            && (ran || plain(&text).contains(plain(&said).trim()));
        if !is_right {
            wrong.push(format!(
                "{scenario}: {:?} {said:?}\n    recorded {ran} {text}",
                answer.kubelet_starts
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_pod_ends_as_it_ended_or_was_left_open() {
    let mut wrong = Vec::new();
    for scenario in scenarios() {
        let (recording, answer) = ask(&scenario);
        if recording.outcome["kubelet"] != "running" || is_of_other_tree(&scenario) {
            continue;
        }
        let pods = recording.outcome["pods"].as_object().expect("pods");
        for (name, was) in pods {
            if let Some(problem) = differs(answer.pods.iter().find(|it| it.pod == *name), was) {
                wrong.push(format!("{scenario}: {name}: {problem}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns how an outcome differs from what happened.
fn differs(said: Option<&PodOutcome>, was: &Value) -> Option<String> {
    let result = was["result"].as_str().unwrap_or_default();
    let Some(said) = said else {
        return (!result.starts_with("no running container"))
            .then(|| format!("nothing said, was {result}"));
    };
    let fits = |it: PodResult| match result {
        "kept" => matches!(it, PodResult::Kept),
        "refused" => it == PodResult::Refused,
        "preempted" => it == PodResult::Preempted,
        "evicted" => it == PodResult::Evicted,
        "containers changed" => it == PodResult::Restarts,
        // It ended, and no record shows how.
        "ended" => it.is_lost(),
        "replaced" => true,
        _ => matches!(it, PodResult::Kept | PodResult::Restarts),
    };
    if !fits(said.result) && !said.or_else.iter().copied().any(fits) {
        return Some(format!("said {} {:?}, was {result}", said.result, said.reason));
    }
    let reason = was["refused_reason"].as_str().unwrap_or_default();
    if result == "refused" && !reason.is_empty() {
        let masked = |text: &str| {
            let mut parts =
                text.split(", ").map(|part| if part.starts_with("used: ") { "used" } else { part });
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |all, part| format!("{all}, {part}"))
        };
        let message = was["refused_message"].as_str().unwrap_or_default();
        let told = said.message.clone().unwrap_or_default();
        if said.reason.as_deref() != Some(reason) || masked(told.trim()) != masked(message.trim()) {
            return Some(format!("said {:?} {told:?}, was {reason} {message:?}", said.reason));
        }
    }
    None
}

#[test]
fn the_node_and_its_cgroup_change_as_they_did() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for scenario in scenarios() {
        let (recording, answer) = ask(&scenario);
        if recording.outcome["kubelet"] != "running" || is_of_other_tree(&scenario) {
            continue;
        }
        let node = recording.outcome["node"]["vm"].as_object().cloned().unwrap_or_default();
        for (field, values) in &node {
            let Some(resource) = field.strip_prefix("allocatable.") else { continue };
            let said = answer.items.iter().find(|it| {
                it.id == "allocatable"
                    && it.facts.get("resource").and_then(Value::as_str) == Some(resource)
            });
            let said = said.and_then(|it| it.facts.get("after")).cloned().unwrap_or_default();
            compared += 1;
            if said != values[1] && !resource.contains('/') {
                wrong.push(format!(
                    "{scenario}: allocatable {resource}: said {said}, was {}",
                    values[1]
                ));
            }
        }
        let changes = recording.outcome["cgroup_changes"].as_array().cloned().unwrap_or_default();
        for change in changes.iter().filter(|it| it["cgroup"] == "/kubepods") {
            let said = answer.values.iter().find(|it| {
                it.written == Written::AtStart
                    && Some(&*it.file) == change["file"].as_str()
                    && it.pod.is_none()
            });
            compared += 1;
            if said.and_then(|it| it.after.as_deref()) != change["after"].as_str() {
                wrong.push(format!("{scenario}: {change}: said {said:?}"));
            }
        }
    }
    assert!(wrong.is_empty() && compared > 5, "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn words_of(line: &str) -> Vec<Change> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&words).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn asked(node: &NodeState, line: &str) -> WhatIf {
    let answer = what_if(node, &words_of(line), &ChangeFiles::default());
    answer.unwrap_or_else(|failure| panic!("{line}: {}", failure.reason()))
}

#[test]
fn no_change_changes_nothing() {
    let node = Recording::of("01-plain").node();
    let answer = what_if(&node, &[], &ChangeFiles::default()).expect("an answer");
    assert!(answer.values.is_empty() && !answer.gets_worse(), "{:#?}", answer.items);
    assert!(answer.pods.iter().all(|pod| pod.result == PodResult::Kept), "{:#?}", answer.pods);
    for line in ["set maxPods=110", "label disk=ssd", "set systemReserved.cpu=100m"] {
        let answer = asked(&node, line);
        assert!(answer.values.is_empty() && !answer.gets_worse(), "{line}: {:#?}", answer.items);
    }
}

#[test]
fn changes_may_come_in_any_order() {
    let mut node = Recording::of("01-plain").node();
    let pods = &mut node.snapshot.pods.found.as_mut().expect("pods").value.pods;
    // Each of another minute: to look for all orders of one second takes longest, and is no matter here.
    for (pod, minute) in pods.iter_mut().zip(0..) {
        let created = &mut pod.pod.metadata.creation_timestamp;
        *created = created.map(|it| it + jiff::SignedDuration::from_mins(minute));
    }
    let lines = [
        "set maxPods=12",
        "set systemReserved.cpu=700m",
        "taint a=b:NoExecute",
        "label disk=hdd",
        "plugin gone example.com/widget",
        "feature-gates MemoryQoS=true",
        "state-file missing allocated_pods_state",
        "kubelet-version 1.35",
    ];
    for (at, one) in lines.iter().enumerate() {
        for other in &lines[at + 1..] {
            let (there, back) =
                (asked(&node, &format!("{one} {other}")), asked(&node, &format!("{other} {one}")));
            let back = WhatIf { changes: there.changes.clone(), ..back };
            assert_eq!(there, back, "{one} and {other}");
        }
    }
}

#[test]
fn what_the_node_cannot_have_is_refused_by_name() {
    let node = Recording::of("01-plain").node();
    for (line, expected) in [
        ("label nosuch-", "label nosuch-: the node has no label nosuch"),
        ("taint a:NoSchedule-", "taint a:NoSchedule-: the node does not have this taint"),
        ("remove default/bee", "remove default/bee: no pod default/bee on this node"),
        ("resize default/two cpu=1", "resize default/two cpu=1: the pod has 2 containers"),
        ("device gone w9", "device gone w9: no plugin lists such a device"),
        ("plugin gone a/b", "plugin gone a/b: the node does not have this resource"),
        ("state-file missing passwd", "state-file: the kubelet has no file passwd"),
        (
            "resize default/be cpu=3",
            "resize default/be cpu=3: the QoS class would not be BestEffort any more",
        ),
        (
            "resize default/guar cpu=1,cpu-limit=500m",
            "resize default/guar cpu=1,cpu-limit=500m: cpu: the request 1 is above the limit 500m",
        ),
        ("disk 90", "disk 90: no file system of the node is known"),
        (
            "memory-available 1Gi",
            "memory-available 1Gi: the kubelet's measurement of memory is unknown",
        ),
    ] {
        let failure = what_if(&node, &words_of(line), &ChangeFiles::default()).expect_err(line);
        assert_eq!(failure.reason(), expected, "{line}");
    }
}

#[test]
fn a_change_without_a_restart_tells_of_the_next_one() {
    let node = Recording::of("01-plain").node();
    let of = |line: &str, id: &str| {
        let answer = asked(&node, line);
        assert!(!answer.kubelet_restarts, "{line}");
        let found = answer.items.iter().filter(|it| it.id == id);
        found.map(|it| it.subject.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of("label disk=hdd", "next-start"), ["default/sel"]);
    assert!(of("taint kq/x=y:NoSchedule", "next-start").is_empty());
    let deleted = of("taint kq/x=y:NoExecute", "pod");
    assert!(
        deleted.contains(&"default/be".to_owned()) && !deleted.contains(&"default/tol".to_owned())
    );
    assert_eq!(of("resize default/burst cpu=3,cpu-limit=3", "pod"), ["default/burst"]);
}
