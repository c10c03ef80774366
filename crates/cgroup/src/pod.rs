//! The cgroup of a pod.
//!
//! Mirrors `ResourceConfigForPod` and `HugePageLimits` of `pkg/kubelet/cm/helpers_linux.go` and
//! `EnsureExists` of `pkg/kubelet/cm/pod_container_manager_linux.go`, read in 1.36.2 and 1.32; pinned
//! by the vectors `pod_cgroup.jsonl`.

use crate::cpu::{milli_cpu_to_quota, milli_cpu_to_shares};
use crate::derivation::{Derived, Stated, Step};
use crate::files::CgroupVersion;
use crate::memory_qos::memory_high_step;
use crate::resource_config::ResourceConfig;
use crate::rule::Rule;
use crate::settings::{CgroupSettings, MemoryReservationPolicy};
use crate::total::explain_total;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_name::{CgroupName, CgroupNameError};
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::{Container, Pod, ResourceList, ResourceName};
use kq_k8s::qos::{QosClass, effective_qos_class, is_container_guaranteed};
use kq_k8s::quantity::Quantity;
use kq_k8s::resources::{
    PodTotal, ResourceOptions, Seen, Side, has_pod_level_resources, is_pod_level_set, pod_total,
};
use std::collections::BTreeMap;

pub use kq_facts::workloads::effective_uid;

/// Returns the name of a pod's cgroup.
/// Fails for a UID that the kubelet panics on.
pub fn pod_cgroup_name(
    uid: &str,
    class: QosClass,
    settings: &CgroupSettings,
) -> Result<CgroupName, CgroupNameError> {
    if !settings.cgroups_per_qos {
        return Ok(CgroupName::from_root(&settings.root));
    }
    let kubepods = CgroupName::node_allocatable_root(&settings.root, true);
    CgroupName::qos(&kubepods, class).child(&format!("pod{uid}"))
}

/// Returns how a pod's amounts are added up under these rules.
pub fn pod_options(settings: &CgroupSettings) -> ResourceOptions {
    ResourceOptions {
        skip_pod_level_resources: !settings.rules.gates.enabled(Gate::PodLevelResources),
        skip_pod_level_hugepages: !settings.rules.pod_level_hugepages(),
        ..ResourceOptions::default()
    }
}

/// Returns the kubelet's settings for a pod's cgroup. `exclusive_cpus`: the CPU manager pinned a
/// container.
pub fn pod_resource_config(
    pod: &Pod,
    exclusive_cpus: bool,
    settings: &CgroupSettings,
) -> ResourceConfig {
    let options = pod_options(settings);
    let sums = PodSums {
        pod,
        requests: pod_total(pod, Side::Requests, &options),
        limits: pod_total(pod, Side::Limits, &options),
        options,
        counts_own_limits: settings.rules.counts_own_limits(),
    };
    let class = effective_qos_class(pod, settings.rules.gates);
    let shares = match class {
        QosClass::BestEffort => Derived::new(2, [Rule::BestEffortShares.into()]),
        QosClass::Guaranteed | QosClass::Burstable => sums.shares(),
    };
    let mut config = ResourceConfig { cpu_shares: Some(shares), ..ResourceConfig::default() };
    let all = class == QosClass::Guaranteed;
    if all || (class == QosClass::Burstable && sums.declares_limit(&ResourceName::Cpu)) {
        config.cpu_quota_us = Some(sums.quota(exclusive_cpus, settings));
        config.cpu_period_us = Some(settings.cpu_cfs_quota_period_us);
    }
    if all || (class == QosClass::Burstable && sums.declares_limit(&ResourceName::Memory)) {
        config.memory_limit = Some(sums.units(Side::Limits, &ResourceName::Memory));
    }
    config.hugepage_limits = sums.hugepage_limits();
    if settings.pod_pids_limit > 0 {
        let value = settings.pod_pids_limit;
        let given = Step::Given { field: "podPidsLimit".into(), value: Stated::Number(value) };
        config.pids_limit = Some(Derived::new(value, [given]));
    }
    if let Some((file, text)) = sums.memory_reservation(class, settings) {
        config.unified.insert(file, text);
    }
    if let Some(text) = sums.memory_high(settings) {
        config.unified.insert(CgroupFile::MemoryHigh.v2_name(), text);
    }
    config
}

/// Returns the memory limit of a pod as a whole, where it has one that counts.
pub fn pod_memory_limit<'p>(pod: &'p Pod, settings: &CgroupSettings) -> Option<&'p Quantity> {
    let resources = pod.spec.resources.as_ref()?;
    let limit = resources.limits.get(&ResourceName::Memory)?;
    let counts = settings.rules.gates.enabled(Gate::PodLevelResources) && !limit.is_zero();
    counts.then_some(limit)
}

