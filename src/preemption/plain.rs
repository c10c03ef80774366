//! One round as the kubelet goes through it: every pod is looked at, in order
//! (`getPodsToPreemptByDistance`).

use super::requirement::{asks_for_no_more, shortfall};
use super::search::{Candidate, Missing, Pick};
use super::victims::{Round, Trace, Visit, VisitResult};

/// Looks for the pod that is nearest to what is missing.
pub(super) fn round(pods: &[Candidate], missing: &[Missing], trace: Trace) -> Pick {
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
        } else if asks_for_no_more(pod.asks, best_asks) {
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
    let round = Round {
        requirements: Vec::new(),
        visits,
        chosen: pods.get(best).map_or(0, |pod| pod.pod),
        distance: best_distance,
        ties,
        more_ties: 0,
        remaining: Vec::new(),
    };
    Pick { place: best, round }
}
