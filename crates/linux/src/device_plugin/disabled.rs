//! Stubs for a build without the feature `cri`, and for other systems than Linux.

use super::address::EndpointFolders;
use super::query::{PluginAnswer, PluginQuery};
use kq_facts::checkpoint::device::DeviceSet;
use kq_io::no_live_node;
use kq_managers::manager::PluginOptions;
use kq_managers::plugins::PluginInfo;
use std::path::Path;
use std::time::Duration;

fn reason() -> &'static str {
    no_live_node().unwrap_or("kq was built without the feature `cri`, which brings gRPC")
}

/// Fails, since kq was built without the feature.
pub fn ask_options(_socket: &Path, _deadline: Duration) -> Result<PluginOptions, String> {
    Err(reason().to_owned())
}

/// Fails, since kq was built without the feature.
pub fn ask_info(_socket: &Path, _deadline: Duration) -> Result<PluginInfo, String> {
    Err(reason().to_owned())
}

/// Fails, since kq was built without the feature.
pub fn ask_preferred(
    _socket: &Path,
    _available: &DeviceSet,
    _must_include: &DeviceSet,
    _size: usize,
    _deadline: Duration,
) -> Result<Result<Option<Vec<String>>, String>, String> {
    Err(reason().to_owned())
}

/// Returns a failure for each plugin.
pub fn ask_all(
    plugins: &[PluginQuery],
    _folders: &EndpointFolders,
    _deadline: Duration,
) -> Vec<PluginAnswer> {
    plugins.iter().map(|plugin| PluginAnswer::failed(plugin, reason())).collect()
}
