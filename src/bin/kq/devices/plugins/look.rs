//! Looking at the folders of plugins once.

use super::Args;
use crate::exit::Failure;
use anyhow::anyhow;
use kq::answer::Basis;
use kq::device::plugins::{
    Connections, DevicePlugins, Place, PluginSocket, Process, ResourceState, SocketKind,
    assign_resources,
};
use kq::edge::device_plugin::folder::{
    BELOW_ROOT, CHECKPOINT, CONTROL_SOCKET, Entry, KUBELET_SOCKET, entries, read_checkpoint,
};
use kq::edge::device_plugin::unix_sockets::{Diagnosis, FileId, diagnose, holders, table};
use kq::edge::device_plugin::{AskedPlugin, Asking, ask_all};
use kq::edge::host::{ReadError, host_root};
use kq::edge::input::plain;
use kq::edge::kubelet_process::find_kubelet;
use kq::edge::listener::listens;
use kq::edge::pod_resources::{self, read_pod_resources};
use kq::edge::trust::NamedBy;
use kq::facts::checkpoint::device::DeviceCheckpoint;
use kq::facts::kubelet_process::DEFAULT_ROOT_DIR;
use kq::facts::lookup::Lookup;
use kq::facts::unix_sockets::UnixSocket;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder in which the kubelet's watcher looks for plugins.
const REGISTRY: &str = "plugins_registry";

/// Folders in folders that are looked at in `plugins_registry`.
const DEPTH: usize = 4;

/// Looks at the folders once.
pub fn look(args: &Args) -> Result<DevicePlugins, Failure> {
    let (root, _) = host_root(args.host_root.as_deref());
    let mut report = DevicePlugins::default();
    let kubelet = find_kubelet(&root).unwrap_or_else(|error| {
        report.basis.warn(format!("the kubelet's process was not found: {error}"));
        Lookup::default()
    });
    let kubelet = kubelet.value();
    report.kubelet = kubelet.map(|kubelet| kubelet.pid);
    let root_dir = kubelet.and_then(|kubelet| kubelet.interpreted().root_dir);
    let root_dir = match (&args.dir, root_dir) {
        (Some(_), _) => None,
        (None, Some(said)) => Some(said),
        (None, None) => {
            report.basis.assume(format!(
                "no kubelet runs, or none that can be seen: its root folder is taken for {DEFAULT_ROOT_DIR}"
            ));
            Some(DEFAULT_ROOT_DIR.to_owned())
        }
    };
    // A folder that is named is where kq sees it; what the kubelet names is beneath the node's root.
    let base = root_dir.as_ref().map(|dir| root.join(dir.trim_start_matches('/')));
    let folder = match (&args.dir, &base) {
        (Some(dir), _) => std::fs::canonicalize(dir).unwrap_or_else(|_| dir.clone()),
        (None, Some(base)) => base.join(BELOW_ROOT),
        (None, None) => PathBuf::from(BELOW_ROOT),
    };
    report.folder = folder.display().to_string();
    let listed = match entries(&folder) {
        // A node that boots has no kubelet yet, and that is what is waited for.
        Err(error) if error.kind() == ErrorKind::NotFound && args.wait.is_some() => {
            report.basis.warn(format!("there is no {}: no kubelet has started", report.folder));
            Vec::new()
        }
        listed => listed.map_err(|error| {
            let error = anyhow!("cannot read {}: {}", folder.display(), plain(&error));
            Failure::missing(error).hint("run as root on the node, or name the folder with --dir")
        })?,
    };
    let seen = Seen::look(&root, &folder, report.kubelet, &mut report.basis);
    let mut found = Vec::new();
    for entry in listed.into_iter().filter(is_shown) {
        found.push(seen.socket(&folder, entry, Place::DevicePlugins));
    }
    if let Some(base) = &base {
        add_registry(&seen, &base.join(REGISTRY), 0, &mut found);
    }
    let asks = |(socket, path): &(PluginSocket, PathBuf)| {
        let is_asked =
            !args.no_ask && socket.kind == SocketKind::Plugin && socket.listening == Ok(true);
        let in_registry = socket.place == Place::PluginsRegistry;
        is_asked.then(|| Asking { socket: path.clone(), in_registry })
    };
    let asked: Vec<Option<Asking>> = found.iter().map(asks).collect();
    let asking: Vec<Asking> = asked.iter().flatten().cloned().collect();
    report.sockets.extend(found.into_iter().map(|(socket, _)| socket));
    // Those who never answer take their time beside each other, and beside the kubelet.
    let (answers, endpoints) = std::thread::scope(|scope| {
        let answers = scope.spawn(|| ask_all(&asking, &root, args.call_timeout));
        let endpoints = resources(args, &folder, (&root, root_dir.as_deref()), &mut report);
        (answers.join().unwrap_or_default(), endpoints)
    });
    let mut answers = answers.into_iter();
    for (socket, asked) in report.sockets.iter_mut().zip(asked) {
        take(socket, asked.map(|_| answers.next().unwrap_or_default()), args.no_ask);
    }
    assign_resources(&mut report, &endpoints);
    for socket in report.sockets.iter().filter(|socket| socket.hangs()) {
        let why = socket.options.as_ref().err().map_or("", String::as_str);
        report.basis.warn(format!("{} listens and does not answer: {why}", socket.name));
    }
    Ok(report)
}

