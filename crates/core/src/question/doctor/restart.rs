//! The effect of a kubelet restart on the pods, and the pods that another critical pod would preempt.

use super::rule::{Headroom, NodeFinding, NodeRule, Restart};
use crate::question::admission::{AdmissionNode, Detail, Planned, StartEnds, plan, sort};
use kq_admission::preemption::ReadmissionResult;
use kq_admission::{Compared, qualified};
use kq_answer::{Failure, Missing, MissingFact, Subject};
use kq_facts::node::Node;
use kq_k8s::pod::{Container, Pod, ResourceName};
use kq_k8s::quantity::{Format, Quantity};

/// Returns what a restart does to the pods. `all_stay`: what is said where it does nothing to so many.
pub(super) fn restart(about: &AdmissionNode, all_stay: fn(usize) -> Restart) -> Vec<NodeFinding> {
    let of_node = |state| NodeRule::KubeletRestart(state).of_node();
    let next = about.at_next_start();
    let answer = match StartEnds::of(next.as_ref().unwrap_or(about)) {
        Ok(answer) => answer,
        Err(failure) => {
            let (reason, fix) = (failure.reason(), fix(&about.node, &[]));
            return vec![of_node(Restart::Unknown { reason, fix })];
        }
    };
    let findings = answer.items.iter().filter_map(|end| {
        let message = end.message.clone();
        let state = match (end.results.as_slice(), &end.cause) {
            ([ReadmissionResult::Admitted], _) => {
                let stopped = end.stopped.clone()?;
                if stopped.cause.is_harmless() {
                    return None;
                }
                Restart::Stops { stopped }
            }
            ([ReadmissionResult::Refused], _) => Restart::Refuses {
                reason: end.reason.clone().unwrap_or_default(),
                message: message.unwrap_or_default(),
            },
            ([ReadmissionResult::Killed], _) => {
                Restart::Kills { for_pod: message.unwrap_or_default() }
            }
            (ends, cause) => Restart::Open {
                ends: ends.to_vec(),
                message,
                cause: cause.as_ref().map(ToString::to_string).unwrap_or_default(),
            },
        };
        let subject = Subject::Pod { pod: end.pod.clone(), container: None };
        Some(NodeFinding::new(subject, NodeRule::KubeletRestart(state)))
    });
    let mut findings: Vec<NodeFinding> = findings.collect();
    if !answer.usual.basis.missing.is_empty() {
        let missing: Vec<String> =
            answer.usual.basis.missing.iter().map(ToString::to_string).collect();
        let fix = fix(&about.node, &answer.usual.basis.missing);
        findings.push(of_node(Restart::Unknown { reason: missing.join("; "), fix }));
    }
    if findings.is_empty() {
        findings.push(of_node(all_stay(answer.items.len())));
    }
    findings
}

/// Returns how to supply what is missing: what a node lacks as a whole, else what the answer lacks.
fn fix(node: &Node, missing: &[Missing]) -> String {
    let lacks = |fact| missing.iter().any(|it| it.fact == fact);
    let whole = [
        ("--node-file", node.snapshot.node.found.is_none()),
        ("--pods", node.snapshot.known_pods().is_err() || lacks(MissingFact::Pods)),
        ("--kubelet-config", node.lacks_config()),
    ];
    let whole: Vec<&str> =
        whole.iter().filter_map(|(flag, is_lacked)| is_lacked.then_some(*flag)).collect();
    if !whole.is_empty() {
        return format!("pass {}", whole.join(" and "));
    }
    let mut flags: Vec<&str> =
        missing.iter().flat_map(|it| &it.flags).map(String::as_str).collect();
    flags.dedup();
    match flags.is_empty() {
        true => "run kq as root on the node, or take a new snapshot there".to_owned(),
        false => format!("pass {}", flags.join(" or ")),
    }
}

/// A node is full where less than this share of its CPUs is not requested.
const FULL_PERCENT: i64 = 10;

