//! Plugins that are asked what they prefer, and nothing else.

use super::plugins;
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use kq::answer::Basis;
use kq::device::manager::{Allocated, ManagerState, PluginOptions, Plugins};
use kq::edge::device_plugin::{ask_options, ask_preferred};
use kq::facts::checkpoint::device::DeviceSet;
use kq::question::devices::plan as question;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// The plugins that may be asked, by resource.
pub struct AskedPlugins {
    sockets: BTreeMap<String, PathBuf>,
    deadline: Duration,
    /// Whose answer is unknown, and why.
    unanswered: Option<(String, String)>,
}

impl AskedPlugins {
    /// Collects the plugins that may be asked.
    pub fn new(plugins: Vec<(String, PathBuf)>, deadline: Duration) -> Self {
        Self { sockets: plugins.into_iter().collect(), deadline, unanswered: None }
    }
}

impl question::AskedPlugins for AskedPlugins {
    fn take_unanswered(&mut self) -> Option<(String, String)> {
        let (resource, why) = self.unanswered.take()?;
        self.sockets.remove(&resource);
        Some((resource, why))
    }

    fn options(&self, state: &ManagerState) -> anyhow::Result<BTreeMap<String, PluginOptions>> {
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
        _state: &mut ManagerState,
        resource: &str,
        available: &DeviceSet,
        must_include: &DeviceSet,
        size: usize,
    ) -> Result<Option<Vec<String>>, String> {
        let Some(socket) = self.sockets.get(resource) else { return Ok(None) };
        ask_preferred(socket, available, must_include, size, self.deadline).unwrap_or_else(|why| {
            // The kubelet would wait, and is connected already: that is no answer of its plugin.
            self.unanswered.get_or_insert_with(|| (resource.to_owned(), why.clone()));
            Err(why)
        })
    }

    /// Tells the plugin nothing: this only plans, and a real plugin may act on it.
    fn allocate(
        &mut self,
        _state: &mut ManagerState,
        _resource: &str,
        _devices: &DeviceSet,
    ) -> Result<Allocated, String> {
        Ok(Allocated::Answer(Vec::new()))
    }
}

/// What is said with `--ask-plugin`.
#[derive(Clone, Debug)]
pub enum AskPlugin {
    /// Nothing: the plugins are to be found.
    Found,
    /// A plugin: its resource and its socket.
    Named(String, PathBuf),
    /// What is not of the flag: the pod that follows it on the command line.
    Other(String),
}

impl From<&str> for AskPlugin {
    /// Reads the value of the flag, which may have none.
    fn from(text: &str) -> Self {
        match text.split_once('=') {
            Some((resource, socket)) if !resource.is_empty() && !socket.is_empty() => {
                Self::Named(resource.to_owned(), PathBuf::from(socket))
            }
            _ if text.is_empty() => Self::Found,
            _ => Self::Other(text.to_owned()),
        }
    }
}

/// Finds the plugins of resources among the sockets of a folder. What is not sure is missing: a plugin is
/// not asked for the devices of another.
///
/// # Errors
///
/// Fails for a folder that cannot be read.
pub fn find(
    resources: &BTreeSet<&str>,
    (dir, host_root): (Option<PathBuf>, Option<PathBuf>),
    deadline: Duration,
    basis: &mut Basis,
) -> Result<Vec<(String, PathBuf)>, Failure> {
    let offers = plugins::offers(dir, host_root, deadline)?;
    let mut found = Vec::new();
    for resource in resources {
        match offers.sockets.get(*resource) {
            Some((socket, because)) => {
                let socket_name = socket.display();
                basis.assume(format!(
                    "{socket_name} is the plugin of {resource}: {because} (--ask-plugin \
                     {resource}=SOCKET)"
                ));
                found.push(((*resource).to_owned(), socket.clone()));
            }
            None => {
                let folder = &offers.folder;
                let why = match offers.listening {
                    0 => format!("no plugin listens in {folder}"),
                    _ => format!(
                        "which socket in {folder} is its is not known, as the plugin API does not tell"
                    ),
                };
                basis.lack(format!(
                    "what the plugin of {resource} prefers: {why} (--ask-plugin {resource}=SOCKET)"
                ));
            }
        }
    }
    Ok(found)
}
