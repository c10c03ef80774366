//! The meaning of the kubelet's flags.
//!
//! Which field a flag sets was read in `cmd/kubelet/app/options/options.go` of Kubernetes (1.27, with the
//! flags that came later); the formats in `k8s.io/component-base/cli/flag`.

use super::process::{self, ContainerGcFlags};
use super::{DEFAULT_CERT_DIR, DEFAULT_ROOT_DIR, KubeletProcess};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The conversion of a flag's text into a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As it is; the last one counts.
    Plain,
    /// A path, relative to the process's folder.
    Path,
    Switch,
    /// `a,b`; repeated, they add up.
    List,
    /// `k=v,k=v`; repeated, they add up.
    Pairs,
    /// `k=v`, where the value may have commas.
    Pair,
    /// `k<v,k<v`
    Thresholds,
    /// `NODE:k=v,k=v;NODE:k=v`
    Memory,
    /// `key=value:effect,key:effect`
    Taints,
}

use Form::*;

/// The flags that set no field, and are used by kq otherwise.
const OTHERS: [&str; 15] = [
    "bootstrap-kubeconfig",
    "cert-dir",
    "cloud-provider",
    "config",
    "config-dir",
    "exit-on-lock-contention",
    "feature-gates",
    "hostname-override",
    "image-credential-provider-bin-dir",
    "image-credential-provider-config",
    "kubeconfig",
    "lock-file",
    "node-ip",
    "node-labels",
    "root-dir",
];

