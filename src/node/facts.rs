//! The facts of a node, one row each: the source, the questions that need it, its place in a snapshot, its summary.

use super::config::KubeletConfig;
use super::devices;
use super::gather::tree;
use super::needs::Needs;
use super::spec::NodeSpec;
use crate::edge::certificates::{CertificateSources, read_certificates};
use crate::edge::drop_ins::read_drop_ins;
use crate::edge::image_records::read_records;
use crate::edge::kubelet_files::read_config_on_disk;
use crate::edge::trust::NamedBy;
use kq_facts::config_on_disk::{ConfigContent, ConfigOnDisk};
use kq_facts::host::HostFacts;
use kq_facts::image_records::DEFAULT_PATH;
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::redaction::forget_secrets;
use kq_facts::snapshot::{HostRoot, Snapshot};
use std::path::Path;

/// A fact, or a part of one, that a question can need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKey {
    /// The kubelet's version and the Node object.
    Node,
    /// The kubelet's configuration, where the answer depends on it; otherwise it only locates other facts.
    KubeletConfig,
    /// The input of the kubelet's next start.
    ConfigOnDisk,
    /// The pods with their specifications.
    Pods,
    /// The names of the pods, which the runtime may know as well.
    PodNames,
    /// The events about the pods of the node.
    Events,
    /// The cgroup driver of the runtime.
    CgroupDriver,
    /// The program that creates containers.
    LowLevelRuntime,
    /// The sandboxes of pods.
    Sandboxes,
    /// The containers.
    Containers,
    /// The images.
    Images,
    /// The file systems of images and containers.
    ImageFilesystems,
    /// The statuses of containers that may have image volumes.
    ImageVolumes,
    /// The statuses of all containers.
    ContainerStatuses,
    /// The writable layers of containers.
    WritableLayers,
    /// The storage of images, which the CRI does not report.
    ImageStorage,
    /// The name of the image of sandboxes.
    SandboxImage,
    /// The cgroup tree: the files in which something is set.
    CgroupTree,
    /// The counters of its cgroups.
    CgroupUsage,
    /// The long counters of its cgroups.
    CgroupStatistics,
    /// The processes in its cgroups.
    Processes,
    /// The kubelet's own files.
    StateFiles,
    /// The file systems of the folders that the kubelet and its runtime fill.
    Filesystems,
    /// The disk usage of these folders, which takes time to measure.
    FolderUsage,
    /// The image records of kq.
    ImageRecords,
    /// The kubelet's measurements.
    StatsSummary,
    /// The device manager's checkpoint.
    DeviceCheckpoint,
    /// The answers of the pod-resources API.
    PodResources,
    /// The validity of the kubelet's certificates.
    Certificates,
    /// The drop-ins of systemd for the cgroups of pods.
    DropIns,
}

impl FactKey {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Node,
        Self::KubeletConfig,
        Self::ConfigOnDisk,
        Self::Pods,
        Self::PodNames,
        Self::Events,
        Self::CgroupDriver,
        Self::LowLevelRuntime,
        Self::Sandboxes,
        Self::Containers,
        Self::Images,
        Self::ImageFilesystems,
        Self::ImageVolumes,
        Self::ContainerStatuses,
        Self::WritableLayers,
        Self::ImageStorage,
        Self::SandboxImage,
        Self::CgroupTree,
        Self::CgroupUsage,
        Self::CgroupStatistics,
        Self::Processes,
        Self::StateFiles,
        Self::Filesystems,
        Self::FolderUsage,
        Self::ImageRecords,
        Self::StatsSummary,
        Self::DeviceCheckpoint,
        Self::PodResources,
        Self::Certificates,
        Self::DropIns,
    ];
}

/// A set of facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactSet(u32);

impl FactSet {
    /// Returns the set of these.
    pub const fn of(facts: &[FactKey]) -> Self {
        Self(0).with(facts)
    }

    /// Adds facts.
    pub const fn with(self, facts: &[FactKey]) -> Self {
        Self(self.0 | bits(facts))
    }

    /// Returns the facts of both sets.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Removes facts.
    pub const fn without(self, facts: &[FactKey]) -> Self {
        Self(self.0 & !bits(facts))
    }

