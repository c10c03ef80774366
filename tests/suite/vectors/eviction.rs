//! Thresholds, observations, reclaiming, admission, messages, limits of local storage, whole cycles.

mod synchronize;

use super::input;
use kq_eviction::{
    Crossing, Eviction, Layout, Observation, Observations, ReclaimFunction, Verdict,
    add_container_fs_thresholds, admit_under_pressure, compare, evict_pod, eviction_message,
    local_storage_checks, node_conditions, observe, reclaim_functions,
};
use kq_facts::kubelet_config::{
    EvictionSettings, EvictionThreshold, PressureCondition, Signal, StarvedResource,
    ThresholdOperator, ThresholdValue, parse_eviction_thresholds, possible_eviction_errors,
    with_allocatable_thresholds,
};
use kq_facts::stats_summary::{PodStats, StatsByPod, StatsSummary};
use kq_k8s::disruption_target::written_to_victim;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::Pod;
use kq_k8s::quantity::{Format, Quantity};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub fn answer(case: &Value) -> Value {
    match case["op"].as_str() {
        Some("parse_thresholds") => parse(case),
        Some("container_fs_thresholds") => container_fs(case),
        Some("signal_observations") => observations_out(case),
        Some("thresholds_met") => met(case),
        Some("reclaim_functions") => reclaim(case),
        Some("evict_pod") => evict(case),
        Some("admit_under_pressure") => admit(case),
        Some("eviction_message") => message(case),
        Some("local_storage_eviction") => local_storage(case),
        Some("synchronize") => synchronize::answer(case),
        op => panic!("unknown operation {op:?}"),
    }
}

/// Reads a signal.
pub fn signal(value: &Value) -> Signal {
    Signal::from_text(value.as_str().unwrap_or_default()).expect("a signal")
}

/// Reads how the filesystems lie.
pub fn layout(case: &Value) -> Layout {
    Layout {
        dedicated_image_fs: case["dedicated_image_fs"] == true,
        split_container_image_fs: case["split_container_image_fs"] == true,
    }
}

/// The texts of a configuration.
type Texts = BTreeMap<String, String>;

/// Reads thresholds, or all the errors that the kubelet may stop with.
fn configured(case: &Value) -> Result<Vec<EvictionThreshold>, Vec<String>> {
    let [hard, soft, grace, reclaim]: [Texts; 4] =
        ["hard", "soft", "soft_grace_period", "minimum_reclaim"]
            .map(|name| input::read(&case[format!("eviction_{name}")]));
    let settings = EvictionSettings {
        hard: &hard,
        soft: &soft,
        soft_grace_period: &grace,
        minimum_reclaim: &reclaim,
    };
    let enforce: Vec<String> = input::read(&case["enforce_node_allocatable"]);
    match parse_eviction_thresholds(settings) {
        Ok(thresholds) => Ok(with_allocatable_thresholds(thresholds, &enforce)),
        Err(_) => Err(possible_eviction_errors(settings).iter().map(ToString::to_string).collect()),
    }
}

/// One answer, or all there may be: in the order of their texts, each once.
fn one_of(answers: impl IntoIterator<Item = Value>) -> Value {
    let by_text: BTreeMap<String, Value> =
        answers.into_iter().map(|answer| (answer.to_string(), answer)).collect();
    let mut answers: Vec<Value> = by_text.into_values().collect();
    if answers.len() == 1 { answers.remove(0) } else { json!({ "one_of": answers }) }
}

fn parse(case: &Value) -> Value {
    match configured(case) {
        Ok(thresholds) => {
            // The kubelet's order is random. The vectors list the pods' memory last.
            let (pods, others): (Vec<_>, Vec<_>) = thresholds
                .into_iter()
                .partition(|threshold| threshold.signal == Signal::AllocatableMemoryAvailable);
            json!({ "thresholds": thresholds_out(&[others, pods].concat()) })
        }
        Err(errors) => one_of(errors.into_iter().map(|error| json!({ "error": error }))),
    }
}

fn thresholds_out(thresholds: &[EvictionThreshold]) -> Vec<Value> {
    let value = |value: &ThresholdValue| match value {
        ThresholdValue::Quantity(amount) => {
            json!({ "quantity": amount.to_string(), "quantity_value": amount.value() })
        }
        ThresholdValue::Share(share) => json!({
            // Shown as the shortest text of the 32-bit number.
            "percentage": serde_json::from_str::<Value>(&share.to_string()).unwrap_or_default(),
            "percentage_f32_bits": format!("{:#010x}", share.to_bits()),
        }),
    };
    let out = |threshold: &EvictionThreshold| {
        json!({
            "signal": threshold.signal,
            "operator": threshold.operator.as_str(),
            "value": value(&threshold.value),
            "grace_period_nanoseconds": threshold.grace_period.0,
            "min_reclaim": threshold.min_reclaim.as_ref().map(value),
        })
    };
    thresholds.iter().map(out).collect()
}

