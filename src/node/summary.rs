//! The sources that were queried, with what they said: for `-v`, and for those who look for the origin of a fact.

use crate::facts::snapshot::{HostRoot, Snapshot};
use crate::facts::sought::{Found, Sought, Tried};

/// Returns one line for each source that was queried.
pub fn summary(snapshot: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    let HostRoot { path, because } = &snapshot.host_root;
    lines.push(format!("host: {path} ({because})"));
    add(&mut lines, "node name", &snapshot.node_name, |name| name.clone());
    add(&mut lines, "kubelet", &snapshot.kubelet, |process| format!("process {}", process.pid));
    add(&mut lines, "kubelet version", &snapshot.kubelet_version, |version| version.clone());
    add(&mut lines, "kubelet configuration", &snapshot.kubelet_config, |_| "read".to_owned());
    add(&mut lines, "node", &snapshot.node, |node| node.metadata.name.clone());
    add(&mut lines, "pods", &snapshot.pods, |pods| {
        format!("{} from {}", pods.pods.len(), pods.source)
    });
    add(&mut lines, "runtime", &snapshot.runtime, |runtime| {
        format!("{} {}", runtime.version.runtime_name, runtime.version.runtime_version)
    });
    if let Some(runtime) = snapshot.runtime.value() {
        add(&mut lines, "cgroup driver", &runtime.cgroup_driver, ToString::to_string);
        add(&mut lines, "low-level runtime", &runtime.low_level, |program| {
            format!("{} {} ({})", program.name, program.version, program.path)
        });
        add(&mut lines, "sandboxes", &runtime.sandboxes, |list| list.len().to_string());
        add(&mut lines, "containers", &runtime.containers, |list| list.len().to_string());
        add(&mut lines, "images", &runtime.images, |list| list.len().to_string());
        add(&mut lines, "image file systems", &runtime.image_filesystems, |told| {
            told.image.len().to_string()
        });
        add(&mut lines, "container statuses", &runtime.container_statuses, |list| {
            list.len().to_string()
        });
        add(&mut lines, "writable layers", &runtime.writable_layers, |list| list.len().to_string());
    }
    for (role, folder) in &snapshot.folders {
        let fact = format!("folder of {role}");
        add(&mut lines, &fact, &folder.filesystem, |found| {
            format!("{} on {}", found.kind, found.device)
        });
        add(&mut lines, &format!("{fact}: usage"), &folder.usage, |usage| {
            format!("{} bytes", usage.bytes)
        });
    }
    add(&mut lines, "records of images", &snapshot.image_records, |all| {
        all.images.len().to_string()
    });
    add(&mut lines, "stats summary", &snapshot.stats_summary, |all| {
        format!("{} pods", all.pods.len())
    });
    if let Some(devices) = &snapshot.devices {
        add(&mut lines, "device checkpoint", &devices.checkpoint, |read| {
            match (read.absent, &read.error) {
                (true, _) => "none yet".to_owned(),
                (false, None) => format!("{} entries", read.entries.len()),
                (false, Some(error)) => format!("{} entries, but {error}", read.entries.len()),
            }
        });
        add(&mut lines, "pod resources", &devices.pod_resources, |told| {
            format!("{} pods", told.pods.len())
        });
    }
    add(&mut lines, "cgroups", &snapshot.cgroups, |tree| format!("{} read", tree.cgroups.len()));
    lines
}

fn add<T>(lines: &mut Vec<String>, fact: &str, sought: &Sought<T>, shown: impl Fn(&T) -> String) {
    for Tried { source, reason } in &sought.tried {
        lines.push(format!("{fact}: {source}: {reason}"));
    }
    if let Some(Found { source, value }) = &sought.found {
        lines.push(format!("{fact}: {} from {source}", shown(value)));
    }
}
