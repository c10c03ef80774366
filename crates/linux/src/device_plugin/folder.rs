//! The folder of device plugins, of a kubelet or of a fake kubelet.

use super::socket_registry::refuse_foreign;
use kq_facts::devices::PLUGIN_FOLDER;
use kq_facts::distribution::{Place, Row, rows};
use kq_io::checkpoint_file::{CheckpointFile, CheckpointFileError};
use kq_io::host::ReadError;
use kq_io::input::plain;
use kq_io::kubelet_process::{FindKubeletError, find_kubelets, suspects};
use rustix::fs::{AtFlags, CWD, FileType, statat};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

pub use kq_facts::devices::{
    BELOW_ROOT, CHECKPOINT_NAME as CHECKPOINT, CONTROL_SOCKET, Entry, KUBELET_SOCKET,
};

/// What only a kubelet leaves in its folder of plugins, or in its root folder.
const KUBELET_FILES: &[&str] = &[
    "DEPRECATION",
    "cpu_manager_state",
    "memory_manager_state",
    "allocated_pods_state",
    "actuated_pods_state",
    "dra_manager_state",
    "plugins_registry",
    "pod-resources",
    "pods",
];

/// The longest path of a folder that leaves room for `/kubelet.sock`: an address of a unix socket has 108
/// bytes, and ends with a 0.
pub const LONGEST_FOLDER: usize = 108 - 1 - 1 - KUBELET_SOCKET.len();

/// Why a fake kubelet may not work in a folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{folder} belongs to a kubelet: {reason}")]
    Kubelet {
        folder: String,
        /// How that is known.
        reason: String,
    },
    /// Another process stands in already.
    #[error("another process listens on {socket}")]
    Taken { socket: String },
    /// Another fake kubelet works there.
    #[error("another kq devices serve works in {folder}")]
    Locked { folder: String },
    /// The folder has foreign files.
    #[error("{folder} is in use by something else than kq devices serve: {what}")]
    Foreign {
        folder: String,
        /// What is there.
        what: String,
    },
    /// It is unknown whether a kubelet uses it.
    #[error("it is unknown whether a kubelet uses {folder}: {reason}")]
    Unknown { folder: String, reason: String },
    /// Its path leaves no room for the name of a socket.
    #[error(
        "{folder} is too long for sockets: its path has {} bytes, and may have {LONGEST_FOLDER}",
        folder.len()
    )]
    TooLong { folder: String },
    /// The system refused.
    #[error("cannot use {folder}: {}", plain(error))]
    System {
        folder: String,
        /// What it said.
        error: io::Error,
    },
}

