//! From a command line, a configuration file and drop-ins to the effective configuration, or why there is none.

use super::input::version;
use kq_core::kubelet_start::{
    ConfigContent, ConfigText, Stage, StartExamination, StartFacts, StartRule, examine,
};
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::kubelet_config::drop_in_order;
use kq_facts::kubelet_process::{FaultKind, as_started, parse_line};
use serde_json::{Map, Value, json};

const FILE: &str = "/etc/kubernetes/kubelet.conf";
const FOLDER: &str = "/etc/kubernetes/kubelet.conf.d";

pub fn answer(case: &Value) -> Value {
    let args: Vec<String> = serde_json::from_value(case["args"].clone()).expect("arguments");
    let version = version(case);
    let line = parse_line(&args, version);
    let command: Vec<String> = std::iter::once("kubelet".to_owned()).chain(args).collect();
    let mut process = as_started(&command).expect("a kubelet");
    // What may be a secret is not kept of a process.
    let mut words = line.words.iter();
    for fault in &mut process.faults {
        match &mut fault.kind {
            FaultKind::Word(word) => *word = words.next().cloned(),
            FaultKind::Syntax(error) => {
                error.get_or_insert_with(|| line.error.clone().unwrap_or_default());
            }
        }
    }
    let flags = process.interpreted();
    let config_file = flags.config.clone().map(|path| {
        let content = match path.as_str() {
            FILE => ConfigContent::of(case["config_file"].as_str().unwrap_or_default().as_bytes()),
            "/etc/kubernetes" | "/etc" | "/" | FOLDER => ConfigContent::Folder,
            _ => ConfigContent::Absent,
        };
        ConfigText { path, content }
    });
    let files = case["drop_in_files"].as_object().filter(|_| flags.config_dir.is_some());
    let order = drop_in_order(files.into_iter().flatten().map(|(path, _)| path.as_str()));
    let drop_ins: Vec<ConfigText> = order
        .read
        .iter()
        .map(|path| ConfigText {
            path: format!("{FOLDER}/{path}"),
            content: ConfigContent::of(
                case["drop_in_files"][path].as_str().unwrap_or_default().as_bytes(),
            ),
        })
        .collect();
    let found = examine(&StartFacts {
        version: Some(version),
        process: Some(&process),
        config_file,
        drop_ins,
        cgroup_version: Some(CgroupVersion::V2),
        ..StartFacts::default()
    });
    let mut out = outcome(&found);
    if !line.printed.is_empty() {
        out["printed"] = line.printed.clone().into();
    }
    if out["stage"] == "ok" {
        out["effective"] = effective(&found, &line.flags, flags.config.is_some());
        let skipped: Vec<String> =
            order.skipped.iter().map(|path| format!("{FOLDER}/{path}")).collect();
        if !skipped.is_empty() {
            out["skipped_files"] = skipped.into();
        }
    }
    out
}

fn outcome(found: &StartExamination) -> Value {
    let judged = |stage: Stage| stage <= Stage::Validation;
    let Some(problem) = found.first().filter(|problem| judged(problem.stage)) else {
        return json!({ "stage": "ok", "error": null });
    };
    let stage = match (problem.stage, &problem.rule) {
        (Stage::Flags, _) | (_, StartRule::UnknownCommand { .. }) => "flags",
        (_, StartRule::Gates { .. }) => "feature_gates",
        (Stage::FlagValues, _) => "flag_values",
        (Stage::ConfigFile, _) => "load",
        (Stage::Defaults, _) => "defaults",
        (Stage::DropIn | Stage::DropIns, _) => "merge",
        (Stage::Logging, _) => "logging",
        _ => "validate",
    };
    let error = match problem.stage {
        Stage::Validation => problem.rule.to_string(),
        _ => problem.text.clone(),
    };
    json!({ "stage": stage, "error": error })
}

/// Returns some fields of the result; what has no file below it has the defaults of the flags.
fn effective(found: &StartExamination, flags: &[(String, String)], has_file: bool) -> Value {
    let given = &found.config;
    let config = found.effective.as_ref().expect("a configuration");
    let last =
        |name: &str| flags.iter().rev().find(|(flag, _)| flag == name).map(|(_, value)| value);
    let or = |pointer: &str, default: Value| match given.pointer(pointer) {
        Some(Value::Null) | None => default,
        Some(value) => value.clone(),
    };
    let by_flag = |name: &str| flags.iter().any(|(flag, _)| flag == name);
    let text = |pointer: &str, flag: &str, default: &str| match or(pointer, default.into()) {
        Value::String(text) if text.is_empty() && !by_flag(flag) => default.into(),
        value => value,
    };
    let duration = |pointer: &str, flag: &str, default: &str| {
        let value = or(pointer, default.into());
        let length: kq_k8s::duration::GoDuration =
            value.as_str().expect("a text").parse().expect("a duration");
        match length.0 == 0 && !by_flag(flag) {
            true => Value::from(default),
            false => length.to_string().into(),
        }
    };
    let mut labels = Map::new();
    for (_, value) in flags.iter().filter(|(flag, _)| flag == "node-labels") {
        for pair in value.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            labels.insert(key.trim().to_owned(), value.trim().into());
        }
    }
    let gates = match config.feature_gates.is_empty() && given.get("featureGates").is_none() {
        true => Value::Null,
        false => json!(config.feature_gates),
    };
    let hard = match given.get("evictionHard") {
        None | Some(Value::Null) if !has_file => Value::Null,
        _ => json!(config.eviction_hard),
    };
    let updates = duration("/nodeStatusUpdateFrequency", "node-status-update-frequency", "0s");
    let is_explicit = has_file && updates != "0s" && !by_flag("node-status-update-frequency");
    let report = if is_explicit { updates.as_str().unwrap_or_default() } else { "5m0s" };
    let number = |value: Option<&String>| value.and_then(|value| value.parse::<i64>().ok());
    let max_pods = match given.get("maxPods").and_then(Value::as_i64) {
        Some(0) if by_flag("max-pods") => 0,
        _ => i64::from(config.max_pods),
    };
    json!({
        "anonymousAuth": or("/authentication/anonymous/enabled", (!has_file).into()),
        "authorizationMode":
            text("/authorization/mode", "authorization-mode", if has_file { "Webhook" } else { "AlwaysAllow" }),
        "cgroupDriver": text("/cgroupDriver", "cgroup-driver", "cgroupfs"),
        "clusterDNS": or("/clusterDNS", Value::Null),
        "containerRuntimeEndpoint": config.container_runtime_endpoint,
        "enforceNodeAllocatable": config.enforce_node_allocatable,
        "evictionHard": hard,
        "failSwapOn": config.fail_swap_on,
        "featureGates": gates,
        "hostnameOverride": last("hostname-override").cloned().unwrap_or_default(),
        "kubeReserved": or("/kubeReserved", Value::Null),
        "maxPods": max_pods,
        "nodeIP": last("node-ip").cloned().unwrap_or_default(),
        "nodeLabels": labels,
        "nodeStatusReportFrequency": duration("/nodeStatusReportFrequency", "", report),
        "podsPerCore": config.pods_per_core,
        "readOnlyPort": or("/readOnlyPort", if has_file { 0 } else { 10255 }.into()),
        "registerWithTaints": or("/registerWithTaints", Value::Null),
        "staticPodPath": or("/staticPodPath", "".into()),
        "syncFrequency": duration("/syncFrequency", "sync-frequency", "1m0s"),
        "systemReserved": or("/systemReserved", Value::Null),
        "verbosity": number(last("v")).map_or_else(|| or("/logging/verbosity", 0.into()), Value::from),
    })
}
