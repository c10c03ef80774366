//! The devices that pods would get.

use super::admission::{
    BEFORE_ALL_SOURCES, NO_OTHER_USE, asked_device, circumstances, restarted_containers, running,
    unknown_containers,
};
use super::list::unknown_pod;
use super::other_starts::OtherStarts;
use super::topology::TopologyOptions;
use crate::question::admission::{AdmissionNode, StartEnds};
use crate::question::patches::assume_fault;
use crate::question::start::{KubeletStart, kubelet_start};
use crate::question::what_if::apply::stop_containers;
use anyhow::anyhow;
use kq_admission::qualified;
use kq_answer::{Assumption, Basis, Failure, Missing, MissingFact, Warning, WarningCode};
use kq_facts::devices::DeviceFacts;
use kq_facts::fact_key::FactKey;
use kq_facts::live::incomplete;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::node_pods::{NodePods, Standing};
use kq_facts::pod_selector::{PodSelector, several_pods};
use kq_k8s::defaults::apply_api_defaults;
use kq_k8s::kubelet_rules::RuleArea;
use kq_k8s::patch_fixes::PatchFault;
use kq_k8s::pod::{OsRefusal, Pod};
use kq_k8s::qos::{QosClass, effective_qos_class};
use kq_managers::manager::allocate::{
    AllocationContext, Choice, Outcome, Pool, Preference, in_order,
};
use kq_managers::manager::topology::TopologyPolicy;
use kq_managers::manager::{ManagerState, PluginOptions, Plugins, SilentPlugins};
use kq_managers::plan::{
    AdmissionContext, DevicePlan, Now, PlannedPod, PodToPlan, UnhealthyDevice, UnknownFacts,
    Verdict, WhatIf, asked_resources, asks_for_devices, changes, foresee, plan, state_of,
    unhealthy,
};
use kq_managers::reconstruct::{ReconstructedManager, assemble, keeping, some};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a reboot leaves. The boot does not touch the checkpoint, and the manager asks the runtime which containers run
/// (`isContainerAlreadyRunning`, and scenario 2 of `devicesToAllocate`, `pkg/kubelet/cm/devicemanager/manager.go`).
const AFTER_REBOOT: &str = "the kubelet admits the pods before it has heard from all its sources of pods, finds no \
                            container running, and its checkpoint is on the disk as it was";

/// The options of a plan.
#[derive(Clone, Debug)]
pub struct DevicePlanOptions {
    /// The pods.
    pub subject: Subject,
    /// Devices that count as unhealthy.
    pub unhealthy: Vec<String>,
    /// The kubelet restarts first.
    pub kubelet_restart: bool,
    /// It restarts because the machine does: no container runs.
    pub reboot: bool,
    /// The topology manager.
    pub topology: TopologyOptions,
}

/// The pods that a plan is about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Pods of a manifest, admitted one after the other.
    Manifest(Vec<PodToPlan>),
    /// A pod of the node.
    Pod(String),
    /// The pods of the node that the change touches.
    Node,
}

impl Subject {
    /// Returns true if a fact about devices may decide about the pods.
    fn may_request_devices(&self, pods: &NodePods<'_>) -> bool {
        let meant: Vec<&Pod> = match self {
            Self::Manifest(to_plan) => to_plan.iter().map(|it| &it.pod).collect(),
            Self::Pod(name) => {
                let selector = PodSelector::new(name);
                pods.iter().map(|(_, pod)| pod).filter(|pod| selector.is_of(pod)).collect()
            }
            Self::Node => Vec::new(),
        };
        meant.is_empty() || meant.into_iter().any(|pod| asked_device(pod).is_some())
    }
}

/// Plugins whose options and preferences are asked for.
pub trait PlanPlugins: Plugins {
    /// Returns the options of each plugin, by resource.
    ///
    /// # Errors
    ///
    /// Fails for a resource that the node does not have, and a plugin that does not answer.
    fn options(&self, state: &ManagerState) -> anyhow::Result<BTreeMap<String, PluginOptions>>;

    /// Returns the resource whose plugin did not answer, and the reason; it is not asked again.
    fn take_unanswered(&mut self) -> Option<(String, String)>;
}

impl PlanPlugins for SilentPlugins {
    fn options(&self, _state: &ManagerState) -> anyhow::Result<BTreeMap<String, PluginOptions>> {
        Ok(BTreeMap::new())
    }

    fn take_unanswered(&mut self) -> Option<(String, String)> {
        None
    }
}

