//! Turns flags and files into a described node: the precedence of the sources, and the assumptions
//! without one.
//!
//! A flag wins over the kubelet's configuration and over the Node object; without a source, the value is the
//! kubelet's default for its version.

use crate::allocatable::{OverReserved, ReservationError, node_allocatable, reservations};
use crate::cgroup_mode::{CgroupDriver, CgroupVersion};
use crate::found_node::Live;
use crate::host::{HUGEPAGES, HostFacts};
use crate::kubelet::{configuration, gates, given_version, warn_of_version, warn_of_versions};
use crate::kubelet_config::{
    CgroupMode, ConfigError, EffectiveConfiguration, KubeletConfiguration, RefusedEntry, Source,
    ValidationError, aggregate, effective_with_flags, validate_with_flags,
};
use crate::node_config::{Kernel, NodeConfig, NodeFact, NodeFacts};
use crate::node_object::NodeObject;
use crate::overrides::Overrides;
use crate::start_warnings::{effect_warnings, no_start_on_v1, start_warnings, status_warnings};
use kq_answer::origin::Origin;
use kq_answer::warning::{Warning, WarningCode};
use kq_k8s::cpuset::CpuSet;
use kq_k8s::feature_gates::{FeatureGateError, FeatureGates};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::Quantity;
use kq_k8s::version::KubeletVersion;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use crate::found_node::LiveSources;

/// The sources of facts about a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeSources<'a> {
    /// The kubelet's configuration with its drop-ins and the flags that set its fields.
    pub config: &'a ConfigSource,
    /// A Node object, and where it is from.
    pub object: Option<(&'a str, &'a NodeObject)>,
    /// What replaces facts.
    pub overrides: &'a Overrides,
    /// The facts of a live node, or of a snapshot of it.
    pub live: Option<&'a LiveSources>,
}

/// The kubelet's configuration as one object, and the setter of each of its fields.
#[derive(Clone, Debug, Default)]
pub struct ConfigSource {
    /// The object; null when there is none.
    pub value: Arc<Value>,
    /// Whether it came from a file or from a running kubelet.
    pub source: Option<Source>,
    /// The last setter of a field.
    pub origins: BTreeMap<String, Origin>,
    /// Why the kubelet does not decode its file or a drop-in; `None`: it does.
    pub refused: Option<DescribeError>,
    /// The fields that flags of the kubelet set, after the defaults.
    pub by_flag: BTreeSet<&'static str>,
}

/// Why a node cannot be described.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DescribeError {
    /// The configuration has fields that cannot be read.
    #[error("invalid kubelet configuration{}: {error}", said_by(origin.as_ref()))]
    Config {
        /// The first problem.
        error: ConfigError,
        /// The setter of the field.
        origin: Option<Origin>,
    },
    /// A feature gate.
    #[error("invalid feature gates{}", said_by(origin.as_ref()))]
    Gates {
        #[source]
        error: FeatureGateError,
        /// Their setter.
        origin: Option<Origin>,
    },
    /// The kubelet rejects its configuration.
    #[error("the kubelet refuses this configuration ({}): {}", origins.join(", "), aggregate(errors))]
    Invalid {
        /// The rules that are broken.
        errors: Vec<ValidationError>,
        /// All setters.
        origins: Vec<String>,
    },
    /// The kubelet rejects the reservations.
    #[error("the kubelet refuses {} {value}{}", error.field(), said_by(origin.as_ref()))]
    Reservation {
        #[source]
        error: Box<ReservationError>,
        /// The field's value as JSON.
        value: String,
        /// Its setter.
        origin: Option<Origin>,
    },
    /// A file that the kubelet's decoder refuses, with the reason.
    #[error("the kubelet cannot decode {0}")]
    Undecoded(String),
    /// Drop-ins that cannot be merged.
    #[error("the kubelet refuses its drop-ins: {0}")]
    DropIns(String),
    /// More is reserved than there is.
    #[error("the kubelet refuses this configuration")]
    OverReserved(#[source] OverReserved),
    /// An eviction threshold that is none, or a soft one without its grace period.
    #[error("the kubelet refuses {}.{} {:?}{}: {}", refused.field, refused.signal, refused.text,
            said_by(origin.as_ref()), refused.error)]
    Threshold {
        refused: Box<RefusedEntry>,
        /// Its setter.
        origin: Option<Origin>,
    },
}