struct PodSums<'p> {
    pod: &'p Pod,
    requests: PodTotal<'p>,
    limits: PodTotal<'p>,
    options: ResourceOptions,
    /// Each container counts with its own limit alone.
    counts_own_limits: bool,
}

impl PodSums<'_> {
    fn side(&self, side: Side) -> &PodTotal<'_> {
        match side {
            Side::Requests => &self.requests,
            Side::Limits => &self.limits,
        }
    }

    fn explain(&self, side: Side, name: &ResourceName) -> Step {
        explain_total(self.pod, side, name, self.side(side), &self.options)
    }

    fn shares(&self) -> Derived<u64> {
        let Some(request) = self.requests.total.get(&ResourceName::Cpu) else {
            return Derived::new(2, [Rule::NoCpuRequest.into()]);
        };
        let milli_cpu = request.milli_value();
        let shares = milli_cpu_to_shares(milli_cpu);
        let total = self.explain(Side::Requests, &ResourceName::Cpu);
        // A weight follows.
        let mut because = Vec::with_capacity(3);
        because.extend([total, Step::MilliCpuToShares { milli_cpu, shares }]);
        Derived::new(shares, because)
    }

    fn quota(&self, exclusive_cpus: bool, settings: &CgroupSettings) -> Derived<i64> {
        let gates = settings.rules.gates;
        if !settings.cpu_cfs_quota {
            return Derived::new(-1, [Rule::CfsQuotaOff.into()]);
        }
        if exclusive_cpus && gates.enabled(Gate::DisableCpuQuotaWithExclusiveCpus) {
            return Derived::new(-1, [Rule::ExclusiveCpus.into()]);
        }
        let Some(limit) = self.limits.total.get(&ResourceName::Cpu) else {
            return Derived::new(0, [Rule::NoCpuLimit.into()]);
        };
        let (milli_cpu, period_us) = (limit.milli_value(), settings.cpu_cfs_quota_period_us);
        let custom_period = gates.enabled(Gate::CustomCpuCfsQuotaPeriod);
        let quota_us = milli_cpu_to_quota(milli_cpu, period_us, custom_period);
        let total = self.explain(Side::Limits, &ResourceName::Cpu);
        Derived::new(quota_us, [total, Step::MilliCpuToQuota { milli_cpu, period_us, quota_us }])
    }

    fn units(&self, side: Side, name: &ResourceName) -> Derived<i64> {
        let units = self.side(side).total.get(name).map_or(0, Quantity::value);
        Derived::new(units, [self.explain(side, name), Step::Units { units, unit: "bytes" }])
    }

    /// Returns true if every container has a limit, as far as the kubelet looks: before 1.37, an init container
    /// hides its missing one behind the sidecars that were started before it.
    fn declares_limit(&self, name: &ResourceName) -> bool {
        let non_zero = |list: &ResourceList| list.get(name).is_some_and(|limit| !limit.is_zero());
        let pod_level = self.pod.spec.resources.as_ref().is_some_and(|resources| {
            !self.options.skip_pod_level_resources
                && is_pod_level_set(resources, false, self.options.skip_pod_level_hugepages)
                && non_zero(&resources.limits)
        });
        let has_limit = |seen: &Seen<'_>| match self.counts_own_limits {
            true => non_zero(&seen.amounts),
            false => self.limits.amount(seen, name).is_some_and(|limit| !limit.is_zero()),
        };
        pod_level || self.limits.seen.iter().all(has_limit)
    }

    /// A pod with a memory limit of its own is throttled as a whole, by the formula of containers, from its totals
    /// with the overhead (`ApplyPodLevelMemoryHigh`; its test and its caller were read, not the function).
    fn memory_high(&self, settings: &CgroupSettings) -> Option<Derived<String>> {
        let gates = settings.rules.gates;
        let is_asked = settings.rules.throttles_pods()
            && gates.enabled(Gate::MemoryQos)
            && settings.version == CgroupVersion::V2;
        let factor = settings.memory_throttling_factor.filter(|_| is_asked)?;
        pod_memory_limit(self.pod, settings)?;
        let of = |side| self.side(side).total.get(&ResourceName::Memory).map_or(0, Quantity::value);
        let (request, top) = (of(Side::Requests), of(Side::Limits));
        let step = memory_high_step(request, (top, "limit"), factor, settings)?;
        let text = step.1.to_string();
        Some(Derived::new(text, [self.explain(Side::Limits, &ResourceName::Memory), step.0]))
    }

    /// Two names can mean one size.
    fn hugepage_limits(&self) -> BTreeMap<i64, Derived<i64>> {
        let mut limits = BTreeMap::<i64, Derived<i64>>::new();
        for (name, _) in self.requests.total.iter() {
            let Some(size) = name.hugepage_size() else {
                continue;
            };
            let size = hugepage_size_bytes(size);
            let Derived { value, because } = self.units(Side::Requests, name);
            let limit = limits.entry(size).or_insert_with(|| Derived::new(0, []));
            limit.value = limit.value.wrapping_add(value);
            limit.because.extend(because);
        }
        limits
    }

    fn memory_reservation(
        &self,
        class: QosClass,
        settings: &CgroupSettings,
    ) -> Option<(&'static str, Derived<String>)> {
        if !settings.rules.gates.enabled(Gate::MemoryQos) || settings.version == CgroupVersion::V1 {
            return None;
        }
        let request = self.requests.total.get(&ResourceName::Memory)?.value();
        if request <= 0 {
            return None;
        }
        let (file, rule) = match settings.memory_reservation_policy {
            _ if !settings.rules.memory_reservation_policies() => {
                (CgroupFile::MemoryMin.v2_name(), Rule::MemoryQosWithoutPolicy)
            }
            MemoryReservationPolicy::None => return None,
            MemoryReservationPolicy::TieredReservation if class == QosClass::Guaranteed => {
                (CgroupFile::MemoryMin.v2_name(), Rule::GuaranteedReservation)
            }
            MemoryReservationPolicy::TieredReservation => {
                (CgroupFile::MemoryLow.v2_name(), Rule::TieredReservation)
            }
        };
        let Derived { value, mut because } = self.units(Side::Requests, &ResourceName::Memory);
        because.push(rule.into());
        Some((file, Derived { value: value.to_string(), because }))
    }
}

