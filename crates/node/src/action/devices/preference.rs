//! Plugins that are called for their preferred devices (`GetPreferredAllocation`) while a plan is computed.

use super::plugins::{InspectOptions, Inspected, inspect_folder, no_sockets};
use anyhow::{Context, anyhow};
use kq_answer::{Basis, Failure, Missing, MissingFact};
use kq_core::question::devices::plan::PlanPlugins;
use kq_facts::checkpoint::device::DeviceSet;
use kq_linux::device_plugin::address::SocketAddress;
use kq_linux::device_plugin::{ask_options, ask_preferred};
use kq_managers::manager::{Allocated, ManagerState, PluginOptions, Plugins};
use kq_managers::plugins::SocketKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The socket of a plugin.
#[derive(Clone, Debug)]
pub enum QueriedSocket {
    /// The operator named it.
    Named(PathBuf),
    /// It was found on the node.
    Found(SocketAddress),
}

impl QueriedSocket {
    fn shown(&self) -> PathBuf {
        match self {
            Self::Named(path) => path.clone(),
            Self::Found(address) => address.shown(),
        }
    }

    /// Calls a function with a path that leads to the socket while it runs.
    fn call<T>(&self, call: impl FnOnce(&Path) -> Result<T, String>) -> Result<T, String> {
        match self {
            Self::Named(path) => call(path),
            Self::Found(address) => {
                let socket = address.open().map_err(|error| error.to_string())?;
                call(&socket.path())
            }
        }
    }
}

/// The plugins that may be called, by resource.
#[derive(Debug)]
pub struct QueriedPlugins {
    sockets: BTreeMap<String, QueriedSocket>,
    deadline: Duration,
    /// The first resource whose plugin did not answer, and the reason.
    unanswered: Option<(String, String)>,
}

impl QueriedPlugins {
    pub fn new(plugins: Vec<(String, QueriedSocket)>, deadline: Duration) -> Self {
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
            let flag = || format!("--ask-plugin {resource}={}", socket.shown().display());
            if !state.healthy.contains_key(resource) {
                return Err(anyhow!("no plugin of the node offers {resource}")).with_context(flag);
            }
            let options = socket.call(|socket| ask_options(socket, self.deadline));
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
        let asked = socket
            .call(|socket| ask_preferred(socket, available, must_include, size, self.deadline));
        asked.unwrap_or_else(|why| {
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
    ) -> Result<Vec<(String, QueriedSocket)>, Failure> {
        let offers = self.offers()?;
        let mut found = Vec::new();
        for resource in resources {
            match offers.sockets.get(*resource) {
                Some((socket, because)) => {
                    let shown = socket.shown();
                    let socket_name = shown.display();
                    basis.assume(format!(
                        "{socket_name} is the plugin of {resource}: {because} (--ask-plugin \
                     {resource}=SOCKET)"
                    ));
                    found.push(((*resource).to_owned(), QueriedSocket::Found(socket.clone())));
                }
                None => {
                    let folder = &offers.folder;
                    let why = match (&offers.unseen, offers.listening) {
                        (Some(reason), _) => reason.clone(),
                        (None, 0) => format!("no plugin listens in {folder}"),
                        (None, _) => format!(
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
        let Self { folder, host_root, call_timeout } = self;
        let options = InspectOptions { folder, host_root, call_timeout, calls_plugins: true };
        if let Some(reason) = no_sockets(&options) {
            return Ok(Offers { unseen: Some(reason), ..Offers::default() });
        }
        let Inspected { report, serves } = inspect_folder(&options, false)?;
        let mut offers = Offers { folder: report.folder, ..Offers::default() };
        for (socket, serves) in report.sockets.iter().zip(serves) {
            if socket.kind != SocketKind::Plugin || !socket.listens() {
                continue;
            }
            offers.listening += 1;
            let (Ok(resource), Some(serves), false) =
                (&socket.resource, serves, socket.resource_is_guess)
            else {
                continue;
            };
            let because = socket.resource_because.clone().unwrap_or_default();
            offers.sockets.insert(resource.clone(), (serves, because));
        }
        Ok(offers)
    }
}

/// The listening plugins of a folder.
#[derive(Default)]
struct Offers {
    /// Why no plugin is visible.
    unseen: Option<String>,
    folder: String,
    /// The number of listening plugins.
    listening: usize,
    /// The socket of each resource, and the reason why it is certain.
    sockets: BTreeMap<String, (SocketAddress, String)>,
}
