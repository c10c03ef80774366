//! The comparisons of two commands each.

use super::Answers;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A comparison; differences go to the list.
type Compare = fn(&Answers, &mut Vec<String>);

/// All of them, each with its name.
pub const PAIRS: &[(&str, Compare)] = &[
    ("doctor image-gc, gc dry-run", image_gc),
    ("doctor eviction, evict rank", eviction),
    ("doctor eviction, gc dry-run --trigger eviction", reclaim),
    ("gc dry-run --trigger eviction, evict rank", victim),
    ("doctor devices, devices list", devices),
    ("doctor cgroup-values, cgroup diff", cgroup_values),
    ("doctor, gc lint", |node, found| lint(node, "gc lint", found)),
    ("doctor, probe lint", |node, found| lint(node, "probe lint", found)),
    ("doctor kubelet-start, what-if kubelet-restart", start),
    ("doctor kubelet-restart, admit explain --kubelet-restart", restart),
    ("what-if kubelet-restart, admit explain --kubelet-restart", restart_of_what_if),
    ("what-if kubelet-restart, admit explain --kubelet-restart: containers", stopped_at_restart),
    ("devices plan --kubelet-restart, admit explain --kubelet-restart", restart_with_devices),
    ("what-if reboot, devices plan --reboot", reboot),
    ("what-if device gone, devices plan --unhealthy", device_gone),
    ("doctor preemption-headroom, preempt explain", headroom),
    ("doctor ended-pods, preempt why", ended),
    ("what-if add, admit explain", add),
    ("what-if add static, preempt explain --static", add_static),
    ("what-if set, cgroup plan --set", set),
    ("what-if set, allocatable --set", allocatable),
    ("what-if disk, gc dry-run --at-usage", disk),
    ("fleet ask, doctor", fleet),
    ("fleet ask, devices list", fleet_devices),
    ("fleet what-if, what-if", fleet_what_if),
    ("what-if --cgroup-driver, cgroup plan --cgroup-driver", driver),
    ("version, doctor", version),
    ("doctor POD, the commands of its page", page_of_a_pod),
    ("report, the commands of its cards", cards),
    ("the facts of all answers", facts),
];

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn rows<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value[field].as_array().into_iter().flatten()
}

/// Returns the findings of a rule.
fn findings<'v>(answer: &'v Value, id: &'v str) -> impl Iterator<Item = &'v Value> {
    rows(answer, "items").filter(move |it| it["id"] == id)
}

fn differ(found: &mut Vec<String>, what: &str, one: &Value, other: &Value) {
    if one != other {
        found.push(format!("{what}: {one}, and {other}"));
    }
}

fn image_gc(node: &Answers, found: &mut Vec<String>) {
    let Some(doctor) = node.ask("doctor") else { return };
    let Some(own) = findings(&doctor, "image-gc").next() else {
        return found.push("doctor has no finding".to_owned());
    };
    let Some(plan) = node.ask("gc dry-run") else {
        return differ(found, "state", &own["facts"]["state"], &json!("unknown"));
    };
    let state = match (&plan["run"]["wantsSpace"], &plan["outcome"]["error"]) {
        (Value::Bool(true), Value::Null) => "due",
        (Value::Bool(true), _) => "fallsShort",
        (_, Value::String(_)) => "fails",
        (Value::Bool(false), _) => "ok",
        _ => "unknown",
    };
    differ(found, "state", &own["facts"]["state"], &json!(state));
    if state == "due" {
        differ(found, "images", &own["facts"]["images"], &plan["freed"]["images"]);
        differ(found, "bytes", &own["facts"]["freedBytes"], &plan["freed"]["countedBytes"]);
    }
}

const SIGNALS: [&str; 4] =
    ["memory.available", "nodefs.available", "imagefs.available", "pid.available"];

