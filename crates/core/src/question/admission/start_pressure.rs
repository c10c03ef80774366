//! The pressure that the eviction manager finds by the measurements: of a starting kubelet before its pods are admitted, and
//! of a running one before the Node object reports it.

use super::AdmissionNode;
use crate::question::eviction::crossed_thresholds;
use crate::question::measured::stats;
use kq_admission::{CheckName, Refusal};
use kq_answer::{Basis, Failure, Missing, MissingFact};
use kq_eviction::{admit_under_pressure, node_conditions, observe};
use kq_facts::kubelet_config::PressureCondition;
use kq_facts::node::Node;
use kq_facts::node_object::NodeStatus;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;

/// Returns the conditions of the eviction manager's first cycle. A starting kubelet has no earlier observations. A soft
/// threshold counts like a hard one: its grace period delays evictions alone (`synchronize`, `eviction_manager.go`).
///
/// # Errors
///
/// Fails on thresholds with which the kubelet would not start.
pub fn start_pressure(
    about: &AdmissionNode,
    basis: &mut Basis,
) -> Result<Vec<PressureCondition>, Failure> {
    let node = &about.node;
    let crossed = crossed_thresholds(node)?;
    let mut found = node_conditions(crossed.iter().map(|crossing| &crossing.threshold));
    if !are_measured(node)? {
        if node.lacks_config() {
            let text = "whether a starting kubelet finds pressure and refuses pods: its thresholds are unknown";
            let missing = Missing::new(MissingFact::Pressure, text);
            basis.lack(missing.with_flags(["--kubelet-config"]));
        } else if has_new_threshold(node, about.before())? {
            let text = "whether a starting kubelet finds pressure and refuses or evicts pods: its thresholds change, and the \
                        node was not measured";
            basis.lack(Missing::new(MissingFact::Pressure, text));
        }
        let status = &about.object()?.status;
        let (short, absent) = status.pressure();
        let names: Vec<&str> = short.iter().map(|it| it.as_str()).collect();
        let names = if names.is_empty() { "no pressure".to_owned() } else { names.join(", ") };
        let unknown = if node.lacks_config() { "thresholds" } else { "stats" };
        let like = if absent.is_empty() { ", like the Node object" } else { "" };
        basis.assume(format!("a starting kubelet finds {names}{like}: its {unknown} are unknown"));
        basis.lack_all(undetermined(status));
        found.extend(short.into_iter().filter(|it| !found.contains(it)).collect::<Vec<_>>());
        return Ok(found);
    }
    if !found.is_empty() {
        basis.assume(
            "the eviction manager measures the node before the pods are admitted (0.24 s before in a recorded start)"
                .to_owned(),
        );
    }
    Ok(found)
}

/// Returns what is missing where the Node object says of a pressure that it is unknown, as after a kubelet that was silent.
pub fn undetermined(status: &NodeStatus) -> Option<Missing> {
    let kinds: Vec<&str> = status.undetermined_pressure().collect();
    let text = format!("whether the node is under pressure: {} is Unknown", kinds.join(", "));
    let missing = Missing::new(MissingFact::Pressure, text);
    (!kinds.is_empty()).then(|| missing.with_flags(["--node-file"]))
}

/// Returns true if a node has a threshold that it did not have.
fn has_new_threshold(node: &Node, before: &Node) -> Result<bool, Failure> {
    let known = before.eviction_thresholds()?;
    Ok(node.eviction_thresholds()?.iter().any(|it| !known.contains(it)))
}

/// Returns what is not known of the admission of a pod: a threshold is measured as crossed, the Node object does not report
/// its condition, and the pod would be refused under it. The eviction manager looks every ten seconds
/// (`monitoringInterval`, `pkg/kubelet/kubelet.go`).
pub fn unreported(
    about: &AdmissionNode,
    pod: &Pod,
    reported: &[PressureCondition],
) -> Option<Missing> {
    let rules = &about.node.kubelet.rules;
    let crossed = crossed_thresholds(&about.node).ok()?;
    let new = crossed.iter().filter(|it| !reported.contains(&it.threshold.signal.condition()));
    let new: Vec<_> = new.collect();
    let mut conditions = reported.to_vec();
    conditions.extend(node_conditions(new.iter().map(|it| &it.threshold)));
    let is_refused =
        |conditions: &[PressureCondition]| !admit_under_pressure(conditions, pod, rules).admitted();
    if is_refused(reported) || !is_refused(&conditions) {
        return None;
    }
    let signals: Vec<&str> = new.iter().map(|it| it.threshold.signal.as_str()).collect();
    let text = format!(
        "whether the kubelet refuses the pod under pressure: the measured {} is below its threshold, and the Node object \
         does not report the condition",
        signals.join(", ")
    );
    Some(Missing::new(MissingFact::Pressure, text).with_flags(["--node-file"]))
}

/// Returns true if each signal with a threshold was measured, and the thresholds are known.
pub fn are_measured(node: &Node) -> Result<bool, Failure> {
    if node.lacks_config() {
        return Ok(false);
    }
    let Some(found) = stats(node) else { return Ok(false) };
    if !found.value.is_of_machine {
        return Ok(true);
    }
    let known = observe(&found.value);
    let thresholds = node.eviction_thresholds()?;
    Ok(thresholds.iter().all(|it| known.contains_key(&it.signal)))
}

/// Returns the refusal of a pod under these conditions.
pub fn refusal(
    conditions: &[PressureCondition],
    pod: &Pod,
    rules: &KubeletRules,
) -> Option<Refusal> {
    let admission = admit_under_pressure(conditions, pod, rules);
    let message = admission.messages().into_iter().next()?;
    Some(Refusal::new(CheckName::Pressure, admission.reason(), message))
}
