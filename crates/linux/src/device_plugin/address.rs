//! Plugin sockets by the folder that they are in.
//!
//! In a folder of the node, only the path of the kubelet's own folder may have links, and these stay beneath the node's root.
//! From there on no link is followed, and a socket is connected to by its own descriptor.

use super::folder::{BELOW_ROOT, CHECKPOINT, Entry, entries, read_checkpoint};
use kq_facts::devices::PLUGIN_FOLDER;
use kq_facts::kubelet_process::DEFAULT_ROOT_DIR;
use kq_io::checkpoint_file::{CheckpointFile, CheckpointFileError};
use kq_io::host::{ReadError, expect_kind, open_path, system};
use kq_io::input::plain;
use kq_io::listener::OpenSocket;
use kq_io::watchdog::reading;
use rustix::fs::{FileType, Mode, OFlags, openat, readlink};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// The folder of the kubelet's plugin watcher, below the kubelet's root folder.
pub const REGISTRY: &str = "plugins_registry";

/// The folder in which drivers have their sockets, below the kubelet's root folder.
const PLUGINS: &str = "plugins";

/// A folder of sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketFolder {
    root: PathBuf,
    /// Its path beneath the root, or a folder above.
    base: PathBuf,
    /// The rest of its path, without links.
    below: PathBuf,
}

impl SocketFolder {
    /// Returns a folder beneath the node's root.
    pub fn of_node(root: &Path, path: impl Into<PathBuf>) -> Self {
        Self { root: root.to_owned(), base: path.into(), below: PathBuf::new() }
    }

    /// Returns a folder that the operator named.
    pub fn named(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self::of_node(Path::new("/"), std::fs::canonicalize(path).unwrap_or(absolute))
    }

    /// Returns a folder in this one.
    #[must_use]
    pub fn folder(&self, name: &OsStr) -> Self {
        Self { below: self.below.join(name), ..self.clone() }
    }

    /// Returns something in this folder.
    pub fn socket(&self, name: &OsStr) -> SocketAddress {
        SocketAddress { folder: self.clone(), name: name.to_owned() }
    }

    /// Returns its path on the node.
    pub fn on_node(&self) -> PathBuf {
        Path::new("/").join(&self.base).join(&self.below)
    }

    /// Returns its path as this machine names it, which may have links.
    pub fn shown(&self) -> PathBuf {
        let on_node = self.on_node();
        self.root.join(on_node.strip_prefix("/").unwrap_or(&on_node))
    }

    /// Returns its path as this machine names it, without links.
    pub fn real(&self) -> PathBuf {
        let real = || {
            let folder = self.open().ok()?;
            let path = readlink(inside(&folder), Vec::new()).ok()?;
            path.into_string().ok().map(PathBuf::from)
        };
        real().unwrap_or_else(|| self.shown())
    }

    /// Lists the folder, in the order of names.
    /// Fails where it is no folder that can be read.
    pub fn entries(&self) -> Result<Vec<Entry>, ReadError> {
        let folder = self.open()?;
        let _reading = reading(&self.on_node().to_string_lossy());
        entries(&inside(&folder)).map_err(|error| ReadError::System(plain(&error)))
    }

    /// Reads the checkpoint in it.
    /// Fails where it is no regular file, larger than any checkpoint, or the system refuses.
    pub fn read_checkpoint(&self) -> Result<Vec<u8>, ReadError> {
        if self.root == Path::new("/") {
            return read_checkpoint(&self.on_node());
        }
        let why = |error| match error {
            CheckpointFileError::Read { error, .. } => error,
            error => ReadError::System(error.to_string()),
        };
        let path = self.on_node().join(CHECKPOINT);
        CheckpointFile::open(&self.root, &path.to_string_lossy())
            .and_then(|file| file.read())
            .map_err(why)
    }

    fn open(&self) -> Result<OwnedFd, ReadError> {
        let mut folder = open_path(&self.root, &self.base, OFlags::PATH)?;
        for part in &self.below {
            let _reading = reading(&part.to_string_lossy());
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = openat(&folder, part, flags, Mode::empty()).map_err(system)?;
        }
        expect_kind(&folder, FileType::Directory)?;
        Ok(folder)
    }
}

/// A socket by its name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketAddress {
    folder: SocketFolder,
    name: OsString,
}

impl SocketAddress {
    /// Opens the socket, without connecting to it.
    /// Fails for anything but a socket; a link is none.
    pub fn open(&self) -> Result<OpenSocket, ReadError> {
        OpenSocket::open_in(&self.folder.open()?, &self.name)
    }

    /// Returns its path on the node.
    pub fn on_node(&self) -> PathBuf {
        self.folder.on_node().join(&self.name)
    }

