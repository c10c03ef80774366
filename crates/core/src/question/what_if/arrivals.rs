//! Pods that are new to a running kubelet: it admits one after the other, each next to those that it took in before. Pods that
//! are added at once come in any order.

use super::pods::take;
use crate::question::admission::{AdmissionNode, Detail, Planned, plan, sort};
use crate::what_if::OpenCause;
use kq_admission::qualified;
use kq_answer::{Basis, Failure};
use kq_facts::checkpoint::StateFile;
use kq_facts::devices::CheckpointEntry;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_critical_pod;
use std::collections::{BTreeMap, BTreeSet};

/// How many new pods are admitted in every order.
const MOST_PERMUTED: usize = 4;

/// What becomes of new pods and of those that are killed for them.
#[derive(Default)]
pub struct Arrivals {
    pub new: BTreeMap<String, Arrival>,
    pub victims: BTreeMap<String, Victim>,
    /// What the kubelet has written down of them, in the order of the names.
    pub written: Written,
}

/// What a kubelet writes down of the pods that it admits.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The state files of the managers of CPUs and memory.
    pub files: Vec<(StateFile, String)>,
    /// The new entries of the checkpoint of devices.
    pub devices: Vec<CheckpointEntry>,
}

/// The ends of a new pod.
#[derive(Clone, Debug, Default)]
pub struct Arrival {
    /// It is admitted in the order of the names.
    pub is_admitted: bool,
    /// Another order ends otherwise.
    pub is_open: bool,
    /// The reason and the message of a refusal.
    pub refusal: Option<(String, String)>,
    pub cause: Option<OpenCause>,
}

/// A pod that is killed for a new one.
#[derive(Clone, Debug)]
pub struct Victim {
    pub killer: String,
    /// It is killed in the order of the names.
    pub is_chosen: bool,
    /// What decides whether it is killed; `None`: it is.
    pub cause: Option<OpenCause>,
}

/// What one order gives.
#[derive(Default)]
struct OneOrder {
    /// The new pods, with their refusals.
    new: BTreeMap<String, Option<(String, String)>>,
    /// What is unknown of those that are not refused.
    unknown: BTreeMap<String, OpenCause>,
    /// The killed pods, each with the pod that it was killed for, and possible victims instead.
    killed: BTreeMap<String, String>,
    possible: BTreeMap<String, String>,
    certain: BTreeSet<String>,
    written: Written,
}

impl Arrivals {
    /// Admits new pods in the orders in which they can come.
    ///
    /// # Errors
    ///
    /// Fails where the pods or the Node object are unknown.
    pub fn of(
        about: &mut AdmissionNode,
        new: &BTreeSet<String>,
        basis: &mut Basis,
    ) -> Result<Self, Failure> {
        let names: Vec<String> = new.iter().cloned().collect();
        let first = OneOrder::of(about, &names, &BTreeSet::new(), Some(basis))?;
        // A pod that is refused as the first one is refused as a later one too, where no pod makes room.
        let never = never(about, &names, &first)?;
        let rest: Vec<String> = names.iter().filter(|it| !never.contains(*it)).cloned().collect();
        let is_admitted = |name: &String| first.new.get(name).is_some_and(Option::is_none);
        // If all others are admitted without a victim in one order, they are in every order.
        let is_easy = rest.iter().all(is_admitted) && first.possible.is_empty();
        let mut arrivals = Self { written: first.written.clone(), ..Self::default() };
        let is_whole = rest.len() <= MOST_PERMUTED;
        let others = if is_easy { Vec::new() } else { orders(&rest) };
        let mut all = vec![first];
        for order in &others {
            all.push(OneOrder::of(about, order, &never, None)?);
        }
        if !never.is_empty() && !rest.is_empty() {
            basis.assume(
                "the amounts in use in the messages about new pods are those in the order of their names: pods that are \
                 added at once come in any order",
            );
        }
        for name in &names {
            let is_whole = is_whole || is_easy || never.contains(name);
            arrivals.new.insert(name.clone(), arrival(name, &all, is_whole));
        }
        let cause = |name: &String| match all.iter().any(|it| !it.killed.contains_key(name)) {
            true if all.len() > 1 => Some(OpenCause::ArrivalOrder),
            _ => Some(OpenCause::EQUAL_VICTIMS),
        };
        for (name, killer) in all.iter().flat_map(|it| &it.possible) {
            let is_certain = all.iter().all(|it| it.certain.contains(name));
            let victim = Victim {
                killer: killer.clone(),
                is_chosen: all.first().is_some_and(|it| it.killed.contains_key(name)),
                cause: if is_certain { None } else { cause(name) },
            };
            arrivals.victims.entry(name.clone()).or_insert(victim);
        }
        Ok(arrivals)
    }
}

