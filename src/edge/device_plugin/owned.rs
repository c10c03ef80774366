//! What in a folder is a stand-in's own, and may be removed by the next one.
//!
//! A kubelet removes every socket in its folder when it starts, whoever listens there. A person can name any
//! folder: so a stand-in keeps a list of the sockets of plugins that registered with it, and removes those,
//! and sockets on which nobody listens, in a folder that is its own.

use super::folder::{CHECKPOINT, Entry, FolderError, entries, read_in};
use crate::edge::host::ReadError;
use crate::edge::input::plain;
use crate::edge::listener::listens;
use crate::edge::replace::{ReplaceError, is_left_behind, replace};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The list of sockets of plugins that registered, beside the checkpoint.
const REGISTERED: &str = "kubelet_internal_checkpoint.plugins";

/// How many names are told.
const SHOWN: usize = 5;

/// The list of the sockets of plugins that registered with a stand-in.
#[derive(Debug)]
pub struct Registered {
    path: PathBuf,
    names: BTreeSet<String>,
}

impl Registered {
    /// Reads the list of a stand-in before this one; where there is none, or none that can be read, it is
    /// empty.
    pub fn read(folder: &Path) -> Self {
        let bytes = read_in(folder, REGISTERED).unwrap_or_default();
        let names = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { path: folder.join(REGISTERED), names }
    }

    /// Adds the socket of a plugin, and writes the list where it is new.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses.
    pub fn add(&mut self, endpoint: &str) -> Result<(), ReplaceError> {
        if !self.names.insert(endpoint.to_owned()) {
            return Ok(());
        }
        let bytes = serde_json::to_vec(&self.names).unwrap_or_default();
        replace(&self.path, &bytes)
    }

    fn has(&self, entry: &Entry) -> bool {
        entry.name.to_str().is_some_and(|name| self.names.contains(name))
    }
}

/// Refuses a folder in which something else lives: where somebody listens on a socket that no stand-in knows,
/// and where there is anything else in a folder without the files of a stand-in.
pub(super) fn refuse_foreign(folder: &Path) -> Result<(), FolderError> {
    let shown = || folder.display().to_string();
    let listed = entries(folder).map_err(|error| FolderError::System { folder: shown(), error })?;
    let registered = Registered::read(folder);
    let mut foreign = Vec::new();
    for entry in listed.iter().filter(|entry| entry.is_socket && !registered.has(entry)) {
        let socket = folder.join(&entry.name);
        match listens(&socket) {
            Ok(false) => {}
            Ok(true) if entry.name == "kubelet.sock" || entry.name == "kq.sock" => {
                return Err(FolderError::Taken { socket: socket.display().to_string() });
            }
            Ok(true) => foreign.push(format!("somebody listens on {}", entry.shown())),
            Err(why) => foreign.push(format!(
                "whether somebody listens on {} cannot be told: {why}",
                entry.shown()
            )),
        }
    }
    let is_file = |name| !matches!(read_in(folder, name), Err(ReadError::Absent));
    if !is_file(CHECKPOINT) && !is_file(REGISTERED) {
        let others = listed.iter().filter(|entry| !entry.is_socket && !is_own(entry));
        foreign.extend(others.map(|entry| format!("there is {}", entry.shown())));
    }
    if foreign.is_empty() {
        return Ok(());
    }
    let more = foreign.len().saturating_sub(SHOWN);
    foreign.truncate(SHOWN);
    if more > 0 {
        foreign.push(format!("{more} more"));
    }
    Err(FolderError::Foreign { folder: shown(), what: foreign.join(", ") })
}

/// Tells whether a stand-in wrote it, by its name.
fn is_own(entry: &Entry) -> bool {
    let is_own = |name: &str| name.starts_with(CHECKPOINT) || is_half_written(entry);
    entry.name.to_str().is_some_and(is_own) && !entry.is_folder
}

/// Removes the sockets that a stand-in before this one left, and returns their names: a plugin that watches
/// its own notices, and registers again. The kubelet does the same when it starts
/// (`CleanupPluginDirectory`). A socket goes when nobody listens on it, or when its plugin registered with a
/// stand-in here; and so do files that kq itself left half-written.
///
/// # Errors
///
/// Fails where the system refuses.
pub fn remove_stale(folder: &Path) -> io::Result<Vec<String>> {
    let registered = Registered::read(folder);
    let mut removed = Vec::new();
    for entry in entries(folder)? {
        let is_stale = match entry.is_socket {
            true => registered.has(&entry) || listens(&folder.join(&entry.name)) == Ok(false),
            false => !entry.is_folder && is_half_written(&entry),
        };
        if is_stale {
            fs::remove_file(folder.join(&entry.name)).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {}", entry.shown(), plain(&error)))
            })?;
            removed.push(entry.shown());
        }
    }
    Ok(removed)
}

fn is_half_written(entry: &Entry) -> bool {
    let name = entry.name.to_str().unwrap_or_default();
    [CHECKPOINT, REGISTERED].iter().any(|whole| is_left_behind(name, whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::UnixListener;

    fn names(folder: &Path) -> Vec<String> {
        entries(folder).expect("it can be read").iter().map(Entry::shown).collect()
    }

    #[test]
    fn only_stale_sockets_and_own_leftovers_go() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = |name: &str| folder.path().join(name);
        drop(UnixListener::bind(path("gpu.sock")).expect("a socket can be made"));
        let odd = folder.path().join(OsStr::from_bytes(b"\xff.sock"));
        drop(UnixListener::bind(odd).expect("a socket can be made"));
        let registered = UnixListener::bind(path("known.sock")).expect("a socket can be made");
        let other = UnixListener::bind(path("other.sock")).expect("a socket can be made");
        for name in [CHECKPOINT, "notes.txt", ".kubelet_internal_checkpoint.kq-17-0"] {
            fs::write(path(name), "x").expect("a file can be written");
        }
        fs::write(path(".kubelet_internal_checkpoint.kq-x-0"), "x").expect("a file can be written");
        Registered::read(folder.path()).add("known.sock").expect("a file can be written");
        let error = refuse_foreign(folder.path()).expect_err("somebody is there").to_string();
        assert!(error.ends_with(": somebody listens on other.sock"), "{error}");
        let removed = remove_stale(folder.path()).expect("the folder can be read");
        let expected =
            [".kubelet_internal_checkpoint.kq-17-0", "gpu.sock", "known.sock", "\u{fffd}.sock"];
        assert_eq!(removed, expected);
        let left = [".kubelet_internal_checkpoint.kq-x-0", CHECKPOINT, REGISTERED, "notes.txt"];
        assert_eq!(names(folder.path()), [&left[..], &["other.sock"]].concat());
        drop((registered, other));
        assert!(refuse_foreign(folder.path()).is_ok(), "its own, with a file beside");
    }

    #[test]
    fn a_folder_of_others_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        drop(UnixListener::bind(folder.path().join("dead.sock")).expect("a socket can be made"));
        assert!(refuse_foreign(folder.path()).is_ok(), "a dead socket is nobody's");
        fs::write(folder.path().join("crond.pid"), "1").expect("a file can be written");
        let error = refuse_foreign(folder.path()).expect_err("a file is there").to_string();
        assert!(error.ends_with(": there is crond.pid"), "{error}");
        assert_eq!(names(folder.path()), ["crond.pid", "dead.sock"]);
    }
}
