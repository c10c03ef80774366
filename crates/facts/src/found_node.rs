//! Facts of a live node that become part of a description.

use crate::cgroup_mode::CgroupDriver;
use crate::describe::ConfigSource;
use crate::host::{CPUS_ONLINE, HUGEPAGES, HostFactError, HostFacts, MEMINFO, PID_MAX};
use kq_answer::origin::Origin;
use kq_answer::warning::{Warning, WarningCode};
use kq_k8s::cpuset::CpuSet;
use kq_k8s::pod::ResourceName;
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::version::KubeletVersion;

/// Facts of a live node. Flags take precedence over them.
#[derive(Clone, Debug, Default)]
pub struct LiveSources {
    /// The machine's facts.
    pub host: HostFacts,
    /// The version of the running kubelet, and its source.
    pub kubelet_version: Option<(String, String)>,
    /// The driver that the runtime reports to the kubelet, and the call that reports it.
    pub runtime_driver: Option<(CgroupDriver, String)>,
    /// The driver that made the tree, judging by its names, and the cgroup that shows it.
    pub tree_driver: Option<(CgroupDriver, String)>,
    /// Whether the cgroups of the tree have a limit of swap, and the cgroup that shows it.
    pub tree_swap: Option<(bool, String)>,
}

/// The facts of a live node, and the problems in them.
pub(super) struct Live<'a> {
    pub(super) sources: Option<&'a LiveSources>,
    pub(super) warnings: Vec<Warning>,
}

impl Live<'_> {
    /// Reads a fact of the host; a failure becomes a problem.
    pub(super) fn host<T>(
        &mut self,
        source: &str,
        read: impl Fn(&HostFacts) -> Result<T, HostFactError>,
    ) -> Option<(T, Origin)> {
        match read(&self.sources?.host) {
            Ok(value) => Some((value, Origin::Source(source.to_owned()))),
            Err(error) => {
                let warning = Warning::new(WarningCode::UnreadHostFile, error.to_string());
                let warning = warning.about(error.path());
                if !self.warnings.contains(&warning) {
                    self.warnings.push(warning);
                }
                None
            }
        }
    }

    /// Returns what the host has.
    pub(super) fn capacity(&mut self) -> Vec<(ResourceName, Quantity, Origin)> {
        let mut found = Vec::new();
        let number = |cpus: CpuSet| i64::try_from(cpus.len()).unwrap_or(i64::MAX);
        let mut add = |name: ResourceName, format, sourced: Option<(i64, Origin)>| {
            found.extend(
                sourced.map(|(units, origin)| (name, Quantity::from_units(units, format), origin)),
            );
        };
        let cpus = self.host(CPUS_ONLINE, HostFacts::cpus);
        let cpus = cpus.map(|(cpus, origin)| (number(cpus), origin));
        add(ResourceName::Cpu, Format::DecimalSi, cpus);
        let memory = self.host(MEMINFO, HostFacts::memory_bytes);
        add(ResourceName::Memory, Format::BinarySi, memory);
        let pids = self.host(PID_MAX, HostFacts::pid_limit);
        add("pid".into(), Format::DecimalSi, pids);
        let hugepages = self.host(HUGEPAGES, HostFacts::hugepages);
        for (size, bytes) in hugepages.iter().flat_map(|(sizes, _)| sizes) {
            let origin = Origin::Source(HUGEPAGES.to_owned());
            let name = ResourceName::from(format!("hugepages-{size}").as_str());
            add(name, Format::BinarySi, Some((*bytes, origin)));
        }
        found
    }

    /// Returns the kubelet's driver, and its source if other than the configuration.
    ///
    /// A kubelet queries the runtime (gate KubeletCgroupDriverFromCRI, on since 1.31) and uses its
    /// configuration if the runtime does not report it. Without either, the tree shows the driver.
    pub(super) fn driver(
        &mut self,
        configured: CgroupDriver,
        config: &ConfigSource,
        version: KubeletVersion,
    ) -> (CgroupDriver, Option<Origin>) {
        let Some(sources) = self.sources else { return (configured, None) };
        let origin = config.origins.get("cgroupDriver");
        if matches!(origin, Some(Origin::Flag(_))) {
            return (configured, None);
        }
        let sourced = |(driver, source): &(CgroupDriver, String)| {
            (*driver, Some(Origin::Source(source.clone())))
        };
        match (&sources.runtime_driver, origin, &sources.tree_driver) {
            (Some(runtime), ..) if asks_runtime_for_driver(config, version) => sourced(runtime),
            (_, None, Some(tree)) => sourced(tree),
            _ => (configured, None),
        }
    }
}

/// Returns true if a kubelet with this configuration asks the runtime for its cgroup driver: the gate
/// `KubeletCgroupDriverFromCRI` is on from 1.31, and locked from 1.34 on.
pub fn asks_runtime_for_driver(config: &ConfigSource, version: KubeletVersion) -> bool {
    let gate = config.value.get("featureGates").and_then(|it| it.get("KubeletCgroupDriverFromCRI"));
    asks_for_driver(gate.and_then(serde_json::Value::as_bool), version)
}

/// Returns true if a kubelet with this value of the gate asks the runtime for its cgroup driver.
pub fn asks_for_driver(gate: Option<bool>, version: KubeletVersion) -> bool {
    version.asks_runtime_for_driver() && (gate != Some(false) || version.locks_runtime_driver())
}
