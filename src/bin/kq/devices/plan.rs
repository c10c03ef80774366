//! `kq devices plan`

use super::given::read_devices;
use super::node::DeviceNodeArgs;
use super::preference::{AskedPlugins, parse_plugin};
use super::unknown_pod::unknown_pod;
use crate::exit::{Code, Failure, note, warn};
use crate::form::Form;
use crate::kubelet_node::KubeletNode;
use crate::live::Wants;
use crate::subjects::is_file;
use anyhow::anyhow;
use kq::device::assemble::{Basis, assemble, keeping, some};
use kq::device::manager::ManagerState;
use kq::device::manager::allocate::{Circumstances, Outcome, Preference, in_order};
use kq::device::manager::hints::HintNodes;
use kq::device::manager::topology::{TopologyManager, TopologyPolicy};
use kq::device::plan::{
    DevicePlan, PodToPlan, Question, asks_for_devices, plan, state_of, table, wide,
};
use kq::device::pods::{NodePods, Standing};
use kq::edge::input::{read_input, shown};
use kq::facts::pod_selector::PodSelector;
use kq::facts::runtime::ContainerState;
use kq::facts::snapshot::Snapshot;
use kq::k8s::feature_gates::Gate;
use kq::k8s::manifest::{Note, load};
use kq::k8s::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Show which devices a pod would get now, or the kubelet's error
///
/// Goes through the containers as the kubelet's device manager does: devices that are recorded,
/// that init containers leave to the next, NUMA nodes by the topology policy, what is healthy and
/// free. Where the kubelet goes by the random order of a map, the set is shown from which it
/// chooses. -o wide shows what there was before, the NUMA hints and what was decided.
///
/// FILE is a manifest; its pods are admitted one after the other, each finds what is left. POD is a
/// pod of this node, or of --snapshot. With --devices and FILE no node is looked at, unless one is
/// named. Plugins are not called, but for --ask-plugin, which asks what they offer and what they
/// prefer.
///
/// With --kubelet-restart no device is healthy until its plugin registers again: without POD or
/// FILE, all pods of the node with devices are told, which keep running and which are refused.
///
/// Exit code 0: all get their devices. 1: one does not. 3: a fact is missing.
///
/// Examples:
///
///   kq devices plan train.yaml
///   kq devices plan train.yaml --unhealthy gpu-3 -o wide
///   kq devices plan --kubelet-restart
///   kq devices plan train.yaml --devices devices.yaml --topology-manager-policy restricted
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The pod, or a file with it; - is standard input
    #[arg(value_name = "POD|FILE", required_unless_present = "kubelet_restart")]
    pod: Option<String>,

    /// Take a device for unhealthy: its id, or RESOURCE=ID (can be repeated)
    #[arg(long, value_name = "ID")]
    unhealthy: Vec<String>,

    /// The kubelet starts anew, and no plugin has registered yet
    #[arg(long, conflicts_with = "unhealthy")]
    kubelet_restart: bool,

    /// Ask a plugin on its socket what it offers and which devices it prefers; it must be that of the
    /// resource (can be repeated)
    #[arg(long, value_name = "RESOURCE=SOCKET", value_parser = parse_plugin)]
    ask_plugin: Vec<(String, PathBuf)>,

    /// The devices: a list of {resource, id, health, numaNodes} in JSON or YAML; they are all of their
    /// resources
    #[arg(long, value_name = "FILE", help_heading = "Where the facts come from")]
    devices: Option<String>,

    /// The NUMA nodes of the machine, such as 0,1; else those that its kernel lists
    #[arg(
        long,
        value_name = "NODES",
        value_delimiter = ',',
        help_heading = "Where the facts come from"
    )]
    numa_nodes: Vec<i64>,

    /// topologyManagerPolicy: none, best-effort, restricted or single-numa-node; else the kubelet's
    #[arg(long, value_name = "POLICY", help_heading = "The node")]
    topology_manager_policy: Option<String>,

    /// topologyManagerScope: container or pod; else the kubelet's
    #[arg(long, value_name = "SCOPE", help_heading = "The node")]
    topology_manager_scope: Option<String>,

    /// How to show the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    #[command(flatten)]
    node: DeviceNodeArgs,
}