/// The flags that set a field of a KubeletConfiguration.
#[rustfmt::skip]
const FIELDS: &[(&str, &str, Form)] = &[
    ("address", "address", Plain),
    ("allowed-unsafe-sysctls", "allowedUnsafeSysctls", List),
    ("anonymous-auth", "authentication.anonymous.enabled", Switch),
    ("authentication-token-webhook", "authentication.webhook.enabled", Switch),
    ("authentication-token-webhook-cache-ttl", "authentication.webhook.cacheTTL", Plain),
    ("authorization-mode", "authorization.mode", Plain),
    ("authorization-webhook-cache-authorized-ttl", "authorization.webhook.cacheAuthorizedTTL", Plain),
    ("authorization-webhook-cache-unauthorized-ttl", "authorization.webhook.cacheUnauthorizedTTL", Plain),
    ("cgroup-driver", "cgroupDriver", Plain),
    ("cgroup-root", "cgroupRoot", Plain),
    ("cgroups-per-qos", "cgroupsPerQOS", Switch),
    ("client-ca-file", "authentication.x509.clientCAFile", Path),
    ("cluster-dns", "clusterDNS", List),
    ("cluster-domain", "clusterDomain", Plain),
    ("container-log-max-files", "containerLogMaxFiles", Plain),
    ("container-log-max-size", "containerLogMaxSize", Plain),
    ("container-runtime-endpoint", "containerRuntimeEndpoint", Plain),
    ("contention-profiling", "enableContentionProfiling", Switch),
    ("cpu-cfs-quota", "cpuCFSQuota", Switch),
    ("cpu-cfs-quota-period", "cpuCFSQuotaPeriod", Plain),
    ("cpu-manager-policy", "cpuManagerPolicy", Plain),
    ("cpu-manager-policy-options", "cpuManagerPolicyOptions", Pair),
    ("cpu-manager-reconcile-period", "cpuManagerReconcilePeriod", Plain),
    ("enable-controller-attach-detach", "enableControllerAttachDetach", Switch),
    ("enable-debugging-handlers", "enableDebuggingHandlers", Switch),
    ("enable-server", "enableServer", Switch),
    ("enforce-node-allocatable", "enforceNodeAllocatable", List),
    ("event-burst", "eventBurst", Plain),
    ("event-qps", "eventRecordQPS", Plain),
    ("eviction-hard", "evictionHard", Thresholds),
    ("eviction-max-pod-grace-period", "evictionMaxPodGracePeriod", Plain),
    ("eviction-minimum-reclaim", "evictionMinimumReclaim", Pairs),
    ("eviction-pressure-transition-period", "evictionPressureTransitionPeriod", Plain),
    ("eviction-soft", "evictionSoft", Thresholds),
    ("eviction-soft-grace-period", "evictionSoftGracePeriod", Pairs),
    ("fail-cgroupv1", "failCgroupV1", Switch),
    ("fail-swap-on", "failSwapOn", Switch),
    ("file-check-frequency", "fileCheckFrequency", Plain),
    ("hairpin-mode", "hairpinMode", Plain),
    ("healthz-bind-address", "healthzBindAddress", Plain),
    ("healthz-port", "healthzPort", Plain),
    ("http-check-frequency", "httpCheckFrequency", Plain),
    ("image-gc-high-threshold", "imageGCHighThresholdPercent", Plain),
    ("image-gc-low-threshold", "imageGCLowThresholdPercent", Plain),
    ("image-service-endpoint", "imageServiceEndpoint", Plain),
    ("kernel-memcg-notification", "kernelMemcgNotification", Switch),
    ("kube-api-burst", "kubeAPIBurst", Plain),
    ("kube-api-content-type", "contentType", Plain),
    ("kube-api-qps", "kubeAPIQPS", Plain),
    ("kube-reserved", "kubeReserved", Pairs),
    ("kube-reserved-cgroup", "kubeReservedCgroup", Plain),
    ("kubelet-cgroups", "kubeletCgroups", Plain),
    ("local-storage-capacity-isolation", "localStorageCapacityIsolation", Switch),
    ("log-json-info-buffer-size", "logging.options.json.infoBufferSize", Plain),
    ("log-json-split-stream", "logging.options.json.splitStream", Switch),
    ("log-text-info-buffer-size", "logging.options.text.infoBufferSize", Plain),
    ("log-text-split-stream", "logging.options.text.splitStream", Switch),
    ("logging-format", "logging.format", Plain),
    ("make-iptables-util-chains", "makeIPTablesUtilChains", Switch),
    ("max-open-files", "maxOpenFiles", Plain),
    ("max-pods", "maxPods", Plain),
    ("memory-manager-policy", "memoryManagerPolicy", Plain),
    ("minimum-image-ttl-duration", "imageMinimumGCAge", Plain),
    ("node-status-max-images", "nodeStatusMaxImages", Plain),
    ("node-status-update-frequency", "nodeStatusUpdateFrequency", Plain),
    ("oom-score-adj", "oomScoreAdj", Plain),
    ("pod-cidr", "podCIDR", Plain),
    ("pod-manifest-path", "staticPodPath", Path),
    ("pod-max-pids", "podPidsLimit", Plain),
    ("pods-per-core", "podsPerCore", Plain),
    ("port", "port", Plain),
    ("protect-kernel-defaults", "protectKernelDefaults", Switch),
    ("provider-id", "providerID", Plain),
    ("qos-reserved", "qosReserved", Pairs),
    ("read-only-port", "readOnlyPort", Plain),
    ("register-node", "registerNode", Switch),
    ("register-with-taints", "registerWithTaints", Taints),
    ("registry-burst", "registryBurst", Plain),
    ("registry-qps", "registryPullQPS", Plain),
    ("reserved-cpus", "reservedSystemCPUs", Plain),
    ("reserved-memory", "reservedMemory", Memory),
    ("resolv-conf", "resolvConf", Plain),
    ("rotate-certificates", "rotateCertificates", Switch),
    ("rotate-server-certificates", "serverTLSBootstrap", Switch),
    ("runonce", "runOnce", Switch),
    ("runtime-request-timeout", "runtimeRequestTimeout", Plain),
    ("seccomp-default", "seccompDefault", Switch),
    ("serialize-image-pulls", "serializeImagePulls", Switch),
    ("streaming-connection-idle-timeout", "streamingConnectionIdleTimeout", Plain),
    ("sync-frequency", "syncFrequency", Plain),
    ("system-cgroups", "systemCgroups", Plain),
    ("system-reserved", "systemReserved", Pairs),
    ("system-reserved-cgroup", "systemReservedCgroup", Plain),
    ("tls-cert-file", "tlsCertFile", Path),
    ("tls-cipher-suites", "tlsCipherSuites", List),
    ("tls-min-version", "tlsMinVersion", Plain),
    ("tls-private-key-file", "tlsPrivateKeyFile", Path),
    ("topology-manager-policy", "topologyManagerPolicy", Plain),
    ("topology-manager-policy-options", "topologyManagerPolicyOptions", Pairs),
    ("topology-manager-scope", "topologyManagerScope", Plain),
    ("volume-plugin-dir", "volumePluginDir", Path),
    ("volume-stats-agg-period", "volumeStatsAggPeriod", Plain),
];

/// Returns true if the value of a flag is kept: kq uses it, and it is not a secret.
pub(super) fn is_kept(name: &str) -> bool {
    name == "version"
        || OTHERS.contains(&name)
        || process::FLAGS.contains(&name)
        || field(name).is_some()
}

fn field(name: &str) -> Option<&'static (&'static str, &'static str, Form)> {
    FIELDS.iter().find(|(flag, ..)| *flag == name)
}

