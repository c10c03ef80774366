//! Reads a KubeletConfiguration strictly: every field by its name and type, with its path.
//!
//! The kubelet only logs an unknown field of its file and goes on without it
//! (`pkg/kubelet/kubeletconfig/util/codec/codec.go`), and so does this; in what an operator typed it is an error.
//! Duplicate keys are gone before this point.

use super::carrier;
use super::schema::{self, Kind, below, kind, names_below};
use kq_answer::warning::{Warning, WarningCode};
use kq_k8s::duration::GoDuration;
use kq_k8s::nearest::{MOST_HINTS, nearest};
use kq_k8s::quantity::Quantity;
use kq_k8s::version::KubeletVersion;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The only version of the kubelet's configuration.
pub const API_VERSION: &str = "kubelet.config.k8s.io/v1beta1";
/// The only kind that configures a kubelet.
pub const KIND: &str = "KubeletConfiguration";

/// The expected type of a field such as `evictionHard`.
pub const A_MAP: &str = "a map of names to values";

/// The part of the configuration that kq computes with; an absent field is `None`.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are the kubelet's")]
pub struct KubeletConfiguration {
    pub allowed_unsafe_sysctls: Option<Vec<String>>,
    pub cgroup_driver: Option<String>,
    pub cgroup_root: Option<String>,
    #[serde(rename = "cgroupsPerQOS")]
    pub cgroups_per_qos: Option<bool>,
    pub config_map_and_secret_change_detection_strategy: Option<String>,
    pub container_log_max_files: Option<i32>,
    pub container_log_max_size: Option<String>,
    pub container_log_max_workers: Option<i32>,
    pub container_log_monitor_interval: Option<GoDuration>,
    pub container_runtime_endpoint: Option<String>,
    #[serde(rename = "cpuCFSQuota")]
    pub cpu_cfs_quota: Option<bool>,
    #[serde(rename = "cpuCFSQuotaPeriod")]
    pub cpu_cfs_quota_period: Option<GoDuration>,
    pub cpu_manager_policy: Option<String>,
    pub cpu_manager_policy_options: Option<BTreeMap<String, String>>,
    pub cpu_manager_reconcile_period: Option<GoDuration>,
    pub crash_loop_back_off: Option<CrashLoopBackOff>,
    pub default_pod_sysctls: Option<BTreeMap<String, String>>,
    pub enable_system_log_handler: Option<bool>,
    pub enable_system_log_query: Option<bool>,
    pub enforce_node_allocatable: Option<Vec<String>>,
    pub event_burst: Option<i32>,
    #[serde(rename = "eventRecordQPS")]
    pub event_record_qps: Option<i32>,
    pub eviction_hard: Option<BTreeMap<String, String>>,
    pub eviction_max_pod_grace_period: Option<i32>,
    pub eviction_minimum_reclaim: Option<BTreeMap<String, String>>,
    pub eviction_pressure_transition_period: Option<GoDuration>,
    pub eviction_soft: Option<BTreeMap<String, String>>,
    pub eviction_soft_grace_period: Option<BTreeMap<String, String>>,
    pub fail_cgroup_v1: Option<bool>,
    pub fail_swap_on: Option<bool>,
    pub feature_gates: Option<BTreeMap<String, bool>>,
    pub hairpin_mode: Option<String>,
    pub healthz_port: Option<i32>,
    #[serde(rename = "imageGCHighThresholdPercent")]
    pub image_gc_high_threshold_percent: Option<i32>,
    #[serde(rename = "imageGCLowThresholdPercent")]
    pub image_gc_low_threshold_percent: Option<i32>,
    #[serde(rename = "imageMaximumGCAge")]
    pub image_maximum_gc_age: Option<GoDuration>,
    #[serde(rename = "imageMinimumGCAge")]
    pub image_minimum_gc_age: Option<GoDuration>,
    pub image_pull_credentials_verification_policy: Option<String>,
    pub iptables_drop_bit: Option<i32>,
    pub iptables_masquerade_bit: Option<i32>,
    #[serde(rename = "kubeAPIBurst")]
    pub kube_api_burst: Option<i32>,
    #[serde(rename = "kubeAPIQPS")]
    pub kube_api_qps: Option<i32>,
    pub kube_reserved: Option<BTreeMap<String, String>>,
    pub kube_reserved_cgroup: Option<String>,
    pub kubelet_cgroups: Option<String>,
    pub local_storage_capacity_isolation: Option<bool>,
    pub logging: Option<Logging>,
    pub max_open_files: Option<i64>,
    pub max_parallel_image_pulls: Option<i32>,
    pub max_pods: Option<i32>,
    pub memory_manager_policy: Option<String>,
    pub memory_reservation_policy: Option<String>,
    pub memory_swap: Option<MemorySwap>,
    pub memory_throttling_factor: Option<f64>,
    pub merge_default_eviction_settings: Option<bool>,
    pub node_lease_duration_seconds: Option<i32>,
    pub node_status_max_images: Option<i32>,
    pub node_status_report_frequency: Option<GoDuration>,
    pub node_status_update_frequency: Option<GoDuration>,
    pub oom_score_adj: Option<i32>,
    pub pod_logs_dir: Option<String>,
    pub pod_pids_limit: Option<i64>,
    pub pods_per_core: Option<i32>,
    pub port: Option<i32>,
    pub preloaded_images_verification_allowlist: Option<Vec<String>>,
    pub protect_kernel_defaults: Option<bool>,
    pub qos_reserved: Option<BTreeMap<String, String>>,
    pub read_only_port: Option<i32>,
    pub register_with_taints: Option<Vec<Taint>>,
    pub registry_burst: Option<i32>,
    #[serde(rename = "registryPullQPS")]
    pub registry_pull_qps: Option<i32>,
    pub reserved_memory: Option<Vec<MemoryReservation>>,
    #[serde(rename = "reservedSystemCPUs")]
    pub reserved_system_cpus: Option<String>,
    pub run_once: Option<bool>,
    pub serialize_image_pulls: Option<bool>,
    #[serde(rename = "serverTLSBootstrap")]
    pub server_tls_bootstrap: Option<bool>,
    pub show_hidden_metrics_for_version: Option<String>,
    pub shutdown_grace_period: Option<GoDuration>,
    pub shutdown_grace_period_by_pod_priority: Option<Vec<Value>>,
    pub shutdown_grace_period_critical_pods: Option<GoDuration>,
    #[serde(rename = "singleProcessOOMKill")]
    pub single_process_oom_kill: Option<bool>,
    pub static_pod_path: Option<String>,
    pub sync_frequency: Option<GoDuration>,
    pub system_cgroups: Option<String>,
    pub system_reserved: Option<BTreeMap<String, String>>,
    pub system_reserved_cgroup: Option<String>,
    pub tls_cipher_suites: Option<Vec<String>>,
    pub tls_curve_preferences: Option<Vec<i32>>,
    pub tls_min_version: Option<String>,
    pub topology_manager_policy: Option<String>,
    pub topology_manager_policy_options: Option<BTreeMap<String, String>>,
    pub topology_manager_scope: Option<String>,
    pub tracing: Option<Tracing>,
    pub user_namespaces: Option<UserNamespaces>,
}

