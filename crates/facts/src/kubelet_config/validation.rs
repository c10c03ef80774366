//! The rules that a configuration must pass.
//!
//! Order and texts: `ValidateKubeletConfiguration` in `pkg/kubelet/apis/config/validation/validation.go`,
//! `validation_reserved_memory.go` and `validation_linux.go` of Kubernetes 1.36, and what differs from 1.32
//! on; pinned by `tests/vectors/node_allocatable.jsonl`. What the kubelet's own defaults or an earlier check
//! rule out is left out: the gates, an empty endpoint or folder, and `logging`.
//!
//! Pinned by `kubelet_config_validate.jsonl`.

use super::defaults::{defaults, effective};
use super::go_time;
use super::go_url;
use super::image_gc::image_gc_errors;
use super::image_name::image_pattern_error;
use super::logging::logging_errors;
use super::read::{KubeletConfiguration, MemoryReservation, Taint};
use super::validation_error::ValidationError;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::go_text;
use kq_k8s::sysctl;
use kq_k8s::validation::{is_label_value, is_qualified_name};
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeSet;

/// The host's cgroup version, if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupMode {
    V1,
    V2,
    /// Not known: the rules about it are not applied.
    Unknown,
}

/// The rules that are broken so far.
struct Broken(Vec<ValidationError>);

impl Broken {
    fn check(&mut self, broken: bool, error: ValidationError) {
        if broken {
            self.0.push(error);
        }
    }

    fn not_negative(&mut self, field: &'static str, value: impl Into<i64>) {
        let value = value.into();
        self.check(value < 0, ValidationError::Negative { field, value });
    }

    fn within(&mut self, field: &'static str, value: i32, low: i64, high: i64) {
        let value = i64::from(value);
        let error = ValidationError::Range { field, value, low, high };
        self.check(!(low..=high).contains(&value), error);
    }
}

/// Returns every rule that the configuration breaks, in the kubelet's order.
///
/// The gates are those that result from the configuration; their version decides the defaults. The log settings are
/// left out: the kubelet ends with their errors before ([`logging_errors`]).
pub fn validate(
    given: &KubeletConfiguration,
    gates: &FeatureGates,
    cgroups: CgroupMode,
) -> Vec<ValidationError> {
    without_logging(validate_with_logging(given, gates, cgroups, &BTreeSet::new()))
}

/// As [`validate`]; the flags have set these fields, of which a zero or an empty text is no absent field then.
pub fn validate_with_flags(
    given: &KubeletConfiguration,
    gates: &FeatureGates,
    cgroups: CgroupMode,
    by_flag: &BTreeSet<&'static str>,
) -> Vec<ValidationError> {
    without_logging(validate_with_logging(given, gates, cgroups, by_flag))
}

fn without_logging(mut errors: Vec<ValidationError>) -> Vec<ValidationError> {
    errors.retain(|error| !matches!(error, ValidationError::Logging(_)));
    errors
}

