//! Feature gates: which exist in a version of the kubelet, and which are on.
//!
//! Setting gates follows `staging/src/k8s.io/component-base/featuregate/feature_gate.go` of
//! Kubernetes 1.36; dependencies between gates are checked since 1.35. The kubelet iterates over a map in
//! random order where kq uses the order of the names.

mod table;

use crate::go_text::{NumError, parse_bool};
use crate::nearest::{MOST_HINTS, nearest};
use crate::version::KubeletVersion;
use std::collections::BTreeMap;
use std::fmt;

/// The gates that kq's rules depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the kubelet's")]
pub enum Gate {
    PodLevelResources,
    InPlacePodLevelResourcesVerticalScaling,
    InPlacePodVerticalScaling,
    SidecarContainers,
    NodeSwap,
    MemoryQos,
    QosReserved,
    CustomCpuCfsQuotaPeriod,
    DisableCpuQuotaWithExclusiveCpus,
    DraNodeAllocatableResources,
    PodLevelResourceManagers,
    ImageVolume,
    KubeletSeparateDiskGc,
    RuntimeClassInImageCriApi,
    ImageMaximumGcAge,
    ContainerRestartRules,
    RestartAllContainersOnContainerExits,
    ChangeContainerStatusOnKubeletRestart,
    ExecProbeTimeout,
    DraExtendedResource,
    SupplementalGroupsPolicy,
    TaintTolerationComparisonOperators,
    RotateKubeletServerCertificate,
    GracefulNodeShutdown,
    GracefulNodeShutdownBasedOnPodPriority,
    KubeletCrashLoopBackOffMax,
    ReduceDefaultCrashLoopBackOffDecay,
    KubeletEnsureSecretPulledImages,
    NodeLogQuery,
    KubeletTracing,
    LoggingAlphaOptions,
    LoggingBetaOptions,
    TopologyManagerPolicyOptions,
    TopologyManagerPolicyBetaOptions,
    CpuManagerPolicyAlphaOptions,
    CpuManagerPolicyBetaOptions,
    DynamicResourceAllocation,
    GitRepoVolumeDriver,
    PreventStaticPodApiReferences,
    InPlacePodVerticalScalingExclusiveCpus,
    InPlacePodVerticalScalingExclusiveMemory,
    InPlacePodVerticalScalingInitContainers,
    DefaultPodSysctls,
    HugepageAwareEviction,
    PodLevelResourcesFixKubeletQosClass,
    SelinuxMount,
    SystemdWatchdog,
    GrpcContainerProbeTls,
    H2cContainerProbe,
}

impl Gate {
    /// Every one of them.
    pub const ALL: [Self; 49] = [
        Self::PodLevelResources,
        Self::InPlacePodLevelResourcesVerticalScaling,
        Self::InPlacePodVerticalScaling,
        Self::SidecarContainers,
        Self::NodeSwap,
        Self::MemoryQos,
        Self::QosReserved,
        Self::CustomCpuCfsQuotaPeriod,
        Self::DisableCpuQuotaWithExclusiveCpus,
        Self::DraNodeAllocatableResources,
        Self::PodLevelResourceManagers,
        Self::ImageVolume,
        Self::KubeletSeparateDiskGc,
        Self::RuntimeClassInImageCriApi,
        Self::ImageMaximumGcAge,
        Self::ContainerRestartRules,
        Self::RestartAllContainersOnContainerExits,
        Self::ChangeContainerStatusOnKubeletRestart,
        Self::ExecProbeTimeout,
        Self::DraExtendedResource,
        Self::SupplementalGroupsPolicy,
        Self::TaintTolerationComparisonOperators,
        Self::RotateKubeletServerCertificate,
        Self::GracefulNodeShutdown,
        Self::GracefulNodeShutdownBasedOnPodPriority,
        Self::KubeletCrashLoopBackOffMax,
        Self::ReduceDefaultCrashLoopBackOffDecay,
        Self::KubeletEnsureSecretPulledImages,
        Self::NodeLogQuery,
        Self::KubeletTracing,
        Self::LoggingAlphaOptions,
        Self::LoggingBetaOptions,
        Self::TopologyManagerPolicyOptions,
        Self::TopologyManagerPolicyBetaOptions,
        Self::CpuManagerPolicyAlphaOptions,
        Self::CpuManagerPolicyBetaOptions,
        Self::DynamicResourceAllocation,
        Self::GitRepoVolumeDriver,
        Self::PreventStaticPodApiReferences,
        Self::InPlacePodVerticalScalingExclusiveCpus,
        Self::InPlacePodVerticalScalingExclusiveMemory,
        Self::InPlacePodVerticalScalingInitContainers,
        Self::DefaultPodSysctls,
        Self::HugepageAwareEviction,
        Self::PodLevelResourcesFixKubeletQosClass,
        Self::SelinuxMount,
        Self::SystemdWatchdog,
        Self::GrpcContainerProbeTls,
        Self::H2cContainerProbe,
    ];

