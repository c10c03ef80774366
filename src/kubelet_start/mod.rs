//! Does the kubelet start with this command line, this configuration and these files, and with which words does
//! it refuse to? Pure.
//!
//! The order is that of `cmd/kubelet/app/server.go` and `pkg/kubelet/kubelet.go` of Kubernetes 1.36, with what
//! differs from 1.32 on. The first problem stops the kubelet; the later ones come when that one is mended.
//! Followed are Kubernetes' own kubelets: some distributions' kubelets only warn of an unknown feature gate.
//!
//! * `flags`: the command line. `config`: the file, the drop-ins and what results.
//!   `machine`: what is held against the machine. `state`: the files of state.
//! * `rule`: what can be wrong, the kubelet's words, and what to do.

mod config;
mod flags;
mod machine;
mod rule;
mod state;

pub use crate::facts::config_on_disk::{ConfigContent, ConfigText};
pub use rule::{CgroupProblem, ConfigPlace, Exit, Fix, Stage, StartRule};

use crate::answer::{Certainty, Worded};
use crate::facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use crate::facts::host::HostFacts;
use crate::facts::kubelet_config::EffectiveConfiguration;
use crate::facts::kubelet_process::{DEFAULT_ROOT_DIR, KubeletProcess};
use crate::facts::state_files::StateFiles;
use crate::k8s::cpuset::CpuSet;
use crate::k8s::feature_gates::FeatureGates;
use crate::k8s::pod::{ResourceList, ResourceName};
use crate::k8s::quantity::{Format, Quantity};
use crate::k8s::version::KubeletVersion;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Tells which paths of a cgroup such as `/kubelet` are missing: none, if it is there; `None`: not known.
pub type MissingPaths<'a> = &'a dyn Fn(&str) -> Option<Vec<String>>;

/// What a start of the kubelet reads. What is not known is `None`.
#[derive(Clone, Default)]
pub struct StartFacts<'a> {
    /// Its version.
    pub version: Option<KubeletVersion>,
    /// Its command line.
    pub process: Option<&'a KubeletProcess>,
    /// The file of `--config`.
    pub config_file: Option<ConfigText>,
    /// The files of `--config-dir` that it reads, in its order.
    pub drop_ins: Vec<ConfigText>,
    /// The version of the machine's cgroups.
    pub cgroup_version: Option<CgroupVersion>,
    /// The driver that the runtime tells the kubelet by `RuntimeConfig`.
    pub runtime_driver: Option<CgroupDriver>,
    /// The swap of the machine, in bytes.
    pub swap_bytes: Option<i64>,
    /// The machine.
    pub machine: Option<Machine>,
    /// The files of state below its folder.
    pub state_files: Option<&'a StateFiles>,
    /// Looks for a cgroup.
    pub missing_paths: Option<MissingPaths<'a>>,
}

/// The machine under the kubelet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Its CPUs.
    pub cpus: Option<CpuSet>,
    /// CPU, memory, huge pages and `ephemeral-storage`, as far as they are known.
    pub capacity: ResourceList,
    /// The memory of each NUMA node, in bytes; `None`: the NUMA nodes are not known.
    pub numa_memory: Option<BTreeMap<i64, i64>>,
}

impl Machine {
    /// Returns the machine that the host's files tell of.
    pub fn of_host(host: &HostFacts) -> Self {
        let cpus = host.cpus().ok();
        let mut capacity = ResourceList::default();
        if let Some(count) = cpus.as_ref().and_then(|cpus| i64::try_from(cpus.len()).ok()) {
            let milli = count.saturating_mul(1000);
            capacity.insert(ResourceName::Cpu, Quantity::from_milli(milli, Format::DecimalSi));
        }
        if let Ok(bytes) = host.memory_bytes() {
            let amount = Quantity::from_units(bytes, Format::BinarySi);
            capacity.insert(ResourceName::Memory, amount);
        }
        for (size, bytes) in host.hugepages().unwrap_or_default() {
            let name = ResourceName::from(format!("hugepages-{size}").as_str());
            capacity.insert(name, Quantity::from_units(bytes, Format::BinarySi));
        }
        let numa_memory = host
            .numa_nodes()
            .ok()
            .map(|nodes| nodes.into_iter().map(|node| (node.id, node.memory_bytes)).collect());
        Self { cpus, capacity, numa_memory }
    }
}

/// What a start comes to.
#[derive(Clone, Debug, Default)]
pub struct StartExamination {
    /// What stops it, in the kubelet's order.
    pub problems: Vec<StartProblem>,
    /// What it logs, and goes on.
    pub warnings: Vec<StartWarning>,
    /// The configuration that results of file, drop-ins and flags; absent fields are absent.
    pub config: Value,
    /// The same with its defaults.
    pub effective: Option<EffectiveConfiguration>,
    /// The gates that result, those left out that the kubelet refuses.
    pub gates: Option<FeatureGates>,
    /// What was not looked at.
    pub unknown: Vec<NotExamined>,
}

