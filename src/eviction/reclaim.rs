//! What the kubelet reclaims before it evicts a pod.
//!
//! Mirrors `buildSignalToNodeReclaimFuncs` of `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

use super::layout::{Disks, Layout};
use crate::facts::kubelet_config::{Signal, SignalFs};

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

#[cfg(test)]
mod tests {
    use super::super::usage::measured_parts;
    use super::*;

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