/// A container that holds devices which are unhealthy or gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The pod, as NAMESPACE/NAME.
    #[serde(skip)]
    pub pod: String,
    pub container: String,
    pub resource: String,
    pub devices: Vec<String>,
    /// A new admission of the pod would fail.
    pub is_refused_again: bool,
}

/// Returns who holds devices that become unhealthy, each named `RESOURCE=ID`. No plugin is asked.
///
/// # Errors
///
/// Fails as [`device_plan`] does.
pub fn holders_of(node: &Node, unhealthy: Vec<String>) -> Result<Vec<Holder>, Failure> {
    let options = DevicePlanOptions {
        subject: Subject::Node,
        unhealthy,
        kubelet_restart: false,
        reboot: false,
        topology: TopologyOptions::default(),
    };
    let plan = device_plan(node, options, Basis::default(), |_, _| Ok(SilentPlugins))?;
    let of_pod = |planned: &PlannedPod| -> Vec<Holder> {
        let Some(outlook) = &planned.outlook else { return Vec::new() };
        let held = outlook.held.iter().filter(|held| !held.unhealthy.is_empty());
        held.map(|held| Holder {
            pod: format!("{}/{}", planned.namespace, planned.name),
            container: held.container.clone(),
            resource: held.resource.clone(),
            devices: held.unhealthy.iter().cloned().collect(),
            is_refused_again: outlook.verdict == Verdict::RefusedAnew,
        })
        .collect()
    };
    Ok(plan.pods.iter().flat_map(of_pod).collect())
}

/// Returns the facts that a plan needs. A kubelet that starts, also after a boot, has to start, and to admit the pods.
pub fn device_plan_needs(starts: bool) -> Needs {
    match starts {
        true => Needs::READMISSION.in_files(),
        false => Needs::DEVICES.without(&[FactKey::StateFiles]),
    }
}

