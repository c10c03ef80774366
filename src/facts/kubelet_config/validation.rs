//! The rules that a configuration must pass, as far as kq reads its fields.
//!
//! Order and texts: `pkg/kubelet/apis/config/validation/validation.go` and `validation_linux.go` of
//! Kubernetes 1.36; pinned by `tests/vectors/node_allocatable.jsonl`.

use super::defaults::effective;
use super::image_gc::{ImageGcConfigError, image_gc_errors};
use super::read::KubeletConfiguration;
use crate::k8s::cpuset::{CpuSet, ParseCpuSetError};
use crate::k8s::duration::GoDuration;
use crate::k8s::feature_gates::{FeatureGates, Gate};
use crate::k8s::go_text::{float, quote};

/// What the host's cgroup version is, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupMode {
    /// Version 1.
    V1,
    /// Version 2.
    V2,
    /// Not known: the rules about it are not applied.
    Unknown,
}

/// A rule that a configuration breaks; the texts are the kubelet's.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant is told by its text")]
pub enum ValidationError {
    #[error(
        "invalid configuration: systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified"
    )]
    SystemCgroupsWithoutRoot,
    #[error(
        "invalid configuration: cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{0}}} requires feature gate CustomCPUCFSQuotaPeriod"
    )]
    CfsPeriodNeedsGate(GoDuration),
    #[error(
        "invalid configuration: cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{0}}} must be between 1ms and 1sec, inclusive"
    )]
    CfsPeriodRange(GoDuration),
    #[error(transparent)]
    ImageGc(#[from] ImageGcConfigError),
    #[error("invalid configuration: maxPods (--max-pods) {0} must not be a negative number")]
    MaxPodsNegative(i32),
    #[error(
        "invalid configuration: podsPerCore (--pods-per-core) {0} must not be a negative number"
    )]
    PodsPerCoreNegative(i32),
    #[error("invalid configuration: memorySwap.swapBehavior {} must be one of: \"\", \"LimitedSwap\" or \"NoSwap\"", quote(.0))]
    SwapBehavior(String),
    #[error(
        "invalid configuration: memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled"
    )]
    SwapNeedsGate,
    #[error(
        "invalid configuration: both \"{0}\" and \"{0}-compressible\" cannot be specified together in enforceNodeAllocatable (--enforce-node-allocatable)"
    )]
    BothKinds(&'static str),
    #[error("invalid configuration: duplicated enforcements {} in enforceNodeAllocatable (--enforce-node-allocatable)", quote(.0))]
    Duplicate(String),
    #[error(
        "invalid configuration: {0}ReservedCgroup (--{0}-reserved-cgroup) must be specified when \"{0}-reserved\" or \"{0}-reserved-compressible\" included in enforceNodeAllocatable (--enforce-node-allocatable)"
    )]
    NoReservedCgroup(&'static str),
    #[error(
        "invalid configuration: enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when \"none\" is specified"
    )]
    NoneIsNotAlone,
    #[error("invalid configuration: option {} specified for enforceNodeAllocatable (--enforce-node-allocatable). Valid options are \"pods\", \"system-reserved\", \"system-reserved-compressible\", \"kube-reserved\", \"kube-reserved-compressible\" or \"none\"", quote(.0))]
    UnknownEnforcement(String),
    #[error("invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when {} contained in enforceNodeAllocatable (--enforce-node-allocatable)", quote(.0))]
    NeedsCgroupsPerQos(String),
    #[error(
        "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
    )]
    ReservedCpusWithCgroup,
    #[error(
        "invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) {text}, error: {error}"
    )]
    ReservedCpus { text: String, error: ParseCpuSetError },
    #[error(
        "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode"
    )]
    CgroupV1Maintenance,
    #[error(
        "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release"
    )]
    CgroupV1Unsupported,
    #[error(
        "invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1"
    )]
    SingleProcessOomKill,
    #[error("invalid configuration: memoryThrottlingFactor {} must be greater than 0 and less than or equal to 1.0", float(*.0))]
    ThrottlingFactor(f64),
    #[error("invalid configuration: memoryReservationPolicy {} requires MemoryQoS feature gate to be enabled", quote(.0))]
    PolicyNeedsGate(String),
    #[error("invalid configuration: option {} specified for memoryReservationPolicy. Valid options are \"None\" or \"TieredReservation\"", quote(.0))]
    Policy(String),
}