fn eviction(node: &Answers, found: &mut Vec<String>) {
    let Some(doctor) = node.ask("doctor") else { return };
    for signal in SIGNALS {
        let Some(rank) = node.ask(&format!("evict rank --signal {signal}")) else { continue };
        let own: Vec<&Value> = findings(&doctor, "eviction")
            .filter(|it| it["facts"]["signal"] == signal && it["facts"]["state"] != "unknown")
            .collect();
        let crossed = rows(&rank, "thresholds").filter(|row| {
            row["signal"] == signal && row["margin"].as_i64().is_some_and(|it| it < 0)
        });
        let of_doctor = own.iter().filter(|it| it["facts"]["state"] == "crossed").count();
        differ(found, signal, &json!(of_doctor), &json!(crossed.count()));
        for finding in own {
            let facts = &finding["facts"];
            let row = rows(&rank, "thresholds")
                .find(|row| row["signal"] == signal && row["threshold"] == facts["threshold"]);
            let Some(row) = row else {
                found.push(format!("{signal}: evict rank has no threshold {}", facts["threshold"]));
                continue;
            };
            differ(found, signal, &facts["available"], &row["available"]);
            let first: Vec<String> = rows(&rank["first"], "oneOf")
                .map(|pod| format!("{}/{}", text(&pod["namespace"]), text(&pod["name"])))
                .collect();
            differ(found, "first", &facts["first"], &json!(first));
        }
    }
}

fn reclaim(node: &Answers, found: &mut Vec<String>) {
    let (Some(doctor), Some(plan)) =
        (node.ask("doctor"), node.ask("gc dry-run --trigger eviction"))
    else {
        return;
    };
    for finding in findings(&doctor, "eviction") {
        let ahead = &finding["facts"]["reclaim"];
        if ahead.is_null() || ahead["images"] == 0 {
            continue;
        }
        differ(found, "images", &ahead["images"], &plan["freed"]["images"]);
        let freed = &plan["freed"];
        let comes_free = [&freed["realBytes"], &freed["countedBytes"]];
        let comes_free = comes_free.into_iter().find(|it| !it.is_null()).expect("an amount");
        differ(found, "bytes", &ahead["freedBytes"], comes_free);
    }
}

fn victim(node: &Answers, found: &mut Vec<String>) {
    let Some(plan) = node.ask("gc dry-run --trigger eviction") else { return };
    for act in rows(&plan["pressure"], "acts") {
        let signal = text(&act["signal"]);
        let pod = &act["victim"]["pod"]["name"];
        let Some(rank) = node.ask(&format!("evict rank --signal {signal}")) else { continue };
        let first: Vec<&Value> = rows(&rank["first"], "oneOf").map(|pod| &pod["name"]).collect();
        if !pod.is_null() && !first.contains(&pod) {
            found.push(format!("{signal}: victim {pod}, and first {first:?}"));
        }
    }
}

fn devices(node: &Answers, found: &mut Vec<String>) {
    let Some(doctor) = node.ask("doctor") else { return };
    let of_doctor: BTreeSet<(String, String, String)> = findings(&doctor, "devices")
        .filter(|it| {
            matches!(text(&it["facts"]["state"]).as_str(), "unhealthy" | "stale" | "double")
        })
        .map(|it| {
            let facts = &it["facts"];
            (text(&facts["resource"]), text(&facts["device"]), text(&facts["state"]).to_uppercase())
        })
        .collect();
    let Some(list) = node.ask("devices list") else {
        return differ(found, "findings", &json!(of_doctor.len()), &json!(0));
    };
    let of_list: BTreeSet<(String, String, String)> = rows(&list, "items")
        .flat_map(|row| {
            rows(row, "findings").map(|it| {
                (text(&row["resource"]), text(&row["device"]), text(&it["state"]).to_uppercase())
            })
        })
        .filter(|(.., state)| matches!(state.as_str(), "UNHEALTHY" | "STALE" | "DOUBLE"))
        .collect();
    differ(found, "findings", &json!(of_doctor), &json!(of_list));
}

