//! The kubelet's loops of garbage collection, and the configuration of the one for images.

use kq_facts::kubelet_config::{CgroupMode, Source, ValidationError, effective, read, validate};
use kq_image_gc::loops::{GcEvent, GcLoop};
use kq_image_gc::policy::ImageGcPolicy;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::FeatureGates;
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    match case["op"].as_str().expect("an operation") {
        "kubelet_gc_loops" => loops(case),
        "image_gc_configuration" => configuration(case),
        op => json!({ "unknown operation": op }),
    }
}

fn loops(case: &Value) -> Value {
    let high = case["image_gc_high_threshold_percent"].as_i64().expect("a percentage");
    let seconds = case["image_maximum_gc_age_seconds"].as_i64().expect("a number of seconds");
    let policy = ImageGcPolicy {
        high_threshold_percent: i32::try_from(high).expect("a percentage"),
        low_threshold_percent: 0,
        min_age: GoDuration(0),
        max_age: GoDuration(seconds * GoDuration::SECOND.0),
    };
    let images = GcLoop::images(&policy);
    let (container_calls, container_events) =
        run(Some(GcLoop::containers()), &case["container_gc_results"]);
    let (image_calls, image_events) = run(images, &case["image_gc_results"]);
    json!({
        "container_gc_calls_at_seconds": container_calls,
        "container_gc_events": container_events,
        "image_gc_loop_started": images.is_some(),
        "image_gc_calls_at_seconds": image_calls,
        "image_gc_events": image_events,
    })
}

/// Runs a loop once for each result, and returns the times of the calls and the events.
fn run(gc: Option<GcLoop>, results: &Value) -> (Vec<i64>, Vec<Value>) {
    let (mut calls, mut events) = (Vec::new(), Vec::new());
    let Some(mut gc) = gc else { return (calls, events) };
    let mut at = 0;
    for result in results.as_array().into_iter().flatten() {
        calls.push(at / GoDuration::SECOND.0);
        let turn = gc.step(at, result.as_str().map_or(Ok(()), Err));
        events.extend(turn.event().map(event));
        at = turn.next_run_at;
    }
    (calls, events)
}

fn event(event: &GcEvent) -> Value {
    json!({
        "at_seconds": event.at / GoDuration::SECOND.0,
        "type": event.event_type,
        "reason": event.reason,
        "message": event.message,
    })
}

fn configuration(case: &Value) -> Value {
    let version = super::input::version(case);
    let given =
        read(&case["config"], Source::Flags, version).expect("a readable configuration").config;
    let gates = FeatureGates::for_version(version)
        .with_overrides(&given.feature_gates.clone().unwrap_or_default())
        .expect("gates of the reference version");
    let errors: Vec<String> = validate(&given, &gates, CgroupMode::V2)
        .into_iter()
        .filter(|error| matches!(error, ValidationError::ImageGc(_)))
        .map(|error| error.to_string())
        .collect();
    let config = effective(&given, version);
    let policy = ImageGcPolicy::of(&config);
    json!({
        "effective": {
            "imageGCHighThresholdPercent": policy.high_threshold_percent,
            "imageGCLowThresholdPercent": policy.low_threshold_percent,
            "imageMinimumGCAge": policy.min_age,
            "imageMaximumGCAge": policy.max_age,
            "image_minimum_gc_age_nanoseconds": policy.min_age.0,
            "image_maximum_gc_age_nanoseconds": policy.max_age.0,
        },
        "image_errors": errors,
        "policy_error": policy.validate().err().map(|error| error.to_string()),
    })
}