/// Returns the new pods that are refused in every order: those that are refused as the first one, where no new pod may kill others.
fn never(
    about: &mut AdmissionNode,
    names: &[String],
    first: &OneOrder,
) -> Result<BTreeSet<String>, Failure> {
    let may_kill = |pod: &&Pod| names.contains(&qualified(pod)) && is_critical_pod(pod);
    if !first.possible.is_empty() || about.node.allocated_pods().iter().any(may_kill) {
        return Ok(BTreeSet::new());
    }
    let mut never = BTreeSet::new();
    let refused = names.iter().filter(|it| first.new.get(*it).is_some_and(Option::is_some));
    for name in refused {
        about.leave_out(names.iter().filter(|it| *it != name).cloned().collect());
        let alone = OneOrder::of_one(about, name)?;
        never.extend(alone.flatten().map(|_| name.clone()));
    }
    Ok(never)
}

fn arrival(name: &str, all: &[OneOrder], is_whole: bool) -> Arrival {
    let refusals: Vec<&Option<(String, String)>> =
        all.iter().filter_map(|it| it.new.get(name)).collect();
    let is_admitted = refusals.first().is_some_and(|it| it.is_none());
    let differs = refusals.iter().any(|it| it.is_none() != is_admitted);
    let is_open = differs || !is_whole;
    let unknown = all.iter().find_map(|it| it.unknown.get(name)).filter(|_| is_admitted);
    Arrival {
        is_admitted,
        is_open: is_open || unknown.is_some(),
        refusal: refusals.iter().find_map(|it| (*it).clone()),
        cause: match is_open {
            true => Some(OpenCause::ArrivalOrder),
            false => unknown.cloned(),
        },
    }
}

impl OneOrder {
    /// Returns the refusal of a pod, if any, next to those that are not left out; `None`: there is no such pod.
    fn of_one(
        about: &AdmissionNode,
        name: &str,
    ) -> Result<Option<Option<(String, String)>>, Failure> {
        let pods = about.node.allocated_pods();
        let Some(pod) = pods.into_iter().find(|pod| qualified(pod) == name) else {
            return Ok(None);
        };
        let planned = plan(about, pod, |others| sort(others, &[]), Detail::BRIEF)?;
        Ok(Some(refusal(&planned)))
    }

    fn of(
        about: &mut AdmissionNode,
        order: &[String],
        refused: &BTreeSet<String>,
        mut basis: Option<&mut Basis>,
    ) -> Result<Self, Failure> {
        let mut found = Self::default();
        let (mut later, mut gone): (BTreeSet<String>, BTreeSet<String>) =
            (order.iter().cloned().collect(), refused.clone());
        about.go_on(None);
        for name in order {
            later.remove(name);
            about.leave_out(later.iter().chain(&gone).cloned().collect());
            let pods = about.node.allocated_pods();
            let Some(pod) = pods.into_iter().find(|pod| qualified(pod) == *name) else { continue };
            let planned = plan(about, pod, |others| sort(others, &[]), Detail::BRIEF)?;
            let refusal = refusal(&planned);
            if let Some((check, reason)) = planned.unknown_check() {
                found.unknown.insert(name.clone(), OpenCause::Unknown { check, reason });
            }
            let managers = planned.managers.clone();
            if let Some(basis) = &mut basis {
                take(basis, planned.basis.clone());
            }
            match refusal {
                Some(_) => gone.extend([name.clone()]),
                None => found.written.devices.extend_from_slice(&planned.devices),
            }
            found.new.insert(name.clone(), refusal);
            let named = |at: &usize| planned.counted.get(*at).map(|pod: &&Pod| qualified(pod));
            for victim in planned.choice.possible.iter().filter_map(named) {
                found.possible.insert(victim, name.clone());
            }
            found.certain.extend(planned.choice.certain.iter().filter_map(named));
            for victim in planned.victims.iter().map(|pod| qualified(pod)) {
                found.killed.insert(victim.clone(), name.clone());
                gone.insert(victim);
            }
            drop(planned);
            about.go_on(Some(managers));
        }
        about.leave_out(gone.into_iter().collect());
        found.written.files = about.managers()?.state_files();
        about.go_on(None);
        Ok(found)
    }
}

/// Returns the reason and the message of a refusal.
fn refusal(planned: &Planned<'_>) -> Option<(String, String)> {
    let refusal = planned.admission.refusals.first();
    refusal.map(|it| (it.reason.clone(), it.message.trim_end().to_owned()))
}

/// Returns the other orders of names: all of few, else each as the first and as the last.
fn orders(names: &[String]) -> Vec<Vec<String>> {
    if names.len() <= MOST_PERMUTED {
        let mut all = Vec::new();
        permute(&mut names.to_vec(), 0, &mut all);
        return all.into_iter().filter(|order| order != names).collect();
    }
    let moved = |name: &String| {
        let others: Vec<String> = names.iter().filter(|it| *it != name).cloned().collect();
        let first = [std::slice::from_ref(name), others.as_slice()].concat();
        [first, [others.as_slice(), std::slice::from_ref(name)].concat()]
    };
    names.iter().take(MOST_PERMUTED).flat_map(moved).collect()
}

fn permute(names: &mut Vec<String>, at: usize, all: &mut Vec<Vec<String>>) {
    if at + 1 >= names.len() {
        all.push(names.clone());
        return;
    }
    for other in at..names.len() {
        names.swap(at, other);
        permute(names, at + 1, all);
        names.swap(at, other);
    }
}
