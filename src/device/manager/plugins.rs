//! What the device manager asks plugins while it allocates.

use crate::facts::checkpoint::device::DeviceSet;

/// What a plugin says of itself (`DevicePluginOptions`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

/// The plugins, as the device manager asks them. Errors are texts as gRPC tells them.
pub trait Plugins {
    /// Asks which devices a plugin prefers; `None` is an answer without a container.
    ///
    /// # Errors
    ///
    /// Fails when the call does.
    fn preferred_allocation(
        &mut self,
        resource: &str,
        available: &DeviceSet,
        must_include: &DeviceSet,
        size: usize,
    ) -> Result<Option<Vec<String>>, String>;

    /// Tells a plugin which devices a container gets.
    ///
    /// # Errors
    ///
    /// Fails when the call does.
    fn allocate(&mut self, resource: &str, devices: &DeviceSet) -> Result<Allocated, String>;
}