    /// Returns the name as Kubernetes writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PodLevelResources => "PodLevelResources",
            Self::InPlacePodLevelResourcesVerticalScaling => {
                "InPlacePodLevelResourcesVerticalScaling"
            }
            Self::InPlacePodVerticalScaling => "InPlacePodVerticalScaling",
            Self::SidecarContainers => "SidecarContainers",
            Self::NodeSwap => "NodeSwap",
            Self::MemoryQos => "MemoryQoS",
            Self::QosReserved => "QOSReserved",
            Self::CustomCpuCfsQuotaPeriod => "CustomCPUCFSQuotaPeriod",
            Self::DisableCpuQuotaWithExclusiveCpus => "DisableCPUQuotaWithExclusiveCPUs",
            Self::DraNodeAllocatableResources => "DRANodeAllocatableResources",
            Self::PodLevelResourceManagers => "PodLevelResourceManagers",
            Self::ImageVolume => "ImageVolume",
            Self::KubeletSeparateDiskGc => "KubeletSeparateDiskGC",
            Self::RuntimeClassInImageCriApi => "RuntimeClassInImageCriApi",
            Self::ImageMaximumGcAge => "ImageMaximumGCAge",
            Self::ContainerRestartRules => "ContainerRestartRules",
            Self::RestartAllContainersOnContainerExits => "RestartAllContainersOnContainerExits",
            Self::ChangeContainerStatusOnKubeletRestart => "ChangeContainerStatusOnKubeletRestart",
            Self::ExecProbeTimeout => "ExecProbeTimeout",
            Self::DraExtendedResource => "DRAExtendedResource",
            Self::SupplementalGroupsPolicy => "SupplementalGroupsPolicy",
            Self::TaintTolerationComparisonOperators => "TaintTolerationComparisonOperators",
            Self::RotateKubeletServerCertificate => "RotateKubeletServerCertificate",
            Self::GracefulNodeShutdown => "GracefulNodeShutdown",
            Self::GracefulNodeShutdownBasedOnPodPriority => {
                "GracefulNodeShutdownBasedOnPodPriority"
            }
            Self::KubeletCrashLoopBackOffMax => "KubeletCrashLoopBackOffMax",
            Self::ReduceDefaultCrashLoopBackOffDecay => "ReduceDefaultCrashLoopBackOffDecay",
            Self::KubeletEnsureSecretPulledImages => "KubeletEnsureSecretPulledImages",
            Self::NodeLogQuery => "NodeLogQuery",
            Self::KubeletTracing => "KubeletTracing",
            Self::LoggingAlphaOptions => "LoggingAlphaOptions",
            Self::LoggingBetaOptions => "LoggingBetaOptions",
            Self::TopologyManagerPolicyOptions => "TopologyManagerPolicyOptions",
            Self::TopologyManagerPolicyBetaOptions => "TopologyManagerPolicyBetaOptions",
            Self::CpuManagerPolicyAlphaOptions => "CPUManagerPolicyAlphaOptions",
            Self::CpuManagerPolicyBetaOptions => "CPUManagerPolicyBetaOptions",
            Self::DynamicResourceAllocation => "DynamicResourceAllocation",
            Self::GitRepoVolumeDriver => "GitRepoVolumeDriver",
            Self::PreventStaticPodApiReferences => "PreventStaticPodAPIReferences",
            Self::InPlacePodVerticalScalingExclusiveCpus => {
                "InPlacePodVerticalScalingExclusiveCPUs"
            }
            Self::InPlacePodVerticalScalingExclusiveMemory => {
                "InPlacePodVerticalScalingExclusiveMemory"
            }
            Self::InPlacePodVerticalScalingInitContainers => {
                "InPlacePodVerticalScalingInitContainers"
            }
            Self::DefaultPodSysctls => "DefaultPodSysctls",
            Self::HugepageAwareEviction => "HugepageAwareEviction",
            Self::PodLevelResourcesFixKubeletQosClass => "PodLevelResourcesFixKubeletQOSClass",
            Self::SelinuxMount => "SELinuxMount",
            Self::SystemdWatchdog => "SystemdWatchdog",
            Self::GrpcContainerProbeTls => "GRPCContainerProbeTLS",
            Self::H2cContainerProbe => "H2CContainerProbe",
        }
    }

    fn bit(self) -> u64 {
        1 << self as u32
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How mature a gate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Off by default.
    Alpha,
    /// Being tried out.
    Beta,
    /// General availability.
    Ga,
    /// On its way out.
    Deprecated,
}

