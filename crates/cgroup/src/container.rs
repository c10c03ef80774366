//! The kubelet's requests to the container runtime for each container and for the sandbox, and the files that the
//! runtime writes.
//!
//! Mirrors `generateLinuxContainerResources`, `calculateLinuxResources`,
//! `GetHugepageLimitsFromResources` and the swap helpers of
//! `pkg/kubelet/kuberuntime/kuberuntime_container_linux.go`, and
//! `pkg/kubelet/kuberuntime/kuberuntime_sandbox_linux.go`, read in 1.36.2; pinned by the vectors
//! `container_cgroup.jsonl`. The files follow runc (`libcontainer/cgroups/fs`, `fs2`, `systemd`) and containerd's
//! CRI plugin (`internal/cri/opts/spec_linux_opts.go`, `WithResources`).

use crate::cpu::{milli_cpu_to_quota, milli_cpu_to_shares};
use crate::derivation::{Derived, Stated, Step};
use crate::files::{CgroupVersion, FileValue, hugetlb_files, memory_files, page_size_text};
use crate::memory_qos::memory_qos;
use crate::oom_score::oom_score_adj;
use crate::plan::RuntimeFormula;
use crate::pod::{pod_memory_limit, pod_options};
use crate::resource_config::{ExplainedFile, WeightWriter, cpu_files, shares_file};
use crate::rule::Rule;
use crate::settings::{CgroupSettings, SwapBehavior};
use crate::swap::{swap_behavior, swap_limit};
use crate::youki;
use kq_answer::cgroup_fact::CgroupFact;
use kq_facts::cgroup_file::CgroupFile;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::{Container, Pod, ResourceList, ResourceName, ResourceRequirements};
use kq_k8s::qos::{QosClass, effective_qos_class};
use kq_k8s::quantity::Quantity;
use kq_k8s::resources::{ResourceOptions, is_pod_level_set, pod_limits, pod_requests};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The request to the runtime: `LinuxContainerResources` of the CRI, where 0 is "not set".
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeResources {
    pub cpu_shares: Derived<i64>,
    /// CPU time per period in microseconds; -1 is without limit.
    pub cpu_quota_us: Derived<i64>,
    /// The period in microseconds.
    pub cpu_period_us: i64,
    /// The memory limit in bytes.
    pub memory_limit: Derived<i64>,
    /// Memory and swap together in bytes, on cgroup v1.
    pub memory_swap_limit: Option<Derived<i64>>,
    /// Limits in bytes by the kernel's names of page sizes, in the node's order.
    pub hugepage_limits: Vec<(String, Derived<u64>)>,
    /// Files of cgroup v2 by name.
    pub unified: BTreeMap<&'static str, Derived<String>>,
}

impl RuntimeResources {
    fn unset() -> Self {
        Self {
            cpu_shares: Derived::new(0, []),
            cpu_quota_us: Derived::new(0, []),
            cpu_period_us: 0,
            memory_limit: Derived::new(0, []),
            memory_swap_limit: None,
            hugepage_limits: Vec::new(),
            unified: BTreeMap::new(),
        }
    }
}

/// How the kubelet treats a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContainerKind {
    /// Runs to its end before the regular containers start.
    InitContainer,
    /// An init container that stays.
    Sidecar,
    /// A regular container.
    Container,
    /// Added to a running pod.
    EphemeralContainer,
}

/// What one container gets.
#[derive(Clone, Debug)]
pub struct ContainerCgroup<'p> {
    pub container: &'p Container,
    /// How it is treated.
    pub kind: ContainerKind,
    /// The settings requested from the runtime.
    pub resources: RuntimeResources,
    /// The score of its processes.
    pub oom_score_adj: Result<Derived<i64>, CgroupFact>,
    /// Whether it may swap.
    pub swap_behavior: SwapBehavior,
    /// Files whose text is not known, and why.
    pub missing: Vec<(&'static str, CgroupFact)>,
}