fn cgroup_values(node: &Answers, found: &mut Vec<String>) {
    let Some(doctor) = node.ask("doctor") else { return };
    let key = |cgroup: &Value, file: &Value| (text(cgroup), text(file));
    let of_doctor: BTreeSet<(String, String)> = findings(&doctor, "cgroup-values")
        .filter(|it| it["severity"] == "ERROR" && it["facts"]["cgroup"].is_string())
        .map(|it| key(&it["facts"]["cgroup"], &it["facts"]["file"]))
        .collect();
    let Some(diff) = node.ask("cgroup diff") else {
        return differ(found, "values", &json!(of_doctor.len()), &json!(0));
    };
    let of_diff: BTreeSet<(String, String)> = rows(&diff, "items")
        .filter(|it| matches!(text(&it["verdict"]).as_str(), "DRIFT" | "MISSING" | "EXTRA"))
        .map(|it| key(&it["cgroup"], &it["file"]))
        .collect();
    differ(found, "values", &json!(of_doctor.len()), &json!(of_diff.len()));
    let more: Vec<_> = of_doctor.difference(&of_diff).collect();
    differ(found, "only in doctor", &json!(more), &json!([]));
}

/// The rules of a lint that are warnings or errors are findings of doctor.
fn lint(node: &Answers, command: &str, found: &mut Vec<String>) {
    let (Some(doctor), Some(lint)) = (node.ask("doctor"), node.ask(command)) else { return };
    let key = |it: &Value| (text(&it["id"]), it["subject"].to_string(), text(&it["found"]));
    let known: BTreeSet<_> = rows(&doctor, "items").map(key).collect();
    let problems = rows(&lint, "items")
        .filter(|it| matches!(text(&it["severity"]).as_str(), "ERROR" | "WARNING"));
    for problem in problems.map(key) {
        if !known.contains(&problem) {
            found.push(format!("doctor lacks {problem:?}"));
        }
    }
}

fn start(node: &Answers, found: &mut Vec<String>) {
    let said = |answer: &Value| -> Vec<Value> {
        findings(answer, "kubelet-start")
            .map(|it| &it["facts"])
            .filter(|it| matches!(text(&it["state"]).as_str(), "stops" | "stopsThen" | "unknown"))
            .map(|it| json!([it["state"], it["text"]]))
            .collect()
    };
    if let (Some(doctor), Some(change)) = (node.ask("doctor"), node.ask("what-if kubelet-restart"))
    {
        differ(found, "start", &json!(said(&doctor)), &json!(said(&change)));
    }
}

/// The ends of a pod, and the reason of the first that is not a stay.
type Ends = (BTreeSet<String>, String);

/// Returns the pods that end in some order when the kubelet restarts, with each possible end.
fn readmitted(answer: &Value) -> BTreeMap<String, Ends> {
    let ends = |it: &Value| -> Ends {
        let other = &it["otherwise"];
        let results = rows(other, "results").map(text);
        let all: BTreeSet<String> = results.chain([text(&it["result"])]).collect();
        let reason = match (text(&it["result"]).as_str(), other.is_null()) {
            ("refused", true) => text(&it["refusals"][0]["reason"]),
            ("killed", true) => "Preempting".to_owned(),
            _ => text(&other["reason"]),
        };
        (all, reason)
    };
    let all = rows(answer, "items").map(|it| (text(&it["pod"]), ends(it)));
    all.filter(|(_, (ends, _))| ends.iter().any(|end| end != "admitted")).collect()
}

fn restart(node: &Answers, found: &mut Vec<String>) {
    let (Some(doctor), Some(answer)) =
        (node.ask("doctor"), node.ask("admit explain --kubelet-restart"))
    else {
        return;
    };
    let ends = |finding: &Value| -> BTreeSet<String> {
        let facts = &finding["facts"];
        match text(&facts["state"]).as_str() {
            "refuses" => ["refused".to_owned()].into(),
            "kills" => ["killed".to_owned()].into(),
            _ => rows(facts, "ends").map(text).collect(),
        }
    };
    let of_doctor: BTreeMap<String, BTreeSet<String>> = findings(&doctor, "kubelet-restart")
        .filter(|it| it["facts"]["state"] != "ok" && it["facts"]["state"] != "unknown")
        .map(|it| (text(&it["subject"]["pod"]), ends(it)))
        .collect();
    let admitted = readmitted(&answer).into_iter().map(|(pod, (ends, _))| (pod, ends));
    let admitted: BTreeMap<String, BTreeSet<String>> = admitted.collect();
    differ(found, "pods", &json!(of_doctor), &json!(admitted));
}

