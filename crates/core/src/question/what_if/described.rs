//! A node before or after changes, made once for the questions of every domain.

use super::state::NodeState;
use crate::question::cgroup::plan::PlanInput;
use kq_admission::qualified;
use kq_answer::Failure;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::pod_selector::Selection;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A node before or after changes.
pub struct Described<'s> {
    /// Its facts.
    pub state: &'s NodeState,
    node: OnceCell<Arc<Node>>,
    cgroups: OnceCell<PlanInput>,
}

impl NodeState {
    /// Returns the pods with their cgroups, without some of them.
    ///
    /// # Errors
    ///
    /// Fails for invalid facts.
    pub fn cgroups_without(&self, lost: &BTreeSet<&str>) -> Result<PlanInput, Failure> {
        let all = PlanInput::of_live(&self.node()?, Selection::default(), false)?;
        Ok(all.with_pods(|it| !lost.contains(qualified(it).as_str())))
    }
}

impl<'s> Described<'s> {
    pub fn new(state: &'s NodeState) -> Self {
        Self::of(state, None)
    }

    /// `made`: the node of this state, where it was made already.
    pub fn of(state: &'s NodeState, made: Option<Arc<Node>>) -> Self {
        let node = made.map_or_else(OnceCell::new, OnceCell::from);
        Self { state, node, cgroups: OnceCell::new() }
    }

    /// Returns the node, if it was made.
    pub fn into_node(self) -> Option<Arc<Node>> {
        self.node.into_inner()
    }

    /// Returns the kubelet with its facts.
    ///
    /// # Errors
    ///
    /// Fails on a configuration that the kubelet would not read.
    pub fn kubelet(&self) -> Result<&Arc<Node>, Failure> {
        match self.node.get() {
            Some(known) => Ok(known),
            None => {
                let made = Arc::new(self.state.node()?);
                Ok(self.node.get_or_init(|| made))
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
                let input = PlanInput::of_live(self.kubelet()?, Selection::default(), false)?;
                Ok(self.cgroups.get_or_init(|| input))
            }
        }
    }

    /// Returns the pods with their cgroups, without some of them.
    ///
    /// # Errors
    ///
    /// Fails for invalid facts.
    pub fn cgroups_without(&self, lost: &BTreeSet<&str>) -> Result<PlanInput, Failure> {
        let all = self.cgroups()?.clone();
        Ok(all.with_pods(|it| !lost.contains(qualified(it).as_str())))
    }

    /// Returns what the container manager works with.
    ///
    /// # Errors
    ///
    /// Fails for invalid facts.
    pub fn node(&self) -> Result<&NodeConfig, Failure> {
        self.kubelet()?.settings()
    }
}