/// Returns the cgroups of a pod's containers: init, regular, ephemeral ones. `exclusive_cpus`: the CPU
/// manager pinned a container.
pub fn container_cgroups<'p>(
    pod: &'p Pod,
    exclusive_cpus: &dyn Fn(&str) -> bool,
    settings: &CgroupSettings,
) -> Vec<ContainerCgroup<'p>> {
    let class = effective_qos_class(pod, settings.rules.gates);
    let spec = &pod.spec;
    let init = spec.init_containers.iter().map(|container| {
        let sidecar = container.restarts_always();
        (container, if sidecar { ContainerKind::Sidecar } else { ContainerKind::InitContainer })
    });
    let regular = spec.containers.iter().map(|container| (container, ContainerKind::Container));
    let ephemeral = spec
        .ephemeral_containers
        .iter()
        .map(|container| (container, ContainerKind::EphemeralContainer));
    init.chain(regular)
        .chain(ephemeral)
        .map(|(container, kind)| {
            let exclusive = exclusive_cpus(&container.name);
            container_cgroup(pod, class, container, kind, exclusive, settings)
        })
        .collect()
}

fn container_cgroup<'p>(
    pod: &'p Pod,
    class: QosClass,
    container: &'p Container,
    kind: ContainerKind,
    exclusive_cpus: bool,
    settings: &CgroupSettings,
) -> ContainerCgroup<'p> {
    let own = &container.resources;
    let pod_level = pod_level_resources(pod, settings);
    let limit_of = |name: ResourceName| Limit::of(own, pod_level, &name);
    let mut resources = linux_resources(
        own.requests.get(&ResourceName::Cpu),
        &limit_of(ResourceName::Cpu),
        &limit_of(ResourceName::Memory),
        exclusive_cpus,
        settings,
    );
    resources.hugepage_limits = hugepage_limits(own, pod_level, settings);
    let mut missing = Vec::new();
    let behavior = swap_behavior(pod, class, own, settings);
    if settings.kernel.swap_controller {
        match settings.version {
            CgroupVersion::V1 if resources.memory_limit.value != 0 => {
                let mut limit = resources.memory_limit.clone();
                limit.because.push(Rule::NoSwapAboveMemory.into());
                resources.memory_swap_limit = Some(limit);
            }
            CgroupVersion::V1 => {}
            CgroupVersion::V2 => match swap_limit(own, behavior, settings) {
                Ok(limit) => {
                    resources.unified.insert(CgroupFile::MemorySwapMax.v2_name(), limit);
                }
                Err(fact) => missing.push((CgroupFile::MemorySwapMax.v2_name(), fact)),
            },
        }
    }
    if settings.rules.gates.enabled(Gate::MemoryQos) && settings.version == CgroupVersion::V2 {
        let (unified, unknown) =
            memory_qos(own, pod_memory_limit(pod, settings).is_some(), class, settings);
        resources.unified.extend(unified);
        missing.extend(unknown);
    }
    let sidecar = kind == ContainerKind::Sidecar;
    ContainerCgroup {
        container,
        kind,
        resources,
        oom_score_adj: oom_score_adj(pod, class, container, sidecar, settings),
        swap_behavior: behavior.0,
        missing,
    }
}

/// Returns the request for the sandbox as a whole, for runtimes that size a virtual
/// machine by it: the pod's totals without overhead, and the overhead.
pub fn sandbox_resources(
    pod: &Pod,
    exclusive_cpus: bool,
    settings: &CgroupSettings,
) -> (RuntimeResources, RuntimeResources) {
    let options = ResourceOptions { exclude_overhead: true, ..pod_options(settings) };
    let requests = pod_requests(pod, &options).total;
    let limits = pod_limits(pod, &options).total;
    let total = |list: &ResourceList, name: ResourceName| Limit {
        amount: list.get(&name).cloned(),
        because: Vec::new(),
    };
    let resources = linux_resources(
        requests.get(&ResourceName::Cpu),
        &total(&limits, ResourceName::Cpu),
        &total(&limits, ResourceName::Memory),
        exclusive_cpus,
        settings,
    );
    let overhead = pod.spec.overhead.as_ref().map_or_else(RuntimeResources::unset, |overhead| {
        // A missing amount is a request of zero here, not the absence of one.
        let cpu = total(overhead, ResourceName::Cpu);
        let request = cpu.amount.clone().unwrap_or_default();
        linux_resources(
            Some(&request),
            &cpu,
            &total(overhead, ResourceName::Memory),
            false,
            settings,
        )
    });
    (resources, overhead)
}

struct Limit {
    amount: Option<Quantity>,
    because: Vec<Step>,
}