    /// Returns its path as this machine names it.
    pub fn shown(&self) -> PathBuf {
        self.folder.shown().join(&self.name)
    }
}

/// The folders of a node in which a plugin may name the socket that it serves.
#[derive(Clone, Debug)]
pub struct EndpointFolders(Vec<SocketFolder>);

impl EndpointFolders {
    /// Returns the folders of a kubelet: the usual ones, and those in its root folder.
    pub fn of_node(root: &Path, root_dir: Option<&str>) -> Self {
        let roots = [DEFAULT_ROOT_DIR].into_iter().chain(root_dir);
        let in_root =
            |dir: &str| [BELOW_ROOT, REGISTRY, PLUGINS].map(|name| Path::new(dir).join(name));
        let paths = roots.flat_map(in_root).chain([PathBuf::from(PLUGIN_FOLDER)]);
        Self(paths.map(|path| SocketFolder::of_node(root, path)).collect())
    }

    /// Returns the socket that a plugin named.
    /// Fails with the reason for a path that is in none of the folders.
    pub fn socket(&self, endpoint: &str) -> Result<SocketAddress, String> {
        let path = Path::new("/").join(endpoint);
        let in_folder = |folder: &SocketFolder| {
            let below = path.strip_prefix(&folder.base).ok()?;
            let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
            let (name, above) = (below.file_name()?, below.parent()?);
            is_plain.then(|| folder.folder(above.as_os_str()).socket(name))
        };
        self.0.iter().find_map(in_folder).ok_or_else(|| {
            format!(
                "not called: it names {endpoint}, which is not in a plugin folder of the kubelet"
            )
        })
    }
}

/// Returns a path to a folder as long as it is open.
fn inside(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_in_a_plugin_folder() {
        let folders = EndpointFolders::of_node(Path::new("/host"), Some("/data/kubelet"));
        for (endpoint, is_taken) in [
            ("/var/lib/kubelet/device-plugins/gpu.sock", true),
            ("var/lib/kubelet/device-plugins/gpu.sock", true),
            ("/var/lib/kubelet/plugins/gpu.example.com/plugin.sock", true),
            ("/data/kubelet/plugins_registry/gpu.sock", true),
            ("/data/kubelet/device-plugins/gpu.sock", true),
            ("/run/containerd/containerd.sock", false),
            ("/var/lib/kubelet/device-plugins", false),
            ("/var/lib/kubelet/device-plugins/../pod-resources/kubelet.sock", false),
            ("/var/lib/kubelet/device-plugins/..", false),
            ("/var/lib/kubelet/device-plugins-of-mine/gpu.sock", false),
            ("/var/lib/kubelet/pod-resources/kubelet.sock", false),
            ("../../run/gpu.sock", false),
            ("/", false),
        ] {
            let found = folders.socket(endpoint);
            assert_eq!(found.is_ok(), is_taken, "{endpoint}: {found:?}");
            if let Ok(found) = found {
                let expected = Path::new("/").join(endpoint);
                assert_eq!(found.on_node(), expected);
                assert_eq!(
                    found.shown(),
                    Path::new("/host").join(&expected.to_string_lossy()[1..])
                );
            }
        }
    }

    #[test]
    fn no_link_leads_to_a_socket_of_another_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("plugins/real")).expect("folders");
        let outside = folder.path().join("outside");
        std::fs::create_dir(&outside).expect("a folder");
        let listen = |path: PathBuf| std::os::unix::net::UnixListener::bind(path).expect("bound");
        let _listeners = [
            listen(outside.join("x.sock")),
            listen(root.join("plugins/x.sock")),
            listen(root.join("plugins/real/x.sock")),
        ];
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, root.join(name)).expect("a link");
        };
        link(Path::new("/plugins"), "inside");
        link(&outside, "escaping");
        link(&outside, "plugins/escaping");
        link(Path::new("real"), "plugins/linked");
        link(Path::new("x.sock"), "plugins/link.sock");
        for (base, below, name, is_found) in [
            ("/plugins", "", "x.sock", true),
            ("/plugins", "real", "x.sock", true),
            ("/inside", "real", "x.sock", true),
            ("/escaping", "", "x.sock", false),
            ("/plugins", "escaping", "x.sock", false),
            ("/plugins", "linked", "x.sock", false),
            ("/plugins", "", "link.sock", false),
            ("/plugins", "", "real", false),
        ] {
            let folder = SocketFolder::of_node(&root, base).folder(below.as_ref());
            let opened = folder.socket(name.as_ref()).open();
            assert_eq!(opened.is_ok(), is_found, "{base} {below} {name}: {opened:?}");
        }
    }
}