impl Args {
    /// Gathers, decides and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let given = self.devices.as_deref().map(read_devices).transpose()?.unwrap_or_default();
        let mut basis = Basis::default();
        let from_file = match self.pod.as_deref().filter(|pod| is_file(pod)) {
            Some(file) => Some(pods_of_file(file, &mut basis)?),
            None => None,
        };
        let is_offline = !given.is_empty() && from_file.is_some() && self.node.names_no_source();
        let node = match is_offline {
            true => self.node.kubelet.of_flags()?,
            false => self.node.gather(Wants { state_files: false, ..Wants::DEVICES })?,
        };
        let pods = NodePods::of(&node.snapshot);
        let assembled = assemble(node.snapshot.devices.as_ref(), &given, &pods, &mut basis)
            .map_err(|error| {
                Failure::missing(error).hint(
                    "run as root on the node, take a snapshot there and pass it with --snapshot, or \
                     give devices with --devices FILE",
                )
            })?;
        let question = Question {
            unhealthy: self.unhealthy.clone(),
            kubelet_restart: self.kubelet_restart,
            now: node.now,
        };
        let mut state = state_of(assembled, &question).map_err(Failure::usage)?;
        let to_plan = match from_file {
            Some(pods) => pods,
            None => self.pods_of_node(&node, &pods, &state)?,
        };
        let manager = self.topology(&node, &state, &mut basis)?;
        let mut plugins = AskedPlugins::new(&self.ask_plugin, self.node.kubelet.sources.timeout);
        let offered = plugins.options(&state).map_err(Failure::missing)?;
        let unknown_options = state.healthy.keys().filter(|name| !offered.contains_key(*name));
        let unknown_options = unknown_options.cloned().collect();
        for (resource, options) in offered {
            if let Some(endpoint) = state.endpoints.get_mut(&resource) {
                endpoint.options = options;
            }
        }
        let circumstances =
            self.circumstances(&node, &pods, &to_plan, (&state, unknown_options), &mut basis);
        assume(&to_plan, &state, self.kubelet_restart, &mut basis);
        let mut planned =
            plan(&mut state, &to_plan, &manager, &circumstances, &mut plugins, (&question, basis));
        assume_preferences(&mut planned);
        planned.basis.warnings.splice(0..0, node.notes.iter().cloned());
        self.output.write(&planned, table, wide)?;
        if self.output.is_for_people() {
            tell(&planned.basis);
        }
        Ok(match () {
            () if planned.is_undetermined() || !planned.basis.missing.is_empty() => Code::Missing,
            () if planned.all_admitted() => Code::Answered,
            () => Code::No,
        })
    }

    /// Returns the pods of the node that are meant.
    fn pods_of_node(
        &self,
        node: &KubeletNode,
        pods: &NodePods<'_>,
        state: &ManagerState,
    ) -> Result<Vec<PodToPlan>, Failure> {
        let Some(found) = &node.snapshot.pods.found else {
            let reason = node.snapshot.pods.reason();
            return Err(Failure::missing(anyhow!(
                "the pods of the node could not be had: {reason}"
            ))
            .hint("run as root on the node, or give its pods with --pods FILE"));
        };
        let is_meant = |uid: &str, pod: &Pod| match &self.pod {
            Some(name) => {
                let metadata = &pod.metadata;
                PodSelector::new(name).matches(&metadata.namespace, &metadata.name, uid)
            }
            None => {
                matches!(pods.standing(uid), Standing::Active(_)) && asks_for_devices(state, pod)
            }
        };
        let meant: Vec<PodToPlan> = pods
            .iter()
            .filter(|(uid, pod)| is_meant(uid, pod))
            .map(|(uid, pod)| {
                let mut pod = pod.clone();
                uid.clone_into(&mut pod.metadata.uid);
                PodToPlan { pod, source: found.source.clone() }
            })
            .collect();
        match (&self.pod, meant.len()) {
            (Some(name), 0) => {
                let known: Vec<(&str, &str, &str)> = pods
                    .iter()
                    .map(|(uid, pod)| (&*pod.metadata.namespace, &*pod.metadata.name, uid))
                    .collect();
                Err(unknown_pod(&node.snapshot, &PodSelector::new(name), &known)
                    .hint("a file is named by its path, such as ./pod.yaml"))
            }
            (Some(name), several @ 2..) => {
                Err(Failure::usage(anyhow!("{name} means {several} pods"))
                    .hint("say NAMESPACE/NAME"))
            }
            _ => Ok(meant),
        }
    }

    /// Returns the topology manager of the node.
    fn topology(
        &self,
        node: &KubeletNode,
        state: &ManagerState,
        basis: &mut Basis,
    ) -> Result<TopologyManager, Failure> {
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
        let numa_nodes = self.machine(&node.snapshot, state, policy, basis);
        if policy != TopologyPolicy::None {
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
        Ok(TopologyManager::new(policy, scope, numa_nodes, nodes))
    }

    /// Returns the NUMA nodes of the machine.
    fn machine(
        &self,
        snapshot: &Snapshot,
        state: &ManagerState,
        policy: TopologyPolicy,
        basis: &mut Basis,
    ) -> Vec<i64> {
        if !self.numa_nodes.is_empty() {
            return self.numa_nodes.clone();
        }
        match snapshot.host.numa_nodes() {
            Ok(nodes) if !nodes.is_empty() => nodes.iter().map(|node| node.id).collect(),
            _ => {
                let devices = state.devices.values().flat_map(BTreeMap::values);
                let nodes = devices.flat_map(|device| device.numa_nodes.iter().flatten().copied());
                let mut nodes: BTreeSet<i64> = nodes.filter(|node| *node >= 0).collect();
                nodes.insert(0);
                // Without a policy they make no difference.
                if policy != TopologyPolicy::None {
                    basis.assumptions.push(
                        "the machine has the NUMA nodes of its devices and no others (--numa-nodes)"
                            .to_owned(),
                    );
                }
                nodes.into_iter().collect()
            }
        }
    }

    fn circumstances(
        &self,
        node: &KubeletNode,
        pods: &NodePods<'_>,
        to_plan: &[PodToPlan],
        (state, unknown_options): (&ManagerState, BTreeSet<String>),
        basis: &mut Basis,
    ) -> Circumstances {
        let mut active_pods = keeping(pods, state, basis);
        active_pods.extend(to_plan.iter().map(|planned| planned.pod.metadata.uid.clone()));
        let running_at_start = match self.kubelet_restart {
            true => to_plan.iter().flat_map(|planned| running(&planned.pod, pods)).collect(),
            false => BTreeSet::new(),
        };
        Circumstances {
            sources_ready: !self.kubelet_restart,
            active_pods,
            running_at_start,
            dra_extended_resource: node.kubelet.rules.gates.enabled(Gate::DraExtendedResource),
            unknown_options,
        }
    }
}