/// Plans the devices of pods. `basis` is that of the manifest; `ask` returns the plugins of resources.
///
/// # Errors
///
/// Fails where a fact is missing without which there is no plan, and for what the node does not have.
pub fn device_plan<P: PlanPlugins>(
    node: &Node,
    options: DevicePlanOptions,
    mut basis: Basis,
    ask: impl FnOnce(&BTreeSet<&str>, &mut Basis) -> Result<P, Failure>,
) -> Result<DevicePlan, Failure> {
    let is_all = matches!(options.subject, Subject::Node);
    let restart = options.kubelet_restart || options.reboot;
    let pods = NodePods::of(&node.snapshot);
    let needs_devices =
        restart || !options.unhealthy.is_empty() || options.subject.may_request_devices(&pods);
    let lacks_before = basis.missing.clone();
    let mut assembled = match assemble(node.snapshot.devices.as_ref(), &pods, &mut basis) {
        Err(error) if needs_devices => {
            return Err(Failure::missing(error).hint(
                "run as root on the node, take a snapshot there and pass it with --snapshot, or \
                 give devices with --devices FILE",
            ));
        }
        assembled => assembled.unwrap_or_default(),
    };
    if let Some(object) = node.snapshot.node.value().filter(|_| !restart) {
        assembled.heed_node(object, &mut basis);
    }
    if restart {
        know_checkpoint(node, &mut assembled, &mut basis)?;
    }
    let question = WhatIf {
        unhealthy: options.unhealthy.clone(),
        kubelet_restart: restart,
        of_node: is_all,
        now: node.now,
    };
    if assembled.unknown_use {
        basis.assume(NO_OTHER_USE.to_owned());
    }
    // A kubelet that starts knows what its checkpoint says, and that may be nothing.
    let unknown_use = assembled.unknown_use;
    let unknown = assembled.unknown_devices.clone().filter(|_| !restart);
    let unknown = unknown.map(|reason| reason + " (--pod-resources, --devices)");
    if let Some(reason) = &unknown {
        let text = format!("the devices of the node: {reason}");
        basis.lack(Missing::new(MissingFact::Devices, text));
    }
    let before = assembled.state.clone();
    // A plugin that is gone does not register.
    let mut listed = assembled.clone();
    if let Some(object) = node.snapshot.node.value() {
        listed.heed_node(object, &mut Basis::default());
    }
    let listed = listed.state;
    let mut state = state_of(assembled, &question).map_err(|error| match &unknown {
        Some(reason) => Failure::missing(error).hint(reason.as_str()),
        None => Failure::usage(error),
    })?;
    let unhealthy = unhealthy(&before, &question);
    let is_of_node = !matches!(options.subject, Subject::Manifest(_));
    let name = match &options.subject {
        Subject::Pod(name) => Some(name.as_str()),
        _ => None,
    };
    let to_plan = match &options.subject {
        Subject::Manifest(to_plan) => {
            warn_of_namesakes(to_plan, &pods, &mut basis);
            to_plan.clone()
        }
        _ => {
            // Of a damaged checkpoint, what pods request is all that is known.
            let holds = |uid: &str, pod: &Pod| {
                restart
                    && (asks_for_devices(&state, pod)
                        || before.pod_devices.of_pod(uid).next().is_some()
                        || unknown_use && asked_device(pod).is_some())
            };
            pods_of_node(node, &pods, name, holds, &unhealthy)?
        }
    };
    for PodToPlan { pod, .. } in &to_plan {
        basis.warn_all(OsRefusal::of(pod).map(|refusal| {
            let text = format!("{}: {}", qualified(pod), refusal.warning());
            Warning::new(WarningCode::RefusedOs, text).about(qualified(pod))
        }));
    }
    if is_all {
        know_pods(node, &to_plan, &unhealthy, &mut basis)?;
    }
    if restart && is_of_node && !options.reboot {
        let unknown = to_plan.iter().filter_map(|it| unknown_containers(&it.pod, &pods));
        basis.lack_all(unknown);
    }
    let running: BTreeSet<(String, String)> = match options.reboot {
        true => BTreeSet::new(),
        false => to_plan
            .iter()
            .flat_map(|planned| running(&planned.pod, &planned.pod.metadata.uid, &pods))
            .collect(),
    };
    if restart && !options.reboot {
        let concerned = || {
            let meant = to_plan.iter().map(|it| &it.pod);
            let named = meant.filter(|pod| restarted_containers(pod).next().is_some());
            named.map(qualified).collect()
        };
        let fault = PatchFault::ForgetsRestartedContainers;
        assume_fault(&node.kubelet.rules, fault, concerned, &mut basis);
    }
    let running_at_start = restart.then(|| running.clone());
    let now = Now { records: before.pod_devices.clone(), running };
    let changes = if restart { Vec::new() } else { changes(&before, &state) };
    basis.warn_all(unhealthy.iter().filter(|device| !device.was_healthy).map(
        |UnhealthyDevice { device, resource, .. }| {
            let text = format!("{device} of {resource} is not healthy as it is");
            Warning::new(WarningCode::UnhealthyDevice, text).about(resource)
        },
    ));
    let (manager, doubts) = options.topology.manager(node, &state, &mut basis)?;
    let doubts = UnknownFacts { devices: unknown, ..doubts };
    if manager.policy != TopologyPolicy::None {
        basis.lack_all(placed_with_others(node, &to_plan));
    }
    let asked = to_plan.iter().flat_map(|planned| asked_resources(&planned.pod));
    let has_healthy =
        |name: &&str| state.healthy.get(*name).is_some_and(|healthy| !healthy.is_empty());
    let asked = asked.filter(has_healthy).collect();
    let mut plugins = ask(&asked, &mut basis)?;
    let offered = plugins.options(&state).map_err(Failure::missing)?;
    let unknown_options = state.healthy.keys().filter(|name| !offered.contains_key(*name));
    let unknown_options = unknown_options.cloned().collect();
    for (resource, options) in offered {
        if let Some(endpoint) = state.endpoints.get_mut(&resource) {
            endpoint.options = options;
        }
    }
    let mut circumstances = circumstances_of(
        node,
        running_at_start,
        &pods,
        &to_plan,
        (&state, unknown_options),
        &mut basis,
    );
    let at_start = if options.reboot { AFTER_REBOOT } else { BEFORE_ALL_SOURCES };
    assume(&to_plan, &state, restart.then_some(at_start), &mut basis);
    let admitting = state;
    let mut planned = loop {
        let turn =
            AdmissionContext { manager: &manager, circumstances: &circumstances, doubts: &doubts };
        let asked = (&question, basis.clone());
        let planned = plan(&mut admitting.clone(), &to_plan, &turn, &mut plugins, asked);
        // Without its answer the preference is as unknown as without a call.
        let Some((resource, why)) = plugins.take_unanswered() else { break planned };
        let text = format!("the preference of the plugin of {resource}: {why}");
        let missing = Missing::new(MissingFact::PluginPreference, text).with_flags(["--timeout"]);
        basis.lack(missing.about(&resource));
        circumstances.unknown_options.insert(resource);
    };
    (planned.changes, planned.unhealthy) = (changes, unhealthy);
    foresee(&mut planned, &to_plan, &now, &admitting);
    if restart {
        let turn =
            AdmissionContext { manager: &manager, circumstances: &circumstances, doubts: &doubts };
        let start = OtherStarts { to_plan: &to_plan, turn, question: &question };
        start.add_plugins(&mut planned, &listed, &admitting);
        if !options.reboot && node.kubelet.rules.has_fault(PatchFault::ForgetsRestartedContainers) {
            start.add_restarted(&mut planned, &admitting);
        }
    }
    planned.look_up_resources(node.snapshot.node.value());
    assume_preferences(&mut planned);
    planned.basis.warnings.splice(0..0, node.warnings());
    planned.basis.assume_all(node.kubelet.version.certainty(RuleArea::Managers));
    planned.basis.lack_all(node.missing_config());
    if !needs_devices {
        planned.basis.missing = lacks_before;
    }
    if restart {
        let is_decided =
            |it: &&PlannedPod| it.admission.message.is_none() && it.otherwise.is_none();
        let given = planned.pods.iter().filter(is_decided);
        let given = given.map(|it| format!("{}/{}", it.namespace, it.name)).collect();
        let mut start = kubelet_start(node);
        if options.reboot {
            start.doubt_boot(node);
        }
        let booted = options.reboot.then(|| after_boot(node)).transpose()?;
        match not_admitted(booted.as_ref().unwrap_or(node), &start, &given) {
            Ok(prevented) => planned.prevented = prevented,
            // Files alone say nothing of the node.
            Err(_) if node.snapshot.node.found.is_none() || node.snapshot.pods.found.is_none() => {}
            Err(failure) => {
                let text = format!("whether the kubelet admits the pods: {}", failure.reason());
                planned.basis.lack(Missing::new(MissingFact::NextStart, text));
            }
        }
        planned.basis.lack_all(start.missing(node));
    }
    Ok(planned)
}