fn restart_of_what_if(node: &Answers, found: &mut Vec<String>) {
    let (Some(change), Some(answer)) =
        (node.ask("what-if kubelet-restart"), node.ask("admit explain --kubelet-restart"))
    else {
        return;
    };
    if change["kubeletStarts"] == false {
        return;
    }
    let end = |result: &Value| match text(result).as_str() {
        "refused" => "refused".to_owned(),
        "preempted" => "killed".to_owned(),
        _ => "admitted".to_owned(),
    };
    let ends = |it: &Value| -> Ends {
        let all = rows(it, "orElse").map(end).chain([end(&it["result"])]).collect();
        (all, text(&it["reason"]))
    };
    let may = rows(&change, "pods").map(|it| (text(&it["pod"]), ends(it)));
    let may: BTreeMap<String, Ends> =
        may.filter(|(_, (ends, _))| ends.iter().any(|end| end != "admitted")).collect();
    differ(found, "pods", &json!(may), &json!(readmitted(&answer)));
}

/// The containers that end although their pod is admitted, and whether they start again.
fn stopped_at_restart(node: &Answers, found: &mut Vec<String>) {
    let (Some(change), Some(answer)) =
        (node.ask("what-if kubelet-restart"), node.ask("admit explain --kubelet-restart"))
    else {
        return;
    };
    if change["kubeletStarts"] == false {
        return;
    }
    let of_change = rows(&change, "pods").filter_map(|it| match text(&it["result"]).as_str() {
        result @ ("restarts" | "ends") if rows(it, "orElse").next().is_none() => {
            Some((text(&it["pod"]), json!([result == "restarts", it["containers"]])))
        }
        _ => None,
    });
    let of_change: BTreeMap<String, Value> = of_change.collect();
    let of_answer = rows(&answer, "items")
        .filter(|it| it["result"] == "admitted" && it["otherwise"].is_null())
        .filter_map(|it| {
            let stopped = it.get("stopped")?;
            Some((text(&it["pod"]), json!([stopped["startAgain"], stopped["names"]])))
        });
    let of_answer: BTreeMap<String, Value> = of_answer.collect();
    differ(found, "containers", &json!(of_change), &json!(of_answer));
}

/// Returns the outcomes that a change may have for each pod.
fn outcomes(change: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let all = |pod: &Value| {
        let others = rows(pod, "orElse").map(text);
        std::iter::once(text(&pod["result"])).chain(others).collect()
    };
    rows(change, "pods").map(|pod| (text(&pod["pod"]), all(pod))).collect()
}

/// Pods that the device manager alone decides about; the others are refused for what a plan of devices does not look at.
fn restart_with_devices(node: &Answers, found: &mut Vec<String>) {
    let (Some(plan), Some(answer)) =
        (node.ask("devices plan --kubelet-restart"), node.ask("admit explain --kubelet-restart"))
    else {
        return;
    };
    let lost = readmitted(&answer);
    let admitted: BTreeSet<String> = rows(&answer, "items").map(|it| text(&it["pod"])).collect();
    let end = |admitted: &Value| {
        let end = if *admitted == true { "admitted" } else { "refused" };
        admitted.is_boolean().then(|| end.to_owned())
    };
    for pod in rows(&plan, "pods").filter(|it| it["failure"].is_null()) {
        let name = format!("{}/{}", text(&pod["namespace"]), text(&pod["name"]));
        let ends = [end(&pod["admitted"]), end(&pod["otherwise"]["admitted"])];
        let ends: BTreeSet<String> = ends.into_iter().flatten().collect();
        let kept = (["admitted".to_owned()].into(), String::new());
        let (others, reason) = lost.get(&name).unwrap_or(&kept);
        let is_of_devices = matches!(reason.as_str(), "" | "UnexpectedAdmissionError");
        if admitted.contains(&name) && is_of_devices && ends != *others {
            found.push(format!("{name}: {ends:?}, and admit explain says {others:?}"));
        }
    }
}

