//! What the families about probes read alike.

use super::input::{read, version};
use kq_facts::timestamp::Timestamp;
use kq_k8s::feature_gates::{FeatureGates, Gate, gate_state};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::ProbeType;
use kq_probe::worker::{ContainerFacts, State};
use kq_probe::{Attempt, ProbeResult};
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads the gates, whether a kubelet would take them together or not. Those that the version lacks, or does not let be
/// set, are passed over.
pub fn rules(case: &Value) -> KubeletRules {
    let set: BTreeMap<String, bool> = read(&case["feature_gates"]);
    let mut gates = FeatureGates::for_version(version(case));
    for (name, on) in set {
        let state = gate_state(&name, version(case));
        if !state.is_some_and(|state| !state.locked || state.default == on) {
            continue;
        }
        let gate = Gate::ALL.into_iter().find(|gate| gate.name() == name);
        gates = gates.with(gate.expect("a gate that kq knows"), on);
    }
    KubeletRules { gates }
}

/// Reads a type of probe.
pub fn probe_type(value: &Value) -> ProbeType {
    serde_json::from_value(value.clone()).expect("a type of probe")
}

/// Reads a moment, in seconds with halves.
pub fn moment(value: &Value) -> Option<Timestamp> {
    value.as_f64().map(|seconds| Timestamp((seconds * 1e9).round() as i64))
}

/// Reads what attempts give.
pub fn attempts(value: &Value) -> Vec<Attempt> {
    let one = |attempt: &Value| Attempt {
        result: match attempt["result"].as_str() {
            Some("success") => ProbeResult::Success,
            Some("warning") => ProbeResult::Warning,
            Some("failure") => ProbeResult::Failure,
            _ => ProbeResult::Unknown,
        },
        output: attempt["output"].as_str().unwrap_or_default().into(),
        error: attempt["error"].as_str().map(str::to_owned),
        ..Attempt::default()
    };
    value.as_array().into_iter().flatten().map(one).collect()
}

/// Reads the statuses of containers.
pub fn statuses(value: &Value) -> Vec<ContainerFacts> {
    let one = |status: &Value| ContainerFacts {
        name: read(&status["name"]),
        container_id: read(&status["container_id"]),
        state: match status["state"].as_str() {
            Some("running") => State::Running { started_at: moment(&status["started_at_seconds"]) },
            Some("terminated") => State::Terminated { exit_code: read(&status["exit_code"]) },
            _ => State::Waiting,
        },
        started: status["started"].as_bool(),
        ready: false,
    };
    value.as_array().into_iter().flatten().map(one).collect()
}
