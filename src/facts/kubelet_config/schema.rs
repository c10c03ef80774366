//! Every field of a KubeletConfiguration and what it may hold.
//!
//! Read from `staging/src/k8s.io/kubelet/config/v1beta1/types.go` and, for `logging` and `tracing`,
//! from `component-base`.
//!
//! The lists of reserved resources, which the configuration holds as text.
//!
//! Rules and texts: `parseResourceList` in `cmd/kubelet/app/server.go`, `ParseQOSReserved` in
//! `pkg/kubelet/cm/container_manager.go`. The kubelet looks at a list in random order, kq in the order
//! of the names.

use crate::k8s::go_text::quote;
use crate::k8s::pod::{ResourceList, ResourceName};
use crate::k8s::quantity::{ParseQuantityError, Quantity};
use std::collections::BTreeMap;

/// What a field may hold; `null` always means absent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Bool,
    Int32,
    Int64,
    Number,
    Duration,
    /// A duration, or a number of nanoseconds.
    DurationOrNumber,
    /// A quantity, as text or number.
    Amount,
    /// A list of one kind.
    List(&'static Kind),
    /// Free names, values of one kind.
    Map(&'static Kind),
    Object(&'static [Field]),
}

/// A field: its name, what it may hold, and the minor version that introduced it.
pub(super) type Field = (&'static str, Kind, u32);

/// Returns the parts of a field's path such as `evictionHard.memory.available`, where a free name keeps
/// its dots, and whether the field holds text (durations and amounts among it).
pub fn path_parts(path: &str) -> (Vec<&str>, bool) {
    let mut parts = Vec::new();
    let mut rest = path;
    let mut kind = Kind::Object(FIELDS);
    loop {
        match kind {
            Kind::Object(fields) => {
                let (name, below) = rest.split_once('.').unwrap_or((rest, ""));
                parts.push(name);
                rest = below;
                kind = match fields.iter().find(|(field, ..)| *field == name) {
                    Some((_, kind, _)) => *kind,
                    // Unknown: the strict reader will say so, whatever the parts are.
                    None => Kind::Object(&[]),
                };
            }
            Kind::Map(of) if !rest.is_empty() => {
                parts.push(rest);
                rest = "";
                kind = *of;
            }
            _ => break,
        }
        if rest.is_empty() {
            break;
        }
    }
    if !rest.is_empty() {
        // Below a field that has nothing below it: the strict reader will say so.
        parts.push(rest);
    }
    let text = matches!(kind, Kind::Text | Kind::Duration | Kind::DurationOrNumber | Kind::Amount);
    (parts, text && rest.is_empty())
}

use Kind::*;

const TEXTS: Kind = List(&Text);
const TEXT_MAP: Kind = Map(&Text);

#[rustfmt::skip]
pub(super) const FIELDS: &[Field] = &[
    ("address", Text, 0),
    ("allowedUnsafeSysctls", TEXTS, 0),
    ("apiVersion", Text, 0),
    ("authentication", Object(&[
        ("anonymous", Object(&[("enabled", Bool, 0)]), 0),
        ("webhook", Object(&[("cacheTTL", Duration, 0), ("enabled", Bool, 0)]), 0),
        ("x509", Object(&[("clientCAFile", Text, 0)]), 0),
    ]), 0),
    ("authorization", Object(&[
        ("mode", Text, 0),
        ("webhook", Object(&[
            ("cacheAuthorizedTTL", Duration, 0),
            ("cacheUnauthorizedTTL", Duration, 0),
        ]), 0),
    ]), 0),
    ("cgroupDriver", Text, 0),
    ("cgroupRoot", Text, 0),
    ("cgroupsPerQOS", Bool, 0),
    ("clusterDNS", TEXTS, 0),
    ("clusterDomain", Text, 0),
    ("configMapAndSecretChangeDetectionStrategy", Text, 0),
    ("containerLogMaxFiles", Int32, 0),
    ("containerLogMaxSize", Text, 0),
    ("containerLogMaxWorkers", Int32, 0),
    ("containerLogMonitorInterval", Duration, 0),
    ("containerRuntimeEndpoint", Text, 0),
    ("contentType", Text, 0),
    ("cpuCFSQuota", Bool, 0),
    ("cpuCFSQuotaPeriod", Duration, 0),
    ("cpuManagerPolicy", Text, 0),
    ("cpuManagerPolicyOptions", TEXT_MAP, 0),
    ("cpuManagerReconcilePeriod", Duration, 0),
    ("crashLoopBackOff", Object(&[("maxContainerRestartPeriod", Duration, 0)]), 0),
    ("enableContentionProfiling", Bool, 0),
    ("enableControllerAttachDetach", Bool, 0),
    ("enableDebugFlagsHandler", Bool, 0),
    ("enableDebuggingHandlers", Bool, 0),
    ("enableProfilingHandler", Bool, 0),
    ("enableServer", Bool, 0),
    ("enableSystemLogHandler", Bool, 0),
    ("enableSystemLogQuery", Bool, 0),
    ("enforceNodeAllocatable", TEXTS, 0),
    ("eventBurst", Int32, 0),
    ("eventRecordQPS", Int32, 0),
    ("evictionHard", TEXT_MAP, 0),
    ("evictionMaxPodGracePeriod", Int32, 0),
    ("evictionMinimumReclaim", TEXT_MAP, 0),
    ("evictionPressureTransitionPeriod", Duration, 0),
    ("evictionSoft", TEXT_MAP, 0),
    ("evictionSoftGracePeriod", TEXT_MAP, 0),
    ("failCgroupV1", Bool, 0),
    ("failSwapOn", Bool, 0),
    ("featureGates", Map(&Bool), 0),
    ("fileCheckFrequency", Duration, 0),
    ("hairpinMode", Text, 0),
    ("healthzBindAddress", Text, 0),
    ("healthzPort", Int32, 0),
    ("httpCheckFrequency", Duration, 0),
    ("imageGCHighThresholdPercent", Int32, 0),
    ("imageGCLowThresholdPercent", Int32, 0),
    ("imageMaximumGCAge", Duration, 0),
    ("imageMinimumGCAge", Duration, 0),
    ("imagePullCredentialsVerificationPolicy", Text, 33),
    ("imageServiceEndpoint", Text, 0),
    ("iptablesDropBit", Int32, 0),
    ("iptablesMasqueradeBit", Int32, 0),
    ("kernelMemcgNotification", Bool, 0),
    ("kind", Text, 0),
    ("kubeAPIBurst", Int32, 0),
    ("kubeAPIQPS", Int32, 0),
    ("kubeReserved", TEXT_MAP, 0),
    ("kubeReservedCgroup", Text, 0),
    ("kubeletCgroups", Text, 0),
    ("localStorageCapacityIsolation", Bool, 0),
    ("logging", Object(&[
        ("flushFrequency", DurationOrNumber, 0),
        ("format", Text, 0),
        ("options", Object(&[
            ("json", Object(&[("infoBufferSize", Amount, 0), ("splitStream", Bool, 0)]), 0),
            ("text", Object(&[("infoBufferSize", Amount, 0), ("splitStream", Bool, 0)]), 0),
        ]), 0),
        ("verbosity", Int64, 0),
        ("vmodule", List(&Object(&[("filePattern", Text, 0), ("verbosity", Int64, 0)])), 0),
    ]), 0),
    ("makeIPTablesUtilChains", Bool, 0),
    ("maxOpenFiles", Int64, 0),
    ("maxParallelImagePulls", Int32, 0),
    ("maxPods", Int32, 0),
    ("memoryManagerPolicy", Text, 0),
    ("memoryReservationPolicy", Text, 36),
    ("memorySwap", Object(&[("swapBehavior", Text, 0)]), 0),
    ("memoryThrottlingFactor", Number, 0),
    ("mergeDefaultEvictionSettings", Bool, 33),
    ("nodeLeaseDurationSeconds", Int32, 0),
    ("nodeStatusMaxImages", Int32, 0),
    ("nodeStatusReportFrequency", Duration, 0),
    ("nodeStatusUpdateFrequency", Duration, 0),
    ("oomScoreAdj", Int32, 0),
    ("podCIDR", Text, 0),
    ("podLogsDir", Text, 0),
    ("podPidsLimit", Int64, 0),
    ("podsPerCore", Int32, 0),
    ("port", Int32, 0),
    ("preloadedImagesVerificationAllowlist", TEXTS, 33),
    ("protectKernelDefaults", Bool, 0),
    ("providerID", Text, 0),
    ("qosReserved", TEXT_MAP, 0),
    ("readOnlyPort", Int32, 0),
    ("registerNode", Bool, 0),
    ("registerWithTaints", List(&Object(&[
        ("effect", Text, 0), ("key", Text, 0), ("timeAdded", Text, 0), ("value", Text, 0),
    ])), 0),
    ("registryBurst", Int32, 0),
    ("registryPullQPS", Int32, 0),
    ("reservedMemory", List(&Object(&[
        ("limits", Map(&Amount), 0), ("numaNode", Int32, 0),
    ])), 0),
    ("reservedSystemCPUs", Text, 0),
    ("resolvConf", Text, 0),
    ("rotateCertificates", Bool, 0),
    ("runOnce", Bool, 0),
    ("runtimeRequestTimeout", Duration, 0),
    ("seccompDefault", Bool, 0),
    ("serializeImagePulls", Bool, 0),
    ("serverTLSBootstrap", Bool, 0),
    ("showHiddenMetricsForVersion", Text, 0),
    ("shutdownGracePeriod", Duration, 0),
    ("shutdownGracePeriodByPodPriority", List(&Object(&[
        ("priority", Int32, 0), ("shutdownGracePeriodSeconds", Int64, 0),
    ])), 0),
    ("shutdownGracePeriodCriticalPods", Duration, 0),
    ("singleProcessOOMKill", Bool, 0),
    ("staticPodPath", Text, 0),
    ("staticPodURL", Text, 0),
    ("staticPodURLHeader", Map(&TEXTS), 0),
    ("streamingConnectionIdleTimeout", Duration, 0),
    ("syncFrequency", Duration, 0),
    ("systemCgroups", Text, 0),
    ("systemReserved", TEXT_MAP, 0),
    ("systemReservedCgroup", Text, 0),
    ("tlsCertFile", Text, 0),
    ("tlsCipherSuites", TEXTS, 0),
    ("tlsMinVersion", Text, 0),
    ("tlsPrivateKeyFile", Text, 0),
    ("topologyManagerPolicy", Text, 0),
    ("topologyManagerPolicyOptions", TEXT_MAP, 0),
    ("topologyManagerScope", Text, 0),
    ("tracing", Object(&[("endpoint", Text, 0), ("samplingRatePerMillion", Int32, 0)]), 0),
    ("userNamespaces", Object(&[("idsPerPod", Int64, 0)]), 33),
    ("volumePluginDir", Text, 0),
    ("volumeStatsAggPeriod", Duration, 0),
];

/// Why a list of reserved resources is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("--{flag} value failed to parse: {problem}")]
pub struct ReservedError {
    /// The flag that the kubelet names: `kube-reserved` or `system-reserved`.
    pub flag: String,
    /// What is wrong.
    pub problem: ReservedProblem,
}

/// What is wrong with a list of reserved resources.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReservedProblem {
    /// A resource that cannot be reserved.
    #[error("cannot reserve {} resource", quote(.0))]
    Resource(String),
    /// An amount that is no quantity.
    #[error("failed to parse quantity {} for {} resource: {error}", quote(text), quote(name))]
    Quantity {
        /// The resource.
        name: String,
        /// The amount.
        text: String,
        /// Why it is none.
        error: ParseQuantityError,
    },
    /// An amount below zero.
    #[error("resource quantity for {} cannot be negative: {text}", quote(name))]
    Negative {
        /// The resource.
        name: String,
        /// The amount.
        text: String,
    },
}

/// Reads `kubeReserved` or `systemReserved`; an empty list counts as absent.
///
/// `flag` is `kube-reserved` or `system-reserved`, for the error.
pub fn parse_reserved_list(
    flag: &str,
    list: &BTreeMap<String, String>,
) -> Result<ResourceList, ReservedError> {
    let refuse = |problem| ReservedError { flag: flag.to_owned(), problem };
    let mut parsed = ResourceList::default();
    for (name, text) in list {
        let (name, text) = (name.clone(), text.clone());
        if !matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage" | "pid") {
            return Err(refuse(ReservedProblem::Resource(name)));
        }
        match text.parse::<Quantity>() {
            Err(error) => return Err(refuse(ReservedProblem::Quantity { name, text, error })),
            Ok(amount) if amount.sign() < 0 => {
                return Err(refuse(ReservedProblem::Negative { name, text }));
            }
            Ok(amount) => parsed.insert(ResourceName::from(name.as_str()), amount),
        }
    }
    Ok(parsed)
}

/// Why `qosReserved` is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QosReservedError {
    /// A resource other than memory.
    #[error("cannot reserve {} resource", quote(.0))]
    Resource(String),
    /// Not a percentage.
    #[error("failed to parse percentage {} for \"memory\" resource: percentage expected, got '{}'", quote(.0), .0)]
    NoPercent(String),
    /// Not a number.
    #[error("failed to parse percentage {} for \"memory\" resource: invalid number in percentage '{}'", quote(.0), .0)]
    Number(String),
    /// Not from 0 to 100.
    #[error("failed to parse percentage {} for \"memory\" resource: percentage must be between 0 and 100", quote(.0))]
    Range(String),
}

impl QosReservedError {
    /// Returns the text with which the kubelet refuses to start.
    pub fn startup_text(&self) -> String {
        format!("--qos-reserved value failed to parse: {self}")
    }
}

/// Reads `qosReserved`: the percentage of memory, if there is one.
pub fn parse_qos_reserved(list: &BTreeMap<String, String>) -> Result<Option<u8>, QosReservedError> {
    let mut percentage = None;
    for (name, text) in list {
        if name != "memory" {
            return Err(QosReservedError::Resource(name.clone()));
        }
        if !text.ends_with('%') {
            return Err(QosReservedError::NoPercent(text.clone()));
        }
        let number: i64 = text
            .trim_end_matches('%')
            .parse()
            .map_err(|_| QosReservedError::Number(text.clone()))?;
        let in_range = u8::try_from(number).ok().filter(|number| *number <= 100);
        percentage = Some(in_range.ok_or_else(|| QosReservedError::Range(text.clone()))?);
    }
    Ok(percentage)
}