/// Returns every rule that the configuration breaks, those of the log settings among them
/// (`ValidateKubeletConfiguration`).
pub fn validate_with_logging(
    given: &KubeletConfiguration,
    gates: &FeatureGates,
    cgroups: CgroupMode,
    by_flag: &BTreeSet<&'static str>,
) -> Vec<ValidationError> {
    let version = gates.version().known().used();
    let config = effective(given, version);
    let absent = defaults(version);
    let pointer = |given: Option<i32>, absent: Option<i32>| given.or(absent).unwrap_or_default();
    // Of these the kubelet takes a zero for an absent field, unless a flag has set it.
    let plain = |field: &str, given: Option<i32>, absent| {
        pointer(given.filter(|number| *number != 0 || by_flag.contains(field)), absent)
    };
    let is_emptied =
        |field: &str, text: &Option<String>| by_flag.contains(field) && text.as_deref() == Some("");
    let mut broken = Broken(Vec::new());
    let lease = plain(
        "nodeLeaseDurationSeconds",
        given.node_lease_duration_seconds,
        absent.node_lease_duration_seconds,
    );
    broken.check(lease <= 0, ValidationError::NodeLease);
    broken.check(
        !config.system_cgroups.is_empty() && config.cgroup_root.is_empty(),
        ValidationError::SystemCgroupsWithoutRoot,
    );
    broken.not_negative(
        "eventBurst (--event-burst)",
        plain("eventBurst", given.event_burst, absent.event_burst),
    );
    let event_qps = pointer(given.event_record_qps, absent.event_record_qps);
    broken.not_negative("eventRecordQPS (--event-qps)", event_qps);
    let healthz_port = pointer(given.healthz_port, absent.healthz_port);
    if healthz_port != 0 {
        broken.within("healthzPort (--healthz-port)", healthz_port, 1, 65535);
    }
    let period = config.cpu_cfs_quota_period;
    if gates.enabled(Gate::CustomCpuCfsQuotaPeriod) {
        let allowed = GoDuration::MILLISECOND..=GoDuration::SECOND;
        broken.check(!allowed.contains(&period), ValidationError::CfsPeriodRange(period));
    } else {
        let changed = period.0 != 100 * GoDuration::MILLISECOND.0;
        broken.check(changed, ValidationError::CfsPeriodNeedsGate(period));
    }
    broken.0.extend(image_gc_errors(&config, gates).into_iter().map(ValidationError::from));
    let drop_bit = pointer(given.iptables_drop_bit, absent.iptables_drop_bit);
    broken.within("iptablesDropBit (--iptables-drop-bit)", drop_bit, 0, 31);
    let masquerade_bit = pointer(given.iptables_masquerade_bit, absent.iptables_masquerade_bit);
    broken.within("iptablesMasqueradeBit (--iptables-masquerade-bit)", masquerade_bit, 0, 31);
    let api_burst = plain("kubeAPIBurst", given.kube_api_burst, absent.kube_api_burst);
    broken.not_negative("kubeAPIBurst (--kube-api-burst)", api_burst);
    let api_qps = pointer(given.kube_api_qps, absent.kube_api_qps);
    broken.not_negative("kubeAPIQPS (--kube-api-qps)", api_qps);
    let images = pointer(given.node_status_max_images, absent.node_status_max_images);
    broken.check(images < -1, ValidationError::NodeStatusMaxImages(images));
    let open_files = given.max_open_files.unwrap_or_default();
    broken.not_negative("maxOpenFiles (--max-open-files)", open_files);
    broken.not_negative("maxPods (--max-pods)", config.max_pods);
    let oom_score = pointer(given.oom_score_adj, absent.oom_score_adj);
    broken.within("oomScoreAdj (--oom-score-adj)", oom_score, -1000, 1000);
    broken.not_negative("podsPerCore (--pods-per-core)", config.pods_per_core);
    broken.within("port (--port)", plain("port", given.port, absent.port), 1, 65535);
    broken.within("readOnlyPort (--read-only-port)", given.read_only_port.unwrap_or(0), 0, 65535);
    let registry_burst = plain("registryBurst", given.registry_burst, absent.registry_burst);
    broken.not_negative("registryBurst (--registry-burst)", registry_burst);
    let registry_qps = pointer(given.registry_pull_qps, absent.registry_pull_qps);
    broken.not_negative("registryPullQPS (--registry-qps)", registry_qps);
    pulls(given, &mut broken);
    broken.check(
        given.server_tls_bootstrap == Some(true)
            && !gates.enabled(Gate::RotateKubeletServerCertificate),
        ValidationError::ServerTlsBootstrapNeedsGate,
    );
    broken.check(given.run_once == Some(true), ValidationError::RunOnce);
    for taint in given.register_with_taints.iter().flatten() {
        check_taint(taint, &mut broken);
    }
    let emptied = String::new();
    let policy = match is_emptied("topologyManagerPolicy", &given.topology_manager_policy) {
        true => &emptied,
        false => &config.topology_manager_policy,
    };
    let known = ["none", "best-effort", "restricted", "single-numa-node"];
    let is_known = known.contains(&policy.as_str());
    broken.check(!is_known, ValidationError::TopologyPolicy(policy.clone()));
    let scope = match is_emptied("topologyManagerScope", &given.topology_manager_scope) {
        true => &emptied,
        false => &config.topology_manager_scope,
    };
    let is_known = matches!(scope.as_str(), "container" | "pod");
    broken.check(!is_known, ValidationError::TopologyScope(scope.clone()));
    shutdown(given, gates, &mut broken);
    let swap = &config.swap_behavior;
    if gates.enabled(Gate::NodeSwap) {
        let known = matches!(swap.as_str(), "" | "NoSwap" | "LimitedSwap");
        broken.check(!known, ValidationError::SwapBehavior(swap.clone()));
    } else {
        broken.check(!swap.is_empty(), ValidationError::SwapNeedsGate);
    }
    restart_period(given, gates, &mut broken);
    enforcements(&config.enforce_node_allocatable, &config, &mut broken);
    let hairpin = given.hairpin_mode.as_deref().unwrap_or_default();
    let known = matches!(hairpin, "none" | "hairpin-veth" | "promiscuous-bridge")
        || (hairpin.is_empty() && !by_flag.contains("hairpinMode"));
    broken.check(!known, ValidationError::HairpinMode(hairpin.to_owned()));
    if version.checks_pull_credentials() {
        pull_credentials(given, gates, &mut broken);
    }
    let cpus = &config.reserved_system_cpus;
    if !cpus.is_empty() {
        broken.check(
            !config.system_reserved_cgroup.is_empty() || !config.kube_reserved_cgroup.is_empty(),
            ValidationError::ReservedCpusWithCgroup,
        );
        if let Err(error) = cpus.parse::<CpuSet>() {
            broken.check(true, ValidationError::ReservedCpus { text: cpus.clone(), error });
        }
    }
    reserved_memory(given.reserved_memory.as_deref().unwrap_or_default(), &mut broken);
    broken.0.extend(of_the_system(given, version, cgroups, config.fail_cgroup_v1));
    let hidden = given.show_hidden_metrics_for_version.as_deref().unwrap_or_default();
    let allowed = format!("{}.{}", version.major, version.minor - 1);
    let is_refused = !hidden.is_empty() && hidden != allowed;
    let error = match version.names_field_of_hidden_metrics() {
        true => ValidationError::HiddenMetrics { given: hidden.to_owned(), allowed },
        false => ValidationError::HiddenMetricsFlag { allowed },
    };
    broken.check(is_refused, error);
    broken.0.extend(logging_errors(given, gates).into_iter().map(ValidationError::Logging));
    tracing(given, version, gates, &mut broken);
    if let Some(factor) = config.memory_throttling_factor {
        let is_refused = version.throttles_only_on_demand() && !gates.enabled(Gate::MemoryQos);
        // The former default is let through.
        broken.check(is_refused && factor != 0.9, ValidationError::ThrottlingNeedsGate);
        broken.check(!(factor > 0.0 && factor <= 1.0), ValidationError::ThrottlingFactor(factor));
    }
    if version.checks_memory_reservation_policy() {
        let policy = config.memory_reservation_policy;
        let tiered = policy == "TieredReservation";
        broken.check(
            tiered && !gates.enabled(Gate::MemoryQos),
            ValidationError::PolicyNeedsGate(policy.clone()),
        );
        broken.check(!tiered && policy != "None", ValidationError::Policy(policy));
    }
    default_sysctls(given, version, gates, &mut broken);
    let endpoint = &given.container_runtime_endpoint;
    broken.check(
        is_emptied("containerRuntimeEndpoint", endpoint),
        ValidationError::NoRuntimeEndpoint,
    );
    logs(given, absent, version, gates, &mut broken);
    broken.0
}

