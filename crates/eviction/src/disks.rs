//! The layout of a node's file systems as its kubelet sees it, and their usage.
//!
//! Mirrors, read in 1.36:
//!
//! * `HasDedicatedImageFs` in `pkg/kubelet/stats/provider.go`: the device of the images is not that of
//!   the kubelet's root folder, or the numbers of their file systems differ;
//! * `IsContainerFsSeparateFromImageFs` in `pkg/kubelet/container/container_gc.go`: the runtime names
//!   different folders, whatever devices they are on;
//! * `ImageFsStats` in `pkg/kubelet/stats/cri_stats_provider.go` and `cadvisor_stats_provider.go`: only
//!   the latter, used with CRI-O, measures containers apart from images.

use super::disk_reason::LayoutReason;
use kq_answer::Worded;
use kq_facts::filesystems::{Filesystem, FolderRole, NodeFolder};
use kq_facts::kubelet_config::SignalFs;
use kq_facts::runtime::ImageFilesystems;
use kq_facts::stats_summary::{FsStats, RuntimeStats, StatsSummary};
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The layout, as the kubelet reads it in its first cycle: the three cases of `buildSignalToRankFunc` and
/// `buildSignalToNodeReclaimFuncs` in `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layout {
    /// Images are not on the kubelet's filesystem.
    pub dedicated_image_fs: bool,
    /// Writable layers are not on the filesystem of the images.
    pub split_container_image_fs: bool,
}

/// The case by which the kubelet reclaims and ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disks {
    /// One filesystem, or handled as one: without a dedicated filesystem for images the kubelet ignores the
    /// split.
    One,
    /// Images and writable layers have a filesystem of their own.
    ImagesApart,
    /// Only images have a filesystem of their own.
    ImagesAndContainersApart,
}

impl Layout {
    /// Returns the case of the layout.
    pub fn disks(self) -> Disks {
        match (self.dedicated_image_fs, self.split_container_image_fs) {
            (false, _) => Disks::One,
            (true, false) => Disks::ImagesApart,
            (true, true) => Disks::ImagesAndContainersApart,
        }
    }
}

/// The end of the endpoint of a runtime whose containers the kubelet measures itself.
const CRIO_SOCKET: &str = "run/crio/crio.sock";

/// The gate with which the kubelet reads container stats from every runtime.
const STATS_FROM_CRI: &str = "PodAndContainerStatsFromCRI";

/// Why a kubelet neither reclaims nor evicts for its thresholds, in its words.
const SPLIT_WITHOUT_GATE: &str =
    "KubeletSeparateDiskGC is turned off but we still have a split filesystem";

/// The facts about a node's file systems.
#[derive(Clone, Copy, Debug)]
pub struct DiskFacts<'a> {
    /// The folders, by the kernel.
    pub folders: &'a BTreeMap<FolderRole, NodeFolder>,
    /// The folders of images and containers, by the runtime; `None`: not reported.
    pub runtime: Option<&'a ImageFilesystems>,
    /// `containerRuntimeEndpoint`
    pub endpoint: &'a str,
    /// `featureGates`
    pub feature_gates: &'a BTreeMap<String, bool>,
    /// The kubelet's rules.
    pub rules: &'a KubeletRules,
    /// The kubelet's stats; `None`: unknown.
    pub summary: Option<&'a StatsSummary>,
    /// Assumed numbers of the file system of the images.
    pub assumed: Option<AssumedSpace>,
}

/// Assumed numbers of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssumedSpace {
    pub capacity_bytes: u64,
    pub available_bytes: u64,
}

/// The file systems of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeDisks {
    /// The layout and its reasons.
    pub layout: DiskLayout,
    /// The current measurements: fresh ones of the node's file systems where available, of all else the
    /// kubelet's.
    pub summary: StatsSummary,
    /// The file systems that removed images free.
    pub(super) with_images: BTreeSet<SignalFs>,
    /// The file systems that removed writable layers free.
    pub(super) with_layers: BTreeSet<SignalFs>,
}

/// The layout of the file systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskLayout {
    /// Images, or writable layers, are not on the kubelet's file system; null: unknown, and assumed not to be.
    pub dedicated_image_fs: Option<bool>,
    /// The runtime names other folders for writable layers than for images.
    pub split_container_image_fs: bool,
    /// The reasons.
    pub because: Vec<Worded<LayoutReason>>,
    /// Why the kubelet cannot handle the layout, in its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<&'static str>,
    /// The source of the numbers of each file system.
    pub sources: BTreeMap<&'static str, String>,
}