/// A version's specification of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateState {
    pub default: bool,
    /// Whether that is the only value.
    pub locked: bool,
    /// How mature it is.
    pub stage: Stage,
}

/// Returns a version's specification of a gate; `None`: the version does not recognise it.
pub fn gate_state(name: &str, version: KubeletVersion) -> Option<GateState> {
    let states = states(name)?;
    let earlier = version.gate_patch(name).filter(|patch| version.precedes(patch));
    state(earlier.map_or(states[version.column()], |patch| patch.before))
}

/// Returns a version's specification of a gate, or the last one before it was removed.
fn last_state(name: &str, version: KubeletVersion) -> Option<GateState> {
    states(name)?[..=version.column()].iter().rev().find_map(|letter| state(*letter))
}

/// Returns the letters of a gate, one for each version.
fn states(name: &str) -> Option<&'static [u8; table::VERSIONS]> {
    let at = table::GATES.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(table::GATES[at].1)
}

/// Reads one letter of the table.
fn state(letter: u8) -> Option<GateState> {
    let (stage, locked) = match letter.to_ascii_lowercase() {
        b'a' => (Stage::Alpha, false),
        b'b' => (Stage::Beta, false),
        b'g' => (Stage::Ga, false),
        b'l' => (Stage::Ga, true),
        b'd' => (Stage::Deprecated, false),
        b'x' => (Stage::Deprecated, true),
        _ => return None,
    };
    Some(GateState { default: letter.is_ascii_uppercase(), locked, stage })
}

/// The gates of one kubelet: its version and which of kq's gates are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    version: KubeletVersion,
    on: u64,
}

impl FeatureGates {
    /// Returns the defaults of a version, or of the nearest supported one. What a gate that is gone did stays as it
    /// was by default: Kubernetes removes a gate when its feature is there for good, or is given up.
    pub fn for_version(version: KubeletVersion) -> Self {
        let on = Gate::ALL
            .into_iter()
            .filter(|gate| last_state(gate.name(), version).is_some_and(|state| state.default));
        Self { version, on: on.fold(0, |bits, gate| bits | gate.bit()) }
    }

    pub fn version(self) -> KubeletVersion {
        self.version
    }

    /// Returns true if a gate is on; one that the version does not have yet is off.
    pub fn enabled(self, gate: Gate) -> bool {
        self.on & gate.bit() != 0
    }

