//! The kubelet, the programs, the probes and the sockets of a live node on a system where there is none.

use crate::NEEDS_LINUX;

/// The kubelet's process.
pub mod kubelet_process {
    use super::NEEDS_LINUX;
    use kq_facts::kubelet_process::KubeletProcess;
    use kq_facts::lookup::Lookup;
    use std::path::Path;

    /// The reason if the processes could be listed and none is a kubelet.
    pub const NONE_RUNS: &str = "no kubelet runs on this node";

    /// Why the processes could not be listed.
    #[derive(Debug, thiserror::Error)]
    #[error("cannot list processes: {NEEDS_LINUX}")]
    pub struct FindKubeletError;

    /// A process that is, or may be, a kubelet.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Suspect {
        /// Its number.
        pub pid: i32,
        /// Why it is uncertain.
        pub doubt: Option<String>,
        /// The root folder of the kubelet, where it is known.
        pub root_dir: Option<String>,
    }

    impl Suspect {
        /// Returns false: no folder is known.
        pub fn owns(&self, _identity: Option<(u64, u64)>) -> bool {
            false
        }

        /// Returns false: no folder is known.
        pub fn is_elsewhere(&self, _identity: Option<(u64, u64)>) -> bool {
            false
        }
    }

    /// Fails: it needs Linux.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn suspects(_root: &Path) -> Result<Vec<Suspect>, FindKubeletError> {
        Err(FindKubeletError)
    }

    /// Fails: it needs Linux.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn find_kubelet(_root: &Path) -> Result<Lookup<KubeletProcess>, FindKubeletError> {
        Err(FindKubeletError)
    }

    /// The start command of a kubelet that is not running.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct StoppedKubelet {
        /// Its source.
        pub source: String,
        /// Its command line.
        pub process: KubeletProcess,
    }

    /// Returns `None`: it is unknown.
    pub fn stopped_kubelet(_root: &Path) -> Option<StoppedKubelet> {
        None
    }
}

/// The listeners on unix sockets.
pub mod listener {
    use super::NEEDS_LINUX;
    use std::path::{Path, PathBuf};

    /// An open socket: there are no values.
    #[derive(Debug)]
    pub enum OpenSocket {}

    impl OpenSocket {
        /// Is never called.
        pub fn path(&self) -> PathBuf {
            match *self {}
        }
    }

    /// Fails: it needs Linux.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn listens(_socket: &Path) -> Result<bool, String> {
        Err(NEEDS_LINUX.to_owned())
    }
}

/// Probes on the wire.
pub mod probe {
    /// Runs probes.
    pub mod run {
        use super::super::NEEDS_LINUX;
        use kq_facts::timestamp::Timestamp;
        use kq_k8s::kubelet_rules::KubeletRules;
        use kq_k8s::pod::ProbeType;
        use kq_probe::{Conclusion, Job};
        use std::io::{self, ErrorKind};
        use std::path::{Path, PathBuf};
        use std::time::Duration;

        /// The transport of probes.
        #[derive(Clone, Debug)]
        pub struct Wire {
            /// The container runtime, for commands.
            pub endpoint: Option<String>,
            /// The root directory of the node.
            pub host_root: PathBuf,
            /// `runtimeRequestTimeout`
            pub runtime_request_timeout: Duration,
            /// The rules of the kubelet that is imitated.
            pub rules: KubeletRules,
        }

        /// A probe to send.
        #[derive(Clone, Copy, Debug)]
        pub struct Sending<'a> {
            /// What to send.
            pub job: &'a Job,
            /// The kind of probe, which its event names.
            pub probe_type: ProbeType,
            /// `timeoutSeconds`
            pub timeout_seconds: i32,
        }

        /// The result of a probe.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Ran {
            /// The start.
            pub at: Timestamp,
            /// The conclusion of its attempts.
            pub conclusion: Conclusion,
            /// The duration of each attempt, in microseconds.
            pub times_us: Vec<u64>,
        }

        /// Fails: it needs Linux.
        ///
        /// # Errors
        ///
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
            ///
            /// # Errors
            ///
            /// Always.
            pub fn of_process(_root: &Path, _pid: i32) -> io::Result<Self> {
                Err(io::Error::new(ErrorKind::Unsupported, NEEDS_LINUX))
            }

            /// Is never called.
            ///
            /// # Errors
            ///
            /// There is no value to call it with.
            pub fn enter<T: Send>(&self, _run: impl FnOnce() -> T + Send) -> io::Result<T> {
                match *self {}
            }
        }
    }
}

/// The versions of programs on the node.
pub mod program_version {
    use super::super::node::trust::TrustedProgram;
    use std::convert::Infallible;

    /// A program's name and version.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ProgramVersion {
        /// `runc`, `crun`, `Kubernetes`
        pub name: String,
        /// As the program prints it.
        pub version: String,
    }

    /// Cannot be called: there is no program.
    ///
    /// # Errors
    ///
    /// None.
    pub fn program_version(program: &TrustedProgram) -> Result<ProgramVersion, Infallible> {
        match program.0 {}
    }
}

/// The folder of device plugins.
pub mod folder {
    use std::ffi::OsString;

    /// The file in which the device manager remembers.
    pub const CHECKPOINT: &str = "kubelet_internal_checkpoint";

    /// The socket on which plugins register (`KubeletSocket`).
    pub const KUBELET_SOCKET: &str = "kubelet.sock";

    /// The socket of a fake kubelet.
    pub const CONTROL_SOCKET: &str = "kq.sock";

    /// The folder of device plugins below a kubelet's root folder.
    pub const BELOW_ROOT: &str = "device-plugins";

    /// Something in the folder.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Entry {
        /// Its name, which need not be UTF-8.
        pub name: OsString,
        pub is_socket: bool,
        pub is_folder: bool,
        /// Its size.
        pub bytes: u64,
    }

    impl Entry {
        /// Returns its name as it is shown.
        pub fn shown(&self) -> String {
            self.name.to_string_lossy().into_owned()
        }
    }
}

/// The sockets of plugins.
pub mod address {
    use super::NEEDS_LINUX;
    use super::folder::Entry;
    use crate::host::ReadError;
    use crate::listener::OpenSocket;
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
        ///
        /// # Errors
        ///
        /// Always.
        pub fn entries(&self) -> Result<Vec<Entry>, ReadError> {
            Err(ReadError::System(NEEDS_LINUX.to_owned()))
        }

        /// Fails: it needs Linux.
        ///
        /// # Errors
        ///
        /// Always.
        pub fn read_checkpoint(&self) -> Result<Vec<u8>, ReadError> {
            Err(ReadError::System(NEEDS_LINUX.to_owned()))
        }
    }

    /// A socket by its name in a folder.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SocketAddress(PathBuf);

    impl SocketAddress {
        /// Fails: it needs Linux.
        ///
        /// # Errors
        ///
        /// Always.
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
        ///
        /// # Errors
        ///
        /// Always.
        pub fn socket(&self, _endpoint: &str) -> Result<SocketAddress, String> {
            Err(NEEDS_LINUX.to_owned())
        }
    }
}

/// The unix sockets of the kernel.
pub mod unix_sockets {
    use super::NEEDS_LINUX;
    use kq_facts::unix_sockets::UnixSocket;
    use kq_managers::plugins::Process;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Fails: it needs Linux.
    ///
    /// # Errors
    ///
    /// Always.
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
    ///
    /// # Errors
    ///
    /// Always.
    pub fn diagnose() -> Result<BTreeMap<u64, Diagnosis>, String> {
        Err(NEEDS_LINUX.to_owned())
    }
}
