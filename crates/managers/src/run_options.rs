//! The settings that a container gets with its devices, merged from the answers of its plugins.
//!
//! Followed is `deviceRunContainerOptions` in `pkg/kubelet/cm/devicemanager/pod_devices.go`;
//! `device_run_options.jsonl` pins it. The kubelet goes through the resources in a random order, and of two
//! values for one thing the first wins. Here it is the order of their names, and the dropped values are reported.

use kq_facts::checkpoint::device::{ContainerAllocateResponse, DeviceSpec, Mount};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a container gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunOptions {
    /// Variables.
    pub envs: BTreeMap<String, String>,
    /// Annotations for the runtime.
    pub annotations: BTreeMap<String, String>,
    /// Device nodes; each path in the container once.
    pub devices: Vec<DeviceSpec>,
    /// Mounts; each path in the container once. The kubelet names a mount by that path, and never
    /// relabels it for SELinux.
    pub mounts: Vec<Mount>,
    /// Fully qualified CDI names; each once.
    pub cdi_devices: Vec<String>,
    /// What was dropped because something else was there first.
    pub dropped: Vec<Dropped>,
}

/// A value that lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    /// What kind of thing.
    pub kind: OptionKind,
    /// Its name, or its path in the container.
    pub key: String,
    /// The resource whose plugin answered it.
    pub resource: String,
    /// The resource whose value is there.
    pub kept_of: String,
    /// The two are not the same: in a kubelet's random order either may win.
    pub differs: bool,
}

/// What a plugin can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OptionKind {
    /// A variable.
    Env,
    Annotation,
    /// A device node.
    Device,
    Mount,
    /// A CDI name.
    CdiDevice,
}

/// Puts the answers for one container together, by resource. `None`: nothing is recorded for it.
pub fn run_options(answers: &BTreeMap<String, ContainerAllocateResponse>) -> Option<RunOptions> {
    if answers.is_empty() {
        return None;
    }
    let mut options = RunOptions::default();
    let mut seen = Seen::default();
    for (resource, answer) in answers {
        for (name, value) in &answer.envs {
            if seen.is_first(OptionKind::Env, name, resource, [value]) {
                options.envs.insert(name.clone(), value.clone());
            }
        }
        for device in &answer.devices {
            let value = [&device.host_path, &device.permissions];
            if seen.is_first(OptionKind::Device, &device.container_path, resource, value) {
                options.devices.push(device.clone());
            }
        }
        for mount in &answer.mounts {
            let read_only = mount.read_only.to_string();
            let value = [&mount.host_path, &read_only];
            if seen.is_first(OptionKind::Mount, &mount.container_path, resource, value) {
                options.mounts.push(mount.clone());
            }
        }
        for (name, value) in &answer.annotations {
            if seen.is_first(OptionKind::Annotation, name, resource, [value]) {
                options.annotations.insert(name.clone(), value.clone());
            }
        }
        for name in &answer.cdi_devices {
            if seen.is_first(OptionKind::CdiDevice, name, resource, []) {
                options.cdi_devices.push(name.clone());
            }
        }
    }
    options.dropped = seen.dropped;
    Some(options)
}

/// What is there already: by what it is, the resource that it is of and its value.
#[derive(Default)]
struct Seen {
    first: BTreeMap<(OptionKind, String), (String, Vec<String>)>,
    dropped: Vec<Dropped>,
}

impl Seen {
    fn is_first<const N: usize>(
        &mut self,
        kind: OptionKind,
        key: &str,
        resource: &str,
        value: [&String; N],
    ) -> bool {
        let value: Vec<String> = value.into_iter().cloned().collect();
        let Some((kept_of, kept)) = self.first.get(&(kind, key.to_owned())) else {
            self.first.insert((kind, key.to_owned()), (resource.to_owned(), value));
            return true;
        };
        self.dropped.push(Dropped {
            kind,
            key: key.to_owned(),
            resource: resource.to_owned(),
            kept_of: kept_of.clone(),
            differs: *kept != value,
        });
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_wins_and_the_others_are_told() {
        let text = |text: &str| text.to_owned();
        let answer = |value: &str, paths: &[(&str, bool)]| ContainerAllocateResponse {
            envs: [(text("E"), text(value)), (text("SAME"), text("1"))].into(),
            mounts: paths
                .iter()
                .map(|(path, read_only)| Mount {
                    container_path: text(path),
                    host_path: text("/h"),
                    read_only: *read_only,
                })
                .collect(),
            cdi_devices: vec![text("v/c=1"), text("v/c=1")],
            ..ContainerAllocateResponse::default()
        };
        assert_eq!(run_options(&BTreeMap::new()), None);
        let answers = [
            (text("b"), answer("2", &[("/m", false), ("/n", true)])),
            (text("a"), answer("1", &[("/m", true)])),
        ];
        let options = run_options(&answers.into()).expect("something is recorded");
        assert_eq!(options.envs["E"], "1");
        assert_eq!(options.mounts.len(), 2);
        assert!(options.mounts[0].read_only);
        assert_eq!(options.cdi_devices, ["v/c=1"]);
        let dropped: Vec<_> = options
            .dropped
            .iter()
            .map(|dropped| (&*dropped.key, &*dropped.resource, &*dropped.kept_of, dropped.differs))
            .collect();
        assert_eq!(
            dropped,
            [
                ("v/c=1", "a", "a", false),
                ("E", "b", "a", true),
                ("SAME", "b", "a", false),
                ("/m", "b", "a", true),
                ("v/c=1", "b", "a", false),
                ("v/c=1", "b", "a", false),
            ]
        );
    }
}