fn pulls(given: &KubeletConfiguration, broken: &mut Broken) {
    let Some(parallel) = given.max_parallel_image_pulls else { return };
    broken.check(parallel < 1, ValidationError::ParallelPullsPositive(parallel));
    // Without a word, several at a time are enough to switch this off.
    let is_serial = given.serialize_image_pulls.unwrap_or(parallel < 2);
    broken.check(is_serial && parallel > 1, ValidationError::ParallelAndSerialPulls);
}

/// Checks the sysctls of all sandboxes, in the order of their names.
fn default_sysctls(
    given: &KubeletConfiguration,
    version: KubeletVersion,
    gates: &FeatureGates,
    broken: &mut Broken,
) {
    let Some(sysctls) = given.default_pod_sysctls.as_ref().filter(|given| !given.is_empty()) else {
        return;
    };
    if !version.has_default_pod_sysctls() {
        return;
    }
    if !gates.enabled(Gate::DefaultPodSysctls) {
        return broken.check(true, ValidationError::DefaultSysctlsNeedGate);
    }
    let mut before = BTreeSet::new();
    for name in sysctls.keys() {
        if !sysctl::is_name(name) {
            broken.check(true, ValidationError::DefaultSysctlName(name.clone()));
            continue;
        }
        let is_namespaced = sysctl::is_namespaced(name);
        broken.check(!is_namespaced, ValidationError::DefaultSysctlNamespace(name.clone()));
        let is_new = before.insert(sysctl::normalize(name));
        broken.check(!is_new, ValidationError::DefaultSysctlTwice(name.clone()));
    }
}