/// The largest backoff of a crashing container.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CrashLoopBackOff {
    pub max_container_restart_period: Option<GoDuration>,
}

/// The log settings of the kubelet.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Logging {
    pub format: Option<String>,
    pub options: Option<LogOptions>,
    pub verbosity: Option<i64>,
    pub vmodule: Option<Vec<VerboseFiles>>,
}

/// The options of the formats of the log.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LogOptions {
    pub text: Option<LogStreams>,
    pub json: Option<LogStreams>,
}

/// The streams of the log.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LogStreams {
    pub split_stream: Option<bool>,
    pub info_buffer_size: Option<Quantity>,
}

/// Files that log more.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VerboseFiles {
    pub file_pattern: String,
    pub verbosity: i64,
}

/// Memory that is kept from pods on a NUMA node.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MemoryReservation {
    pub numa_node: i32,
    pub limits: BTreeMap<String, Quantity>,
}

/// A taint that the kubelet gives a new node.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
    pub time_added: Option<String>,
}

/// Where traces go.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tracing {
    pub endpoint: Option<String>,
    pub sampling_rate_per_million: Option<i32>,
}

/// The user namespaces of pods.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct UserNamespaces {
    /// The number of user IDs of a pod.
    #[serde(rename = "idsPerPod")]
    pub ids_per_pod: Option<i64>,
}

/// The swap settings.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MemorySwap {
    /// `NoSwap`, `LimitedSwap` or nothing.
    pub swap_behavior: Option<String>,
}

