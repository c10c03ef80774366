//! What the eviction manager reclaims on the node before it evicts a pod.

use super::image_gc::{ImageGcAnswer, ImageGcOptions, Trigger, image_gc_plan};
use kq_answer::Failure;
use kq_eviction::{Layout, ReclaimFunction, ReclaimOutcome, reclaim_functions};
use kq_facts::kubelet_config::Signal;
use kq_facts::node::Node;
use std::collections::BTreeMap;

pub use kq_eviction::{ReclaimAhead, Sufficiency};

/// What is reclaimed under disk pressure, as `kq gc dry-run --trigger eviction` computes it.
#[derive(Debug)]
pub struct NodeReclaim {
    layout: Layout,
    images: usize,
    freed_bytes: i64,
    /// Whether it is enough, for each signal whose threshold is crossed.
    outcomes: BTreeMap<Signal, Option<ReclaimOutcome>>,
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

/// Returns true if the eviction manager removes images now; without pressure, the plan is of one that is assumed.
pub fn removes_images(answer: &ImageGcAnswer) -> bool {
    let Some(pressure) = &answer.pressure else { return false };
    let removes = |signal| {
        reclaim_functions(signal, pressure.layout.layout())
            .contains(&ReclaimFunction::DeleteUnusedImages)
    };
    pressure.acts.iter().any(|act| removes(act.signal))
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
