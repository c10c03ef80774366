//! `kq devices plan`

use super::given::read_devices;
use super::manifest::{pods_of_file, warn_of_namesakes};
use super::node::DeviceNodeArgs;
use super::preference::{AskPlugin, AskedPlugins, find};
use super::topology::TopologyArgs;
use super::unknown_pod::unknown_pod;
use crate::exit::{Code, Failure, tell};
use crate::form::Form;
use crate::kubelet_node::KubeletNode;
use crate::pod_selectors::is_file;
use anyhow::anyhow;
use kq::admission::qualified;
use kq::answer::{Assumption, Basis, Missing};
use kq::device::manager::ManagerState;
use kq::device::manager::allocate::{
    AllocationContext, Choice, Outcome, Pool, Preference, in_order,
};
use kq::device::plan::{
    DevicePlan, Now, PodToPlan, Question, Turn, UnhealthyDevice, UnknownFacts, asked_resources,
    asks_for_devices, changes, foresee, plan, state_of, table, unhealthy, wide,
};
use kq::device::pods::{NodePods, Standing};
use kq::device::reconstruct::{GivenDevice, ReconstructedManager, assemble, keeping, some};
use kq::facts::devices::DeviceFacts;
use kq::facts::live::incomplete;
use kq::facts::pod_selector::PodSelector;
use kq::k8s::pod::{OsRefusal, Pod};
use kq::node::Needs;
use kq::question::device_admission::{
    BEFORE_ALL_SOURCES, NO_OTHER_USE, circumstances, running, unknown_containers,
};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Show the devices that a pod would get now, or the kubelet's error
///
/// kq processes the containers as the kubelet's device manager does: it considers
/// recorded devices, devices left over by init containers, NUMA nodes according
/// to the topology policy, and healthy free devices. Where the kubelet depends on
/// the random order of a map, the answer shows the set from which it chooses. -o
/// wide shows the state before, the NUMA hints and the decisions.
///
/// FILE is a manifest; its pods are admitted one after the other, each with the
/// devices that the earlier ones left. POD is a pod of this node, or of
/// --snapshot. With --devices and FILE, kq reads no node unless a flag names one.
/// kq calls plugins only with --ask-plugin, and then only for their options and
/// preferred devices.
///
/// With --kubelet-restart, no device is healthy until its plugin registers again.
/// Without POD or FILE, the answer then covers all pods of the node with devices:
/// those that keep running, those that are rejected, and those whose devices the
/// kubelet forgets. A pod on the node keeps its devices while it runs. For such a
/// pod, --unhealthy shows whether it would be admitted again, as after a reboot,
/// when a container of it does not run at the kubelet's start.
///
/// Exit code 0: all pods get their devices. 1: a pod does not get them, also
/// because no plugin offers the resource; a pod loses them when it is admitted
/// again; or the kubelet crashes. 3: required data is unavailable; "missing:"
/// names it.
///
/// Examples:
///
///   kq devices plan train.yaml
///   kq devices plan train.yaml --unhealthy gpu-3 -o wide
///   kq devices plan --unhealthy gpu-3
///   kq devices plan --kubelet-restart
///   kq devices plan train.yaml --ask-plugin
///   kq devices plan train.yaml --devices devices.yaml
///   kq devices plan train.yaml --topology-manager-policy restricted
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The pod, or a manifest file; - reads standard input
    #[arg(value_name = "POD|FILE",
          required_unless_present_any = ["kubelet_restart", "unhealthy", "ask_plugin"])]
    pod: Option<String>,

    /// Treat this device (ID or RESOURCE=ID) as unhealthy. Without POD or FILE, show which pods hold it
    /// and the resulting capacity (can be repeated)
    #[arg(long, value_name = "ID")]
    unhealthy: Vec<String>,

    /// Assume that the kubelet restarts and that no plugin has registered yet
    #[arg(long, conflicts_with = "unhealthy")]
    kubelet_restart: bool,

    /// Ask plugins for their preferred devices (GetPreferredAllocation). Without SOCKET, kq asks the
    /// plugins of the requested resources in the device plugin directory. A named SOCKET must be that
    /// of the resource (can be repeated)
    #[arg(long, value_name = "RESOURCE=SOCKET", num_args = 0..=1, default_missing_value = "")]
    ask_plugin: Vec<AskPlugin>,

    /// The device plugin directory for --ask-plugin (default: the directory of the running kubelet,
    /// else /var/lib/kubelet/device-plugins)
    #[arg(long, value_name = "DIR", requires = "ask_plugin")]
    dir: Option<PathBuf>,

    /// The devices: a list of {resource, id, health, numaNodes} in JSON or YAML. The list is complete
    /// for each resource that it names
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    devices: Option<String>,

    #[command(flatten)]
    topology: TopologyArgs,

    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    #[command(flatten)]
    node: DeviceNodeArgs,
}