    /// Returns true if a fact is in the set.
    pub const fn has(self, fact: FactKey) -> bool {
        self.0 & bits(&[fact]) != 0
    }
}

const fn bits(facts: &[FactKey]) -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < facts.len() {
        bits |= 1 << facts[at] as u32;
        at += 1;
    }
    bits
}

/// One fact.
struct Fact {
    /// Its name in the summary.
    name: &'static str,
    /// Its source, for the reason why it was not queried.
    source: &'static str,
    /// Returns true if a question needs it.
    is_needed: fn(Needs) -> bool,
    /// Returns its place; `None`: the fact that contains it is unknown.
    place: fn(&mut Snapshot) -> Option<&mut dyn Place>,
    /// Adds its sources and its value to a summary.
    summarise: fn(&Snapshot, &mut Summary),
    /// Reads it below the root of the node; `None`: [`gather`](super::gather::gather) reads it in its order, because
    /// others depend on it.
    read: Option<fn(&Below<'_>, Needs, &mut Snapshot)>,
}

/// The root of a node, and the facts gathered so far.
pub(super) struct Below<'a> {
    pub spec: &'a NodeSpec,
    pub root: &'a Path,
    pub host: &'a HostFacts,
    pub settings: &'a KubeletConfig,
}

/// The place of a fact of any type.
trait Place {
    /// Resets the fact to not queried.
    fn forget(&mut self);
    /// Records why a source was not queried.
    fn fail(&mut self, source: &str, reason: &str);
}

impl<T> Place for Lookup<T> {
    fn forget(&mut self) {
        *self = Self::default();
    }

    fn fail(&mut self, source: &str, reason: &str) {
        *self = Self::failed(source, reason);
    }
}

/// Writes a row: name, source, need, place, and the value in a few words.
macro_rules! fact {
    ($name:literal, $source:literal, $needed:expr, $place:ident.$field:ident, $value:expr, read: $read:expr) => {
        Fact { read: Some($read), ..fact!($name, $source, $needed, $place.$field, $value) }
    };
    ($name:literal, $source:literal, $needed:expr, snapshot.$field:ident, $value:expr) => {
        Fact {
            name: $name,
            source: $source,
            is_needed: $needed,
            place: |snapshot| Some(&mut snapshot.$field),
            summarise: |snapshot, summary| summary.add($name, &snapshot.$field, $value),
            read: None,
        }
    };
    ($name:literal, $source:literal, $needed:expr, runtime.$field:ident, $value:expr) => {
        Fact {
            name: $name,
            source: $source,
            is_needed: $needed,
            place: |snapshot| Some(&mut snapshot.runtime.found.as_mut()?.value.$field),
            summarise: |snapshot, summary| {
                if let Some(runtime) = snapshot.runtime.value() {
                    summary.add($name, &runtime.$field, $value);
                }
            },
            read: None,
        }
    };
    ($name:literal, $source:literal, $needed:expr, devices.$field:ident, $value:expr) => {
        Fact {
            name: $name,
            source: $source,
            is_needed: $needed,
            place: |snapshot| Some(&mut snapshot.devices.as_mut()?.$field),
            summarise: |snapshot, summary| {
                if let Some(devices) = &snapshot.devices {
                    summary.add($name, &devices.$field, $value);
                }
            },
            read: None,
        }
    };
}

