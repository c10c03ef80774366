//! Flags that several commands share: the node and its sources, and the topology manager.

use crate::exit::Failure;
use crate::node_args::KubeletNodeArgs;
use crate::source_args::{DeviceFileArgs, GivenDevicesArgs};
use kq_core::question::devices::topology::TopologyOptions;
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_k8s::cpuset::CpuSet;
use kq_node::NamedFiles;

/// The flags of the node and its sources.
#[derive(Debug, clap::Args)]
pub struct DeviceNodeArgs {
    #[command(flatten)]
    files: DeviceFileArgs,

    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,
}

impl DeviceNodeArgs {
    /// Returns the facts that are needed in addition to devices from a file. If those stand alone and no node is named,
    /// the node has no other devices, and none is in use.
    pub fn needs_with_given(&self, stand_alone: bool, needs: Needs) -> Needs {
        let needs = Needs { files: stand_alone, ..needs };
        let sources = &self.kubelet.sources;
        let has_node = sources.snapshot.is_some()
            || sources.node_in_question(needs.files, needs.only_on_node).has_root();
        if !stand_alone || has_node {
            return needs;
        }
        let needs = needs.without(&[FactKey::DeviceCheckpoint, FactKey::PodResources]);
        match sources.pods.is_empty() {
            true => needs.without(&[FactKey::Pods, FactKey::PodNames]),
            false => needs,
        }
    }

    /// Gathers the needed facts. A named file replaces the node's own source, which is not queried.
    /// Fails for a named file that cannot be read.
    pub fn gather(&self, given: Option<&GivenDevicesArgs>, needs: Needs) -> Result<Node, Failure> {
        let devices = self.files.files(given);
        self.kubelet.gather_files(NamedFiles { devices, ..NamedFiles::default() }, needs)
    }
}

/// The flags of the topology manager and the NUMA nodes.
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

/// Parses NUMA nodes as lscpu shows them.
fn parse_nodes(text: &str) -> Result<CpuSet, String> {
    let nodes = text.parse().ok().filter(|nodes: &CpuSet| nodes.iter().next().is_some());
    nodes.filter(|nodes| nodes.iter().all(|node| node >= 0)).ok_or_else(|| {
        "NUMA nodes are whole numbers from 0 on and ranges of them, separated by commas, such as \
         0,1 or 0-1"
            .to_owned()
    })
}

impl TopologyArgs {
    /// Returns the options of the question.
    pub fn options(&self) -> TopologyOptions {
        TopologyOptions {
            numa_nodes: self.numa_nodes.clone(),
            policy: self.topology_manager_policy.clone(),
            scope: self.topology_manager_scope.clone(),
        }
    }
}
