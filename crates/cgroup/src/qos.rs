//! The cgroups of the QoS classes, recomputed by the kubelet once a minute from all active pods.
//!
//! Mirrors `UpdateCgroups`, `setCPUCgroupConfig`, `setMemoryReserve`, `setMemoryQoS` and
//! `setHugePagesUnbounded` of `pkg/kubelet/cm/qos_container_manager_linux.go`, read in 1.36.2,
//! 1.32, and as it was in July 2026 (1.37); pinned by the vectors `qos_cgroup.jsonl`.

use crate::cpu::milli_cpu_to_shares;
use crate::derivation::{Derived, Step};
use crate::files::{CgroupVersion, UNBOUNDED_HUGEPAGES, page_size_bytes};
use crate::pod::pod_options;
use crate::resource_config::ResourceConfig;
use crate::rule::Rule;
use crate::settings::{CgroupSettings, MemoryReservationPolicy};
use kq_answer::cgroup_fact::CgroupFact;
use kq_facts::cgroup_file::CgroupFile;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::{Pod, ResourceList, ResourceName};
use kq_k8s::qos::{QosClass, effective_qos_class};
use kq_k8s::quantity::Quantity;
use kq_k8s::resources::{ResourceOptions, pod_requests};

/// What the active pods request together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QosSums {
    /// Milli-CPU of Burstable pods, each pod rounded up on its own.
    pub burstable_milli_cpu: i64,
    /// Bytes of memory of Burstable pods.
    pub burstable_memory: i64,
    /// Milli-CPU of Guaranteed pods; no cgroup needs it.
    pub guaranteed_milli_cpu: i64,
    /// Bytes of memory of Guaranteed pods.
    pub guaranteed_memory: i64,
    /// How many pods are Guaranteed.
    pub guaranteed_pods: usize,
    /// How many pods are Burstable.
    pub burstable_pods: usize,
}

impl QosSums {
    /// Adds a pod that was admitted and has not ended.
    ///
    /// Memory counts the pod's own resources even where the gate for them is off; CPU does not.
    pub fn add(&mut self, pod: &Pod, settings: &CgroupSettings) {
        let class = effective_qos_class(pod, settings.rules.gates);
        if class == QosClass::BestEffort {
            return;
        }
        let with_pod_level = pod_requests(pod, &ResourceOptions::default()).total;
        let memory = with_pod_level.get(&ResourceName::Memory).map_or(0, Quantity::value);
        let options = pod_options(settings);
        let milli_cpu = |requests: &ResourceList| {
            requests.get(&ResourceName::Cpu).map_or(0, Quantity::milli_value)
        };
        let milli_cpu = if options.skip_pod_level_resources && pod.spec.resources.is_some() {
            milli_cpu(&pod_requests(pod, &options).total)
        } else {
            milli_cpu(&with_pod_level)
        };
        let (pods, cpu_sum, memory_sum) = match class {
            QosClass::Guaranteed => (
                &mut self.guaranteed_pods,
                &mut self.guaranteed_milli_cpu,
                &mut self.guaranteed_memory,
            ),
            _ => (
                &mut self.burstable_pods,
                &mut self.burstable_milli_cpu,
                &mut self.burstable_memory,
            ),
        };
        *pods += 1;
        *cpu_sum = cpu_sum.wrapping_add(milli_cpu);
        *memory_sum = memory_sum.wrapping_add(memory);
    }
}

/// What the kubelet asks for the three cgroups.
#[derive(Clone, Debug, Default)]
pub struct QosCgroups {
    /// Of Guaranteed pods, which is kubepods itself.
    pub kubepods: ResourceConfig,
    /// Of Burstable pods.
    pub burstable: ResourceConfig,
    /// Of BestEffort pods.
    pub besteffort: ResourceConfig,
    /// Classes whose memory limit is not known, and why.
    pub missing: Option<CgroupFact>,
}

/// Returns the three cgroups. `reserved_memory` is the percentage of `qosReserved`.
pub fn qos_cgroups(
    sums: &QosSums,
    reserved_memory: Option<i64>,
    settings: &CgroupSettings,
) -> QosCgroups {
    let mut cgroups = QosCgroups::default();
    cgroups.besteffort.cpu_shares = Some(Derived::new(2, [Rule::BestEffortShares.into()]));
    let milli_cpu = sums.burstable_milli_cpu;
    let shares = milli_cpu_to_shares(milli_cpu);
    let sum = pod_sum(CPU, vec![QosClass::Burstable], sums.burstable_pods, milli_cpu);
    let steps = [sum, Step::MilliCpuToShares { milli_cpu, shares }];
    cgroups.burstable.cpu_shares = Some(Derived::new(shares, steps));
    for size in &settings.hugepage_sizes {
        // Sizes are those of the node, which the kernel named.
        let Some(bytes) = page_size_bytes(size).and_then(|bytes| i64::try_from(bytes).ok()) else {
            continue;
        };
        for config in [&mut cgroups.kubepods, &mut cgroups.burstable, &mut cgroups.besteffort] {
            let limit = Derived::new(UNBOUNDED_HUGEPAGES, [Rule::UnboundedHugepages.into()]);
            config.hugepage_limits.insert(bytes, limit);
        }
    }
    let is_asked =
        settings.rules.gates.enabled(Gate::MemoryQos) || settings.rules.resets_protection();
    if is_asked && settings.version == CgroupVersion::V2 {
        protect_memory(&mut cgroups, sums, settings);
    }
    if settings.rules.gates.enabled(Gate::QosReserved)
        && let Some(percent) = reserved_memory
    {
        reserve_memory(&mut cgroups, sums, percent, settings);
    }
    cgroups
}