impl DiskLayout {
    /// Returns the case by which the kubelet reclaims and ranks.
    pub fn layout(&self) -> Layout {
        Layout {
            dedicated_image_fs: self.dedicated_image_fs.unwrap_or(false),
            split_container_image_fs: self.split_container_image_fs,
        }
    }
}

/// Returns the name of a file system.
pub(super) fn name(filesystem: SignalFs) -> &'static str {
    match filesystem {
        SignalFs::Node => "nodefs",
        SignalFs::Image => "imagefs",
        SignalFs::Container => "containerfs",
    }
}

/// Determines the layout and the usage of a node's file systems.
pub fn node_disks(facts: DiskFacts<'_>) -> NodeDisks {
    let split = facts.is_split();
    let gate = facts.rules.gates.enabled(Gate::KubeletSeparateDiskGc);
    let [node, images, containers] = facts.devices();
    // Only then do the numbers of containerfs differ from those of imagefs.
    let apart = split && gate && facts.measured_by_kubelet() && containers.is_some() && {
        containers != images
    };
    let mut because = Vec::new();
    let dedicated = facts.dedicated(apart, &mut because);
    because.push(match (split, facts.runtime) {
        (true, _) => LayoutReason::LayersInOtherFolder,
        (false, Some(told)) if told.container.is_empty() => LayoutReason::NoFolderOfLayers,
        (false, Some(_)) => LayoutReason::OneFolder,
        (false, None) => LayoutReason::FolderOfLayersUnknown,
    });
    if split && !apart {
        because.push(LayoutReason::MeasuredAsOne);
    }
    let mut disks = NodeDisks {
        layout: DiskLayout {
            dedicated_image_fs: dedicated,
            split_container_image_fs: split,
            because: because.into_iter().map(Worded).collect(),
            refused: (split && !gate).then_some(SPLIT_WITHOUT_GATE),
            sources: BTreeMap::new(),
        },
        summary: facts.summary.cloned().unwrap_or_default(),
        with_images: BTreeSet::new(),
        with_layers: BTreeSet::new(),
    };
    let measured = [
        (SignalFs::Node, node),
        (SignalFs::Image, images),
        (SignalFs::Container, if apart { containers } else { images }),
    ];
    let is_known = node.is_some() && images.is_some();
    for (filesystem, device) in measured {
        let with = |other: Option<&str>| device.is_some() && device == other;
        // Unknown devices are assumed to be one, like the layout that follows.
        let is_taken = match filesystem {
            SignalFs::Node => !is_known && dedicated != Some(true),
            SignalFs::Image => true,
            SignalFs::Container => !apart,
        };
        if is_taken || with(images) {
            disks.with_images.insert(filesystem);
        }
        if with(containers) || (!split && is_taken) {
            disks.with_layers.insert(filesystem);
        }
    }
    facts.measure(&mut disks, apart);
    disks
}