/// Reads thresholds that are given as a list, each with texts like those of a configuration.
fn listed(case: &Value) -> Vec<EvictionThreshold> {
    let threshold = |given: &Value| {
        let value = |text: &Value| text.as_str().map(value_of);
        EvictionThreshold {
            signal: signal(&given["signal"]),
            operator: ThresholdOperator::LessThan,
            value: value(&given["value"]).expect("a value"),
            grace_period: GoDuration(given["grace_period_nanoseconds"].as_i64().unwrap_or(0)),
            min_reclaim: value(&given["min_reclaim"]),
        }
    };
    case["thresholds"].as_array().into_iter().flatten().map(threshold).collect()
}

/// Reads a value through the same parser as a configuration's: as a minimum reclaim, which may be
/// anything that is not below zero, or as a threshold.
fn value_of(text: &str) -> ThresholdValue {
    let (name, none) = ("memory.available".to_owned(), Texts::new());
    let given = Texts::from([(name.clone(), text.to_owned())]);
    let any = Texts::from([(name, "1".to_owned())]);
    let as_threshold = EvictionSettings {
        hard: &given,
        soft: &none,
        soft_grace_period: &none,
        minimum_reclaim: &none,
    };
    if let Ok(mut thresholds) = parse_eviction_thresholds(as_threshold)
        && let Some(threshold) = thresholds.pop()
    {
        return threshold.value;
    }
    let as_reclaim = EvictionSettings { hard: &any, minimum_reclaim: &given, ..as_threshold };
    let mut thresholds = parse_eviction_thresholds(as_reclaim).expect("a value");
    thresholds.pop().and_then(|threshold| threshold.min_reclaim).expect("a value")
}

fn container_fs(case: &Value) -> Value {
    let mut thresholds = listed(case);
    let warning = add_container_fs_thresholds(&mut thresholds, layout(case));
    json!({
        "thresholds": thresholds_out(&thresholds),
        "warning": warning.map(|warning| warning.to_string()),
    })
}

fn observations_out(case: &Value) -> Value {
    let summary: StatsSummary = input::read(&case["summary"]);
    let numbers = |seen: &Observation| json!({ "available": seen.available.value(), "capacity": seen.capacity.value() });
    let observations = observe(&summary);
    let out: Map<String, Value> =
        observations.iter().map(|(signal, seen)| (signal.to_string(), numbers(seen))).collect();
    json!({ "observations": out })
}

/// Reads observations that are given as numbers.
fn observations(case: &Value) -> Observations {
    let given: BTreeMap<String, BTreeMap<String, i64>> = input::read(&case["observations"]);
    let observation = |name: &str, numbers: &BTreeMap<String, i64>| {
        let signal = Signal::from_text(name).expect("a signal");
        let format = match signal.resource() {
            StarvedResource::Memory | StarvedResource::EphemeralStorage => Format::BinarySi,
            StarvedResource::Inodes | StarvedResource::Pids => Format::DecimalSi,
        };
        let number = |key: &str| Quantity::from_units(numbers[key], format);
        let (available, capacity) = (number("available"), number("capacity"));
        (signal, Observation { available, capacity, time: None })
    };
    given.iter().map(|(name, numbers)| observation(name, numbers)).collect()
}

fn met(case: &Value) -> Value {
    let enforce = case["enforce_minimum_reclaim"] == true;
    let crossings = compare(&listed(case), &observations(case), enforce);
    let out = |crossing: &Crossing| {
        let mut out = json!({ "signal": crossing.threshold.signal, "met": crossing.met() });
        match &crossing.comparison {
            None => out["observed"] = false.into(),
            Some(numbers) => {
                out["threshold_quantity"] = numbers.threshold_quantity.value().into();
                if let Some(reclaim) = &numbers.min_reclaim {
                    out["min_reclaim_quantity"] = reclaim.value().into();
                }
            }
        }
        out
    };
    let met = crossings.iter().filter(|crossing| crossing.met());
    json!({
        "thresholds": crossings.iter().map(out).collect::<Vec<_>>(),
        "node_conditions_in_order": node_conditions(met.map(|crossing| &crossing.threshold)),
    })
}

