//! Each rule that a configuration can break, in the version that has it.

use super::{CgroupMode, Source, aggregate, logging_errors, read, validate};
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::version::KubeletVersion;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn gates_of(config: &Value, minor: u32) -> FeatureGates {
    let set: BTreeMap<String, bool> =
        serde_json::from_value(config["featureGates"].clone()).unwrap_or_default();
    let gates = FeatureGates::for_version(KubeletVersion::new(1, minor));
    gates.with_overrides(&set).expect("gates that the version takes")
}

/// Returns a kubelet's error about a configuration, without the words that nearly all of them have.
fn reported(config: &Value, minor: u32) -> String {
    let version = KubeletVersion::new(1, minor);
    let given = read(config, Source::Flags, version).expect("a configuration").config;
    let errors = validate(&given, &gates_of(config, minor), CgroupMode::V2);
    aggregate(&errors).replace("invalid configuration: ", "")
}

#[test]
fn numbers_have_bounds() {
    for (field, value, expected) in [
        ("nodeLeaseDurationSeconds", -1, "nodeLeaseDurationSeconds must be greater than 0"),
        ("eventBurst", -1, "eventBurst (--event-burst) -1 must not be a negative number"),
        ("eventRecordQPS", -1, "eventRecordQPS (--event-qps) -1 must not be a negative number"),
        (
            "healthzPort",
            65536,
            "healthzPort (--healthz-port) 65536 must be between 1 and 65535, inclusive",
        ),
        ("healthzPort", 0, ""),
        (
            "iptablesDropBit",
            32,
            "iptablesDropBit (--iptables-drop-bit) 32 must be between 0 and 31, inclusive",
        ),
        (
            "iptablesMasqueradeBit",
            -1,
            "iptablesMasqueradeBit (--iptables-masquerade-bit) -1 must be between 0 and 31, inclusive",
        ),
        ("kubeAPIBurst", -1, "kubeAPIBurst (--kube-api-burst) -1 must not be a negative number"),
        ("kubeAPIQPS", -1, "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number"),
        (
            "nodeStatusMaxImages",
            -2,
            "nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater",
        ),
        ("maxOpenFiles", -1, "maxOpenFiles (--max-open-files) -1 must not be a negative number"),
        ("maxPods", -1, "maxPods (--max-pods) -1 must not be a negative number"),
        (
            "oomScoreAdj",
            1001,
            "oomScoreAdj (--oom-score-adj) 1001 must be between -1000 and 1000, inclusive",
        ),
        ("podsPerCore", -1, "podsPerCore (--pods-per-core) -1 must not be a negative number"),
        ("port", 65536, "port (--port) 65536 must be between 1 and 65535, inclusive"),
        ("port", 0, ""),
        (
            "readOnlyPort",
            -1,
            "readOnlyPort (--read-only-port) -1 must be between 0 and 65535, inclusive",
        ),
        ("registryBurst", -1, "registryBurst (--registry-burst) -1 must not be a negative number"),
        (
            "registryPullQPS",
            -1,
            "registryPullQPS (--registry-qps) -1 must not be a negative number",
        ),
        ("maxParallelImagePulls", 0, "maxParallelImagePulls 0 must be a positive number"),
        ("containerLogMaxWorkers", 0, "containerLogMaxWorkers must be greater than or equal to 1"),
        ("containerLogMaxFiles", 1, "containerLogMaxFiles must be greater than 1"),
    ] {
        assert_eq!(reported(&json!({ field: value }), 36), expected, "{field}");
    }
    assert_eq!(reported(&json!({"containerLogMaxFiles": 1}), 32), "", "a rule since 1.33");
}

