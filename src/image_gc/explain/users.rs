//! When a container lets go of its image.
//!
//! A container holds its image until the runtime has removed it; which dead containers go is the
//! question of `src/image_gc/containers` (`evictContainers` in
//! `pkg/kubelet/kuberuntime/kuberuntime_gc.go`).

use super::ExplainInput;
use super::reason::{DeadLimit, UseFate};
use crate::answer::Worded;
use crate::facts::runtime::ContainerState;
use crate::image_gc::containers::{ContainerGcPlan, Step};
use crate::image_gc::loops::Garbage;
use crate::image_gc::uses::Use;
use crate::k8s::duration::GoDuration;
use serde::Serialize;

/// A container that uses an image, and when it lets go of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedUse {
    /// The container.
    #[serde(flatten)]
    pub used: Use,
    /// What the loop of containers does with it.
    pub in_loop: Worded<UseFate>,
    /// The result under disk pressure.
    pub under_pressure: Worded<UseFate>,
}

impl ExplainedUse {
    pub(super) fn of(used: &Use, input: ExplainInput<'_>) -> Self {
        let max_per_pod_container = input.container_policy.max_per_pod_container;
        let limit = Some(DeadLimit { max_per_pod_container });
        let (in_loop, under_pressure) = if used.state == ContainerState::Running {
            (UseFate::Runs { limit }, UseFate::Runs { limit: None })
        } else {
            let interval = Some(Garbage::Containers.interval());
            let pressed = input.eviction.containers.as_ref();
            (
                fate(input.containers, &used.container_id, limit, interval),
                pressed.map_or(UseFate::Unknown, |it| fate(it, &used.container_id, None, None)),
            )
        };
        Self { used: used.clone(), in_loop: in_loop.into(), under_pressure: under_pressure.into() }
    }
}

/// Returns the fate of a dead container.
fn fate(
    plan: &ContainerGcPlan,
    id: &str,
    limit: Option<DeadLimit>,
    interval: Option<GoDuration>,
) -> UseFate {
    let step = plan.steps.iter().find(|step| matches!(step, Step::Container(_)) && step.id() == id);
    if let Some(step) = step {
        return UseFate::Goes { reason: step.reason().clone(), interval };
    }
    let left = plan.containers.iter().find(|left| left.id == id);
    left.map_or(UseFate::Unknown, |left| UseFate::Stays { reason: left.reason.clone(), limit })
}
