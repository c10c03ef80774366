//! Who is killed, class by class and round by round.

use super::input;
use super::preempt_units::{bits, requirements, told};
use kq_admission::preemption::{
    Preemption, Round, Stage, Trace, Visit, VisitResult, pick_victims, preemption_request,
};
use kq_k8s::pod::{Pod, ResourceName};
use kq_k8s::qos::recorded_qos_class;
use serde_json::{Map, Value, json};

pub fn answer(case: &Value) -> Value {
    let rules = input::rules(case);
    let preemptor = input::pod(&case["preemptor"]);
    let pods: Vec<Pod> = input::read(&case["pods"]);
    let pods: Vec<&Pod> = pods.iter().collect();
    let requirements = requirements(&case["requirements"]);
    let found = pick_victims(&preemptor, &pods, &requirements, Trace::Visits, &rules);
    let name = |at: &usize| pods[*at].metadata.name.clone();
    let names = |places: &[usize]| -> Value { places.iter().map(name).collect() };
    let Preemption { spared, best_effort, burstable, guaranteed, stages, victims, .. } = &found;
    let requests: Map<String, Value> = pods
        .iter()
        .enumerate()
        .filter(|(at, _)| !spared.contains(at))
        .map(|(_, pod)| {
            let class = recorded_qos_class(pod, rules.gates).map(|class| class.to_string());
            let mut out =
                json!({ "qos_class": class.unwrap_or_else(|| pod.status.qos_class.clone()) });
            let required = requirements.iter().map(|it| &it.resource);
            let required = required.filter(|resource| resource.as_str() != "pods");
            for resource in [ResourceName::Cpu, ResourceName::Memory].iter().chain(required) {
                out[resource.as_str()] = preemption_request(pod, resource, &rules).into();
            }
            (pod.metadata.name.clone(), out)
        })
        .collect();
    let mut detail = json!({
        "not_preemptable": names(spared),
        "preemptable_best_effort": names(best_effort),
        "preemptable_burstable": names(burstable),
        "preemptable_guaranteed": names(guaranteed),
        "requirements_left_if_all_are_preempted": [],
        "pod_requests": requests,
    });
    let mut out = match victims {
        Ok(victims) => {
            detail["stages"] = stages.iter().map(|it| stage(it, &name)).collect();
            json!({ "victims": names(victims) })
        }
        Err(left) => {
            detail["requirements_left_if_all_are_preempted"] = told(&left.0.0);
            json!({ "error": left.to_string() })
        }
    };
    out["detail"] = detail;
    out
}

fn stage(stage: &Stage, name: &impl Fn(&usize) -> String) -> Value {
    let round = |round: &Round| {
        let Round { requirements, visits, chosen, distance, remaining, .. } = round;
        let visit = |visit: &Visit| {
            let how = match visit.result {
                VisitResult::Nearer => "nearer",
                VisitResult::Farther => "farther",
                VisitResult::TieNoMore => "tie_smaller_or_equal_request",
                VisitResult::TieMore => "tie_larger_request",
            };
            json!([name(&visit.pod), input::float(visit.distance), how])
        };
        json!({
            "requirements": told(requirements),
            "candidates": visits.iter().map(visit).collect::<Vec<_>>(),
            "chosen": name(chosen),
            "chosen_distance": input::float(*distance),
            "chosen_distance_bits": bits(*distance),
            "remaining": told(remaining),
        })
    };
    json!({
        "qos_class": stage.class.as_str(),
        "requirements": told(&stage.requirements),
        "rounds": stage.rounds.iter().map(round).collect::<Vec<_>>(),
    })
}

/// Leaves out what is recorded for few pods only, where it is not.
pub fn comparable(mut got: Value, expected: &Value) -> Value {
    let (Some(detail), Some(recorded)) =
        (got.get_mut("detail").and_then(Value::as_object_mut), expected["detail"].as_object())
    else {
        return got;
    };
    if !recorded.contains_key("pod_requests") {
        detail.remove("pod_requests");
    }
    let stages = detail.get_mut("stages").and_then(Value::as_array_mut);
    for (at, stage) in stages.into_iter().flatten().enumerate() {
        let rounds = stage["rounds"].as_array_mut();
        for (number, round) in rounds.into_iter().flatten().enumerate() {
            let recorded = &expected["detail"]["stages"][at]["rounds"][number];
            if let Some(round) = round.as_object_mut()
                && recorded.get("candidates").is_none()
            {
                round.remove("candidates");
            }
        }
    }
    got
}