fn said_by(origin: Option<&Origin>) -> String {
    origin.map_or_else(String::new, |origin| format!(" in {origin}"))
}

/// Returns true if flags set what the allocatable amounts follow from: the Node object does not contradict a question.
fn asks_for_amounts(sources: NodeSources<'_>) -> bool {
    let fields = [
        "kubeReserved",
        "systemReserved",
        "reservedSystemCPUs",
        "evictionHard",
        "maxPods",
        "podsPerCore",
    ];
    let is_flag = |field| matches!(sources.config.origins.get(field), Some(Origin::Flag(_)));
    !sources.overrides.capacity.is_empty() || fields.into_iter().any(is_flag)
}

/// Describes a node.
/// Fails where a kubelet with this configuration would not start, and on what cannot be read.
pub fn describe(sources: NodeSources<'_>) -> Result<NodeConfig, DescribeError> {
    let mut facts = Facts::default();
    let mut warnings = Vec::new();
    let overrides = sources.overrides;
    let version = kubelet_version(sources, &mut facts);
    warn_of_version(version, &mut warnings);
    if overrides.kubelet.version.is_none() {
        let running = sources.live.and_then(|live| live.kubelet_version.as_ref());
        warn_of_versions(sources.object, running, &mut warnings);
    }
    let given = configuration(sources.config, version, &mut warnings)?;
    let gates = gates(&given, version, sources.config)?;
    let mut live = Live { sources: sources.live, warnings: Vec::new() };
    let configured =
        overrides.cgroup_version.map(|version| (version, Origin::Flag("--cgroup-version")));
    let configured = configured.or_else(|| {
        let layout = live.host("the mounted cgroup hierarchies", HostFacts::cgroup_layout)?;
        Some((layout.0.version()?, layout.1))
    });
    let cgroup_version =
        facts.add("cgroupVersion", configured, || Some(CgroupVersion::V2), "--cgroup-version");
    let cgroup_version = cgroup_version.unwrap_or(CgroupVersion::V2);
    check(&given, &gates, cgroup_version, sources.config, &mut warnings)?;
    let mut config = effective_with_flags(&given, version, &sources.config.by_flag);
    if let Err(error) = config.cgroup_driver.parse::<CgroupDriver>() {
        let text = format!("cgroupDriver: {error}: the kubelet takes it for cgroupfs");
        let warning = Warning::new(WarningCode::KubeletConfig, text);
        warnings.push(warning.about("cgroupDriver"));
    }
    let cgroup_driver = CgroupDriver::of_field(&config.cgroup_driver);
    let (cgroup_driver, driver_origin) = live.driver(cgroup_driver, sources.config, version);
    config.cgroup_driver = cgroup_driver.to_string();
    let mut capacity = capacity(sources, &mut live, &mut facts);
    if !config.local_storage_capacity_isolation {
        // The disk is then no resource of the node (`Start`, `pkg/kubelet/cm/container_manager_linux.go`).
        capacity.remove(&ResourceName::from("ephemeral-storage"));
    }
    let cpus =
        capacity.get(&ResourceName::Cpu).and_then(Quantity::as_units).and_then(CpuSet::first);
    let reserved = reservations(&mut config, cpus.as_ref()).map_err(|error| {
        let field = error.field();
        DescribeError::Reservation {
            value: sources.config.value[field].to_string(),
            origin: sources.config.origins.get(field).cloned(),
            error: Box::new(error),
        }
    })?;
    let allocatable =
        node_allocatable(&capacity, &reserved).map_err(DescribeError::OverReserved)?;
    warnings.extend(effect_warnings(&config, &reserved, gates, cgroup_version));
    let mut origins = sources.config.origins.clone();
    if let Some(origin) = origins.get("reservedSystemCPUs").cloned() {
        origins.insert("systemReserved".to_owned(), origin);
    }
    origins.extend(driver_origin.map(|origin| ("cgroupDriver".to_owned(), origin)));
    add_configuration(&mut facts, &config, cgroup_version, &origins);
    let flag = |name| Origin::Flag(name);
    let object = sources.object;
    let swap_capacity =
        overrides.swap_capacity.map(|bytes| (bytes, flag("--swap-capacity"))).or_else(|| {
            let (file, object) = object?;
            Some((object.status.node_info.swap.capacity?, Origin::Source(file.to_owned())))
        });
    let swap_capacity = swap_capacity.or_else(|| live.host("/proc/meminfo", HostFacts::swap_bytes));
    let swap_capacity = facts.add("swapCapacity", swap_capacity, || None, "--swap-capacity");
    warnings.extend(start_warnings(&config, &reserved, swap_capacity));
    if let Some((file, object)) = object.filter(|_| !asks_for_amounts(sources)) {
        warnings.extend(status_warnings(file, object, &allocatable, None));
    }
    let swap_controller = overrides
        .swap_controller
        .map(|on| (on, flag("--swap-controller")))
        .or_else(|| {
            let (limits, source) = sources.live?.tree_swap.clone()?;
            Some((limits, Origin::Source(source)))
        })
        .or_else(|| live.host("the cgroup hierarchies", HostFacts::swap_controller));
    let swap_controller =
        facts.add("swapController", swap_controller, || Some(true), "--swap-controller");
    let page_size = overrides.page_size.map(|bytes| (bytes, flag("--page-size")));
    let of_host = sources.live.and_then(|live| live.host.page_size);
    let page_size =
        page_size.or_else(|| of_host.map(|bytes| (bytes, Origin::Source("the host".to_owned()))));
    let page_size = facts.add("pageSize", page_size, || Some(4096), "--page-size");
    warnings.extend(live.warnings);
    Ok(NodeConfig {
        name: object
            .map(|(_, object)| object.metadata.name.clone())
            .filter(|name| !name.is_empty()),
        kubelet_version: version,
        rules: KubeletRules { gates },
        config,
        reservations: reserved,
        capacity,
        allocatable,
        asks_for_amounts: asks_for_amounts(sources),
        cpus,
        cgroup_version,
        cgroup_driver,
        swap_capacity,
        kernel: Kernel {
            swap_controller: swap_controller.unwrap_or(true),
            page_size: page_size.unwrap_or(4096),
        },
        facts: NodeFacts(facts.0),
        warnings,
    })
}