    /// Returns the same with one gate set, whether the kubelet would allow that or not.
    #[must_use]
    pub fn with(self, gate: Gate, on: bool) -> Self {
        let others = self.on & !gate.bit();
        Self { on: if on { others | gate.bit() } else { others }, ..self }
    }

    /// Returns the same with the gates that kq's rules depend on set as named, whether the kubelet would allow that or not.
    #[must_use]
    pub fn with_known(self, set: &BTreeMap<String, bool>) -> Self {
        let named = Gate::ALL.into_iter().filter_map(|gate| Some((gate, *set.get(gate.name())?)));
        named.fold(self, |gates, (gate, on)| gates.with(gate, on))
    }

    /// Returns the gates after `featureGates` or `--feature-gates`, if the kubelet accepts them.
    ///
    /// A gate's own value wins over `AllAlpha` and `AllBeta`.
    pub fn with_overrides(self, set: &BTreeMap<String, bool>) -> Result<Self, FeatureGateError> {
        let unknown: Vec<_> = set
            .keys()
            .filter(|name| !is_all(name) && gate_state(name, self.version).is_none())
            .enumerate()
            .map(|(at, name)| match at < MOST_HINTS {
                true => unrecognized(name, self.version),
                false => FeatureGateProblem::Unrecognized { name: name.clone(), hint: None },
            })
            .collect();
        if !unknown.is_empty() {
            return Err(FeatureGateError { problems: unknown });
        }
        let locked: Vec<_> = set
            .iter()
            .filter_map(|(name, value)| {
                let state = gate_state(name, self.version)?;
                (state.locked && state.default != *value)
                    .then(|| FeatureGateProblem::Locked { name: name.clone(), value: *value })
            })
            .collect();
        if !locked.is_empty() {
            return Err(FeatureGateError { problems: locked });
        }
        let broken = self.broken_dependencies(set);
        if !broken.is_empty() {
            return Err(FeatureGateError { problems: broken });
        }
        Ok(Gate::ALL
            .into_iter()
            .fold(self, |gates, gate| gates.with(gate, self.resolve(gate.name(), Some(gate), set))))
    }

    /// Returns the enabled gates whose dependencies are off.
    fn broken_dependencies(self, set: &BTreeMap<String, bool>) -> Vec<FeatureGateProblem> {
        let mut broken = Vec::new();
        let is_on = |name: &str| {
            let own = Gate::ALL.into_iter().find(|gate| gate.name() == name);
            self.resolve(name, own, set)
        };
        for (name, needs) in table::DEPENDENCIES {
            let needs = needs[self.version.column()];
            if needs.is_empty() || !is_on(name) {
                continue;
            }
            let disabled: Vec<&'static str> =
                needs.iter().copied().filter(|need| !is_on(need)).collect();
            if !disabled.is_empty() {
                broken.push(FeatureGateProblem::NeedsDisabled { name, disabled });
            }
        }
        broken
    }

    /// Returns whether a gate is on with these settings; `own`: the gate, if kq's rules depend on it.
    fn resolve(self, name: &str, own: Option<Gate>, set: &BTreeMap<String, bool>) -> bool {
        let Some(state) = gate_state(name, self.version) else {
            return own.is_some_and(|gate| self.enabled(gate));
        };
        let for_all = match state.stage {
            Stage::Alpha => set.get("AllAlpha"),
            Stage::Beta => set.get("AllBeta"),
            Stage::Ga | Stage::Deprecated => None,
        };
        set.get(name)
            .or(for_all)
            .copied()
            .unwrap_or_else(|| own.map_or(state.default, |gate| self.enabled(gate)))
    }
}

/// Returns true if a name stands for many gates.
fn is_all(name: &str) -> bool {
    matches!(name, "AllAlpha" | "AllBeta")
}

/// Why the kubelet refuses its feature gates; the text is the kubelet's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureGateError {
    /// Each problem, all of one kind; never empty.
    pub problems: Vec<FeatureGateProblem>,
}

impl fmt::Display for FeatureGateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        match texts.as_slice() {
            [only] => f.write_str(only),
            several => write!(f, "[{}]", several.join(", ")),
        }
    }
}