/// The settings of a kubelet's flags, with paths as they are on the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletFlags {
    /// `--config`: its configuration.
    pub config: Option<String>,
    /// `--config-dir`: drop-ins.
    pub config_dir: Option<String>,
    /// `--kubeconfig`
    pub kubeconfig: Option<String>,
    /// `--bootstrap-kubeconfig`
    pub bootstrap_kubeconfig: Option<String>,
    /// `--cert-dir`: where it keeps its certificates; `None` where a relative path cannot be resolved.
    pub cert_dir: Option<String>,
    /// `--root-dir`: where it keeps its files; `None` where a relative path cannot be resolved.
    pub root_dir: Option<String>,
    /// `--hostname-override`: the name of its node.
    pub hostname_override: Option<String>,
    /// `--container-runtime-endpoint`; the configuration can name it too.
    pub container_runtime_endpoint: Option<String>,
    /// `--pod-manifest-path`: the manifests of static pods; the configuration can name them too.
    pub pod_manifest_path: Option<String>,
    /// `--feature-gates`, gate by gate.
    pub feature_gates: BTreeMap<String, bool>,
    /// When it removes dead containers, which no configuration has fields for.
    pub container_gc: ContainerGcFlags,
    /// The fields of its configuration that flags set.
    pub settings: Vec<Setting>,
    /// Unusable values: lowercase fragments that name the flag.
    pub problems: Vec<String>,
}

/// A field of a KubeletConfiguration that a flag sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The path of the field: `evictionHard`, `authentication.anonymous.enabled`.
    pub field: &'static str,
    /// The value as text.
    pub text: String,
    /// The way to set it.
    pub assignment: Assignment,
    /// The flag with its dashes.
    pub flag: String,
}

/// The way to set a field from a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// As it is, or as YAML: [`assign`](crate::settings::assign).
    Value,
    /// As pairs `k=v,k=v`: [`assign_list`](crate::settings::assign_list).
    Pairs,
}

