//! Changes to a node, as they are written on a command line: `kubelet-version 1.36 set maxPods=50 label zone-`.

use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeMap;
use std::fmt;

/// A change to a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The kubelet is stopped and started again, or killed and started again.
    KubeletRestart { kill: bool },
    /// The machine reboots, which stops all containers.
    Reboot,
    /// The container runtime is started again; containers run on.
    RuntimeRestart,
    /// Another version of the kubelet.
    KubeletVersion(KubeletVersion),
    /// Another version of the container runtime or of the program that creates containers.
    Runtime { name: String, version: String },
    /// The container runtime manages cgroups by another driver; it and the kubelet start again.
    RuntimeDriver(CgroupDriver),
    /// The machine starts with another interface of cgroups.
    Kernel(CgroupVersion),
    /// Another configuration of the kubelet, in a file.
    Config { file: String },
    /// Another value of a field of the configuration.
    Set { field: String, value: String },
    /// Flags on the command line of the kubelet.
    Flags(Vec<String>),
    /// Feature gates in the configuration.
    FeatureGates(BTreeMap<String, bool>),
    /// Pods of a file are added to the node, as static pods or from the API server.
    Add { file: String, is_static: bool },
    /// A pod is deleted.
    Remove { pod: String },
    /// A pod is resized in place.
    Resize(Resize),
    /// A label of the Node object; `None`: it is removed.
    Label { key: String, value: Option<String> },
    /// A taint of the Node object.
    Taint(TaintChange),
    /// A device is no longer listed by its plugin.
    DeviceGone { id: String },
    /// The plugin of a resource does not answer.
    PluginGone { resource: String },
    /// The file systems of the kubelet and the images are used so far.
    Disk { used_percent: u8 },
    /// So much memory is available, in bytes.
    MemoryAvailable { bytes: i64 },
    /// A file of the kubelet's folder is missing or truncated.
    StateFile { name: String, is_damaged: bool },
}

/// New resources of a pod or of one of its containers.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    pub pod: String,
    /// The container; `None`: the only one.
    pub container: Option<String>,
    /// The new requests by resource; `cpu-limit` and `memory-limit` are limits.
    pub amounts: BTreeMap<String, Quantity>,
}

