//! The report of an inspection.

use crate::manager::PluginOptions;
use kq_answer::{Basis, answer};
use kq_facts::unix_sockets::Process;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The plugins of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DevicePlugins {
    /// The folder of plugins that register themselves.
    pub folder: String,
    /// The process of the kubelet; null: none was found.
    pub kubelet: Option<i32>,
    /// What is in the folders.
    pub sockets: Vec<PluginSocket>,
    /// The resources that the kubelet knows, by name.
    pub resources: BTreeMap<String, ResourceState>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DevicePlugins", DevicePlugins);

/// Something in a folder of plugins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSocket {
    pub name: String,
    /// In which folder.
    pub place: Place,
    pub kind: SocketKind,
    /// A process listens; `Err`: why that is unknown.
    #[serde(serialize_with = "known")]
    #[schemars(with = "Known<bool>")]
    pub listening: Result<bool, String>,
    /// It answered what it was asked; null: it was asked nothing.
    pub answers: Option<bool>,
    /// The connections, or why they are unknown.
    #[serde(serialize_with = "known")]
    #[schemars(with = "Known<Connections>")]
    pub connections: Result<Connections, String>,
    /// What it can do; `Err`: why that is not known.
    #[serde(serialize_with = "known")]
    #[schemars(with = "Known<PluginOptions>")]
    pub options: Result<PluginOptions, String>,
    /// The identity that it reports; null: not queried.
    pub info: Option<PluginInfo>,
    /// The resource that it offers; `Err`: why that is not known.
    #[serde(serialize_with = "known")]
    #[schemars(with = "Known<String>")]
    pub resource: Result<String, String>,
    /// How the resource is known.
    pub resource_because: Option<String>,
    /// Inferred: it is the only one that is left, by a file that may be old.
    pub resource_is_guess: bool,
}

/// The folders of plugins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// `device-plugins`
    #[default]
    DevicePlugins,
    /// `plugins_registry`
    PluginsRegistry,
}

/// What is in a folder of plugins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SocketKind {
    /// A plugin's socket.
    #[default]
    Plugin,
    /// The kubelet's own.
    Kubelet,
    /// The socket of a fake kubelet.
    RegistrationServer,
    NoSocket,
}

/// Who is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Connections {
    /// How many there are.
    pub count: usize,
    /// The kubelet is among them; null: their processes are unknown.
    pub kubelet: Option<bool>,
    /// Who holds the other ends, as far as it can be seen.
    pub peers: Vec<Process>,
    /// Who listens, as far as it can be seen.
    pub listeners: Vec<Process>,
}

/// The identity that a plugin in `plugins_registry` reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginInfo {
    /// `DevicePlugin`, `CSIPlugin`, `DRAPlugin`.
    pub kind: String,
    /// Its name: a device plugin's resource.
    pub name: String,
    /// Where it serves.
    pub endpoint: String,
    /// The versions of the API that it speaks.
    pub versions: Vec<String>,
}

/// A resource, as the kubelet has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceState {
    /// It has been registered: its name is in the checkpoint, or a fake kubelet says so.
    pub is_registered: bool,
    /// How many devices are healthy; null: unknown.
    pub healthy: Option<usize>,
    /// That is what is now; a file says what was when it was written.
    pub is_live: bool,
    /// Who says so.
    pub source: String,
}

impl Default for PluginSocket {
    fn default() -> Self {
        let unknown = || "not inspected".to_owned();
        Self {
            name: String::new(),
            place: Place::default(),
            kind: SocketKind::default(),
            listening: Err(unknown()),
            answers: None,
            connections: Err(unknown()),
            options: Err(unknown()),
            info: None,
            resource: Err(unknown()),
            resource_because: None,
            resource_is_guess: false,
        }
    }
}

impl DevicePlugins {
    /// Returns the resources that none of the sockets is known to offer, and whether one of them may.
    pub fn without_socket(&self) -> (Vec<&str>, bool) {
        let is_offered =
            |name: &str| self.sockets.iter().any(|it| it.resource.as_deref() == Ok(name));
        let names = self.resources.keys().map(String::as_str);
        let may_be = |it: &PluginSocket| {
            it.kind == SocketKind::Plugin && it.resource.is_err() && it.info.is_none()
        };
        (names.filter(|name| !is_offered(name)).collect(), self.sockets.iter().any(may_be))
    }
}

/// The shape of what may not be known.
#[derive(schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Known<T> {
    Known(T),
    Unknown(String),
}

/// Writes what is known as `{"known": VALUE}`, and why it is not as `{"unknown": REASON}`.
fn known<T: Serialize, S: Serializer>(
    value: &Result<T, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Ok(value) => serializer.collect_map([("known", value)]),
        Err(reason) => serializer.collect_map([("unknown", reason)]),
    }
}

impl PluginSocket {
    /// Returns true if a process is known to listen.
    pub fn listens(&self) -> bool {
        self.listening == Ok(true)
    }

    /// Returns true if it listens and never answers: a kubelet that calls it waits forever.
    pub fn hangs(&self) -> bool {
        self.listens() && self.answers == Some(false)
    }

    /// Returns true if the kubelet or a fake kubelet is connected; `None`: unknown.
    pub fn is_connected(&self) -> Option<bool> {
        let connections = self.connections.as_ref().ok()?;
        match (connections.count, connections.kubelet) {
            (0, _) => Some(false),
            (_, known) => known,
        }
    }
}
