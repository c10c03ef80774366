//! The memory manager as one that the topology manager asks (`memory_manager.go`).

use super::{ActiveContainers, AllocateError, MemoryHintError, StaticMemory};
use crate::topology_manager::{
    AllocationError, HintProvider, Hints, NotComputed, ProviderHints, Stop, TopologyHint,
    UNEXPECTED, provided,
};
use kq_k8s::pod::{Container, Pod};

/// A running memory manager.
#[derive(Clone, Debug)]
pub struct MemoryProvider {
    /// `None`: the policy `None`.
    memory: Option<StaticMemory>,
    /// `None`: not all sources of pods are ready, and no container counts as gone.
    active: Option<ActiveContainers>,
}

impl MemoryProvider {
    /// Returns the manager with what it has given away; `None`: its policy is `None`.
    pub fn new(memory: Option<StaticMemory>) -> Self {
        Self { memory, active: None }
    }

    /// Returns true if it gives memory to containers.
    pub fn is_static(&self) -> bool {
        self.memory.is_some()
    }

    /// Sets which containers are active, the ones of the pod that is admitted among them. `None`: nothing is given back.
    pub fn set_active(&mut self, active: Option<ActiveContainers>) {
        self.active = active;
    }

    /// Returns the manager with what it has given away; `None`: its policy is `None`.
    pub fn memory(&self) -> Option<&StaticMemory> {
        self.memory.as_ref()
    }

    /// Takes back what containers had that are gone, and returns the manager.
    fn fresh(&mut self) -> Result<Option<&mut StaticMemory>, NotComputed> {
        let Some(memory) = &mut self.memory else { return Ok(None) };
        if let Some(active) = &self.active {
            memory.remove_stale(active).map_err(|crash| NotComputed::Other(crash.to_string()))?;
        }
        Ok(Some(memory))
    }
}

fn hints(found: Result<Option<Hints>, MemoryHintError>) -> Result<ProviderHints, NotComputed> {
    let found = found.map_err(|error| NotComputed::Other(error.to_string()))?;
    Ok(found.as_ref().map(provided).unwrap_or_default())
}

fn refused(error: &AllocateError) -> Stop {
    let text = error.to_string();
    match error.rejection() {
        Some((reason, _)) => {
            let reason = (reason != UNEXPECTED).then(|| reason.to_owned());
            AllocationError::Other { reason, text }.into()
        }
        None => NotComputed::Other(text).into(),
    }
}

impl HintProvider for MemoryProvider {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn container_hints(
        &mut self,
        pod: &Pod,
        container: &Container,
    ) -> Result<ProviderHints, NotComputed> {
        match self.fresh()? {
            Some(memory) => hints(memory.container_hints(pod, container)),
            None => Ok(ProviderHints::new()),
        }
    }

    fn pod_hints(&mut self, pod: &Pod) -> Result<ProviderHints, NotComputed> {
        match self.fresh()? {
            Some(memory) => hints(memory.pod_hints(pod)),
            None => Ok(ProviderHints::new()),
        }
    }

    fn allocate(
        &mut self,
        pod: &Pod,
        container: &Container,
        hint: TopologyHint,
    ) -> Result<(), Stop> {
        match self.fresh()? {
            Some(memory) => memory.allocate(pod, container, hint).map_err(|error| refused(&error)),
            None => Ok(()),
        }
    }

    fn allocate_pod(&mut self, pod: &Pod, hint: TopologyHint) -> Result<(), Stop> {
        match self.fresh()? {
            Some(memory) => memory.allocate_pod(pod, hint).map_err(|error| refused(&error)),
            None => Ok(()),
        }
    }
}