/// Returns the node as a kubelet finds it after a boot.
fn after_boot(node: &Node) -> Result<Node, Failure> {
    let mut snapshot = node.snapshot.clone();
    stop_containers(&mut snapshot);
    Node::of(snapshot, node.overrides.clone())
}

/// Returns why pods get no devices at a start, or may not: the kubelet does not start, or ends them for something else.
fn not_admitted(
    node: &Node,
    start: &KubeletStart,
    pods: &BTreeSet<String>,
) -> Result<Option<String>, Failure> {
    if let Some(error) = start.error(node.kubelet.version) {
        return Ok(Some(error));
    }
    let about = AdmissionNode::with_all_pods(node.clone());
    let next = about.at_next_start();
    let ends = StartEnds::of(next.as_ref().unwrap_or(&about))?;
    let ending = ends.items.iter().filter(|end| end.may_end() && pods.contains(&end.pod));
    let Some(end) = ending.min_by_key(|end| !end.ends()) else { return Ok(None) };
    let does = if end.cause.is_some() { "may end" } else { "ends" };
    let mut text = format!("a kubelet that starts {does} {}", end.pod);
    let cause = end.cause.as_ref().map(ToString::to_string);
    end.reason.iter().chain(&cause).for_each(|it| text += &format!(": {it}"));
    Ok(Some(text))
}

/// Returns what is missing of pods whose devices the topology manager aligns with CPUs and memory of their own.
fn placed_with_others<'p>(
    node: &'p Node,
    to_plan: &'p [PodToPlan],
) -> impl Iterator<Item = Missing> + 'p {
    let config = node.config();
    let places = config.cpu_manager_policy == "static" || config.memory_manager_policy == "Static";
    let is_placed = move |pod: &&Pod| {
        // A manifest may name limits alone.
        let mut pod = Pod::clone(pod);
        apply_api_defaults(&mut pod, &node.kubelet.rules);
        places && effective_qos_class(&pod, node.kubelet.rules.gates) == QosClass::Guaranteed
    };
    to_plan.iter().map(|planned| &planned.pod).filter(is_placed).map(|pod| {
        let pod = qualified(pod);
        let text = format!(
            "whether the devices of {pod} can be aligned with its CPUs and memory: only devices are considered here (kq \
             admit explain)"
        );
        Missing::new(MissingFact::Placement, text).about(pod)
    })
}