impl Args {
    /// Gathers, decides and shows.
    pub fn run(mut self) -> Result<Code, Failure> {
        self.check_asked()?;
        let given = self.devices.as_deref().map(read_devices).transpose()?.unwrap_or_default();
        let mut basis = Basis::default();
        let from_file = match self.pod.as_deref().filter(|pod| is_file(pod)) {
            Some(file) => Some(pods_of_file(file, &mut basis)?),
            None => None,
        };
        // For a pod of the node they stand beside what the node says.
        let stand_alone = !given.is_empty() && from_file.is_some();
        let needs = Needs { state_files: false, ..Needs::DEVICES };
        let node = self.node.gather(self.node.beside_given(stand_alone, needs))?;
        let pods = NodePods::of(&node.snapshot);
        let mut assembled = assemble(node.snapshot.devices.as_ref(), &given, &pods, &mut basis)
            .map_err(|error| {
                Failure::missing(error).hint(
                    "run as root on the node, take a snapshot there and pass it with --snapshot, or \
                     give devices with --devices FILE",
                )
            })?;
        if let Some(object) = node.snapshot.node.value().filter(|_| !self.kubelet_restart) {
            assembled.heed_node(object, &mut basis);
        }
        if self.kubelet_restart {
            know_checkpoint(&node, &given, &mut assembled, &mut basis)?;
        }
        let question = Question {
            unhealthy: self.unhealthy.clone(),
            kubelet_restart: self.kubelet_restart,
            of_node: self.pod.is_none(),
            now: node.now,
        };
        if assembled.unknown_use {
            basis.assume(NO_OTHER_USE.to_owned());
        }
        // A kubelet that starts knows what its checkpoint says, and that may be nothing.
        let unknown = assembled.unknown_devices.clone().filter(|_| !self.kubelet_restart);
        let unknown = unknown.map(|reason| reason + " (--pod-resources, --devices)");
        if let Some(reason) = &unknown {
            basis.lack(format!("which devices there are: {reason}"));
        }
        let before = assembled.state.clone();
        let mut state = state_of(assembled, &question).map_err(|error| match &unknown {
            Some(reason) => Failure::missing(error).hint(reason.as_str()),
            None => Failure::usage(error),
        })?;
        let unhealthy = unhealthy(&before, &question);
        let is_of_node = from_file.is_none();
        let to_plan = match from_file {
            Some(to_plan) => {
                warn_of_namesakes(&to_plan, &pods, &mut basis);
                to_plan
            }
            None => self.pods_of_node(&node, &pods, (&before, &state), &unhealthy)?,
        };
        for PodToPlan { pod, .. } in &to_plan {
            let refusal = OsRefusal::of(pod).map(|refusal| refusal.warning());
            basis.warn_all(refusal.map(|text| format!("{}: {text}", qualified(pod))));
        }
        if self.pod.is_none() {
            know_pods(&node, &to_plan, &unhealthy, &mut basis)?;
        }
        if self.kubelet_restart && is_of_node {
            let unknown = to_plan.iter().filter_map(|it| unknown_containers(&it.pod, &pods));
            basis.lack_all(unknown);
        }
        let running = to_plan.iter().flat_map(|planned| running(&planned.pod, &pods)).collect();
        let now = Now { records: before.pod_devices.clone(), running };
        let changes = if self.kubelet_restart { Vec::new() } else { changes(&before, &state) };
        basis.warn_all(unhealthy.iter().filter(|device| !device.was_healthy).map(
            |UnhealthyDevice { device, resource, .. }| {
                format!("{device} of {resource} is not healthy as it is")
            },
        ));
        let (manager, doubts) = self.topology.options().manager(&node, &state, &mut basis)?;
        let doubts = UnknownFacts { devices: unknown, ..doubts };
        let asked = to_plan.iter().flat_map(|planned| asked_resources(&planned.pod));
        let has_healthy =
            |name: &&str| state.healthy.get(*name).is_some_and(|healthy| !healthy.is_empty());
        let asked = asked.filter(has_healthy).collect();
        let mut plugins = self.asked_plugins(node.runs_here, &asked, &mut basis)?;
        let offered = plugins.options(&state).map_err(Failure::missing)?;
        let unknown_options = state.healthy.keys().filter(|name| !offered.contains_key(*name));
        let unknown_options = unknown_options.cloned().collect();
        for (resource, options) in offered {
            if let Some(endpoint) = state.endpoints.get_mut(&resource) {
                endpoint.options = options;
            }
        }
        let mut circumstances =
            self.circumstances(&node, &pods, &to_plan, (&state, unknown_options), &mut basis);
        assume(&to_plan, &state, self.kubelet_restart, &mut basis);
        let admitting = state;
        let mut planned = loop {
            let turn = Turn { manager: &manager, circumstances: &circumstances, doubts: &doubts };
            let asked = (&question, basis.clone());
            let planned = plan(&mut admitting.clone(), &to_plan, &turn, &mut plugins, asked);
            // Without its answer the preference is as unknown as if nobody had asked.
            let Some((resource, why)) = plugins.take_unanswered() else { break planned };
            basis.lack(Missing::new(
                format!("what the plugin of {resource} prefers: {why}"),
                ["--timeout"],
            ));
            circumstances.unknown_options.insert(resource);
        };
        (planned.changes, planned.unhealthy) = (changes, unhealthy);
        foresee(&mut planned, &to_plan, &now, &admitting);
        planned.look_up_resources(node.snapshot.node.value());
        assume_preferences(&mut planned);
        planned.basis.warnings.splice(0..0, node.warnings().map(Into::into));
        planned.basis.lack_all(node.missing_config());
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

    /// Takes a pod that stands behind --ask-plugin, which may have no value of its own, for the pod.
    fn check_asked(&mut self) -> Result<(), Failure> {
        for asked in &mut self.ask_plugin {
            let AskPlugin::Other(text) = asked else { continue };
            if self.pod.is_some() {
                return Err(Failure::usage(anyhow!(
                    "--ask-plugin {text}: expected RESOURCE=SOCKET"
                ))
                .hint(
                    "such as example.com/gpu=/var/lib/kubelet/device-plugins/gpu.sock; without a \
                         value the plugins are found",
                ));
            }
            self.pod = Some(std::mem::take(text));
            *asked = AskPlugin::Found;
        }
        if self.pod.is_none() && !self.kubelet_restart && self.unhealthy.is_empty() {
            return Err(Failure::usage(anyhow!("--ask-plugin: for which pod is not said"))
                .hint("name it: kq devices plan POD|FILE --ask-plugin"));
        }
        Ok(())
    }

    /// Returns the plugins that may be asked: those that are named, and those that are found.
    fn asked_plugins(
        &self,
        runs_here: bool,
        resources: &BTreeSet<&str>,
        basis: &mut Basis,
    ) -> Result<AskedPlugins, Failure> {
        let sources = &self.node.kubelet.sources;
        let mut named = Vec::new();
        let mut finds = false;
        for asked in &self.ask_plugin {
            match asked {
                AskPlugin::Named(resource, socket) => {
                    named.push((resource.clone(), socket.clone()))
                }
                AskPlugin::Found | AskPlugin::Other(_) => finds = true,
            }
        }
        if finds {
            if !runs_here && sources.host_root.is_none() && self.dir.is_none() {
                let given = if sources.snapshot.is_some() { "--snapshot" } else { "the files" };
                return Err(Failure::usage(anyhow!(
                    "--ask-plugin asks the plugins of this machine, and {given} may be of another"
                ))
                .hint("say --ask-plugin RESOURCE=SOCKET, or --dir DIR for their folder"));
            }
            let is_named = |resource: &&str| named.iter().any(|(name, _)| name == resource);
            let open = resources.iter().copied().filter(|resource| !is_named(resource)).collect();
            let folder = (self.dir.clone(), sources.host_root.clone());
            named.extend(find(&open, folder, sources.timeout, basis)?);
        }
        Ok(AskedPlugins::new(named, sources.timeout))
    }

    /// Returns the pods of the node that are meant.
    fn pods_of_node(
        &self,
        node: &KubeletNode,
        pods: &NodePods<'_>,
        (before, state): (&ManagerState, &ManagerState),
        unhealthy: &[UnhealthyDevice],
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
            None if !matches!(pods.standing(uid), Standing::Active(_)) => false,
            None if self.kubelet_restart => {
                asks_for_devices(state, pod) || before.pod_devices.of_pod(uid).next().is_some()
            }
            None => unhealthy.iter().any(|device| device.pods.contains(uid)),
        };
        let mut meant: Vec<PodToPlan> = pods
            .iter()
            .filter(|(uid, pod)| is_meant(uid, pod))
            .map(|(uid, pod)| {
                let mut pod = pod.clone();
                uid.clone_into(&mut pod.metadata.uid);
                PodToPlan { pod, source: found.source.clone() }
            })
            .collect();
        meant.sort_by(|one, other| {
            let name =
                |it: &PodToPlan| (it.pod.metadata.namespace.clone(), it.pod.metadata.name.clone());
            name(one).cmp(&name(other))
        });
        match (&self.pod, meant.len()) {
            (Some(name), 0) => {
                let known: Vec<(&str, &str, &str)> = pods
                    .iter()
                    .map(|(uid, pod)| (&*pod.metadata.namespace, &*pod.metadata.name, uid))
                    .collect();
                Err(unknown_pod(node, &PodSelector::new(name), &known)
                    .hint("a file is named by its path, such as ./pod.yaml"))
            }
            (Some(name), several @ 2..) => {
                let uids: Vec<&str> = meant.iter().map(|it| &*it.pod.metadata.uid).collect();
                let more = if name.contains('/') { "" } else { "NAMESPACE/NAME, or " };
                Err(Failure::usage(anyhow!("{name} means {several} pods"))
                    .hint(format!("say {more}the UID: {}", some(&uids))))
            }
            _ => Ok(meant),
        }
    }

