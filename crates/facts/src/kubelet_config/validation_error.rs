//! The rules that a configuration can break, in the kubelet's words.

use super::image_gc::ImageGcConfigError;
use kq_k8s::cpuset::ParseCpuSetError;
use kq_k8s::duration::GoDuration;
use kq_k8s::go_text::{float, quote};
use std::borrow::Cow;

/// A rule that a configuration breaks; the texts are the kubelet's.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the text of each variant describes it")]
pub enum ValidationError {
    #[error("invalid configuration: nodeLeaseDurationSeconds must be greater than 0")]
    NodeLease,
    #[error(
        "invalid configuration: systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified"
    )]
    SystemCgroupsWithoutRoot,
    #[error("invalid configuration: {field} {value} must not be a negative number")]
    Negative { field: &'static str, value: i64 },
    #[error("invalid configuration: {field} {value} must be between {low} and {high}, inclusive")]
    Range { field: &'static str, value: i64, low: i64, high: i64 },
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
    #[error(
        "invalid configuration: nodeStatusMaxImages (--node-status-max-images) {0} must be -1 or greater"
    )]
    NodeStatusMaxImages(i32),
    #[error("invalid configuration: maxParallelImagePulls {0} must be a positive number")]
    ParallelPullsPositive(i32),
    #[error(
        "invalid configuration: maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false"
    )]
    ParallelAndSerialPulls,
    #[error(
        "invalid configuration: serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate"
    )]
    ServerTlsBootstrapNeedsGate,
    #[error(
        "invalid configuration: runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"
    )]
    RunOnce,
    #[error("invalid taint: {{{key} {value} {effect} {}}}", time.as_deref().unwrap_or("<nil>"))]
    Taint {
        key: String,
        value: String,
        effect: String,
        /// `timeAdded`, as Go shows it.
        time: Option<String>,
    },
    #[error("invalid configuration: taint.TimeAdded is not nil")]
    TaintTime,
    #[error("invalid configuration: topologyManagerPolicy (--topology-manager-policy) {} must be one of: [\"none\" \"best-effort\" \"restricted\" \"single-numa-node\"]", quote(.0))]
    TopologyPolicy(String),
    #[error("invalid configuration: topologyManagerScope (--topology-manager-scope) {} must be one of: \"container\", or \"pod\"", quote(.0))]
    TopologyScope(String),
    #[error(
        "invalid configuration: shutdownGracePeriodCriticalPods {{{critical}}} must be <= shutdownGracePeriod {{{period}}}"
    )]
    ShutdownCriticalAbove { critical: GoDuration, period: GoDuration },
    #[error(
        "invalid configuration: {field} {{{period}}} must be either zero or otherwise >= 1 sec"
    )]
    ShutdownRange { field: &'static str, period: GoDuration },
    #[error(
        "invalid configuration: specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown"
    )]
    ShutdownNeedsGate,
    #[error(
        "invalid configuration: Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time"
    )]
    ShutdownBoth,
    #[error(
        "invalid configuration: Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority"
    )]
    ShutdownPriorityNeedsGate,
    #[error("invalid configuration: memorySwap.swapBehavior {} must be one of: \"\", \"LimitedSwap\" or \"NoSwap\"", quote(.0))]
    SwapBehavior(String),
    #[error(
        "invalid configuration: memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled"
    )]
    SwapNeedsGate,
    #[error("invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: {} seconds) must be set between 1s and 300s", float(.0.0 as f64 / 1e9))]
    RestartPeriodRange(GoDuration),
    #[error(
        "invalid configuration: FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set"
    )]
    RestartPeriodNeedsGate,
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
    #[error("invalid configuration: option {} specified for hairpinMode (--hairpin-mode). Valid options are \"none\", \"hairpin-veth\" or \"promiscuous-bridge\"", quote(.0))]
    HairpinMode(String),
    #[error("invalid configuration: option {} specified for imagePullCredentialsVerificationPolicy. Valid options are \"NeverVerify\", \"NeverVerifyPreloadedImages\", \"NeverVerifyAllowlistedImages\" or \"AlwaysVerify\"", quote(.0))]
    PullCredentials(String),
    #[error(
        "invalid configuration: can't set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not \"NeverVerifyAllowlistedImages\""
    )]
    AllowlistNeedsPolicy,
    #[error(
        "invalid configuration: invalid image pattern in `preloadedImagesVerificationAllowlist`: {0}"
    )]
    AllowlistPattern(ImagePatternError),
    #[error(
        "invalid configuration: `{0}` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled"
    )]
    PullCredentialsNeedGate(&'static str),
    #[error(
        "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
    )]
    ReservedCpusWithCgroup,
    #[error(
        "invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) {text}, error: {error}"
    )]
    ReservedCpus { text: String, error: ParseCpuSetError },
    #[error(
        "invalid configuration: the limit type {} for NUMA node {node} is not supported, only [memory hugepages-<HugePageSize>] is accepted",
        quote(resource)
    )]
    ReservedMemoryType { resource: String, node: i32 },
    #[error(
        "invalid configuration: reserved memory may not be zero for NUMA node {node} and resource {}",
        quote(resource)
    )]
    ReservedMemoryZero { resource: String, node: i32 },
    #[error(
        "invalid configuration: the reserved memory has a duplicate value for NUMA node {node} and resource {}",
        quote(resource)
    )]
    ReservedMemoryTwice { resource: String, node: i32 },
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
    #[error("invalid configuration: userNamespaces.idsPerPod must {0}")]
    IdsPerPod(&'static str),
    #[error(
        "invalid showHiddenMetricsForVersion: showHiddenMetricsForVersion: Invalid value: {}: must be omitted or have the value '{allowed}'; only the previous minor version is allowed",
        quote(given)
    )]
    HiddenMetrics { given: String, allowed: String },
    #[error(
        "--show-hidden-metrics-for-version must be omitted or have the value '{allowed}'. Only the previous minor version is allowed"
    )]
    HiddenMetricsFlag { allowed: String },
    #[error(
        "invalid configuration: tracing should not be configured if KubeletTracing feature flag is disabled."
    )]
    TracingNeedsGate,
    #[error("tracing.samplingRatePerMillion: Invalid value: {rate}: {problem}")]
    SamplingRate { rate: i32, problem: &'static str },
    #[error(
        "tracing.endpoint: Invalid value: {}: unsupported scheme: {scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md",
        quote(endpoint)
    )]
    TracingScheme { endpoint: String, scheme: String },
    #[error("tracing.endpoint: Invalid value: {}: {error}", quote(endpoint))]
    TracingUrl { endpoint: String, error: String },
    /// An error of the log settings, which an earlier check reports alone.
    #[error("{0}")]
    Logging(String),
    #[error("invalid configuration: memoryThrottlingFactor {} must be greater than 0 and less than or equal to 1.0", float(*.0))]
    ThrottlingFactor(f64),
    #[error(
        "invalid configuration: memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled"
    )]
    ThrottlingNeedsGate,
    #[error(
        "invalid configuration: DefaultPodSysctls feature gate is required for Kubelet configuration option defaultPodSysctls"
    )]
    DefaultSysctlsNeedGate,
    #[error("invalid configuration: {} is not a valid sysctl name for defaultPodSysctls", quote(.0))]
    DefaultSysctlName(String),
    #[error("invalid configuration: {} is not known to be namespaced for defaultPodSysctls", quote(.0))]
    DefaultSysctlNamespace(String),
    #[error("invalid configuration: duplicate sysctl {} found in defaultPodSysctls", quote(.0))]
    DefaultSysctlTwice(String),
    #[error("invalid configuration: memoryReservationPolicy {} requires MemoryQoS feature gate to be enabled", quote(.0))]
    PolicyNeedsGate(String),
    #[error("invalid configuration: option {} specified for memoryReservationPolicy. Valid options are \"None\" or \"TieredReservation\"", quote(.0))]
    Policy(String),
    #[error("invalid configuration: the containerRuntimeEndpoint was not specified or empty")]
    NoRuntimeEndpoint,
    #[error("invalid configuration: NodeLogQuery feature gate is required for {field}")]
    LogQueryNeedsGate { field: &'static str },
    #[error("invalid configuration: enableSystemLogHandler is required for enableSystemLogQuery")]
    LogQueryNeedsHandler,
    #[error("invalid configuration: containerLogMaxWorkers must be greater than or equal to 1")]
    LogWorkers,
    #[error(
        "invalid configuration: containerLogMonitorInterval must be a positive time duration greater than or equal to 3s"
    )]
    LogInterval,
    #[error("invalid configuration: containerLogMaxFiles must be greater than 1")]
    LogFiles,
    #[error("invalid configuration: pod logs path {} must be absolute path", quote(.0))]
    PodLogsRelative(String),
    #[error("invalid configuration: pod logs path {} must be normalized", quote(.0))]
    PodLogsUnclean(String),
    #[error("invalid configuration: pod logs path {} mut contains ASCII characters only", quote(.0))]
    PodLogsAscii(String),
}

/// Why a pattern of images is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text of each variant describes it")]
pub enum ImagePatternError {
    #[error("leading/trailing spaces are not allowed: {0}")]
    Spaces(String),
    #[error("the supplied pattern is too short: {0}")]
    Short(String),
    #[error("not a valid wildcard pattern, only patterns ending with '/*' are allowed: {0}")]
    Wildcard(String),
    #[error("at least registry hostname is required")]
    NoHost,
    #[error("failed to parse as an image name: {0}")]
    Name(Cow<'static, str>),
    #[error("neither tag nor digest is accepted in an image reference: {0}")]
    Tag(String),
}
