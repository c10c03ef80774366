//! A node as described to the questions of each domain; each description is made once.

use super::state::NodeState;
use crate::question::cgroup::plan::PlanInput;
use kq_admission::qualified;
use kq_answer::Failure;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::pod_selector::Selection;
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// A node before or after changes, with its descriptions.
pub struct Described<'s> {
    /// The node.
    pub state: &'s NodeState,
    kubelet: OnceCell<Node>,
    cgroups: OnceCell<PlanInput>,
}

impl NodeState {
    /// Returns the pods with their cgroups, without some of them.
    ///
    /// # Errors
    ///
    /// Fails for invalid facts.
    pub fn cgroups_without(&self, lost: &BTreeSet<&str>) -> Result<PlanInput, Failure> {
        let mut live = self.live()?;
        live.pods.retain(|loaded| !lost.contains(qualified(&loaded.pod).as_str()));
        Ok(PlanInput::of_live(live, Selection::default(), false))
    }
}

impl<'s> Described<'s> {
    pub fn new(state: &'s NodeState) -> Self {
        Self { state, kubelet: OnceCell::new(), cgroups: OnceCell::new() }
    }

    /// Returns the kubelet with its facts.
    ///
    /// # Errors
    ///
    /// Fails on a configuration that the kubelet would not read.
    pub fn kubelet(&self) -> Result<&Node, Failure> {
        match self.kubelet.get() {
            Some(known) => Ok(known),
            None => {
                let described = self.state.kubelet_node()?;
                Ok(self.kubelet.get_or_init(|| described))
            }
        }
    }

    /// Returns the pods with their cgroups, all of them.
    ///
    /// # Errors
    ///
    /// Fails for invalid facts.
    pub fn cgroups(&self) -> Result<&PlanInput, Failure> {
        match self.cgroups.get() {
            Some(known) => Ok(known),
            None => {
                let input = self.state.cgroups_without(&BTreeSet::new())?;
                Ok(self.cgroups.get_or_init(|| input))
            }
        }
    }

    /// Returns the node with its capacity and reservations.
    ///
    /// # Errors
    ///
    /// Fails for invalid facts.
    pub fn node(&self) -> Result<&NodeConfig, Failure> {
        Ok(&self.cgroups()?.node)
    }
}
