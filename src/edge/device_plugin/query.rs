//! Queries to plugins that run in parallel, and their answers.

use crate::device::manager::PluginOptions;
use crate::device::plugins::PluginInfo;
#[cfg(cri)]
use std::path::Path;
use std::path::PathBuf;

/// A plugin that is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginQuery {
    pub socket: PathBuf,
    /// It is one of `plugins_registry`, and is asked who it is first.
    pub in_registry: bool,
}

/// What a plugin answered; what it was not asked is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginAnswer {
    /// Who it is.
    pub info: Option<Result<PluginInfo, String>>,
    /// What it can do.
    pub options: Option<Result<PluginOptions, String>>,
}

impl PluginAnswer {
    /// Returns where it serves as a device plugin; `None`: it does not, or that is not known. A path that it names
    /// is one of the node.
    #[cfg(cri)]
    pub(super) fn serves(&self, asking: &PluginQuery, root: &Path) -> Option<PathBuf> {
        let Some(info) = &self.info else { return Some(asking.socket.clone()) };
        let info = info.as_ref().ok().filter(|info| info.kind == "DevicePlugin")?;
        Some(match info.endpoint.trim_start_matches('/') {
            "" => asking.socket.clone(),
            endpoint => root.join(endpoint),
        })
    }

    /// Returns the answer of a plugin that could not be asked.
    pub(super) fn failed(asking: &PluginQuery, reason: &str) -> Self {
        match asking.in_registry {
            true => Self { info: Some(Err(reason.to_owned())), options: None },
            false => Self { info: None, options: Some(Err(reason.to_owned())) },
        }
    }
}
