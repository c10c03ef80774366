//! Whether the file systems of the node, of images and of containers are one, two or three, and what
//! eviction makes of that.
//!
//! Rules, read in 1.36: `HasDedicatedImageFs` in `pkg/kubelet/stats/provider.go`,
//! `IsContainerFsSeparateFromImageFs` in `pkg/kubelet/container/container_gc.go`, and
//! `buildSignalToNodeReclaimFuncs` and `UpdateContainerFsThresholds` in
//! `pkg/kubelet/eviction/helpers.go`.
//!
//! ```text
//! dedicated  split  nodefs              imagefs             containerfs         its thresholds are those of
//! no         no     containers, images  containers, images  containers, images  nodefs
//! no         yes    containers, images  containers, images  containers, images  containerfs itself
//! yes        no     nothing             containers, images  containers, images  imagefs
//! yes        yes    containers          images              containers          nodefs
//! ```

use super::DiskFacts;
use kq_facts::filesystems::FolderRole;
use kq_facts::kubelet_config::EffectiveConfiguration;
use kq_k8s::feature_gates::Gate;
use serde::Serialize;
use std::collections::BTreeSet;

/// Which file systems are one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layout {
    /// `nodefs`: the kubelet's root folder.
    pub node_fs: FsPlace,
    /// `imagefs`: where the runtime keeps images.
    pub image_fs: FsPlace,
    /// `containerfs`: where the runtime keeps writable layers.
    pub container_fs: FsPlace,
    /// How many devices they are on; null: one of them is unknown.
    pub devices: Option<usize>,
    /// The kubelet takes the image file system for one of its own.
    pub dedicated_image_fs: Option<bool>,
    /// The kubelet takes the file systems of images and containers for two.
    pub split_container_fs: Option<bool>,
    /// What follows, a sentence each.
    pub follows: Vec<String>,
    /// What each eviction signal measures.
    pub signals: Vec<SignalFilesystem>,
}

/// A file system by the name that signals give it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsPlace {
    /// The folder.
    pub path: Option<String>,
    /// Where the file system is mounted.
    pub mount_point: Option<String>,
    /// `MAJOR:MINOR`
    pub device: Option<String>,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// What an eviction signal measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignalFilesystem {
    /// `imagefs.available`
    pub signal: String,
    /// It measures the device of the images; null: unknown.
    pub looks_at_images: Option<bool>,
    /// The threshold below which it evicts: `hard 15%`, `soft 20% for 2m`; null: it depends on unknown facts.
    pub thresholds: Option<Vec<String>>,
    /// What is removed before pods are evicted; null: it depends on unknown facts.
    pub reclaims: Option<Vec<&'static str>>,
}

const KINDS: [&str; 2] = ["available", "inodesFree"];

impl Layout {
    /// Returns true if the effect on eviction is known.
    pub fn is_known(&self) -> bool {
        self.signals.iter().all(|it| it.reclaims.is_some())
    }

    /// Finds out which file systems are one.
    pub(super) fn of(facts: DiskFacts<'_>) -> Self {
        let node_fs = FsPlace::of(facts, FolderRole::Kubelet);
        let image_fs = FsPlace::of(facts, FolderRole::Images);
        let split = is_split(facts);
        // What is not named apart is where images are.
        let container_fs = match split {
            Some(true) => FsPlace::of(facts, FolderRole::Containers),
            Some(false) => image_fs.clone(),
            None => FsPlace { unknown: facts.counts().err(), ..FsPlace::default() },
        };
        let all = [&node_fs, &image_fs, &container_fs].map(|place| place.device.as_deref());
        let devices: Option<BTreeSet<&str>> = all.into_iter().collect();
        let dedicated = is_dedicated(facts, all, split);
        let gate = facts.rules.gates.enabled(Gate::KubeletSeparateDiskGc);
        let signals = signals(facts.config, all, dedicated, split);
        Self {
            devices: devices.map(|devices| devices.len()),
            dedicated_image_fs: dedicated,
            split_container_fs: split,
            follows: follows(all, dedicated, split, gate),
            signals,
            node_fs,
            image_fs,
            container_fs,
        }
    }
}

impl FsPlace {
    fn of(facts: DiskFacts<'_>, role: FolderRole) -> Self {
        let path = facts.folders.get(&role).map(|folder| folder.path.clone());
        let path = path.filter(|path| !path.is_empty());
        match facts.filesystem(role) {
            Ok(filesystem) => Self {
                path,
                mount_point: Some(filesystem.mount_point.clone()),
                device: Some(filesystem.device.clone()),
                unknown: None,
            },
            Err(reason) => Self { path, unknown: Some(reason), ..Self::default() },
        }
    }
}