/// Returns the amounts that are not requested, and the pods that the kubelet kills for a critical pod that requests a
/// little more.
pub(super) fn headroom(about: &AdmissionNode) -> Headroom {
    let order = |others: &mut [_]| sort(others, &[]);
    let planned = match plan(about, &critical(0), order, Detail::BRIEF) {
        Ok(planned) => planned,
        Err(failure) => return Headroom::Unknown { reason: failure.reason() },
    };
    let (Some(cpu), Some(memory)) =
        (compared(&planned, ResourceName::Cpu), compared(&planned, ResourceName::Memory))
    else {
        let reason = "the Node object has no allocatable resources".to_owned();
        return Headroom::Unknown { reason };
    };
    let (free_milli_cpu, free_memory_bytes) = (cpu.free, memory.free);
    let is_full = free_milli_cpu < cpu.allocatable / 100 * FULL_PERCENT;
    match is_full.then(|| victims(about, free_milli_cpu)) {
        Some(Ok((needs_milli_cpu, Victims { victims, equal, .. }))) if !victims.is_empty() => {
            Headroom::Preempts {
                free_milli_cpu,
                free_memory_bytes,
                needs_milli_cpu,
                victims,
                equal,
            }
        }
        _ => Headroom::Ok { free_milli_cpu, free_memory_bytes },
    }
}

fn compared<'a>(planned: &'a Planned<'_>, name: ResourceName) -> Option<&'a Compared> {
    planned.admission.resources.iter().find(|it| it.resource == name)
}

/// The pods that the kubelet kills for another, one way of several.
pub(super) struct Victims {
    /// Those that one order of its pods leads to.
    pub(super) victims: Vec<String>,
    /// Those that another order leads to, and not this one.
    pub(super) equal: Vec<String>,
    /// Those that every order leads to.
    certain: Vec<String>,
}

impl Victims {
    pub(super) fn of(planned: &Planned<'_>) -> Self {
        let named = |at: &usize| planned.counted.get(*at).map(|pod| qualified(pod));
        let victims: Vec<String> = planned.victims.iter().map(|pod| qualified(pod)).collect();
        let possible = planned.choice.possible.iter().filter_map(named);
        let equal = possible.filter(|name| !victims.contains(name)).collect();
        let certain = planned.choice.certain.iter().filter_map(named).collect();
        Self { victims, equal, certain }
    }

    /// Returns whether a pod is among them; `None`: it, or one equal to it.
    pub(super) fn has(&self, pod: &str) -> Option<bool> {
        let is_in = |list: &[String]| list.iter().any(|it| it == pod);
        match is_in(&self.certain) {
            true => Some(true),
            false => (!is_in(&self.victims) && !is_in(&self.equal)).then_some(false),
        }
    }
}

/// Returns the CPU that a critical pod has to request for the first victim, and the victims.
pub(super) fn victims_of_next(about: &AdmissionNode) -> Result<(i64, Victims), String> {
    let order = |others: &mut [_]| sort(others, &[]);
    let planned = plan(about, &critical(0), order, Detail::BRIEF).map_err(|it| it.reason())?;
    let free = compared(&planned, ResourceName::Cpu)
        .map(|it| it.free)
        .ok_or("the Node object has no allocatable resources")?;
    victims(about, free).map_err(|failure| failure.reason())
}

fn victims(about: &AdmissionNode, free_milli_cpu: i64) -> Result<(i64, Victims), Failure> {
    let needs_milli_cpu = free_milli_cpu.max(0).saturating_add(1);
    let order = |others: &mut [_]| sort(others, &[]);
    let planned = plan(about, &critical(needs_milli_cpu), order, Detail::BRIEF)?;
    Ok((needs_milli_cpu, Victims::of(&planned)))
}

/// Returns a critical pod that requests so much CPU.
fn critical(milli_cpu: i64) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.namespace = "kube-system".to_owned();
    pod.metadata.name = "another-critical-pod".to_owned();
    pod.metadata.annotations.config_source = Some("file".to_owned());
    let mut container = Container::default();
    let requests = &mut container.resources.requests;
    requests.insert(ResourceName::Cpu, Quantity::from_milli(milli_cpu, Format::DecimalSi));
    requests.insert(ResourceName::Memory, Quantity::from_units(0, Format::BinarySi));
    pod.spec.containers.push(container);
    pod
}
