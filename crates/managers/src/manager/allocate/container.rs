//! The devices of one container (`Allocate`, `allocateContainerResources`, `UpdateAllocatedDevices`).

use super::choose::{NO_NUMA_NODE, Request};
use super::report::{AllocateError, Choice, ContainerAllocation, Outcome, ResourceAllocation};
use crate::manager::hints::NumaNodes;
use crate::manager::lifecycle::ManagerState;
use crate::manager::plugins::{Allocated, Plugins};
use kq_facts::checkpoint::device::{DeviceSet, PodDevice, PodDeviceKey};
use kq_k8s::pod::{Container, Pod};
use std::collections::{BTreeMap, BTreeSet};

/// Under which circumstances pods are admitted.
#[derive(Clone, Debug, Default)]
pub struct AllocationContext {
    /// The kubelet has heard of its pods from all sources.
    pub sources_ready: bool,
    /// The UIDs of the active pods; that of the pod that is admitted is normally one of them.
    pub active_pods: BTreeSet<String>,
    /// UID of the pod and name of each container that ran when the kubelet started.
    pub running_at_start: BTreeSet<(String, String)>,
    /// Resource claims may provide extended resources (gate `DRAExtendedResource`).
    pub dra_extended_resource: bool,
    /// Answers of plugins are printed with the names of their types, as kubelets before 1.34 do.
    pub names_types: bool,
    /// Resources whose plugin options are unknown.
    pub unknown_options: BTreeSet<String>,
    /// Only the decision is wanted: what else could be chosen, and what is left for which pod, is not named. Names are as
    /// many as containers times devices.
    pub brief: bool,
}

/// An answer of a plugin without containers, printed by gogo (`AllocateResponse.String` in `deviceplugin/v1beta1/api.pb.go`,
/// read in 1.32.5 and 1.33.5). Google's library prints nothing.
const EMPTY_BY_GOGO: &str = "&AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}";

/// What kind of container it is to the device manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContainerKind {
    /// It ends before the next starts, and leaves its devices to it.
    Init,
    /// An init container that stays, and keeps its devices.
    Sidecar,
    /// A regular container.
    #[default]
    App,
}

/// Returns the containers of a pod in the order in which they get devices: init containers, sidecars
/// among them, then the others. Ephemeral containers get none.
pub fn in_order(pod: &Pod) -> impl Iterator<Item = (ContainerKind, &Container)> {
    let kind = |container: &Container| match container.restarts_always() {
        true => ContainerKind::Sidecar,
        false => ContainerKind::Init,
    };
    let init = pod.spec.init_containers.iter().map(move |container| (kind(container), container));
    init.chain(pod.spec.containers.iter().map(|container| (ContainerKind::App, container)))
}

impl ManagerState {
    /// Gives a container its devices. When it fails, what its earlier resources got stays.
    pub fn allocate_container(
        &mut self,
        pod: &Pod,
        (kind, container): (ContainerKind, &Container),
        affinity: Option<NumaNodes>,
        circumstances: &AllocationContext,
        plugins: &mut dyn Plugins,
    ) -> ContainerAllocation {
        let uid = pod.metadata.uid.as_str();
        self.reusable.retain(|owner, _| owner == uid);
        let mut reusable = self.reusable.remove(uid).unwrap_or_default();
        let mut report =
            ContainerAllocation { container: container.name.clone(), ..Default::default() };
        let mut admission =
            Admission { state: self, pod, container, affinity, circumstances, plugins };
        let done = admission.resources(&reusable, &mut report);
        // The last thing that can fail (`writeCheckpoint`).
        let done = done.and_then(|allocated| match allocated {
            true => {
                plugins.write_checkpoint(self).map(|()| true).map_err(AllocateError::Checkpoint)
            }
            false => Ok(false),
        });
        match done {
            Ok(written) => {
                report.checkpoint_written = written;
                self.hand_on(uid, (kind, container), &mut reusable);
            }
            Err(error) => report.error = Some(error),
        }
        self.reusable.insert(uid.to_owned(), reusable);
        report
    }