/// Where the configuration comes from.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A file: `apiVersion` and `kind` are required.
    File,
    /// The answer of `/configz`, wrapped in `kubeletconfig` or not.
    Configz,
    /// The command line alone: there is no `apiVersion` or `kind` to check.
    Flags,
}

/// A configuration that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub config: KubeletConfiguration,
    /// Oddities that are not errors, such as a field that is newer than the kubelet.
    pub notes: Vec<Warning>,
}

/// An error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a map of fields.
    #[error("a kubelet configuration is a map of fields, not {found}")]
    NotAnObject { found: String },
    /// `apiVersion` or `kind` is missing.
    #[error("{field} is missing, expected {expected}")]
    MissingType {
        field: &'static str,
        /// Its only value.
        expected: &'static str,
    },
    /// Another kind of object, or another version.
    #[error("{field} is {found:?}, expected {expected}{}", carrier::elsewhere(found))]
    OtherType {
        field: &'static str,
        found: String,
        /// Its only value.
        expected: &'static str,
    },
    /// A field that does not exist.
    #[error("unknown field {path} with value {value}")]
    UnknownField {
        path: String,
        /// Its value as JSON.
        value: String,
        /// The field that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A value of the wrong type.
    #[error("{path} is {value}, expected {expected}")]
    WrongType {
        path: String,
        /// The value as JSON.
        value: String,
        /// The expected value.
        expected: &'static str,
    },
}

impl ConfigError {
    /// Returns the warning of a field that the kubelet ignores.
    fn ignored(&self) -> Warning {
        let hint = match self {
            Self::UnknownField { nearest: Some(nearest), .. } => {
                format!(" (did you mean {nearest}?)")
            }
            _ => String::new(),
        };
        Warning::new(WarningCode::IgnoredField, format!("{self}, which the kubelet ignores{hint}"))
    }

    /// Returns the field of the configuration in which the problem is.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::NotAnObject { .. } => None,
            Self::MissingType { field, .. } | Self::OtherType { field, .. } => Some(field),
            Self::UnknownField { path, .. } | Self::WrongType { path, .. } => {
                path.split(['.', '[']).next()
            }
        }
    }
}

/// Returns a value for a message. What is in a list or an object can be a password.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(entries) => format!("a list of {}", entries.len()),
        Value::Object(entries) => format!("an object with {} fields", entries.len()),
        scalar => scalar.to_string(),
    }
}

/// Checks fields that an operator typed: each exists, with a value of its type.
/// Fails with all errors that there are.
pub fn read_typed(value: &Value, version: KubeletVersion) -> Result<(), Vec<ConfigError>> {
    let reading = read_as(value, Source::Flags, version, true)?;
    drop(reading);
    Ok(())
}

/// Reads a configuration for a kubelet of some version; the errors are all there are. A field that does not exist is noted
/// and left out, as the kubelet logs it and goes on (`DecodeKubeletConfiguration` in
/// `pkg/kubelet/kubeletconfig/util/codec/codec.go`).
/// Fails with all values that the kubelet does not decode.
pub fn read(
    value: &Value,
    source: Source,
    version: KubeletVersion,
) -> Result<Reading, Vec<ConfigError>> {
    read_as(value, source, version, false)
}

fn read_as(
    value: &Value,
    source: Source,
    version: KubeletVersion,
    is_typed: bool,
) -> Result<Reading, Vec<ConfigError>> {
    let value = match (source, value.get("kubeletconfig")) {
        (Source::Configz, Some(inner)) => inner,
        _ => value,
    };
    let Value::Object(fields) = value else {
        return Err(vec![ConfigError::NotAnObject { found: value.to_string() }]);
    };
    check_type(fields, source == Source::File)?;
    let mut check = Check { is_typed, version, errors: Vec::new(), notes: Vec::new(), others: 0 };
    check.object("", "", fields);
    if !check.errors.is_empty() {
        return Err(check.errors);
    }
    match serde_path_to_error::deserialize(value) {
        Ok(config) => Ok(Reading { config, notes: check.into_notes() }),
        Err(error) => Err(vec![ConfigError::WrongType {
            path: error.path().to_string(),
            value: error.inner().to_string(),
            expected: "a value of the field's type",
        }]),
    }
}