impl StartExamination {
    /// Returns the problem that stops the kubelet.
    pub fn first(&self) -> Option<&StartProblem> {
        self.problems.first()
    }
}

/// What stops a start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartProblem {
    /// What is wrong.
    pub rule: StartRule,
    /// How far the start comes.
    pub stage: Stage,
    /// How it ends.
    pub exit: Exit,
    /// The kubelet's words.
    pub text: String,
    /// How sure it is that the kubelet stops here, with these words.
    pub certainty: Certainty,
    /// False: it shows when what comes before is mended.
    pub is_first: bool,
    /// What to do.
    pub fix: Option<Worded<Fix>>,
    /// The file and the function of the kubelet.
    pub source: &'static str,
}

/// What a start logs, and goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum StartWarning {
    /// A deprecated flag.
    DeprecatedFlag { flag: String, message: String },
    /// A flag that names a gate which will go.
    OldGate { gate: String, value: bool, stage: &'static str },
    /// The strict reading failed, and a lenient one did not.
    Lenient { path: String, strict_error: String },
    /// A field that this version does not have.
    UnknownField { path: String, field: String },
    /// The runtime decides about the driver.
    RuntimeDriver { configured: String, runtime: String },
    /// `kubeletCgroups` is not below `kubeReservedCgroup`.
    KubeletCgroupOutside,
    /// The gate MemoryQoS does nothing on cgroup v1.
    MemoryQosOnV1,
}

impl fmt::Display for StartWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeprecatedFlag { flag, message } => {
                write!(f, "Flag --{flag} has been deprecated, {message}")
            }
            Self::OldGate { gate, value, stage } => write!(
                f,
                "Warning: setting {stage} feature gate. It will be removed in a future release. \
                 featureGate=\"{gate}\" value={value}"
            ),
            Self::Lenient { strict_error, .. } => write!(
                f,
                "Using lenient decoding as strict decoding failed err=\"strict decoding error: \
                 {strict_error}\""
            ),
            Self::UnknownField { path, field } => {
                write!(f, "{path}: the kubelet drops {field}, which it does not know")
            }
            Self::RuntimeDriver { configured, runtime } => write!(
                f,
                "cgroupDriver {configured} has no effect: the runtime tells the kubelet {runtime}"
            ),
            Self::KubeletCgroupOutside => f.write_str(
                "unsupported configuration:KubeletCgroups is not within KubeReservedCgroup",
            ),
            Self::MemoryQosOnV1 => f.write_str(
                "Warning: MemoryQoS feature only works with cgroups v2 on Linux, but enabled with \
                 cgroups v1",
            ),
        }
    }
}

/// What was not looked at, and what would tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotExamined {
    /// What could stop the kubelet.
    pub what: &'static str,
    /// The fact that is missing.
    pub fact: &'static str,
}

/// The start as far as it is followed.
struct Start<'a> {
    facts: &'a StartFacts<'a>,
    version: KubeletVersion,
    found: StartExamination,
}

impl Start<'_> {
    fn stop(&mut self, stage: Stage, rule: StartRule) {
        self.stop_perhaps(stage, rule, Certainty::Certain);
    }

    fn stop_perhaps(&mut self, stage: Stage, rule: StartRule, certainty: Certainty) {
        self.found.problems.push(StartProblem {
            text: match rule.exit() {
                Exit::Error => stage.wrap(&rule.text()),
                Exit::Panic => rule.text(),
            },
            exit: rule.exit(),
            certainty,
            is_first: self.found.problems.is_empty(),
            fix: rule.fix().map(Worded),
            source: rule.source(),
            rule,
            stage,
        });
    }

    fn warn(&mut self, warning: StartWarning) {
        self.found.warnings.push(warning);
    }

    fn skip(&mut self, what: &'static str, fact: &'static str) {
        let skipped = NotExamined { what, fact };
        if !self.found.unknown.contains(&skipped) {
            self.found.unknown.push(skipped);
        }
    }
}

/// Follows a start.
pub fn examine(facts: &StartFacts<'_>) -> StartExamination {
    let version = facts.version.unwrap_or(KubeletVersion::NEWEST);
    let mut start = Start { facts, version, found: StartExamination::default() };
    if facts.version.is_none() {
        start.skip(
            "gates, flags and fields that this version refuses",
            "the version of the kubelet",
        );
    }
    let said = flags::examine(&mut start);
    let read = config::examine(&mut start, &said);
    machine::examine(&mut start, &read, &said);
    start.found
}

/// Returns the kubelet's folder.
fn root_dir(said: &flags::Said) -> &str {
    said.flags.root_dir.as_deref().unwrap_or(DEFAULT_ROOT_DIR)
}
