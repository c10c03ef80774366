//! Plugins that are called for their preferred devices (`GetPreferredAllocation`) while a plan is computed.

use super::plugins::{InspectOptions, inspect};
use crate::answer::{Basis, Failure, Missing, MissingFact};
use crate::device::manager::{Allocated, ManagerState, PluginOptions, Plugins};
use crate::device::plugins::{Place, PluginSocket, SocketKind};
use crate::edge::device_plugin::{ask_options, ask_preferred};
use crate::edge::host::host_root;
use crate::facts::checkpoint::device::DeviceSet;
use crate::question::devices::plan::PlanPlugins;
use anyhow::{Context, anyhow};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The plugins that may be called, by resource.
#[derive(Debug)]
pub struct QueriedPlugins {
    sockets: BTreeMap<String, PathBuf>,
    deadline: Duration,
    /// The first resource whose plugin did not answer, and the reason.
    unanswered: Option<(String, String)>,
}

impl QueriedPlugins {
    pub fn new(plugins: Vec<(String, PathBuf)>, deadline: Duration) -> Self {
        Self { sockets: plugins.into_iter().collect(), deadline, unanswered: None }
    }
}

impl PlanPlugins for QueriedPlugins {
    fn take_unanswered(&mut self) -> Option<(String, String)> {
        let (resource, why) = self.unanswered.take()?;
        self.sockets.remove(&resource);
        Some((resource, why))
    }

    fn options(&self, state: &ManagerState) -> anyhow::Result<BTreeMap<String, PluginOptions>> {
        let mut offered = BTreeMap::new();
        for (resource, socket) in &self.sockets {
            let flag = || format!("--ask-plugin {resource}={}", socket.display());
            if !state.healthy.contains_key(resource) {
                return Err(anyhow!("no plugin of the node offers {resource}")).with_context(flag);
            }
            let options = ask_options(socket, self.deadline);
            let options = options.map_err(anyhow::Error::msg).with_context(flag)?;
            offered.insert(resource.clone(), options);
        }
        Ok(offered)
    }
}

impl Plugins for QueriedPlugins {
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
            // The kubelet would wait, and is connected already, so the plugin's answer is unknown.
            self.unanswered.get_or_insert_with(|| (resource.to_owned(), why.clone()));
            Err(why)
        })
    }

    /// Calls no plugin: this is only a plan, and a real plugin may act on the call.
    fn allocate(
        &mut self,
        _state: &mut ManagerState,
        _resource: &str,
        _devices: &DeviceSet,
    ) -> Result<Allocated, String> {
        Ok(Allocated::Answer(Vec::new()))
    }
}

/// Where plugins are searched.
#[derive(Clone, Debug)]
pub struct PluginSearch {
    /// The plugin folder; `None`: that of the running kubelet, or the default.
    pub folder: Option<PathBuf>,
    pub host_root: Option<PathBuf>,
    /// The time limit for each plugin's answer.
    pub call_timeout: Duration,
}

impl PluginSearch {
    /// Finds the plugins of resources among the sockets of a folder. A socket whose resource is a guess is left out: no
    /// plugin is called for the devices of another.
    ///
    /// # Errors
    ///
    /// Fails for a folder that cannot be read.
    pub fn find(
        self,
        resources: &BTreeSet<&str>,
        basis: &mut Basis,
    ) -> Result<Vec<(String, PathBuf)>, Failure> {
        let offers = self.offers()?;
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
                            "its socket in {folder} is unknown, as the plugin API does not report it"
                        ),
                    };
                    let text = format!(
                        "the preference of the plugin of {resource}: {why} (--ask-plugin {resource}=SOCKET)"
                    );
                    let missing = Missing::new(MissingFact::PluginPreference, text);
                    basis.lack(missing.about(*resource));
                }
            }
        }
        Ok(found)
    }

    /// Returns the sockets whose resource is certain.
    fn offers(self) -> Result<Offers, Failure> {
        let Self { folder, host_root: host, call_timeout } = self;
        let (root, _) = host_root(host.as_deref());
        let options = InspectOptions { folder, host_root: host, call_timeout, calls_plugins: true };
        let report = inspect(&options)?;
        let mut sockets = BTreeMap::new();
        let listens = |it: &&PluginSocket| it.kind == SocketKind::Plugin && it.listens();
        let plugins: Vec<&PluginSocket> = report.sockets.iter().filter(listens).collect();
        let listening = plugins.len();
        for socket in plugins.into_iter().filter(|socket| !socket.resource_is_guess) {
            let (Ok(resource), Some(path)) =
                (&socket.resource, path(socket, &report.folder, &root))
            else {
                continue;
            };
            let because = socket.resource_because.clone().unwrap_or_default();
            sockets.insert(resource.clone(), (path, because));
        }
        Ok(Offers { folder: report.folder, listening, sockets })
    }
}

/// The listening plugins of a folder.
struct Offers {
    folder: String,
    /// The number of listening plugins.
    listening: usize,
    /// The socket of each resource, and the reason why it is certain.
    sockets: BTreeMap<String, (PathBuf, String)>,
}

/// Returns the device plugin socket; for a socket of `plugins_registry`, it is known only from the plugin's answer.
fn path(socket: &PluginSocket, folder: &str, root: &Path) -> Option<PathBuf> {
    match socket.place {
        Place::DevicePlugins => Some(Path::new(folder).join(&socket.name)),
        Place::PluginsRegistry => {
            let endpoint = socket.info.as_ref().map(|info| info.endpoint.trim_start_matches('/'));
            endpoint.filter(|endpoint| !endpoint.is_empty()).map(|endpoint| root.join(endpoint))
        }
    }
}
