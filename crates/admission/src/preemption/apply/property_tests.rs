//! What holds on every node: no pod is removed that was not shown or is not needed at that moment, and in the end the pod
//! fits.

use super::tests::{GONE, options};
use super::*;
use crate::preemption::tests::{node, pod};
use crate::preemption::{Handled, Outcome, Trace, explain_preemption, make_room};
use crate::{Facts, NodePod, Occupancy, Verdict, examine, finally};
use kq_facts::node_object::NodeObject;
use kq_facts::node_pods::StandingReason;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a node wants for a pod: what kq asks itself before each step.
fn look(new: &Pod, pods: &[Pod], node: &NodeObject, targets: &[Target]) -> Refreshed {
    let mut others: Vec<NodePod<'_>> =
        pods.iter().map(|pod| NodePod { pod, counts: true, why: StandingReason::OnNode }).collect();
    planned_last(&mut others, targets, |it| it.pod.metadata.uid.clone());
    let others: Vec<&Pod> = others.iter().map(|it| it.pod).collect();
    let there = others.iter().map(|pod| pod.metadata.uid.clone()).collect();
    let rules = KubeletRules::default();
    let (verdict, handled) = room(new, &others, node);
    let refusals = finally(new, verdict.refusals(), &rules);
    let fresh =
        ReplanResult::of(&explain_preemption(new, refusals, handled.as_ref(), &others, &rules));
    Refreshed { fresh, there, going: BTreeSet::new() }
}

/// Returns the pods that the kubelet kills; `None`: the pod fits.
fn victims<'p>(
    new: &Pod,
    others: &[&'p Pod],
    node: &NodeObject,
) -> Option<Result<Vec<&'p Pod>, String>> {
    match room(new, others, node).1?.outcome {
        Outcome::Kills(victims) => Some(Ok(victims.iter().map(|at| others[*at]).collect())),
        outcome => Some(Err(format!("{outcome:?}"))),
    }
}

/// Returns what the kubelet says in the end, and how it made room.
fn room(new: &Pod, others: &[&Pod], node: &NodeObject) -> (Verdict, Option<Handled>) {
    let nothing = BTreeMap::new();
    let rules = KubeletRules::default();
    let occupancy = Occupancy::of(others.iter().copied(), &rules);
    let facts = Facts {
        others: &occupancy,
        cached: Ok(node),
        fresh: Ok(node),
        allocated_devices: Ok(&nothing),
    };
    let examined = examine(new, &facts, &rules);
    make_room(new, &examined, others, Trace::Chosen, &rules)
}

fn named(mut pods: Vec<Pod>) -> Vec<Pod> {
    for (at, pod) in pods.iter_mut().enumerate() {
        pod.metadata.namespace = "n".to_owned();
        pod.metadata.name = format!("p{at:02}");
        pod.metadata.uid = format!("u{at:02}");
    }
    pods
}

proptest! {
    #[test]
    fn the_pod_fits_in_the_end_and_nobody_goes_for_nothing(
        new in pod(),
        pods in vec(pod(), 0..14),
        node in node(),
        // After each victim: whether another pod goes as well, and which.
        leaves in vec(prop::option::weighted(0.2, any::<Index>()), 14),
        is_alone in any::<bool>(),
    ) {
        let mut pods = named(pods);
        let at_first = pods.clone();
        let others: Vec<&Pod> = pods.iter().collect();
        let Some(Ok(planned)) = victims(&new, &others, &node) else { return Ok(()) };
        let targets: Vec<Target> = planned.into_iter().map(target_of).collect();
        let shown: BTreeSet<String> = targets.iter().map(|target| target.uid.clone()).collect();
        let mut apply = Apply::new(targets.clone(), options());
        let mut looked = None;
        let mut removed = Vec::new();
        for _ in 0..1000 {
            let told = match apply.next_action() {
                Action::End => break,
                Action::Refresh => {
                    let fresh = look(&new, &pods, &node, &targets);
                    looked = Some(fresh.fresh.clone());
                    Observation::Refreshed(Ok(fresh))
                }
                Action::Remove(at) => {
                    let uid = &targets[at].uid;
                    // At this very moment the kubelet would kill it.
                    let Some(ReplanResult::Needs(wanted)) = &looked else {
                        return Err(TestCaseError::fail("nobody was to go"));
                    };
                    prop_assert!(wanted.iter().any(|(_, wanted)| wanted == uid));
                    prop_assert!(shown.contains(uid) && !removed.contains(uid));
                    pods.retain(|pod| pod.metadata.uid != *uid);
                    if let Some(index) = leaves[removed.len()].filter(|_| !is_alone && !pods.is_empty()) {
                        let at = index.index(pods.len());
                        pods.remove(at);
                    }
                    removed.push(uid.clone());
                    Observation::Answered(EvictionResponse::Accepted)
                }
                Action::Find(_) => GONE,
                Action::Pause(_) => Observation::Paused,
            };
            apply.handle(told, Duration::ZERO);
        }
        prop_assert_eq!(apply.next_action(), Action::End);
        let others: Vec<&Pod> = pods.iter().collect();
        let fits = victims(&new, &others, &node).is_none();
        prop_assert_eq!(apply.stopped().is_none(), fits, "{:?}", apply.stopped());
        if is_alone {
            // On a node that stands still what was planned is done, and without any of those who went the
            // pod would not fit.
            prop_assert!(fits, "{:?}", apply.stopped());
            for uid in removed {
                let back = at_first.iter().filter(|pod| pod.metadata.uid == uid);
                let others: Vec<&Pod> = pods.iter().chain(back).collect();
                prop_assert!(victims(&new, &others, &node).is_some(), "{uid} went for nothing");
            }
        }
    }
}