#[test]
fn fields_have_values() {
    for (config, expected) in [
        (
            json!({"maxParallelImagePulls": 2, "serializeImagePulls": true}),
            "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls \
             (--serialize-image-pulls) is set to false",
        ),
        (json!({"maxParallelImagePulls": 2}), ""),
        (
            json!({"serverTLSBootstrap": true, "featureGates": {"RotateKubeletServerCertificate": false}}),
            "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate",
        ),
        (
            json!({"runOnce": true}),
            "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set",
        ),
        (
            json!({"registerWithTaints": [{"key": "a b", "effect": "NoSchedule"}]}),
            "invalid taint: {a b  NoSchedule <nil>}",
        ),
        (
            json!({"registerWithTaints": [{"key": "a", "effect": "Never"}]}),
            "invalid taint: {a  Never <nil>}",
        ),
        (
            json!({"topologyManagerScope": "node"}),
            "topologyManagerScope (--topology-manager-scope) \"node\" must be one of: \"container\", or \
             \"pod\"",
        ),
        (
            json!({"shutdownGracePeriod": "500ms"}),
            "shutdownGracePeriod {500ms} must be either zero or otherwise >= 1 sec",
        ),
        (
            json!({"shutdownGracePeriod": "10s", "featureGates": {"GracefulNodeShutdown": false,
                   "WindowsGracefulNodeShutdown": false,
                   "GracefulNodeShutdownBasedOnPodPriority": false}}),
            "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate \
             GracefulNodeShutdown",
        ),
        (
            json!({"shutdownGracePeriod": "10s", "shutdownGracePeriodByPodPriority": [{"priority": 1}]}),
            "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
        ),
        (
            json!({"shutdownGracePeriodByPodPriority": [{"priority": 1}],
                   "featureGates": {"GracefulNodeShutdownBasedOnPodPriority": false}}),
            "Specifying shutdownGracePeriodByPodPriority requires feature gate \
             GracefulNodeShutdownBasedOnPodPriority",
        ),
        (
            json!({"crashLoopBackOff": {"maxContainerRestartPeriod": "301s"}}),
            "CrashLoopBackOff.MaxContainerRestartPeriod (got: 301 seconds) must be set between 1s and 300s",
        ),
        (
            json!({"hairpinMode": "x"}),
            "option \"x\" specified for hairpinMode (--hairpin-mode). Valid options are \"none\", \
             \"hairpin-veth\" or \"promiscuous-bridge\"",
        ),
        (
            json!({"imagePullCredentialsVerificationPolicy": "x"}),
            "option \"x\" specified for imagePullCredentialsVerificationPolicy. Valid options are \
             \"NeverVerify\", \"NeverVerifyPreloadedImages\", \"NeverVerifyAllowlistedImages\" or \
             \"AlwaysVerify\"",
        ),
        (
            json!({"preloadedImagesVerificationAllowlist": ["a"]}),
            "can't set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` \
             is not \"NeverVerifyAllowlistedImages\"",
        ),
        (
            json!({"imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
                   "preloadedImagesVerificationAllowlist": ["r.example/a/*", "r.example/*/a"]}),
            "invalid image pattern in `preloadedImagesVerificationAllowlist`: not a valid wildcard pattern, \
             only patterns ending with '/*' are allowed: r.example/*/a",
        ),
        (
            json!({"reservedMemory": [{"numaNode": 0, "limits": {"cpu": "1", "memory": "0"}},
                   {"numaNode": 0, "limits": {"memory": "1Gi"}}]}),
            "[the limit type \"cpu\" for NUMA node 0 is not supported, only [memory \
             hugepages-<HugePageSize>] is accepted, reserved memory may not be zero for NUMA node 0 and \
             resource \"memory\", the reserved memory has a duplicate value for NUMA node 0 and resource \
             \"memory\"]",
        ),
        (
            json!({"userNamespaces": {"idsPerPod": 65537}}),
            "userNamespaces.idsPerPod must be a multiple of 65536",
        ),
        (
            json!({"showHiddenMetricsForVersion": "1.30"}),
            "invalid showHiddenMetricsForVersion: showHiddenMetricsForVersion: Invalid value: \"1.30\": must \
             be omitted or have the value '1.35'; only the previous minor version is allowed",
        ),
        (
            json!({"tracing": {"samplingRatePerMillion": -1}}),
            "tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive",
        ),
        (
            json!({"tracing": {"endpoint": "http://x"}}),
            "tracing.endpoint: Invalid value: \"http://x\": unsupported scheme: http.  Options are none, dns, \
             unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md",
        ),
        (
            json!({"enableSystemLogQuery": true, "enableSystemLogHandler": false}),
            "enableSystemLogHandler is required for enableSystemLogQuery",
        ),
        (
            json!({"containerLogMonitorInterval": "2s"}),
            "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s",
        ),
        (json!({"podLogsDir": "logs"}), "pod logs path \"logs\" must be absolute path"),
        (json!({"podLogsDir": "/var//log"}), "pod logs path \"/var//log\" must be normalized"),
        (
            json!({"podLogsDir": "/vär"}),
            "pod logs path \"/vär\" mut contains ASCII characters only",
        ),
    ] {
        assert_eq!(reported(&config, 36), expected, "{config}");
    }
}

#[test]
fn rules_come_and_go_with_versions() {
    let tracing = json!({"tracing": {}, "featureGates": {"KubeletTracing": false}});
    let expected = "tracing should not be configured if KubeletTracing feature flag is disabled.";
    assert_eq!(reported(&tracing, 33), expected);
    assert_eq!(reported(&json!({"tracing": {}}), 33), "");
    let period = json!({"crashLoopBackOff": {"maxContainerRestartPeriod": "60s"}});
    let expected = "FeatureGate KubeletCrashLoopBackOffMax not enabled, \
                    CrashLoopBackOff.MaxContainerRestartPeriod must not be set";
    assert_eq!(reported(&period, 34), expected);
    assert_eq!(reported(&period, 35), "");
    let policy = json!({"imagePullCredentialsVerificationPolicy": "NeverVerify"});
    let expected = "`imagePullCredentialsVerificationPolicy` must not be set if \
                    KubeletEnsureSecretPulledImages feature gate is not enabled";
    assert_eq!(reported(&policy, 34), expected);
    assert_eq!((reported(&policy, 32), reported(&policy, 35)), (String::new(), String::new()));
    let query = json!({"enableSystemLogQuery": true});
    assert_eq!(
        reported(&query, 35),
        "NodeLogQuery feature gate is required for enableSystemLogQuery"
    );
    assert_eq!(
        reported(&query, 34),
        "NodeLogQuery feature gate is required for enableSystemLogHandler"
    );
    assert_eq!(reported(&query, 36), "");
}

#[test]
fn the_log_is_set_up_before() {
    for (config, expected) in [
        (json!({"logging": {"format": "json"}}), ""),
        (
            json!({"logging": {"format": "xml"}}),
            "logging.format: Invalid value: \"xml\": Unsupported log format",
        ),
        (
            json!({"logging": {"format": "json"}, "featureGates": {"LoggingBetaOptions": false}}),
            "logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature",
        ),
        (
            json!({"logging": {"vmodule": [{"filePattern": "a=b", "verbosity": 1}]}}),
            "logging.vmodule[0]: Invalid value: \"a=b\": File pattern must not contain equal sign or comma",
        ),
    ] {
        let given = read(&config, Source::Flags, KubeletVersion::ASSUMED).expect("a configuration");
        let errors = logging_errors(&given.config, &gates_of(&config, 36));
        assert_eq!(errors.join("; "), expected, "{config}");
    }
}
