//! Thresholds of containerfs, which cannot be configured: the kubelet copies those of the filesystem
//! with the writable layers.
//!
//! Mirrors `UpdateContainerFsThresholds` of `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

use super::disks::Layout;
use kq_facts::kubelet_config::{EvictionThreshold, Signal, ThresholdOperator, ThresholdValue};
use kq_k8s::duration::GoDuration;
use std::fmt;

/// A configured threshold of containerfs, which the kubelet ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerFsWarning {
    pub signal: Signal,
    /// Hard or soft.
    pub hard: bool,
}

impl fmt::Display for ContainerFsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.hard { "hard" } else { "soft" };
        write!(f, "found {} for {kind} eviction. ignoring", self.signal)
    }
}

/// The four thresholds in the kubelet's order: of containerfs, of nodefs, of imagefs, hard.
const COPIED: [(Signal, Signal, Signal, bool); 4] = {
    use Signal::{
        ContainerFsAvailable, ContainerFsInodesFree, ImageFsAvailable, ImageFsInodesFree,
        NodeFsAvailable, NodeFsInodesFree,
    };
    [
        (ContainerFsAvailable, NodeFsAvailable, ImageFsAvailable, true),
        (ContainerFsAvailable, NodeFsAvailable, ImageFsAvailable, false),
        (ContainerFsInodesFree, NodeFsInodesFree, ImageFsInodesFree, true),
        (ContainerFsInodesFree, NodeFsInodesFree, ImageFsInodesFree, false),
    ]
};

/// Overwrites or appends the thresholds of containerfs.
///
/// A configured threshold is overwritten in its place; with nothing to copy, by one that is never met. Of
/// several configured ones the kubelet warns of the last in the list. The layout that splits containers from
/// images without a dedicated filesystem for images changes nothing.
pub fn add_container_fs_thresholds(
    thresholds: &mut Vec<EvictionThreshold>,
    layout: Layout,
) -> Option<ContainerFsWarning> {
    let last = thresholds.iter().rev().find(|threshold| {
        matches!(threshold.signal, Signal::ContainerFsAvailable | Signal::ContainerFsInodesFree)
    });
    let warning = last.map(|last| ContainerFsWarning { signal: last.signal, hard: last.is_hard() });
    let from_images = match (layout.dedicated_image_fs, layout.split_container_image_fs) {
        (false, true) => return warning,
        (true, false) => true,
        (false, false) | (true, true) => false,
    };
    // Read before anything is overwritten: a copy may be hard where the original was soft.
    let places = COPIED.map(|(signal, _, _, hard)| {
        thresholds.iter().rposition(|have| have.signal == signal && have.is_hard() == hard)
    });
    for ((signal, node, image, hard), place) in COPIED.into_iter().zip(places) {
        let source = if from_images { image } else { node };
        let found =
            thresholds.iter().rev().find(|have| have.signal == source && have.is_hard() == hard);
        let copy = match found {
            Some(found) => EvictionThreshold { signal, ..found.clone() },
            None => EvictionThreshold {
                signal,
                operator: ThresholdOperator::Unset,
                value: ThresholdValue::Share(0.0),
                grace_period: GoDuration(0),
                min_reclaim: None,
            },
        };
        match place.and_then(|place| thresholds.get_mut(place)) {
            Some(configured) => *configured = copy,
            None => thresholds.push(copy),
        }
    }
    warning
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_k8s::quantity::{Format, Quantity};

    fn threshold(signal: Signal, amount: i64, grace: i64) -> EvictionThreshold {
        EvictionThreshold {
            signal,
            operator: ThresholdOperator::LessThan,
            value: ThresholdValue::Quantity(Quantity::from_units(amount, Format::BinarySi)),
            grace_period: GoDuration(grace),
            min_reclaim: None,
        }
    }

    #[test]
    fn what_is_copied_depends_on_the_layout() {
        use Signal::{ContainerFsAvailable, ImageFsAvailable, NodeFsAvailable};
        let given = [
            threshold(NodeFsAvailable, 1, 0),
            threshold(ContainerFsAvailable, 3, 30),
            threshold(ImageFsAvailable, 2, 0),
        ];
        // Layout; amount of the hard threshold of containerfs, whether the soft one can be met.
        let rows = [
            ("one disk", (false, false), Some(1), false),
            ("split without images apart", (false, true), None, true),
            ("images apart", (true, false), Some(2), false),
            ("both apart", (true, true), Some(1), false),
        ];
        for (name, (dedicated_image_fs, split_container_image_fs), hard, soft) in rows {
            let mut thresholds = given.to_vec();
            let layout = Layout { dedicated_image_fs, split_container_image_fs };
            let warning = add_container_fs_thresholds(&mut thresholds, layout);
            let text = warning.map(|warning| warning.to_string());
            let expected = "found containerfs.available for soft eviction. ignoring";
            assert_eq!(text.as_deref(), Some(expected), "{name}");
            assert_eq!(thresholds[0], given[0], "{name}");
            assert_eq!(thresholds[1].operator == ThresholdOperator::LessThan, soft, "{name}");
            let added = thresholds.get(3).map(|added| match &added.value {
                ThresholdValue::Quantity(amount) => amount.value(),
                ThresholdValue::Share(_) => -1,
            });
            assert_eq!(added, hard, "{name}");
        }
    }
}
