//! The device manager's decisions about pods, for every command that admits pods: from the facts about devices, their
//! holders and the kubelet.

use super::topology::TopologyOptions;
use crate::question::patches::assume_fault;
use kq_admission::{
    CheckName, CheckReason, DeviceDecision, DeviceOutcome, DeviceReason, NodePod, Refusal,
    named_resources, qualified,
};
use kq_answer::{Basis, Failure, Missing, MissingFact};
use kq_facts::checkpoint::device::{PodDevice, PodDeviceKey, PodDevices, PodDevicesEntry};
use kq_facts::devices::{CheckpointEntry, CheckpointFact};
use kq_facts::node::Node;
use kq_facts::node_object::NodeObject;
use kq_facts::node_pods::NodePods;
use kq_facts::runtime::ContainerState;
use kq_facts::workloads::effective_uid;
use kq_k8s::feature_gates::Gate;
use kq_k8s::patch_fixes::PatchFault;
use kq_k8s::pod::{Pod, ResourceList, ResourceName};
use kq_k8s::quantity::Quantity;
use kq_k8s::validation::is_extended_resource;
use kq_managers::manager::allocate::{AllocationContext, Outcome, ResourceAllocation, in_order};
use kq_managers::manager::topology::{TopologyManager, TopologyPolicy};
use kq_managers::manager::{DeviceProvider, ManagerState, PodAdmission, SilentPlugins};
use kq_managers::plan::{AdmissionContext, InTurn, UnknownFacts};
use kq_managers::reconstruct::{
    ReconstructedManager, asked_devices, assemble, keeping, of_node, some,
};
use kq_managers::topology_manager::HintProvider;
use std::collections::{BTreeMap, BTreeSet};

/// An assumption about a starting kubelet where containers run.
pub const BEFORE_ALL_SOURCES: &str = "the kubelet admits the pods before it has heard from all its sources of \
                                      pods, and finds the containers running that run now";

/// The same where none runs, as after a boot.
const WITHOUT_CONTAINERS: &str = "the kubelet admits the pods before it has heard from all its sources of pods, and finds no container running";

/// The assumption where not all devices in use are known.
pub const NO_OTHER_USE: &str = "no other device is in use than is known (--checkpoint)";

/// Placeholder UID of a future pod.
pub const NEW: &str = "kq-1";

/// When device plugins register with a kubelet that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginStart {
    /// After it has admitted its pods: until then it has no device.
    AfterPods,
    /// Before that, with the devices that they list now.
    BeforePods,
    /// After its pods too, of a kubelet that takes running containers which have restarted for stopped
    /// (`PatchFault::ForgetsRestartedContainers`).
    AfterPodsForgetting,
}

/// What is asked of the device manager.
pub struct DeviceQuestion<'q> {
    /// The node, which is described.
    pub node: &'q Node,
    pub object: &'q NodeObject,
    pub others: &'q [NodePod<'q>],
    /// The flags that say which devices there are; `None`: there are none for this question.
    pub flags: Option<&'static str>,
}

/// The device manager of a node, which admits one pod after the other.
#[derive(Clone)]
pub struct DeviceAdmission {
    state: ManagerState,
    manager: TopologyManager,
    circumstances: AllocationContext,
    doubts: UnknownFacts,
    in_turn: InTurn,
    /// The Node object as the kubelet that starts reports it; `None`: the kubelet runs.
    pub restarted: Option<NodeObject>,
    /// Why the devices are unknown.
    pub unknown: Option<String>,
    /// What the kubelet decides where it is not known who holds the unhealthy devices that decide.
    pub open: Option<DeviceDecision>,
}

/// The devices as far as they are known.
struct Known {
    state: ManagerState,
    /// What a kubelet that starts takes from its checkpoint, and the resources that it knows.
    restored: PodDevices,
    registered: BTreeSet<String>,
    /// There is no checkpoint: a kubelet that starts takes its node for a new one.
    no_checkpoint: bool,
    unknown: Option<String>,
}