    fn circumstances(
        &self,
        node: &KubeletNode,
        pods: &NodePods<'_>,
        to_plan: &[PodToPlan],
        (state, unknown_options): (&ManagerState, BTreeSet<String>),
        basis: &mut Basis,
    ) -> AllocationContext {
        let mut active_pods = keeping(pods, state, basis);
        active_pods.extend(to_plan.iter().map(|planned| planned.pod.metadata.uid.clone()));
        let running_at_start = self
            .kubelet_restart
            .then(|| to_plan.iter().flat_map(|planned| running(&planned.pod, pods)).collect());
        circumstances(node, active_pods, running_at_start, unknown_options)
    }
}

/// Makes sure that the pods of the node are known: that none has devices is an answer only where all are.
fn know_pods(
    node: &KubeletNode,
    to_plan: &[PodToPlan],
    unhealthy: &[UnhealthyDevice],
    basis: &mut Basis,
) -> Result<(), Failure> {
    let snapshot = &node.snapshot;
    let known = node.pods();
    let Some(reason) = incomplete(&snapshot.pods, &known, snapshot.runtime.value()) else {
        return Ok(());
    };
    let missing = format!("which pods have devices: {reason} (--pods, --kubeconfig)");
    if to_plan.is_empty() && unhealthy.is_empty() {
        return Err(Failure::missing(anyhow!("it is not known {missing}")));
    }
    basis.lack(missing);
    Ok(())
}

