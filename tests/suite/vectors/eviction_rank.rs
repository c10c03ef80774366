//! The order in which pods would be evicted, and the numbers that decide it.

use super::eviction::{layout, signal};
use super::input;
use kq_eviction::{DiskUnit, Figures, RankedPod, Ranking, rank_pods};
use kq_facts::kubelet_config::Signal;
use kq_facts::stats_summary::{PodStats, StatsByPod};
use kq_k8s::pod::Pod;
use serde_json::{Map, Value, json};

pub fn answer(case: &Value) -> Value {
    let pods: Vec<Pod> = input::read(&case["pods"]);
    let pods: Vec<&Pod> = pods.iter().collect();
    let stats: Vec<PodStats> = input::read(&case["pod_stats"]);
    let signal = signal(&case["signal"]);
    let stats = StatsByPod::new(&stats);
    let ranking = rank_pods(signal, &pods, &stats, layout(case), &input::rules(case));
    let name = |ranked: &RankedPod| pods[ranked.pod].metadata.name.clone();
    let figures: Map<String, Value> =
        ranking.pods.iter().map(|ranked| (name(ranked), numbers(ranked, signal))).collect();
    let mut out = json!({
        "ranked": ranking.pods.iter().map(name).collect::<Vec<_>>(),
        "pods": figures,
    });
    let ties = tied(&ranking, name);
    if !ties.is_empty() {
        out["tie_groups"] = json!(ties);
    }
    out
}

fn tied(ranking: &Ranking, name: impl Fn(&RankedPod) -> String) -> Vec<Vec<String>> {
    let group = |tie: &std::ops::Range<usize>| {
        let mut names: Vec<String> = ranking.pods[tie.clone()].iter().map(&name).collect();
        names.sort();
        names
    };
    ranking.ties.iter().map(group).collect()
}

fn numbers(ranked: &RankedPod, signal: Signal) -> Value {
    let mut out = json!({ "priority": ranked.priority, "stats_found": ranked.figures.is_some() });
    if let Some(request) = &ranked.request {
        let key = if signal.filesystem().is_some() {
            "ephemeral_storage_request_bytes"
        } else {
            "memory_request_bytes"
        };
        out[key] = request.value().into();
    }
    match &ranked.figures {
        None => {}
        Some(Figures::Memory { usage, .. }) => {
            out["memory_working_set_bytes"] = usage.value().into();
        }
        Some(Figures::Processes { count }) => out["process_count"] = (*count).into(),
        Some(Figures::Disk { unit, parts, .. }) => {
            let unit = match unit {
                DiskUnit::Bytes => "bytes",
                DiskUnit::Inodes => "inodes",
            };
            out[format!("root_{unit}")] = parts.root.value().into();
            out[format!("logs_{unit}")] = parts.logs.value().into();
            out[format!("local_volumes_{unit}")] = parts.local_volumes.value().into();
        }
    }
    out
}

/// Puts the members of every group of equals into the order of their names: the kubelet's own order
/// among them is not defined.
pub fn in_tie_order(mut out: Value) -> Value {
    let groups: Vec<Vec<String>> = input::read(&out["tie_groups"]);
    let Some(ranked) = out.get_mut("ranked").and_then(Value::as_array_mut) else { return out };
    for group in groups {
        let member = |name: &Value| group.iter().any(|member| name == member);
        let places: Vec<usize> = (0..ranked.len()).filter(|at| member(&ranked[*at])).collect();
        let mut names: Vec<String> =
            places.iter().map(|at| ranked[*at].as_str().unwrap_or_default().to_owned()).collect();
        names.sort();
        for (at, name) in places.into_iter().zip(names) {
            ranked[at] = name.into();
        }
    }
    out
}
