//! What an operator would ask before each recorded change: the answers beside what became of pods and values.

use super::{FACTS, name, recordings, snapshot, text};
use crate::cli::{folder_with, kq, repository};
use serde_json::Value;
use std::collections::BTreeSet;

/// A question of `kq what-if` about a recording.
#[derive(Default)]
struct Question {
    recording: &'static str,
    change: &'static str,
    /// Files of the recording that the change names.
    files: &'static [&'static str],
    /// Cgroups that were made before the change.
    cgroups: &'static [&'static str],
    /// Pods that are not compared: the recording has more to it than the change.
    pods: &'static [&'static str],
    /// Files that are not compared, by the end of their cgroup, for a reason that the recording has.
    values: &'static [(&'static str, &'static str)],
}

const NONE: Question =
    Question { recording: "", change: "", files: &[], cgroups: &[], pods: &[], values: &[] };

/// What is not that of a kubelet that has run for a minute: the snapshot was taken within the first one.
const FIRST_MINUTE: &[(&str, &str)] = &[
    ("kubepods.slice", "hugetlb.1GB.max"),
    ("kubepods.slice", "hugetlb.1GB.rsvd.max"),
    ("kubepods.slice", "hugetlb.2MB.max"),
    ("kubepods.slice", "hugetlb.2MB.rsvd.max"),
    ("kubepods-burstable.slice", "cpu.weight"),
];

const QUESTIONS: &[Question] = &[
    Question {
        recording: "02-kubelet-restart",
        change: "kubelet-restart",
        // The values of the container of huge, which starts.
        values: &[(".scope", "")],
        ..NONE
    },
    Question {
        recording: "10-system-reserved-cpu",
        change: "set systemReserved.cpu=1900m",
        // The kubelet before had refused these; they had not ended yet.
        pods: &["default/huge", "default/lim-333"],
        // The pods that end go one after the other.
        values: &[("kubepods-burstable.slice", "cpu.weight")],
        ..NONE
    },
    Question {
        recording: "11-memory-qos",
        // The pod was made while the change was watched.
        change: "feature-gates MemoryQoS=true set memoryReservationPolicy=TieredReservation add swapeq.json",
        files: &["swapeq.json"],
        ..NONE
    },
    Question {
        recording: "13-cpu-static-state-removed",
        change: "set cpuManagerPolicy=static set systemReserved.cpu=500m state-file missing cpu_manager_state",
        // crun's: the runtime writes into the scope, and the kernel has it below too.
        values: &[("/container", "cpuset.cpus")],
        ..NONE
    },
    Question {
        recording: "16-pids-limit",
        change: "set podPidsLimit=200",
        values: FIRST_MINUTE,
        ..NONE
    },
    Question {
        recording: "21-enforce-compressible",
        change: "config after-config.yaml",
        files: &["after-config.yaml"],
        cgroups: &["/runtime.slice"],
        values: FIRST_MINUTE,
        ..NONE
    },
    Question {
        recording: "22-swap-limited",
        change: "set memorySwap.swapBehavior=LimitedSwap",
        ..NONE
    },
    Question {
        recording: "30-resize-up",
        change: "resize lim-333:c cpu=120m,cpu-limit=500m,memory-limit=64Mi \
                 resize g100 cpu=155m,memory=80Mi,cpu-limit=155m,memory-limit=80Mi \
                 resize lim-1501 cpu-limit=417m",
        // A container of it started late.
        pods: &["default/sidecar"],
        ..NONE
    },
    Question {
        recording: "32-admission",
        change: "add no-cpu.json add no-mem.json add no-sel.json add no-dev.json add no-pod-eph.json",
        files: &["no-cpu.json", "no-mem.json", "no-sel.json", "no-dev.json", "no-pod-eph.json"],
        // A pod had been deleted just before.
        values: &[("kubepods-burstable.slice", "cpu.weight")],
        ..NONE
    },
    Question {
        recording: "34-preempt-static",
        change: "add static st-need.json",
        files: &["st-need.json"],
        ..NONE
    },
    Question {
        recording: "36-memory-eviction",
        change: "config after-config.yaml",
        files: &["after-config.yaml"],
        ..NONE
    },
    Question {
        recording: "42-reboot",
        change: "reboot",
        // The kernel left 8 KiB less after the boot.
        values: &[("kubepods.slice", "memory.max")],
        ..NONE
    },
    Question { recording: "43-driver-switch", change: "runtime driver=cgroupfs", ..NONE },
];

