//! Whether the kubelet of a node admits a pod, and which of its pods it admits again when it starts.

use super::plan::few_enough;
use super::start_pressure::{refusal, start_pressure};
use super::{AdmissionNode, Detail, plan};
use crate::admission::{DeviceDecision, NodePod, PodAdmission, qualified};
use crate::answer::Failure;
use crate::k8s::pod::Pod;
use crate::k8s::priority::is_critical_pod;
use crate::preemption::{PodReadmission, Trace, readmit, restart_order};
use crate::question::devices::admission::PluginStart;

/// Explains whether the kubelet of a node admits a pod. `ledger`: with the requests of each other pod.
///
/// # Errors
///
/// Fails where the Node object or the pods of the node are unknown.
pub fn admit(about: &AdmissionNode, pod: &Pod, ledger: bool) -> Result<PodAdmission, Failure> {
    let in_order = |others: &mut [NodePod<'_>]| {
        others.sort_by_cached_key(|it| qualified(it.pod));
        Ok(())
    };
    let planned = plan(about, pod, in_order, Detail { trace: Trace::Chosen, ledger })?;
    Ok(PodAdmission::new(planned.admission, planned.basis))
}

/// Explains which pods of a node a kubelet that starts admits again.
///
/// # Errors
///
/// Fails as [`admit`] does.
pub fn readmit_all(about: &AdmissionNode) -> Result<PodReadmission, Failure> {
    readmit_arranged(about, PluginStart::AfterPods, |_| {})
}

/// Explains the same for a kubelet with which each plugin that runs registers before it admits the pods.
///
/// # Errors
///
/// Fails as [`admit`] does.
pub fn readmit_after_plugins(about: &AdmissionNode) -> Result<PodReadmission, Failure> {
    readmit_arranged(about, PluginStart::BeforePods, |_| {})
}

/// Explains the same, with the pods in another order than that of their age and names.
///
/// # Errors
///
/// Fails as [`admit`] does.
pub fn readmit_arranged(
    about: &AdmissionNode,
    plugins: PluginStart,
    arrange: impl FnOnce(&mut Vec<&Pod>),
) -> Result<PodReadmission, Failure> {
    let mut basis = about.basis.clone();
    let pods = about.others(None, &mut basis)?.pods;
    let counted: Vec<_> = pods.iter().filter(|it| it.counts).map(|it| it.pod).collect();
    if counted.iter().any(|pod| is_critical_pod(pod)) {
        few_enough(counted.len())?;
    }
    about.assume(counted.iter().copied(), &mut basis);
    let mut devices = about.device_question(&pods)?.restarted(&counted, plugins, &mut basis)?;
    let reported = devices.as_mut().and_then(|devices| devices.restarted.take());
    let object = match &reported {
        Some(object) => object,
        None => about.object()?,
    };
    let rules = &about.node.kubelet.rules;
    let conditions = start_pressure(about, &mut basis)?;
    let decide = |pod: &Pod| match (refusal(&conditions, pod, rules), &mut devices) {
        (Some(refusal), _) => {
            DeviceDecision { refusal: Some(refusal), ..DeviceDecision::default() }
        }
        (None, Some(devices)) => devices.decide_next(pod, &mut basis),
        (None, None) => DeviceDecision::default(),
    };
    let mut order = restart_order(&counted);
    arrange(&mut order);
    let items = readmit(&order, object, decide, rules);
    Ok(PodReadmission::new(object, items, basis))
}