impl std::error::Error for FeatureGateError {}

/// One reason to refuse feature gates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureGateProblem {
    /// The version does not recognise the gate.
    #[error("unrecognized feature gate: {name}")]
    Unrecognized {
        name: String,
        /// A suggestion.
        hint: Option<GateHint>,
    },
    /// The gate has only one value.
    #[error("cannot set feature gate {name} to {value}, feature is locked to {}", !value)]
    Locked {
        /// The gate.
        name: String,
        /// The requested value.
        value: bool,
    },
    /// The gate is on and something it needs is off.
    #[error("{name} is enabled, but depends on features that are disabled: [{}]", disabled.join(" "))]
    NeedsDisabled {
        /// The gate.
        name: &'static str,
        /// The gate that it depends on.
        disabled: Vec<&'static str>,
    },
}

impl FeatureGateProblem {
    pub fn gate(&self) -> &str {
        match self {
            Self::Unrecognized { name, .. } | Self::Locked { name, .. } => name,
            Self::NeedsDisabled { name, .. } => name,
        }
    }

    /// Returns the suggestion.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unrecognized { hint, .. } => hint.as_ref().map(ToString::to_string),
            _ => None,
        }
    }
}

/// A suggestion for an unrecognised gate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateHint {
    /// Other versions recognise it.
    #[error("{name} exists from 1.{first} to 1.{last}")]
    OtherVersions {
        name: &'static str,
        /// The first supported minor version that has it.
        first: u32,
        /// The last supported minor version that has it.
        last: u32,
    },
    /// A later patch of the same line recognises it.
    #[error("{name} exists from {since} on")]
    LaterPatch {
        name: &'static str,
        /// The first version of the line that has it.
        since: KubeletVersion,
    },
    /// A gate with a similar name.
    #[error("did you mean {0}?")]
    Nearest(&'static str),
}

/// Returns the problem of an unrecognised gate, with a suggestion.
fn unrecognized(name: &str, version: KubeletVersion) -> FeatureGateProblem {
    let elsewhere = table::GATES.iter().find(|(known, _)| *known == name);
    let hint = match elsewhere {
        Some((name, states)) if states[version.column()] != b'.' => version
            .gate_patch(name)
            .map(|patch| GateHint::LaterPatch { name, since: version.with_patch(patch.patch) }),
        Some((name, states)) => {
            let minors = |at: usize| table::FIRST_MINOR + at as u32;
            let first = states.iter().position(|letter| *letter != b'.').map(minors);
            let last = states.iter().rposition(|letter| *letter != b'.').map(minors);
            first.zip(last).map(|(first, last)| GateHint::OtherVersions { name, first, last })
        }
        None => {
            let here = table::GATES.iter().map(|(known, _)| *known);
            nearest(name, here.filter(|known| gate_state(known, version).is_some()))
                .map(GateHint::Nearest)
        }
    };
    FeatureGateProblem::Unrecognized { name: name.to_owned(), hint }
}

/// Why a `--feature-gates` text is refused; the texts are the kubelet's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseGatesError {
    /// A part without `=`.
    #[error("malformed pair, expect string=bool")]
    Malformed(String),
    /// A value that is neither true nor false.
    #[error("invalid value of {name}: {}, err: {error}", error.text)]
    Value {
        /// The gate.
        name: String,
        error: NumError,
    },
}

/// Reads `A=true,B=false`, as `component-base/cli/flag/map_string_bool.go` does.
pub fn parse_flag(text: &str) -> Result<BTreeMap<String, bool>, ParseGatesError> {
    let mut set = BTreeMap::new();
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| ParseGatesError::Malformed(pair.to_owned()))?;
        let name = name.trim().to_owned();
        match parse_bool(value.trim()) {
            Ok(value) => set.insert(name, value),
            Err(error) => return Err(ParseGatesError::Value { name, error }),
        };
    }
    Ok(set)
}

#[cfg(test)]
mod tests;