fn reboot(node: &Answers, found: &mut Vec<String>) {
    let (Some(change), Some(plan)) =
        (node.ask("what-if reboot"), node.ask("devices plan --reboot"))
    else {
        return;
    };
    if change["kubeletStarts"] == false {
        return;
    }
    let may = outcomes(&change);
    for pod in rows(&plan, "pods").filter(|it| it["failure"].is_null()) {
        let name = format!("{}/{}", text(&pod["namespace"]), text(&pod["name"]));
        let Some(results) = may.get(&name) else { continue };
        let is_refused = pod["admitted"] == false;
        let is_open = !pod["otherwise"].is_null();
        if is_refused != results.contains("refused") || is_open != (is_refused && results.len() > 1)
        {
            found.push(format!(
                "{name}: refused {is_refused}, open {is_open}, and what-if says {results:?}"
            ));
        }
    }
}

fn device_gone(node: &Answers, found: &mut Vec<String>) {
    let Some(list) = node.ask("devices list") else { return };
    let Some(row) = rows(&list, "items").find(|row| row["inCheckpoint"] == true) else { return };
    let (resource, device) = (text(&row["resource"]), text(&row["device"]));
    let (Some(change), Some(plan)) = (
        node.ask(&format!("what-if device gone {device}")),
        node.ask(&format!("devices plan --unhealthy {resource}={device}")),
    ) else {
        return;
    };
    let of_change: BTreeSet<String> =
        findings(&change, "device-held").map(|it| text(&it["subject"]["pod"])).collect();
    let of_plan: BTreeSet<String> = rows(&plan, "pods")
        .filter(|pod| {
            rows(&pod["outlook"], "held").any(|it| rows(it, "unhealthy").next().is_some())
        })
        .map(|pod| format!("{}/{}", text(&pod["namespace"]), text(&pod["name"])))
        .collect();
    differ(found, &device, &json!(of_change), &json!(of_plan));
}

/// Returns the victims of a preemption.
fn victims(answer: &Value) -> BTreeSet<String> {
    rows(answer, "victims").map(|it| text(&it["pod"])).collect()
}

fn headroom(node: &Answers, found: &mut Vec<String>) {
    let Some(doctor) = node.ask("doctor") else { return };
    let Some(own) = findings(&doctor, "preemption-headroom").next() else { return };
    let facts = &own["facts"];
    if facts["state"] != "preempts" {
        return;
    }
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: another, namespace: kube-system}}\nspec:\n  containers:\n  - \
         {{name: app, image: a, resources: {{requests: {{cpu: {}m}}}}}}\n",
        facts["needsMilliCpu"]
    );
    node.write("headroom.yaml", &pod);
    let Some(answer) = node.ask("preempt explain headroom.yaml --static") else { return };
    let of_doctor: BTreeSet<String> = rows(facts, "victims").map(text).collect();
    differ(found, "victims", &json!(of_doctor), &json!(victims(&answer)));
}

fn ended(node: &Answers, found: &mut Vec<String>) {
    let Some(doctor) = node.ask("doctor") else { return };
    for finding in findings(&doctor, "ended-pods").filter(|it| it["facts"]["state"] == "ended") {
        let pod = text(&finding["subject"]["pod"]);
        let Some(answer) = node.ask(&format!("preempt why {pod}")) else { continue };
        differ(found, &pod, &finding["facts"]["cause"], &answer["cause"]);
    }
}

fn add(node: &Answers, found: &mut Vec<String>) {
    let (Some(change), Some(answer)) =
        (node.ask("what-if add new.yaml"), node.ask("admit explain new.yaml"))
    else {
        return;
    };
    let new = rows(&change, "pods").find(|it| it["pod"] == "shop/new");
    let result = new.map(|it| &it["result"]);
    // One that is admitted may be evicted at once.
    let is_admitted = result.is_some_and(|result| result != "refused");
    let is_open = new.is_some_and(|it| rows(it, "orElse").any(|other| other == "refused"));
    let is_admitted = (!is_open).then_some(is_admitted);
    differ(found, "shop/new", &json!(is_admitted), &answer["admitted"]);
}