impl KubeletProcess {
    /// Returns the settings of its flags. As in the kubelet, the last one of a flag counts, and lists and maps
    /// that are given more than once add up.
    pub fn interpreted(&self) -> KubeletFlags {
        let mut parsed = KubeletFlags {
            root_dir: Some(DEFAULT_ROOT_DIR.to_owned()),
            cert_dir: Some(DEFAULT_CERT_DIR.to_owned()),
            ..KubeletFlags::default()
        };
        let mut fields: BTreeMap<&str, (Form, &'static str, String)> = BTreeMap::new();
        for flag in &self.flags {
            let (name, Some(value)) = (flag.name.as_str(), &flag.value) else { continue };
            let path = |problems: &mut Vec<String>| self.resolve(name, value, problems);
            match name {
                "cert-dir" => parsed.cert_dir = path(&mut parsed.problems),
                "config" => parsed.config = path(&mut parsed.problems),
                "config-dir" => parsed.config_dir = path(&mut parsed.problems),
                "kubeconfig" => parsed.kubeconfig = path(&mut parsed.problems),
                "bootstrap-kubeconfig" => parsed.bootstrap_kubeconfig = path(&mut parsed.problems),
                "root-dir" => parsed.root_dir = path(&mut parsed.problems),
                "hostname-override" => {
                    // `GetHostname` of `pkg/util/node`, in whose words the kubelet refuses it too.
                    let name = value.trim().to_lowercase();
                    if name.is_empty() && !value.is_empty() {
                        let refused = "--hostname-override: empty hostname is invalid";
                        parsed.problems.push(refused.to_owned());
                    }
                    parsed.hostname_override = Some(name).filter(|name| !name.is_empty());
                }
                "feature-gates" => read_gates(value, &mut parsed),
                _ if process::FLAGS.contains(&name) => {
                    if let Err(expected) = parsed.container_gc.set(name, value) {
                        parsed.problems.push(format!("--{name}: expected {expected}"));
                    }
                }
                _ => {
                    let Some((_, field, form)) = field(name) else { continue };
                    let separator = match form {
                        Memory => ';',
                        Pair => '\n',
                        _ => ',',
                    };
                    match fields.get_mut(name) {
                        Some((List | Pairs | Pair | Thresholds | Memory, _, text))
                            if !text.is_empty() =>
                        {
                            text.push(separator);
                            text.push_str(value);
                        }
                        _ => {
                            fields.insert(name, (*form, field, value.clone()));
                        }
                    }
                }
            }
        }
        for (name, (form, field, text)) in fields {
            if text.is_empty() && form == Memory {
                continue;
            }
            let read = match form {
                Path => match self.resolve(name, &text, &mut parsed.problems) {
                    Some(path) => Ok((path, Assignment::Value)),
                    None if text.is_empty() => Ok((text, Assignment::Value)),
                    None => continue,
                },
                form => read_value(form, &text),
            };
            match read {
                Ok((text, assignment)) => {
                    parsed.settings.push(Setting {
                        field,
                        text,
                        assignment,
                        flag: format!("--{name}"),
                    });
                }
                Err(expected) => parsed.problems.push(format!("--{name}: expected {expected}")),
            }
        }
        let given = |flag: &str| {
            let setting = parsed.settings.iter().find(|setting| setting.flag == flag)?;
            Some(setting.text.clone()).filter(|text| !text.is_empty())
        };
        parsed.container_runtime_endpoint = given("--container-runtime-endpoint");
        parsed.pod_manifest_path = given("--pod-manifest-path");
        parsed
    }

    /// Returns the last value of a flag; `None`: it is not given.
    pub fn last(&self, flag: &str) -> Option<&str> {
        self.flags.iter().rfind(|given| given.name == flag)?.value.as_deref()
    }

    /// Returns the path that a flag names, as it is on the node.
    pub fn path_of(&self, flag: &str) -> Option<String> {
        self.resolve(flag, self.last(flag)?, &mut Vec::new())
    }

    /// Returns a path as it is on the node; an empty one means none.
    fn resolve(&self, flag: &str, path: &str, problems: &mut Vec<String>) -> Option<String> {
        if path.is_empty() || path.starts_with('/') {
            return Some(path.to_owned()).filter(|path| !path.is_empty());
        }
        let Some(folder) = &self.working_folder else {
            problems.push(format!(
                "--{flag} {path}: is relative to the kubelet's folder, which is not known"
            ));
            return None;
        };
        let path = path.trim_start_matches("./");
        Some(format!("{}/{path}", folder.trim_end_matches('/')))
    }
}

fn read_value(form: Form, text: &str) -> Result<(String, Assignment), &'static str> {
    let entries = || text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    match form {
        Plain | Path => Ok((text.to_owned(), Assignment::Value)),
        Switch => Ok((go_bool(text).ok_or("true or false")?.to_string(), Assignment::Value)),
        List => {
            let items: Vec<&str> =
                if text.is_empty() { Vec::new() } else { text.split(',').collect() };
            Ok((json!(items).to_string(), Assignment::Value))
        }
        Pair => {
            let mut pairs = BTreeMap::new();
            for pair in text.split('\n') {
                let (name, value) = pair.split_once('=').ok_or("a pair of a name and a value")?;
                pairs.insert(name.trim(), value.trim());
            }
            Ok((json!(pairs).to_string(), Assignment::Value))
        }
        Pairs | Thresholds => {
            let sign = if form == Pairs { '=' } else { '<' };
            let mut pairs: Vec<String> = Vec::new();
            for entry in entries() {
                let (name, value) = entry.split_once(sign).ok_or("pairs of a name and a value")?;
                pairs.push(format!("{}={}", name.trim(), value.trim()));
            }
            Ok((pairs.join(","), Assignment::Pairs))
        }
        Memory => {
            let expected = "NODE:RESOURCE=AMOUNT,RESOURCE=AMOUNT";
            let mut nodes = Vec::new();
            for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
                let (node, limits) = entry.split_once(':').ok_or(expected)?;
                let node: i32 = node.trim().parse().map_err(|_| expected)?;
                let mut amounts = BTreeMap::new();
                for limit in limits.split(',') {
                    let (name, amount) = limit.split_once('=').ok_or(expected)?;
                    amounts.insert(name.trim().to_owned(), amount.trim().to_owned());
                }
                nodes.push(json!({ "numaNode": node, "limits": amounts }));
            }
            Ok((Value::Array(nodes).to_string(), Assignment::Value))
        }
        Taints => {
            let mut taints = Vec::new();
            for entry in entries().filter(|entry| !entry.ends_with('-')) {
                let (taint, effect) = entry.rsplit_once(':').ok_or("KEY=VALUE:EFFECT")?;
                let (key, value) = taint.split_once('=').unwrap_or((taint, ""));
                let mut shown = json!({ "key": key, "effect": effect });
                if !value.is_empty() {
                    shown["value"] = value.into();
                }
                taints.push(shown);
            }
            Ok((Value::Array(taints).to_string(), Assignment::Value))
        }
    }
}

fn read_gates(text: &str, parsed: &mut KubeletFlags) {
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let gate = entry.split_once('=');
        match gate.and_then(|(name, value)| Some((name.trim(), go_bool(value.trim())?))) {
            Some((name, on)) => {
                parsed.feature_gates.insert(name.to_owned(), on);
            }
            None => parsed
                .problems
                .push(format!("--feature-gates {entry}: expected GATE=true or false")),
        }
    }
}

/// Reads what `strconv.ParseBool` of Go takes.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::known::known_flag;
    use super::*;

    #[test]
    fn every_field_is_set_by_a_flag_that_there_is() {
        for (flag, field, form) in FIELDS {
            let known = known_flag(flag).unwrap_or_else(|| panic!("no kubelet has --{flag}"));
            assert_eq!(known.is_switch(), *form == Switch, "--{flag} is {}", known.value_type);
            assert!(crate::kubelet_config::field_exists(field), "{field}");
        }
    }
}