impl Known {
    fn of(assembled: ReconstructedManager, checkpoint: Option<&CheckpointFact>) -> Self {
        let ReconstructedManager { state, restored, registered, .. } = assembled;
        let (restored, registered) = match checkpoint {
            Some(_) => (restored, registered),
            // The kubelet reports what it recorded.
            None => (state.pod_devices.clone(), state.healthy.keys().cloned().collect()),
        };
        let no_checkpoint = checkpoint.is_some_and(|fact| fact.absent);
        Self { state, restored, registered, no_checkpoint, unknown: None }
    }
}

impl DeviceQuestion<'_> {
    /// Returns the device manager of the kubelet that runs; `None`: the pod asks for no devices.
    ///
    /// # Errors
    ///
    /// Fails for a topology policy that no kubelet has.
    pub fn running(
        &self,
        pod: &Pod,
        basis: &mut Basis,
    ) -> Result<Option<DeviceAdmission>, Failure> {
        if !asks_for_devices(pod) {
            return Ok(None);
        }
        let pods = NodePods::of(&self.node.snapshot);
        let mut own = Basis::default();
        let counted = self.others.iter().filter(|it| it.counts).map(|it| it.pod);
        let known = self.known(&[pod], counted, (&pods, false), &mut own);
        let state = known.state;
        if !concerns(&state, pod) && known.unknown.is_none() {
            return Ok(None);
        }
        let depends = match known.unknown {
            Some(_) => self.depends_on_holders(pod),
            None => Vec::new(),
        };
        let open = (!depends.is_empty()).then(|| self.open(pod, &depends));
        basis.lack_all(depends);
        basis.warn_all(own.warnings);
        basis.assume_all(own.assumptions);
        let mut active = match known.unknown {
            None => keeping(&pods, &state, basis),
            Some(_) => BTreeSet::new(),
        };
        for other in self.others {
            let uid = uid_of(other.pod, &qualified(other.pod));
            match other.counts {
                true => active.insert(uid),
                false => active.remove(&uid),
            };
        }
        active.insert(uid_of(pod, NEW));
        let admission = self.admission(state, (active, None), known.unknown, basis)?;
        Ok(Some(DeviceAdmission { open, ..admission }))
    }

    /// Returns the decision about a pod that gets its devices or not.
    fn open(&self, pod: &Pod, depends: &[Missing]) -> DeviceDecision {
        let counted = self.others.iter().filter(|it| it.counts).map(|it| it.pod);
        let all = asked_devices(counted.chain([pod]));
        let error: Vec<&str> = depends.iter().map(|it| it.text.as_str()).collect();
        DeviceDecision {
            refusal: None,
            because: CheckReason::DevicesUnknown { error: error.join("; ") },
            allocated: all.iter().map(|(name, count)| (name.as_str().into(), *count)).collect(),
        }
    }

    /// Returns the resources of a pod for which it decides who holds the unhealthy devices: with fewer of them held,
    /// fewer healthy ones are free. Where every device is healthy, counting is enough.
    fn depends_on_holders(&self, pod: &Pod) -> Vec<Missing> {
        let status = &self.object.status;
        let counted = self.others.iter().filter(|it| it.counts).map(|it| it.pod);
        let used = asked_devices(counted);
        let depends = |(name, asked): &(String, i64)| {
            let resource = ResourceName::from(name.as_str());
            let count = |list: &ResourceList| Some(list.get(&resource)?.value());
            let Some(healthy) = count(&status.allocatable) else { return false };
            let unhealthy = count(&status.capacity).unwrap_or(healthy).saturating_sub(healthy);
            let least = healthy.saturating_sub(used.get(name).copied().unwrap_or(0));
            let most = healthy.min(least.saturating_add(unhealthy));
            (least < *asked) && (*asked <= most)
        };
        let depending = asked_devices([pod]).into_iter().filter(depends);
        let one = |(name, _): (String, i64)| {
            let text = format!("which pods hold the unhealthy devices of {name}");
            let flags: Vec<&str> =
                self.flags.map(|flags| flags.split(", ").collect()).unwrap_or_default();
            Missing::new(MissingFact::DeviceUse, text).with_flags(flags).about(name)
        };
        depending.map(one).collect()
    }

    /// Returns the device manager of a kubelet that starts, which takes these pods in again; `None`: no pod asks
    /// for devices.
    ///
    /// # Errors
    ///
    /// Fails for a topology policy that no kubelet has.
    pub fn restarted(
        &self,
        all: &[&Pod],
        plugins: PluginStart,
        basis: &mut Basis,
    ) -> Result<Option<DeviceAdmission>, Failure> {
        if !all.iter().any(|pod| asks_for_devices(pod)) {
            return Ok(None);
        }
        let pods = NodePods::of(&self.node.snapshot);
        let mut own = Basis::default();
        let is_first = plugins == PluginStart::BeforePods;
        let known = self.known(all, all.iter().copied(), (&pods, !is_first), &mut own);
        let registered = known.registered.iter().map(String::as_str);
        let mut state = ManagerState::restore(known.restored, registered, self.node.now);
        if is_first {
            let ManagerState { healthy, unhealthy, devices, endpoints, .. } = known.state;
            state = ManagerState { healthy, unhealthy, devices, endpoints, ..state };
        }
        basis.warn_all(own.warnings);
        basis.assume_all(own.assumptions);
        let asking = all.iter().copied().filter(|pod| asks_for_devices(pod));
        basis.lack_all(asking.filter_map(|pod| unknown_containers(pod, &pods)));
        let running_of = |pod: &&Pod| running(pod, &uid_of(pod, &qualified(pod)), &pods);
        let mut running: BTreeSet<(String, String)> = all.iter().flat_map(running_of).collect();
        basis.assume(if running.is_empty() { WITHOUT_CONTAINERS } else { BEFORE_ALL_SOURCES });
        self.forget(all, plugins, &mut running, basis);
        let restarted = match is_first {
            true => self.object.clone(),
            false => without_plugins(self.object, &known.registered, known.no_checkpoint),
        };
        let zeroed: Vec<&str> = zeroed(self.object, &restarted);
        if !zeroed.is_empty() {
            basis.assume(format!(
                "before it admits the pods the kubelet reports 0 of {}: plugins register later",
                some(&zeroed)
            ));
        }
        let circumstances = (BTreeSet::new(), Some(running));
        let mut admission = self.admission(state, circumstances, known.unknown, basis)?;
        admission.restarted = Some(restarted);
        Ok(Some(admission))
    }

    /// Leaves out the running containers that a kubelet with a fault may take for stopped, and says so.
    fn forget(
        &self,
        all: &[&Pod],
        plugins: PluginStart,
        running: &mut BTreeSet<(String, String)>,
        basis: &mut Basis,
    ) {
        let rules = &self.node.kubelet.rules;
        let asking = || all.iter().copied().filter(|pod| asks_for_devices(pod));
        let concerned = || {
            let named = asking().filter(|pod| restarted_containers(pod).next().is_some());
            named.map(qualified).collect()
        };
        assume_fault(rules, PatchFault::ForgetsRestartedContainers, concerned, basis);
        if plugins == PluginStart::AfterPodsForgetting {
            for pod in asking() {
                let uid = uid_of(pod, &qualified(pod));
                for name in restarted_containers(pod) {
                    running.remove(&(uid.clone(), name.to_owned()));
                }
            }
        }
    }

    /// Returns what is known of the devices: what the kubelet records or reports, else what the Node object
    /// counts.
    fn known<'p>(
        &self,
        asking: &[&Pod],
        holders: impl Iterator<Item = &'p Pod>,
        (pods, restart): (&NodePods<'_>, bool),
        basis: &mut Basis,
    ) -> Known {
        let devices = self.node.snapshot.devices.as_ref();
        let checkpoint = devices.and_then(|devices| devices.checkpoint.value());
        let mut told = Basis::default();
        // A starting kubelet trusts its checkpoint, even an empty one.
        let trusts_checkpoint = restart && checkpoint.is_some();
        let reason = match assemble(devices, pods, &mut told) {
            Ok(mut assembled) => match assembled.unknown_devices.take() {
                Some(reason) if !trusts_checkpoint => reason,
                _ => {
                    if !restart {
                        assembled.heed_node(self.object, &mut told);
                    }
                    basis.warnings.append(&mut told.warnings);
                    basis.assumptions.append(&mut told.assumptions);
                    if assembled.unknown_use {
                        basis.assume(NO_OTHER_USE.to_owned());
                    }
                    return Known::of(assembled, checkpoint);
                }
            },
            Err(error) => error.0,
        };
        let asked = asked_devices(asking.iter().copied());
        let allocatable = &self.object.status.allocatable;
        let is_named = |name: &&str| allocatable.contains(&ResourceName::from(*name));
        let named: Vec<&str> = asked.keys().map(String::as_str).filter(is_named).collect();
        let holders: Vec<(String, &Pod)> =
            holders.map(|pod| (uid_of(pod, &qualified(pod)), pod)).collect();
        let claims = self.node.kubelet.rules.gates.enabled(Gate::DraExtendedResource);
        let counted = of_node(self.object, &holders, &asked, claims);
        let unknown = (!named.is_empty()).then(|| {
            let reason = match self.flags {
                Some(flags) => format!(": {reason} ({flags})"),
                None => String::new(),
            };
            format!("the devices of {} are unknown{reason}", some(&named))
        });
        if let Some(unknown) = &unknown {
            basis.assume(match counted {
                Some(_) => format!(
                    "plugins offer as many devices as the Node object counts, and pods hold those that they ask \
                     for; neither the answer nor a victim is certain: {unknown}"
                ),
                None => format!(
                    "the device manager refuses no pod; neither the answer nor a victim is certain: {unknown}"
                ),
            });
        }
        let state = counted.unwrap_or_default();
        Known {
            restored: state.pod_devices.clone(),
            registered: state.healthy.keys().cloned().collect(),
            no_checkpoint: false,
            state,
            unknown,
        }
    }

    fn admission(
        &self,
        state: ManagerState,
        (active, running): (BTreeSet<String>, Option<BTreeSet<(String, String)>>),
        unknown: Option<String>,
        basis: &mut Basis,
    ) -> Result<DeviceAdmission, Failure> {
        let topology = TopologyOptions::default();
        let (manager, doubts) = topology.manager(self.node, &state, basis)?;
        let unknown_options = state.healthy.keys().cloned().collect();
        let mut circumstances = circumstances(self.node, active, running, unknown_options);
        // With another policy the decision depends on what else could be chosen.
        circumstances.brief = manager.policy == TopologyPolicy::None;
        let in_turn = InTurn::new(&state, &circumstances);
        let restarted = None;
        let open = None;
        Ok(DeviceAdmission {
            state,
            manager,
            circumstances,
            doubts,
            in_turn,
            restarted,
            unknown,
            open,
        })
    }
}

