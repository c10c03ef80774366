//! The plan for a pod on a node: its admission, and the victims.

use super::existing_pods::{ExistingPods, UnknownActivity};
use super::{AdmissionNode, Placement};
use crate::question::devices::topology::unknown_policy;
use anyhow::anyhow;
use kq_admission::preemption::apply::Target;
use kq_admission::preemption::{
    MOST_PODS, Outcome, PreemptionExplanation, PreemptionResult, Trace, VictimChoice,
    choose_victims, explain_preemption, make_room,
};
use kq_admission::{
    Check, CheckName, CheckReason, CheckResult, DeviceDecision, EarlierCheck, Explanation, Facts,
    NodePod, Occupancy, Refusal, explain, finally, qualified, refused_before,
};
use kq_answer::{Basis, Failure, Missing, MissingFact, Warning, WarningCode};
use kq_facts::devices::CheckpointEntry;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::priority::{is_critical_pod, is_static_pod};
use kq_k8s::static_pod::manifest_error;
use std::collections::BTreeSet;

/// The kubelet's actions for a pod.
pub struct Planned<'n> {
    /// Every check, the sums, and the result.
    pub admission: Explanation,
    /// The victims, explained.
    pub preemption: PreemptionExplanation,
    /// The victims, in the order in which they are killed.
    pub victims: Vec<&'n Pod>,
    /// The victims that are certain, and those that are possible: among equal pods the kubelet's choice is random.
    pub choice: VictimChoice,
    pub counted: Vec<&'n Pod>,
    /// The counted pods that may have ended.
    pub doubtful: Vec<UnknownActivity>,
    /// Why the devices are unknown; `None`: they are known, or the pod requests none.
    pub unknown_devices: Option<String>,
    /// The managers of CPUs and memory after it.
    pub managers: Placement,
    /// The devices that it gets, one way of several.
    pub devices: Vec<CheckpointEntry>,
    /// The basis of the answer.
    pub basis: Basis,
}

/// The level of detail.
pub struct Detail {
    /// The kept part of the search for victims.
    pub trace: Trace,
    /// Whether to explain the requests of each pod of the node.
    pub ledger: bool,
}

impl Planned<'_> {
    /// Returns the check of which it is not known whether it refuses the pod, and why. That of its CPUs and NUMA nodes is
    /// missing by itself, at a start too.
    pub fn unknown_check(&self) -> Option<(&'static str, String)> {
        let mut checks = self.admission.checks.iter();
        let is_open =
            |it: &&Check| it.result == CheckResult::Unknown && it.check != CheckName::Placement;
        let check = checks.find(is_open)?;
        Some((check.check.name(), check.because.to_string()))
    }

    /// Returns the unknown facts about pods that other pods would be killed for. The targets, whose end is
    /// expected, are not among them.
    pub fn doubts(&self, targets: &[Target]) -> Vec<Missing> {
        if self.preemption.result != PreemptionResult::Preempts {
            return Vec::new();
        }
        let of_others = |it: &&UnknownActivity| targets.iter().all(|target| target.uid != it.uid);
        let doubtful = self.doubtful.iter().filter(of_others).map(|it| it.missing.clone());
        let devices = self.unknown_devices.iter();
        let devices = devices.map(|text| Missing::new(MissingFact::Devices, text));
        doubtful.chain(devices).collect()
    }
}

impl Detail {
    /// Only the victims.
    pub const BRIEF: Self = Self { trace: Trace::Chosen, ledger: false };
}

/// Refuses a search for victims among more pods than a node has.
pub(super) fn check_pod_count(pods: usize) -> Result<(), Failure> {
    if pods <= MOST_PODS {
        return Ok(());
    }
    let error =
        anyhow!("{pods} pods on one node: kq searches for victims among at most {MOST_PODS}");
    Err(Failure::usage(error)
        .hint("a kubelet runs a few hundred pods; give those of one node: --pods FILE"))
}

/// Returns the check of a static pod's manifest.
fn manifest_check(pod: &Pod, rules: &KubeletRules) -> Option<EarlierCheck> {
    let refusal = is_static_pod(pod).then(|| manifest_refusal(pod, rules))?;
    let because = match &refusal {
        None => CheckReason::ManifestTaken,
        Some(refusal) => CheckReason::ManifestRefused { error: refusal.message.clone() },
    };
    Some(EarlierCheck {
        check: CheckName::Manifest,
        refusals: refusal.into_iter().collect(),
        because,
    })
}

/// Returns the refusal of a static pod of whose manifest the kubelet that starts makes no pod. One that runs was made by the
/// kubelet before, whatever its rules seem to be.
pub(super) fn manifest_refusal_at_start(
    pod: &Pod,
    rules: &KubeletRules,
    before: &KubeletRules,
) -> Option<Refusal> {
    let is_taken = pod.status.phase == "Running" && manifest_error(pod, before).is_some();
    manifest_refusal(pod, rules).filter(|_| !is_taken)
}

