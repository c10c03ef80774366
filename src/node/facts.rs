//! The facts of a node, one row each: the source, which questions need it, its place in a snapshot, its summary.

use super::needs::Needs;
use crate::facts::lookup::{FailedSource, Lookup, Sourced};
use crate::facts::snapshot::{HostRoot, Snapshot};

/// One fact.
struct Fact {
    /// Its name in the summary.
    name: &'static str,
    /// Its source, for the reason why it was not queried.
    source: &'static str,
    /// Returns true if a question needs it.
    is_needed: fn(Needs) -> bool,
    /// Returns its place; `None`: what it is a part of is unknown.
    place: fn(&mut Snapshot) -> Option<&mut dyn Place>,
    /// Adds its sources and its value to a summary.
    summarise: fn(&Snapshot, &mut Summary),
}

/// The place of a fact of any type.
trait Place {
    /// Makes it as if no source had been queried.
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
            name: $name,
            source: $source,
            is_needed: $needed,
            place: |snapshot| Some(&mut snapshot.$field),
            summarise: |snapshot, summary| summary.add($name, &snapshot.$field, $value),
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
        }
    };
}

/// The facts. Those of the runtime and of devices are parts of what comes before them.
const FACTS: &[Fact] = &[
    fact!("node name", "", |_| true, snapshot.node_name, Clone::clone),
    fact!("kubelet", "/proc", |_| true, snapshot.kubelet, |it| format!("process {}", it.pid)),
    fact!("kubelet version", "", |needs| needs.node, snapshot.kubelet_version, Clone::clone),
    // It says where other facts are, whether or not it decides anything itself.
    fact!("kubelet configuration", "", |_| true, snapshot.kubelet_config, |_| "read".to_owned()),
    fact!("node", "", |needs| needs.node, snapshot.node, |node| node.metadata.name.clone()),
    fact!("pods", "", |_| true, snapshot.pods, |pods| format!(
        "{} from {}",
        pods.pods.len(),
        pods.source
    )),
    fact!("runtime", "the container runtime", Needs::needs_runtime, snapshot.runtime, |runtime| {
        format!("{} {}", runtime.version.runtime_name, runtime.version.runtime_version)
    }),
    fact!("cgroup driver", "", |needs| needs.runtime.cgroup_driver, runtime.cgroup_driver, |it| it
        .to_string()),
    fact!("low-level runtime", "", |needs| needs.runtime.low_level, runtime.low_level, |program| {
        format!("{} {} ({})", program.name, program.version, program.path)
    }),
    fact!("sandboxes", "", |needs| needs.runtime.sandboxes, runtime.sandboxes, |list| list
        .len()
        .to_string()),
    fact!("containers", "", |needs| needs.runtime.containers, runtime.containers, |list| list
        .len()
        .to_string()),
    fact!("images", "", |needs| needs.runtime.images, runtime.images, |list| list
        .len()
        .to_string()),
    fact!(
        "image file systems",
        "",
        |needs| needs.runtime.image_filesystems,
        runtime.image_filesystems,
        |filesystems| filesystems.image.len().to_string()
    ),
    fact!("container statuses", "", |_| true, runtime.container_statuses, |list| list
        .len()
        .to_string()),
    fact!(
        "writable layers",
        "",
        |needs| needs.runtime.writable_layers,
        runtime.writable_layers,
        |list| list.len().to_string()
    ),
    fact!("image storage", "", |needs| needs.runtime.image_storage, runtime.image_storage, |_| {
        "read".to_owned()
    }),
    fact!(
        "sandbox image",
        "",
        |needs| needs.runtime.sandbox_image,
        runtime.sandbox_image,
        Clone::clone
    ),
    fact!(
        "records of images",
        "the records of images",
        |needs| needs.image_records,
        snapshot.image_records,
        |records| records.images.len().to_string()
    ),
    fact!(
        "stats summary",
        "the kubelet's summary",
        |needs| needs.stats_summary,
        snapshot.stats_summary,
        |summary| format!("{} pods", summary.pods.len())
    ),
    fact!(
        "device checkpoint",
        "the device checkpoint",
        |needs| needs.devices.checkpoint,
        devices.checkpoint,
        |read| match (read.absent, &read.error) {
            (true, _) => "none yet".to_owned(),
            (false, None) => format!("{} entries", read.entries.len()),
            (false, Some(error)) => format!("{} entries, but {error}", read.entries.len()),
        }
    ),
    fact!(
        "pod resources",
        "the pod-resources API",
        |needs| needs.devices.pod_resources,
        devices.pod_resources,
        |answers| format!("{} pods", answers.pods.len())
    ),
    fact!(
        "cgroups",
        "the cgroups",
        |needs| needs.tree.is_some(),
        snapshot.cgroups,
        |tree| format!("{} read", tree.cgroups.len())
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
        // Folders are found by what the runtime says.
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
