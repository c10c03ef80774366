//! The eviction manager's decision about thresholds that are due: reclaim, then evict.
//!
//! Mirrors the second half of `synchronize` and `reclaimNodeLevelResources` of
//! `pkg/kubelet/eviction/eviction_manager.go`, read in 1.36.2.

use super::cycle::{EvictionSetup, StatsAfterReclaim};
use super::observation::{Crossing, Observations, compare, observe};
use super::rank::{Ranking, rank_pods};
use super::reclaim_outcome::{ReclaimFunction, reclaim_functions};
use super::victim::{
    Eviction, EvictionMessage, IMMEDIATE_GRACE_SECONDS, Verdict, evict_pod, eviction_message,
};
use kq_facts::kubelet_config::{EvictionThreshold, StarvedResource};
use kq_facts::stats_summary::{PodStats, StatsByPod};
use kq_k8s::disruption_target::DisruptionTarget;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_critical_pod;

/// The outcome of a cycle.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// There are no thresholds, and pods are not held to limits of local storage.
    NothingConfigured,
    /// Nothing could be measured.
    NoStats,
    /// Pods that exceed limits of local storage are evicted; thresholds wait for the next cycle.
    LocalStorage,
    /// No threshold is due.
    NothingStarved,
    /// The kubelet handles one of these; of several, in no fixed order.
    Starved(Vec<Alternative>),
}

/// The reaction to a threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    pub threshold: EvictionThreshold,
    /// The resource that is short; the node's event says that the kubelet attempts to reclaim it.
    pub resource: StarvedResource,
    /// What is reclaimed first.
    pub reclaim: &'static [ReclaimFunction],
    /// The result of reclaiming.
    pub after_reclaim: AfterReclaim,
    /// The eviction if reclaiming was not enough; `None`: it was, or no pod runs.
    pub eviction: Option<PodEviction>,
}

impl Alternative {
    /// Returns the message of the node's event, of type `Warning` and reason `EvictionThresholdMet`.
    pub fn event_message(&self) -> String {
        format!("Attempting to reclaim {}", self.resource)
    }
}

/// The result of reclaiming.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterReclaim {
    /// Nothing can be reclaimed.
    NothingToReclaim,
    /// No threshold is crossed any more, minimum reclaims included: no pod is evicted.
    Resolved(Vec<Crossing>),
    /// A threshold is still crossed.
    StillCrossed(Vec<Crossing>),
    /// There is no new measurement, so a pod is evicted.
    NotMeasured,
    /// Unknown before the reclaim.
    Unknown,
}

/// The victim, and the order it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct PodEviction {
    pub ranking: Ranking,
    /// The indexes of critical pods that rank before the victim.
    pub spared: Vec<usize>,
    /// The index of the victim, and its eviction; `None`: all pods are critical.
    pub victim: Option<(usize, Eviction)>,
    /// The message of the eviction, in parts.
    pub message: Option<EvictionMessage>,
    /// The indexes of pods that may be evicted in its place, because the order among equals is random.
    pub or_else: Vec<usize>,
}

/// The input of a decision.
pub(super) struct Situation<'a> {
    pub(super) thresholds: &'a [EvictionThreshold],
    pub(super) observations: &'a Observations,
    pub(super) stats: &'a [PodStats],
    pub(super) pods: &'a [&'a Pod],
    pub(super) after_reclaim: StatsAfterReclaim<'a>,
    pub(super) setup: &'a EvictionSetup,
}