/// Makes sure that it is known what a kubelet that starts finds in its checkpoint.
fn know_checkpoint(
    node: &KubeletNode,
    given: &[GivenDevice],
    assembled: &mut ReconstructedManager,
    basis: &mut Basis,
) -> Result<(), Failure> {
    let none = DeviceFacts::default();
    let checkpoint = &node.snapshot.devices.as_ref().unwrap_or(&none).checkpoint;
    if checkpoint.found.is_some() {
        return Ok(());
    }
    if given.is_empty() || !checkpoint.was_not_queried() {
        let reason = checkpoint.reason();
        return Err(Failure::missing(anyhow!(
            "what a kubelet that starts finds in its checkpoint is not known: {reason}"
        ))
        .hint("run as root on the node, or name the file with --checkpoint FILE"));
    }
    let what = "the checkpoint has the resources of --devices, whose plugins had registered (--checkpoint)";
    basis.assume(what.to_owned());
    assembled.registered.extend(given.iter().map(|device| device.resource.clone()));
    Ok(())
}

/// Says what is taken for granted whatever the answer.
fn assume(pods: &[PodToPlan], state: &ManagerState, restart: bool, basis: &mut Basis) {
    if restart {
        basis.assume(BEFORE_ALL_SOURCES.to_owned());
    } else if pods.len() > 1 {
        basis.assume("the pods are admitted in this order; each finds what is left".to_owned());
    }
    let several = pods.iter().flat_map(|planned| in_order(&planned.pod)).any(|(_, container)| {
        let limits = container.resources.limits.iter();
        limits.filter(|(name, _)| state.is_device_resource(name.as_str())).count() > 1
    });
    if several {
        basis.assume(
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
        planned.basis.assume(Assumption::new(
            format!(
                "what the plugins of {} prefer is not known, so it may be any device of the set",
                some(&unknown)
            ),
            ["--ask-plugin"],
        ));
    }
    let steps = planned.pods.iter().flat_map(|pod| &pod.admission.containers);
    let depends = |choice: &Choice| match choice.any_of.as_ref().map(|any_of| any_of.pool) {
        Some(Pool::AtMost) => true,
        Some(Pool::Left) => matches!(choice.preference, Preference::Answered { .. }),
        _ => false,
    };
    let depends = steps
        .flat_map(|step| &step.allocation.resources)
        .any(|resource| matches!(&resource.outcome, Outcome::Allocated(choice) if depends(choice)));
    if depends {
        planned.basis.assume(
            "NUMA hints and what plugins prefer are those with the first by id taken before, where \
             there was a choice; which devices it can be does not rest on that"
                .to_owned(),
        );
    }
}