/// Returns the containers of a pod that run: as the runtime says, else as its status does.
fn running(pod: &Pod, pods: &NodePods<'_>) -> Vec<(String, String)> {
    let uid = &pod.metadata.uid;
    let status = &pod.status;
    let statuses = status.container_statuses.iter().chain(&status.init_container_statuses);
    let reported: BTreeSet<&str> = statuses
        .filter(|status| status.state.running.is_some())
        .map(|status| status.name.as_str())
        .collect();
    let runs = |name: &str| match pods.container(uid, name) {
        Some(state) => state == ContainerState::Running,
        None => reported.contains(name),
    };
    let all = in_order(pod).map(|(_, container)| container.name.clone());
    all.filter(|name| runs(name)).map(|name| (uid.clone(), name)).collect()
}

/// Reads the pods of a file; those without a UID get one.
fn pods_of_file(file: &str, basis: &mut Basis) -> Result<Vec<PodToPlan>, Failure> {
    let content = read_input(file).map_err(Failure::missing)?;
    let loaded = load(shown(file), &content);
    if loaded.pods.is_empty() {
        if let Some(problem) = loaded.problems.first() {
            return Err(Failure::usage(anyhow!("{problem}")));
        }
        return Err(Failure::usage(anyhow!("{}: no pods", shown(file)))
            .hint("a Pod, a list of pods, or a workload with a pod template is expected"));
    }
    basis.warnings.extend(loaded.notes.iter().map(Note::to_string));
    basis.missing.extend(loaded.problems.iter().map(ToString::to_string));
    let pods = loaded.pods.into_iter().enumerate().map(|(at, loaded)| {
        let mut pod = loaded.pod;
        if pod.metadata.uid.is_empty() {
            pod.metadata.uid = format!("kq-{}", at + 1);
        }
        PodToPlan { pod, source: shown(file).to_owned() }
    });
    Ok(pods.collect())
}