fn is_shown(entry: &Entry) -> bool {
    !entry.is_folder && !entry.shown().starts_with(CHECKPOINT) && entry.name != "DEPRECATION"
}

fn add_registry(
    seen: &Seen,
    folder: &Path,
    depth: usize,
    found: &mut Vec<(PluginSocket, PathBuf)>,
) {
    for entry in entries(folder).unwrap_or_default() {
        if entry.is_folder && depth < DEPTH {
            add_registry(seen, &folder.join(&entry.name), depth + 1, found);
        } else if !entry.is_folder {
            found.push(seen.socket(folder, entry, Place::PluginsRegistry));
        }
    }
}

/// Takes what a plugin answered; `None`: it was not asked.
fn take(socket: &mut PluginSocket, asked: Option<AskedPlugin>, no_ask: bool) {
    let is_asked = asked.is_some();
    let AskedPlugin { info, options } = asked.unwrap_or_default();
    let why = info.as_ref().and_then(|info| info.as_ref().err().cloned());
    socket.info = info.and_then(Result::ok);
    socket.options = options.unwrap_or_else(|| {
        Err(match (&socket.listening, why) {
            _ if no_ask => "not asked".to_owned(),
            (Ok(_), Some(reason)) => reason,
            (Err(reason), _) => reason.clone(),
            (Ok(false), None) => "nobody listens".to_owned(),
            (Ok(true), None) => "not asked".to_owned(),
        })
    });
    socket.answers = is_asked.then(|| socket.info.is_some() || socket.options.is_ok());
}

/// What the kernel tells of sockets, read before any is connected to.
struct Seen {
    root: PathBuf,
    kubelet: Option<i32>,
    table: Result<Vec<UnixSocket>, String>,
    told: Result<BTreeMap<u64, Diagnosis>, String>,
    /// Who holds the sockets that have a name, and their other ends.
    holders: BTreeMap<u64, Process>,
    /// The processes that listen on the folder's `kq.sock`: stand-ins for a kubelet.
    stand_ins: Vec<i32>,
}

impl Seen {
    fn look(root: &Path, folder: &Path, kubelet: Option<i32>, basis: &mut Basis) -> Self {
        let told = diagnose();
        if let Err(reason) = &told {
            basis.warn(format!("who is connected to whom cannot be seen: {reason}"));
        }
        let table = table(root);
        // The descriptors of all processes are walked once, not for each socket.
        let named = table.iter().flatten().filter(|it| it.path.is_some()).map(|it| it.inode);
        let mut inodes: Vec<u64> = named.collect();
        let others = told.as_ref().map(|told| others(told, &inodes)).unwrap_or_default();
        inodes.extend(others);
        let holders = holders(root, &inodes);
        let mut seen =
            Self { root: root.to_owned(), kubelet, table, told, holders, stand_ins: Vec::new() };
        let own = seen.connections(&folder.join(CONTROL_SOCKET)).map(|it| it.connections.listeners);
        seen.stand_ins = own.unwrap_or_default().into_iter().map(|process| process.pid).collect();
        seen
    }

    fn held(&self, inodes: &[u64]) -> Vec<Process> {
        let mut held: Vec<Process> =
            inodes.iter().filter_map(|inode| self.holders.get(inode).cloned()).collect();
        held.sort();
        held.dedup();
        held
    }

