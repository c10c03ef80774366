//! Who is connected to a socket right now, seen without connecting to it.

use crate::edge::input::plain;
use crate::facts::unix_sockets::{UnixSocket, parse};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A process that holds a socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// Its number.
    pub pid: i32,
    /// Its name (`comm`).
    pub command: String,
}

/// Reads the table of the node's unix sockets.
///
/// The first process is in the node's own network namespace, as the kubelet is: the kernel lists an
/// accepted socket where the one that connected is.
///
/// # Errors
///
/// Fails where it cannot be read.
pub fn table(host_root: &Path) -> Result<Vec<UnixSocket>, String> {
    let read = |place: &str| fs::read(host_root.join(place));
    let bytes = read("proc/1/net/unix").or_else(|_| read("proc/net/unix"));
    let bytes = bytes.map_err(|error| format!("/proc/net/unix: {}", plain(&error)))?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

/// Finds the processes that hold sockets, by inode. Those of others are seen by root alone; a process that
/// ends meanwhile holds none.
pub fn holders(host_root: &Path, inodes: &[u64]) -> BTreeMap<u64, Holder> {
    let mut found = BTreeMap::new();
    if inodes.is_empty() {
        return found;
    }
    let wanted: BTreeMap<String, u64> =
        inodes.iter().map(|inode| (format!("socket:[{inode}]"), *inode)).collect();
    let processes = fs::read_dir(host_root.join("proc")).into_iter().flatten().flatten();
    for process in processes {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let descriptors = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        for descriptor in descriptors {
            let Ok(target) = fs::read_link(descriptor.path()) else { continue };
            let Some(inode) = target.to_str().and_then(|target| wanted.get(target)) else {
                continue;
            };
            let command = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            let holder = Holder { pid, command: command.trim_end().to_owned() };
            found.entry(*inode).or_insert(holder);
        }
    }
    found
}