/// A taint that is added or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintChange {
    pub key: String,
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`; empty: each, of a removal.
    pub effect: String,
    pub is_removed: bool,
}

/// A kind of change, for the list of changes.
#[derive(Clone, Copy, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct ChangeKind {
    /// The first word.
    pub word: &'static str,
    pub arguments: &'static str,
    /// Its effect.
    pub about: &'static str,
    /// An example of the command.
    pub example: &'static str,
}

const fn kind(
    word: &'static str,
    arguments: &'static str,
    about: &'static str,
    example: &'static str,
) -> ChangeKind {
    ChangeKind { word, arguments, about, example }
}

/// The kinds of changes.
#[rustfmt::skip]
pub const KINDS: [ChangeKind; 20] = [
    kind("kubelet-restart", "[kill]", "the kubelet stops and starts; with kill, by SIGKILL", "kubelet-restart"),
    kind("reboot", "", "the machine reboots, no container survives", "reboot"),
    kind("runtime-restart", "", "the container runtime stops and starts", "runtime-restart"),
    kind("kubelet-version", "VERSION", "another version of the kubelet", "kubelet-version 1.36"),
    kind("runtime", "NAME=VERSION|driver=cgroupfs|driver=systemd", "another version of runc, crun, youki or containerd, or another cgroup driver of the runtime", "runtime runc=1.3.2"),
    kind("kernel", "cgroup=v1|v2", "the machine boots with another cgroup version", "kernel cgroup=v2"),
    kind("config", "FILE", "another KubeletConfiguration", "config new.yaml"),
    kind("set", "FIELD=VALUE", "a field of the KubeletConfiguration", "set systemReserved.cpu=700m"),
    kind("flags", "'FLAGS'", "flags on the command line of the kubelet", "flags '--max-pods=50 --v=4'"),
    kind("feature-gates", "GATES", "feature gates of the KubeletConfiguration", "feature-gates MemoryQoS=true"),
    kind("add", "[static] FILE", "the pods of a manifest are added to the node", "add static dns.yaml"),
    kind("remove", "POD", "a pod is deleted", "remove shop/checkout-6d5f7"),
    kind("resize", "POD[:CONTAINER] RESOURCES", "a pod is resized in place: cpu=, memory=, cpu-limit=, memory-limit=", "resize shop/web cpu=500m,memory=1Gi"),
    kind("label", "KEY=VALUE|KEY-", "a label of the Node object", "label disk=hdd"),
    kind("taint", "KEY[=VALUE]:EFFECT[-]|KEY-", "a taint of the Node object", "taint maintenance=yes:NoExecute"),
    kind("device", "gone ID", "a plugin no longer lists a device", "device gone GPU-0"),
    kind("plugin", "gone RESOURCE", "a device plugin does not answer", "plugin gone nvidia.com/gpu"),
    kind("disk", "PERCENT", "usage of the file systems of the kubelet and the images", "disk 92"),
    kind("memory-available", "AMOUNT", "the memory that is available on the node", "memory-available 80Mi"),
    kind("state-file", "missing|damaged NAME", "a file of state of the kubelet", "state-file missing cpu_manager_state"),
];

impl Change {
    /// Returns the setting that can have only one value; `None`: the change can be repeated.
    pub(super) fn thing(&self) -> Option<String> {
        Some(match self {
            Self::KubeletVersion(_) => "kubelet-version".to_owned(),
            Self::Runtime { name, .. } => format!("runtime {name}"),
            Self::RuntimeDriver(_) => "runtime driver".to_owned(),
            Self::Kernel(_) => "kernel".to_owned(),
            Self::Config { .. } => "config".to_owned(),
            Self::Set { field, .. } => format!("set {field}"),
            Self::Flags(_) => "flags".to_owned(),
            Self::Remove { pod } | Self::Resize(Resize { pod, container: None, .. }) => {
                format!("pod {pod}")
            }
            Self::Label { key, .. } => format!("label {key}"),
            Self::Taint(taint) => format!("taint {}:{}", taint.key, taint.effect),
            Self::Disk { .. } => "disk".to_owned(),
            Self::MemoryAvailable { .. } => "memory-available".to_owned(),
            Self::StateFile { name, .. } => format!("state-file {name}"),
            Self::KubeletRestart { .. }
            | Self::Reboot
            | Self::RuntimeRestart
            | Self::FeatureGates(_)
            | Self::Add { .. }
            | Self::Resize(_)
            | Self::DeviceGone { .. }
            | Self::PluginGone { .. } => return None,
        })
    }

    /// Returns true if the change restarts the kubelet or takes effect only at its restart.
    pub fn restarts_kubelet(&self) -> bool {
        match self {
            Self::KubeletRestart { .. }
            | Self::Reboot
            | Self::KubeletVersion(_)
            | Self::RuntimeDriver(_)
            | Self::Kernel(_)
            | Self::Config { .. }
            | Self::Set { .. }
            | Self::Flags(_)
            | Self::FeatureGates(_)
            | Self::StateFile { .. } => true,
            Self::RuntimeRestart
            | Self::Runtime { .. }
            | Self::Add { .. }
            | Self::Remove { .. }
            | Self::Resize(_)
            | Self::Label { .. }
            | Self::Taint(_)
            | Self::DeviceGone { .. }
            | Self::PluginGone { .. }
            | Self::Disk { .. }
            | Self::MemoryAvailable { .. } => false,
        }
    }

    /// Returns true if the machine reboots.
    pub fn reboots(&self) -> bool {
        matches!(self, Self::Reboot | Self::Kernel(_))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KubeletRestart { kill: false } => f.write_str("kubelet-restart"),
            Self::KubeletRestart { kill: true } => f.write_str("kubelet-restart kill"),
            Self::Reboot => f.write_str("reboot"),
            Self::RuntimeRestart => f.write_str("runtime-restart"),
            Self::KubeletVersion(version) => write!(f, "kubelet-version {version}"),
            Self::Runtime { name, version } => write!(f, "runtime {name}={version}"),
            Self::RuntimeDriver(driver) => write!(f, "runtime driver={driver}"),
            Self::Kernel(CgroupVersion::V1) => f.write_str("kernel cgroup=v1"),
            Self::Kernel(CgroupVersion::V2) => f.write_str("kernel cgroup=v2"),
            Self::Config { file } => write!(f, "config {file}"),
            Self::Set { field, value } => write!(f, "set {field}={value}"),
            Self::Flags(flags) => write!(f, "flags '{}'", flags.join(" ")),
            Self::FeatureGates(gates) => {
                let gates: Vec<String> =
                    gates.iter().map(|(name, on)| format!("{name}={on}")).collect();
                write!(f, "feature-gates {}", gates.join(","))
            }
            Self::Add { file, is_static: true } => write!(f, "add static {file}"),
            Self::Add { file, is_static: false } => write!(f, "add {file}"),
            Self::Remove { pod } => write!(f, "remove {pod}"),
            Self::Resize(Resize { pod, container, amounts }) => {
                let amounts: Vec<String> =
                    amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
                let container = container.iter().map(|name| format!(":{name}")).collect::<String>();
                write!(f, "resize {pod}{container} {}", amounts.join(","))
            }
            Self::Label { key, value: Some(value) } => write!(f, "label {key}={value}"),
            Self::Label { key, value: None } => write!(f, "label {key}-"),
            Self::Taint(TaintChange { key, value, effect, is_removed }) => {
                let value = if value.is_empty() { String::new() } else { format!("={value}") };
                let effect = if effect.is_empty() { String::new() } else { format!(":{effect}") };
                write!(f, "taint {key}{value}{effect}{}", if *is_removed { "-" } else { "" })
            }
            Self::DeviceGone { id } => write!(f, "device gone {id}"),
            Self::PluginGone { resource } => write!(f, "plugin gone {resource}"),
            Self::Disk { used_percent } => write!(f, "disk {used_percent}"),
            Self::MemoryAvailable { bytes } => {
                let amount = Quantity::from_units(*bytes, Format::BinarySi);
                write!(f, "memory-available {amount}")
            }
            Self::StateFile { name, is_damaged } => {
                write!(f, "state-file {} {name}", if *is_damaged { "damaged" } else { "missing" })
            }
        }
    }
}