fn check_taint(taint: &Taint, broken: &mut Broken) {
    let effects = ["", "NoSchedule", "PreferNoSchedule", "NoExecute"];
    let is_valid = is_qualified_name(&taint.key)
        && (taint.value.is_empty() || is_label_value(&taint.value))
        && effects.contains(&taint.effect.as_str());
    let Taint { key, value, effect, time_added } = taint.clone();
    let time =
        time_added.as_ref().map(|time| go_time::parse(time).unwrap_or_else(|_| time.clone()));
    broken.check(!is_valid, ValidationError::Taint { key, value, effect, time });
    broken.check(time_added.is_some(), ValidationError::TaintTime);
}

fn shutdown(given: &KubeletConfiguration, gates: &FeatureGates, broken: &mut Broken) {
    let period = given.shutdown_grace_period.unwrap_or_default();
    let critical = given.shutdown_grace_period_critical_pods.unwrap_or_default();
    let is_set = period.0 > 0 || critical.0 > 0;
    if gates.enabled(Gate::GracefulNodeShutdown) {
        let above = ValidationError::ShutdownCriticalAbove { critical, period };
        broken.check(critical > period, above);
        for (field, period) in
            [("shutdownGracePeriod", period), ("shutdownGracePeriodCriticalPods", critical)]
        {
            let is_short = period.0 != 0 && period < GoDuration::SECOND;
            broken.check(is_short, ValidationError::ShutdownRange { field, period });
        }
    } else {
        broken.check(is_set, ValidationError::ShutdownNeedsGate);
    }
    let by_priority =
        given.shutdown_grace_period_by_pod_priority.as_ref().is_some_and(|list| !list.is_empty());
    match gates.enabled(Gate::GracefulNodeShutdownBasedOnPodPriority) {
        true => broken.check(by_priority && is_set, ValidationError::ShutdownBoth),
        false => broken.check(by_priority, ValidationError::ShutdownPriorityNeedsGate),
    }
}

fn restart_period(given: &KubeletConfiguration, gates: &FeatureGates, broken: &mut Broken) {
    let back_off = given.crash_loop_back_off.as_ref();
    let Some(period) = back_off.and_then(|it| it.max_container_restart_period) else { return };
    if gates.enabled(Gate::KubeletCrashLoopBackOffMax) {
        let milliseconds = period.0 / GoDuration::MILLISECOND.0;
        let is_outside = !(1_000..=300_000).contains(&milliseconds);
        broken.check(is_outside, ValidationError::RestartPeriodRange(period));
    } else {
        broken.check(true, ValidationError::RestartPeriodNeedsGate);
    }
}

