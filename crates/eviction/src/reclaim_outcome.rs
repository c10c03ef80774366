//! What the kubelet reclaims before it evicts a pod, and whether that is enough, so that no pod is evicted.
//!
//! The kubelet measures again after reclaiming and goes on to evict if any threshold, of whichever signal,
//! is crossed with its minimum reclaim (`reclaimNodeLevelResources` of
//! `pkg/kubelet/eviction/eviction_manager.go`, read in 1.36.2). The freed amount often has bounds only, so the
//! thresholds are compared at both; the answer is known if they agree.
//!
//! The reclaimed resources mirror `buildSignalToNodeReclaimFuncs` of `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

use super::disk_reason::{FreedPart, SettlementReason};
use super::disks::{Disks, Layout, NodeDisks, stats_of};
use super::observation::{compare, observe};
use kq_answer::Worded;
use kq_facts::kubelet_config::{EvictionThreshold, Signal, SignalFs, StarvedResource};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A kind of reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReclaimFunction {
    /// Dead containers, those of deleted pods first.
    DeleteAllUnusedContainers,
    /// Unused images.
    DeleteUnusedImages,
}

/// Returns what is reclaimed for a signal, in order; nothing for memory and processes.
pub fn reclaim_functions(signal: Signal, layout: Layout) -> &'static [ReclaimFunction] {
    use ReclaimFunction::{DeleteAllUnusedContainers, DeleteUnusedImages};
    let Some(filesystem) = signal.filesystem() else { return &[] };
    match (layout.disks(), filesystem) {
        (Disks::One, _) | (Disks::ImagesApart, SignalFs::Image | SignalFs::Container) => {
            &[DeleteAllUnusedContainers, DeleteUnusedImages]
        }
        (Disks::ImagesApart, SignalFs::Node) => &[],
        (Disks::ImagesAndContainersApart, SignalFs::Image) => &[DeleteUnusedImages],
        (Disks::ImagesAndContainersApart, SignalFs::Node | SignalFs::Container) => {
            &[DeleteAllUnusedContainers]
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FreedBytes {
    /// Lower bound.
    pub at_least: u64,
    /// Upper bound; null: unknown.
    pub at_most: Option<u64>,
}

impl FreedBytes {
    /// Returns an exact amount, or an unknown one.
    pub fn of(known: Option<u64>) -> Self {
        Self { at_least: known.unwrap_or(0), at_most: known }
    }
}

/// The freed amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// What the removed images free on disk.
    pub images: FreedBytes,
    /// Their sizes, a poor measure: layers are shared, and some runtimes report compressed sizes.
    pub images_counted_bytes: u64,
    /// What the writable layers of the removed containers free.
    pub containers: FreedBytes,
}

/// Whether a reclaim is enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReclaimOutcome {
    /// No pod is evicted; null: unknown.
    pub enough: Option<bool>,
    /// The freed amounts.
    pub freed_bytes: FreedBytes,
    /// The signals that are still crossed with their minimum reclaim in any case.
    pub still_crossed: Vec<Signal>,
    /// The signals that may still be crossed.
    pub may_be_crossed: Vec<Signal>,
    /// The reason.
    pub because: Worded<SettlementReason>,
}

/// Whether a pod is evicted after the reclaim for a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReclaimAhead {
    /// How many images go.
    pub images: usize,
    /// The bytes freed; the sum of the image sizes if shared layers are unknown.
    pub freed_bytes: i64,
    /// Whether that is enough.
    pub sufficiency: Sufficiency,
}

impl ReclaimAhead {
    /// Returns what is removed, as a noun.
    pub fn removed(self) -> String {
        format!("the removal of {}", self.objects())
    }

    fn objects(self) -> String {
        let size = kq_output::units::bytes(u64::try_from(self.freed_bytes).unwrap_or(0));
        match self.images {
            0 => "dead containers".to_owned(),
            1 => format!("dead containers and 1 unused image ({size})"),
            more => format!("dead containers and {more} unused images ({size})"),
        }
    }

