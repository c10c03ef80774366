//! The flags of the topology manager and its machine.

#[cfg(feature = "cri")]
use crate::exit::Failure;
#[cfg(feature = "cri")]
use anyhow::anyhow;
use kq::k8s::cpuset::CpuSet;
use kq::question::devices::topology::TopologyOptions;
#[cfg(feature = "cri")]
use std::collections::BTreeSet;

/// The flags that speak of the topology manager and its machine.
#[derive(Debug, Default, clap::Args)]
pub struct TopologyArgs {
    /// The NUMA nodes of the machine, such as 0,1 or 0-1 (default: those listed by the kernel)
    #[arg(
        long,
        value_name = "NODES",
        value_parser = parse_nodes,
        allow_hyphen_values = true,
        help_heading = "Data sources"
    )]
    numa_nodes: Option<CpuSet>,

    /// topologyManagerPolicy: none, best-effort, restricted or single-numa-node (default: the
    /// kubelet's)
    #[arg(long, value_name = "POLICY", help_heading = "The node")]
    topology_manager_policy: Option<String>,

    /// topologyManagerScope: container or pod (default: the kubelet's)
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
    /// Returns what the flags say.
    pub fn options(&self) -> TopologyOptions {
        TopologyOptions {
            numa_nodes: self.numa_nodes.clone(),
            policy: self.topology_manager_policy.clone(),
            scope: self.topology_manager_scope.clone(),
        }
    }
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
