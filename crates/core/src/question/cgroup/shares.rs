//! The CPU time of each container when all are busy.

use super::plan::PlanInput;
use anyhow::anyhow;
use kq_answer::Failure;
use kq_cgroup::plan::Plan;
use kq_cgroup::shares::{CpuShares, Sibling, Values, shares};
use kq_facts::allocatable::reserved;
use kq_facts::cgroup_tree::CgroupPath;
use kq_facts::node_config::NodeConfig;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::go_text::parse_bool;
use kq_k8s::pod::ResourceName;
use kq_k8s::quantity::Quantity;

/// The way out without the kernel's values.
const PLANNED: &str = "--planned divides by planned weights and quotas";

/// The CPU time to divide, and the weights and quotas.
#[derive(Clone, Debug)]
pub struct SharesOptions {
    /// The number of CPUs; `None`: those of the node.
    pub cpus: Option<u64>,
    /// Busy siblings of kubepods.
    pub siblings: Vec<Sibling>,
    /// Divide by planned weights and quotas, not by the kernel's.
    pub are_planned: bool,
}

impl SharesOptions {
    /// Returns the number of CPUs to divide.
    ///
    /// # Errors
    ///
    /// Fails where it is unknown, or the weight of kubepods, which siblings compete with.
    pub fn cpus(&self, input: &PlanInput) -> Result<u64, Failure> {
        let capacity = input.node.capacity.get(&ResourceName::Cpu).and_then(Quantity::as_units);
        let cpus = self.cpus.or_else(|| capacity.and_then(|cpus| u64::try_from(cpus).ok()));
        let cpus = cpus.ok_or_else(|| {
            Failure::missing(anyhow!("the number of the node's CPUs is unknown"))
                .hint("set it with --cpus N, --capacity cpu=N or --node-file FILE")
        })?;
        if !self.siblings.is_empty() && capacity.is_none() {
            let unknown = anyhow!("the weight of kubepods is unknown: --sibling needs it");
            return Err(Failure::missing(unknown)
                .hint("it follows from --capacity cpu=N or --node-file FILE"));
        }
        Ok(cpus)
    }

    /// Divides the CPU time among all containers, and keeps the selected pods and the siblings. Returns also the values
    /// that divided it.
    ///
    /// # Errors
    ///
    /// Fails where the kernel's values are needed and unknown.
    pub fn divide<'p>(
        &self,
        input: &'p PlanInput,
        plan: &'p Plan<'p>,
        cpus: u64,
    ) -> Result<(CpuShares<'p>, Values<'p>), Failure> {
        let values = match self.are_planned {
            true => Values::Planned,
            false => kernel(input, plan)?,
        };
        let cpus = (cpus, strictly_reserved(input));
        let mut divided = shares(plan, values, cpus, &self.siblings, input.basis(plan));
        if self.are_planned && input.is_of_node() {
            divided.basis.lack_all(input.unknown_cpu()?);
        }
        // Pods that are not selected compete, too.
        divided.items.retain(|share| match (share.namespace, &share.pod) {
            (Some(namespace), Some(pod)) => input.is_selected(namespace, pod),
            _ => true,
        });
        Ok((divided, values))
    }
}

/// Returns how many CPUs no container runs on: those that the static CPU manager reserves with `strict-cpu-reservation`
/// (`NewStaticPolicy` in `pkg/kubelet/cm/cpumanager/policy_static.go`).
fn strictly_reserved(input: &PlanInput) -> u64 {
    let NodeConfig { config, capacity, reservations, .. } = &input.node;
    let is_strict = config.cpu_manager_policy_options.get("strict-cpu-reservation");
    if config.cpu_manager_policy != "static"
        || is_strict.is_none_or(|text| parse_bool(text) != Ok(true))
    {
        return 0;
    }
    let named = config.reserved_system_cpus.parse::<CpuSet>().ok().filter(|it| !it.is_empty());
    let count = match named {
        Some(named) => i64::try_from(named.len()).unwrap_or(i64::MAX),
        None => capacity
            .get(&ResourceName::Cpu)
            .map_or(0, |there_is| reserved(&ResourceName::Cpu, there_is, reservations).value()),
    };
    u64::try_from(count).unwrap_or_default()
}

/// Returns the values of the kernel.
fn kernel<'t>(input: &'t PlanInput, plan: &Plan<'_>) -> Result<Values<'t>, Failure> {
    let tree = input.cgroups().map_err(|failure| failure.hint(PLANNED))?;
    if !plan.settings.cgroups_per_qos {
        let none = anyhow!("pods have no cgroup of their own here (cgroupsPerQOS: false)");
        return Err(Failure::missing(none).hint(PLANNED));
    }
    let root = plan.roots.first().map(|root| CgroupPath::new(&root.path));
    match root.filter(|root| tree.value.get(root).is_none()) {
        None => Ok(Values::Kernel(tree)),
        Some(root) => {
            let none = anyhow!("there is no cgroup {}", root.as_str());
            Err(Failure::missing(none).hint(PLANNED))
        }
    }
}
