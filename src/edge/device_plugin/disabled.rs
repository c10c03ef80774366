//! What is left without the feature `cri`: answers that say so.

use super::query::{PluginAnswer, PluginQuery};
use crate::device::manager::PluginOptions;
use crate::device::plugins::PluginInfo;
use crate::facts::checkpoint::device::DeviceSet;
use std::path::Path;
use std::time::Duration;

const NOT_BUILT: &str = "kq was built without the feature `cri`, which brings gRPC";

/// Says that kq was built without it.
///
/// # Errors
///
/// Always.
pub fn ask_options(_socket: &Path, _deadline: Duration) -> Result<PluginOptions, String> {
    Err(NOT_BUILT.to_owned())
}

/// Says that kq was built without it.
///
/// # Errors
///
/// Always.
pub fn ask_info(_socket: &Path, _deadline: Duration) -> Result<PluginInfo, String> {
    Err(NOT_BUILT.to_owned())
}

/// Says that kq was built without it.
///
/// # Errors
///
/// Always.
pub fn ask_preferred(
    _socket: &Path,
    _available: &DeviceSet,
    _must_include: &DeviceSet,
    _size: usize,
    _deadline: Duration,
) -> Result<Result<Option<Vec<String>>, String>, String> {
    Err(NOT_BUILT.to_owned())
}

/// Says of each that kq was built without it.
pub fn ask_all(plugins: &[PluginQuery], _root: &Path, _deadline: Duration) -> Vec<PluginAnswer> {
    plugins.iter().map(|plugin| PluginAnswer::failed(plugin, NOT_BUILT)).collect()
}