    /// Returns what is seen of a socket before it is asked anything, and its path.
    fn socket(&self, folder: &Path, entry: Entry, place: Place) -> (PluginSocket, PathBuf) {
        let path = folder.join(&entry.name);
        let name = entry.shown();
        let kind = match name.as_str() {
            _ if !entry.is_socket => SocketKind::NoSocket,
            KUBELET_SOCKET => SocketKind::Kubelet,
            CONTROL_SOCKET => SocketKind::RegistrationServer,
            _ => SocketKind::Plugin,
        };
        let listening = match kind {
            SocketKind::NoSocket => Ok(false),
            _ => listens(&path),
        };
        let connections = match (kind, self.connections(&path)) {
            (SocketKind::NoSocket, _) => Err("it is no socket".to_owned()),
            // Somebody listens, and the kernel lists nobody of that path.
            (_, Ok(seen)) if listening == Ok(true) && !seen.is_listed => {
                Err("the kernel lists it under another path".to_owned())
            }
            (_, seen) => seen.map(|seen| seen.connections),
        };
        let resource = Err("not known".to_owned());
        let socket = PluginSocket {
            name,
            place,
            kind,
            listening,
            connections,
            resource,
            ..Default::default()
        };
        (socket, path)
    }

    /// Counts who is connected. The kernel knows a socket by its file; else by the path by which it was
    /// bound, which in a container may begin otherwise: the name and the folder's name must be the same
    /// then.
    fn connections(&self, path: &Path) -> Result<Counted, String> {
        let table = self.table.as_ref().map_err(Clone::clone)?;
        let full = path.display().to_string();
        let on_node = path.strip_prefix(&self.root).map(|rest| format!("/{}", rest.display()));
        let on_node = on_node.unwrap_or_else(|_| full.clone());
        let (tail, file) = (tail(path), FileId::of(path));
        let told = self.told.as_ref().ok();
        let of_file = |it: &UnixSocket| {
            let told = told.and_then(|told| told.get(&it.inode)?.file);
            told.is_some() && told == file
        };
        let is_path = |it: &UnixSocket| {
            it.path.as_ref().is_some_and(|path| *path == full || *path == on_node)
        };
        let ends = |it: &UnixSocket| it.path.as_ref().is_some_and(|it| it.ends_with(&tail));
        let ways: [&dyn Fn(&UnixSocket) -> bool; 3] = [&of_file, &is_path, &ends];
        let found = |way: &&dyn Fn(&UnixSocket) -> bool| {
            let sockets: Vec<&UnixSocket> = table.iter().filter(|it| way(it)).collect();
            (!sockets.is_empty()).then_some(sockets)
        };
        let sockets = ways.iter().find_map(found).unwrap_or_default();
        let inodes = |wanted: fn(&UnixSocket) -> bool| -> Vec<u64> {
            sockets.iter().filter(|it| wanted(it)).map(|it| it.inode).collect()
        };
        let accepted = inodes(|it| it.connected);
        let others: Option<Vec<u64>> = told.map(|told| others(told, &accepted));
        let held = self.held(others.as_deref().unwrap_or_default());
        let listeners = self.held(&inodes(|it| it.listens));
        let stands_in = held.iter().any(|process| self.stand_ins.contains(&process.pid));
        let kubelet = match (accepted.len(), self.kubelet) {
            (0, _) => Some(false),
            (_, Some(pid)) if held.iter().any(|process| process.pid == pid) => Some(true),
            _ if stands_in => Some(true),
            // Each of those who are connected is known, and none is the kubelet.
            (count, Some(_)) => {
                let others = others.unwrap_or_default();
                let is_known = |inode: &u64| self.holders.contains_key(inode);
                (others.len() == count && others.iter().all(is_known)).then_some(false)
            }
            _ => None,
        };
        let connections = Connections { count: accepted.len(), kubelet, peers: held, listeners };
        Ok(Counted { connections, is_listed: !sockets.is_empty() })
    }
}

/// Who is connected to a socket.
struct Counted {
    connections: Connections,
    /// The kernel lists the socket.
    is_listed: bool,
}

/// Returns the other ends of sockets, as far as they are known.
fn others(told: &BTreeMap<u64, Diagnosis>, inodes: &[u64]) -> Vec<u64> {
    inodes.iter().filter_map(|inode| told.get(inode)?.peer).collect()
}

/// Returns the last two parts of a path: `/device-plugins/gpu.sock`.
fn tail(path: &Path) -> String {
    let mut parts: Vec<String> =
        path.iter().rev().take(2).map(|part| part.to_string_lossy().into_owned()).collect();
    parts.reverse();
    format!("/{}", parts.join("/"))
}