impl DeviceAdmission {
    /// Lets the device manager be asked next to other managers. What it gives away then is not kept.
    pub fn provide<T>(&self, ask: impl FnOnce(&mut dyn HintProvider) -> T) -> T {
        let mut state = self.state.clone();
        ask(&mut DeviceProvider {
            state: &mut state,
            circumstances: &self.circumstances,
            plugins: &mut SilentPlugins,
            machine: &self.manager.machine,
            allocations: Vec::new(),
        })
    }

    /// Returns what it has given to a new pod, as its checkpoint has it.
    pub fn given_to(&self, pod: &Pod) -> Vec<CheckpointEntry> {
        let uid = uid_of(pod, NEW);
        let entry = |(key, given): (&PodDeviceKey, &PodDevice)| {
            let nodes = given.devices.iter();
            CheckpointEntry::from(PodDevicesEntry {
                pod_uid: key.pod_uid.clone(),
                container_name: key.container_name.clone(),
                resource_name: key.resource_name.clone(),
                device_ids: Some(nodes.map(|(node, ids)| (*node, Some(ids.clone()))).collect()),
                alloc_resp: Some(given.answer.clone().unwrap_or_default()),
            })
        };
        self.state.pod_devices.of_pod(&uid).map(entry).collect()
    }

    /// Decides about a pod that is new to the node. Unknown facts are reported as missing.
    pub fn decide_new(&mut self, pod: &Pod, basis: &mut Basis) -> DeviceDecision {
        self.decide(pod, uid_of(pod, NEW), false, basis)
    }