/// The facts on their way into the report.
#[derive(Default)]
struct Facts(Vec<NodeFact>);

impl Facts {
    /// Adds the configured value, else the assumed one, and returns it.
    fn add<T: serde::Serialize>(
        &mut self,
        name: &'static str,
        given: Option<(T, Origin)>,
        otherwise: impl FnOnce() -> Option<T>,
        flag: &str,
    ) -> Option<T> {
        let (value, origin) = match given {
            Some((value, origin)) => (Some(value), origin),
            None => (otherwise(), Origin::Assumed),
        };
        self.0.push(NodeFact { name, value: json!(value), origin, flag: flag.to_owned() });
        value
    }
}

fn kubelet_version(sources: NodeSources<'_>, facts: &mut Facts) -> KubeletVersion {
    let live = sources.live.and_then(|live| live.kubelet_version.as_ref());
    let given = given_version(sources.overrides.kubelet.version, sources.object, live);
    let version = given.as_ref().map_or(KubeletVersion::ASSUMED, |(version, _)| *version);
    let shown = given.map(|(version, origin)| (version.to_string(), origin));
    facts.add(
        "kubeletVersion",
        shown,
        || Some(KubeletVersion::ASSUMED.to_string()),
        "--kubelet-version",
    );
    version
}

/// Rejects what the kubelet rejects; that it does not start on cgroup v1 is a warning, because
/// a what-if is still possible.
fn check(
    given: &KubeletConfiguration,
    gates: &FeatureGates,
    cgroup_version: CgroupVersion,
    source: &ConfigSource,
    warnings: &mut Vec<Warning>,
) -> Result<(), DescribeError> {
    let mode = match cgroup_version {
        CgroupVersion::V1 => CgroupMode::V1,
        CgroupVersion::V2 => CgroupMode::V2,
    };
    let (old, errors): (Vec<_>, Vec<_>) =
        validate_with_flags(given, gates, mode, &source.by_flag).into_iter().partition(|error| {
            matches!(
                error,
                ValidationError::CgroupV1Unsupported | ValidationError::CgroupV1Maintenance
            )
        });
    if !errors.is_empty() {
        let origins: BTreeSet<String> = source.origins.values().map(ToString::to_string).collect();
        return Err(DescribeError::Invalid { errors, origins: origins.into_iter().collect() });
    }
    if !old.is_empty() {
        warnings.push(no_start_on_v1());
    }
    Ok(())
}