/// Returns the refusal of a static pod of whose manifest the kubelet makes no pod.
fn manifest_refusal(pod: &Pod, rules: &KubeletRules) -> Option<Refusal> {
    let message = manifest_error(pod, rules).filter(|_| is_static_pod(pod))?;
    Some(Refusal::of_manifest(message))
}

/// Plans for a pod on a node; `arrange` sorts the pods first.
pub fn plan<'n>(
    about: &'n AdmissionNode,
    pod: &Pod,
    arrange: impl FnOnce(&mut [NodePod<'n>]) -> Result<(), Failure>,
    detail: Detail,
) -> Result<Planned<'n>, Failure> {
    let mut basis = about.basis.clone();
    let object = about.object()?;
    let ExistingPods { pods: mut others, doubtful } = about.others(Some(pod), &mut basis)?;
    arrange(&mut others)?;
    let pressure = about.pressure(pod, &mut basis)?;
    about.assume([pod].into_iter(), &mut basis)?;
    let sysctls = about.sysctls([pod], &mut basis).check(pod);
    let manifest = manifest_check(pod, &about.node.kubelet.rules);
    let earlier = manifest.into_iter().chain([pressure, sysctls]);
    let mut before: Vec<EarlierCheck> = earlier.collect();
    let is_open = refused_before(&before).is_none();
    let asked = match is_open {
        true => about.device_question(&others)?.running(pod, &mut basis)?,
        false => None,
    };
    let mut managers = about.placement(Some(&others));
    let is_aligned = asked.is_some() || managers.places(pod);
    let placed = match is_open {
        true => managers.check_new(pod, asked.as_ref(), &mut basis),
        false => EarlierCheck {
            check: CheckName::Placement,
            because: CheckReason::RefusedBefore,
            refusals: Vec::new(),
        },
    };
    let (decided, devices, unknown_devices) = match asked {
        Some(mut devices) => {
            let decided = devices.decide_new(pod, &mut basis);
            let open = devices.open.take().filter(|_| decided.refusal.is_some());
            (open.unwrap_or(decided), devices.given_to(pod), devices.unknown)
        }
        None => (DeviceDecision::default(), Vec::new(), None),
    };
    before.extend([placed, decided.check()]);
    let counted: Vec<&Pod> = others.iter().filter(|it| it.counts).map(|it| it.pod).collect();
    if is_critical_pod(pod) {
        check_pod_count(counted.len())?;
    }
    let rules = &about.node.kubelet.rules;
    let facts = Facts {
        others: &Occupancy::of(counted.iter().copied(), rules),
        cached: Ok(object),
        fresh: Ok(object),
        allocated_devices: Ok(&decided.allocated),
    };
    let listed = if detail.ledger { others.as_slice() } else { &[] };
    let (admission, examined) = explain(pod, listed, &before, &facts, rules);
    let (refusals, handled) = match refused_before(&before) {
        Some(refusals) => (refusals.to_vec(), None),
        None => {
            let (verdict, handled) = make_room(pod, &examined, &counted, detail.trace, rules);
            (finally(pod, verdict.refusals(), rules), handled)
        }
    };
    // Another refusal stands, whatever the policy is.
    basis.lack_all(unknown_policy(&about.node).filter(|_| is_aligned && refusals.is_empty()));
    let preemption = explain_preemption(pod, refusals.clone(), handled.as_ref(), &counted, rules);
    let chosen = match handled.as_ref().map(|handled| &handled.outcome) {
        Some(Outcome::Kills(victims)) => victims.as_slice(),
        _ => &[],
    };
    let preempted = handled.as_ref().and_then(|handled| handled.preemption.as_ref());
    let choice =
        preempted.filter(|_| !chosen.is_empty()).map_or_else(VictimChoice::default, |it| {
            choose_victims(pod, &counted, &it.requirements, rules).unwrap_or_else(|| {
                let rounds = it.stages.iter().flat_map(|stage| &stage.rounds);
                let ties = rounds.flat_map(|round| &round.ties).copied();
                let possible = chosen.iter().copied().chain(ties).collect();
                VictimChoice { certain: BTreeSet::new(), possible }
            })
        });
    let victims: Vec<&Pod> = chosen.iter().filter_map(|at| counted.get(*at).copied()).collect();
    let kills = victims.iter().map(|victim| qualified(victim)).collect();
    let unordered = examined.filtered.unordered.len() > 1;
    if unordered
        && matches!(preemption.result, PreemptionResult::Preempts | PreemptionResult::NotEnough)
    {
        basis.assume(
            "extended resources and huge pages are in the order of their names; the kubelet's order is \
             random, and so are its message and its rounding of distances"
                .to_owned(),
        );
    }
    for it in &admission.removed_requests {
        let text = format!("{} asks for {}: {}", it.container, it.resource, it.because);
        basis.warn(Warning::new(WarningCode::UncountedRequest, text).about(&it.container));
    }
    let admission = admission.with_room(refusals, kills);
    Ok(Planned {
        admission,
        preemption,
        victims,
        choice,
        counted,
        doubtful,
        unknown_devices,
        managers,
        devices,
        basis,
    })
}
