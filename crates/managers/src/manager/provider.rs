//! The device manager as one that the topology manager asks (`topology_hints.go` and `Allocate` in `manager.go`).

use super::allocate::{AllocationContext, ContainerAllocation, ContainerKind, in_order};
use super::hints::{Hints, Machine};
use super::lifecycle::ManagerState;
use super::plugins::Plugins;
use crate::topology_manager::{
    AllocationError, HintProvider, NotComputed, ProviderHints, Stop, TopologyHint, provided,
};
use kq_k8s::pod::{Container, Pod};

/// The state of the device manager, with what it needs to be asked.
pub struct DeviceProvider<'a> {
    pub state: &'a mut ManagerState,
    pub circumstances: &'a AllocationContext,
    pub plugins: &'a mut dyn Plugins,
    pub machine: &'a Machine,
    /// What containers got, in order; the last one may have failed.
    pub allocations: Vec<ContainerAllocation>,
}

impl DeviceProvider<'_> {
    fn provided(
        hints: Result<Hints, super::hints::HintError>,
    ) -> Result<ProviderHints, NotComputed> {
        Ok(provided(&hints.map_err(NotComputed::Devices)?))
    }
}

impl HintProvider for DeviceProvider<'_> {
    fn name(&self) -> &'static str {
        "devices"
    }

    fn container_hints(
        &mut self,
        pod: &Pod,
        container: &Container,
    ) -> Result<ProviderHints, NotComputed> {
        self.state.reclaim(self.circumstances);
        Self::provided(self.state.container_hints(pod, container, self.machine))
    }

    fn pod_hints(&mut self, pod: &Pod) -> Result<ProviderHints, NotComputed> {
        self.state.reclaim(self.circumstances);
        Self::provided(self.state.pod_hints(pod, self.machine))
    }

    fn allocate(
        &mut self,
        pod: &Pod,
        container: &Container,
        affinity: TopologyHint,
    ) -> Result<(), Stop> {
        let kind = in_order(pod).find(|(_, it)| it.name == container.name).map(|(kind, _)| kind);
        let container = (kind.unwrap_or(ContainerKind::App), container);
        let nodes = affinity.numa_nodes;
        let allocation =
            self.state.allocate_container(pod, container, nodes, self.circumstances, self.plugins);
        let error = allocation.error.clone();
        self.allocations.push(allocation);
        error.map_or(Ok(()), |error| Err(AllocationError::from(error).into()))
    }

    /// Does nothing: the device manager has no devices of pods as a whole.
    fn allocate_pod(&mut self, _: &Pod, _: TopologyHint) -> Result<(), Stop> {
        Ok(())
    }
}