/// Returns the capacity: flags over the Node object, resource by resource.
fn capacity(sources: NodeSources<'_>, live: &mut Live<'_>, facts: &mut Facts) -> ResourceList {
    let mut capacity = ResourceList::default();
    let mut origins = BTreeMap::new();
    for (name, amount, source) in live.capacity() {
        capacity.insert(name.clone(), amount);
        origins.insert(name, source);
    }
    if let Some((file, object)) = sources.object {
        // No machine has less than nothing: such an amount is unknown.
        let is_known =
            |name: &ResourceName, amount: &Quantity| is_machine(name) && amount.sign() >= 0;
        let reported = object.status.capacity.iter();
        for (name, amount) in reported.filter(|(name, amount)| is_known(name, amount)) {
            capacity.insert(name.clone(), amount.clone());
            origins.insert(name.clone(), Origin::Source(file.to_owned()));
        }
    }
    for (name, amount) in sources.overrides.capacity.iter() {
        capacity.insert(name.clone(), amount.clone());
        origins.insert(name.clone(), Origin::Flag("--capacity"));
    }
    for (name, shown) in
        [("cpu", "capacity.cpu"), ("memory", "capacity.memory"), ("pid", "capacity.pid")]
    {
        let name = ResourceName::from(name);
        let given = capacity.get(&name).cloned().zip(origins.get(&name).cloned());
        facts.add(shown, given, || None, &format!("--capacity {name}=AMOUNT"));
    }
    let hugepages: BTreeMap<String, _> = capacity
        .iter()
        .filter_map(|(name, amount)| Some((name.hugepage_size()?.to_owned(), amount)))
        .collect();
    let origin = origins.iter().find(|(name, _)| name.hugepage_size().is_some());
    let given = origin.map(|(_, origin)| (json!(hugepages), origin.clone()));
    let given = given.or_else(|| {
        // A Node object that names none has none, and so has a machine.
        if let Some((file, _)) = sources.object {
            return Some((json!({}), Origin::Source(file.to_owned())));
        }
        live.host(HUGEPAGES, HostFacts::hugepages).map(|(_, origin)| (json!({}), origin))
    });
    facts.add("capacity.hugepages", given, || Some(json!({})), "--capacity hugepages-2Mi=AMOUNT");
    capacity
}

/// Returns true if a resource is of the machine, not of a device plugin.
fn is_machine(name: &ResourceName) -> bool {
    matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage")
        || name.hugepage_size().is_some()
}

