//! The search in one class after the other: what each has to give, and who is picked for it. A round looks at every
//! pod, so the time grows with the square of the pods: callers bound them by [`MOST_PODS`](super::MOST_PODS).

use super::victims::{
    MOST_TIES, NotEnough, PotentialVictim, Requirement, Requirements, Round, Stage, Trace, Visit,
    VisitResult, requests_no_more, shortfall, subtract,
};
use kq_k8s::qos::QosClass;

/// A pod that may be killed, with all that is compared.
#[derive(Clone)]
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
struct Pick {
    /// The place among those that are left.
    place: usize,
    round: Round,
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

    fn requirements(&self, missing: &[Missing]) -> Vec<Requirement> {
        missing
            .iter()
            .filter_map(|it| {
                let resource = self.whole.get(it.at)?.resource.clone();
                Some(Requirement { resource, quantity: it.quantity })
            })
            .collect()
    }

    pub(super) fn not_enough(&self, missing: &[Missing]) -> NotEnough {
        NotEnough(Requirements(self.requirements(missing)))
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
        let requirements = self.requirements(&missing);
        let mut victims = Vec::new();
        let mut rounds = Vec::new();
        let mut room = MOST_TIES;
        while !missing.is_empty() {
            if pods.is_empty() {
                return Err(self.not_enough(&missing));
            }
            let Pick { place, mut round } = round(&pods, &missing, self.trace, &mut room);
            round.requirements = self.requirements(&missing);
            // The last takes the place of the chosen one, which the next round's order follows.
            let chosen = pods.swap_remove(place);
            let stays = |it: &Missing| {
                let quantity = subtract(it.quantity, [chosen.gives(it.at)])?;
                Some(Missing { quantity, ..*it })
            };
            missing = missing.iter().filter_map(stays).collect();
            round.remaining = self.requirements(&missing);
            rounds.push(round);
            victims.push(chosen);
        }
        stages.push(Stage { class, requirements, rounds });
        Ok(victims)
    }
}

/// Looks at every pod, in order, for the one that is nearest to what is missing. `room`: how many more ties are kept.
fn round(pods: &[Candidate], missing: &[Missing], trace: Trace, room: &mut usize) -> Pick {
    let mut visits = Vec::new();
    let mut ties = Vec::new();
    let (mut best, mut best_distance) = (0, (missing.len() + 1) as f64);
    for (at, pod) in pods.iter().enumerate() {
        let distance = shortfall(missing.iter().map(|it| (it.quantity, pod.gives(it.at))));
        let best_asks = pods.get(best).map_or(pod.asks, |best| best.asks);
        let result = if distance < best_distance {
            VisitResult::Nearer
        } else if distance != best_distance {
            VisitResult::Farther
        } else if requests_no_more(pod.asks, best_asks) {
            VisitResult::TieNoMore
        } else {
            VisitResult::TieMore
        };
        match result {
            VisitResult::Nearer => ties.clear(),
            VisitResult::TieNoMore if pod.asks == best_asks => {
                ties.extend(pods.get(best).map(|best| best.pod));
            }
            VisitResult::TieNoMore => ties.clear(),
            VisitResult::Farther | VisitResult::TieMore => {}
        }
        if matches!(result, VisitResult::Nearer | VisitResult::TieNoMore) {
            (best, best_distance) = (at, distance);
        }
        if trace == Trace::Visits {
            visits.push(Visit { pod: pod.pod, distance, result });
        }
    }
    // What is not kept gives its memory back, too.
    let (ties, more_ties) = match ties.len() <= *room {
        true => (ties, 0),
        false => (Vec::new(), ties.len()),
    };
    *room -= ties.len();
    let round = Round {
        requirements: Vec::new(),
        visits,
        chosen: pods.get(best).map_or(0, |pod| pod.pod),
        distance: best_distance,
        ties,
        more_ties,
        remaining: Vec::new(),
    };
    Pick { place: best, round }
}
