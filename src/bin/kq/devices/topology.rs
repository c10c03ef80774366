//! The topology manager of a node, from flags and what is known of it.

use crate::exit::Failure;
use crate::kubelet_node::KubeletNode;
use anyhow::anyhow;
use kq::device::assemble::some;
use kq::device::manager::hints::HintNodes;
use kq::device::manager::topology::{TopologyManager, TopologyPolicy};
use kq::device::manager::{Device, ManagerState};
use kq::device::plan::Doubts;
use kq::facts::basis::Basis;
use kq::facts::origin::Origin;
use kq::facts::snapshot::Snapshot;
use kq::k8s::cpuset::CpuSet;
use std::collections::{BTreeMap, BTreeSet};

/// The flags that speak of the topology manager and its machine.
#[derive(Debug, Default, clap::Args)]
pub struct TopologyArgs {
    /// The NUMA nodes of the machine, such as 0,1 or 0-1; else those that its kernel lists
    #[arg(
        long,
        value_name = "NODES",
        value_parser = parse_nodes,
        allow_hyphen_values = true,
        help_heading = "Where the facts come from"
    )]
    numa_nodes: Option<CpuSet>,

    /// topologyManagerPolicy: none, best-effort, restricted or single-numa-node; else the kubelet's
    #[arg(long, value_name = "POLICY", help_heading = "The node")]
    topology_manager_policy: Option<String>,

    /// topologyManagerScope: container or pod; else the kubelet's
    #[arg(long, value_name = "SCOPE", help_heading = "The node")]
    topology_manager_scope: Option<String>,
}

/// Reads the number of a NUMA node.
pub fn parse_node(text: &str) -> Result<i64, String> {
    let number = text.parse::<u32>().map_err(
        |_| "a NUMA node is a whole number from 0 on; nodes are separated by commas, such as 0,1",
    )?;
    Ok(number.into())
}

/// Reads NUMA nodes as lscpu shows them.
pub fn parse_nodes(text: &str) -> Result<CpuSet, String> {
    let nodes = text.parse().ok().filter(|nodes: &CpuSet| nodes.iter().next().is_some());
    nodes.filter(|nodes| nodes.iter().all(|node| node >= 0)).ok_or_else(|| {
        "NUMA nodes are whole numbers from 0 on and ranges of them, separated by commas, such as \
         0,1 or 0-1"
            .to_owned()
    })
}

impl TopologyArgs {
    /// Returns the topology manager of the node, and what is not sure about it.
    pub fn manager(
        &self,
        node: &KubeletNode,
        state: &ManagerState,
        basis: &mut Basis,
    ) -> Result<(TopologyManager, Doubts), Failure> {
        self.warn_of_others(state, basis);
        let config = &node.kubelet.config;
        let said = |flag: &Option<String>, field: &str, name: &str| {
            let origin = if flag.is_some() { format!("--{name}") } else { name.to_owned() };
            (flag.clone().unwrap_or_else(|| field.to_owned()), origin)
        };
        let (policy, origin) = said(
            &self.topology_manager_policy,
            &config.topology_manager_policy,
            "topology-manager-policy",
        );
        let refuse = |origin: &str, error| Failure::usage(anyhow!("{origin}: {error}"));
        let policy: TopologyPolicy = policy.parse().map_err(|error| refuse(&origin, error))?;
        let (scope, origin) = said(
            &self.topology_manager_scope,
            &config.topology_manager_scope,
            "topology-manager-scope",
        );
        let scope = scope.parse().map_err(|error| refuse(&origin, error))?;
        let machine = self.machine(&node.snapshot, state);
        let numa_nodes = machine.numa_nodes;
        let kubelet_version = node.kubelet.version_origin == Origin::Assumed;
        let doubts =
            Doubts { numa_nodes: machine.assumed.is_some(), kubelet_version, ..Doubts::default() };
        // Without a policy they make no difference.
        if policy != TopologyPolicy::None {
            basis.assumptions.extend(machine.assumed);
            if kubelet_version {
                basis.assumptions.push(format!(
                    "the kubelet is of version {}, the newest that kq knows (--kubelet-version)",
                    node.kubelet.version
                ));
            }
            if config.cpu_manager_policy == "static" || config.memory_manager_policy == "Static" {
                basis.assumptions.push(
                    "the managers of CPUs and memory have no NUMA hints of their own: only devices \
                     are looked at"
                        .to_owned(),
                );
            }
            let options = &config.topology_manager_policy_options;
            if options.get("prefer-closest-numa-nodes").is_some_and(|it| it == "true") {
                basis.assumptions.push(
                    "prefer-closest-numa-nodes is left out: of sets of the same size the one with the \
                     lowest nodes is taken"
                        .to_owned(),
                );
            }
            if numa_nodes.len() > 8 && !options.contains_key("max-allowable-numa-nodes") {
                basis.warnings.push(format!(
                    "a kubelet with this policy does not start on {} NUMA nodes without the option \
                     max-allowable-numa-nodes",
                    numa_nodes.len()
                ));
            }
        }
        let of_devices = node.kubelet.rules.hints_of_device_nodes();
        let nodes = if of_devices { HintNodes::OfDevices } else { HintNodes::OfMachine };
        Ok((TopologyManager::new(policy, scope, numa_nodes, nodes), doubts))
    }

