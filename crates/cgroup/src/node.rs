//! The cgroups of the node: kubepods, and those of the system and of Kubernetes itself.
//!
//! Mirrors `createNodeAllocatableCgroups`, `enforceNodeAllocatableCgroups`, `enforceExistingCgroup`
//! and `getCgroupConfig` of `pkg/kubelet/cm/node_container_manager_linux.go`, read in 1.36.2; pinned
//! by the vectors `node_allocatable.jsonl`.

use crate::cpu::milli_cpu_to_shares;
use crate::derivation::{AllocatableStep, Derived, Stated, Step};
use crate::pod::hugepage_size_bytes;
use crate::resource_config::ResourceConfig;
use crate::rule::Rule;
use crate::settings::CgroupSettings;
use kq_facts::allocatable::{NodeAllocatable, Reservations};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_name::CgroupName;
use kq_facts::kubelet_config::EffectiveConfiguration;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::feature_gates::Gate;
use kq_k8s::go_text::quote;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::Quantity;

/// What the kubelet knows of the machine when it sets up the cgroups.
#[derive(Clone, Copy, Debug)]
pub struct NodeResources<'a> {
    /// CPUs, memory, huge pages and `pid`, as far as they are known.
    pub capacity: &'a ResourceList,
    /// What is left for pods.
    pub allocatable: &'a NodeAllocatable,
    /// What is reserved.
    pub reservations: &'a Reservations,
    /// All CPUs; `None` is unknown.
    pub cpus: Option<&'a CpuSet>,
}

/// Returns what the kubelet asks for the cgroup above all pods: what is left for them, or the whole
/// capacity when `pods` is not enforced. `None` when there is no such cgroup.
pub fn kubepods_config(
    node: &NodeResources<'_>,
    config: &EffectiveConfiguration,
    settings: &CgroupSettings,
) -> Option<ResourceConfig> {
    let enforced = config.enforce_node_allocatable.iter().any(|key| key == "pods");
    if !settings.cgroups_per_qos && CgroupName::from_root(&settings.root).parts().is_empty() {
        return None;
    }
    let enforced = enforced && settings.cgroups_per_qos;
    let amounts = if enforced { &node.allocatable.absolute } else { node.capacity };
    let explain = |name: &ResourceName, amount: &Quantity| {
        let reserved = |list: &ResourceList| match list.get(name) {
            Some(amount) if enforced => amount.clone(),
            _ => Quantity::default(),
        };
        Step::Allocatable(Box::new(AllocatableStep {
            resource: name.to_string(),
            capacity: node.capacity.get(name).cloned().unwrap_or_default(),
            system_reserved: reserved(&node.reservations.system),
            kube_reserved: reserved(&node.reservations.kube),
            allocatable: amount.clone(),
        }))
    };
    Some(cgroup_config(amounts, false, &explain, node.cpus, config))
}

/// A part of the node with a cgroup of its own, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodePart {
    KubeReserved,
    Kubepods,
    SystemReserved,
}

impl NodePart {
    /// Returns `kubepods`, or the configuration's field that reserves.
    pub fn name(self) -> &'static str {
        match self {
            Self::KubeReserved => "kubeReserved",
            Self::Kubepods => "kubepods",
            Self::SystemReserved => "systemReserved",
        }
    }
}

/// A cgroup outside kubepods whose limits the kubelet enforces.
#[derive(Clone, Debug)]
pub struct ReservedCgroup<'a> {
    pub part: NodePart,
    /// The path in the configuration.
    pub given: &'a str,
    pub name: CgroupName,
    /// The requested settings.
    pub config: ResourceConfig,
}

/// A reserved cgroup that cannot be enforced; the kubelet stops with this text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "Failed to enforce {what} Cgroup Limits on {}: [{parts}] cgroup is not configured properly",
    quote(path)
)]
pub struct EnforceError {
    /// The owner of the cgroup.
    pub what: &'static str,
    /// `systemReservedCgroup` or `kubeReservedCgroup`.
    pub path: String,
    /// The parts of the name, quoted.
    pub parts: String,
}