/// Adds the fields of the configuration that cgroups depend on.
fn add_configuration(
    facts: &mut Facts,
    config: &EffectiveConfiguration,
    cgroup_version: CgroupVersion,
    origins: &BTreeMap<String, Origin>,
) {
    // cgroup v1 has no way to kill a container as one.
    let single = config.single_process_oom_kill.unwrap_or(cgroup_version == CgroupVersion::V1);
    let swap = if config.swap_behavior.is_empty() { "NoSwap" } else { &config.swap_behavior };
    let root = if config.cgroup_root.is_empty() { "/" } else { &config.cgroup_root };
    let fields: [(&'static str, Value); 17] = [
        ("cgroupDriver", json!(config.cgroup_driver)),
        ("cgroupRoot", json!(root)),
        ("cgroupsPerQOS", json!(config.cgroups_per_qos)),
        ("cpuCFSQuota", json!(config.cpu_cfs_quota)),
        ("cpuCFSQuotaPeriod", json!(config.cpu_cfs_quota_period.to_string())),
        ("cpuManagerPolicy", json!(config.cpu_manager_policy)),
        ("enforceNodeAllocatable", json!(config.enforce_node_allocatable)),
        ("featureGates", json!(config.feature_gates)),
        ("kubeReserved", json!(config.kube_reserved)),
        ("memoryReservationPolicy", json!(config.memory_reservation_policy)),
        ("memorySwap", json!(swap)),
        ("memoryThrottlingFactor", json!(config.memory_throttling_factor)),
        ("podPidsLimit", json!(config.pod_pids_limit)),
        ("qosReserved", json!(config.qos_reserved)),
        ("reservedSystemCPUs", json!(config.reserved_system_cpus)),
        ("singleProcessOOMKill", json!(single)),
        ("systemReserved", json!(config.system_reserved)),
    ];
    for (name, value) in fields {
        // Kubelets query the runtime for its driver; the field is the fallback.
        let otherwise = if name == "cgroupDriver" { Origin::Assumed } else { Origin::Default };
        let origin = origins.get(name).cloned().unwrap_or(otherwise);
        let flag = match name {
            "cgroupDriver" => "--cgroup-driver".to_owned(),
            "cgroupRoot" => "--cgroup-root".to_owned(),
            "featureGates" => "--feature-gates".to_owned(),
            "kubeReserved" => "--kube-reserved".to_owned(),
            "systemReserved" => "--system-reserved".to_owned(),
            "qosReserved" => "--qos-reserved".to_owned(),
            "memorySwap" => "--set memorySwap.swapBehavior=VALUE".to_owned(),
            _ => format!("--set {name}=VALUE"),
        };
        facts.0.push(NodeFact { name, value, origin, flag });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::assign;

    fn object() -> (String, NodeObject) {
        let node = crate::objects::node("n1").capacity("example.com/gpu=1").version("v1.34.1");
        ("n1.json".to_owned(), node.read())
    }

    fn origin_of(node: &NodeConfig, name: &str) -> String {
        let fact = node.facts.0.iter().find(|fact| fact.name == name).expect("a fact");
        format!("{} from {}", fact.text(), fact.origin)
    }

    fn described(
        config: &ConfigSource,
        object: Option<&(String, NodeObject)>,
        overrides: &Overrides,
    ) -> Result<NodeConfig, DescribeError> {
        let object = object.map(|(file, object)| (file.as_str(), object));
        describe(NodeSources { config, object, overrides, live: None })
    }

    #[test]
    fn flags_win_over_files_and_files_over_defaults() {
        let value = json!({ "podPidsLimit": 7, "cgroupDriver": "systemd" }).into();
        let mut config = ConfigSource { value, ..ConfigSource::default() };
        for field in ["podPidsLimit", "cgroupDriver"] {
            let file = Origin::Source("kubelet.yaml".to_owned());
            config.origins.insert(field.to_owned(), file);
        }
        let flag = Origin::Flag("--cgroup-driver");
        assign(&mut config, "cgroupDriver", "cgroupfs", flag).expect("text");
        let mut overrides = Overrides::default();
        overrides.capacity.insert(ResourceName::Cpu, "3".parse().expect("a quantity"));
        let node = described(&config, Some(&object()), &overrides).expect("a node");
        for (name, expected) in [
            ("cgroupDriver", "cgroupfs from --cgroup-driver"),
            ("podPidsLimit", "7 from kubelet.yaml"),
            ("cpuCFSQuotaPeriod", "100ms from default"),
            ("kubeletVersion", "1.34.1 from n1.json"),
            ("capacity.cpu", "3 from --capacity"),
            ("capacity.memory", "4Gi from n1.json"),
            ("capacity.pid", "unknown from assumed"),
            ("cgroupVersion", "2 from assumed"),
        ] {
            assert_eq!(origin_of(&node, name), expected, "{name}");
        }
        assert!(!node.capacity.contains(&"example.com/gpu".into()), "devices are no capacity here");
        assert_eq!(node.name.as_deref(), Some("n1"));
    }

    #[test]
    fn what_is_given_or_unknown_is_no_assumption() {
        let (config, overrides) = (ConfigSource::default(), Overrides::default());
        let node = described(&config, Some(&object()), &overrides).expect("a node");
        let assumed: Vec<&str> = node.facts.assumptions().map(|fact| fact.name).collect();
        assert!(assumed.contains(&"cgroupVersion") && assumed.contains(&"cgroupDriver"));
        for given in ["kubeletVersion", "capacity.cpu", "capacity.pid", "swapCapacity"] {
            assert!(!assumed.contains(&given), "{given}");
        }
    }

    #[test]
    fn what_stops_a_kubelet_stops_the_answer() {
        for (name, field, text, expected) in [
            ("gate", "featureGates", "{NodeSwap: false}", "locked to true"),
            ("rule", "maxPods", "-1", "must not be a negative number"),
            ("list", "kubeReserved", "{gpu: '1'}", "cannot reserve"),
        ] {
            let mut config = ConfigSource::default();
            assign(&mut config, field, text, Origin::Flag("--set")).expect("YAML");
            let refused = described(&config, None, &Overrides::default()).expect_err(name);
            let error = with_causes(&refused);
            assert!(error.contains(expected), "{name}: {error}");
        }
    }

    /// Joins an error with its causes, as the binary shows it.
    fn with_causes(error: &dyn std::error::Error) -> String {
        let causes = std::iter::successors(Some(error), |error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }
}
