//! What the kubelet clears away before a pod has to go.
//!
//! Mirrors `buildSignalToNodeReclaimFuncs` of `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

use super::layout::{Disks, Layout};
use crate::facts::kubelet_config::{Signal, SignalFs};

/// Something that is cleared away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReclaimFunction {
    /// Containers that ended, of pods that are gone first.
    DeleteAllUnusedContainers,
    /// Images that no container uses.
    DeleteUnusedImages,
}

/// Returns what is cleared away for a signal, in order; nothing brings back memory or processes.
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
