//! The calls to plugins during an allocation.

use super::lifecycle::ManagerState;
use kq_facts::checkpoint::device::DeviceSet;

/// What a plugin says of itself (`DevicePluginOptions`).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    schemars::JsonSchema,
    serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct PluginOptions {
    /// It wants a call before each container that gets its devices starts.
    pub pre_start_required: bool,
    /// It can say which devices it prefers.
    pub get_preferred_allocation_available: bool,
}

/// What a plugin answered to Allocate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allocated {
    /// The `ContainerAllocateResponse` of the one container, in protobuf.
    Answer(Vec<u8>),
    /// An answer for no container.
    NoContainer,
}

/// The plugins, as the device manager asks them. Errors are texts as gRPC reports them.
///
/// The kubelet holds no lock while it waits for an answer: plugins register, list and go meanwhile. So each
/// call comes with the state, for a caller that lets that happen.
pub trait Plugins {
    /// Asks which devices a plugin prefers; `None` is an answer without a container.
    fn preferred_allocation(
        &mut self,
        state: &mut ManagerState,
        resource: &str,
        available: &DeviceSet,
        must_include: &DeviceSet,
        size: usize,
    ) -> Result<Option<Vec<String>>, String>;

    /// Calls a plugin for the devices of a container.
    fn allocate(
        &mut self,
        state: &mut ManagerState,
        resource: &str,
        devices: &DeviceSet,
    ) -> Result<Allocated, String>;

    /// Lets a plugin prepare devices for a container that is about to start.
    fn pre_start(
        &mut self,
        _state: &mut ManagerState,
        _resource: &str,
        _devices: &DeviceSet,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Writes the checkpoint: a container got devices.
    /// Fails when it is not written; the pod is refused then.
    fn write_checkpoint(&mut self, _state: &ManagerState) -> Result<(), String> {
        Ok(())
    }
}

/// Plugins that prefer nothing and agree to everything: where it matters how many devices there are, and not
/// which.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentPlugins;

impl Plugins for SilentPlugins {
    fn preferred_allocation(
        &mut self,
        _state: &mut ManagerState,
        _resource: &str,
        _available: &DeviceSet,
        _must_include: &DeviceSet,
        _size: usize,
    ) -> Result<Option<Vec<String>>, String> {
        Ok(None)
    }

    fn allocate(
        &mut self,
        _state: &mut ManagerState,
        _resource: &str,
        _devices: &DeviceSet,
    ) -> Result<Allocated, String> {
        Ok(Allocated::Answer(Vec::new()))
    }
}