    /// Leaves the devices of a container to the next, or keeps them from it
    /// (`addContainerAllocatedResources`, `removeContainerAllocatedResources`).
    fn hand_on(
        &self,
        uid: &str,
        (kind, container): (ContainerKind, &Container),
        reusable: &mut BTreeMap<String, DeviceSet>,
    ) {
        for (key, device) in self.pod_devices.of_container(uid, &container.name) {
            let set = reusable.entry(key.resource_name.clone()).or_default();
            match kind {
                ContainerKind::Init => set.extend(device.ids()),
                ContainerKind::Sidecar | ContainerKind::App => {
                    device.devices.values().flatten().for_each(|id| {
                        set.remove(id);
                    });
                }
            }
        }
    }

    /// Takes back the devices of pods that are not active, once all pods are known, and returns whose
    /// (`UpdateAllocatedDevices`).
    pub fn reclaim(&mut self, circumstances: &AllocationContext) -> Vec<String> {
        if !circumstances.sources_ready {
            return Vec::new();
        }
        let entries = &mut self.pod_devices.entries;
        // Entries and pods both come in the order of the UIDs: they are gone through side by side.
        let mut active = circumstances.active_pods.iter().peekable();
        let mut gone = BTreeSet::new();
        for key in entries.keys() {
            while active.next_if(|active| **active < key.pod_uid).is_some() {}
            if active.peek().is_none_or(|active| **active != key.pod_uid) {
                gone.insert(key.pod_uid.clone());
            }
        }
        if !gone.is_empty() {
            entries.retain(|key, _| !gone.contains(&key.pod_uid));
            self.allocated = self.pod_devices.allocated();
        }
        gone.into_iter().collect()
    }
}

/// A container that gets its devices.
struct Admission<'a> {
    state: &'a mut ManagerState,
    pod: &'a Pod,
    container: &'a Container,
    affinity: Option<NumaNodes>,
    circumstances: &'a AllocationContext,
    plugins: &'a mut dyn Plugins,
}

