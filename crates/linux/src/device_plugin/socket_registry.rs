//! The sockets that belong to a fake kubelet and may be removed by the next one.
//!
//! A starting kubelet removes every socket in its folder, also one with a listener. The folder of a fake kubelet can be
//! any, so it keeps a list of the sockets of plugins that registered with it, and removes only those and its own.

use super::folder::{
    CHECKPOINT, CONTROL_SOCKET, Entry, FolderError, KUBELET_SOCKET, entries, read_in,
};
use kq_io::host::ReadError;
use kq_io::input::plain;
use kq_io::listener::listens;
use kq_io::place::folder_to_write;
use kq_io::replace::{ReplaceError, is_left_behind, replace_in};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The list of sockets of plugins that registered, next to the checkpoint.
pub const REGISTERED: &str = "kubelet_internal_checkpoint.plugins";

/// The number of names that are shown.
const SHOWN: usize = 5;

/// The folder of a fake kubelet, which is held open: whoever moves it away or puts a link in its place does not lead kq
/// to another folder.
#[derive(Clone, Debug)]
pub struct Held {
    folder: Arc<OwnedFd>,
    /// As it is shown.
    pub path: PathBuf,
}

impl Held {
    /// Opens a folder.
    /// Fails where the system refuses, and for a link of a stranger on the way.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let folder = folder_to_write(Path::new("/"), path).map_err(|error| {
            let error = io::Error::other(error.to_string());
            FolderError::System { folder: path.display().to_string(), error }
        })?;
        Ok(Self { folder: Arc::new(folder), path: path.to_owned() })
    }

    /// Returns a path to the folder as long as it is open, whatever becomes of its name.
    pub fn inside(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }

    /// Replaces a file in the folder.
    /// Fails where the system refuses; the old file is there then.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<(), ReplaceError> {
        replace_in(&self.folder, name.as_ref(), content).map_err(|error| ReplaceError {
            path: self.path.join(name).display().to_string(),
            error,
        })
    }
}

/// The list of the sockets of plugins that registered with a fake kubelet.
#[derive(Debug)]
pub struct Registered {
    folder: Held,
    names: BTreeSet<String>,
    /// A fake kubelet before this one wrote it.
    pub is_there: bool,
    /// Why the sockets in it are unknown; the file is replaced.
    pub unreadable: Option<String>,
}

impl Registered {
    /// Reads the list of a fake kubelet before this one; where there is none, or none that can be read, it is
    /// empty.
    pub fn read(folder: &Held) -> Self {
        let (is_there, names) = match read_in(&folder.inside(), REGISTERED) {
            Err(ReadError::Absent) => (false, Ok(BTreeSet::new())),
            Err(error) => (true, Err(format!("cannot be read: {error}"))),
            Ok(bytes) => {
                let names = serde_json::from_slice(&bytes);
                (true, names.map_err(|error| format!("is not a list of names: {error}")))
            }
        };
        let (names, unreadable) = match names {
            Ok(names) => (names, None),
            Err(reason) => (BTreeSet::new(), Some(reason)),
        };
        Self { folder: folder.clone(), names, is_there, unreadable }
    }

    /// Writes the list where there is none: from then on the folder is a fake kubelet's.
    pub fn begin(&mut self) -> Result<(), ReplaceError> {
        if self.is_there { Ok(()) } else { self.write(BTreeSet::new()) }
    }

    /// Adds the socket of a plugin, and writes the list where it is new.
    pub fn add(&mut self, endpoint: &str) -> Result<(), ReplaceError> {
        // A socket in another folder is not removed.
        if endpoint.contains('/') || self.names.contains(endpoint) {
            return Ok(());
        }
        // A plugin may take another name each time that it starts.
        let folder = self.folder.inside();
        let still = self.names.iter().filter(|name| folder.join(name).exists());
        self.write(still.cloned().chain([endpoint.to_owned()]).collect())
    }

    /// What could not be written is not known, and the next time it is tried again.
    fn write(&mut self, names: BTreeSet<String>) -> Result<(), ReplaceError> {
        self.folder.replace(REGISTERED, &serde_json::to_vec(&names).unwrap_or_default())?;
        (self.names, self.is_there) = (names, true);
        Ok(())
    }

    fn has(&self, entry: &Entry) -> bool {
        entry.name.to_str().is_some_and(|name| self.names.contains(name))
    }
}