fn enforcements(
    enforced: &[String],
    config: &super::defaults::EffectiveConfiguration,
    broken: &mut Broken,
) {
    for kind in ["system-reserved", "kube-reserved"] {
        let compressible = format!("{kind}-compressible");
        let both = enforced.iter().any(|key| key == kind) && enforced.contains(&compressible);
        broken.check(both, ValidationError::BothKinds(kind));
    }
    let mut before = BTreeSet::new();
    for key in enforced {
        if !before.insert(key) {
            broken.check(true, ValidationError::Duplicate(key.clone()));
            continue;
        }
        match key.as_str() {
            "pods" => {}
            "system-reserved" | "system-reserved-compressible" => broken.check(
                config.system_reserved_cgroup.is_empty(),
                ValidationError::NoReservedCgroup("system"),
            ),
            "kube-reserved" | "kube-reserved-compressible" => broken.check(
                config.kube_reserved_cgroup.is_empty(),
                ValidationError::NoReservedCgroup("kube"),
            ),
            "none" => {
                broken.check(enforced.len() > 1, ValidationError::NoneIsNotAlone);
                continue;
            }
            _ => {
                broken.check(true, ValidationError::UnknownEnforcement(key.clone()));
                continue;
            }
        }
        broken.check(!config.cgroups_per_qos, ValidationError::NeedsCgroupsPerQos(key.clone()));
    }
}

fn pull_credentials(given: &KubeletConfiguration, gates: &FeatureGates, broken: &mut Broken) {
    const ALLOWLISTED: &str = "NeverVerifyAllowlistedImages";
    let policy = given.image_pull_credentials_verification_policy.as_deref().unwrap_or_default();
    let list = given.preloaded_images_verification_allowlist.as_deref().unwrap_or_default();
    if !gates.enabled(Gate::KubeletEnsureSecretPulledImages) {
        for (is_set, field) in [
            (!policy.is_empty(), "imagePullCredentialsVerificationPolicy"),
            (!list.is_empty(), "preloadedImagesVerificationAllowlist"),
        ] {
            broken.check(is_set, ValidationError::PullCredentialsNeedGate(field));
        }
        return;
    }
    let known = ["", "NeverVerify", "NeverVerifyPreloadedImages", ALLOWLISTED, "AlwaysVerify"];
    broken.check(!known.contains(&policy), ValidationError::PullCredentials(policy.to_owned()));
    if !list.is_empty() && policy != ALLOWLISTED {
        broken.check(true, ValidationError::AllowlistNeedsPolicy);
    } else {
        let version = gates.version();
        let error = list.iter().find_map(|pattern| image_pattern_error(pattern, version));
        if let Some(error) = error {
            broken.check(true, ValidationError::AllowlistPattern(error));
        }
    }
}

fn reserved_memory(reservations: &[MemoryReservation], broken: &mut Broken) {
    let mut seen = BTreeSet::new();
    for MemoryReservation { numa_node: node, limits } in reservations {
        for (resource, amount) in limits {
            let (node, resource) = (*node, resource.clone());
            let is_known = resource == "memory" || resource.starts_with("hugepages-");
            broken.check(
                !is_known,
                ValidationError::ReservedMemoryType { resource: resource.clone(), node },
            );
            broken.check(
                amount.is_zero(),
                ValidationError::ReservedMemoryZero { resource: resource.clone(), node },
            );
            let is_new = seen.insert((node, resource.clone()));
            broken.check(!is_new, ValidationError::ReservedMemoryTwice { resource, node });
        }
    }
}

/// Returns the only rule about the operating system that the kubelet reports.
fn of_the_system(
    given: &KubeletConfiguration,
    version: KubeletVersion,
    cgroups: CgroupMode,
    fail_cgroup_v1: bool,
) -> Option<ValidationError> {
    if cgroups == CgroupMode::V1 && fail_cgroup_v1 {
        return Some(match version.refuses_cgroup_v1() {
            true => ValidationError::CgroupV1Unsupported,
            false => ValidationError::CgroupV1Maintenance,
        });
    }
    if cgroups == CgroupMode::V1 && given.single_process_oom_kill == Some(false) {
        return Some(ValidationError::SingleProcessOomKill);
    }
    let ids =
        given.user_namespaces.as_ref().filter(|_| version.checks_ids_per_pod())?.ids_per_pod?;
    let problem = match ids {
        ..65536 => "not be less than 65536",
        _ if ids % 65536 != 0 => "be a multiple of 65536",
        _ if ids > i64::from(u32::MAX) => "not be more than 4294967295",
        _ => return None,
    };
    Some(ValidationError::IdsPerPod(problem))
}

