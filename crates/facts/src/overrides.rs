//! What an operator says of a node over the facts of it, from flags or from a program.

use crate::cgroup_mode::{CgroupDriver, CgroupVersion};
use crate::cgroup_name::kubelet_roots;
use crate::cgroup_tree::CgroupPath;
use crate::config_on_disk::ConfigOnDisk;
use crate::describe::ConfigSource;
use crate::live::kubelet_root;
use crate::node_object::NodeObject;
use crate::redaction::forget_secrets;
use crate::settings::{assign, assign_gates, assign_list, settings_of};
use crate::snapshot::{RecordedConfig, Snapshot};
use crate::timestamp::Timestamp;
use crate::weight_formula::WeightFormula;
use anyhow::{Context, anyhow};
use kq_answer::origin::Origin;
use kq_answer::warning::{Warning, WarningCode};
use kq_answer::{Failure, Missing};
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::parse_flag;
use kq_k8s::manifest::{Loaded, LoadedPod};
use kq_k8s::pod::ResourceList;
use kq_k8s::version::KubeletVersion;
use std::sync::Arc;

/// What replaces facts of a node. It wins over the kubelet's configuration, which wins over the Node object.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The kubelet's configuration, from files.
    pub config: Option<GivenConfig>,
    /// The file of the configuration, for messages.
    pub config_file: Option<String>,
    /// The answer does not depend on the configuration: one that is unknown is not missing.
    pub ignores_config: bool,
    /// Why the configuration is a guess: the defaults, with what a change sets.
    pub assumed_config: Option<Missing>,
    /// Single facts about the kubelet.
    pub kubelet: KubeletFlags,
    /// When the kubelet started; `None`: as its process says.
    pub kubelet_start: Option<KubeletStartOption>,
    /// The Node object of a file.
    pub node_file: Option<FiledNode>,
    /// The pods of files, in place of those of the same name.
    pub pods: GivenPods,
    /// `cgroupRoot`
    pub cgroup_root: Option<String>,
    pub cgroup_driver: Option<CgroupDriver>,
    /// The kernel's cgroup interface.
    pub cgroup_version: Option<CgroupVersion>,
    /// `qosReserved`: `memory=50%`.
    pub qos_reserved: Option<String>,
    /// `kubeReserved`: `cpu=100m,memory=256Mi`.
    pub kube_reserved: Option<String>,
    /// `systemReserved`, in the same form.
    pub system_reserved: Option<String>,
    /// The runtime's formula for cgroup v2 weights.
    pub runtime_weight_formula: Option<WeightFormula>,
    /// The low-level runtimes, from which formulas follow: `runc=1.3.1`, or `runc=1.3.1,crun=1.21` with those of
    /// RuntimeClasses, whose handlers have their names.
    pub runtime: Option<String>,
    /// Settings of the container runtime.
    pub runtime_settings: RuntimeSettings,
    /// The capacity of the machine; resources that are not in it are the machine's own.
    pub capacity: ResourceList,
    /// The machine's swap in bytes.
    pub swap_capacity: Option<i64>,
    /// The kernel can limit swap per cgroup.
    pub swap_controller: Option<bool>,
    /// The size of a page of memory in bytes.
    pub page_size: Option<i64>,
}

/// Settings of a container runtime by the names that containerd has for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeSettings {
    /// `disable_hugetlb_controller`: it leaves out the limits of huge pages of containers.
    pub disable_hugetlb_controller: Option<bool>,
    /// `restrict_oom_score_adj`: it does not lower `oom_score_adj` below its own.
    pub restrict_oom_score_adj: Option<bool>,
}

impl RuntimeSettings {
    /// The settings that can be given.
    pub const NAMES: [&str; 2] = ["disable_hugetlb_controller", "restrict_oom_score_adj"];