/// Returns every rule that the configuration breaks, in the kubelet's order.
///
/// The gates are those that result from the configuration; their version decides the defaults.
pub fn validate(
    config: &KubeletConfiguration,
    gates: &FeatureGates,
    cgroups: CgroupMode,
) -> Vec<ValidationError> {
    let version = gates.version().known().used();
    let config = effective(config, version);
    let mut errors = Vec::new();
    let mut check = |broken: bool, error: ValidationError| {
        if broken {
            errors.push(error);
        }
    };
    check(
        !config.system_cgroups.is_empty() && config.cgroup_root.is_empty(),
        ValidationError::SystemCgroupsWithoutRoot,
    );
    let period = config.cpu_cfs_quota_period;
    if gates.enabled(Gate::CustomCpuCfsQuotaPeriod) {
        let allowed = GoDuration::MILLISECOND..=GoDuration::SECOND;
        check(!allowed.contains(&period), ValidationError::CfsPeriodRange(period));
    } else {
        let changed = period.0 != 100 * GoDuration::MILLISECOND.0;
        check(changed, ValidationError::CfsPeriodNeedsGate(period));
    }
    for error in image_gc_errors(&config, gates) {
        check(true, error.into());
    }
    check(config.max_pods < 0, ValidationError::MaxPodsNegative(config.max_pods));
    check(config.pods_per_core < 0, ValidationError::PodsPerCoreNegative(config.pods_per_core));
    let swap = &config.swap_behavior;
    if gates.enabled(Gate::NodeSwap) {
        let known = matches!(swap.as_str(), "" | "NoSwap" | "LimitedSwap");
        check(!known, ValidationError::SwapBehavior(swap.clone()));
    } else {
        check(!swap.is_empty(), ValidationError::SwapNeedsGate);
    }
    let enforced = &config.enforce_node_allocatable;
    for kind in ["system-reserved", "kube-reserved"] {
        let compressible = format!("{kind}-compressible");
        let both = enforced.iter().any(|key| key == kind) && enforced.contains(&compressible);
        check(both, ValidationError::BothKinds(kind));
    }
    for (at, key) in enforced.iter().enumerate() {
        if enforced[..at].contains(key) {
            check(true, ValidationError::Duplicate(key.clone()));
            continue;
        }
        match key.as_str() {
            "pods" => {}
            "system-reserved" | "system-reserved-compressible" => check(
                config.system_reserved_cgroup.is_empty(),
                ValidationError::NoReservedCgroup("system"),
            ),
            "kube-reserved" | "kube-reserved-compressible" => check(
                config.kube_reserved_cgroup.is_empty(),
                ValidationError::NoReservedCgroup("kube"),
            ),
            "none" => {
                check(enforced.len() > 1, ValidationError::NoneIsNotAlone);
                continue;
            }
            _ => {
                check(true, ValidationError::UnknownEnforcement(key.clone()));
                continue;
            }
        }
        check(!config.cgroups_per_qos, ValidationError::NeedsCgroupsPerQos(key.clone()));
    }
    let cpus = &config.reserved_system_cpus;
    if !cpus.is_empty() {
        check(
            !config.system_reserved_cgroup.is_empty() || !config.kube_reserved_cgroup.is_empty(),
            ValidationError::ReservedCpusWithCgroup,
        );
        if let Err(error) = cpus.parse::<CpuSet>() {
            check(true, ValidationError::ReservedCpus { text: cpus.clone(), error });
        }
    }
    if cgroups == CgroupMode::V1 {
        // The kubelet reports at most one of these.
        let unsupported = version.at_least(35);
        check(config.fail_cgroup_v1 && unsupported, ValidationError::CgroupV1Unsupported);
        check(config.fail_cgroup_v1 && !unsupported, ValidationError::CgroupV1Maintenance);
        check(
            !config.fail_cgroup_v1 && config.single_process_oom_kill == Some(false),
            ValidationError::SingleProcessOomKill,
        );
    }
    let factor = config.memory_throttling_factor;
    check(!(factor > 0.0 && factor <= 1.0), ValidationError::ThrottlingFactor(factor));
    if version.at_least(36) {
        let policy = config.memory_reservation_policy;
        let tiered = policy == "TieredReservation";
        check(
            tiered && !gates.enabled(Gate::MemoryQos),
            ValidationError::PolicyNeedsGate(policy.clone()),
        );
        check(!tiered && policy != "None", ValidationError::Policy(policy));
    }
    errors
}

/// Returns the text in which the kubelet reports errors: one alone, several as `[a, b]`, none twice.
pub fn aggregate(errors: &[ValidationError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [only] => only.clone(),
        [] => String::new(),
        several => format!("[{}]", several.join(", ")),
    }
}
