//! The nodes of a run, chosen among those of a cluster, and the pods that it creates.

use super::guard::{GuardOptions, outlived};
use super::run::{FleetEvent, FleetRun};
use crate::NodeSpec;
use anyhow::anyhow;
use kq_answer::Failure;
use kq_api::api_server::{ApiServer, KubeconfigChoice};
use kq_core::fleet::{NodeCommand, PodSettings};
use kq_facts::node_list::{ListedNode, read_node_list};
use kq_io::clock::moment;
use kq_io::snapshot_file::read_snapshot;
use kq_k8s::disruption_budget::DisruptionBudget;
use kq_k8s::label_selector::LabelSelector;
use kq_k8s::nearest::nearest;
use kq_k8s::pod::OS_LABEL;
use kq_k8s::validation::is_pod_name;
use kq_output::units::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much longer the kubelet lets a pod run than kq waits for it.
const GRACE: Duration = Duration::from_secs(30);

/// Reads the PodDisruptionBudgets of a cluster.
///
/// # Errors
///
/// Fails unless all of them arrived.
pub fn disruption_budgets(spec: &NodeSpec) -> Result<Vec<DisruptionBudget>, Failure> {
    let server = spec.connect()?;
    let mut budgets = Vec::new();
    for page in server.disruption_budgets(spec.timeout)? {
        let read = DisruptionBudget::read(&page).map_err(|reason| {
            Failure::missing(anyhow!("the PodDisruptionBudgets of {}: {reason}", server.url()))
        });
        budgets.append(&mut read?);
    }
    Ok(budgets)
}

/// The choice of nodes, and the settings of their pods.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// Only these nodes; empty: all.
    pub nodes: Vec<String>,
    pub selector: Option<LabelSelector>,
    /// Only so many of them, evenly spread over their names.
    pub sample: Option<Sample>,
    /// `deadline_seconds` and `run` are set by the plan.
    pub pods: PodSettings,
    /// How many pods run at a time.
    pub parallel: usize,
    /// The time for one node, with the pull of the image.
    pub timeout: Duration,
    /// No pods: the facts are those of the API server.
    pub api_only: bool,
    pub kubeconfig: Option<PathBuf>,
    pub choice: KubeconfigChoice,
}

/// How many of the nodes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    Nodes(usize),
    /// A part of the nodes, rounded up; 1 to 100.
    Percent(usize),
}

impl Sample {
    /// Returns how many of a number of nodes are chosen.
    pub fn of(self, nodes: usize) -> usize {
        match self {
            Self::Nodes(count) => count.min(nodes),
            Self::Percent(percent) => (nodes * percent).div_ceil(100).min(nodes),
        }
    }
}

/// A node of a run.
#[derive(Clone, Debug)]
pub struct FleetNode {
    /// A valid name of an object, and so no path.
    pub name: String,
    pub labels: BTreeMap<String, String>,
}

impl FleetNode {
    /// Returns the node's system, where it is not Linux. The kubelet sets the label.
    pub(super) fn other_system(&self) -> Option<&str> {
        self.labels.get(OS_LABEL).map(String::as_str).filter(|system| *system != "linux")
    }
}

/// The nodes and pods of a run that has not begun.
pub struct FleetPlan {
    pub(super) server: ApiServer,
    pub(super) settings: PodSettings,
    /// At least one, ordered by name.
    pub nodes: Vec<FleetNode>,
    pub(super) parallel: usize,
    pub(super) timeout: Duration,
    pub(super) api_only: bool,
    /// The run, for its guard process.
    pub(super) guard: GuardOptions,
    /// How many pods of earlier runs outlived their deadline, or why that is unknown.
    pub outlived: Result<usize, String>,
}

impl FleetPlan {
    /// Lists the nodes of the cluster and chooses among them.
    ///
    /// # Errors
    ///
    /// Fails where the nodes are unknown, for a name that no node has, and where no node is chosen.
    pub fn prepare(options: FleetOptions) -> Result<Self, Failure> {
        let spec = NodeSpec {
            kubeconfig: options.kubeconfig.clone(),
            choice: options.choice.clone(),
            timeout: options.timeout,
            ..NodeSpec::default()
        };
        let unreachable = |reason: String| {
            Failure::missing(anyhow!("the API server: {reason}"))
                .hint("name a kubeconfig with --kubeconfig")
        };
        let server = spec.connect().map_err(|error| unreachable(error.reason()))?;
        let pages = server.nodes(options.timeout).map_err(|error| unreachable(error.reason()))?;
        let mut all = Vec::new();
        for page in &pages {
            let read = read_node_list(page);
            all.extend(read.map_err(|error| unreachable(format!("its nodes: {error}")))?);
        }
        let nodes = options.choose(&all)?;
        let deadline_seconds = (options.timeout + GRACE).as_secs();
        let settings = PodSettings { deadline_seconds, run: run_name(), ..options.pods };
        let guard = GuardOptions {
            namespace: settings.namespace.clone(),
            run: settings.run.clone(),
            kubeconfig: options.kubeconfig,
            choice: options.choice,
        };
        let FleetOptions { parallel, timeout, api_only, .. } = options;
        let outlived = match api_only {
            true => Ok(0),
            false => outlived(&server, &guard, timeout),
        };
        Ok(Self { server, settings, nodes, parallel, timeout, api_only, guard, outlived })
    }