fn function_out(function: &ReclaimFunction) -> &'static str {
    match function {
        ReclaimFunction::DeleteAllUnusedContainers => "delete_all_unused_containers",
        ReclaimFunction::DeleteUnusedImages => "delete_unused_images",
    }
}

fn reclaim(case: &Value) -> Value {
    let functions = |signal| {
        let functions = reclaim_functions(signal, layout(case)).iter();
        json!(functions.map(function_out).collect::<Vec<_>>())
    };
    let out: Map<String, Value> =
        Signal::ALL.map(|signal| (signal.to_string(), functions(signal))).into_iter().collect();
    json!({ "functions_by_signal": out })
}

fn event(object: String, reason: &str, message: &str) -> Value {
    json!({ "object": object, "type": "Warning", "reason": reason, "message": message })
}

/// The event and the kill of an eviction.
fn eviction_out(pod: &Pod, raw: &Value, eviction: &Eviction) -> (Value, Value) {
    let mut event = event(format!("pod/{}", pod.metadata.name), "Evicted", &eviction.message);
    if let Some(annotations) = &eviction.annotations {
        event["annotations"] = json!(annotations);
    }
    let before = raw["status"].as_object().cloned().unwrap_or_default();
    let condition = eviction.condition.as_ref();
    let status = written_to_victim(&before, "Evicted", &eviction.message, condition, None);
    let kill = json!({
        "pod": pod.metadata.name,
        "is_evicted": true,
        "grace_period_override_seconds": eviction.grace_seconds,
        "status_written": status,
    });
    (event, kill)
}

fn evict(case: &Value) -> Value {
    let pod = input::pod(&case["pod"]);
    let message = case["message"].as_str().unwrap_or_default().to_owned();
    let condition =
        kq_k8s::disruption_target::DisruptionTarget::of(&pod, message.clone(), &input::rules(case));
    let eviction = Eviction {
        grace_seconds: case["grace_period_override_seconds"].as_i64().expect("a grace"),
        message,
        annotations: Some(Texts::from([("a".to_owned(), "b".to_owned())])),
        condition: Some(condition),
    };
    // Whether the kill fails makes no difference.
    let (events, kills) = match evict_pod(&pod, eviction) {
        Verdict::SparedAsCritical => (Vec::new(), Vec::new()),
        Verdict::Evicted(eviction) => {
            let (event, kill) = eviction_out(&pod, &case["pod"], &eviction);
            (vec![event], vec![kill])
        }
    };
    json!({ "counts_as_evicted": !kills.is_empty(), "events": events, "kills": kills })
}

fn admit(case: &Value) -> Value {
    let all = [PressureCondition::Disk, PressureCondition::Memory, PressureCondition::Pid];
    let conditions: Vec<PressureCondition> = input::read::<Vec<String>>(&case["node_conditions"])
        .iter()
        .map(|text| *all.iter().find(|have| have.as_str() == text).expect("a condition"))
        .collect();
    let pod = input::pod(&case["pod"]);
    let admission = admit_under_pressure(&conditions, &pod, &input::rules(case));
    json!({
        "admit": admission.admitted(),
        "reason": admission.reason(),
        "message": admission.to_string(),
    })
}

fn message(case: &Value) -> Value {
    let pod = input::pod(&case["pod"]);
    let stats: Vec<PodStats> = input::read(&case["pod_stats"]);
    let resource = Signal::ALL.map(Signal::resource).into_iter();
    let resource = resource.clone().find(|have| case["resource"] == have.as_str());
    let told = eviction_message(
        resource.expect("a resource"),
        &pod,
        StatsByPod::new(&stats).of(&pod),
        &listed(case),
        &observations(case),
        &input::rules(case),
    );
    json!({ "message": told.text, "annotations": told.annotations })
}

fn local_storage(case: &Value) -> Value {
    let pods: Vec<Pod> = input::read(&case["pods"]);
    let pods: Vec<&Pod> = pods.iter().collect();
    let stats: Vec<PodStats> = input::read(&case["pod_stats"]);
    let mut evicted = Vec::new();
    for check in local_storage_checks(&pods, &stats, layout(case), &input::rules(case)) {
        if let Verdict::Evicted(eviction) = check.verdict {
            evicted.push(json!({
                "pod": pods[check.pod].metadata.name,
                "grace_period_override_seconds": eviction.grace_seconds,
                "message": eviction.message,
            }));
        }
    }
    json!({ "evicted": evicted })
}

/// The texts of conditions, sorted.
fn conditions_out(conditions: &BTreeSet<PressureCondition>) -> Value {
    json!(conditions)
}
