//! The checks of a node's cgroups and of their sources: one finding each. Pure: decides from gathered facts.
//!
//! * `sources`: kubelet, configuration, Node object, pods, container runtime.
//! * `layout`: cgroup version, driver, the tree, and what is left over in it.
//! * `cpu`: limits too small for the kernel, and the weight of all pods against the system's.
//! * `state`: swap, drifting values, the kubelet's own files.
//! * `rule`: the outcomes, with their facts and sentences.
//!
//! An undecided check is [`Severity::Unknown`] with the reason and the flag that supplies the fact.

mod cpu;
mod layout;
mod rule;
mod sources;
mod state;
#[cfg(test)]
mod tests;

use crate::files::CgroupDriver;
use kq_answer::{Basis, Finding, Headline, RuleFinding, Severity, Subject, Warning, answer};
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::checkpoint::StateFile;
use kq_facts::describe::ConfigSource;
use kq_facts::node_config::{NodeConfig, NodeFact, NodeFacts};
use kq_facts::node_pods::NodePods;
use kq_facts::snapshot::Snapshot;
use kq_facts::workloads::Workloads;
use kq_k8s::pod::Pod;
use kq_output::metrics::Metrics;
use kq_output::units::first_few;
use rule::{CheckId, CheckRule};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The input of the checks.
#[derive(Clone, Copy, Debug)]
pub struct CheckInput<'a> {
    /// What was gathered.
    pub snapshot: &'a Snapshot,
    /// The node, described.
    pub node: &'a NodeConfig,
    /// The kubelet's configuration, without the flags of kq that speak of single fields.
    pub config: &'a ConfigSource,
    /// A file with the Node object that was named, which goes before the one that was found.
    pub node_file: Option<&'a str>,
    /// The low-level runtimes that were given, which go before the one that was found: `runc=1.3.3,crun=1.21`.
    pub low_level: Option<&'a str>,
    /// Where the cgroup of all pods may be under each driver.
    pub roots: &'a [(CgroupDriver, CgroupPath)],
    /// The pods with what the kubelet allocated to them.
    pub pods: &'a [&'a Pod],
    /// The names.
    pub workloads: &'a Workloads,
    /// Why the pods may not be all of the node.
    pub incomplete: Option<&'a str>,
    /// How many values compare how with the plan; or why they could not be compared.
    pub compared: &'a Result<BTreeMap<String, usize>, String>,
    /// The UIDs of the pods that come or go.
    pub changing: &'a BTreeSet<String>,
    /// Each value that drifts is a finding of its own: none counts them.
    pub lists_drift: bool,
    /// The next start of the kubelet, which has a check of its own.
    pub start: NextStart,
    /// The state files that a kubelet of this version and with these gates does not read.
    pub unread_files: &'a BTreeSet<StateFile>,
    /// The fields of the configuration that the kubelet ignores, each with a sentence.
    pub ignored: &'a [&'a str],
}

/// The outcome of the kubelet's next start.
#[derive(Clone, Copy, Debug, Default)]
pub struct NextStart {
    /// It ends.
    pub fails: bool,
    /// It does not start with its configuration.
    pub refuses_config: bool,
    /// It does not start with one of its state files.
    pub refuses_state_file: bool,
}

/// The result of a check.
type Check = RuleFinding<CheckRule>;

impl From<CheckRule> for Check {
    fn from(rule: CheckRule) -> Self {
        Self::new(Subject::Node, rule)
    }
}

impl CheckRule {
    /// Returns that the source of what is checked failed.
    fn failed(check: CheckId, reason: String) -> Check {
        Self::SourceFailed { check, reason }.into()
    }

    /// Adds the source of the facts.
    fn sourced(self, source: impl Into<String>) -> Check {
        Check::new(Subject::Node, self).from(source)
    }
}

/// Makes all checks, in the order in which they are shown.
pub fn checks(examined: CheckInput<'_>) -> Vec<Finding> {
    let mut all = vec![
        sources::kubelet(examined),
        sources::configuration(examined),
        sources::node_object(examined),
        sources::pods(examined),
        sources::runtime(examined),
        layout::version(examined),
        layout::driver(examined),
        layout::tree(examined),
        layout::orphans(examined),
        cpu::limits(examined),
        cpu::weight(examined),
        state::swap(examined),
    ];
    if !examined.lists_drift {
        all.push(state::values(examined));
    }
    all.push(state::files(examined));
    all.into_iter().map(Check::written).collect()
}