fn add_static(node: &Answers, found: &mut Vec<String>) {
    let (Some(change), Some(answer)) = (
        node.ask("what-if add static critical.yaml"),
        node.ask("preempt explain critical.yaml --static"),
    ) else {
        return;
    };
    let of_change: BTreeSet<String> = rows(&change, "pods")
        .filter(|it| it["result"] == "preempted" || rows(it, "orElse").any(|it| it == "preempted"))
        .map(|it| text(&it["pod"]))
        .collect();
    let of_answer = victims(&answer);
    if !of_answer.is_subset(&of_change) {
        found.push(format!("victims {of_change:?}, and {of_answer:?}"));
    }
}

/// The values after a change are those of a plan with the field set.
fn set(node: &Answers, found: &mut Vec<String>) {
    for field in ["systemReserved.cpu=300m", "podPidsLimit=500"] {
        let (Some(change), Some(plan)) = (
            node.ask(&format!("what-if set {field}")),
            node.ask(&format!("cgroup plan --set {field}")),
        ) else {
            continue;
        };
        let lost = ["refused", "preempted", "evicted", "deleted"];
        let loses = outcomes(&change).values().flatten().any(|it| lost.contains(&it.as_str()));
        if change["kubeletStarts"] == false || loses {
            continue;
        }
        let key = |it: &Value| (text(&it["cgroup"]), text(&it["file"]));
        let planned: BTreeMap<_, _> =
            rows(&plan, "items").map(|it| (key(it), it["value"].clone())).collect();
        for value in rows(&change, "values") {
            let key = key(value);
            if let Some(known) = planned.get(&key) {
                differ(found, &format!("{field}: {key:?}"), &value["after"], known);
            }
        }
    }
}

fn allocatable(node: &Answers, found: &mut Vec<String>) {
    let (Some(now), Some(change), Some(after)) = (
        node.ask("allocatable"),
        node.ask("what-if set systemReserved.cpu=300m"),
        node.ask("allocatable --set systemReserved.cpu=300m"),
    ) else {
        return;
    };
    for finding in findings(&change, "allocatable") {
        let facts = &finding["facts"];
        let row = |answer: &Value| -> Option<Value> {
            rows(answer, "items").find(|it| it["resource"] == facts["resource"]).cloned()
        };
        let (Some(now), Some(after)) = (row(&now), row(&after)) else { continue };
        // A Node object that was written by another configuration changes by the difference.
        if now["reported"] == now["allocatable"] {
            differ(found, "allocatable", &facts["after"], &after["allocatable"]);
        }
    }
}

fn disk(node: &Answers, found: &mut Vec<String>) {
    let (Some(change), Some(plan)) =
        (node.ask("what-if disk 95"), node.ask("gc dry-run --trigger eviction --at-usage 95%"))
    else {
        return;
    };
    let acts: Vec<&Value> = rows(&plan["pressure"], "acts").collect();
    let is_enough = !acts.is_empty() && acts.iter().all(|it| it["settlement"]["enough"] == true);
    let is_only_disk =
        findings(&change, "eviction").all(|it| text(&it["facts"]["signal"]).contains("fs."));
    if is_enough && is_only_disk {
        let evicted: Vec<String> = rows(&change, "pods")
            .filter(|it| it["result"] == "evicted")
            .map(|it| text(&it["pod"]))
            .collect();
        differ(found, "evicted", &json!(evicted), &json!([]));
    }
    for finding in findings(&change, "eviction") {
        let facts = &finding["facts"];
        let act = rows(&plan["pressure"], "acts").find(|it| it["signal"] == facts["signal"]);
        let (Some(act), false) = (act, facts["reclaim"].is_null()) else { continue };
        let enough = match &act["settlement"]["enough"] {
            Value::Bool(true) => "enough",
            Value::Bool(false) => "notEnough",
            _ => "unknown",
        };
        differ(found, "reclaim", &facts["reclaim"]["sufficiency"], &json!(enough));
    }
}

