//! The plugins of a node: sockets, connections, options and resources.
//!
//! Plugins are called for their options only. Connections are read from the kernel before any plugin is called.

mod connections;
mod resources;

use crate::check_live;
use anyhow::anyhow;
use connections::SocketTable;
use kq_answer::{Failure, Warning, WarningCode};
use kq_facts::devices::PLUGIN_FOLDER;
use kq_facts::kubelet_process::DEFAULT_ROOT_DIR;
use kq_facts::lookup::Lookup;
use kq_io::clock::{pause, steady};
use kq_io::host::{ReadError, host_root, is_running};
use kq_io::kubelet_process::find_kubelet;
use kq_linux::device_plugin::address::{EndpointFolders, REGISTRY, SocketAddress, SocketFolder};
use kq_linux::device_plugin::folder::{CHECKPOINT, Entry};
use kq_linux::device_plugin::{PluginAnswer, PluginQuery, ask_all};
use kq_managers::plugins::{
    DevicePlugins, Missing, Place, PluginSocket, SocketKind, assign_resources, missing_for,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The depth to which `plugins_registry` is searched.
const DEPTH: usize = 4;

/// The pause between two inspections of a wait.
const PAUSE: Duration = Duration::from_millis(500);

/// The options of an inspection.
#[derive(Clone, Debug)]
pub struct InspectOptions {
    /// The plugin folder; `None`: that of the running kubelet, or the default.
    pub folder: Option<PathBuf>,
    pub host_root: Option<PathBuf>,
    /// The time limit for each plugin's answer.
    pub call_timeout: Duration,
    /// Plugins are called for their options.
    pub calls_plugins: bool,
}

/// Inspects the plugins until a resource can be allocated or the time is over. Returns the last inspection with the
/// conditions that it does not meet. An absent folder is waited for.
///
/// # Errors
///
/// Fails for a folder that cannot be read.
pub fn wait_for(
    options: &InspectOptions,
    resource: &str,
    timeout: Duration,
) -> Result<(DevicePlugins, Vec<Missing>), Failure> {
    let began = steady();
    loop {
        let Inspected { report, .. } = inspect_folder(options, true)?;
        let missing = missing_for(&report, resource);
        if missing.is_empty() || began.elapsed() + PAUSE > timeout {
            return Ok((report, missing));
        }
        pause(PAUSE);
    }
}

/// Inspects the plugins once.
///
/// # Errors
///
/// Fails for a folder that cannot be read.
pub fn inspect(options: &InspectOptions) -> Result<DevicePlugins, Failure> {
    inspect_folder(options, false).map(|inspected| inspected.report)
}

/// An inspection.
pub(super) struct Inspected {
    pub(super) report: DevicePlugins,
    /// For each socket, the one on which it serves as a device plugin, if that is known.
    pub(super) serves: Vec<Option<SocketAddress>>,
}

/// Returns why a root folder has no sockets; `None`: it may have some.
pub(super) fn no_sockets(options: &InspectOptions) -> Option<String> {
    let (root, _) = host_root(options.host_root.as_deref());
    // A folder that the operator named is of this machine. Where processes are hidden, the machine runs nevertheless.
    let is_live = options.folder.is_some() || root == Path::new("/") || is_running(&root);
    (!is_live)
        .then(|| format!("{} is a copy of a node's files, which has no sockets", root.display()))
}

pub(super) fn inspect_folder(
    options: &InspectOptions,
    may_be_absent: bool,
) -> Result<Inspected, Failure> {
    check_live()?;
    if let Some(reason) = no_sockets(options) {
        return Err(Failure::missing(anyhow!("the plugins are not visible: {reason}"))
            .hint("run kq on the node; kq devices list reads the files of a copy"));
    }
    let (root, _) = host_root(options.host_root.as_deref());
    let mut report = DevicePlugins::default();
    let kubelet = find_kubelet(&root).map(|found| found.process).unwrap_or_else(|error| {
        let text = format!("the kubelet's process was not found: {error}");
        report.basis.warn(Warning::new(WarningCode::NoKubelet, text));
        Lookup::default()
    });
    let kubelet = kubelet.value();
    report.kubelet = kubelet.map(|kubelet| kubelet.pid);
    let root_dir = kubelet.and_then(|kubelet| kubelet.interpreted().root_dir);
    let root_dir = match (&options.folder, root_dir) {
        (Some(_), _) => None,
        (None, Some(said)) => Some(said),
        (None, None) => {
            report.basis.assume(format!(
                "no running kubelet is visible: its root folder is {DEFAULT_ROOT_DIR}"
            ));
            Some(DEFAULT_ROOT_DIR.to_owned())
        }
    };
    // A named folder is a path of kq's own; the kubelet's folder is below the node's root.
    let folder = match &options.folder {
        Some(dir) => SocketFolder::named(dir),
        None => SocketFolder::of_node(&root, PLUGIN_FOLDER),
    };
    report.folder = folder.shown().display().to_string();
    let listed = match folder.entries() {
        // A booting node has no kubelet yet.
        Err(ReadError::Absent) if may_be_absent => {
            let text = format!("there is no {}: no kubelet has started", report.folder);
            report.basis.warn(Warning::new(WarningCode::NoKubelet, text));
            Vec::new()
        }
        listed => listed.map_err(|error| {
            let error = anyhow!("cannot read {}: {error}", report.folder);
            Failure::missing(error).hint("run as root on the node, or name the folder with --dir")
        })?,
    };
    let table = SocketTable::read(&root, &folder, report.kubelet, &mut report.basis);
    let mut found = Vec::new();
    for entry in listed.into_iter().filter(is_shown) {
        found.push(table.socket(&folder, entry, Place::DevicePlugins));
    }
    if let Some(dir) = &root_dir {
        let registry = SocketFolder::of_node(&root, Path::new(dir).join(REGISTRY));
        add_registry(&table, &registry, 0, &mut found);
    }
    let query = |(socket, address): &(PluginSocket, SocketAddress)| {
        let is_called = options.calls_plugins
            && socket.kind == SocketKind::Plugin
            && socket.listening == Ok(true);
        let in_registry = socket.place == Place::PluginsRegistry;
        is_called.then(|| PluginQuery { socket: address.clone(), in_registry })
    };
    let queries: Vec<Option<PluginQuery>> = found.iter().map(query).collect();
    let sent: Vec<PluginQuery> = queries.iter().flatten().cloned().collect();
    report.sockets.extend(found.into_iter().map(|(socket, _)| socket));
    let folders = EndpointFolders::of_node(&root, root_dir.as_deref());
    // The plugins and the kubelet are queried in parallel, so that time limits do not add up.
    let (answers, endpoints) = std::thread::scope(|scope| {
        let answers = scope.spawn(|| ask_all(&sent, &folders, options.call_timeout));
        let endpoints = resources::add(
            options.call_timeout,
            &folder,
            (&root, root_dir.as_deref()),
            &mut report,
        );
        (answers.join().unwrap_or_default(), endpoints)
    });
    let mut answers = answers.into_iter();
    let mut serves = Vec::new();
    for (socket, query) in report.sockets.iter_mut().zip(queries) {
        let answer = query.map(|query| (answers.next().unwrap_or_default(), query));
        let served = answer.as_ref().and_then(|(answer, query)| answer.serves(query, &folders));
        serves.push(served.and_then(Result::ok));
        add_answer(socket, answer.map(|(answer, _)| answer), options.calls_plugins);
    }
    assign_resources(&mut report, &endpoints);
    for socket in report.sockets.iter().filter(|socket| socket.hangs()) {
        let why = socket.options.as_ref().err().map_or("", String::as_str);
        let text = format!("{} listens and does not answer: {why}", socket.name);
        report.basis.warn(Warning::new(WarningCode::SilentSocket, text).about(&socket.name));
    }
    Ok(Inspected { report, serves })
}

fn is_shown(entry: &Entry) -> bool {
    !entry.is_folder && !entry.shown().starts_with(CHECKPOINT) && entry.name != "DEPRECATION"
}

fn add_registry(
    table: &SocketTable,
    folder: &SocketFolder,
    depth: usize,
    found: &mut Vec<(PluginSocket, SocketAddress)>,
) {
    for entry in folder.entries().unwrap_or_default() {
        if entry.is_folder && depth < DEPTH {
            add_registry(table, &folder.folder(&entry.name), depth + 1, found);
        } else if !entry.is_folder {
            found.push(table.socket(folder, entry, Place::PluginsRegistry));
        }
    }
}

/// Adds the answer of a plugin; `None`: it was not called.
fn add_answer(socket: &mut PluginSocket, answer: Option<PluginAnswer>, calls_plugins: bool) {
    let is_called = answer.is_some();
    let PluginAnswer { info, options } = answer.unwrap_or_default();
    let why = info.as_ref().and_then(|info| info.as_ref().err().cloned());
    socket.info = info.and_then(Result::ok);
    socket.options = options.unwrap_or_else(|| {
        Err(match (&socket.listening, why) {
            _ if !calls_plugins => "not called".to_owned(),
            (Ok(_), Some(reason)) => reason,
            (Err(reason), _) => reason.clone(),
            (Ok(false), None) => "not listening".to_owned(),
            (Ok(true), None) => "not called".to_owned(),
        })
    });
    socket.answers = is_called.then(|| socket.info.is_some() || socket.options.is_ok());
}