/// Finds out which resources there are, and which are healthy; returns the sockets that a stand-in names.
fn resources(
    args: &Args,
    folder: &Path,
    (root, root_dir): (&Path, Option<&str>),
    report: &mut DevicePlugins,
) -> Vec<(String, String)> {
    if let Some(plugins) = stand_in(args, folder, report) {
        return plugins;
    }
    let path = folder.join(CHECKPOINT);
    let source = path.display().to_string();
    let bytes = match read_checkpoint(folder) {
        Err(ReadError::Absent) => {
            report.basis.assume(format!("there is no {source}: no plugin has registered yet"));
            return Vec::new();
        }
        bytes => bytes.map_err(|error| error.to_string()),
    };
    match bytes.and_then(|bytes| DeviceCheckpoint::parse(&bytes).map_err(|it| it.to_string())) {
        Ok(loaded) => {
            if let Some(error) = loaded.error() {
                report.basis.warn(format!("{source}: {error}"));
            }
            for (name, ids) in loaded.checkpoint.registered.unwrap_or_default() {
                let healthy = Some(ids.map_or(0, |ids| ids.len()));
                let source = source.clone();
                let state = ResourceState { is_registered: true, healthy, is_live: false, source };
                report.resources.insert(name, state);
            }
        }
        Err(reason) => report.basis.warn(format!("{source}: {reason}")),
    }
    // A folder that is named may be a kubelet's all the same.
    let (root, named_by, beside) = match root_dir {
        Some(root_dir) => (root, NamedBy::Node, Some(root_dir.to_owned())),
        None => {
            let above = folder.parent().filter(|_| folder.ends_with(BELOW_ROOT));
            let there = above.filter(|above| above.join(pod_resources::BELOW_ROOT).exists());
            let beside = there.map(|above| above.display().to_string());
            (Path::new("/"), NamedBy::Operator, beside)
        }
    };
    let Some(root_dir) = beside else {
        report.basis.assume(
            "healthy devices are those of the checkpoint: as the kubelet wrote it last".to_owned(),
        );
        return Vec::new();
    };
    let socket = format!("{}/{}", root_dir.trim_end_matches('/'), pod_resources::BELOW_ROOT);
    let told = read_pod_resources(root, &socket, named_by, args.call_timeout);
    let allocatable = told.value().and_then(|told| told.allocatable.value());
    let Some(allocatable) = allocatable else {
        let reason = told.value().map_or_else(|| told.reason(), |told| told.allocatable.reason());
        report.basis.assume(format!(
            "healthy devices are those of the checkpoint, as the kubelet wrote it last: {reason}"
        ));
        return Vec::new();
    };
    let mut healthy: BTreeMap<&str, std::collections::BTreeSet<&String>> = BTreeMap::new();
    for devices in &allocatable.devices {
        healthy.entry(&devices.resource_name).or_default().extend(&devices.device_ids);
    }
    for (name, state) in &mut report.resources {
        state.healthy = Some(healthy.get(name.as_str()).map_or(0, |ids| ids.len()));
        state.is_live = true;
        state.source = format!("{socket} GetAllocatableResources");
    }
    Vec::new()
}

/// Asks the stand-in of a folder, where there is one.
#[cfg(feature = "cri")]
fn stand_in(
    args: &Args,
    folder: &Path,
    report: &mut DevicePlugins,
) -> Option<Vec<(String, String)>> {
    use crate::devices::allocate::ask;
    use crate::devices::serve::request::{Answer, Request};
    let is_there = report
        .sockets
        .iter()
        .any(|socket| socket.kind == SocketKind::RegistrationServer && socket.listens());
    if !is_there {
        return None;
    }
    match ask(folder, &Request::Plugins, Some(args.call_timeout)) {
        Ok(Answer::Plugins(plugins)) => {
            let source = "the stand-in".to_owned();
            let mut endpoints = Vec::new();
            for plugin in plugins {
                endpoints.extend(plugin.endpoint.map(|it| (plugin.resource.clone(), it)));
                let state = ResourceState {
                    is_registered: plugin.is_registered,
                    healthy: Some(plugin.healthy),
                    is_live: true,
                    source: source.clone(),
                };
                report.resources.insert(plugin.resource, state);
            }
            Some(endpoints)
        }
        Ok(_) => None,
        Err(failure) => {
            report.basis.warn(format!("the stand-in does not answer: {}", failure.reason()));
            None
        }
    }
}

#[cfg(not(feature = "cri"))]
fn stand_in(
    _args: &Args,
    _folder: &Path,
    _report: &mut DevicePlugins,
) -> Option<Vec<(String, String)>> {
    None
}