    /// Leaves out the nodes whose snapshot in a folder can be read, and returns how many these are.
    pub fn leave_out_stored(&mut self, folder: &Path) -> usize {
        let all = self.nodes.len();
        let is_stored = |node: &FleetNode| {
            read_snapshot(&snapshot_path(folder, &node.name).to_string_lossy()).is_ok()
        };
        self.nodes.retain(|node| !is_stored(node));
        all - self.nodes.len()
    }

    /// Returns the address of the API server.
    pub fn server_url(&self) -> &str {
        self.server.url()
    }

    /// Describes the run in two lines.
    pub fn lines(&self) -> [String; 2] {
        let others = match self.nodes.len() {
            1 => String::new(),
            count => format!(" and {}", counted(count - 1, "more node")),
        };
        if self.api_only {
            return [
                format!(
                    "read {}{others} and their pods from {}, at most {} nodes at a time",
                    self.nodes[0].name,
                    self.server.url(),
                    self.parallel.min(self.nodes.len()),
                ),
                "no pod is created".to_owned(),
            ];
        }
        let PodSettings { namespace, image, privileged, deadline_seconds, .. } = &self.settings;
        let privileges = if *privileged { "privileged" } else { "as root with few capabilities" };
        [
            format!(
                "a pod on {}{others} of {}, in namespace {namespace}, at most {} at a time, each for at most \
                 {deadline_seconds}s",
                self.nodes[0].name,
                self.server.url(),
                self.parallel.min(self.nodes.len()),
            ),
            format!(
                "image {image}; {privileges}, in the node's network and process namespaces, its files read-only in \
                 /host; deleted afterwards",
            ),
        ]
    }

    /// Returns the first pod as JSON; `None`: the run creates none.
    pub fn first_pod(&self, question: &[String]) -> Option<String> {
        let pod = || {
            let (settings, node) = (&self.settings, &self.nodes[0].name);
            let (name, command) = (settings.name(0, "0"), NodeCommand::reading(question));
            settings.pod(&name, "new for each pod", node, &command).to_string()
        };
        (!self.api_only).then(pod)
    }

    /// Begins the run. From here on a signal does not end the process, but the run. `report` gets events from several
    /// threads.
    ///
    /// # Errors
    ///
    /// Refuses where signals cannot be caught.
    pub fn start(
        self,
        report: impl Fn(FleetEvent<'_>) + Send + Sync + 'static,
    ) -> Result<FleetRun, Failure> {
        FleetRun::start(self, report)
    }
}

impl FleetOptions {
    fn choose(&self, all: &[ListedNode]) -> Result<Vec<FleetNode>, Failure> {
        if let Some(odd) = all.iter().find(|node| !is_pod_name(&node.name)) {
            let invalid = anyhow!("the API server: {:?} is not a valid node name", odd.name);
            return Err(Failure::missing(invalid));
        }
        let names: BTreeSet<&str> = all.iter().map(|node| node.name.as_str()).collect();
        if let Some(unknown) = self.nodes.iter().find(|name| !names.contains(name.as_str())) {
            let failure = Failure::usage(anyhow!("the cluster has no node {unknown}"));
            return Err(failure.meant(nearest(unknown, names.iter().copied())));
        }
        let labels = |node: &ListedNode| {
            node.object.as_ref().map(|object| object.metadata.labels.clone()).unwrap_or_default()
        };
        let mut nodes: Vec<FleetNode> = all
            .iter()
            .map(|node| FleetNode { name: node.name.clone(), labels: labels(node) })
            .filter(|node| self.nodes.is_empty() || self.nodes.contains(&node.name))
            .filter(|node| self.selector.as_ref().is_none_or(|it| it.matches(&node.labels)))
            .collect();
        nodes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let count = nodes.len();
        if let Some(sample) = self.sample.map(|it| it.of(count)).filter(|it| *it < count) {
            let spread: BTreeSet<usize> = (0..sample).map(|at| at * count / sample).collect();
            let numbered = nodes.into_iter().enumerate();
            nodes = numbered.filter(|(at, _)| spread.contains(at)).map(|(_, it)| it).collect();
        }
        match nodes.is_empty() {
            false => Ok(nodes),
            true => Err(Failure::usage(anyhow!("no node of the cluster is selected")).hint(
                "--selector and NODE choose among the nodes of kubectl get nodes --show-labels",
            )),
        }
    }
}

/// Returns the file of the snapshot of a node.
pub(super) fn snapshot_path(folder: &Path, node: &str) -> PathBuf {
    folder.join(format!("{node}.json.zst"))
}

/// Returns a name that no other run has.
fn run_name() -> String {
    let nanoseconds = moment().0.unsigned_abs();
    format!("{:08x}{:05x}", nanoseconds >> 20 & 0xffff_ffff, std::process::id() & 0xf_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_some_nodes_is_at_least_one() {
        for (sample, nodes, expected) in [
            (Sample::Nodes(3), 2, 2),
            (Sample::Nodes(3), 10, 3),
            (Sample::Percent(1), 5_000, 50),
            (Sample::Percent(1), 3, 1),
            (Sample::Percent(34), 3, 2),
            (Sample::Percent(100), 3, 3),
            (Sample::Percent(50), 0, 0),
        ] {
            assert_eq!(sample.of(nodes), expected, "{sample:?} of {nodes}");
        }
    }
}