impl Admission<'_> {
    /// Goes through the resources, and returns true if the checkpoint is written.
    fn resources(
        &mut self,
        reusable: &BTreeMap<String, DeviceSet>,
        report: &mut ContainerAllocation,
    ) -> Result<bool, AllocateError> {
        let none = DeviceSet::new();
        let (mut reclaimed, mut written) = (false, false);
        let container = self.container;
        for (name, quantity) in container.resources.limits.iter() {
            let (resource, requested) = (name.as_str(), quantity.value());
            let mut tell = |outcome| {
                let resource = resource.to_owned();
                report.resources.push(ResourceAllocation { resource, requested, outcome });
            };
            if self.is_claimed(resource) {
                tell(Outcome::ResourceClaim);
                continue;
            }
            if !self.state.is_device_resource(resource) {
                // What has no domain is the node's own: CPUs, memory, huge pages.
                if resource.contains('/') {
                    tell(Outcome::NotOfPlugin);
                }
                continue;
            }
            if !reclaimed {
                report.reclaimed_pods = self.state.reclaim(self.circumstances);
                reclaimed = true;
            }
            let settled = self.settled(resource, requested).inspect_err(|_| {
                tell(Outcome::Refused { choice: None });
            })?;
            if let Some(outcome) = settled {
                tell(outcome);
                continue;
            }
            let request = Request {
                resource,
                requested,
                reusable: reusable.get(resource).unwrap_or(&none),
                affinity: self.affinity,
                unknown_options: self.circumstances.unknown_options.contains(resource),
                brief: self.circumstances.brief,
            };
            let (choice, chosen) = self.state.choose(&request, self.plugins);
            let choice = Box::new(choice);
            if let Err(error) = chosen.and_then(|()| self.record(resource, &choice)) {
                tell(Outcome::Refused { choice: Some(choice) });
                return Err(error);
            }
            tell(Outcome::Allocated(choice));
            written = true;
        }
        Ok(written)
    }

    fn is_claimed(&self, resource: &str) -> bool {
        let claims = self.pod.status.extended_resource_claim_status.as_ref();
        self.circumstances.dra_extended_resource
            && claims.into_iter().flat_map(|status| &status.request_mappings).any(|mapping| {
                mapping.container_name == self.container.name && mapping.resource_name == resource
            })
    }

    /// Returns what is settled without choosing: what is recorded, runs, or is not asked for.
    fn settled(&self, resource: &str, requested: i64) -> Result<Option<Outcome>, AllocateError> {
        let key = self.key(resource);
        let recorded = self.state.pod_devices.entries.get(&key).map(PodDevice::ids);
        if let Some(recorded) = &recorded
            && i64::try_from(recorded.len()).is_ok_and(|recorded| recorded != requested)
        {
            return Err(AllocateError::ChangedRequest {
                pod_uid: key.pod_uid,
                container: key.container_name,
                resource: key.resource_name,
                recorded: recorded.len(),
                requested,
            });
        }
        let running = (key.pod_uid, key.container_name);
        if !self.circumstances.sources_ready
            && self.circumstances.running_at_start.contains(&running)
        {
            let devices = recorded.unwrap_or_default();
            return Ok(Some(Outcome::RunningAtStart { devices }));
        }
        let Some(healthy) = self.state.healthy.get(resource) else {
            return Err(AllocateError::Unregistered(resource.to_owned()));
        };
        if healthy.is_empty() {
            return Err(AllocateError::NoneHealthy(resource.to_owned()));
        }
        match recorded {
            Some(recorded) if !recorded.is_subset(healthy) => {
                Err(AllocateError::RecordedUnhealthy(resource.to_owned()))
            }
            Some(devices) if !devices.is_empty() => Ok(Some(Outcome::Recorded { devices })),
            Some(_) => Ok(Some(Outcome::Nothing)),
            None => Ok((requested == 0).then_some(Outcome::Nothing)),
        }
    }

    /// Calls the plugin, and records the devices of the container.
    fn record(&mut self, resource: &str, choice: &Choice) -> Result<(), AllocateError> {
        let answer = match self.state.endpoints.get(resource) {
            None => Err(AllocateError::UnknownPlugin(resource.to_owned())),
            Some(endpoint) if endpoint.stopped_at.is_some() => Err(AllocateError::Stopped),
            Some(_) => {
                let answer = self.plugins.allocate(self.state, resource, &choice.devices);
                answer.map_err(AllocateError::Allocate)
            }
        };
        let answer = match answer {
            Err(error) => {
                self.state.allocated = self.state.pod_devices.allocated();
                return Err(error);
            }
            // What was taken stays so until the next time that it is counted.
            Ok(Allocated::NoContainer) => {
                let printed = if self.circumstances.names_types { EMPTY_BY_GOGO } else { "" };
                return Err(AllocateError::NoContainerResponse(printed));
            }
            Ok(Allocated::Answer(answer)) => answer,
        };
        let mut devices: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        let listed = self.state.devices.get(resource);
        for id in &choice.devices {
            let device = listed.and_then(|listed| listed.get(id));
            let nodes = device.and_then(|device| device.numa_nodes.as_deref());
            let nodes = nodes.filter(|nodes| !nodes.is_empty()).unwrap_or(&[NO_NUMA_NODE]);
            for node in nodes {
                devices.entry(*node).or_default().push(id.clone());
            }
        }
        let recorded = PodDevice { devices, answer: Some(answer) };
        self.state.pod_devices.entries.insert(self.key(resource), recorded);
        Ok(())
    }

    fn key(&self, resource: &str) -> PodDeviceKey {
        PodDeviceKey {
            pod_uid: self.pod.metadata.uid.clone(),
            container_name: self.container.name.clone(),
            resource_name: resource.to_owned(),
        }
    }
}
