//! The ends of pods at a start of the kubelet, in every order in which it may come to its sources and to pods of one second.

use super::{AdmissionNode, KubeletStart};
use crate::question::devices::admission::PluginStart;
use crate::what_if::OpenCause;
use kq_admission::preemption::orders::{AnyOrder, PossibleEnds};
use kq_admission::preemption::{ReadmissionResult, Readmitted, TiedOrder};
use kq_admission::qualified;
use kq_answer::{Basis, Failure};
use std::collections::{BTreeMap, BTreeSet};

/// How many messages of refusals an answer names.
const MOST_MESSAGES: usize = 3;

/// The ends of the pods of a node when its kubelet starts.
pub struct StartEnds {
    /// The pods in the order of their age and names.
    pub items: Vec<StartEnd>,
    pub basis: Basis,
}

/// The end of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartEnd {
    pub pod: String,
    pub is_static: bool,
    /// The possible ends; the first is that in the order of age and names.
    pub results: Vec<ReadmissionResult>,
    /// The reason in the pod's status, where it ends.
    pub reason: Option<String>,
    /// The kubelet's message; of a killed pod, the pod for which it is killed.
    pub message: Option<String>,
    /// What decides between the ends.
    pub cause: Option<OpenCause>,
}

impl StartEnds {
    /// Returns the ends of the pods of a node.
    ///
    /// # Errors
    ///
    /// Fails where the pods or the Node object are unknown.
    pub fn of(about: &AdmissionNode) -> Result<Self, Failure> {
        let start = KubeletStart::of(about, PluginStart::AfterPods)?;
        let answer = start.readmit(&start.order(), TiedOrder::Every);
        let mut ends = Self {
            items: answer.items.iter().map(StartEnd::of).collect(),
            basis: answer.basis.clone(),
        };
        // If all of them are admitted without a victim in one order, they are in every order.
        if !answer.all_stay() {
            let names: Vec<String> = start.order().into_iter().map(qualified).collect();
            ends.add_orders(&names, &start.in_any_order());
        }
        Ok(ends)
    }

    /// Adds what another order makes of the pods.
    fn add_orders(&mut self, names: &[String], any: &AnyOrder) {
        for (item, ends) in self.items.iter_mut().zip(&any.pods) {
            item.add(ends, names);
            item.cause = (item.results.len() > 1).then(|| cause(any, ends));
        }
    }
}

/// Returns what decides about a pod with several ends.
fn cause(any: &AnyOrder, ends: &PossibleEnds) -> OpenCause {
    if ends.is_untried {
        return OpenCause::ManyTied { pods: any.untried, by_sources: ends.is_by_sources };
    }
    OpenCause::StartOrder {
        by_sources: ends.is_by_sources,
        by_ties: ends.is_by_chance && any.has_ties,
        by_equal_victims: ends.is_by_chance && any.has_equal_victims,
    }
}

impl StartEnd {
    fn of(item: &Readmitted) -> Self {
        let refusal = item.refusals.first();
        let (reason, message) = match item.result {
            ReadmissionResult::Admitted => (None, None),
            ReadmissionResult::Refused => (
                refusal.map(|it| it.reason.clone()),
                refusal.map(|it| it.message.trim_end().to_owned()),
            ),
            ReadmissionResult::Killed => (Some("Preempting".to_owned()), item.killed_for.clone()),
        };
        Self {
            pod: item.pod.clone(),
            is_static: item.is_static,
            results: vec![item.result],
            reason,
            message,
            cause: None,
        }
    }

    /// Returns true if the pod ends in some order.
    pub fn may_end(&self) -> bool {
        self.results.iter().any(|it| *it != ReadmissionResult::Admitted)
    }

    /// Returns true if the pod ends in every order.
    pub fn ends(&self) -> bool {
        !self.results.contains(&ReadmissionResult::Admitted)
    }

    /// Adds the possible ends. `names`: of the pods, by their places.
    fn add(&mut self, ends: &PossibleEnds, names: &[String]) {
        let mut add = |result, is_possible: bool| {
            if is_possible && !self.results.contains(&result) {
                self.results.push(result);
            }
        };
        add(ReadmissionResult::Refused, !ends.refusals.is_empty() || ends.is_untried);
        add(ReadmissionResult::Killed, !ends.killed_for.is_empty());
        add(ReadmissionResult::Admitted, ends.stays || ends.is_untried);
        let killers = ends.killed_for.iter().filter_map(|at| names.get(*at).cloned());
        let killers: BTreeSet<String> = killers.chain(self.killer()).collect();
        let first_end = self.results.iter().find(|it| **it != ReadmissionResult::Admitted);
        match first_end {
            Some(ReadmissionResult::Killed) => {
                self.reason = Some("Preempting".to_owned());
                self.message = one_of(killers.into_iter().collect());
            }
            Some(ReadmissionResult::Refused) if !ends.refusals.is_empty() => {
                let mut reasons: Vec<String> = Vec::new();
                for reason in ends.refusals.iter().map(|it| it.reason()) {
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
                self.reason = one_of(reasons);
                self.message = one_of(ends.refusals.iter().map(|it| it.message()).collect());
            }
            _ => {}
        }
    }

    /// Returns the pod for which it is killed in the order of age and names.
    fn killer(&self) -> Option<String> {
        let is_killed = self.results.first() == Some(&ReadmissionResult::Killed);
        self.message.clone().filter(|_| is_killed)
    }
}

/// Joins texts of which one holds.
fn one_of(texts: Vec<String>) -> Option<String> {
    let shown = texts.iter().take(MOST_MESSAGES).cloned().collect::<Vec<_>>().join(" or ");
    match texts.len() {
        0 => None,
        count if count > MOST_MESSAGES => {
            Some(format!("{shown} or one of {} others", count - MOST_MESSAGES))
        }
        _ => Some(shown),
    }
}

/// Returns the ends by the names of the pods.
pub fn by_name(ends: StartEnds) -> BTreeMap<String, StartEnd> {
    ends.items.into_iter().map(|end| (end.pod.clone(), end)).collect()
}