/// Reads a file of a recording.
fn file(recording: &str, file: &str) -> String {
    let path = repository().join("tests/nodes-v2").join(recording).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn outcome(recording: &str) -> Value {
    serde_json::from_str(&file(recording, "outcome.json")).expect("JSON")
}

/// Asks about a snapshot, with files of the recording beside it.
fn ask(recording: &str, moment: &str, files: &[&str], cgroups: &[&str], line: &str) -> Value {
    let folder = repository().join("tests/nodes-v2").join(recording);
    let mut node = snapshot(&folder, moment).expect("a snapshot");
    if !cgroups.is_empty() {
        let mut parsed: Value = serde_json::from_str(&node).expect("JSON");
        let tree = &mut parsed["cgroups"]["found"]["value"]["cgroups"];
        let like = tree["/dev-mqueue.mount"].clone();
        cgroups.iter().for_each(|cgroup| tree[*cgroup] = like.clone());
        node = parsed.to_string();
    }
    let mut all = vec![("node.json".to_owned(), node)];
    all.extend(files.iter().map(|it| ((*it).to_owned(), file(recording, it))));
    let all: Vec<(&str, String)> = all.iter().map(|(name, text)| (&**name, text.clone())).collect();
    let folder = folder_with(&all);
    let ran = kq(&format!("{line} --snapshot node.json -o json")).within(folder.path()).run();
    ran.answer()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns what became of a pod, and the reason with the message of one that ended; `None`: the recording does not show it.
fn became(pod: &str, was: &Value, gone: &str) -> Option<(&'static str, String)> {
    let events = list(&was["events"]).iter().filter_map(Value::as_str);
    let is_refusal = |it: &&str| {
        ["OutOf", "UnexpectedAdmissionError", "NodeAffinity"]
            .iter()
            .any(|reason| it.starts_with(reason))
    };
    let after = &was["after"];
    let status = format!(
        "{}: {}",
        text(after, "reason"),
        text(after, "message").trim_start_matches("Pod was rejected: ")
    );
    if let Some(refusal) = events.clone().chain([&*status]).find(is_refusal) {
        return Some(("refused", refusal.trim().to_owned()));
    }
    if events.clone().any(|it| it.starts_with("Preempting: ")) {
        return Some(("preempted", String::new()));
    }
    let container = after["containers"].as_object().and_then(|all| all.values().next());
    let is_gone = container.and_then(Value::as_str).and_then(|it| it.split("id=").nth(1));
    match text(was, "result") {
        // The API server had not heard of it yet.
        "kept" if is_gone.is_some_and(|id| id.len() > 4 && gone.contains(id)) => {
            Some(("restarts", String::new()))
        }
        "kept" => Some(("kept", String::new())),
        "containers changed" => Some(("restarts", String::new())),
        "new" => Some(("starts", String::new())),
        "no running container before nor after" => None,
        other => panic!("{pod}: {other}"),
    }
}

/// Returns a message without the amount in use, and that amount or its range.
fn masked(message: &str) -> (String, Option<(i64, i64)>) {
    let Some((before, rest)) = message.split_once("used: ") else {
        return (message.to_owned(), None);
    };
    let (used, after) = rest.split_once(", ").unwrap_or((rest, ""));
    let ends: Vec<i64> = used.split(" to ").filter_map(|it| it.parse().ok()).collect();
    let range = ends.first().copied().zip(ends.last().copied());
    (format!("{before}used, {after}"), range)
}

/// Returns true if a message said of a pod has what the kubelet said.
fn says(said: &str, was: &str) -> bool {
    let ((said_text, range), (text, used)) = (masked(said), masked(was));
    match (range, used) {
        (Some((least, most)), Some((used, _))) => {
            said_text == text && (least..=most).contains(&used)
        }
        _ => said.split(" or ").any(|one| one == was),
    }
}

fn compare_pods(question: &Question, said: &Value, outcome: &Value, wrong: &mut Vec<String>) {
    let gone = outcome["cgroups_gone"].to_string();
    for (pod, was) in outcome["pods"].as_object().expect("pods") {
        let Some((result, why)) = became(pod, was, &gone) else { continue };
        if question.pods.contains(&pod.as_str()) {
            continue;
        }
        let about = format!("{}: {pod}", question.recording);
        let Some(found) = list(&said["pods"]).iter().find(|it| text(it, "pod") == pod) else {
            // It was made later, for another question.
            if result != "starts" {
                wrong.push(format!("{about}: nothing is said, was {result}"));
            }
            continue;
        };
        let or_else = list(&found["orElse"]).iter().filter_map(Value::as_str);
        let mut results = or_else.clone().chain([text(found, "result")]);
        if !results.any(|it| it == result) {
            wrong.push(format!("{about}: {found}, was {result} {why}"));
        }
        if or_else.count() > 0 && text(found, "dependsOn").is_empty() {
            wrong.push(format!("{about}: open for no reason"));
        }
        let Some((reason, message)) = why.split_once(": ") else { continue };
        let has_reason = text(found, "reason").split(" or ").any(|it| it == reason);
        if !(has_reason && says(text(found, "message"), message)) {
            wrong.push(format!("{about}: {found}, was {why}"));
        }
    }
}

/// Returns the values that are there for up to a minute after a start, as a finding says.
fn transient(said: &Value) -> BTreeSet<(String, String)> {
    let items = list(&said["items"]).iter();
    let of = |it: &Value| {
        let value = text(&it["facts"], "value").to_owned();
        let files = ["file", "reserved"].map(|field| text(&it["facts"], field).to_owned());
        files.map(|file| (file, value.clone()))
    };
    items
        .filter(|it| matches!(text(it, "id"), "qos-cgroups-reset" | "huge-pages-reset"))
        .flat_map(of)
        .collect()
}

/// Returns true if the kernel keeps this of a value: whole pages.
fn is_kept(said: &str, has: &str) -> bool {
    let pages = |text: &str| text.parse::<u64>().ok().map(|bytes| bytes - bytes % 4096);
    said == has || pages(said).is_some_and(|kept| kept > 0 && Some(kept) == pages(has))
}

fn compare_values(question: &Question, said: &Value, outcome: &Value, wrong: &mut Vec<String>) {
    let changed = outcome["cgroups_changed"].as_object().expect("changes");
    let is_left_out = |cgroup: &str, file: &str| {
        let mut all = question.values.iter();
        all.any(|(end, name)| cgroup.ends_with(end) && (name.is_empty() || *name == file))
    };
    let mut told: BTreeSet<(&str, &str)> = BTreeSet::new();
    for row in list(&said["values"]) {
        let (cgroup, file) = (text(row, "cgroup"), text(row, "file"));
        told.insert((cgroup, file));
        let is_later = matches!(text(row, "written"), "atContainerStart" | "withPod");
        let was = changed.get(cgroup).and_then(|files| files.get(file));
        let seen = changed.get(cgroup).and_then(|files| files.get(format!("seen:{file}")));
        let mut values = list(was.unwrap_or(&Value::Null)).iter().skip(1);
        let mut seen = list(seen.unwrap_or(&Value::Null)).iter().filter_map(|it| it.get(2));
        let is_new = question.cgroups.iter().any(|it| cgroup.starts_with(it));
        let after = text(row, "after");
        let has_it = |it: &Value| is_kept(after, it.as_str().unwrap_or_default());
        let is_right = match is_later {
            true => was.is_none(),
            false => values.any(has_it) || seen.any(has_it),
        };
        if !is_right && !is_new && !is_left_out(cgroup, file) {
            wrong.push(format!("{}: {row}, was {was:?}", question.recording));
        }
    }
    let transient = transient(said);
    for (cgroup, files) in changed {
        for (file, was) in files.as_object().expect("files") {
            let name = file.trim_start_matches("seen:");
            if told.contains(&(cgroup, name)) || is_left_out(cgroup, name) {
                continue;
            }
            // There and back again: what was there before, or what is there for a minute.
            let steps = if file == name { Vec::new() } else { list(was).to_vec() };
            let first = steps.first().map(|it| it[1].clone());
            let is_said = !steps.is_empty()
                && steps.iter().all(|step| {
                    let to = text_at(step, 2);
                    transient.contains(&(name.to_owned(), to.to_owned()))
                        || first.as_ref().and_then(Value::as_str) == Some(to)
                });
            if !is_said {
                wrong.push(format!(
                    "{}: {cgroup} {file}: nothing is said, was {was}",
                    question.recording
                ));
            }
        }
    }
}

fn text_at(value: &Value, at: usize) -> &str {
    value[at].as_str().unwrap_or_default()
}

#[test]
fn what_if_foretells_what_became_of_pods_and_values() {
    let mut wrong = Vec::new();
    for question in QUESTIONS {
        let Question { recording, change, files, cgroups, .. } = question;
        let said = ask(recording, "before", files, cgroups, &format!("what-if {change}"));
        let outcome = outcome(recording);
        compare_pods(question, &said, &outcome, &mut wrong);
        compare_values(question, &said, &outcome, &mut wrong);
        for (field, values) in outcome["node"].as_object().expect("a node") {
            let Some(resource) = field.strip_prefix("allocatable.") else { continue };
            let is_it = |it: &&Value| {
                text(it, "id") == "allocatable" && text(&it["facts"], "resource") == resource
            };
            let after = list(&said["items"]).iter().find(is_it).map(|it| &it["facts"]["after"]);
            // The snapshot was taken before the kubelet had reported; the kernel left 8 KiB less after the boot.
            let is_left_out = [("10-system-reserved-cpu", "pods"), ("42-reboot", "memory")]
                .contains(&(*recording, resource));
            if after != Some(&values[1]) && !is_left_out {
                wrong.push(format!("{recording}: {field}: said {after:?}, was {values}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_order_of_the_sources_is_left_open() {
    // The kubelet came to its folder after the API server's pods, and refused the static pod.
    let said =
        ask("10-system-reserved-cpu", "before", &[], &[], "what-if set systemReserved.cpu=1900m");
    let of = |pod: &str| {
        let found = list(&said["pods"]).iter().find(|it| text(it, "pod") == pod).expect("a pod");
        let or_else: Vec<&str> = list(&found["orElse"]).iter().filter_map(Value::as_str).collect();
        format!("{} {}", text(found, "result"), or_else.join(" "))
    };
    assert_eq!(of("kube-system/st-g100-vm"), "kept refused");
    assert_eq!(of("kube-system/crit"), "refused kept");
    assert_eq!(of("default/g100"), "refused ");
}

#[test]
fn a_kubelet_that_dies_has_written_before() {
    // Without the slice of the runtime, the kubelet ends there: it has limited the slice of the system.
    let files = &["after-config.yaml"];
    let line = "what-if config after-config.yaml";
    let said = ask("21-enforce-compressible", "before", files, &[], line);
    assert_eq!(said["kubeletStarts"], false);
    let values = list(&said["values"]);
    let outcome = outcome("21-enforce-compressible");
    let was = outcome["cgroups_changed"]["/system.slice"].as_object().expect("a slice");
    let is_of_system = |it: &&Value| text(it, "cgroup") == "/system.slice";
    let of_system: Vec<&Value> = values.iter().filter(is_of_system).collect();
    assert_eq!(of_system.len(), was.len(), "{of_system:#?}");
    for row in of_system {
        assert_eq!(row["after"], was[text(row, "file")][1], "{row}");
        assert_eq!(text(row, "written"), "atStart", "{row}");
    }
    let perhaps = |file: &str| {
        let mut all = values.iter().filter(|it| text(it, "written") == "perhapsAtStart");
        all.any(|it| text(it, "file") == file)
    };
    assert!(perhaps("memory.max") && perhaps("cpu.weight"), "{values:#?}");
    assert!(!values.iter().any(|it| text(it, "cgroup") == "/runtime.slice"), "{values:#?}");
}

#[test]
fn pods_that_do_not_fit_are_refused_with_these_words() {
    let outcome = outcome("32-admission");
    for pod in ["no-cpu", "no-mem", "no-sel", "no-dev", "no-pod-eph"] {
        let manifest = format!("{pod}.json");
        let line = format!("admit explain {manifest}");
        let said = ask("32-admission", "before", &[&manifest], &[], &line);
        let was = &outcome["pods"][format!("default/{pod}")];
        let (result, why) = became(pod, was, "").expect("a result");
        assert_eq!(said["admitted"], result == "starts", "{pod}: {said}");
        let refusal = said["refusals"]
            .get(0)
            .map(|it| format!("{}: {}", text(it, "reason"), text(it, "message").trim_end()));
        assert_eq!(refusal.unwrap_or_default(), why, "{pod}");
    }
}

#[test]
fn a_static_pod_takes_the_place_of_those_that_it_took() {
    let line = "preempt explain --static st-need.json";
    let said = ask("34-preempt-static", "before", &["st-need.json"], &[], line);
    let victims: BTreeSet<&str> = list(&said["victims"]).iter().map(|it| text(it, "pod")).collect();
    let outcome = outcome("34-preempt-static");
    let pods = outcome["pods"].as_object().expect("pods").iter();
    let ended: BTreeSet<&str> = pods
        .filter(|(_, was)| text(was, "result") == "ended")
        .map(|(pod, _)| pod.as_str())
        .collect();
    assert_eq!(victims, ended, "{said:#}");
}

#[test]
fn the_pods_are_ranked_as_the_kubelet_ranked_them() {
    let said = ask("36-memory-eviction", "mid", &[], &[], "evict rank --signal memory");
    let ranked = [
        "hog-be",
        "hog-mem",
        "be",
        "oddmem",
        "multi",
        "lim-333",
        "sidecar",
        "swapper",
        "req-only",
        "podlevel",
        "g100",
        "st-g100-vm",
        "crit",
    ];
    for (at, pod) in ranked.iter().enumerate() {
        let is_it = |it: &&Value| text(it, "name") == *pod;
        let row =
            list(&said["items"]).iter().find(is_it).unwrap_or_else(|| panic!("{pod}: {said:#}"));
        let first = row["rank"].as_u64().unwrap_or_default();
        let last = row["lastRank"].as_u64().unwrap_or(first);
        assert!((first..=last).contains(&(at as u64 + 1)), "{pod} is {at}: {row}");
    }
    let first = &outcome("36-memory-eviction")["pods"]["default/hog-be"]["after"];
    assert_eq!(text(first, "reason"), "Evicted");
}

#[test]
fn pods_get_some_of_the_devices_that_they_got() {
    // What the plugin prefers is not in the snapshot, so that any set is possible.
    for (pod, containers) in
        [("dev1", &[("c", &["w3"][..])][..]), ("dev2", &[("a", &["w0", "w1"]), ("b", &["w2"])])]
    {
        let manifest = format!("{pod}.json");
        let line = format!("devices plan {manifest}");
        let said = ask("39-devices", "mid", &[&manifest], &[], &line);
        let rows = list(&said["pods"][0]["containers"]);
        assert_eq!(
            (said["pods"][0]["admitted"] == true, rows.len()),
            (true, containers.len()),
            "{said:#}"
        );
        for (row, (container, devices)) in rows.iter().zip(containers) {
            let resource = &row["resources"][0];
            assert_eq!(text(row, "container"), *container, "{row}");
            assert_eq!(resource["requested"], devices.len(), "{row}");
            let any = list(&resource["anyOf"]["candidates"]);
            let is_possible = devices.iter().all(|it| any.iter().any(|one| one == it));
            assert!(is_possible, "{devices:?}: {row}");
        }
        let was = &outcome("39-devices")["pods"][format!("default/{pod}")];
        assert_eq!(became(pod, was, "").map(|it| it.0), Some("starts"));
    }
}

#[test]
fn containers_are_killed_whose_liveness_probe_fails() {
    let outcome = outcome("41-probes");
    for pod in [
        "pr-exec-fail",
        "pr-exec-timeout",
        "pr-grpc-refused",
        "pr-http-404",
        "pr-http-ok",
        "pr-tcp-refused",
    ] {
        let manifest = format!("{pod}.json");
        let line = format!("probe plan {manifest}");
        let said = ask("41-probes", "before", &[&manifest], &[], &line);
        let timeline = list(&said["probes"][0]["timeline"]);
        let may_be_killed = timeline.iter().any(|it| text(it, "what") == "killed");
        let state = &outcome["pods"][format!("default/{pod}")]["after"]["containers"]["c"];
        let restarted = !state.as_str().unwrap_or_default().contains("restarts=0");
        assert_eq!(may_be_killed, restarted, "{pod}: {state}");
    }
}

#[test]
fn apply_writes_what_it_wrote() {
    let said = ask(
        "07-apply-reload-rollback",
        "before",
        &[],
        &[],
        &format!("cgroup apply --dry-run {FACTS}"),
    );
    let outcome = outcome("07-apply-reload-rollback");
    let steps = list(&said["items"]);
    let mut compared = 0;
    for (cgroup, files) in outcome["cgroups_changed"].as_object().expect("changes") {
        for (file, seen) in files.as_object().expect("files") {
            let name = file.trim_start_matches("seen:");
            let is_it = |it: &&Value| text(it, "cgroup") == cgroup && text(it, "file") == name;
            let step =
                steps.iter().find(is_it).unwrap_or_else(|| panic!("{cgroup} {name}: {said:#}"));
            assert_eq!(
                (text(step, "from"), text(step, "to")),
                (text_at(&seen[0], 1), text_at(&seen[0], 2))
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 5);
}

#[test]
fn what_was_written_beside_the_kubelet_is_found_afterwards() {
    // The snapshot before the next change has what this one left.
    for (recording, next) in [
        ("03-set-property-runtime", "05-written-by-hand"),
        ("05-written-by-hand", "07-apply-reload-rollback"),
    ] {
        let said = ask(next, "before", &[], &[], &format!("cgroup diff {FACTS}"));
        for (cgroup, files) in outcome(recording)["cgroups_changed"].as_object().expect("changes") {
            for (file, was) in files.as_object().expect("files") {
                if file.starts_with("seen:") {
                    continue;
                }
                let is_it = |it: &&Value| text(it, "cgroup") == cgroup && text(it, "file") == file;
                let row = list(&said["items"]).iter().find(is_it);
                let row = row.unwrap_or_else(|| panic!("{recording}: {cgroup} {file}"));
                assert!(matches!(text(row, "verdict"), "DRIFT" | "EXTRA"), "{recording}: {row}");
                // systemd writes its own value again.
                let is_by_systemd = text(&row["setBy"], "code") == "systemd";
                let is_right = text(row, "actual") == text_at(was, 1) || is_by_systemd;
                assert!(is_right, "{recording}: {row}, was {was}");
            }
        }
    }
}

#[test]
fn each_recording_is_asked_about() {
    let asked: BTreeSet<&str> = QUESTIONS.iter().map(|it| it.recording).collect();
    let by_other_commands = [
        "00-base-34-pods",
        "03-set-property-runtime",
        "05-written-by-hand",
        "07-apply-reload-rollback",
        "39-devices",
        "41-probes",
    ];
    for recording in recordings() {
        let name = name(&recording);
        assert!(asked.contains(&*name) || by_other_commands.contains(&&*name), "{name}");
    }
}
