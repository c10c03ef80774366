//! How long a container may take to stop.

use super::input::read;
use kq_k8s::pod::ProbeType;
use kq_probe::grace_period::{GracePeriods, KillReason};
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let seconds = |field: &str| -> Option<i64> { read(&case[field]) };
    let periods = GracePeriods {
        pod_deletion: seconds("pod_deletion_grace_period_seconds"),
        pod: seconds("pod_spec_termination_grace_period_seconds"),
        liveness_probe: seconds("liveness_probe_termination_grace_period_seconds"),
        startup_probe: seconds("startup_probe_termination_grace_period_seconds"),
    };
    let reason = match case["kill_reason"].as_str() {
        Some("liveness_probe_failed") => KillReason::Probe(ProbeType::Liveness),
        Some("startup_probe_failed") => KillReason::Probe(ProbeType::Startup),
        _ => KillReason::Other,
    };
    let grace = periods.decide(reason);
    json!({
        "grace_period_seconds": grace.seconds,
        "seconds_given_to_runtime_without_hooks": grace.given_to_runtime(0),
    })
}
