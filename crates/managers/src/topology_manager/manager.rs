//! The manager itself (`topology_manager.go`): made of the configuration, with what it stores.

use super::mask::TopologyHint;
use super::numa::NumaInfo;
use super::options::{TopologyManagerError, TopologyOptions};
use super::policy::{TopologyPolicy, TopologyScope};
use kq_k8s::feature_gates::{FeatureGates, Gate};
use std::collections::BTreeMap;

/// The topology manager, with the NUMA nodes that it stored for containers.
#[derive(Clone, Debug)]
pub struct TopologyManager {
    policy: TopologyPolicy,
    scope: TopologyScope,
    options: TopologyOptions,
    numa: NumaInfo,
    pod_level: bool,
    /// By pod and container.
    affinities: BTreeMap<String, BTreeMap<String, TopologyHint>>,
}

impl TopologyManager {
    /// Makes the manager of a machine (`NewManager`). With the policy `none`, neither the options nor the scope are looked
    /// at.
    pub fn new(
        policy: &str,
        scope: &str,
        options: &BTreeMap<String, String>,
        gates: FeatureGates,
        numa: NumaInfo,
    ) -> Result<Self, TopologyManagerError> {
        let pod_level = gates.enabled(Gate::PodLevelResourceManagers);
        let made = |policy, scope, options, numa| Self {
            policy,
            scope,
            options,
            numa,
            pod_level,
            affinities: BTreeMap::new(),
        };
        if policy == "none" {
            let (scope, options) = (TopologyScope::default(), TopologyOptions::default());
            return Ok(made(TopologyPolicy::None, scope, options, numa));
        }
        let options = TopologyOptions::parse(options, gates)?;
        if options.prefer_closest_numa_nodes && !numa.has_distances() {
            return Err(TopologyManagerError::NoDistances);
        }
        let most = options.max_allowable_numa_nodes;
        if i64::try_from(numa.len()).is_ok_and(|nodes| nodes > most) {
            return Err(TopologyManagerError::TooManyNodes(most));
        }
        let unknown = |_| TopologyManagerError::UnknownPolicy(policy.to_owned());
        let policy = policy.parse().map_err(unknown)?;
        let unknown = |_| TopologyManagerError::UnknownScope(scope.to_owned());
        let scope = scope.parse().map_err(unknown)?;
        Ok(made(policy, scope, options, numa))
    }

    pub fn policy(&self) -> TopologyPolicy {
        self.policy
    }

    /// Returns the scope; it does not matter with the policy `none`.
    pub fn scope(&self) -> TopologyScope {
        self.scope
    }

    /// Returns the name of the scope: `none` with the policy `none`.
    pub fn scope_name(&self) -> &'static str {
        match (self.policy, self.scope) {
            (TopologyPolicy::None, _) => "none",
            (_, TopologyScope::Container) => "container",
            (_, TopologyScope::Pod) => "pod",
        }
    }

    pub fn options(&self) -> TopologyOptions {
        self.options
    }

    /// Returns the NUMA nodes of the machine.
    pub fn numa(&self) -> &NumaInfo {
        &self.numa
    }

    /// Returns true if the managers allocate to pods with pod-level resources as a whole.
    pub(super) fn manages_pod_level(&self) -> bool {
        self.pod_level
    }

    /// Returns what is stored for a container (`GetAffinity`); the default where nothing is.
    pub fn affinity(&self, pod_uid: &str, container: &str) -> TopologyHint {
        let stored = self.affinities.get(pod_uid).and_then(|of_pod| of_pod.get(container));
        stored.copied().unwrap_or_default()
    }

    /// Stores the NUMA nodes of a container.
    pub fn store(&mut self, pod_uid: &str, container: &str, affinity: TopologyHint) {
        let of_pod = self.affinities.entry(pod_uid.to_owned()).or_default();
        of_pod.insert(container.to_owned(), affinity);
    }
}