impl DiskFacts<'_> {
    fn filesystem(&self, role: FolderRole) -> Option<&Filesystem> {
        self.folders.get(&role)?.filesystem.value()
    }

    /// Returns the devices of the kubelet's root folder, of images and of writable layers.
    fn devices(&self) -> [Option<&str>; 3] {
        let of = |role| self.filesystem(role).map(|filesystem| filesystem.device.as_str());
        let images = of(FolderRole::Images);
        let containers = if self.is_split() { of(FolderRole::Containers) } else { images };
        [of(FolderRole::Kubelet), images, containers]
    }

    /// Returns true if the first folders that the runtime names differ as texts.
    fn is_split(&self) -> bool {
        let first = |list: &[kq_facts::runtime::FilesystemUsage]| {
            list.first().map(|usage| usage.mountpoint.clone())
        };
        self.runtime
            .and_then(|told| Some(first(&told.image)? != first(&told.container)?))
            .unwrap_or(false)
    }

    /// Returns true if the kubelet measures containers itself, and so apart from images.
    fn measured_by_kubelet(&self) -> bool {
        let asks_runtime = self.feature_gates.get(STATS_FROM_CRI).copied().unwrap_or(false);
        !asks_runtime && self.endpoint.ends_with(CRIO_SOCKET)
    }

    fn dedicated(&self, apart: bool, because: &mut Vec<LayoutReason>) -> Option<bool> {
        let [node, images, containers] = self.devices();
        if let (Some(node), Some(images)) = (node, images) {
            let device = || node.to_owned();
            because.push(match (node == images, apart) {
                (true, false) => LayoutReason::OneDevice { device: device() },
                (true, true) => LayoutReason::LayersOnOtherDevice {
                    device: device(),
                    layers: containers.unwrap_or_default().to_owned(),
                },
                (false, _) => LayoutReason::ImagesOnOtherDevice {
                    images: images.to_owned(),
                    kubelet: device(),
                },
            });
            return Some(node != images || apart);
        }
        // Two file systems of one size may still be two; of different sizes they cannot be one.
        let summary = self.summary?;
        let size = |fs: &FsStats| Some((fs.capacity_bytes?, fs.inodes));
        let node = summary.node.fs.as_ref().and_then(size);
        let images = summary.node.runtime.as_ref()?.image_fs.as_ref().and_then(size);
        let (node, images) = (node?, images?);
        because.push(match node == images {
            true => LayoutReason::SameSize,
            false => LayoutReason::OtherSize,
        });
        Some(node != images)
    }

    /// Replaces the kubelet's numbers with fresh ones, and both with assumed ones.
    fn measure(&self, disks: &mut NodeDisks, apart: bool) {
        let containers = if apart { FolderRole::Containers } else { FolderRole::Images };
        for (filesystem, role) in [
            (SignalFs::Node, FolderRole::Kubelet),
            (SignalFs::Image, FolderRole::Images),
            (SignalFs::Container, containers),
        ] {
            let mut source = None;
            let folder = self.folders.get(&role);
            let slot = stats_of(&mut disks.summary, filesystem);
            if slot.is_some() {
                source = Some("the kubelet's stats summary".to_owned());
            }
            if let Some((folder, fresh)) = folder.zip(self.filesystem(role)) {
                *slot = Some(FsStats {
                    available_bytes: Some(fresh.available_bytes),
                    capacity_bytes: Some(fresh.capacity_bytes),
                    inodes: Some(fresh.inodes),
                    inodes_free: Some(fresh.inodes_free),
                    ..slot.take().unwrap_or_default()
                });
                source = Some(format!("{} on device {}", folder.path, fresh.device));
            }
            if let Some(assumed) = self.assumed.filter(|_| disks.with_images.contains(&filesystem))
            {
                *slot = Some(FsStats {
                    available_bytes: Some(assumed.available_bytes),
                    capacity_bytes: Some(assumed.capacity_bytes),
                    ..slot.take().unwrap_or_default()
                });
                source = Some("as assumed by a flag".to_owned());
            }
            let source = source.unwrap_or_else(|| "not known".to_owned());
            disks.layout.sources.insert(name(filesystem), source);
        }
    }
}