/// Returns the bytes of the page size in a resource's name; a size that cannot be read counts as 0.
pub fn hugepage_size_bytes(size: &str) -> i64 {
    size.parse::<Quantity>().map_or(0, |size| size.value())
}

/// Returns the containers of a pod that get CPUs of their own; none unless the policy is static (`guaranteedCPUs`,
/// `pkg/kubelet/cm/cpumanager/policy_static.go`, read in 1.36).
pub fn pinned_containers<'p>(
    pod: &'p Pod,
    settings: &CgroupSettings,
) -> impl Iterator<Item = &'p str> {
    let is_guaranteed = settings.static_cpu_manager
        && effective_qos_class(pod, settings.rules.gates) == QosClass::Guaranteed;
    pod_containers(pod)
        .filter(move |container| is_guaranteed && has_exclusive_cpus(pod, container, settings))
        .map(|container| container.name.as_str())
}

/// Returns true if the quota of the pod's own cgroup goes where its containers have exclusive CPUs: with some of them, and
/// in a pod whose resources are managed as a whole with all (`PodHasExclusiveCPUs`,
/// `pkg/kubelet/cm/container_manager_linux.go`, read in 1.36.2).
pub fn has_pinned_pod(pod: &Pod, settings: &CgroupSettings) -> bool {
    let pinned = pinned_containers(pod, settings).count();
    match settings.rules.manages_pod_level_resources() && has_pod_level_resources(pod) {
        true => pinned == pod_containers(pod).count(),
        false => pinned > 0,
    }
}

fn pod_containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    pod.spec.init_and_containers()
}

/// Returns true if a container of a Guaranteed pod gets exclusive CPUs: with a whole number of CPUs, and not in
/// a pod with resources of its own, where the kubelet passes over those; where it manages them as a whole, a container
/// needs limits that equal its requests.
fn has_exclusive_cpus(pod: &Pod, container: &Container, settings: &CgroupSettings) -> bool {
    let pod_level = settings.rules.skips_pod_level_resources()
        && pod.spec.resources.as_ref().is_some_and(|resources| {
            settings.rules.gates.enabled(Gate::PodLevelResources)
                && is_pod_level_set(resources, false, !settings.rules.pod_level_hugepages())
        });
    let whole = container.resources.requests.get(&ResourceName::Cpu).is_some_and(|request| {
        request.sign() > 0 && request.value().wrapping_mul(1000) == request.milli_value()
    });
    let is_left_out = settings.rules.manages_pod_level_resources()
        && has_pod_level_resources(pod)
        && !is_container_guaranteed(&container.resources);
    whole && !pod_level && !is_left_out
}