/// Checks `apiVersion` and `kind`.
pub(super) fn check_type(
    fields: &Map<String, Value>,
    required: bool,
) -> Result<(), Vec<ConfigError>> {
    let mut errors = Vec::new();
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match fields.get(field).and_then(Value::as_str).unwrap_or_default() {
            "" if required => errors.push(ConfigError::MissingType { field, expected }),
            found if found.is_empty() || found == expected => {}
            found => {
                errors.push(ConfigError::OtherType { field, found: found.to_owned(), expected });
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The walk over the fields.
struct Check {
    /// A field that does not exist is an error.
    is_typed: bool,
    version: KubeletVersion,
    errors: Vec<ConfigError>,
    notes: Vec<Warning>,
    others: usize,
}

/// The most fields that are noted one by one. A configuration has some 300.
const MOST_NOTES: usize = 1_000;

impl Check {
    /// Notes a field that the kubelet ignores.
    fn note(&mut self, note: impl FnOnce() -> Warning) {
        match self.notes.len() < MOST_NOTES {
            true => self.notes.push(note()),
            false => self.others += 1,
        }
    }

    /// Returns the notes, with the number of those that were too many.
    fn into_notes(mut self) -> Vec<Warning> {
        if self.others > 0 {
            let text = format!("{} more fields, which the kubelet ignores", self.others);
            self.notes.push(Warning::new(WarningCode::IgnoredField, text));
        }
        self.notes
    }

    /// Checks fields; `path` names the elements of lists, `known` is the path in the table.
    fn object(&mut self, path: &str, known: &str, fields: &Map<String, Value>) {
        for (name, value) in fields {
            let (path, known_here) = (below(path, name), below(known, name));
            let Some(field) = schema::field(&known_here) else {
                let is_hinted = self.errors.len() + self.notes.len() < MOST_HINTS;
                let error = ConfigError::UnknownField {
                    path: path.clone(),
                    value: shown(value),
                    nearest: nearest(name, names_below(known).filter(|_| is_hinted)),
                };
                match self.is_typed {
                    true => self.errors.push(error),
                    false => self.note(|| error.ignored().about(path)),
                }
                continue;
            };
            if !schema::exists(field, self.version) {
                let text = format!(
                    "{path} exists {}; a kubelet {} ignores it",
                    schema::lifetime(field),
                    self.version
                );
                self.note(|| Warning::new(WarningCode::IgnoredField, text).about(&path));
            }
            self.value(path, &known_here, value, kind(field.1));
        }
    }

    fn value(&mut self, path: String, known: &str, value: &Value, kind: Kind) {
        let expected = match (kind, value) {
            (_, Value::Null)
            | (Kind::Text, Value::String(_))
            | (Kind::Bool, Value::Bool(_))
            | (Kind::Number | Kind::DurationOrNumber, Value::Number(_))
            | (Kind::Amount, Value::String(_) | Value::Number(_)) => return,
            (Kind::Int32, Value::Number(n))
                if n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) =>
            {
                return;
            }
            (Kind::Int64, Value::Number(n)) if n.is_i64() => return,
            (Kind::Duration | Kind::DurationOrNumber, Value::String(text))
                if text.parse::<GoDuration>().is_ok() =>
            {
                return;
            }
            (Kind::List(item), Value::Array(items)) => {
                let known = format!("{known}[]");
                for (at, value) in items.iter().enumerate() {
                    self.value(format!("{path}[{at}]"), &known, value, *item);
                }
                return;
            }
            (Kind::Map(item), Value::Object(entries)) => {
                for (name, value) in entries {
                    self.value(format!("{path}[{name}]"), known, value, *item);
                }
                return;
            }
            (Kind::Object, Value::Object(entries)) => return self.object(&path, known, entries),
            (Kind::Text, _) => "text",
            (Kind::Bool, _) => "true or false",
            (Kind::Int32, _) => "a whole number of 32 bits",
            (Kind::Int64, _) => "a whole number",
            (Kind::Number, _) => "a number",
            (Kind::Duration | Kind::DurationOrNumber, _) => "a duration such as 1m30s",
            (Kind::Amount, _) => "a quantity",
            (Kind::List(_), _) => "a list such as [a, b]",
            (Kind::Map(_), _) => A_MAP,
            (Kind::Object, _) => "a map of fields",
        };
        self.errors.push(ConfigError::WrongType { path, value: value.to_string(), expected });
    }
}