/// Returns the cgroups whose enforcement is configured, in the kubelet's order.
/// Fails when a cgroup is to be enforced for which nothing is reserved.
pub fn reserved_cgroups<'a>(
    node: &NodeResources<'_>,
    config: &'a EffectiveConfiguration,
    settings: &CgroupSettings,
) -> Result<Vec<ReservedCgroup<'a>>, EnforceError> {
    let system =
        (&config.system_reserved_cgroup, NodePart::SystemReserved, &node.reservations.system);
    let kube = (&config.kube_reserved_cgroup, NodePart::KubeReserved, &node.reservations.kube);
    let order = [
        ("system-reserved", "System Reserved", false, system),
        ("kube-reserved", "Kube Reserved", false, kube),
        ("system-reserved-compressible", "System Reserved Compressible", true, system),
        ("kube-reserved-compressible", "Kube Reserved Compressible", true, kube),
    ];
    let mut cgroups = Vec::new();
    for (key, what, compressible_only, (path, part, reserved)) in order {
        if !config.enforce_node_allocatable.iter().any(|enforced| enforced == key) {
            continue;
        }
        // systemd sees the last element only.
        let name = CgroupName::from_path(path, settings.driver);
        if reserved.is_empty() {
            let parts: Vec<String> = name.parts().iter().map(|part| quote(part)).collect();
            let (path, parts) = (path.clone(), parts.join(" "));
            return Err(EnforceError { what, path, parts });
        }
        let explain = |name: &ResourceName, amount: &Quantity| Step::Given {
            field: format!("{}.{name}", part.name()).into(),
            value: Stated::Quantity(amount.clone()),
        };
        let mut config = cgroup_config(reserved, compressible_only, &explain, node.cpus, config);
        if settings.rules.gates.enabled(Gate::MemoryQos)
            && let Some(limit) = &config.memory_limit
        {
            let mut because = limit.because.clone();
            because.push(Rule::ReservedMemoryIsProtected.into());
            let text = Derived::new(limit.value.to_string(), because);
            config.unified.insert(CgroupFile::MemoryMin.v2_name(), text);
        }
        cgroups.push(ReservedCgroup { part, given: path, name, config });
    }
    Ok(cgroups)
}

fn cgroup_config(
    amounts: &ResourceList,
    compressible_only: bool,
    explain: &dyn Fn(&ResourceName, &Quantity) -> Step,
    cpus: Option<&CpuSet>,
    config: &EffectiveConfiguration,
) -> ResourceConfig {
    let mut wanted = ResourceConfig::default();
    for (name, amount) in amounts.iter() {
        let because = explain(name, amount);
        let value = amount.value();
        let units = |unit| Step::Units { units: value, unit };
        match name {
            ResourceName::Cpu => {
                let milli_cpu = amount.milli_value();
                let shares = milli_cpu_to_shares(milli_cpu);
                let steps = [because, Step::MilliCpuToShares { milli_cpu, shares }];
                wanted.cpu_shares = Some(Derived::new(shares, steps));
            }
            _ if compressible_only => {}
            ResourceName::Memory => {
                wanted.memory_limit = Some(Derived::new(value, [because, units("bytes")]));
            }
            ResourceName::Other(other) if **other == *"pid" => {
                let mut steps = vec![because, units("processes")];
                if value == 0 {
                    steps.push(Rule::OneProcessAtLeast.into());
                }
                wanted.pids_limit = Some(Derived::new(value, steps));
            }
            ResourceName::Other(_) => {
                if let Some(size) = name.hugepage_size() {
                    let limit = Derived::new(value, [because, units("bytes")]);
                    wanted.hugepage_limits.insert(hugepage_size_bytes(size), limit);
                }
            }
        }
    }
    if config.cpu_manager_policy != "static"
        && let Some(cpus) = cpus
    {
        wanted.cpuset_cpus = Some(Derived::new(cpus.to_string(), [Rule::AllCpus.into()]));
    }
    wanted
}