fn fleet(node: &Answers, found: &mut Vec<String>) {
    let (Some(fleet), Some(doctor)) =
        (node.ask("fleet ask node.json -- doctor"), node.ask("doctor"))
    else {
        return;
    };
    let severe = |it: &&Value| matches!(text(&it["severity"]).as_str(), "ERROR" | "WARNING");
    let of_doctor: BTreeSet<(String, String)> = rows(&doctor, "items")
        .filter(severe)
        .map(|it| (text(&it["severity"]), text(&it["id"])))
        .collect();
    let of_fleet: BTreeSet<(String, String)> = rows(&fleet, "items")
        .filter(severe)
        .map(|it| (text(&it["severity"]), text(&it["result"])))
        .collect();
    differ(found, "findings", &json!(of_doctor), &json!(of_fleet));
}

fn fleet_devices(node: &Answers, found: &mut Vec<String>) {
    let (Some(fleet), Some(list)) =
        (node.ask("fleet ask node.json -- devices list"), node.ask("devices list"))
    else {
        return;
    };
    let problems = ["DOUBLE", "UNHEALTHY", "ORPHAN", "MISSING", "STALE"];
    let is_problem = |it: &String| problems.contains(&it.as_str());
    let of_list: BTreeSet<String> =
        rows(&list, "items").map(|it| text(&it["state"])).filter(is_problem).collect();
    let of_fleet: BTreeSet<String> =
        rows(&fleet, "items").map(|it| text(&it["result"])).filter(is_problem).collect();
    differ(found, "states", &json!(of_list), &json!(of_fleet));
}

fn fleet_what_if(node: &Answers, found: &mut Vec<String>) {
    let (Some(fleet), Some(alone)) =
        (node.ask("fleet what-if node.json -- set maxPods=2"), node.ask("what-if set maxPods=2"))
    else {
        return;
    };
    let lost = ["refused", "preempted", "evicted", "deleted", "ends", "terminated"];
    let is_lost = |result: &Value| lost.contains(&text(result).as_str());
    let ends =
        rows(&alone, "pods").filter(|it| is_lost(&it["result"]) && rows(it, "orElse").all(is_lost));
    let of_fleet: u64 = rows(&fleet, "workloads").filter_map(|it| it["ends"].as_u64()).sum();
    differ(found, "pods that end", &json!(ends.count()), &json!(of_fleet));
}

/// A flag that says how the node is reaches every command.
fn driver(node: &Answers, found: &mut Vec<String>) {
    let flag = "--cgroup-driver systemd";
    let (Some(change), Some(plan)) = (
        node.ask(&format!("what-if set systemReserved.cpu=300m {flag}")),
        node.ask(&format!("cgroup plan {flag}")),
    ) else {
        return;
    };
    let planned = rows(&plan, "items").chain(rows(&plan, "unknown"));
    let planned: BTreeSet<String> = planned.map(|it| text(&it["cgroup"])).collect();
    for cgroup in rows(&change, "values").map(|it| text(&it["cgroup"])) {
        if !planned.contains(&cgroup) {
            found.push(format!("{cgroup} is none of the plan"));
        }
    }
}

fn version(node: &Answers, found: &mut Vec<String>) {
    let (Some(version), Some(doctor)) = (node.ask("version"), node.ask("doctor")) else { return };
    let own = &doctor["facts"]["kubeletVersion"]["value"];
    let known = version["kubelet"]["version"].as_str().map(|it| it.trim_start_matches('v'));
    if let (Some(known), Some(own)) = (known, own.as_str()) {
        let minor = |text: &str| text.split('.').take(2).collect::<Vec<_>>().join(".");
        differ(found, "kubelet", &json!(minor(known)), &json!(minor(own)));
    }
}