/// The facts. Those of the runtime and of devices are parts of the fact before them.
const FACTS: &[Fact] = &[
    fact!("node name", "", |_| true, snapshot.node_name, Clone::clone),
    fact!("kubelet", "/proc", |_| true, snapshot.kubelet, |it| format!("process {}", it.pid)),
    fact!(
        "kubelet version",
        "",
        |needs| needs.has(FactKey::Node),
        snapshot.kubelet_version,
        Clone::clone
    ),
    // It locates other facts, even if the answer does not depend on it.
    fact!("kubelet configuration", "", |_| true, snapshot.kubelet_config, |_| "read".to_owned()),
    fact!(
        "kubelet configuration on disk",
        "the files of the kubelet's configuration",
        |needs| needs.has(FactKey::ConfigOnDisk),
        snapshot.kubelet_config_on_disk,
        |it| format!("{} files", usize::from(it.file.is_some()) + it.drop_ins.len()),
        read: |below, _, snapshot| {
            let mut read = read_config_on_disk(below.root, snapshot.kubelet.value());
            if let Some(found) = &mut read.found {
                let ConfigOnDisk { file, drop_ins, .. } = &mut found.value;
                for text in file.iter_mut().chain(drop_ins) {
                    if let ConfigContent::Document { value, .. } = &mut text.content {
                        forget_secrets(value);
                    }
                }
            }
            snapshot.kubelet_config_on_disk = read;
        }
    ),
    fact!("node", "", |needs| needs.has(FactKey::Node), snapshot.node, |node| node
        .metadata
        .name
        .clone()),
    fact!("pods", "", |_| true, snapshot.pods, |pods| format!(
        "{} from {}",
        pods.pods.len(),
        pods.source
    )),
    fact!("events", "", |needs| needs.has(FactKey::Events), snapshot.events, |it| it
        .len()
        .to_string()),
    fact!("runtime", "the container runtime", Needs::needs_runtime, snapshot.runtime, |runtime| {
        format!("{} {}", runtime.version.runtime_name, runtime.version.runtime_version)
    }),
    fact!(
        "cgroup driver",
        "",
        |needs| needs.has(FactKey::CgroupDriver),
        runtime.cgroup_driver,
        |it| it.to_string()
    ),
    fact!(
        "low-level runtime",
        "",
        |needs| needs.has(FactKey::LowLevelRuntime),
        runtime.low_level,
        |program| { format!("{} {} ({})", program.name, program.version, program.path) }
    ),
    fact!("sandboxes", "", |needs| needs.has(FactKey::Sandboxes), runtime.sandboxes, |list| list
        .len()
        .to_string()),
    fact!("containers", "", |needs| needs.has(FactKey::Containers), runtime.containers, |list| {
        list.len().to_string()
    }),
    fact!("images", "", |needs| needs.has(FactKey::Images), runtime.images, |list| list
        .len()
        .to_string()),
    fact!(
        "image file systems",
        "",
        |needs| needs.has(FactKey::ImageFilesystems),
        runtime.image_filesystems,
        |filesystems| filesystems.image.len().to_string()
    ),
    fact!("container statuses", "", |_| true, runtime.container_statuses, |list| list
        .len()
        .to_string()),
    fact!(
        "writable layers",
        "",
        |needs| needs.has(FactKey::WritableLayers),
        runtime.writable_layers,
        |list| list.len().to_string()
    ),
    fact!(
        "image storage",
        "",
        |needs| needs.has(FactKey::ImageStorage),
        runtime.image_storage,
        |_| { "read".to_owned() }
    ),
    fact!(
        "sandbox image",
        "",
        |needs| needs.has(FactKey::SandboxImage),
        runtime.sandbox_image,
        Clone::clone
    ),
    fact!(
        "records of images",
        "the records of images",
        |needs| needs.has(FactKey::ImageRecords),
        snapshot.image_records,
        |records| records.images.len().to_string(),
        read: |below, _, snapshot| {
            snapshot.image_records = read_records(below.root, DEFAULT_PATH, NamedBy::Node);
        }
    ),
    fact!(
        "stats summary",
        "the kubelet's summary",
        |needs| needs.has(FactKey::StatsSummary),
        snapshot.stats_summary,
        |summary| format!("{} pods", summary.pods.len())
    ),
    fact!(
        "device checkpoint",
        "the device checkpoint",
        |needs| needs.has(FactKey::DeviceCheckpoint),
        devices.checkpoint,
        |read| match (read.absent, &read.error) {
            (true, _) => "none yet".to_owned(),
            (false, None) => format!("{} entries", read.entries.len()),
            (false, Some(error)) => format!("{} entries, but {error}", read.entries.len()),
        },
        read: |below, _, snapshot| {
            snapshot.devices.get_or_insert_default().checkpoint = devices::checkpoint(below);
        }
    ),
    fact!(
        "pod resources",
        "the pod-resources API",
        |needs| needs.has(FactKey::PodResources),
        devices.pod_resources,
        |answers| format!("{} pods", answers.pods.len()),
        read: |below, _, snapshot| {
            snapshot.devices.get_or_insert_default().pod_resources = devices::pod_resources(below);
        }
    ),
    fact!(
        "certificates",
        "the kubelet's certificates",
        |needs| needs.has(FactKey::Certificates),
        snapshot.certificates,
        |certificates| certificates.len().to_string(),
        read: |below, _, snapshot| {
            let config = below.settings.value();
            let file = config.and_then(|config| config.get("tlsCertFile")?.as_str());
            let sources = CertificateSources {
                folder: &below.settings.cert_dir,
                kubeconfig: below.settings.kubeconfig.as_deref(),
                tls_cert_file: file,
            };
            snapshot.certificates = read_certificates(below.root, sources);
        }
    ),
    fact!(
        "cgroups",
        "the cgroups",
        |needs| needs.has(FactKey::CgroupTree),
        snapshot.cgroups,
        |tree| format!("{} read", tree.cgroups.len()),
        read: |below, needs, snapshot| snapshot.cgroups = tree(below, needs)
    ),
    // The settings of the cgroups that were read.
    fact!(
        "drop-ins",
        "systemd's drop-ins",
        |needs| needs.has(FactKey::DropIns),
        snapshot.drop_ins,
        |properties| format!("{} properties", properties.len()),
        read: |below, _, snapshot| {
            snapshot.drop_ins = match snapshot.cgroups.value() {
                Some(tree) => read_drop_ins(below.root, tree),
                None => Lookup::failed("systemd's drop-ins", "the cgroups are unknown"),
            };
        }
    ),
];

