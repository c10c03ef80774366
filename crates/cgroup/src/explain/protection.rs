//! Explains memory protection and throttling: the effects of the gate MemoryQoS.
//!
//! Rules as in [`memory_qos`](crate::memory_qos), for the kubelets before 1.36 too.

use super::memory::{PAGE_BYTES, bytes, quantity, whole_pages};
use super::{Candidate, ExplainError, Explanation, Level, Origin, Question, Source};
use kq_facts::cgroup_file::CgroupFile;
use kq_k8s::qos::QosClass;

const KUBELET_RUNTIME: &str = "kubelet, container runtime";
const TIERED: &str = "gate MemoryQoS with memoryReservationPolicy TieredReservation";
const TIERED_KUBEPODS: &str = "gate MemoryQoS with memoryReservationPolicy TieredReservation, from Kubernetes 1.37 on: the \
    requests of the Burstable pods";
const BEFORE_POLICIES: &str = "gate MemoryQoS in Kubernetes 1.32 to 1.35";
const RESERVED: &str = "gate MemoryQoS, enforced systemReservedCgroup or kubeReservedCgroup: its \
    memory limit";

pub(super) fn protection(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let amount = bytes(question)?;
    let meaning = match amount {
        None => "everything protected".to_owned(),
        Some(0) => "no protection".to_owned(),
        Some(bytes) => format!("{} protected", quantity(bytes)),
    };
    let mut out = question.explanation(meaning);
    match amount {
        None => out.notes.push("the kubelet never writes this; written by hand".to_owned()),
        Some(0) => nothing(question, &mut out),
        Some(bytes) => requests(question, &mut out, bytes),
    }
    Ok(out)
}

fn nothing(question: &Question<'_>, out: &mut Explanation) {
    out.formulas.push(Candidate::rule("kernel", "nothing was written", Vec::new()));
    // On pods and on the parent of the BestEffort pods nothing is written then.
    if question.may_be(&[Level::Kubepods, Level::Burstable, Level::Container]) {
        for rule in [
            "gate MemoryQoS with memoryReservationPolicy None",
            "gate MemoryQoS, no memory request",
        ] {
            let writer = question.writer(KUBELET_RUNTIME);
            out.formulas.push(Candidate::rule(writer, rule, Vec::new()));
        }
    }
}

/// Adds who writes the sum of requests, or what is reserved.
///
/// | file       | policy           | pods and containers | above them                    | reserved cgroups |
/// |------------|------------------|---------------------|-------------------------------|------------------|
/// | memory.min | 1.32 to 1.35     | all with a request  | kubepods, burstable           | memory limit     |
/// | memory.min | TieredReservation| Guaranteed          | kubepods                      | memory limit     |
/// | memory.min | None             |                     |                               | memory limit     |
/// | memory.low | TieredReservation| all the others      | burstable, kubepods from 1.37 |                  |
fn requests(question: &Question<'_>, out: &mut Explanation, bytes: i64) {
    let from = whole_pages(&mut out.notes, Source::RequestsMemoryBytes, bytes);
    let writer = question.writer(KUBELET_RUNTIME);
    let guaranteed = question.may_be_of(QosClass::Guaranteed);
    // A BestEffort pod can have overhead, its containers have no request.
    let best_effort_container = question.place.is_some_and(|place| {
        place.level == Level::Container && place.class == Some(QosClass::BestEffort)
    });
    let pods = question.may_be(Level::PODS) && !best_effort_container;
    let not_guaranteed = [QosClass::Burstable, QosClass::BestEffort]
        .into_iter()
        .any(|class| question.may_be_of(class));
    if question.known == CgroupFile::MemoryLow {
        if (pods && not_guaranteed) || question.may_be(&[Level::Burstable, Level::Kubepods]) {
            let rule = match question.place.map(|place| place.level) {
                Some(Level::Kubepods) => TIERED_KUBEPODS,
                _ => TIERED,
            };
            out.formulas.push(Candidate::rule(writer, rule, from));
            if question.place.is_none() {
                out.notes.push(
                    "set for: all pods but Guaranteed ones (BestEffort pods for their overhead), \
                     their containers, the burstable cgroup, and from Kubernetes 1.37 on kubepods"
                        .to_owned(),
                );
            }
        }
        return;
    }
    if (pods && guaranteed) || question.may_be(&[Level::Kubepods]) {
        out.formulas.push(Candidate::rule(writer, TIERED, from.clone()));
    }
    if pods || question.may_be(&[Level::Kubepods, Level::Burstable]) {
        out.formulas.push(Candidate::rule(writer, BEFORE_POLICIES, from.clone()));
    }
    if question.place.is_none() {
        let reserved = from
            .into_iter()
            .map(|origin| Origin { source: Source::ReservedMemoryBytes, ..origin })
            .collect();
        out.formulas.push(Candidate::rule("kubelet", RESERVED, reserved));
        out.notes.push(
            "set by TieredReservation for: Guaranteed pods, their containers, kubepods".to_owned(),
        );
        out.notes.push(
            "set by Kubernetes 1.32 to 1.35 for: every pod and container with a memory request, \
             the burstable cgroup, kubepods; these versions leave memory.low alone"
                .to_owned(),
        );
        out.notes.push(
            "set for a reserved cgroup whatever the policy, equal to its memory.max".to_owned(),
        );
    }
}

pub(super) fn throttling(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let amount = bytes(question)?;
    let meaning = amount.map_or_else(
        || "no throttling".to_owned(),
        |bytes| format!("throttled above {}", quantity(bytes)),
    );
    let mut out = question.explanation(meaning);
    if amount.is_none() && !question.may_be(&[Level::Container]) {
        out.formulas.push(Candidate::rule("kernel", "nothing was written", Vec::new()));
        return Ok(out);
    }
    let possible = amount.is_none_or(|bytes| bytes % PAGE_BYTES == 0);
    let mut add = |writer, rule| {
        out.formulas.push(Candidate { possible, ..Candidate::rule(writer, rule, Vec::new()) });
    };
    if question.may_be(&[Level::Container]) {
        let rule = match amount {
            None => "gate MemoryQoS is off, or request and limit are equal",
            Some(_) => {
                "gate MemoryQoS: request + (limit or allocatable - request) * \
                 memoryThrottlingFactor, cut to whole pages"
            }
        };
        add("container runtime", rule);
    }
    if amount.is_some() && question.may_be(&[Level::Pod]) {
        let rule = "gate MemoryQoS, from Kubernetes 1.37 on, for a pod with a memory limit of its own: request + \
                    (limit - request) * memoryThrottlingFactor, cut to whole pages";
        add("kubelet for pods", rule);
    }
    if !possible {
        out.notes.push(format!("not a whole number of pages of {PAGE_BYTES} bytes"));
    }
    Ok(out)
}