    /// Reads `disable_hugetlb_controller=true,restrict_oom_score_adj=false`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, value) =
                entry.split_once('=').ok_or_else(|| format!("{entry:?}: expected NAME=BOOL"))?;
            let setting = match name.trim() {
                "disable_hugetlb_controller" => &mut settings.disable_hugetlb_controller,
                "restrict_oom_score_adj" => &mut settings.restrict_oom_score_adj,
                other => {
                    let names = Self::NAMES.join(" or ");
                    return Err(format!("{other:?} is no setting that kq uses: expected {names}"));
                }
            };
            let value = value.trim().parse();
            *setting = Some(value.map_err(|_| format!("{entry:?}: expected true or false"))?);
        }
        Ok(settings)
    }
}

/// Single facts about the kubelet. They win over its configuration.
#[derive(Clone, Debug, Default)]
pub struct KubeletFlags {
    pub version: Option<KubeletVersion>,
    /// Feature gates: `A=true,B=false`.
    pub feature_gates: Option<String>,
    /// Fields of the configuration: `FIELD=VALUE`.
    pub set: Vec<String>,
}

/// The kubelet's configuration from files that were named.
#[derive(Clone, Debug, Default)]
pub struct GivenConfig {
    pub config: ConfigSource,
    /// Irregularities in it.
    pub notes: Vec<String>,
    /// The file and the drop-ins that it was merged from; `None`: it is an answer of `/configz`.
    pub on_disk: Option<ConfigOnDisk>,
}

/// A Node object from a file.
#[derive(Clone, Debug)]
pub struct FiledNode {
    pub file: String,
    pub object: NodeObject,
    /// Irregularities in it.
    pub notes: Vec<Warning>,
}

/// The pods of files.
#[derive(Clone, Debug, Default)]
pub struct GivenPods {
    /// The pods, in the order of the files.
    pub pods: Vec<LoadedPod>,
    /// Those that could not be read, with the reasons.
    pub left_out: Vec<String>,
    /// Irregularities in the files.
    pub notes: Vec<Warning>,
}

impl From<Loaded> for GivenPods {
    fn from(loaded: Loaded) -> Self {
        Self {
            left_out: loaded.problems.iter().map(ToString::to_string).collect(),
            notes: WarningCode::PodManifest.each(&loaded.notes).collect(),
            pods: loaded.pods,
        }
    }
}

/// A time, or how long ago.
#[derive(Clone, Copy, Debug)]
pub enum KubeletStartOption {
    At(Timestamp),
    /// How long ago.
    Ago(GoDuration),
}

impl Overrides {
    /// Gives a Node object the capacity of the machine. Its allocatable resources change by as much.
    pub fn put_capacity(&self, snapshot: &mut Snapshot) {
        let Some(found) = &mut snapshot.node.found else { return };
        let status = &mut found.value.status;
        for (name, amount) in self.capacity.iter() {
            if let (Some(was), Some(allocatable)) =
                (status.capacity.get(name), status.allocatable.get(name))
            {
                let mut shifted = allocatable.clone();
                shifted += amount;
                shifted -= was;
                if shifted.sign() >= 0 {
                    status.allocatable.insert(name.clone(), shifted);
                }
            }
            status.capacity.insert(name.clone(), amount.clone());
        }
    }

    /// Returns true if something is said of the kubelet besides its start.
    pub fn is_any_of_kubelet(&self) -> bool {
        let KubeletFlags { version, feature_gates, set } = &self.kubelet;
        self.config.is_some() || version.is_some() || feature_gates.is_some() || !set.is_empty()
    }

    /// Returns where the cgroup of all pods of a node may be.
    pub fn roots(&self, snapshot: &Snapshot) -> Vec<(CgroupDriver, CgroupPath)> {
        let found = snapshot.kubelet_config.value().map(|found| &*found.value);
        let config = self.config.as_ref().map(|given| &*given.config.value).or(found);
        let (root, per_qos) = kubelet_root(self.cgroup_root.as_deref(), config);
        kubelet_roots(&root, per_qos)
    }

