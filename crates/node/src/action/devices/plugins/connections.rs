//! The kernel's view of plugin sockets: listeners and connected processes.

use kq_answer::{Basis, Warning, WarningCode};
use kq_facts::unix_sockets::UnixSocket;
use kq_io::host::ReadError;
use kq_io::listener::listens;
use kq_linux::device_plugin::address::{SocketAddress, SocketFolder};
use kq_linux::device_plugin::folder::{CONTROL_SOCKET, Entry, KUBELET_SOCKET};
use kq_linux::device_plugin::unix_sockets::{Diagnosis, FileId, diagnose, holders, table};
use kq_managers::plugins::{Connections, Place, PluginSocket, Process, SocketKind};
use std::collections::BTreeMap;
use std::path::Path;

/// The kernel's sockets, read before kq connects to any.
pub(super) struct SocketTable {
    kubelet: Option<i32>,
    table: Result<Vec<UnixSocket>, String>,
    diagnoses: Result<BTreeMap<u64, Diagnosis>, String>,
    /// The processes of named sockets and of their peers, by inode.
    holders: BTreeMap<u64, Process>,
    /// The processes that listen on the folder's `kq.sock`.
    fake_kubelets: Vec<i32>,
}

impl SocketTable {
    pub(super) fn read(
        root: &Path,
        folder: &SocketFolder,
        kubelet: Option<i32>,
        basis: &mut Basis,
    ) -> Self {
        // kq's own kernel knows nothing about the sockets of a copied node.
        let table = table(root);
        let diagnoses = table.as_ref().map_err(Clone::clone).and_then(|_| diagnose());
        if let Err(reason) = &diagnoses {
            let text = format!("connections between processes are not visible: {reason}");
            basis.warn(Warning::new(WarningCode::HiddenConnections, text));
        }
        // The descriptors of all processes are read once, not for each socket.
        let named = table.iter().flatten().filter(|it| it.path.is_some()).map(|it| it.inode);
        let mut inodes: Vec<u64> = named.collect();
        let others =
            diagnoses.as_ref().map(|diagnoses| others(diagnoses, &inodes)).unwrap_or_default();
        inodes.extend(others);
        let holders = holders(root, &inodes);
        let fake_kubelets = Vec::new();
        let mut read = Self { kubelet, table, diagnoses, holders, fake_kubelets };
        let own = folder.socket(CONTROL_SOCKET.as_ref());
        let file = own.open().ok().and_then(|socket| FileId::of(&socket.path()));
        let own = read.connections(&own, file).map(|it| it.connections.listeners);
        read.fake_kubelets = own.unwrap_or_default().into_iter().map(|it| it.pid).collect();
        read
    }

    fn held(&self, inodes: &[u64]) -> Vec<Process> {
        let mut held: Vec<Process> =
            inodes.iter().filter_map(|inode| self.holders.get(inode).cloned()).collect();
        held.sort();
        held.dedup();
        held
    }

    /// Returns a socket before any call, and its path.
    pub(super) fn socket(
        &self,
        folder: &SocketFolder,
        entry: Entry,
        place: Place,
    ) -> (PluginSocket, SocketAddress) {
        let address = folder.socket(&entry.name);
        let name = entry.shown();
        let kind = match name.as_str() {
            _ if !entry.is_socket => SocketKind::NoSocket,
            KUBELET_SOCKET => SocketKind::Kubelet,
            CONTROL_SOCKET => SocketKind::RegistrationServer,
            _ => SocketKind::Plugin,
        };
        let (listening, file) = match (kind, address.open()) {
            (SocketKind::NoSocket, _) | (_, Err(ReadError::Absent)) => (Ok(false), None),
            (_, Err(error)) => (Err(error.to_string()), None),
            (_, Ok(socket)) => (listens(&socket.path()), FileId::of(&socket.path())),
        };
        let connections = match (kind, self.connections(&address, file)) {
            (SocketKind::NoSocket, _) => Err("not a socket".to_owned()),
            // A process listens, and the kernel lists no socket of that path.
            (_, Ok(seen)) if listening == Ok(true) && !seen.is_listed => {
                Err("the kernel lists it under another path".to_owned())
            }
            (_, seen) => seen.map(|seen| seen.connections),
        };
        let resource = Err("unknown".to_owned());
        let socket = PluginSocket {
            name,
            place,
            kind,
            listening,
            connections,
            resource,
            ..Default::default()
        };
        (socket, address)
    }

    /// Counts the connections of a socket. It is found by its file, else by the path that it was bound to. In a container
    /// that path may begin differently, so the last two parts are compared.
    fn connections(&self, socket: &SocketAddress, file: Option<FileId>) -> Result<Counted, String> {
        let table = self.table.as_ref().map_err(Clone::clone)?;
        let full = socket.shown().display().to_string();
        let on_node = socket.on_node();
        let (on_node, tail) = (on_node.display().to_string(), tail(&on_node));
        let diagnoses = self.diagnoses.as_ref().ok();
        let of_file = |it: &UnixSocket| {
            let own = diagnoses.and_then(|diagnoses| diagnoses.get(&it.inode)?.file);
            own.is_some() && own == file
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
        let inodes = |matches: fn(&UnixSocket) -> bool| -> Vec<u64> {
            sockets.iter().filter(|it| matches(it)).map(|it| it.inode).collect()
        };
        let accepted = inodes(|it| it.connected);
        let others: Option<Vec<u64>> = diagnoses.map(|diagnoses| others(diagnoses, &accepted));
        let held = self.held(others.as_deref().unwrap_or_default());
        let listeners = self.held(&inodes(|it| it.listens));
        let is_fake = held.iter().any(|process| self.fake_kubelets.contains(&process.pid));
        let kubelet = match (accepted.len(), self.kubelet) {
            (0, _) => Some(false),
            (_, Some(pid)) if held.iter().any(|process| process.pid == pid) => Some(true),
            _ if is_fake => Some(true),
            // Each connected process is known, and none is the kubelet.
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

/// The connections of a socket.
struct Counted {
    connections: Connections,
    /// The kernel lists the socket.
    is_listed: bool,
}

/// Returns the known peers of sockets.
fn others(diagnoses: &BTreeMap<u64, Diagnosis>, inodes: &[u64]) -> Vec<u64> {
    inodes.iter().filter_map(|inode| diagnoses.get(inode)?.peer).collect()
}

/// Returns the last two parts of a path: `/device-plugins/gpu.sock`.
fn tail(path: &Path) -> String {
    let mut parts: Vec<String> =
        path.iter().rev().take(2).map(|part| part.to_string_lossy().into_owned()).collect();
    parts.reverse();
    format!("/{}", parts.join("/"))
}