    /// Decides about the next pod of the node. Unknown facts are reported as missing.
    pub fn decide_next(&mut self, pod: &Pod, basis: &mut Basis) -> DeviceDecision {
        if !asks_for_devices(pod) {
            return DeviceDecision::default();
        }
        self.decide(pod, uid_of(pod, &qualified(pod)), true, basis)
    }

    /// `is_next`: it is one of the pods of the node.
    fn decide(
        &mut self,
        pod: &Pod,
        uid: String,
        is_next: bool,
        basis: &mut Basis,
    ) -> DeviceDecision {
        let mut pod = pod.clone();
        pod.metadata.uid.clone_from(&uid);
        let turn = AdmissionContext {
            manager: &self.manager,
            circumstances: &self.circumstances,
            doubts: &self.doubts,
        };
        let admitted = self.in_turn.admit(&mut self.state, &pod, &turn, &mut SilentPlugins);
        let admission = match admitted {
            Ok(admission) => admission,
            Err(failure) => {
                let pod = qualified(&pod);
                let text =
                    format!("what the device manager decides about {pod}: {}", failure.message);
                basis.lack(Missing::new(MissingFact::DeviceDecision, text).about(pod));
                let because = CheckReason::DevicesUnknown { error: failure.message };
                return DeviceDecision { because, ..DeviceDecision::default() };
            }
        };
        let has_devices = self.state.pod_devices.of_pod(&uid).next().is_some();
        let count = |ids: &BTreeSet<String>| i64::try_from(ids.len()).unwrap_or(i64::MAX);
        let allocated = self.state.allocated.iter();
        let allocated =
            allocated.map(|(name, ids)| (ResourceName::from(name.as_str()), count(ids)));
        let because = because(&admission);
        let allocated = match (has_devices, is_next) {
            (false, _) => BTreeMap::new(),
            (true, false) => allocated.collect(),
            // What a pod does not name is not compared, and each of many pods would have a copy of all.
            (true, true) => named_resources(&pod)
                .filter_map(|name| {
                    Some((name.clone(), count(self.state.allocated.get(name.as_str())?)))
                })
                .collect(),
        };
        DeviceDecision {
            because,
            allocated,
            refusal: admission
                .reason
                .zip(admission.message)
                .map(|(reason, message)| Refusal::new(CheckName::Devices, reason, message)),
        }
    }
}