impl Limit {
    /// Returns a container's limit: its own, or the pod's where it has none.
    fn of(
        own: &ResourceRequirements,
        pod_level: Option<&ResourceRequirements>,
        name: &ResourceName,
    ) -> Self {
        let own = own.limits.get(name);
        if let Some(amount) = own.filter(|amount| !amount.is_zero()) {
            return Self {
                amount: Some(amount.clone()),
                because: vec![given("limits", name, amount)],
            };
        }
        match pod_level.and_then(|resources| resources.limits.get(name)) {
            Some(amount) => Self {
                amount: Some(amount.clone()),
                because: vec![
                    Rule::PodLimitStandsForContainer.into(),
                    given("spec.resources.limits", name, amount),
                ],
            },
            None => Self { amount: own.cloned(), because: Vec::new() },
        }
    }
}

/// `calculateLinuxResources`: the part that containers, sandbox and overhead have in common.
fn linux_resources(
    cpu_request: Option<&Quantity>,
    cpu_limit: &Limit,
    memory_limit: &Limit,
    exclusive_cpus: bool,
    settings: &CgroupSettings,
) -> RuntimeResources {
    let mut resources = RuntimeResources::unset();
    resources.cpu_shares = shares(cpu_request, cpu_limit);
    let memory = memory_limit.amount.as_ref().map_or(0, Quantity::value);
    let units = Step::Units { units: memory, unit: "bytes" };
    let because = with_step(&memory_limit.because, units);
    resources.memory_limit = Derived::new(memory, because);
    if settings.cpu_cfs_quota {
        let custom_period = settings.rules.gates.enabled(Gate::CustomCpuCfsQuotaPeriod);
        let period_us = if custom_period { settings.cpu_cfs_quota_period_us } else { 100_000 };
        resources.cpu_period_us = period_us;
        resources.cpu_quota_us = if exclusive_cpus
            && settings.rules.gates.enabled(Gate::DisableCpuQuotaWithExclusiveCpus)
        {
            Derived::new(-1, [Rule::ExclusiveCpus.into()])
        } else {
            quota(cpu_limit, period_us)
        };
    } else {
        resources.cpu_quota_us = Derived::new(0, [Rule::CfsQuotaOff.into()]);
    }
    if settings.version == CgroupVersion::V2 && !settings.single_process_oom_kill.unwrap_or(false) {
        let group = Derived::new("1".to_owned(), [Rule::OomGroup.into()]);
        resources.unified.insert(CgroupFile::MemoryOomGroup.v2_name(), group);
    }
    resources
}

/// Returns steps and one more.
fn with_step(steps: &[Step], last: Step) -> Vec<Step> {
    let mut all = Vec::with_capacity(steps.len() + 1);
    all.extend_from_slice(steps);
    all.push(last);
    all
}

fn shares(request: Option<&Quantity>, limit: &Limit) -> Derived<i64> {
    // The request or the limit, shares and weight.
    let mut because = Vec::with_capacity(3);
    let milli_cpu = match (request, &limit.amount) {
        (Some(request), _) => {
            because.push(given("requests", &ResourceName::Cpu, request));
            request.milli_value()
        }
        (None, Some(limit_amount)) => {
            because.push(Rule::LimitStandsForRequest.into());
            because.extend(limit.because.iter().cloned());
            limit_amount.milli_value()
        }
        (None, None) => return Derived::new(2, [Rule::NoCpuRequest.into()]),
    };
    let shares = milli_cpu_to_shares(milli_cpu);
    because.push(Step::MilliCpuToShares { milli_cpu, shares });
    // At most 262144.
    Derived::new(shares.cast_signed(), because)
}

fn quota(limit: &Limit, period_us: i64) -> Derived<i64> {
    let milli_cpu = limit.amount.as_ref().map_or(0, Quantity::milli_value);
    if milli_cpu == 0 {
        return Derived::new(0, [Rule::NoCpuLimit.into()]);
    }
    let quota_us = milli_cpu_to_quota(milli_cpu, period_us, true);
    let step = Step::MilliCpuToQuota { milli_cpu, period_us, quota_us };
    Derived::new(quota_us, with_step(&limit.because, step))
}

