//! Which component killed a pod, and for which other pod, from what is left of it.

use crate::answer::Failure;
use crate::facts::pod_selector::PodSelector;
use crate::node::PodTraces;
use crate::preemption::why::{NoTraces, Traces, why_killed};

pub use crate::preemption::why::PreemptionCause;

/// Tells which component killed a pod, and for which other pod.
///
/// # Errors
///
/// Fails where nothing is known of the pod, and where the name means several.
pub fn preemption_cause(traces: &PodTraces, pod: &PodSelector) -> Result<PreemptionCause, Failure> {
    let pods = traces.pods.as_ref().map(|pods| pods.iter().map(|loaded| &loaded.pod).collect());
    let left = Traces {
        pods: pods.map_err(Clone::clone),
        events: traces.events.as_deref().map_err(Clone::clone),
        log: traces.log.as_ref(),
        now: traces.now,
        are_current: traces.are_current,
    };
    why_killed(pod, &left, traces.basis.clone()).map_err(|error| match &error {
        NoTraces::Ambiguous { .. } => Failure::usage(error).hint("use NAMESPACE/NAME"),
        NoTraces::Nothing { near: Some(near), .. } => {
            let hint = format!("did you mean {near}?");
            Failure::missing(error).hint(hint)
        }
        NoTraces::Nothing { near: None, .. } => Failure::missing(error).hint(
            "name a kubeconfig with --kubeconfig, or the remaining files: --pods, --events, --kubelet-log; events \
             are kept for an hour by default",
        ),
    })
}