/// Lists a folder, in the order of names.
pub fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // What went meanwhile is not there.
        let Ok(stat) = statat(CWD, entry.path(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let kind = FileType::from_raw_mode(stat.st_mode);
        entries.push(Entry {
            name: entry.file_name(),
            is_socket: kind == FileType::Socket,
            is_folder: kind == FileType::Directory,
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
        });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Makes a folder for a fake kubelet where there is none, and refuses one where a kubelet lives: such a kubelet
/// would lose its plugins, and its checkpoint. Nothing is made where it refuses.
///
/// `host_root` is where the node's root is: a kubelet that runs there is looked for.
/// Fails with how a kubelet is known to live there, for a path that is too long, and where the system
/// refuses.
pub fn claim(folder: &Path, host_root: &Path) -> Result<PathBuf, FolderError> {
    let system = |error| FolderError::System { folder: folder.display().to_string(), error };
    let wanted = resolve(folder).map_err(system)?;
    refuse_kubelets(&wanted, folder, host_root)?;
    check_length(&wanted)?;
    if !wanted.exists() {
        fs::DirBuilder::new().recursive(true).mode(0o750).create(&wanted).map_err(system)?;
    }
    let folder_path = fs::canonicalize(&wanted).map_err(system)?;
    if !folder_path.is_dir() {
        return Err(system(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    // Again: the path may have been replaced meanwhile.
    refuse_kubelets(&folder_path, folder, host_root)?;
    refuse_foreign(&folder_path)?;
    Ok(folder_path)
}

/// Makes sure that the names of sockets fit behind the path of a folder.
/// Fails with how long it may be.
pub fn check_length(folder: &Path) -> Result<(), FolderError> {
    match folder.as_os_str().len() > LONGEST_FOLDER {
        true => Err(FolderError::TooLong { folder: folder.display().to_string() }),
        false => Ok(()),
    }
}

/// Returns the folder above, where it would be a kubelet's root folder.
fn beside(folder: &Path) -> Option<&Path> {
    folder.file_name().is_some_and(|name| name == BELOW_ROOT).then(|| folder.parent()).flatten()
}

/// Returns the path without links; what does not exist of it has none.
/// Fails where the folder that kq runs in is gone.
pub fn resolve(folder: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(folder)?;
    let found = absolute.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    let Some((above, mut real)) = found else { return Ok(absolute) };
    for part in absolute.strip_prefix(above).into_iter().flat_map(Path::components) {
        match part {
            Component::ParentDir => drop(real.pop()),
            part => real.push(part),
        }
    }
    Ok(real)
}

/// Refuses a folder that a kubelet uses, or may use: by its path, its content and its neighbours.
fn refuse_kubelets(real: &Path, folder: &Path, host_root: &Path) -> Result<(), FolderError> {
    refuse_below_kubelets(real, folder, host_root)?;
    for place in [Some(real), beside(real)].into_iter().flatten() {
        if let Some(name) = KUBELET_FILES.iter().find(|name| place.join(name).exists()) {
            let reason = format!("there is {}", place.join(name).display());
            return Err(FolderError::Kubelet { folder: folder.display().to_string(), reason });
        }
    }
    Ok(())
}

/// Refuses a folder that is, or is in, the root folder of a kubelet: the usual one's device plugins, and
/// all of one that runs. Folders are compared by device and inode, so no link and no mount hides them; those
/// that do not exist yet by their paths.
fn refuse_below_kubelets(real: &Path, folder: &Path, host_root: &Path) -> Result<(), FolderError> {
    let refuse =
        |reason: String| Err(FolderError::Kubelet { folder: folder.display().to_string(), reason });
    // Not to know is not to be alone.
    let running = suspects(host_root).and_then(|_| find_kubelets(host_root)).map_err(|error| {
        let reason = match &error {
            FindKubeletError::Processes { error: why, .. } => format!("{error}: {why}"),
            FindKubeletError::NoProcesses { .. } => error.to_string(),
        };
        FolderError::Unknown { folder: folder.display().to_string(), reason }
    })?;
    let usual = |row: &Row| (row.path.to_owned(), "the usual root folder of kubelets".to_owned());
    let mut roots: Vec<(String, String)> = rows(Place::RootFolder).map(usual).collect();
    roots.dedup();
    for kubelet in &running.trusted {
        let what = format!("the root folder of the kubelet in process {}", kubelet.pid);
        roots.extend(kubelet.interpreted().root_dir.map(|root| (root, what)));
    }
    let plugins = Path::new(PLUGIN_FOLDER).parent().map(|root| root.display().to_string());
    roots.extend(plugins.map(|root| (root, "the folder of every kubelet for plugins".to_owned())));
    for (root, what) in roots {
        for base in [host_root, Path::new("/")] {
            let place = base.join(root.trim_start_matches('/'));
            let Some(known) = identity(&place) else {
                if resolve(&place).is_ok_and(|place| real.starts_with(place)) {
                    return refuse(format!("it would be in {}, {what}", place.display()));
                }
                continue;
            };
            if let Some(above) = real.ancestors().find(|above| identity(above) == Some(known)) {
                return refuse(format!("it is in {}, {what}", above.display()));
            }
            let plugins = identity(&place.join(BELOW_ROOT));
            if plugins.is_some() && plugins == identity(real) {
                return refuse(format!("it is the folder {BELOW_ROOT} of {root}, {what}"));
            }
        }
    }
    Ok(())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::stat(path).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// Reads the checkpoint of a folder.
/// Fails where it is no regular file, larger than any checkpoint, or the system refuses.
pub fn read_checkpoint(folder: &Path) -> Result<Vec<u8>, ReadError> {
    read_in(folder, CHECKPOINT)
}

/// Reads a file of the folder; no link is followed, and nothing is opened that could wait.
pub(super) fn read_in(folder: &Path, name: &str) -> Result<Vec<u8>, ReadError> {
    let why = |error| match error {
        CheckpointFileError::Read { error, .. } => error,
        error => ReadError::System(error.to_string()),
    };
    let file = CheckpointFile::open(folder, &format!("/{name}")).map_err(why)?;
    file.read().map_err(why)
}

/// Keeps the checkpoint under another name, which is returned: the next one is written in its place, and
/// it may be needed. One that is damaged has that name alone.
pub fn keep_beside(folder: &Path, mark: &str) -> io::Result<String> {
    for number in 1..1_000 {
        let name = format!("{CHECKPOINT}.{mark}-{number}");
        // A link refuses a name that is taken, as a rename does not.
        match fs::hard_link(folder.join(CHECKPOINT), folder.join(&name)) {
            Ok(()) => {
                if mark == "damaged" {
                    fs::remove_file(folder.join(CHECKPOINT))?;
                }
                return Ok(name);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("a thousand checkpoints are kept already"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_damaged_file_is_kept_beside_those_before() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        for (number, text) in [(1, "first"), (2, "second")] {
            fs::write(folder.path().join(CHECKPOINT), text).expect("a file can be written");
            let name = keep_beside(folder.path(), "damaged").expect("it can be renamed");
            assert_eq!(name, format!("{CHECKPOINT}.damaged-{number}"));
            let kept = fs::read_to_string(folder.path().join(name)).expect("it is there");
            assert_eq!(kept, text);
            assert!(!folder.path().join(CHECKPOINT).exists());
        }
    }

    /// Makes a root folder with nothing but a process 1.
    fn host() -> tempfile::TempDir {
        let host = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir_all(host.path().join("proc/1")).expect("a folder can be made");
        let stat = format!("1 (init) S{}", " 0".repeat(40));
        fs::write(host.path().join("proc/1/stat"), stat).expect("a file can be written");
        host
    }

    #[test]
    fn where_no_processes_are_seen_nobody_can_tell() {
        let host = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir(host.path().join("proc")).expect("a folder can be made");
        let claimed = claim(&host.path().join("own"), host.path());
        assert!(matches!(claimed, Err(FolderError::Unknown { .. })), "{claimed:?}");
        assert!(!host.path().join("own").exists());
    }

    #[test]
    fn folders_of_kubelets_are_refused() {
        let host = host();
        let root = host.path();
        for folder in ["var/lib/kubelet/device-plugins/mine", "own", "old/device-plugins"] {
            fs::create_dir_all(root.join(folder)).expect("a folder can be made");
        }
        fs::write(root.join("old/cpu_manager_state"), "").expect("a file can be written");
        std::os::unix::fs::symlink(root.join("var/lib/kubelet/device-plugins"), root.join("link"))
            .expect("a link can be made");
        drop(UnixListener::bind(root.join("own/kubelet.sock")).expect("a socket can be made"));
        let rows = [
            ("one's own, with a dead socket", "own", true),
            ("a new one", "new/one", true),
            ("the kubelet's", "var/lib/kubelet/device-plugins", false),
            ("below it", "var/lib/kubelet/device-plugins/mine", false),
            ("a new one below its root", "var/lib/kubelet/new", false),
            ("a link to it", "link", false),
            ("beside state of a kubelet that does not run", "old/device-plugins", false),
        ];
        for (name, folder, is_free) in rows {
            let claimed = claim(&root.join(folder), root);
            assert_eq!(claimed.is_ok(), is_free, "{name}: {claimed:?}");
            assert!(is_free || matches!(claimed, Err(FolderError::Kubelet { .. })), "{name}");
        }
        assert!(!root.join("var/lib/kubelet/new").exists(), "nothing is made in it");
        let listener = UnixListener::bind(root.join("new/one/kubelet.sock")).expect("a socket");
        assert!(matches!(claim(&root.join("new/one"), root), Err(FolderError::Taken { .. })));
        drop(listener);
    }
    #[test]
    fn nothing_is_made_where_it_refuses() {
        let host = host();
        let root = fs::canonicalize(host.path()).expect("it is there");
        let long = "x".repeat(LONGEST_FOLDER);
        let rows = [
            ("var/lib/kubelet/device-plugins", "would be in"),
            ("var/lib/kubelet", "would be in"),
            ("new/../var/lib/kubelet/mine", "would be in"),
            (long.as_str(), "and may have 94"),
        ];
        for (folder, expected) in rows {
            let error = claim(&root.join(folder), &root).expect_err(folder).to_string();
            assert!(error.contains(expected), "{folder}: {error}");
            assert_eq!(entries(&root).expect("it can be read").len(), 1, "{folder}: /proc alone");
        }
        let claimed = claim(&root.join("no/../own"), &root).expect("no kubelet uses it");
        assert_eq!(claimed, root.join("own"));
        assert!(!root.join("no").exists());
    }

    #[test]
    fn the_longest_folder_has_room_for_a_socket() {
        let host = host();
        let root = fs::canonicalize(host.path()).expect("it is there");
        let left = LONGEST_FOLDER - root.as_os_str().len() - 1;
        let folder = claim(&root.join("x".repeat(left)), &root).expect("it is short enough");
        UnixListener::bind(folder.join("kubelet.sock")).expect("its name fits");
        assert!(claim(&root.join("x".repeat(left + 1)), &root).is_err());
    }
}
