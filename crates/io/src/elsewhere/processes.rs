//! The kubelet, the programs, the probes and the sockets of a live node on a system where there is none.

use crate::NEEDS_LINUX;

/// The kubelet's process.
pub mod kubelet_process {
    use super::NEEDS_LINUX;
    use std::path::Path;

    pub use kq_facts::kubelet_process::{KubeletSearch, StoppedKubelet};

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
    pub fn suspects(_root: &Path) -> Result<Vec<Suspect>, FindKubeletError> {
        Err(FindKubeletError)
    }

    /// Fails: it needs Linux.
    pub fn find_kubelet(_root: &Path) -> Result<KubeletSearch, FindKubeletError> {
        Err(FindKubeletError)
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
    pub fn listens(_socket: &Path) -> Result<bool, String> {
        Err(NEEDS_LINUX.to_owned())
    }
}

/// The versions of programs on the node.
pub mod program_version {
    use super::super::node::trust::TrustedProgram;
    use std::convert::Infallible;

    pub use kq_facts::runtime::ProgramVersion;

    /// Cannot be called: there is no program.
    pub fn program_version(program: &TrustedProgram) -> Result<ProgramVersion, Infallible> {
        match program.0 {}
    }
}