/// Refuses a folder in which something else lives: where there is anything but sockets in a folder without the
/// files of a fake kubelet, and a socket whose listener is unknown. A plugin that was
/// started first listens on its own; that is fine.
pub(super) fn refuse_foreign(folder: &Path) -> Result<(), FolderError> {
    let shown = || folder.display().to_string();
    let listed = entries(folder).map_err(|error| FolderError::System { folder: shown(), error })?;
    let registered = Registered::read(&Held::open(folder)?);
    let taken = listed.iter().filter(|entry| is_stand_ins(entry) && !entry.is_socket);
    let taken = taken.map(|entry| format!("{} exists, and is not a socket", entry.shown()));
    let mut foreign: Vec<String> = taken.collect();
    for entry in listed.iter().filter(|entry| entry.is_socket && !registered.has(entry)) {
        let socket = folder.join(&entry.name);
        match listens(&socket) {
            Ok(true) if is_stand_ins(entry) => {
                return Err(FolderError::Taken { socket: socket.display().to_string() });
            }
            Ok(_) => {}
            Err(why) => foreign.push(format!(
                "it is unknown whether a process listens on {}: {why}",
                entry.shown()
            )),
        }
    }
    let is_file = |name| !matches!(read_in(folder, name), Err(ReadError::Absent));
    // A checkpoint alone may be a copy of a kubelet's: it is kept, and served from.
    if !is_file(REGISTERED) {
        let is_other = |entry: &&Entry| !(entry.is_socket || is_own(entry) || is_stand_ins(entry));
        let others = listed.iter().filter(is_other);
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

/// Keeps a folder for one fake kubelet, until what is returned is let go: of two that start at once, one would
/// take the other's socket for a stale one before it listens.
/// Fails where another one has it.
pub fn lock(folder: &Path) -> Result<Held, FolderError> {
    let shown = || folder.display().to_string();
    let system = |error: Errno| FolderError::System { folder: shown(), error: error.into() };
    let held = Held::open(folder)?;
    match flock(&held.folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(held),
        Err(Errno::WOULDBLOCK) => Err(FolderError::Locked { folder: shown() }),
        Err(error) => Err(system(error)),
    }
}

/// Returns true if it is one of the two sockets of a fake kubelet.
fn is_stand_ins(entry: &Entry) -> bool {
    entry.name == KUBELET_SOCKET || entry.name == CONTROL_SOCKET
}

/// Returns true if a fake kubelet wrote it, by its name.
fn is_own(entry: &Entry) -> bool {
    let is_own = |name: &str| {
        let numbered = ["damaged", "before"].into_iter().any(|mark| {
            let number = name.strip_prefix(&format!("{CHECKPOINT}.{mark}-"));
            number.is_some_and(|number| number.parse::<u16>().is_ok())
        });
        [CHECKPOINT, REGISTERED].contains(&name) || numbered || is_half_written(entry)
    };
    entry.name.to_str().is_some_and(is_own) && !entry.is_folder
}

/// What was done with the sockets of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// What was removed.
    pub removed: Vec<String>,
    /// The sockets of other programs with a listener.
    pub listening: Vec<String>,
}

/// Removes what a fake kubelet before this one left: its own sockets, those of plugins that registered with it,
/// and files that it left half-written. A plugin that watches its socket notices, and registers again. The
/// kubelet removes whatever it finds when it starts (`CleanupPluginDirectory`); here the sockets of others
/// stay.
pub fn remove_stale(folder: &Held) -> io::Result<Cleared> {
    let registered = Registered::read(folder);
    let folder = folder.inside();
    let mut cleared = Cleared::default();
    for entry in entries(&folder)? {
        let path = folder.join(&entry.name);
        let is_listening = || listens(&path) != Ok(false);
        let is_stale = match entry.is_socket {
            true if is_stand_ins(&entry) => !is_listening(),
            true => registered.has(&entry),
            false => !entry.is_folder && is_half_written(&entry),
        };
        if is_stale {
            fs::remove_file(&path).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {}", entry.shown(), plain(&error)))
            })?;
            cleared.removed.push(entry.shown());
        } else if entry.is_socket && is_listening() {
            cleared.listening.push(entry.shown());
        }
    }
    Ok(cleared)
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

    fn held(folder: &Path) -> Held {
        Held::open(folder).expect("it is there")
    }

    #[test]
    fn a_checkpoint_alone_does_not_make_a_folder_ones_own() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::write(folder.path().join(CHECKPOINT), "x").expect("a file can be written");
        assert!(refuse_foreign(folder.path()).is_ok(), "a copy of a kubelet's");
        fs::write(folder.path().join("notes.txt"), "x").expect("a file can be written");
        let error = refuse_foreign(folder.path()).expect_err("it has a file of others");
        assert!(error.to_string().contains("there is notes.txt"), "{error}");
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
        Registered::read(&held(folder.path())).add("known.sock").expect("a file can be written");
        drop(UnixListener::bind(path(KUBELET_SOCKET)).expect("a socket can be made"));
        assert!(refuse_foreign(folder.path()).is_ok(), "its own, with a file beside");
        let cleared = remove_stale(&held(folder.path())).expect("the folder can be read");
        assert_eq!(
            cleared.removed,
            [".kubelet_internal_checkpoint.kq-17-0", "known.sock", KUBELET_SOCKET]
        );
        assert_eq!(cleared.listening, ["other.sock"]);
        let left = [".kubelet_internal_checkpoint.kq-x-0", "gpu.sock", CHECKPOINT, REGISTERED];
        let others = ["notes.txt", "other.sock", "\u{fffd}.sock"];
        assert_eq!(names(folder.path()), [&left[..], &others].concat());
        drop((registered, other));
    }

    #[test]
    fn one_stand_in_has_a_folder_and_knows_the_sockets_that_are_there() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let lock_of_first = lock(folder.path()).expect("the lock is free");
        let second = lock(folder.path()).expect_err("it is taken").to_string();
        assert!(second.starts_with("another kq devices serve works in "), "{second}");
        drop(lock_of_first);
        lock(folder.path()).expect("the lock was released");
        let mut registered = Registered::read(&held(folder.path()));
        for number in 0..3 {
            let name = format!("gpu-{number}.sock");
            let socket = UnixListener::bind(folder.path().join(&name)).expect("a socket");
            registered.add(&name).expect("a file can be written");
            drop(socket);
            if number > 0 {
                fs::remove_file(folder.path().join(&name)).expect("it is there");
            }
        }
        let known: Vec<String> = Registered::read(&held(folder.path())).names.into_iter().collect();
        assert_eq!(known, ["gpu-0.sock", "gpu-2.sock"]);
    }

    #[test]
    fn a_list_that_cannot_be_read_or_written_is_told_each_time() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join(REGISTERED);
        fs::write(&path, "gpu.sock").expect("a file can be written");
        let unreadable = Registered::read(&held(folder.path())).unreadable.unwrap_or_default();
        assert!(unreadable.starts_with("is not a list of names"), "{unreadable}");
        fs::remove_file(&path).expect("it is there");
        fs::create_dir(&path).expect("a folder can be made");
        let mut registered = Registered::read(&held(folder.path()));
        let unreadable = registered.unreadable.clone().unwrap_or_default();
        assert!(unreadable.starts_with("cannot be read"), "{unreadable}");
        for _ in 0..2 {
            registered.add("gpu.sock").expect_err("it is a folder");
        }
        fs::remove_dir(&path).expect("it is empty");
        registered.add("gpu.sock").expect("nothing is in the way");
        assert!(Registered::read(&held(folder.path())).names.contains("gpu.sock"));
    }

    #[test]
    fn a_folder_of_others_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        drop(UnixListener::bind(folder.path().join("dead.sock")).expect("a socket can be made"));
        assert!(refuse_foreign(folder.path()).is_ok(), "a dead socket is nobody's");
        for own in [".damaged-1", ".before-12"] {
            let own = folder.path().join(format!("{CHECKPOINT}{own}"));
            fs::write(&own, "x").expect("a file can be written");
            assert!(refuse_foreign(folder.path()).is_ok(), "{}", own.display());
            fs::remove_file(own).expect("it is there");
        }
        for other in ["kubelet_internal_checkpoint.bak", "kubelet.sock", "kq.sock"] {
            fs::write(folder.path().join(other), "x").expect("a file can be written");
            let error = refuse_foreign(folder.path()).expect_err("a file is there").to_string();
            assert!(error.contains(other), "{error}");
            fs::remove_file(folder.path().join(other)).expect("it is there");
        }
        fs::write(folder.path().join("crond.pid"), "1").expect("a file can be written");
        let error = refuse_foreign(folder.path()).expect_err("a file is there").to_string();
        assert!(error.ends_with(": there is crond.pid"), "{error}");
        assert_eq!(names(folder.path()), ["crond.pid", "dead.sock"]);
    }
}
