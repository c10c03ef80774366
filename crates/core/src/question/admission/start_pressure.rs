//! The pressure that the eviction manager of a starting kubelet finds before its pods are admitted.

use super::AdmissionNode;
use crate::question::eviction::crossed_thresholds;
use kq_admission::Refusal;
use kq_answer::{Basis, Failure};
use kq_eviction::{admit_under_pressure, node_conditions};
use kq_facts::kubelet_config::PressureCondition;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;

/// Returns the conditions of the eviction manager's first cycle. A starting kubelet has no earlier observations;
/// a soft threshold decides only after its grace period.
///
/// # Errors
///
/// Fails on thresholds with which the kubelet would not start.
pub fn start_pressure(
    about: &AdmissionNode,
    basis: &mut Basis,
) -> Result<Vec<PressureCondition>, Failure> {
    let node = &about.node;
    if node.snapshot.stats_summary.found.is_none() {
        let (short, _) = about.object()?.status.pressure();
        basis.assume(match short.as_slice() {
            [] => {
                "a starting kubelet finds no pressure, like the Node object: its stats are unknown"
                    .to_owned()
            }
            short => {
                let names: Vec<&str> = short.iter().map(|it| it.as_str()).collect();
                format!(
                    "a starting kubelet finds {}, like the Node object: its stats are unknown",
                    names.join(", ")
                )
            }
        });
        return Ok(short);
    }
    let crossed = crossed_thresholds(node)?;
    let hard = crossed.iter().map(|crossing| &crossing.threshold).filter(|it| it.is_hard());
    let found = node_conditions(hard);
    if !found.is_empty() {
        basis.assume(
            "the eviction manager measures the node before the pods are admitted (0.24 s before in a recorded start)"
                .to_owned(),
        );
    }
    Ok(found)
}

/// Returns the refusal of a pod under these conditions.
pub fn refusal(
    conditions: &[PressureCondition],
    pod: &Pod,
    rules: &KubeletRules,
) -> Option<Refusal> {
    let admission = admit_under_pressure(conditions, pod, rules);
    let message = admission.messages().into_iter().next()?;
    Some(Refusal { reason: admission.reason().to_owned(), message })
}
