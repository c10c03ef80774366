//! Plugins that are asked what they prefer, and nothing else.

use anyhow::{Context, anyhow};
use kq::device::manager::{Allocated, ManagerState, PluginOptions, Plugins};
use kq::edge::device_plugin::{ask_options, ask_preferred};
use kq::facts::checkpoint::device::DeviceSet;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The plugins that may be asked, by resource.
pub struct AskedPlugins {
    sockets: BTreeMap<String, PathBuf>,
    deadline: Duration,
}

impl AskedPlugins {
    /// Collects the plugins that may be asked.
    pub fn new(plugins: &[(String, PathBuf)], deadline: Duration) -> Self {
        Self { sockets: plugins.iter().cloned().collect(), deadline }
    }

    /// Asks what they offer.
    ///
    /// # Errors
    ///
    /// Fails for a resource that the node does not have, and a plugin that does not answer.
    pub fn options(&self, state: &ManagerState) -> anyhow::Result<BTreeMap<String, PluginOptions>> {
        let mut offered = BTreeMap::new();
        for (resource, socket) in &self.sockets {
            let asked = || format!("--ask-plugin {resource}={}", socket.display());
            if !state.healthy.contains_key(resource) {
                return Err(anyhow!("no plugin of the node offers {resource}")).with_context(asked);
            }
            let options = ask_options(socket, self.deadline);
            let options = options.map_err(anyhow::Error::msg).with_context(asked)?;
            offered.insert(resource.clone(), options);
        }
        Ok(offered)
    }
}

impl Plugins for AskedPlugins {
    fn preferred_allocation(
        &mut self,
        resource: &str,
        available: &DeviceSet,
        must_include: &DeviceSet,
        size: usize,
    ) -> Result<Option<Vec<String>>, String> {
        match self.sockets.get(resource) {
            Some(socket) => ask_preferred(socket, available, must_include, size, self.deadline),
            None => Ok(None),
        }
    }

    /// Tells the plugin nothing: this only plans, and a real plugin may act on it.
    fn allocate(&mut self, _resource: &str, _devices: &DeviceSet) -> Result<Allocated, String> {
        Ok(Allocated::Answer(Vec::new()))
    }
}

/// Reads `RESOURCE=SOCKET`.
pub fn parse_plugin(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((resource, socket)) if !resource.is_empty() && !socket.is_empty() => {
            Ok((resource.to_owned(), PathBuf::from(socket)))
        }
        _ => Err("expected RESOURCE=SOCKET, such as \
                  example.com/gpu=/var/lib/kubelet/device-plugins/gpu.sock"
            .to_owned()),
    }
}