/// Returns true if the runtime names two folders: the kubelet compares their names, not their devices.
fn is_split(facts: DiskFacts<'_>) -> Option<bool> {
    let [images, containers] = facts.counts().ok()?;
    Some(images.zip(containers).is_some_and(|(a, b)| a.mountpoint != b.mountpoint))
}

/// Returns true if the kubelet takes the image file system for one of its own. Where images are on the
/// node's own, the file system of containers counts: two that differ in anything are two.
fn is_dedicated(
    facts: DiskFacts<'_>,
    [node, image, container]: [Option<&str>; 3],
    split: Option<bool>,
) -> Option<bool> {
    if node? != image? {
        return Some(true);
    }
    if !split? || !facts.rules.gates.enabled(Gate::KubeletSeparateDiskGc) {
        return Some(false);
    }
    if container? != image? {
        return Some(true);
    }
    // On one device only the inodes that the runtime counts can distinguish them.
    let [images, containers] = facts.counts().ok()?;
    Some(images?.inodes_used != containers?.inodes_used)
}

fn follows(
    [node, image, container]: [Option<&str>; 3],
    dedicated: Option<bool>,
    split: Option<bool>,
    gate: bool,
) -> Vec<String> {
    let mut follows = Vec::new();
    let mut follow = |text: &str| follows.push(text.to_owned());
    if let (Some(node), Some(image), Some(container)) = (node, image, container) {
        follow(match (node == image, image == container, node == container) {
            (true, true, _) => "nodefs, imagefs and containerfs are one device",
            (true, false, _) => "nodefs and imagefs are one device, containerfs is another",
            (false, true, _) => "imagefs and containerfs are one device, nodefs is another",
            (false, false, true) => "nodefs and containerfs are one device, imagefs is another",
            (false, false, false) => "nodefs, imagefs and containerfs are three devices",
        });
    }
    match (dedicated, split) {
        (_, Some(true)) if !gate => follow(
            "the eviction manager refuses to work: KubeletSeparateDiskGC is turned off but the runtime \
             names two file systems",
        ),
        (Some(false), _) => follow(
            "all data on the disk, also logs and volumes, can cause the removal of images, and a full disk \
             crosses the signals of nodefs and imagefs alike",
        ),
        (Some(true), Some(true)) => follow(
            "a full nodefs or containerfs removes dead containers and no image; a full imagefs removes \
             images",
        ),
        (Some(true), Some(false)) => follow(
            "a full nodefs removes neither images nor dead containers, but evicts pods; a full imagefs \
             removes both",
        ),
        _ => follow("the effect on eviction depends on unknown facts"),
    }
    if dedicated == Some(true) && split == Some(true) && image == container {
        follow(
            "the kubelet takes images and containers for two file systems, and they are one device",
        );
    }
    follows
}

fn signals(
    config: &EffectiveConfiguration,
    [node, image, container]: [Option<&str>; 3],
    dedicated: Option<bool>,
    split: Option<bool>,
) -> Vec<SignalFilesystem> {
    let flags = dedicated.zip(split);
    let mut signals = Vec::new();
    for (name, device) in [("nodefs", node), ("imagefs", image), ("containerfs", container)] {
        for kind in KINDS {
            // Those of containerfs are copied, whatever is set.
            let source = match (name, flags) {
                ("containerfs", None) => None,
                ("containerfs", Some((true, false))) => Some("imagefs"),
                ("containerfs", Some((false, true))) => Some("containerfs"),
                ("containerfs", Some(_)) => Some("nodefs"),
                _ => Some(name),
            };
            signals.push(SignalFilesystem {
                signal: format!("{name}.{kind}"),
                looks_at_images: device.zip(image).map(|(device, image)| device == image),
                thresholds: source.map(|source| thresholds(config, &format!("{source}.{kind}"))),
                reclaims: flags.map(|(dedicated, split)| reclaims(name, dedicated, split)),
            });
        }
    }
    signals
}

fn thresholds(config: &EffectiveConfiguration, signal: &str) -> Vec<String> {
    let mut thresholds = Vec::new();
    if let Some(value) = config.eviction_hard.get(signal) {
        thresholds.push(format!("hard {value}"));
    }
    if let Some(value) = config.eviction_soft.get(signal) {
        let grace = config.eviction_soft_grace_period.get(signal);
        let grace = grace.map(|grace| format!(" for {grace}")).unwrap_or_default();
        thresholds.push(format!("soft {value}{grace}"));
    }
    thresholds
}

fn reclaims(name: &str, dedicated: bool, split: bool) -> Vec<&'static str> {
    const CONTAINERS: &str = "containers";
    const IMAGES: &str = "images";
    match (dedicated, split, name) {
        (false, _, _) => vec![CONTAINERS, IMAGES],
        (true, false, "nodefs") => Vec::new(),
        (true, false, _) => vec![CONTAINERS, IMAGES],
        (true, true, "imagefs") => vec![IMAGES],
        (true, true, _) => vec![CONTAINERS],
    }
}