/// The page of a pod has what the commands say that it names.
fn page_of_a_pod(node: &Answers, found: &mut Vec<String>) {
    let Some(restart) = node.ask("admit explain --kubelet-restart") else { return };
    for name in rows(&restart, "items").take(3).map(|it| text(&it["pod"])) {
        let Some(page) = node.ask(&format!("doctor {name}")) else { continue };
        for row in rows(&page, "items") {
            let fact = &row["fact"];
            match fact["code"].as_str().unwrap_or_default() {
                "evictionRank" => {
                    let line = format!("evict rank --signal {}", text(&fact["signal"]));
                    let Some(rank) = node.ask(&line) else { continue };
                    let own = rows(&rank, "items").find(|it| {
                        name == format!("{}/{}", text(&it["namespace"]), text(&it["name"]))
                    });
                    differ(
                        found,
                        &name,
                        &fact["rank"],
                        &own.map_or(Value::Null, |it| it["rank"].clone()),
                    );
                }
                "image" => {
                    let Some(plan) = node.ask("gc dry-run") else { continue };
                    let own = rows(&plan, "items").find(|it| {
                        rows(it, "tags").chain(rows(it, "digests")).any(|tag| *tag == fact["image"])
                    });
                    // The page has the word of the table.
                    let word = |it: &Value| text(it).to_lowercase().replace('-', "");
                    let own = own.map_or(String::new(), |it| word(&it["verdict"]));
                    differ(found, &name, &json!(word(&fact["verdict"])), &json!(own));
                }
                "cgroupValues" => {
                    let Some(diff) = node.ask("cgroup diff") else { continue };
                    let drifts = rows(&diff, "items").filter(|it| {
                        name == format!("{}/{}", text(&it["namespace"]), text(&it["pod"]))
                            && matches!(
                                text(&it["verdict"]).as_str(),
                                "DRIFT" | "MISSING" | "EXTRA"
                            )
                    });
                    differ(found, &name, &fact["drifting"], &json!(drifts.count()));
                }
                _ => {}
            }
        }
    }
}

/// The cards of a report, each with the command that it shows.
const CARDS: &[(&str, &str)] = &[
    ("doctor", "doctor"),
    ("gc", "gc dry-run"),
    ("images", "gc images"),
    ("devices", "devices list"),
    ("shares", "cgroup shares"),
    ("usage", "cgroup show"),
    ("evict-memory", "evict rank --signal memory.available"),
    ("evict-disk", "evict rank --signal nodefs.available"),
    ("evict-inodes", "evict rank --signal nodefs.inodesFree"),
    ("evict-pid", "evict rank --signal pid.available"),
    ("restart", "admit explain --kubelet-restart"),
];

fn cards(node: &Answers, found: &mut Vec<String>) {
    let Some(page) = node.page() else { return };
    for (card, line) in CARDS {
        let start = format!("id=\"answer-{card}\">");
        let Some((_, rest)) = page.split_once(&start) else { continue };
        let Some((answer, _)) = rest.split_once("</script>") else { continue };
        let answer: Option<Value> = serde_json::from_str(answer).ok();
        let is_planned = answer
            .as_ref()
            .is_some_and(|answer| answer["facts"]["weightsAndQuotas"]["value"] == "planned");
        let line = if is_planned { &format!("{line} --planned") } else { *line };
        let (Some(answer), Some(asked)) = (answer, node.ask(line)) else { continue };
        for field in asked.as_object().into_iter().flatten().map(|(field, _)| field) {
            if answer[field] != asked[field] {
                found.push(format!("{line}: {field} differs"));
            }
        }
    }
}

/// A fact that several answers name has one value and one source, unless the question changes it.
fn facts(node: &Answers, found: &mut Vec<String>) {
    let mut known: BTreeMap<String, (String, Value)> = BTreeMap::new();
    for (line, answer) in node.answers() {
        let changes = ["--set", "--cgroup-driver", "--at-usage", "--planned"];
        if line.starts_with("fleet ") || changes.iter().any(|flag| line.contains(flag)) {
            continue;
        }
        for (name, fact) in answer["facts"].as_object().into_iter().flatten() {
            match known.get(name) {
                Some((other, value)) if value != fact => {
                    found.push(format!("{name}: {line} has {fact}, and {other} has {value}"));
                }
                Some(_) => {}
                None => _ = known.insert(name.clone(), (line.clone(), fact.clone())),
            }
        }
    }
}
