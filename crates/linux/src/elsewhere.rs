//! What takes the place of probes and of the sockets of plugins on macOS and Windows: each fails with the reason.

/// Probes on the wire.
pub mod probe {
    /// Runs probes.
    pub mod run {
        use kq_io::NEEDS_LINUX;
        use kq_probe::wire::{Ran, Sending, Wire};
        use std::io::{self, ErrorKind};
        use std::path::Path;

        /// Fails: it needs Linux.
        /// Where there is a probe.
        pub fn run_probes(sendings: &[Sending<'_>], _wire: &Wire) -> io::Result<Vec<Ran>> {
            match sendings {
                [] => Ok(Vec::new()),
                _ => Err(io::Error::new(ErrorKind::Unsupported, NEEDS_LINUX)),
            }
        }

        /// The network of a process: there are no values.
        #[derive(Debug)]
        pub enum Network {}

        impl Network {
            /// Fails: it needs Linux.
            pub fn of_process(_root: &Path, _pid: i32) -> io::Result<Self> {
                Err(io::Error::new(ErrorKind::Unsupported, NEEDS_LINUX))
            }

            /// Is never called.
            pub fn enter<T: Send>(&self, _run: impl FnOnce() -> T + Send) -> io::Result<T> {
                match *self {}
            }
        }
    }
}

/// systemd on the system bus.
pub mod systemd_bus {
    use kq_facts::unit::{Properties, Property};
    use kq_io::NEEDS_LINUX;
    use std::path::Path;

    /// A connection to the system bus: there are no values.
    #[derive(Debug)]
    pub enum SystemdBus {}

    impl SystemdBus {
        /// Fails: it needs Linux.
        pub fn of_node(_root: &Path) -> Result<Self, &'static str> {
            Err(NEEDS_LINUX)
        }

        /// Is never called.
        pub fn property(&self, _cgroup: &str, _name: &str) -> Result<Property, &'static str> {
            match *self {}
        }

        /// Is never called.
        pub fn set(&self, _cgroup: &str, _properties: &Properties) -> Result<(), &'static str> {
            match *self {}
        }
    }
}

/// The folder of device plugins.
pub mod folder {
    pub use kq_facts::devices::{
        BELOW_ROOT, CHECKPOINT_NAME as CHECKPOINT, CONTROL_SOCKET, Entry, KUBELET_SOCKET,
    };
}

/// The sockets of plugins.
pub mod address {
    use super::folder::Entry;
    use kq_io::NEEDS_LINUX;
    use kq_io::host::ReadError;
    use kq_io::listener::OpenSocket;
    use std::ffi::OsStr;
    use std::path::{Path, PathBuf};

    /// The folder of the kubelet's plugin watcher.
    pub const REGISTRY: &str = "plugins_registry";

    /// A folder of sockets.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SocketFolder(PathBuf);

    impl SocketFolder {
        /// Returns a folder, which is not read.
        pub fn of_node(root: &Path, path: impl Into<PathBuf>) -> Self {
            Self(root.join(path.into()))
        }

        /// Returns a folder, which is not read.
        pub fn named(path: &Path) -> Self {
            Self(path.to_owned())
        }

        /// Returns a folder in this one.
        #[must_use]
        pub fn folder(&self, name: &OsStr) -> Self {
            Self(self.0.join(name))
        }

        /// Returns something in this folder.
        pub fn socket(&self, name: &OsStr) -> SocketAddress {
            SocketAddress(self.0.join(name))
        }

        /// Returns its path.
        pub fn shown(&self) -> PathBuf {
            self.0.clone()
        }

        /// Returns its path.
        pub fn real(&self) -> PathBuf {
            self.0.clone()
        }

        /// Fails: it needs Linux.
        pub fn entries(&self) -> Result<Vec<Entry>, ReadError> {
            Err(ReadError::System(NEEDS_LINUX.to_owned()))
        }

        /// Fails: it needs Linux.
        pub fn read_checkpoint(&self) -> Result<Vec<u8>, ReadError> {
            Err(ReadError::System(NEEDS_LINUX.to_owned()))
        }
    }

    /// A socket by its name in a folder.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SocketAddress(PathBuf);

    impl SocketAddress {
        /// Fails: it needs Linux.
        pub fn open(&self) -> Result<OpenSocket, ReadError> {
            Err(ReadError::System(NEEDS_LINUX.to_owned()))
        }

        /// Returns its path.
        pub fn on_node(&self) -> PathBuf {
            self.0.clone()
        }

        /// Returns its path.
        pub fn shown(&self) -> PathBuf {
            self.0.clone()
        }
    }

    /// The folders in which a plugin may name a socket.
    #[derive(Clone, Debug)]
    pub struct EndpointFolders;

    impl EndpointFolders {
        /// Returns no folders.
        pub fn of_node(_root: &Path, _root_dir: Option<&str>) -> Self {
            Self
        }

        /// Fails: it needs Linux.
        pub fn socket(&self, _endpoint: &str) -> Result<SocketAddress, String> {
            Err(NEEDS_LINUX.to_owned())
        }
    }
}

/// The unix sockets of the kernel.
pub mod unix_sockets {
    use kq_facts::unix_sockets::Process;
    use kq_facts::unix_sockets::UnixSocket;
    use kq_io::NEEDS_LINUX;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Fails: it needs Linux.
    pub fn table(_host_root: &Path) -> Result<Vec<UnixSocket>, String> {
        Err(NEEDS_LINUX.to_owned())
    }

    /// Returns no processes.
    pub fn holders(_host_root: &Path, _inodes: &[u64]) -> BTreeMap<u64, Process> {
        BTreeMap::new()
    }

    /// What the kernel reports of a socket in addition to the table.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Diagnosis {
        /// The inode of the socket at the other end.
        pub peer: Option<u64>,
        /// The file by which it was bound.
        pub file: Option<FileId>,
    }

    /// A file: there are no values.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FileId {}

    impl FileId {
        /// Returns `None`: the file cannot be looked at.
        pub fn of(_path: &Path) -> Option<Self> {
            None
        }
    }

    /// Fails: it needs Linux.
    pub fn diagnose() -> Result<BTreeMap<u64, Diagnosis>, String> {
        Err(NEEDS_LINUX.to_owned())
    }
}