    /// Removes possible secrets from the configuration ([`Snapshot::redact`]).
    pub fn redact(&mut self) {
        if let Some(given) = &mut self.config {
            forget_secrets(Arc::make_mut(&mut given.config.value));
        }
    }

    /// Puts the values of single fields into the configuration.
    /// Fails for a value that cannot be read.
    pub fn set_fields(&self, config: &mut ConfigSource) -> Result<(), Failure> {
        let driver = self.cgroup_driver.map(|driver| driver.to_string());
        let not_yaml = |flag: &str, text: &str| format!("{flag} {text}: the value is not YAML");
        for (flag, field, value) in [
            ("--cgroup-driver", "cgroupDriver", driver.as_ref()),
            ("--cgroup-root", "cgroupRoot", self.cgroup_root.as_ref()),
        ] {
            if let Some(value) = value {
                assign(config, field, value, Origin::Flag(flag))
                    .with_context(|| not_yaml(flag, value))
                    .map_err(Failure::usage)?;
            }
        }
        for (flag, field, value) in [
            ("--qos-reserved", "qosReserved", &self.qos_reserved),
            ("--kube-reserved", "kubeReserved", &self.kube_reserved),
            ("--system-reserved", "systemReserved", &self.system_reserved),
        ] {
            if let Some(value) = value {
                assign_list(config, field, value, Origin::Flag(flag))
                    .map_err(|problem| Failure::usage(anyhow!("{flag} {value}: {problem}")))?;
            }
        }
        self.kubelet.set_fields(config)
    }
}

impl KubeletFlags {
    /// Applies the flags to the configuration.
    fn set_fields(&self, config: &mut ConfigSource) -> Result<(), Failure> {
        for assignment in &self.set {
            let named = assignment.split_once('=').filter(|(field, _)| !field.is_empty());
            let (field, value) = named.ok_or_else(|| {
                Failure::usage(anyhow!("--set {assignment}: expected FIELD=VALUE"))
            })?;
            if let Some(settings) = settings_of(field, value) {
                let error = anyhow!("--set {assignment}: expected FIELD=VALUE for each setting");
                let hint = settings.join(" --set ");
                return Err(Failure::usage(error).hint(format!("--set {hint}")));
            }
            assign(config, field, value, Origin::Flag("--set"))
                .with_context(|| format!("--set {assignment}: the value is not YAML"))
                .map_err(Failure::usage)?;
        }
        if let Some(text) = &self.feature_gates {
            let gates = parse_flag(text)
                .with_context(|| format!("--feature-gates {text}"))
                .map_err(Failure::usage)?;
            assign_gates(config, gates, &Origin::Flag("--feature-gates"));
        }
        Ok(())
    }
}

impl GivenConfig {
    /// Returns the irregularities as warnings.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        WarningCode::KubeletConfig.each(&self.notes)
    }

    /// Returns the configuration as a snapshot has it, without secrets.
    pub fn to_recorded(&self) -> RecordedConfig {
        let mut value = self.config.value.clone();
        forget_secrets(Arc::make_mut(&mut value));
        let origins = self.config.origins.iter();
        RecordedConfig {
            value,
            read_as: self.config.source,
            origins: origins.map(|(field, origin)| (field.clone(), origin.to_string())).collect(),
            notes: self.notes.clone(),
            by_flag: self.config.by_flag.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RuntimeSettings;

    #[test]
    fn settings_of_the_runtime_are_named_as_containerd_does() {
        let both = RuntimeSettings {
            disable_hugetlb_controller: Some(true),
            restrict_oom_score_adj: Some(false),
        };
        for (text, expected) in [
            ("disable_hugetlb_controller=true, restrict_oom_score_adj=false", Ok(both)),
            ("", Ok(RuntimeSettings::default())),
            ("disable_hugetlb_controller", Err("expected NAME=BOOL")),
            ("disable_hugetlb_controller=yes", Err("expected true or false")),
            ("disable_cgroup=maybe", Err("is no setting that kq uses")),
        ] {
            match (RuntimeSettings::parse(text), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