/// Forgets the facts that a question does not need.
pub(super) fn restrict(needs: Needs, snapshot: &mut Snapshot) {
    for fact in FACTS.iter().filter(|fact| !(fact.is_needed)(needs)) {
        if let Some(place) = (fact.place)(snapshot) {
            place.forget();
        }
    }
}

/// Reads the needed facts that are below the root of the node.
pub(super) fn read(below: &Below<'_>, needs: Needs, snapshot: &mut Snapshot) {
    for fact in FACTS.iter().filter(|fact| (fact.is_needed)(needs)) {
        if let Some(read) = fact.read {
            read(below, needs, snapshot);
        }
    }
}

/// Records why the sources of the needed facts were not queried.
pub(super) fn fail(needs: Needs, snapshot: &mut Snapshot, reason: &str) {
    let named = FACTS.iter().filter(|fact| !fact.source.is_empty() && (fact.is_needed)(needs));
    for fact in named {
        if let Some(place) = (fact.place)(snapshot) {
            place.fail(fact.source, reason);
        }
    }
}

/// One line for each source that was queried.
#[derive(Default)]
struct Summary(Vec<String>);

impl Summary {
    fn add<T>(&mut self, fact: &str, sought: &Lookup<T>, shown: impl Fn(&T) -> String) {
        for FailedSource { source, reason } in &sought.tried {
            self.0.push(format!("{fact}: {source}: {reason}"));
        }
        if let Some(Sourced { source, value }) = &sought.found {
            self.0.push(format!("{fact}: {} from {source}", shown(value)));
        }
    }
}

/// Returns one line for each source that was queried.
pub fn summary(snapshot: &Snapshot) -> Vec<String> {
    let HostRoot { path, because } = &snapshot.host_root;
    let mut summary = Summary(vec![format!("host: {path} ({because})")]);
    for fact in FACTS {
        (fact.summarise)(snapshot, &mut summary);
        // The runtime reports the folders.
        if fact.name == "sandbox image" {
            for (role, folder) in &snapshot.folders {
                let name = format!("folder of {role}");
                summary
                    .add(&name, &folder.filesystem, |it| format!("{} on {}", it.kind, it.device));
                let name = format!("{name}: usage");
                summary.add(&name, &folder.usage, |usage| format!("{} bytes", usage.bytes));
            }
        }
    }
    summary.0
}
