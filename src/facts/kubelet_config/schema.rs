//! Every field of a KubeletConfiguration and what it may hold.
//!
//! Read from `staging/src/k8s.io/kubelet/config/v1beta1/types.go` and, for `logging` and `tracing`,
//! from `component-base`.

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
