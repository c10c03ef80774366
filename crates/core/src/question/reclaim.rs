//! What the eviction manager reclaims on the node before it evicts a pod.

use super::image_gc::{ImageGcAnswer, ImageGcOptions, Trigger, image_gc_plan};
use kq_answer::Failure;
use kq_eviction::{Layout, ReclaimFunction, ReclaimOutcome, reclaim_functions};
use kq_facts::kubelet_config::Signal;
use kq_facts::node::Node;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is reclaimed under disk pressure, as `kq gc dry-run --trigger eviction` computes it.
#[derive(Debug)]
pub struct NodeReclaim {
    layout: Layout,
    images: usize,
    freed_bytes: i64,
    /// Whether it is enough, for each signal whose threshold is crossed.
    outcomes: BTreeMap<Signal, Option<ReclaimOutcome>>,
}

/// Whether a pod is evicted after the reclaim for a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Sufficiency {
    /// No pod is evicted.
    Enough,
    /// The threshold is still crossed.
    NotEnough,
    /// The freed amounts are not known, or the threshold is not crossed.
    Unknown,
}

/// What is reclaimed before a pod is evicted for a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReclaimAhead {
    /// How many images go.
    pub images: usize,
    /// What that frees; their sizes, where it is not known what they share.
    pub freed_bytes: i64,
    /// Whether that is enough.
    pub sufficiency: Sufficiency,
}

/// Returns what the kubelet reclaims on its node before it evicts a pod (`reclaimNodeLevelResources`,
/// `pkg/kubelet/eviction/eviction_manager.go`).
///
/// # Errors
///
/// Fails where the images or the containers are not known.
pub fn node_reclaim(node: &Node) -> Result<NodeReclaim, Failure> {
    image_gc_plan(node, &ImageGcOptions::new(Trigger::Eviction)).map(NodeReclaim::of)
}

impl NodeReclaim {
    /// Returns what is reclaimed by a collection under pressure.
    pub fn of(answer: ImageGcAnswer) -> Self {
        let (layout, acts) = match answer.pressure {
            Some(pressure) => (pressure.layout.layout(), pressure.acts),
            None => (Layout::default(), Vec::new()),
        };
        let freed = &answer.plan.freed;
        Self {
            layout,
            images: freed.images,
            freed_bytes: freed
                .real_bytes
                .map_or(freed.counted_bytes, |real| i64::try_from(real).unwrap_or(i64::MAX)),
            outcomes: acts.into_iter().map(|act| (act.signal, act.settlement)).collect(),
        }
    }

    /// Returns what is reclaimed for a signal; `None`: nothing is, as for memory and processes.
    pub fn ahead(&self, signal: Signal) -> Option<ReclaimAhead> {
        let functions = reclaim_functions(signal, self.layout);
        if functions.is_empty() {
            return None;
        }
        let removes_images = functions.contains(&ReclaimFunction::DeleteUnusedImages);
        let outcome = self.outcomes.get(&signal).and_then(Option::as_ref);
        let sufficiency = match outcome.and_then(|outcome| outcome.enough) {
            Some(true) => Sufficiency::Enough,
            Some(false) => Sufficiency::NotEnough,
            None => Sufficiency::Unknown,
        };
        let (images, freed_bytes) = match removes_images {
            true => (self.images, self.freed_bytes),
            false => (0, 0),
        };
        Some(ReclaimAhead { images, freed_bytes, sufficiency })
    }

    /// Returns the bytes that come free for a signal at the least.
    pub fn least_bytes(&self, signal: Signal) -> u64 {
        let outcome = self.outcomes.get(&signal).and_then(Option::as_ref);
        outcome.map_or(0, |outcome| outcome.freed_bytes.at_least)
    }
}

impl ReclaimAhead {
    /// Returns what happens, from a list of the pods of which one is evicted first.
    pub fn consequence(self, first: &[String]) -> String {
        let Self { images, freed_bytes, sufficiency } = self;
        let size = kq_output::units::bytes(u64::try_from(freed_bytes).unwrap_or(0));
        let reclaim = match images {
            0 => "the kubelet removes dead containers".to_owned(),
            1 => format!("the kubelet removes dead containers and 1 unused image ({size})"),
            more => {
                format!("the kubelet removes dead containers and {more} unused images ({size})")
            }
        };
        let evicted = match first {
            [] => "pods are evicted".to_owned(),
            [one] => format!("{one} is evicted"),
            [one, ..] => format!("one of several pods, such as {one}, is evicted"),
        };
        match sufficiency {
            Sufficiency::Enough => format!("{reclaim}, which is enough: no pod is evicted"),
            Sufficiency::NotEnough => format!("{reclaim}, which is not enough; then {evicted}"),
            Sufficiency::Unknown => format!("{reclaim}; if that is not enough, {evicted}"),
        }
    }
}