/// Returns a limit for every page size of the node: the container's, else the pod's, else 0.
fn hugepage_limits(
    own: &ResourceRequirements,
    pod_level: Option<&ResourceRequirements>,
    settings: &CgroupSettings,
) -> Vec<(String, Derived<u64>)> {
    let pod_level = pod_level.filter(|_| settings.rules.container_takes_pod_level_hugepages());
    let asked = [
        ("limits", Some(&own.limits)),
        ("spec.resources.limits", pod_level.map(|resources| &resources.limits)),
    ];
    let limit_of = |size: &str| {
        asked.iter().find_map(|(field, limits)| {
            let (name, amount) =
                limits.iter().flat_map(|limits| limits.iter()).find(|(name, _)| {
                    let bytes = name.hugepage_size().and_then(|size| size.parse::<Quantity>().ok());
                    bytes.is_some_and(|bytes| {
                        page_size_text(bytes.value()).is_ok_and(|text| text == size)
                    })
                })?;
            let bytes = amount.value().cast_unsigned();
            let units = Step::Units { units: amount.value(), unit: "bytes" };
            Some(Derived::new(bytes, [given(field, name, amount), units]))
        })
    };
    settings
        .hugepage_sizes
        .iter()
        .map(|size| {
            let limit = limit_of(size)
                .unwrap_or_else(|| Derived::new(0, [Rule::UnlistedHugepageSize.into()]));
            (size.clone(), limit)
        })
        .collect()
}

fn pod_level_resources<'p>(
    pod: &'p Pod,
    settings: &CgroupSettings,
) -> Option<&'p ResourceRequirements> {
    let skip_hugepages = !settings.rules.pod_level_hugepages();
    pod.spec.resources.as_ref().filter(|resources| {
        settings.rules.gates.enabled(Gate::PodLevelResources)
            && is_pod_level_set(resources, false, skip_hugepages)
    })
}

fn given(list: &'static str, name: &ResourceName, amount: &Quantity) -> Step {
    let field = match (list, name) {
        ("requests", ResourceName::Cpu) => Cow::Borrowed("requests.cpu"),
        ("limits", ResourceName::Cpu) => Cow::Borrowed("limits.cpu"),
        ("limits", ResourceName::Memory) => Cow::Borrowed("limits.memory"),
        _ => Cow::Owned(format!("{list}.{name}")),
    };
    Step::Given { field, value: Stated::Quantity(amount.clone()) }
}

/// Returns the files, in the order of their controllers. What is 0 is not set.
pub fn container_files(
    resources: RuntimeResources,
    runtime: RuntimeFormula,
    settings: &CgroupSettings,
) -> Vec<ExplainedFile> {
    let RuntimeFormula { formula, assumed, limits_reservations, disables_hugetlb, under_systemd } =
        runtime;
    let (resources, driver) = youki::written(resources, under_systemd, settings);
    let version = settings.version;
    let mut files = Vec::with_capacity(6);
    let Derived { value: shares, because } = resources.cpu_shares;
    if shares != 0 {
        let writer = WeightWriter { writer: "runtime", formula, assumed };
        let shares = Derived { value: shares.cast_unsigned(), because };
        files.push(shares_file(shares, version, writer));
    }
    let quota = Some(resources.cpu_quota_us);
    files.extend(cpu_files(quota, Some(resources.cpu_period_us), version, driver));
    let Derived { value: limit, because } = resources.memory_limit;
    files.extend(ExplainedFile::all(memory_files(limit, version), because));
    if let Some(Derived { value: limit, because }) = resources.memory_swap_limit {
        let file = CgroupFile::MemoryMemswLimit.name(version);
        let file = FileValue { file: file.into(), value: limit.to_string() };
        files.push(ExplainedFile::new(file, because));
    }
    let hugepage_limits = match disables_hugetlb {
        Some(true) => Vec::new(),
        Some(false) | None => resources.hugepage_limits,
    };
    for (size, Derived { value: limit, mut because }) in hugepage_limits {
        if disables_hugetlb.is_none() {
            because.push(Rule::RuntimeMayIgnoreHugepages.into());
        }
        let mut written = Vec::from(hugetlb_files(&size, limit, version));
        written.truncate(if limits_reservations { 2 } else { 1 });
        files.extend(ExplainedFile::all(written, because));
    }
    if version == CgroupVersion::V2 {
        files.extend(resources.unified.into_iter().map(ExplainedFile::unified));
    }
    files
}