    /// Returns what happens, from a list of the pods of which one is evicted first.
    pub fn consequence(self, first: &[String]) -> String {
        let evicted = match first {
            [] => "pods are evicted".to_owned(),
            [one] => format!("{one} is evicted"),
            [one, ..] => format!("one of several pods, such as {one}, is evicted"),
        };
        let end = match self.sufficiency {
            Sufficiency::Enough => ", which is enough: no pod is evicted".to_owned(),
            Sufficiency::NotEnough => format!(", which is not enough; then {evicted}"),
            Sufficiency::Unknown => format!("; if that is not enough, {evicted}"),
        };
        format!("the kubelet removes {}{end}", self.objects())
    }
}

/// Compares thresholds with the amounts available after the reclaim.
pub(super) fn settle(
    disks: &NodeDisks,
    thresholds: &[EvictionThreshold],
    functions: &[ReclaimFunction],
    reclaimed: Reclaimed,
) -> ReclaimOutcome {
    let parts: Vec<Part<'_>> = functions.iter().map(|f| Part::of(*f, disks, reclaimed)).collect();
    let touched: BTreeSet<SignalFs> =
        parts.iter().flat_map(|part| part.filesystems).copied().collect();
    let of_inodes = |signal: &Signal| {
        signal.resource() == StarvedResource::Inodes
            && signal.filesystem().is_some_and(|filesystem| touched.contains(&filesystem))
    };
    let may_be = crossed(disks, thresholds, &parts, |freed| Some(freed.at_least));
    // The number of freed inodes is unknown.
    let still: BTreeSet<Signal> = crossed(disks, thresholds, &parts, |freed| freed.at_most)
        .into_iter()
        .filter(|signal| !of_inodes(signal))
        .collect();
    let observed = observe(&disks.summary);
    let is_unseen = |threshold: &EvictionThreshold| {
        threshold.signal.filesystem().is_some() && !observed.contains_key(&threshold.signal)
    };
    let (enough, because) = if functions.is_empty() {
        (Some(false), SettlementReason::NothingReclaimed)
    } else if !still.is_empty() {
        (Some(false), SettlementReason::TooLittle { signals: still.iter().copied().collect() })
    } else if !may_be.is_empty() {
        (None, open(&parts, &may_be, reclaimed))
    } else if thresholds.iter().any(is_unseen) {
        (None, SettlementReason::NotMeasured)
    } else {
        (Some(true), SettlementReason::Kept)
    };
    let freed_bytes = FreedBytes {
        at_least: parts.iter().fold(0, |sum, part| sum.saturating_add(part.freed.at_least)),
        at_most: parts
            .iter()
            .try_fold(0_u64, |sum, part| Some(sum.saturating_add(part.freed.at_most?))),
    };
    ReclaimOutcome {
        enough,
        freed_bytes,
        still_crossed: still.into_iter().collect(),
        may_be_crossed: may_be.into_iter().collect(),
        because: because.into(),
    }
}

/// The amount that one function frees, and where.
struct Part<'a> {
    function: ReclaimFunction,
    freed: FreedBytes,
    filesystems: &'a BTreeSet<SignalFs>,
}

impl<'a> Part<'a> {
    fn of(function: ReclaimFunction, disks: &'a NodeDisks, reclaimed: Reclaimed) -> Self {
        match function {
            ReclaimFunction::DeleteAllUnusedContainers => {
                Part { function, freed: reclaimed.containers, filesystems: &disks.with_layers }
            }
            ReclaimFunction::DeleteUnusedImages => {
                Part { function, freed: reclaimed.images, filesystems: &disks.with_images }
            }
        }
    }
}