fn protect_memory(cgroups: &mut QosCgroups, sums: &QosSums, settings: &CgroupSettings) {
    let burstable =
        pod_sum(MEMORY, vec![QosClass::Burstable], sums.burstable_pods, sums.burstable_memory);
    let both_memory = sums.guaranteed_memory.wrapping_add(sums.burstable_memory);
    let both = pod_sum(
        MEMORY,
        vec![QosClass::Guaranteed, QosClass::Burstable],
        sums.guaranteed_pods + sums.burstable_pods,
        both_memory,
    );
    let text =
        |bytes: i64, sum: Step, rule: Rule| Derived::new(bytes.to_string(), [sum, rule.into()]);
    if !settings.rules.memory_reservation_policies() {
        let rule = Rule::MemoryQosWithoutPolicy;
        if both_memory > 0 {
            cgroups
                .kubepods
                .unified
                .insert(CgroupFile::MemoryMin.v2_name(), text(both_memory, both, rule));
        }
        if sums.burstable_memory > 0 {
            let text = text(sums.burstable_memory, burstable, rule);
            cgroups.burstable.unified.insert(CgroupFile::MemoryMin.v2_name(), text);
        }
        return;
    }
    let is_on = settings.rules.gates.enabled(Gate::MemoryQos);
    let (min, low) = match settings.memory_reservation_policy {
        MemoryReservationPolicy::TieredReservation if is_on => (
            text(both_memory, both, Rule::GuaranteedReservation),
            text(sums.burstable_memory, burstable, Rule::TieredReservation),
        ),
        _ => {
            let rule = if is_on { Rule::NoMemoryReservation } else { Rule::NoMemoryQos };
            let zero = || Derived::new("0".to_owned(), [rule.into()]);
            (zero(), zero())
        }
    };
    cgroups.kubepods.unified.insert(CgroupFile::MemoryMin.v2_name(), min);
    if settings.rules.protects_all_pods() {
        cgroups.kubepods.unified.insert(CgroupFile::MemoryLow.v2_name(), low.clone());
    }
    cgroups.burstable.unified.insert(CgroupFile::MemoryLow.v2_name(), low);
}

fn reserve_memory(
    cgroups: &mut QosCgroups,
    sums: &QosSums,
    percent: i64,
    settings: &CgroupSettings,
) {
    let Some(allocatable) = settings.node_allocatable.get(&ResourceName::Memory) else {
        cgroups.missing = Some(CgroupFact::MemoryCapacity);
        return;
    };
    let allocatable = allocatable.value();
    if allocatable == 0 {
        return;
    }
    let reserve = |available: i64, requests: i64| {
        let held_back = requests.wrapping_mul(percent) / 100;
        let limit = available.wrapping_sub(held_back);
        Derived::new(limit, [Step::QosReserved { available, requests, percent, limit }])
    };
    let burstable = reserve(allocatable, sums.guaranteed_memory);
    let besteffort = reserve(burstable.value, sums.burstable_memory);
    cgroups.burstable.memory_limit = Some(burstable);
    cgroups.besteffort.memory_limit = Some(besteffort);
}

impl QosCgroups {
    /// Raises each memory limit that is below the usage to the usage, as the kubelet does after the
    /// kernel refused an update. Returns true if a limit was raised.
    pub fn raise_to_usage(&mut self, burstable: Option<i64>, besteffort: Option<i64>) -> bool {
        let mut raised = false;
        for (config, usage) in
            [(&mut self.burstable, burstable), (&mut self.besteffort, besteffort)]
        {
            if let (Some(limit), Some(usage)) = (&mut config.memory_limit, usage)
                && usage > limit.value
            {
                limit.value = usage;
                limit.because.push(Rule::LimitRaisedToUsage.into());
                raised = true;
            }
        }
        raised
    }
}

/// What is added up over pods, and its unit.
type Summed = (&'static str, &'static str);
const CPU: Summed = ("requests.cpu", "milli-CPU");
const MEMORY: Summed = ("requests.memory", "bytes");

fn pod_sum((field, unit): Summed, classes: Vec<QosClass>, pods: usize, sum: i64) -> Step {
    Step::PodSum { field, classes: classes.into(), pods, sum, unit }
}