/// Returns what the device manager found for a pod.
fn because(admission: &PodAdmission) -> CheckReason {
    if admission.reason.is_some() {
        return CheckReason::DevicesRefused;
    }
    let resources = admission.containers.iter().flat_map(|step| &step.allocation.resources);
    let reason = |it: &ResourceAllocation| {
        let requested = it.requested;
        let outcome = match &it.outcome {
            Outcome::Allocated(choice) if choice.reused.is_empty() => {
                DeviceOutcome::Allocated { requested, free: choice.available }
            }
            Outcome::Allocated(_) => DeviceOutcome::Reused { requested },
            Outcome::Recorded { devices } => DeviceOutcome::Recorded { devices: devices.len() },
            Outcome::RunningAtStart { .. } => DeviceOutcome::RunningAtStart,
            Outcome::NotOfPlugin => DeviceOutcome::NotOfPlugin,
            Outcome::ResourceClaim => DeviceOutcome::ResourceClaim,
            Outcome::Nothing | Outcome::Refused { .. } => return None,
        };
        Some(DeviceReason { resource: it.resource.to_string(), outcome })
    };
    let resources: Vec<DeviceReason> = resources.filter_map(reason).collect();
    match resources.is_empty() {
        true => CheckReason::NoDevices,
        false => CheckReason::Devices { resources },
    }
}

/// Returns the UID under which the kubelet runs a pod.
pub fn uid_of(pod: &Pod, fallback: &str) -> String {
    match effective_uid(pod) {
        "" => fallback.to_owned(),
        uid => uid.to_owned(),
    }
}

/// Returns true if a pod requests a resource of the device manager.
fn concerns(state: &ManagerState, pod: &Pod) -> bool {
    asked_devices([pod]).keys().any(|name| state.is_device_resource(name))
}

