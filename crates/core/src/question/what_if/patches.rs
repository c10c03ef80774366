//! Faults of patch releases that a start of the kubelet meets, and what is refused once a patch ends one.
//!
//! The patches are data of `k8s` (`patch_fixes.rs`); here stands which pods a fault concerns.

use super::behaviours::{Concern, pods, when};
use super::pods::Transition;
use crate::question::patches::assume_patch;
use crate::what_if::{Effect, WhatIfRule};
use kq_answer::{Basis, Subject};
use kq_facts::node::Node;
use kq_k8s::patch_fixes::PatchFault;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_static_pod;

/// Returns the faults of the kubelet that starts, as far as they concern the node.
pub fn patches(transition: &Transition<'_>, basis: &mut Basis) -> Vec<Effect> {
    let Ok(node) = transition.after.kubelet() else { return Vec::new() };
    if !transition.restarts {
        return Vec::new();
    }
    let version = node.kubelet.version;
    let set = node.kubelet.given.feature_gates.iter().flatten();
    basis.assume_all(set.filter_map(|(gate, _)| version.gate_note(gate)));
    let mut found = Vec::new();
    for fault in PatchFault::ALL {
        let Some(note) = node.kubelet.rules.patch_note(fault) else { continue };
        let about = match concern(fault, node, transition.reboots) {
            Concern::Nothing => continue,
            Concern::Node => Vec::new(),
            Concern::Named(names) => names,
        };
        if !note.is_assumed_fixed {
            let rule = WhatIfRule::PatchFault {
                fault: fault.id().to_owned(),
                patches: note.patches(),
                fixed: note.fixed.to_string(),
                what: fault.what().to_owned(),
                about: about.clone(),
            };
            found.push(Effect::new(Subject::Node, rule));
        }
        assume_patch(&note, &about, basis);
    }
    found
}

/// Returns what a fault concerns at the start of the kubelet.
fn concern(fault: PatchFault, node: &Node, reboots: bool) -> Concern {
    match fault {
        PatchFault::ForgetsStartedSidecars => pods(node, has_started_sidecar),
        PatchFault::TakesStaticClaims => {
            pods(node, |pod| is_static_pod(pod) && !pod.spec.resource_claims.is_empty())
        }
        PatchFault::UnmountsClaims => {
            pods(node, |pod| pod.spec.volumes.iter().any(|it| it.persistent_volume_claim.is_some()))
        }
        PatchFault::LosesNodeStatus => Concern::Node,
        PatchFault::WatchdogWhileWaiting => when(reboots),
        // The start, the outcomes of pods and the answers about probes say so.
        PatchFault::LacksZfs
        | PatchFault::ForgetsRestartedContainers
        | PatchFault::EndsProbesOfSidecars => Concern::Nothing,
    }
}

/// Returns true if a pod has a sidecar with a startup probe, next to containers that start again when they crash.
fn has_started_sidecar(pod: &Pod) -> bool {
    let mut sidecars = pod.spec.sidecars();
    sidecars.any(|it| it.startup_probe.is_some()) && pod.spec.restart_policy != "Never"
}