    /// Says which devices are on NUMA nodes that the machine does not have.
    fn warn_of_others(&self, state: &ManagerState, basis: &mut Basis) {
        let Some(nodes) = &self.numa_nodes else { return };
        let has: BTreeSet<i64> = nodes.iter().collect();
        for (resource, devices) in &state.devices {
            let is_elsewhere = |device: &&Device| {
                device.numa_nodes.iter().flatten().any(|node| *node >= 0 && !has.contains(node))
            };
            let ids: Vec<&String> =
                devices.values().filter(is_elsewhere).map(|device| &device.id).collect();
            if !ids.is_empty() {
                basis.warnings.push(format!(
                    "{} of {resource} {} on a NUMA node that is not among those of --numa-nodes {nodes}",
                    some(&ids),
                    if ids.len() == 1 { "is" } else { "are" },
                ));
            }
        }
    }

    /// Returns the NUMA nodes of the machine.
    fn machine(&self, snapshot: &Snapshot, state: &ManagerState) -> Machine {
        if let Some(nodes) = &self.numa_nodes {
            return Machine { numa_nodes: nodes.iter().collect(), assumed: None };
        }
        let devices = state.devices.values().flat_map(BTreeMap::values);
        let nodes = devices.flat_map(|device| device.numa_nodes.iter().flatten().copied());
        let mut nodes: BTreeSet<i64> = nodes.filter(|node| *node >= 0).collect();
        let assumed = match snapshot.host.numa_nodes() {
            Ok(of_host) if !of_host.is_empty() => {
                let numa_nodes = of_host.iter().map(|node| node.id).collect();
                return Machine { numa_nodes, assumed: None };
            }
            _ => {
                nodes.insert(0);
                "the machine has the NUMA nodes of its devices and no others (--numa-nodes)"
                    .to_owned()
            }
        };
        Machine { numa_nodes: nodes.into_iter().collect(), assumed: Some(assumed) }
    }
}

/// The NUMA nodes of a machine, and what of them was taken for granted.
struct Machine {
    numa_nodes: Vec<i64>,
    assumed: Option<String>,
}

/// Refuses a list in which a node stands twice.
#[cfg(feature = "cri")]
pub fn refuse_twice(nodes: &[i64]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    match nodes.iter().find(|node| !seen.insert(**node)) {
        Some(twice) => Err(Failure::usage(anyhow!("--numa-nodes: {twice} is named twice"))
            .hint("name each NUMA node of the machine once")),
        None => Ok(()),
    }
}