/// Returns the Node object that a kubelet that starts reports: nothing of a resource whose plugin has not
/// registered (`GetCapacity` of `pkg/kubelet/cm/devicemanager/manager.go`), and of no extended resource where there
/// is no checkpoint (`reconcileExtendedResource` of `pkg/kubelet/kubelet_node_status.go`, read in 1.36.2).
fn without_plugins(
    object: &NodeObject,
    registered: &BTreeSet<String>,
    no_checkpoint: bool,
) -> NodeObject {
    let mut object = object.clone();
    let status = &mut object.status;
    for list in [&mut status.capacity, &mut status.allocatable] {
        let names: Vec<ResourceName> = list.iter().map(|(name, _)| name.clone()).collect();
        for name in names {
            let is_extended = is_extended_resource(name.as_str());
            if registered.contains(name.as_str()) || no_checkpoint && is_extended {
                list.insert(name, Quantity::default());
            }
        }
    }
    object
}

/// Returns the resources of which a kubelet that starts reports less.
fn zeroed<'o>(before: &'o NodeObject, after: &NodeObject) -> Vec<&'o str> {
    let before = &before.status.allocatable;
    let is_less = |(name, amount): &(&ResourceName, &Quantity)| {
        after.status.allocatable.get(name).is_some_and(|after| after.compare(amount).is_lt())
    };
    before.iter().filter(is_less).map(|(name, _)| name.as_str()).collect()
}

/// Returns under which circumstances pods are admitted; `running`: a kubelet starts, and these containers run,
/// each with the UID of its pod.
pub fn circumstances(
    node: &Node,
    active_pods: BTreeSet<String>,
    running: Option<BTreeSet<(String, String)>>,
    unknown_options: BTreeSet<String>,
) -> AllocationContext {
    AllocationContext {
        sources_ready: running.is_none(),
        active_pods,
        running_at_start: running.unwrap_or_default(),
        dra_extended_resource: node.kubelet.rules.gates.enabled(Gate::DraExtendedResource),
        names_types: node.kubelet.version.reads_plugins_by_gogo(),
        unknown_options,
        brief: false,
    }
}

/// Returns the first resource of device plugins that a pod asks for.
pub fn asked_device(pod: &Pod) -> Option<String> {
    asked_devices([pod]).into_keys().next()
}

/// Returns true if a container of the pod requests devices.
fn asks_for_devices(pod: &Pod) -> bool {
    !asked_devices([pod]).is_empty()
}

/// Returns the containers of a pod that run: as the runtime says, else as its status does.
pub fn running(pod: &Pod, uid: &str, pods: &NodePods<'_>) -> Vec<(String, String)> {
    let status = &pod.status;
    let statuses = status.containers_and_init();
    let reported: BTreeSet<&str> = statuses
        .filter(|status| status.state.running.is_some())
        .map(|status| status.name.as_str())
        .collect();
    let runs = |name: &str| match pods.container(uid, name) {
        Some(state) => state == ContainerState::Running,
        None => reported.contains(name),
    };
    let all = in_order(pod).map(|(_, container)| container.name.clone());
    all.filter(|name| runs(name)).map(|name| (uid.to_owned(), name)).collect()
}

/// Returns the containers of a pod that run and have restarted: the runtime lists one that exited next to each.
pub fn restarted_containers(pod: &Pod) -> impl Iterator<Item = &str> {
    let status = &pod.status;
    let statuses = status.containers_and_init();
    let restarted = statuses.filter(|it| it.restart_count > 0 && it.state.running.is_some());
    restarted.map(|it| it.name.as_str())
}

/// Returns which fact is missing if neither the pod's status nor the runtime says which containers run.
pub fn unknown_containers(pod: &Pod, pods: &NodePods<'_>) -> Option<Missing> {
    let status = &pod.status;
    let is_told = pods.knows_what_runs()
        || !status.container_statuses.is_empty()
        || !status.init_container_statuses.is_empty()
        || !matches!(status.phase.as_str(), "" | "Running");
    (!is_told).then(|| {
        let pod = qualified(pod);
        let text = format!(
            "which containers of {pod} run: its status names none, and no container runtime was asked \
             (--runtime-endpoint)"
        );
        Missing::new(MissingFact::Containers, text).about(pod)
    })
}
