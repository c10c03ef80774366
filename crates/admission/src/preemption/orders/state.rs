//! The pods of a starting kubelet, with what each search asks about them, and the sets of them that it has taken in.

use super::{CheckMemory, EarlierChecks};
use crate::amounts::Amounts;
use crate::examine::refused_after_all;
use crate::filter::{Failure, taken};
use crate::preemption::victims::PotentialVictim;
use crate::{DeviceDecision, Facts, Occupancy, Refusal, examine, host_ports};
use kq_facts::node_object::NodeObject;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_critical_pod;
use std::rc::Rc;

/// A pod, with all that is asked about it in every order.
pub(super) struct Turn<'p> {
    pub pod: &'p Pod,
    /// The checks before the predicates; `None`: they depend on the pods before it.
    pub decided: Option<DeviceDecision>,
    pub memory: CheckMemory,
    /// It takes these amounts once it is taken in.
    pub takes: Amounts,
    pub victim: PotentialVictim<'p>,
    pub is_critical: bool,
    /// The pods that are equal to it have the same one.
    pub kind: usize,
}

/// What distinguishes a pod from others of its second.
#[derive(PartialEq)]
struct Traits {
    decided: Option<DeviceDecision>,
    refusal: Option<Refusal>,
    failures: Vec<Failure>,
    requests: Amounts,
    finally: Option<Refusal>,
}

impl Traits {
    fn of(turn: &Turn<'_>, node: &NodeObject, rules: &KubeletRules) -> Self {
        let nothing = Default::default();
        let facts = Facts {
            others: &Occupancy::default(),
            cached: Ok(node),
            fresh: Ok(node),
            allocated_devices: Ok(&nothing),
        };
        let examined = examine(turn.pod, &facts, rules);
        Self {
            decided: turn.decided.clone(),
            refusal: examined.refusal,
            failures: examined.filtered.failures,
            requests: examined.ledger.unwrap_or_default().requested,
            finally: refused_after_all(turn.pod, rules),
        }
    }
}

/// Returns the pods, each as a kind of its own.
pub(super) fn turns<'p, C: EarlierChecks>(
    order: &[&'p Pod],
    checks: &C,
    rules: &KubeletRules,
) -> Vec<Turn<'p>> {
    // A pod of which nothing is remembered leaves them as they are.
    let mut same = checks.clone();
    let turn = |(kind, pod): (usize, &&'p Pod)| {
        let memory = checks.memory_of(pod);
        Turn {
            pod,
            decided: (memory == CheckMemory::Nothing).then(|| same.decide(pod)),
            memory,
            takes: taken(pod, rules),
            victim: PotentialVictim::of(pod, rules),
            is_critical: is_critical_pod(pod),
            kind,
        }
    };
    order.iter().enumerate().map(turn).collect()
}

/// Gives equal pods of one second the same kind.
pub(super) fn join_equal(turns: &mut [Turn<'_>], node: &NodeObject, rules: &KubeletRules) {
    let mut kinds: Vec<(usize, Traits)> = Vec::new();
    for at in 0..turns.len() {
        let Some(turn) = turns.get(at) else { continue };
        if turn.memory != CheckMemory::Nothing || host_ports(turn.pod).next().is_some() {
            continue;
        }
        let traits = Traits::of(turn, node, rules);
        let is_equal = |(first, other): &&(usize, Traits)| {
            *other == traits && turns.get(*first).is_some_and(|first| is_same(first, turn))
        };
        let same = kinds.iter().find(is_equal).and_then(|(first, _)| turns.get(*first));
        match same.map(|same| same.kind) {
            Some(kind) => turns.get_mut(at).into_iter().for_each(|turn| turn.kind = kind),
            None => kinds.push((at, traits)),
        }
    }
}

/// Returns true if two pods take and give the same.
fn is_same(one: &Turn<'_>, other: &Turn<'_>) -> bool {
    one.takes == other.takes
        && one.victim.gives_as(&other.victim)
        && one.is_critical == other.is_critical
        && one.pod.spec.priority == other.pod.spec.priority
}

/// A set of pods that are taken in.
#[derive(Clone)]
pub(super) struct State<C> {
    /// The places of the pods, in an order in which they can have come.
    pub taken: Vec<usize>,
    /// The places of the pods of which the checks have a memory, with the refused ones.
    pub remembered: Vec<usize>,
    pub checks: Rc<C>,
}

/// The identity of a set of pods: their kinds, and what the checks remember.
pub(super) type Key = (Vec<usize>, Vec<usize>);

impl<C: EarlierChecks> State<C> {
    pub fn new(checks: &C) -> Self {
        Self { taken: Vec::new(), remembered: Vec::new(), checks: Rc::new(checks.clone()) }
    }

    pub fn key(&self, turns: &[Turn<'_>]) -> Key {
        let mut kinds: Vec<usize> =
            self.taken.iter().filter_map(|at| turns.get(*at)).map(|turn| turn.kind).collect();
        kinds.sort_unstable();
        let mut remembered = self.remembered.clone();
        let is_ordered =
            |at: &usize| turns.get(*at).is_some_and(|it| it.memory == CheckMemory::Order);
        if !remembered.iter().any(is_ordered) {
            remembered.sort_unstable();
        }
        (kinds, remembered)
    }

    /// Returns the amounts and ports that are taken.
    pub fn occupancy<'p>(&self, turns: &[Turn<'p>]) -> Occupancy<'p> {
        let mut others = Occupancy::default();
        for turn in self.taken.iter().filter_map(|at| turns.get(*at)) {
            others.add_counted(turn.pod, turn.takes.clone());
        }
        others
    }
}