/// Returns the file system's numbers in a summary.
pub(super) fn stats_of(summary: &mut StatsSummary, filesystem: SignalFs) -> &mut Option<FsStats> {
    let node = &mut summary.node;
    match filesystem {
        SignalFs::Node => &mut node.fs,
        SignalFs::Image => &mut node.runtime.get_or_insert_with(RuntimeStats::default).image_fs,
        SignalFs::Container => {
            &mut node.runtime.get_or_insert_with(RuntimeStats::default).container_fs
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::lookup::Lookup;
    use kq_facts::runtime::FilesystemUsage;
    use kq_k8s::version::KubeletVersion;

    fn folder(device: &str) -> NodeFolder {
        let filesystem = Filesystem {
            device: device.to_owned(),
            capacity_bytes: 100,
            available_bytes: 10,
            ..Filesystem::default()
        };
        NodeFolder { filesystem: Lookup::found("f", filesystem), ..NodeFolder::default() }
    }

    #[test]
    fn the_layout_is_what_the_kubelet_finds() {
        const CRI: &str = "unix:///run/containerd/containerd.sock";
        const CRIO: &str = "unix:///var/run/crio/crio.sock";
        use SignalFs::{Container, Image, Node};
        let every: &[SignalFs] = &[Node, Image, Container];
        let apart: &[SignalFs] = &[Image, Container];
        // Endpoint, devices of the kubelet, images and containers (none: with the images), gate;
        // dedicated, split, refused, what images free, what layers free.
        let rows = [
            ("one", CRI, ["a", "a", ""], true, (Some(false), false, false), every, every),
            ("two", CRI, ["a", "b", ""], true, (Some(true), false, false), apart, apart),
            (
                "three",
                CRIO,
                ["a", "b", "c"],
                true,
                (Some(true), true, false),
                &[Image],
                &[Container],
            ),
            (
                "layers with the kubelet",
                CRIO,
                ["a", "b", "a"],
                true,
                (Some(true), true, false),
                &[Image],
                &[Node, Container],
            ),
            (
                "images with the kubelet, layers apart",
                CRIO,
                ["a", "a", "c"],
                true,
                (Some(true), true, false),
                &[Node, Image],
                &[Container],
            ),
            (
                "two folders on one device",
                CRIO,
                ["a", "a", "a"],
                true,
                (Some(false), true, false),
                every,
                every,
            ),
            (
                "not measured apart",
                CRI,
                ["a", "b", "c"],
                true,
                (Some(true), true, false),
                apart,
                &[],
            ),
            ("gate off", CRIO, ["a", "b", "c"], false, (Some(true), true, true), apart, &[]),
            (
                "gate off, not split",
                CRI,
                ["a", "b", ""],
                false,
                (Some(true), false, false),
                apart,
                apart,
            ),
            ("nothing known", CRI, ["", "", ""], true, (None, false, false), every, every),
        ];
        for (name, endpoint, devices, gate, layout, with_images, with_layers) in rows {
            let roles = [FolderRole::Kubelet, FolderRole::Images, FolderRole::Containers];
            let known = roles.into_iter().zip(devices).filter(|(_, device)| !device.is_empty());
            let folders = known.map(|(role, device)| (role, folder(device))).collect();
            let at = |path: &str| FilesystemUsage {
                mountpoint: path.to_owned(),
                ..FilesystemUsage::default()
            };
            let containers = if devices[2].is_empty() { "/images" } else { "/containers" };
            let told =
                ImageFilesystems { image: vec![at("/images")], container: vec![at(containers)] };
            let mut rules = KubeletRules::for_version(KubeletVersion::ASSUMED);
            rules.gates = rules.gates.with(Gate::KubeletSeparateDiskGc, gate);
            let disks = node_disks(DiskFacts {
                folders: &folders,
                runtime: Some(&told),
                endpoint,
                feature_gates: &BTreeMap::new(),
                rules: &rules,
                summary: None,
                assumed: Some(AssumedSpace { capacity_bytes: 100, available_bytes: 7 }),
            });
            let DiskLayout { dedicated_image_fs, split_container_image_fs, refused, .. } =
                &disks.layout;
            let got = (*dedicated_image_fs, *split_container_image_fs, refused.is_some());
            assert_eq!(got, layout, "{name}");
            assert_eq!(disks.with_images, with_images.iter().copied().collect(), "{name}: images");
            assert_eq!(disks.with_layers, with_layers.iter().copied().collect(), "{name}: layers");
            // Assumed numbers of images apply to everything on their device, and only that.
            let mut summary = disks.summary.clone();
            for filesystem in [Node, Image, Container] {
                let available =
                    stats_of(&mut summary, filesystem).as_ref().unwrap().available_bytes;
                let expected = if with_images.contains(&filesystem) { 7 } else { 10 };
                assert_eq!(available, Some(expected), "{name}: {filesystem:?}");
            }
        }
    }

    #[test]
    fn sizes_tell_file_systems_apart_where_devices_are_not_known() {
        let summary = |node: u64, images: u64| {
            let text = format!(
                r#"{{"node":{{"fs":{{"capacityBytes":{node},"availableBytes":1}},
                    "runtime":{{"imageFs":{{"capacityBytes":{images},"availableBytes":1}}}}}}}}"#
            );
            serde_json::from_str::<StatsSummary>(&text).unwrap()
        };
        let rules = KubeletRules::for_version(KubeletVersion::ASSUMED);
        for (name, summary, expected) in [
            ("equally large", summary(9, 9), Some(false)),
            ("not equally large", summary(9, 8), Some(true)),
            ("not measured", StatsSummary::default(), None),
        ] {
            let disks = node_disks(DiskFacts {
                folders: &BTreeMap::new(),
                runtime: None,
                endpoint: "",
                feature_gates: &BTreeMap::new(),
                rules: &rules,
                summary: Some(&summary),
                assumed: None,
            });
            assert_eq!(disks.layout.dedicated_image_fs, expected, "{name}");
        }
    }
}