impl<'a> CheckInput<'a> {
    /// Returns the cgroup tree, or why it could not be read.
    fn tree(&self) -> Result<&'a CgroupTree, String> {
        let cgroups = &self.snapshot.cgroups;
        cgroups.value().ok_or_else(|| cgroups.reason())
    }

    /// Returns where the cgroup tree is from.
    fn tree_source(&self) -> &'a str {
        self.snapshot.cgroups.found.as_ref().map_or("-", |found| &found.source)
    }

    /// Returns the cgroups of all pods that are there, each with the driver that names it so.
    fn present(&self, tree: &CgroupTree) -> Vec<(CgroupDriver, &'a CgroupPath)> {
        let mut seen = BTreeSet::new();
        let roots = self.roots.iter().filter(|(_, root)| tree.get(root).is_some());
        // Without cgroups per class of pods, both drivers have the same.
        roots.filter(|(_, root)| seen.insert(root)).map(|(driver, root)| (*driver, root)).collect()
    }

    /// Returns true if the kubelet's configuration is known as a whole.
    fn knows_config(&self) -> bool {
        self.config.value.is_object()
    }

    /// Returns where the kubelet's configuration is from.
    fn config_source(&self) -> String {
        if let Some(found) = &self.snapshot.kubelet_config.found {
            return found.source.clone();
        }
        let origins: BTreeSet<String> =
            self.config.origins.values().map(ToString::to_string).collect();
        match origins.is_empty() {
            true => "--kubelet-config".to_owned(),
            false => origins.into_iter().collect::<Vec<_>>().join(", "),
        }
    }

    /// Returns a fact about the node.
    fn fact(&self, name: &str) -> Option<&'a NodeFact> {
        self.node.facts.0.iter().find(|fact| fact.name == name)
    }

    /// Returns the source of a fact about the node; `None`: it is unknown.
    fn said_by(&self, name: &str) -> Option<String> {
        let fact = self.fact(name).filter(|fact| fact.origin.is_given());
        fact.map(|fact| fact.origin.to_string())
    }

    /// Walks over the pods that have not ended.
    fn active_pods(&self) -> impl Iterator<Item = &'a Pod> {
        let standings = NodePods::of(self.snapshot);
        self.pods.iter().copied().filter(move |pod| standings.is_active(pod))
    }
}

/// Returns the first few of many, and the number of the others.
pub(crate) fn first_of(names: &[String]) -> String {
    const SHOWN: usize = 3;
    first_few(SHOWN, names)
}

/// The checks of a node as a value: what `-o json` and `-o yaml` print.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeChecks {
    /// How many findings there are of each severity.
    pub summary: BTreeMap<String, usize>,
    /// The checks.
    pub items: Vec<Finding>,
    /// What no pod of the node requests, where it is known.
    #[serde(skip)]
    pub not_requested: Option<NotRequested>,
    /// Nothing of a node is here: no kubelet and no trace of one, no pods, no runtime, no Node object.
    #[serde(skip)]
    pub is_no_node: bool,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

/// Allocatable amounts that no pod requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRequested {
    pub milli_cpu: i64,
    pub memory_bytes: i64,
}

answer!("NodeChecks", NodeChecks, NodeChecks::metrics; NodeChecks::headline);

impl NodeChecks {
    fn headline(&self) -> Headline {
        match self.is_no_node {
            true => Headline::new("no-node", "no kubelet runs here, and nothing of one is left"),
            false => Headline::of_findings(&self.items),
        }
    }
}

impl NodeChecks {
    fn metrics(&self, metrics: &mut Metrics) {
        let word = |severity: Severity| severity.to_string().to_lowercase();
        let count = |severity: Severity| {
            let count = self.items.iter().filter(|it| it.severity == severity).count();
            (vec![("severity", word(severity))], i32::try_from(count).ok())
        };
        metrics.gauge(
            "kq_doctor_findings",
            "Findings of kq doctor by severity",
            [Severity::Error, Severity::Unknown, Severity::Warning, Severity::Ok].map(count),
        );
        let findings = self.items.iter().filter(|it| it.severity != Severity::Ok);
        metrics.gauge(
            "kq_doctor_finding",
            "A finding of kq doctor that is not OK",
            findings.map(|it| {
                let subject = it.subject.to_string();
                (
                    vec![
                        ("severity", word(it.severity)),
                        ("rule", it.id.clone()),
                        ("subject", subject),
                    ],
                    Some(1),
                )
            }),
        );
    }

    /// Puts checks together with what they rest on.
    pub fn new(node: &NodeFacts, items: Vec<Finding>, warnings: Vec<Warning>) -> Self {
        let mut basis = Basis { facts: node.into(), ..Basis::default() };
        basis.warn_all(warnings);
        let summary = Severity::count(&items);
        Self { summary, items, not_requested: None, is_no_node: false, basis }
    }

    /// Returns true if anything is wrong.
    pub fn has_failed(&self) -> bool {
        self.items.iter().any(|check| check.severity == Severity::Error)
    }

    /// Returns true if the result of a check is unknown.
    pub fn is_incomplete(&self) -> bool {
        self.items.iter().any(|check| check.severity == Severity::Unknown)
    }
}
