//! A described node: every fact that an answer rests on, with its origin.

use crate::allocatable::{NodeAllocatable, Reservations};
use crate::cgroup_mode::{CgroupDriver, CgroupVersion};
use crate::kubelet_config::EffectiveConfiguration;
use kq_answer::Fact;
use kq_answer::origin::Origin;
use kq_answer::warning::Warning;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::Quantity;
use kq_k8s::version::KubeletVersion;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// A node and its kubelet after every default.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Its name, if known.
    pub name: Option<String>,
    /// The kubelet's version, as reported.
    pub kubelet_version: KubeletVersion,
    /// The kubelet's rules.
    pub rules: KubeletRules,
    /// The kubelet's configuration.
    pub config: EffectiveConfiguration,
    pub reservations: Reservations,
    /// CPUs, memory, huge pages, `pid` and `ephemeral-storage`, as far as they are known.
    pub capacity: ResourceList,
    /// The amounts available to pods.
    pub allocatable: NodeAllocatable,
    /// Flags set what these amounts, or the number of pods, follow from.
    pub asks_for_amounts: bool,
    /// All CPUs; `None` is unknown.
    pub cpus: Option<CpuSet>,
    pub cgroup_version: CgroupVersion,
    pub cgroup_driver: CgroupDriver,
    /// The machine's swap in bytes; `None` is unknown.
    pub swap_capacity: Option<i64>,
    /// What its kernel is like.
    pub kernel: Kernel,
    /// The facts as they are shown.
    pub facts: NodeFacts,
    /// Warnings about this description.
    pub warnings: Vec<Warning>,
}

/// What the kernel of a node is like, apart from its cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// It limits swap per cgroup.
    pub swap_controller: bool,
    /// The size of a page of memory in bytes.
    pub page_size: i64,
}

impl NodeConfig {
    /// Returns the most pods that the kubelet admits: `maxPods`, or fewer by `podsPerCore`.
    pub fn most_pods(&self) -> i64 {
        let most = i64::from(self.config.max_pods);
        let cpus = self.capacity.get(&ResourceName::Cpu).map(Quantity::value);
        match (i64::from(self.config.pods_per_core), cpus) {
            (0, _) | (_, None) => most,
            (per_core, Some(cpus)) => most.min(per_core.saturating_mul(cpus)),
        }
    }
}

impl Default for Kernel {
    fn default() -> Self {
        Self { swap_controller: false, page_size: 4096 }
    }
}

/// The facts in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFacts(pub Vec<NodeFact>);

impl From<&NodeFacts> for BTreeMap<String, Fact> {
    fn from(facts: &NodeFacts) -> Self {
        let one = |fact: &NodeFact| {
            let known = Fact { value: fact.value.clone(), origin: fact.origin.clone() };
            (fact.name.to_owned(), known)
        };
        facts.0.iter().map(one).collect()
    }
}

/// One fact about a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFact {
    /// The field of the kubelet's configuration, or kq's name for it.
    pub name: &'static str,
    /// The value; null is unknown.
    pub value: Value,
    pub origin: Origin,
    /// The flag that overrides it.
    pub flag: String,
}

impl NodeFact {
    /// Returns the value as a person would write it.
    pub fn text(&self) -> String {
        match &self.value {
            Value::Null => "unknown".to_owned(),
            Value::String(text) if text.is_empty() => "none".to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(entries) => {
                let texts = entries.iter().map(|entry| entry.as_str().unwrap_or_default());
                texts.collect::<Vec<_>>().join("+")
            }
            Value::Object(entries) if entries.is_empty() => "none".to_owned(),
            other => other.to_string(),
        }
    }
}

impl NodeFacts {
    /// Returns the assumptions: facts without a source.
    pub fn assumptions(&self) -> impl Iterator<Item = &NodeFact> {
        self.0.iter().filter(|fact| !fact.origin.is_given() && !fact.value.is_null())
    }
}

impl Serialize for NodeFacts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize, schemars::JsonSchema)]
        struct Shown<'a> {
            value: &'a Value,
            origin: &'a Origin,
        }
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for NodeFact { name, value, origin, .. } in &self.0 {
            map.serialize_entry(name, &Shown { value, origin })?;
        }
        map.end()
    }
}