/// Returns the thresholds crossed after a freed amount; an unbounded one frees the whole file system.
fn crossed(
    disks: &NodeDisks,
    thresholds: &[EvictionThreshold],
    parts: &[Part<'_>],
    bound: impl Fn(FreedBytes) -> Option<u64>,
) -> BTreeSet<Signal> {
    let mut freed: BTreeMap<SignalFs, u64> = BTreeMap::new();
    for part in parts {
        for filesystem in part.filesystems {
            let sum = freed.entry(*filesystem).or_default();
            *sum = sum.saturating_add(bound(part.freed).unwrap_or(u64::MAX));
        }
    }
    let mut summary = disks.summary.clone();
    for (filesystem, bytes) in freed {
        let Some(stats) = stats_of(&mut summary, filesystem) else { continue };
        let Some(available) = stats.available_bytes else { continue };
        let most = stats.capacity_bytes.unwrap_or(u64::MAX).max(available);
        stats.available_bytes = Some(available.saturating_add(bytes).min(most));
    }
    let crossings = compare(thresholds, &observe(&summary), true);
    let met = crossings.iter().filter(|crossing| crossing.met());
    met.map(|crossing| crossing.threshold.signal).collect()
}

/// Returns the unknown amounts that matter.
fn open(parts: &[Part<'_>], signals: &BTreeSet<Signal>, reclaimed: Reclaimed) -> SettlementReason {
    let is_of_inodes = |signal: &&Signal| signal.resource() == StarvedResource::Inodes;
    let inodes = signals.iter().filter(is_of_inodes).count();
    let of_bytes = parts.iter().filter(|_| signals.len() > inodes);
    let is_open = |part: &&Part<'_>| part.freed.at_most != Some(part.freed.at_least);
    let part = |part: &Part<'_>| FreedPart {
        function: part.function,
        freed: part.freed,
        counted_bytes: (part.function == ReclaimFunction::DeleteUnusedImages)
            .then_some(reclaimed.images_counted_bytes),
    };
    SettlementReason::FreedUnknown {
        parts: of_bytes.filter(is_open).map(part).collect(),
        inodes: inodes > 0,
        signals: signals.iter().copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::usage::measured_parts;
    use super::*;
    use crate::disks::DiskLayout;
    use kq_facts::kubelet_config::{ThresholdOperator, ThresholdValue};
    use kq_k8s::duration::GoDuration;
    use kq_k8s::quantity::{Format, Quantity};

    fn threshold(signal: Signal, amount: i64, reclaim: Option<i64>) -> EvictionThreshold {
        let value =
            |amount| ThresholdValue::Quantity(Quantity::from_units(amount, Format::BinarySi));
        EvictionThreshold {
            signal,
            operator: ThresholdOperator::LessThan,
            value: value(amount),
            grace_period: GoDuration(0),
            min_reclaim: reclaim.map(value),
        }
    }

    #[test]
    fn an_answer_is_one_if_it_is_the_same_at_both_ends() {
        use ReclaimFunction::{DeleteAllUnusedContainers, DeleteUnusedImages};
        use Signal::{ImageFsAvailable, ImageFsInodesFree, MemoryAvailable, NodeFsAvailable};
        let text = r#"{"node":{"memory":{"availableBytes":5,"workingSetBytes":5},
            "fs":{"availableBytes":10,"capacityBytes":100},"runtime":{
            "imageFs":{"availableBytes":10,"capacityBytes":100,"inodesFree":1,"inodes":9}}}}"#;
        let disks = NodeDisks {
            layout: DiskLayout {
                dedicated_image_fs: Some(true),
                split_container_image_fs: false,
                because: Vec::new(),
                refused: None,
                sources: BTreeMap::new(),
            },
            summary: serde_json::from_str(text).unwrap(),
            with_images: BTreeSet::from([SignalFs::Image]),
            with_layers: BTreeSet::from([SignalFs::Image]),
        };
        let freed = |at_least, at_most| FreedBytes { at_least, at_most };
        let exactly = |bytes| freed(bytes, Some(bytes));
        let both: &[ReclaimFunction] = &[DeleteAllUnusedContainers, DeleteUnusedImages];
        let images: &[ReclaimFunction] = &[DeleteUnusedImages];
        let nothing = exactly(0);
        let image_fs = threshold(ImageFsAvailable, 20, None);
        // Functions, freed by images and by containers, thresholds; enough, still and possibly crossed.
        let rows = [
            ("nothing runs", &[][..], exactly(99), nothing, image_fs.clone(), Some(false), (1, 1)),
            (
                "at the threshold",
                images,
                exactly(10),
                nothing,
                image_fs.clone(),
                Some(true),
                (0, 0),
            ),
            ("a byte less", images, exactly(9), nothing, image_fs.clone(), Some(false), (1, 1)),
            ("with containers", both, exactly(9), exactly(1), image_fs.clone(), Some(true), (0, 0)),
            (
                "containers that stay",
                images,
                exactly(9),
                exactly(1),
                image_fs.clone(),
                Some(false),
                (1, 1),
            ),
            ("nobody knows", images, freed(0, None), nothing, image_fs.clone(), None, (0, 1)),
            (
                "enough at least",
                both,
                exactly(10),
                freed(0, None),
                image_fs.clone(),
                Some(true),
                (0, 0),
            ),
            ("between", images, freed(9, Some(10)), nothing, image_fs.clone(), None, (0, 1)),
            (
                "too little at most",
                images,
                freed(0, Some(9)),
                nothing,
                image_fs,
                Some(false),
                (1, 1),
            ),
            (
                "minimum reclaim",
                images,
                exactly(10),
                nothing,
                threshold(ImageFsAvailable, 20, Some(1)),
                Some(false),
                (1, 1),
            ),
            (
                "more than there can be",
                images,
                freed(0, None),
                nothing,
                threshold(ImageFsAvailable, 101, None),
                Some(false),
                (1, 1),
            ),
            (
                "inodes",
                images,
                exactly(90),
                nothing,
                threshold(ImageFsInodesFree, 2, None),
                None,
                (0, 1),
            ),
            (
                "another disk",
                images,
                exactly(90),
                nothing,
                threshold(NodeFsAvailable, 11, None),
                Some(false),
                (1, 1),
            ),
            (
                "memory",
                images,
                exactly(90),
                nothing,
                threshold(MemoryAvailable, 6, None),
                Some(false),
                (1, 1),
            ),
            (
                "not measured",
                images,
                exactly(90),
                nothing,
                threshold(Signal::NodeFsInodesFree, 1, None),
                None,
                (0, 0),
            ),
        ];
        for (name, functions, images, containers, threshold, enough, (still, may_be)) in rows {
            let reclaimed = Reclaimed { images, containers, images_counted_bytes: 7 };
            let got = settle(&disks, &[threshold], functions, reclaimed);
            assert_eq!(got.enough, enough, "{name}: {}", got.because);
            let crossed = (got.still_crossed.len(), got.may_be_crossed.len());
            assert_eq!(crossed, (still, may_be), "{name}");
        }
    }

    #[test]
    fn what_is_on_a_filesystem_is_cleared_from_it_and_counted_on_it() {
        // Dedicated and split; for nodefs, imagefs and containerfs: containers, images; root, logs.
        let rows = [
            ("one disk", (false, false), ["ci rl", "ci rl", "ci rl"]),
            ("split alone is one disk", (false, true), ["ci rl", "ci rl", "ci rl"]),
            ("images apart", (true, false), ["  l", "ci r", "ci r"]),
            ("both apart", (true, true), ["c rl", "i ", "c rl"]),
        ];
        let signals =
            [Signal::NodeFsInodesFree, Signal::ImageFsAvailable, Signal::ContainerFsAvailable];
        for (name, (dedicated_image_fs, split_container_image_fs), expected) in rows {
            let layout = Layout { dedicated_image_fs, split_container_image_fs };
            for (signal, expected) in signals.into_iter().zip(expected) {
                let cleared = reclaim_functions(signal, layout);
                let parts = measured_parts(signal.filesystem().unwrap(), layout);
                for (mark, got) in [
                    ('c', cleared.contains(&ReclaimFunction::DeleteAllUnusedContainers)),
                    ('i', cleared.contains(&ReclaimFunction::DeleteUnusedImages)),
                    ('r', parts.root),
                    ('l', parts.logs),
                ] {
                    assert_eq!(got, expected.contains(mark), "{name}: {signal} {mark}");
                }
                assert_eq!(parts.local_volumes, parts.logs, "{name}");
            }
            assert_eq!(reclaim_functions(Signal::MemoryAvailable, layout), [], "{name}");
            assert_eq!(reclaim_functions(Signal::PidAvailable, layout), [], "{name}");
        }
    }
}
