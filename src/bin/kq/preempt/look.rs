//! The node once more, and the plan anew, before each step.

use super::explain::sort;
use crate::admission_node::{AdmissionArgs, AdmissionNode, Detail, plan};
use crate::exit::Failure;
use kq::admission::{NodePod, qualified};
use kq::facts::runtime::ContainerState;
use kq::k8s::pod::Pod;
use kq::preemption::Trace;
use kq::preemption::apply::{Fresh, Looked, Target, planned_last};
use std::collections::BTreeSet;

/// Who goes is all that counts here.
pub const DETAIL: Detail = Detail { trace: Trace::Chosen, ledger: false };

/// Reads the node again and plans anew, in favour of the victims that were shown.
pub fn look(args: &AdmissionArgs, name: &str, pod: &Pod, targets: &[Target]) -> Looked {
    let unknown = |failure: Failure| Looked {
        fresh: Fresh::Unknown(failure.reason()),
        there: BTreeSet::new(),
    };
    let (about, found) = match args.gather_again(name, pod) {
        Ok(gathered) => gathered,
        Err(failure) => return unknown(failure),
    };
    let Some(found) = found else {
        let reason = format!("{} is not on this node any more", qualified(pod));
        return Looked { fresh: Fresh::Helpless(reason), there: BTreeSet::new() };
    };
    let favour = |others: &mut [NodePod<'_>]| {
        sort(others, &[])?;
        planned_last(others, targets, |it| it.pod.metadata.uid.clone());
        Ok(())
    };
    let planned = match plan(&about, &found, favour, DETAIL) {
        Ok(planned) => planned,
        Err(failure) => return unknown(failure),
    };
    let missing = &planned.basis.missing;
    let phase = found.status.phase.as_str();
    let fresh = if has_ended(phase) && !has_ended(&pod.status.phase) {
        Fresh::Helpless(format!("its phase is {phase} now"))
    } else if runs(&found) && !runs(pod) {
        Fresh::Fits
    } else if missing.is_empty() {
        Fresh::of(&planned.preemption)
    } else {
        Fresh::Unknown(missing.join("; "))
    };
    let runs = running(&about);
    let counted = planned.counted.iter().map(|pod| pod.metadata.uid.as_str());
    let here: BTreeSet<&str> = counted.chain(runs).collect();
    let uids = targets.iter().map(|target| &target.uid);
    let there = uids.filter(|uid| here.contains(uid.as_str()));
    Looked { fresh, there: there.cloned().collect() }
}

/// Tells whether the kubelet has taken a pod in.
pub fn runs(pod: &Pod) -> bool {
    pod.status.phase == "Running"
}

/// Tells whether a pod stays as it is in a phase.
pub fn has_ended(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}

/// Returns the UIDs of the pods of which the runtime runs containers, also where their objects are gone.
fn running(about: &AdmissionNode) -> BTreeSet<&str> {
    let runtime = about.node.snapshot.runtime.value().into_iter();
    let containers = runtime.filter_map(|facts| facts.containers.value()).flatten();
    let run = containers.filter(|container| container.state == ContainerState::Running);
    run.map(|container| container.pod_uid.as_str()).collect()
}
