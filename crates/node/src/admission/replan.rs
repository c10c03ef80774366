//! Reads the node and plans again before each step.

use super::AdmissionOptions;
use kq_admission::preemption::apply::{Refreshed, ReplanResult, Target, planned_last};
use kq_admission::{NodePod, qualified};
use kq_core::question::admission::{AdmissionNode, Detail, Settled, plan, settled, sort};
use kq_facts::runtime::ContainerState;
use kq_facts::snapshot::Snapshot;
use kq_k8s::pod::{Pod, is_final};
use std::collections::BTreeSet;

/// Reads the node and plans again, preferring the victims of the confirmed plan.
///
/// # Errors
///
/// Fails with the reason where a fact that counts is unknown.
pub fn replan(
    options: &AdmissionOptions,
    name: &str,
    pod: &Pod,
    targets: &[Target],
    observe: impl FnOnce(&Snapshot),
) -> Result<Refreshed, String> {
    let gathered = options.gather_again(name, pod, observe);
    let (about, found) = gathered.map_err(|failure| failure.reason())?;
    let favour = |others: &mut [NodePod<'_>]| {
        sort(others, &[])?;
        planned_last(others, targets, |it| it.pod.metadata.uid.clone());
        Ok(())
    };
    let new = found.as_ref().unwrap_or(pod);
    let planned = plan(&about, new, favour, Detail::BRIEF).map_err(|failure| failure.reason())?;
    let doubts = planned.doubts(targets);
    let missing = planned.basis.missing.iter().chain(&doubts);
    let missing: Vec<String> = missing.map(ToString::to_string).collect();
    if !missing.is_empty() {
        let tried = about.node.snapshot.pods.tried.iter().map(ToString::to_string);
        return Err(missing.into_iter().chain(tried).collect::<Vec<_>>().join("; "));
    }
    let phase = new.status.phase.as_str();
    let fresh = match settled(&about, new) {
        _ if found.is_none() => {
            ReplanResult::NoVictims(format!("{} is no longer on this node", qualified(pod)))
        }
        Some(Settled::Deleted) => ReplanResult::NoVictims(Settled::Deleted.because().to_owned()),
        _ if is_final(phase) && !pod.status.has_ended() => {
            ReplanResult::NoVictims(format!("its phase is {phase} now"))
        }
        Some(Settled::Taken) => ReplanResult::Fits,
        None => ReplanResult::of(&planned.preemption),
    };
    let counted = planned.counted.iter().copied();
    let deleted = counted.clone().filter(|it| it.metadata.deletion_timestamp.is_some());
    let of_targets = |uids: BTreeSet<&str>| {
        let all = targets.iter().map(|target| &target.uid);
        all.filter(|uid| uids.contains(uid.as_str())).cloned().collect()
    };
    Ok(Refreshed {
        fresh,
        there: of_targets(uids(counted).chain(running(&about)).collect()),
        going: of_targets(uids(deleted).collect()),
    })
}

fn uids<'p>(pods: impl Iterator<Item = &'p Pod>) -> impl Iterator<Item = &'p str> {
    pods.map(|pod| pod.metadata.uid.as_str())
}

/// Returns the UIDs of the pods with running containers, also of pods whose objects are gone.
fn running(about: &AdmissionNode) -> BTreeSet<&str> {
    let runtime = about.node.snapshot.runtime.value().into_iter();
    let containers = runtime.filter_map(|facts| facts.containers.value()).flatten();
    let run = containers.filter(|container| container.state == ContainerState::Running);
    run.map(|container| container.pod_uid.as_str()).collect()
}
