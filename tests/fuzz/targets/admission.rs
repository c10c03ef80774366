//! Whatever pods and whatever node, saying who is taken and who is killed for it ends without a panic; nobody
//! is killed twice, or for a pod that may not take its place; and what is enough is enough.
#![cfg_attr(fuzzing, no_main)]

use kq_admission::preemption::{Outcome, Trace, explain_preemption, make_room, readmit};
use kq_admission::{DeviceDecision, Facts, NodePod, Occupancy, explain};
use kq_facts::node_object::NodeObject;
use kq_facts::node_pods::StandingReason;
use kq_facts::stats_summary::StatsSummary;
use kq_k8s::defaults::{apply_api_defaults, apply_placement_defaults, apply_priority};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_preemptable;
use kq_k8s::version::KubeletVersion;
use std::collections::{BTreeMap, BTreeSet};

/// What is between the pods and the node.
const BETWEEN: &[u8] = b"\n%%%\n";

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    // What the kubelet measured is foreign text as well.
    let _ = serde_json::from_slice::<StatsSummary>(bytes);
    let Some(at) = bytes.windows(BETWEEN.len()).position(|it| it == BETWEEN) else { return };
    let Ok(node) = serde_json::from_slice::<NodeObject>(&bytes[at + BETWEEN.len()..]) else {
        return;
    };
    let pods = kq_k8s::manifest::load("fuzz", &bytes[..at]).pods.into_iter();
    let pods: Vec<Pod> = pods.map(|loaded| loaded.pod.into_inner()).collect();
    for version in [KubeletVersion::OLDEST, KubeletVersion::NEWEST] {
        let rules = KubeletRules::for_version(version);
        let mut pods = pods.clone();
        for pod in &mut pods {
            apply_api_defaults(pod, &rules);
            apply_placement_defaults(pod);
            apply_priority(pod);
        }
        ask(&pods, &node, &rules);
    }
});

fn ask(pods: &[Pod], node: &NodeObject, rules: &KubeletRules) {
    let all: Vec<&Pod> = pods.iter().collect();
    assert_eq!(readmit(&all, node, |_| DeviceDecision::default(), rules).len(), all.len());
    let Some((new, others)) = all.split_first() else { return };
    let counted = others.iter().map(|pod| NodePod {
        pod,
        counts: true,
        why: StandingReason::Phase { phase: String::new() },
    });
    let node_pods: Vec<NodePod<'_>> = counted.collect();
    let nothing = BTreeMap::new();
    let facts = Facts {
        others: &Occupancy::of(others.iter().copied(), rules),
        cached: Ok(node),
        fresh: Ok(node),
        allocated_devices: Ok(&nothing),
    };
    let (explanation, examined) = explain(new, &node_pods, &[], &facts, rules);
    assert_eq!(explanation.admitted == Some(false), !explanation.refusals.is_empty());
    let (verdict, handled) = make_room(new, &examined, others, Trace::Visits, rules);
    if let Some(Outcome::Kills(victims)) = handled.as_ref().map(|handled| &handled.outcome) {
        let once: BTreeSet<usize> = victims.iter().copied().collect();
        assert_eq!(once.len(), victims.len());
        assert!(victims.iter().all(|at| is_preemptable(new, others[*at])));
    }
    explain_preemption(new, verdict.refusals(), handled.as_ref(), others, rules);
}
