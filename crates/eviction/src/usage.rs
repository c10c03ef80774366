//! The disk usage of a pod, and the parts of it that count for each filesystem.
//!
//! Mirrors `podDiskUsage` and `buildSignalToRankFunc` of `pkg/kubelet/eviction/helpers.go`, read in
//! 1.36.2.

use super::disks::{Disks, Layout};
use super::observation::unsigned;
use kq_facts::kubelet_config::SignalFs;
use kq_facts::stats_summary::{FsStats, PodStats};
use kq_k8s::pod::{ByName, Pod};
use kq_k8s::quantity::{Format, Quantity};

/// The parts of a pod's usage that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsParts {
    /// The writable layers of the containers.
    pub root: bool,
    /// The logs of the containers.
    pub logs: bool,
    /// The volumes on the node's disk.
    pub local_volumes: bool,
}

/// Returns the parts that count when a filesystem is short.
///
/// | layout | nodefs | imagefs | containerfs |
/// |---|---|---|---|
/// | one disk | all | all | all |
///
///  separate images
///  logs, volumes
///  root
///  root
///
///
///  separate images and containers
///  all
///  nothing
///  all
///
pub fn measured_parts(filesystem: SignalFs, layout: Layout) -> FsParts {
    const ALL: FsParts = FsParts { root: true, logs: true, local_volumes: true };
    const NONE: FsParts = FsParts { root: false, logs: false, local_volumes: false };
    match (layout.disks(), filesystem) {
        (Disks::One, _) => ALL,
        (Disks::ImagesApart, SignalFs::Node) => FsParts { root: false, ..ALL },
        (Disks::ImagesApart, SignalFs::Image | SignalFs::Container) => {
            FsParts { root: true, ..NONE }
        }
        (Disks::ImagesAndContainersApart, SignalFs::Image) => NONE,
        (Disks::ImagesAndContainersApart, SignalFs::Node | SignalFs::Container) => ALL,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DiskUnit {
    Bytes,
    Inodes,
}

/// A pod's usage, part by part. An unmeasured part counts as zero, as in the kubelet.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskUsage {
    /// The writable layers of all measured containers.
    pub root: Quantity,
    pub logs: Quantity,
    /// The volumes on the node's disk.
    pub local_volumes: Quantity,
}

impl DiskUsage {
    /// Returns the sum of the parts that count.
    pub fn total(&self, parts: FsParts) -> Quantity {
        let mut sum = Quantity::from_units(0, self.root.format());
        for (counts, part) in [
            (parts.root, &self.root),
            (parts.logs, &self.logs),
            (parts.local_volumes, &self.local_volumes),
        ] {
            if counts {
                sum += part;
            }
        }
        sum
    }
}

/// Returns the usage of a pod.
pub fn disk_usage(pod: &Pod, stats: &PodStats, unit: DiskUnit) -> DiskUsage {
    let amount = |used: Option<u64>| {
        let format = match unit {
            DiskUnit::Bytes => Format::BinarySi,
            DiskUnit::Inodes => Format::DecimalSi,
        };
        unsigned(used.unwrap_or(0), format)
    };
    let of_fs = |fs: Option<&FsStats>| {
        amount(fs.and_then(|fs| match unit {
            DiskUnit::Bytes => fs.used_bytes,
            DiskUnit::Inodes => fs.inodes_used,
        }))
    };
    let mut usage =
        DiskUsage { root: amount(None), logs: amount(None), local_volumes: amount(None) };
    for container in &stats.containers {
        usage.root += &of_fs(container.rootfs.as_ref());
        usage.logs += &of_fs(container.logs.as_ref());
    }
    let volumes = ByName::first_of(stats.volumes.iter());
    for volume in pod.spec.volumes.iter().filter(|volume| volume.is_local()) {
        if let Some(measured) = volumes.get(&volume.name) {
            usage.local_volumes += &amount(match unit {
                DiskUnit::Bytes => measured.used_bytes,
                DiskUnit::Inodes => measured.inodes_used,
            });
        }
    }
    usage
}