/// Returns the pods of the node that are meant.
fn pods_of_node(
    node: &Node,
    pods: &NodePods<'_>,
    name: Option<&str>,
    holds: impl Fn(&str, &Pod) -> bool,
    unhealthy: &[UnhealthyDevice],
) -> Result<Vec<PodToPlan>, Failure> {
    let found = node.snapshot.known_pods()?;
    let is_meant = |uid: &str, pod: &Pod| match name {
        Some(name) => {
            let metadata = &pod.metadata;
            PodSelector::new(name).matches(&metadata.namespace, &metadata.name, uid)
        }
        None if !matches!(pods.standing(uid), Standing::Active(_)) => false,
        None => holds(uid, pod) || unhealthy.iter().any(|device| device.pods.contains(uid)),
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
    match (name, meant.len()) {
        (Some(name), 0) => {
            let known: Vec<(&str, &str, &str)> = pods
                .iter()
                .map(|(uid, pod)| (&*pod.metadata.namespace, &*pod.metadata.name, uid))
                .collect();
            Err(unknown_pod(node, &PodSelector::new(name), &known)
                .hint("for a file, give its path, such as ./pod.yaml"))
        }
        (Some(name), 2..) => Err(several_pods(name, meant.iter().map(|it| &it.pod))),
        _ => Ok(meant),
    }
}

fn circumstances_of(
    node: &Node,
    running_at_start: Option<BTreeSet<(String, String)>>,
    pods: &NodePods<'_>,
    to_plan: &[PodToPlan],
    (state, unknown_options): (&ManagerState, BTreeSet<String>),
    basis: &mut Basis,
) -> AllocationContext {
    let mut active_pods = keeping(pods, state, basis);
    active_pods.extend(to_plan.iter().map(|planned| planned.pod.metadata.uid.clone()));
    circumstances(node, active_pods, running_at_start, unknown_options)
}

/// Warns about pods of a file that have the name of a pod on the node.
fn warn_of_namesakes(to_plan: &[PodToPlan], pods: &NodePods<'_>, basis: &mut Basis) {
    for PodToPlan { pod, source } in to_plan {
        let metadata = &pod.metadata;
        let found = pods.named(&metadata.namespace, &metadata.name);
        let Some(uid) = found.filter(|uid| *uid != metadata.uid) else { continue };
        if matches!(pods.standing(uid), Standing::Active(_)) {
            let pod = qualified(pod);
            let text = format!(
                "pod {pod} is on the node (UID {uid}), and is another one than that of {source}: its \
                 devices stay in use"
            );
            basis.warn(Warning::new(WarningCode::OtherUid, text).about(pod));
        }
    }
}

/// Makes sure that the pods of the node are known: that none has devices is an answer only where all are.
fn know_pods(
    node: &Node,
    to_plan: &[PodToPlan],
    unhealthy: &[UnhealthyDevice],
    basis: &mut Basis,
) -> Result<(), Failure> {
    let snapshot = &node.snapshot;
    let known = node.pods();
    let Some(unknown) = incomplete(&snapshot.pods, &known, snapshot.runtime.value()) else {
        return Ok(());
    };
    let missing = format!("which pods have devices: {} (--pods, --kubeconfig)", unknown.text);
    if to_plan.is_empty() && unhealthy.is_empty() {
        return Err(Failure::missing(anyhow!("it is not known {missing}")));
    }
    basis.lack(Missing::new(unknown.fact, missing));
    Ok(())
}

/// Makes sure that it is known what a kubelet that starts finds in its checkpoint.
fn know_checkpoint(
    node: &Node,
    assembled: &mut ReconstructedManager,
    basis: &mut Basis,
) -> Result<(), Failure> {
    let none = DeviceFacts::default();
    let DeviceFacts { checkpoint, given, .. } = node.snapshot.devices.as_ref().unwrap_or(&none);
    if checkpoint.found.is_some() {
        return Ok(());
    }
    if given.is_empty() || !checkpoint.was_not_queried() {
        let reason = checkpoint.reason();
        return Err(Failure::missing(anyhow!(
            "the checkpoint that a starting kubelet finds is unknown: {reason}"
        ))
        .hint("run as root on the node, or name the file with --checkpoint FILE"));
    }
    let what = "the checkpoint has the resources of --devices, whose plugins had registered (--checkpoint)";
    basis.assume(what.to_owned());
    assembled.registered.extend(given.iter().map(|device| device.resource.clone()));
    Ok(())
}

/// Adds the assumptions of every answer.
fn assume(pods: &[PodToPlan], state: &ManagerState, at_start: Option<&str>, basis: &mut Basis) {
    if let Some(text) = at_start {
        basis.assume(text.to_owned());
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

/// Adds the plugins whose preference would have mattered.
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