impl Situation<'_> {
    /// Returns the reactions to the thresholds that are due.
    ///
    /// Memory comes before everything else; beyond that the kubelet's order is that of a hash map.
    pub(super) fn decide(&self, due: &[EvictionThreshold]) -> Outcome {
        if due.is_empty() {
            return Outcome::NothingStarved;
        }
        let memory =
            |threshold: &&EvictionThreshold| threshold.signal.resource() == StarvedResource::Memory;
        let any_memory = due.iter().any(|threshold| memory(&threshold));
        let candidates = due.iter().filter(|threshold| !any_memory || memory(threshold));
        Outcome::Starved(candidates.map(|threshold| self.alternative(threshold)).collect())
    }

    fn alternative(&self, threshold: &EvictionThreshold) -> Alternative {
        let reclaim = reclaim_functions(threshold.signal, self.setup.layout);
        let after_reclaim = if reclaim.is_empty() {
            AfterReclaim::NothingToReclaim
        } else {
            match self.after_reclaim {
                StatsAfterReclaim::Failed => AfterReclaim::NotMeasured,
                StatsAfterReclaim::Unknown => AfterReclaim::Unknown,
                StatsAfterReclaim::Read(summary) => {
                    let crossings = compare(self.thresholds, &observe(summary), true);
                    if crossings.iter().any(Crossing::met) {
                        AfterReclaim::StillCrossed(crossings)
                    } else {
                        AfterReclaim::Resolved(crossings)
                    }
                }
            }
        };
        let resolved = matches!(after_reclaim, AfterReclaim::Resolved(_));
        Alternative {
            threshold: threshold.clone(),
            resource: threshold.signal.resource(),
            reclaim,
            after_reclaim,
            eviction: (!resolved && !self.pods.is_empty()).then(|| self.eviction(threshold)),
        }
    }

    fn eviction(&self, threshold: &EvictionThreshold) -> PodEviction {
        let EvictionSetup { layout, rules, .. } = self.setup;
        let stats = StatsByPod::new(self.stats);
        let ranking = rank_pods(threshold.signal, self.pods, &stats, *layout, rules);
        let mut eviction = PodEviction {
            ranking,
            spared: Vec::new(),
            victim: None,
            message: None,
            or_else: Vec::new(),
        };
        for (rank, ranked) in eviction.ranking.pods.iter().enumerate() {
            let Some(pod) = self.pods.get(ranked.pod) else { continue };
            // The threshold that decides comes first in the kubelet's list, and its message names that one.
            let message = eviction_message(
                threshold.signal.resource(),
                pod,
                stats.of(pod),
                std::slice::from_ref(threshold),
                self.observations,
                rules,
            );
            let planned = Eviction {
                grace_seconds: self.grace_seconds(threshold, pod),
                message: message.text.clone(),
                annotations: Some(message.annotations.clone()),
                condition: Some(DisruptionTarget::of(pod, message.text.clone(), &self.setup.rules)),
            };
            match evict_pod(pod, planned) {
                Verdict::SparedAsCritical => eviction.spared.push(ranked.pod),
                Verdict::Evicted(planned) => {
                    eviction.victim = Some((ranked.pod, planned));
                    eviction.message = Some(message);
                    eviction.or_else = self.equals(&eviction.ranking, rank);
                    break;
                }
            }
        }
        eviction
    }

    /// Returns the pods that are not critical and tie with the one at a rank.
    fn equals(&self, ranking: &Ranking, rank: usize) -> Vec<usize> {
        let tie = ranking.ties.iter().find(|tie| tie.contains(&rank)).cloned().unwrap_or(0..0);
        ranking
            .pods
            .get(tie.clone())
            .unwrap_or_default()
            .iter()
            .zip(tie)
            .filter(|(_, at)| *at != rank)
            .map(|(ranked, _)| ranked.pod)
            .filter(|pod| self.pods.get(*pod).is_some_and(|pod| !is_critical_pod(pod)))
            .collect()
    }

    /// A hard threshold evicts without a grace period.
    fn grace_seconds(&self, threshold: &EvictionThreshold, pod: &Pod) -> i64 {
        match threshold.is_hard() {
            true => IMMEDIATE_GRACE_SECONDS,
            false => soft_grace_seconds(pod, self.setup.max_pod_grace_period_seconds),
        }
    }
}

/// A soft threshold grants the pod's own grace period, up to the configured maximum.
pub(super) fn soft_grace_seconds(pod: &Pod, most: i64) -> i64 {
    pod.spec.termination_grace_period_seconds.map_or(most, |asked| asked.min(most))
}
