//! The facts of a node, one row each: the source, the questions that need it, its place in a snapshot, its summary.

use crate::fact_key::FactKey;
use crate::lookup::{FailedSource, Lookup, Sourced};
use crate::needs::Needs;
use crate::snapshot::{HostRoot, Snapshot};
use kq_output::units::counted;

/// One fact.
struct Fact {
    /// Its source, for the reason why it was not queried.
    source: &'static str,
    /// Returns true if a question needs it.
    is_needed: fn(Needs) -> bool,
    /// Returns its place; `None`: the fact that contains it is unknown.
    place: fn(&mut Snapshot) -> Option<&mut dyn Place>,
    /// Adds its sources and its value to a summary.
    summarise: fn(&Snapshot, &mut Summary),
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
    ($name:literal, $source:literal, $needed:expr, snapshot.$field:ident, $value:expr) => {
        Fact {
            source: $source,
            is_needed: $needed,
            place: |snapshot| Some(&mut snapshot.$field),
            summarise: |snapshot, summary| summary.add($name, &snapshot.$field, $value),
        }
    };
    ($name:literal, $source:literal, $needed:expr, runtime.$field:ident, $value:expr) => {
        Fact {
            source: $source,
            is_needed: $needed,
            place: |snapshot| Some(&mut snapshot.runtime.found.as_mut()?.value.$field),
            summarise: |snapshot, summary| {
                if let Some(runtime) = snapshot.runtime.value() {
                    summary.add($name, &runtime.$field, $value);
                }
            },
        }
    };
    ($name:literal, $source:literal, $needed:expr, devices.$field:ident, $value:expr) => {
        Fact {
            source: $source,
            is_needed: $needed,
            place: |snapshot| Some(&mut snapshot.devices.as_mut()?.$field),
            summarise: |snapshot, summary| {
                if let Some(devices) = &snapshot.devices {
                    summary.add($name, &devices.$field, $value);
                }
            },
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
        |it| counted(usize::from(it.file.is_some()) + it.drop_ins.len(), "file")
    ),
    fact!(
        "files of the kubelet's start",
        "the files that the kubelet's start reads",
        |needs| needs.has(FactKey::StartFiles),
        snapshot.start_files,
        |it| counted(it.files.len(), "path")
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
    // They are read with other facts, which the runtime reports.
    Fact { source: "", is_needed: |_| true, place: |_| None, summarise: summarise_folders },
    fact!(
        "records of images",
        "the records of images",
        |needs| needs.has(FactKey::ImageRecords),
        snapshot.image_records,
        |records| records.images.len().to_string()
    ),
    fact!(
        "stats summary",
        "the kubelet's summary",
        |needs| needs.has(FactKey::StatsSummary),
        snapshot.stats_summary,
        |summary| counted(summary.pods.len(), "pod")
    ),
    fact!(
        "device checkpoint",
        "the device checkpoint",
        |needs| needs.has(FactKey::DeviceCheckpoint),
        devices.checkpoint,
        |read| match (read.absent, &read.error) {
            (true, _) => "none yet".to_owned(),
            (false, None) => counted(read.entries.len(), "entry"),
            (false, Some(error)) =>
                format!("{}, but {error}", counted(read.entries.len(), "entry")),
        }
    ),
    fact!(
        "pod resources",
        "the pod-resources API",
        |needs| needs.has(FactKey::PodResources),
        devices.pod_resources,
        |answers| counted(answers.pods.len(), "pod")
    ),
    fact!(
        "certificates",
        "the kubelet's certificates",
        |needs| needs.has(FactKey::Certificates),
        snapshot.certificates,
        |certificates| certificates.len().to_string()
    ),
    fact!(
        "cgroups",
        "the cgroups",
        |needs| needs.has(FactKey::CgroupTree),
        snapshot.cgroups,
        |tree| format!("{} read", tree.cgroups.len())
    ),
    // The settings of the cgroups that were read.
    fact!(
        "drop-ins",
        "systemd's drop-ins",
        |needs| needs.has(FactKey::DropIns),
        snapshot.drop_ins,
        |properties| format!("{} properties", properties.len())
    ),
];

/// Forgets the facts that a question does not need.
pub fn restrict(needs: Needs, snapshot: &mut Snapshot) {
    for fact in FACTS.iter().filter(|fact| !(fact.is_needed)(needs)) {
        if let Some(place) = (fact.place)(snapshot) {
            place.forget();
        }
    }
}

/// Records why the sources of the needed facts were not queried.
pub fn fail(needs: Needs, snapshot: &mut Snapshot, reason: &str) {
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
            let shown = shown(value);
            let line = match shown == *source {
                true => format!("{fact}: {shown}"),
                false => format!("{fact}: {shown} from {source}"),
            };
            self.0.push(line);
        }
    }
}

fn summarise_folders(snapshot: &Snapshot, summary: &mut Summary) {
    for (role, folder) in &snapshot.folders {
        let name = format!("folder of {role}");
        summary.add(&name, &folder.filesystem, |it| format!("{} on {}", it.kind, it.device));
        let name = format!("{name}: usage");
        summary.add(&name, &folder.usage, |usage| format!("{} bytes", usage.bytes));
    }
}

/// Returns one line for each source that was queried.
pub fn summary(snapshot: &Snapshot) -> Vec<String> {
    let HostRoot { path, because } = &snapshot.host_root;
    let mut summary = Summary(vec![format!("host: {path} ({because})")]);
    for fact in FACTS {
        (fact.summarise)(snapshot, &mut summary);
    }
    summary.0
}
