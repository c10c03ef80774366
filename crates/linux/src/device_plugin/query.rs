//! Queries to plugins that run in parallel, and their answers.

use super::address::{EndpointFolders, SocketAddress};
use kq_managers::manager::PluginOptions;
use kq_managers::plugins::PluginInfo;

/// A plugin that is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginQuery {
    pub socket: SocketAddress,
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
    /// Returns the socket on which it serves as a device plugin; `None`: it does not, or that is not known.
    /// Fails with the reason for a path of the plugin's that is in no plugin folder.
    pub fn serves(
        &self,
        asking: &PluginQuery,
        folders: &EndpointFolders,
    ) -> Option<Result<SocketAddress, String>> {
        let Some(info) = &self.info else { return Some(Ok(asking.socket.clone())) };
        let info = info.as_ref().ok().filter(|info| info.kind == "DevicePlugin")?;
        Some(match &*info.endpoint {
            "" => Ok(asking.socket.clone()),
            endpoint => folders.socket(endpoint),
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
