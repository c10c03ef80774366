//! When a container lets go of its image.
//!
//! A container holds its image until the runtime has removed it; which dead containers go is the
//! question of `src/image_gc/containers` (`evictContainers` in
//! `pkg/kubelet/kuberuntime/kuberuntime_gc.go`).

use super::Asked;
use crate::facts::runtime::ContainerState;
use crate::image_gc::containers::{ContainerGcPlan, ContainerGcPolicy, Step};
use crate::image_gc::loops::Garbage;
use crate::image_gc::uses::Use;
use serde::Serialize;

/// A container that uses an image, and when it lets go of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedUse {
    /// The container.
    #[serde(flatten)]
    pub used: Use,
    /// What the loop of containers does with it.
    pub in_loop: String,
    /// What becomes of it under disk pressure.
    pub under_pressure: String,
}

impl ExplainedUse {
    pub(super) fn of(used: &Use, asked: Asked<'_>) -> Self {
        let limit = kept(&asked.container_policy);
        let every = Garbage::Containers.interval();
        if used.state == ContainerState::Running {
            let while_it_runs = "keeps the image while it runs";
            return Self {
                used: used.clone(),
                in_loop: format!("{while_it_runs}; then {limit}"),
                under_pressure: while_it_runs.to_owned(),
            };
        }
        let in_loop = match fate(asked.containers, &used.container_id) {
            Fate::Goes(reason) => {
                format!("goes with the next collection of containers, every {every}: {reason}")
            }
            Fate::Stays(reason) => format!("stays: {reason}; {limit}"),
            Fate::Unknown => "whether it goes is not known".to_owned(),
        };
        let under_pressure = match asked.eviction.containers.as_ref() {
            None => "whether it goes is not known".to_owned(),
            Some(plan) => match fate(plan, &used.container_id) {
                Fate::Goes(reason) => format!("goes before images are looked at: {reason}"),
                Fate::Stays(reason) => format!("stays: {reason}"),
                Fate::Unknown => "whether it goes is not known".to_owned(),
            },
        };
        Self { used: used.clone(), in_loop, under_pressure }
    }
}

/// What becomes of a dead container.
enum Fate {
    Goes(String),
    Stays(String),
    Unknown,
}

fn fate(plan: &ContainerGcPlan, id: &str) -> Fate {
    let step = plan.steps.iter().find(|step| matches!(step, Step::Container(_)) && step.id() == id);
    if let Some(step) = step {
        return Fate::Goes(step.reason().to_string());
    }
    let left = plan.containers.iter().find(|left| left.id == id);
    left.map_or(Fate::Unknown, |left| Fate::Stays(left.reason.to_string()))
}

/// Says how long dead containers stay.
fn kept(policy: &ContainerGcPolicy) -> String {
    let until = "until its pod is deleted or evicted";
    match policy.max_per_pod_container {
        None => format!("dead ones of a container stay {until}"),
        Some(0) => "no dead one of a container stays".to_owned(),
        Some(1) => format!("the newest dead one of a container stays {until}"),
        Some(limit) => format!("the {limit} newest dead ones of a container stay {until}"),
    }
}