/// Says what is taken for granted whatever the answer.
fn assume(pods: &[PodToPlan], state: &ManagerState, restart: bool, basis: &mut Basis) {
    if restart {
        basis.assumptions.push(
            "the kubelet admits the pods before it has heard from all its sources of pods, and finds \
             the containers running that run now"
                .to_owned(),
        );
    } else if pods.len() > 1 {
        basis
            .assumptions
            .push("the pods are admitted in this order; each finds what is left".to_owned());
    }
    let several = pods.iter().flat_map(|planned| in_order(&planned.pod)).any(|(_, container)| {
        let limits = container.resources.limits.iter();
        limits.filter(|(name, _)| state.is_device_resource(name.as_str())).count() > 1
    });
    if several {
        basis.assumptions.push(
            "the resources of a container are taken in the order of their names; the kubelet's is random"
                .to_owned(),
        );
    }
}

/// Says whose preference would have mattered.
fn assume_preferences(planned: &mut DevicePlan) {
    let steps = planned.pods.iter().flat_map(|pod| &pod.admission.containers);
    let unknown: BTreeSet<&str> = steps
        .flat_map(|step| &step.allocation.resources)
        .filter_map(|resource| match &resource.outcome {
            Outcome::Allocated(choice) if choice.preference == Preference::Unknown => {
                Some(resource.resource.as_str())
            }
            _ => None,
        })
        .collect();
    let unknown: Vec<&str> = unknown.into_iter().collect();
    if !unknown.is_empty() {
        planned.basis.assumptions.push(format!(
            "what the plugins of {} prefer is not known, so it may be any device of the set \
             (--ask-plugin)",
            some(&unknown)
        ));
    }
    let steps = planned.pods.iter().flat_map(|pod| &pod.admission.containers);
    let mut outcomes = steps
        .flat_map(|step| &step.allocation.resources)
        .map(|resource| &resource.outcome)
        .skip_while(
            |outcome| !matches!(outcome, Outcome::Allocated(choice) if choice.any_of.is_some()),
        );
    // The last choice decides nothing that is shown.
    if outcomes.next().is_some() && outcomes.next().is_some() {
        planned
            .basis
            .assumptions
            .push("for what follows a choice, the first of its set by id are taken".to_owned());
    }
}

/// Shows what an answer rests on.
pub fn tell(basis: &Basis) {
    basis.assumptions.iter().for_each(|text| note("assumed", text));
    basis.warnings.iter().for_each(|text| warn(text));
    basis.missing.iter().for_each(|text| note("missing", text));
}
