//! The topology manager of a node, from its configuration and its NUMA nodes.

use anyhow::anyhow;
use kq_answer::origin::Origin;
use kq_answer::{Assumption, Basis, Failure, Missing, MissingFact, Warning, WarningCode};
use kq_facts::node::Node;
use kq_facts::snapshot::Snapshot;
use kq_k8s::cpuset::CpuSet;
use kq_managers::manager::hints::HintNodes;
use kq_managers::manager::topology::{TopologyManager, TopologyPolicy};
use kq_managers::manager::{Device, ManagerState};
use kq_managers::plan::UnknownFacts;
use kq_managers::reconstruct::some;
use std::collections::{BTreeMap, BTreeSet};

/// What is said of the topology manager over what the node says.
#[derive(Clone, Debug, Default)]
pub struct TopologyOptions {
    /// The NUMA nodes of the machine.
    pub numa_nodes: Option<CpuSet>,
    /// `topologyManagerPolicy`
    pub policy: Option<String>,
    /// `topologyManagerScope`
    pub scope: Option<String>,
}

/// Parses the number of a NUMA node.
///
/// # Errors
///
/// Fails for anything but a whole number.
pub fn parse_numa_node(text: &str) -> Result<i64, String> {
    let number = text.parse::<u32>().map_err(
        |_| "a NUMA node is a whole number from 0 on; nodes are separated by commas, such as 0,1",
    )?;
    Ok(number.into())
}

/// Refuses a list that names a NUMA node twice.
pub fn refuse_twice(nodes: &[i64]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    match nodes.iter().find(|node| !seen.insert(**node)) {
        Some(twice) => Err(Failure::usage(anyhow!("--numa-nodes: {twice} is named twice"))
            .hint("name each NUMA node of the machine once")),
        None => Ok(()),
    }
}

/// Returns the policy of the topology manager where it is not known, and may refuse pods: on one NUMA node none does.
pub fn unknown_policy(node: &Node) -> Option<Missing> {
    let is_set = node.kubelet.origins.contains_key("topologyManagerPolicy");
    let has_one = node.snapshot.host.numa_nodes().is_ok_and(|nodes| nodes.len() == 1);
    let is_unknown = node.lacks_whole_config() && !is_set && !has_one;
    is_unknown.then(|| {
        let text =
            "whether topologyManagerPolicy admits the pod: the kubelet's configuration is unknown";
        Missing::new(MissingFact::KubeletConfig, text).with_flags(["--kubelet-config"])
    })
}

impl TopologyOptions {
    /// Returns the topology manager of the node, and what is not sure about it.
    pub fn manager(
        &self,
        node: &Node,
        state: &ManagerState,
        basis: &mut Basis,
    ) -> Result<(TopologyManager, UnknownFacts), Failure> {
        self.warn_of_others(state, basis);
        let config = node.config();
        let said = |flag: &Option<String>, field: &str, name: &str| {
            let origin = if flag.is_some() { format!("--{name}") } else { name.to_owned() };
            (flag.clone().unwrap_or_else(|| field.to_owned()), origin)
        };
        let (policy, origin) =
            said(&self.policy, &config.topology_manager_policy, "topology-manager-policy");
        let refuse = |origin: &str, error| Failure::usage(anyhow!("{origin}: {error}"));
        let policy: TopologyPolicy = policy.parse().map_err(|error| refuse(&origin, error))?;
        let (scope, origin) =
            said(&self.scope, &config.topology_manager_scope, "topology-manager-scope");
        let scope = scope.parse().map_err(|error| refuse(&origin, error))?;
        let machine = self.machine(&node.snapshot, state);
        let numa_nodes = machine.numa_nodes;
        let kubelet_version = node.kubelet.version_origin == Origin::Assumed;
        let doubts = UnknownFacts {
            numa_nodes: machine.assumed.is_some(),
            kubelet_version,
            ..UnknownFacts::default()
        };
        // Without a policy they make no difference.
        if policy != TopologyPolicy::None {
            basis.assume_all(machine.assumed);
            if kubelet_version {
                basis.assume(Assumption::new(
                    format!(
                        "the kubelet is of version {}, the newest that kq knows as a whole",
                        node.kubelet.version
                    ),
                    ["--kubelet-version"],
                ));
            }
            let options = &config.topology_manager_policy_options;
            if options.get("prefer-closest-numa-nodes").is_some_and(|it| it == "true") {
                basis.assume(
                    "prefer-closest-numa-nodes is left out: of sets of the same size the one with the \
                     lowest nodes is taken"
                        .to_owned(),
                );
            }
            if numa_nodes.len() > 8 && !options.contains_key("max-allowable-numa-nodes") {
                let text = format!(
                    "a kubelet with this policy does not start on {} NUMA nodes without the option \
                     max-allowable-numa-nodes",
                    numa_nodes.len()
                );
                let warning = Warning::new(WarningCode::KubeletDoesNotStart, text);
                basis.warn(warning.about("topologyManagerPolicyOptions"));
            }
        }
        let nodes = HintNodes::of(&node.kubelet.rules);
        Ok((TopologyManager::new(policy, scope, numa_nodes, nodes), doubts))
    }

    /// Warns about devices on NUMA nodes that the machine does not have.
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
                let text = format!(
                    "{} of {resource} {} on a NUMA node that is not among those of --numa-nodes {nodes}",
                    some(&ids),
                    if ids.len() == 1 { "is" } else { "are" },
                );
                basis.warn(Warning::new(WarningCode::NumaNode, text).about(resource));
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