fn tracing(
    given: &KubeletConfiguration,
    version: KubeletVersion,
    gates: &FeatureGates,
    broken: &mut Broken,
) {
    let Some(tracing) = &given.tracing else { return };
    if version.needs_gate_for_tracing() && !gates.enabled(Gate::KubeletTracing) {
        return broken.check(true, ValidationError::TracingNeedsGate);
    }
    if let Some(rate) = tracing.sampling_rate_per_million {
        let refuse = |problem| ValidationError::SamplingRate { rate, problem };
        broken.check(rate < 0, refuse("sampling rate must be positive"));
        let high = refuse("sampling rate per million must be less than or equal to one million");
        broken.check(rate > 1_000_000, high);
    }
    let Some(endpoint) = &tracing.endpoint else { return };
    let endpoint = match endpoint.contains("//") {
        true => endpoint.clone(),
        false => format!("dns://{endpoint}"),
    };
    match go_url::scheme(&endpoint) {
        Err(error) => broken.check(true, ValidationError::TracingUrl { endpoint, error }),
        Ok(scheme) => {
            let is_known = matches!(scheme.as_str(), "dns" | "unix" | "unix-abstract");
            broken.check(!is_known, ValidationError::TracingScheme { endpoint, scheme });
        }
    }
}

fn logs(
    given: &KubeletConfiguration,
    absent: &KubeletConfiguration,
    version: KubeletVersion,
    gates: &FeatureGates,
    broken: &mut Broken,
) {
    if given.enable_system_log_query == Some(true) {
        let field = match version.names_log_query() {
            true => "enableSystemLogQuery",
            false => "enableSystemLogHandler",
        };
        let error = ValidationError::LogQueryNeedsGate { field };
        broken.check(!gates.enabled(Gate::NodeLogQuery), error);
        let without_handler = given.enable_system_log_handler == Some(false);
        broken.check(without_handler, ValidationError::LogQueryNeedsHandler);
    }
    let workers = given.container_log_max_workers.or(absent.container_log_max_workers);
    broken.check(workers.is_some_and(|count| count < 1), ValidationError::LogWorkers);
    let interval = given.container_log_monitor_interval.or(absent.container_log_monitor_interval);
    let is_short = interval.is_some_and(|interval| interval.0 < 3 * GoDuration::SECOND.0);
    broken.check(is_short, ValidationError::LogInterval);
    let files = given.container_log_max_files.or(absent.container_log_max_files);
    let is_checked = version.checks_log_files();
    broken.check(is_checked && files.is_some_and(|count| count <= 1), ValidationError::LogFiles);
    let given_folder = given.pod_logs_dir.as_deref().unwrap_or_default();
    let Some(folder) = Some(given_folder).filter(|folder| !folder.is_empty()) else { return };
    let is_absolute = folder.starts_with('/');
    broken.check(!is_absolute, ValidationError::PodLogsRelative(folder.to_owned()));
    broken.check(!is_clean(folder), ValidationError::PodLogsUnclean(folder.to_owned()));
    broken.check(!folder.is_ascii(), ValidationError::PodLogsAscii(folder.to_owned()));
}

/// Returns true if a path is as `filepath.Clean` leaves it.
fn is_clean(path: &str) -> bool {
    let parts = path.strip_prefix('/').unwrap_or(path);
    path == "/" || parts.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Returns the text in which the kubelet reports errors: one alone, several as `[a, b]`, none twice.
pub fn aggregate(errors: &[ValidationError]) -> String {
    let mut seen = BTreeSet::new();
    let texts = errors.iter().map(ToString::to_string);
    let texts: Vec<String> = texts.filter(|text| seen.insert(text.clone())).collect();
    if texts.is_empty() { String::new() } else { go_text::aggregate(&texts) }
}
