//! The search in one class after the other: what each has to give, and who is picked for it.

use super::groups::Groups;
use super::plain;
use super::preemptee::PotentialVictim;
use super::requirement::{Requirement, Requirements, subtract};
use super::victims::{MOST_TIES, NotEnough, Round, Stage, Trace};
use crate::k8s::qos::QosClass;

/// A pod that may be killed, with all that is compared.
pub(super) struct Candidate {
    pub(super) pod: usize,
    /// By requirement of the whole.
    gives: Vec<i64>,
    /// Memory, then CPU.
    pub(super) asks: (i64, i64),
}

impl Candidate {
    /// Returns what is compared of the pod at a place.
    pub(super) fn of(at: usize, pod: &PotentialVictim<'_>, requirements: &[Requirement]) -> Self {
        let gives = requirements.iter().map(|requirement| pod.gives(&requirement.resource));
        Self { pod: at, gives: gives.collect(), asks: pod.asks }
    }

    /// Returns what it gives of the requirement at a place of the whole.
    pub(super) fn gives(&self, at: usize) -> i64 {
        self.gives.get(at).copied().unwrap_or(0)
    }
}

/// What is missing of the requirement at a place of the whole.
#[derive(Clone, Copy)]
pub(super) struct Missing {
    pub(super) at: usize,
    pub(super) quantity: i64,
}

/// Who is nearest to what is missing.
pub(super) struct Pick {
    /// The place among those that are left.
    pub(super) place: usize,
    pub(super) round: Round,
}

pub(super) struct Search<'s> {
    whole: &'s [Requirement],
    trace: Trace,
}

impl<'s> Search<'s> {
    pub(super) fn new(whole: &'s [Requirement], trace: Trace) -> Self {
        Self { whole, trace }
    }

    /// Returns what is missing of the whole when these are killed.
    pub(super) fn without<'c>(
        &self,
        killed: impl Iterator<Item = &'c Candidate> + Clone,
    ) -> Vec<Missing> {
        let whole = self.whole.iter().enumerate();
        whole
            .filter_map(|(at, requirement)| {
                let gives = killed.clone().map(|candidate| candidate.gives(at));
                Some(Missing { at, quantity: subtract(requirement.quantity, gives)? })
            })
            .collect()
    }

    fn told(&self, missing: &[Missing]) -> Vec<Requirement> {
        missing
            .iter()
            .filter_map(|it| {
                let resource = self.whole.get(it.at)?.resource.clone();
                Some(Requirement { resource, quantity: it.quantity })
            })
            .collect()
    }

    pub(super) fn not_enough(&self, missing: &[Missing]) -> NotEnough {
        NotEnough(Requirements(self.told(missing)))
    }

    pub(super) fn all_classes(
        &self,
        best_effort: Vec<Candidate>,
        burstable: Vec<Candidate>,
        guaranteed: Vec<Candidate>,
        stages: &mut Vec<Stage>,
    ) -> Result<Vec<usize>, NotEnough> {
        let missing = self.without(best_effort.iter().chain(&burstable));
        let guaranteed = self.stage(QosClass::Guaranteed, guaranteed, missing, stages)?;
        let missing = self.without(best_effort.iter().chain(&guaranteed));
        let burstable = self.stage(QosClass::Burstable, burstable, missing, stages)?;
        let missing = self.without(burstable.iter().chain(&guaranteed));
        let best_effort = self.stage(QosClass::BestEffort, best_effort, missing, stages)?;
        let victims = [best_effort, burstable, guaranteed];
        Ok(victims.into_iter().flatten().map(|victim| victim.pod).collect())
    }

    /// Picks victims until nothing is missing (`getPodsToPreemptByDistance`).
    fn stage(
        &self,
        class: QosClass,
        mut pods: Vec<Candidate>,
        mut missing: Vec<Missing>,
        stages: &mut Vec<Stage>,
    ) -> Result<Vec<Candidate>, NotEnough> {
        let requirements = self.told(&missing);
        let mut victims = Vec::new();
        let mut rounds = Vec::new();
        let mut groups = self.groups(&pods, &missing);
        let mut room = MOST_TIES;
        while !missing.is_empty() {
            if pods.is_empty() {
                return Err(self.not_enough(&missing));
            }
            let Pick { place, mut round } = match &groups {
                Some(groups) => groups.round(&pods, &missing, &mut room),
                None => plain::round(&pods, &missing, self.trace),
            };
            round.requirements = self.told(&missing);
            // The last takes the place of the chosen one, which the next round's order follows.
            let chosen = pods.swap_remove(place);
            let stays = |it: &Missing| {
                let quantity = subtract(it.quantity, [chosen.gives(it.at)])?;
                Some(Missing { quantity, ..*it })
            };
            let before = missing.len();
            missing = missing.iter().filter_map(stays).collect();
            match &mut groups {
                // Pods that differed only in what is not missing any more are one group now.
                Some(_) if missing.len() != before => groups = self.groups(&pods, &missing),
                Some(groups) => groups.swap_remove(place),
                None => {}
            }
            round.remaining = self.told(&missing);
            rounds.push(round);
            victims.push(chosen);
        }
        stages.push(Stage { class, requirements, rounds });
        Ok(victims)
    }

    /// Returns the pods in groups; `None` where every pod has to be looked at in each round.
    fn groups(&self, pods: &[Candidate], missing: &[Missing]) -> Option<Groups> {
        let is_sound = |pod: &Candidate| missing.iter().all(|it| pod.gives(it.at) >= 0);
        // A pod that gives less than nothing can be farther away than the kubelet's first guess, and
        // what it takes away overflow.
        (self.trace == Trace::Chosen && pods.iter().all(is_sound))
            .then(|| Groups::new(pods, missing))
    }
}
