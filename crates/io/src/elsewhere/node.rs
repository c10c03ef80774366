//! The readers of a live node on a system where there is none: a module for each of those for Linux.

use crate::NEEDS_LINUX;

/// The cgroups of the kernel that can be written.
pub mod cgroup_files {
    use super::NEEDS_LINUX;
    use kq_facts::cgroup_layout::CgroupLayout;
    use std::path::Path;

    /// The files of a machine's cgroups.
    #[derive(Debug)]
    pub struct KernelFiles(());

    impl KernelFiles {
        /// Returns files that can be neither read nor written.
        pub fn new(_host_root: &Path, _layout: &CgroupLayout) -> Self {
            Self(())
        }

        /// Fails: it needs Linux.
        pub fn read(&self, _cgroup: &str, _file: &str) -> Result<String, String> {
            Err(NEEDS_LINUX.to_owned())
        }

        /// Fails: it needs Linux.
        pub fn read_if_there(&self, _cgroup: &str, _file: &str) -> Result<Option<String>, String> {
            Err(NEEDS_LINUX.to_owned())
        }

        /// Fails: it needs Linux.
        pub fn write(&self, _cgroup: &str, _file: &str, _text: &str) -> Result<(), String> {
            Err(NEEDS_LINUX.to_owned())
        }
    }
}

pub mod cgroup_tree {
    use kq_facts::cgroup_layout::CgroupLayout;
    use kq_facts::cgroup_tree::CgroupTree;
    use std::path::Path;

    pub use kq_facts::cgroup_tree::TreeNeeds;

    /// Returns an empty tree.
    pub fn read_tree(_host_root: &Path, _layout: &CgroupLayout, _needs: &TreeNeeds) -> CgroupTree {
        CgroupTree::default()
    }
}

/// The checkpoint of the kubelet.
pub mod checkpoint_file {
    use super::{NEEDS_LINUX, host::ReadError};
    use std::convert::Infallible;
    use std::path::Path;

    /// A file in a folder that is held open: there are no values.
    #[derive(Debug)]
    pub struct CheckpointFile(Infallible);

    /// Why a file could not be read or written.
    #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
    pub enum CheckpointFileError {
        /// It cannot be read.
        #[error("cannot read {path}: {error}")]
        Read {
            /// The file.
            path: String,
            /// Why.
            error: ReadError,
        },
        /// There is a file already where a new one was to be.
        #[error("{0} is there already")]
        Exists(String),
        /// The new file may not be there after the machine stops.
        #[error("{path} is replaced, and cannot be made sure on the disk: {reason}")]
        NotSynced {
            /// The file.
            path: String,
            /// What the system said.
            reason: String,
        },
    }

    impl CheckpointFile {
        /// Fails: it needs Linux.
        pub fn open(_root: &Path, path: &str) -> Result<Self, CheckpointFileError> {
            let error = ReadError::System(NEEDS_LINUX.to_owned());
            Err(CheckpointFileError::Read { path: path.to_owned(), error })
        }

        /// Cannot be called: there is no such value.
        pub fn path(&self) -> &str {
            match self.0 {}
        }

        /// Cannot be called: there is no such value.
        pub fn read(&self) -> Result<Vec<u8>, CheckpointFileError> {
            match self.0 {}
        }

        /// Cannot be called: there is no such value.
        pub fn create_like(
            &self,
            _other: &Self,
            _content: &[u8],
        ) -> Result<(), CheckpointFileError> {
            match self.0 {}
        }

        /// Cannot be called: there is no such value.
        pub fn replace(
            &self,
            _expected: &[u8],
            _content: &[u8],
        ) -> Result<(), CheckpointFileError> {
            match self.0 {}
        }

        /// Cannot be called: there is no such value.
        pub fn remove(&self, _expected: &[u8]) -> Result<(), CheckpointFileError> {
            match self.0 {}
        }

        /// Cannot be called: there is no such value.
        /// Never.
        pub fn listens_beside(&self, _socket: &str) -> Result<bool, String> {
            match self.0 {}
        }

        /// Cannot be called: there is no such value.
        pub fn folder_identity(&self) -> Option<(u64, u64)> {
            match self.0 {}
        }
    }

    /// Returns the device and inode of a folder: they are not known.
    pub fn identity(_folder: &Path) -> Option<(u64, u64)> {
        None
    }
}

/// The kernel's texts, and the files below the node's root.
pub mod host {
    use super::NEEDS_LINUX;
    use crate::{input::plain, memory, open::open_input};
    use kq_facts::filesystems::{Filesystem, FolderUsage};
    use kq_facts::host::HostFacts;
    use kq_facts::mounts::Mounts;
    pub use kq_facts::read_error::ReadError;
    use kq_facts::state_files::StateFiles;
    use std::io::{ErrorKind, Read};
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    /// The largest file that kq reads of a host.
    pub const LIMIT: u64 = 16 << 20;

    fn needs_linux() -> ReadError {
        ReadError::System(NEEDS_LINUX.to_owned())
    }

    /// Reads a file that the operator named, by its path from `/`. Files below another root need Linux.
    /// Fails for anything but a readable file of at most `limit` bytes.
    pub fn read_beneath(root: &Path, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        if root != Path::new("/") {
            return Err(needs_linux());
        }
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => ReadError::Absent,
            _ => ReadError::System(plain(&error)),
        };
        let file = open_input(Path::new(path)).map_err(failed)?;
        let mut content = Vec::new();
        memory::Counting::new(path, file)
            .take(limit.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(failed)?;
        if content.len() as u64 > limit { Err(ReadError::TooLarge { limit }) } else { Ok(content) }
    }

    /// Fails: it needs Linux.
    pub fn lines_beneath(
        _root: &Path,
        _path: &str,
        _take: impl FnMut(&str) -> bool,
    ) -> Result<(), ReadError> {
        Err(needs_linux())
    }

    /// Fails: it needs Linux.
    pub fn list_beneath(_root: &Path, _path: &str) -> Result<Vec<String>, ReadError> {
        Err(needs_linux())
    }

    /// Fails: it needs Linux.
    pub fn link_beneath(_root: &Path, _path: &str) -> Result<String, ReadError> {
        Err(needs_linux())
    }

    /// Returns no texts.
    pub fn read_host(_root: &Path) -> HostFacts {
        HostFacts::default()
    }

    /// Returns no texts.
    pub fn read_state_files(_root: &Path, kubelet_root_dir: &str) -> StateFiles {
        StateFiles { folder: kubelet_root_dir.to_owned(), ..StateFiles::default() }
    }

    /// Returns no manifests.
    pub fn read_static_manifests(
        _root: &Path,
        _folder: &str,
    ) -> Vec<(String, Result<Vec<u8>, String>)> {
        Vec::new()
    }

    /// Returns the flag's folder, else `/`.
    pub fn host_root(flag: Option<&Path>) -> (PathBuf, String) {
        let because = if flag.is_some() { "given" } else { "no node is mounted at /host" };
        (flag.unwrap_or(Path::new("/")).to_owned(), because.to_owned())
    }

    /// Returns false: no folder has the `/proc` of a kernel.
    pub fn is_running(_root: &Path) -> bool {
        false
    }

    /// Returns that the processes are not visible.
    pub fn has_process(_root: &Path, _pid: i32) -> Option<bool> {
        None
    }

    /// Fails: it needs Linux.
    pub fn read_usage(
        _root: &Path,
        _folder: &str,
        _mounts: &Mounts,
        _time: Duration,
    ) -> Result<FolderUsage, String> {
        Err(NEEDS_LINUX.to_owned())
    }

    /// Fails: it needs Linux.
    pub fn read_filesystem(
        _root: &Path,
        _folder: &str,
        _mounts: &Mounts,
    ) -> Result<Filesystem, String> {
        Err(NEEDS_LINUX.to_owned())
    }
}

/// The file of image records.
pub mod image_records {
    use super::NEEDS_LINUX;
    use super::host::read_beneath;
    use super::trust::{NamedBy, read_trusted};
    use kq_facts::image_records::{ImageRecords, LARGEST};
    use kq_facts::lookup::Lookup;
    use std::marker::PhantomData;
    use std::path::Path;
    use std::time::Duration;

    /// Why nothing was recorded.
    #[derive(Debug, thiserror::Error)]
    pub enum RecordFileError<E: std::error::Error + 'static> {
        /// It needs Linux.
        #[error("cannot write {path}: {NEEDS_LINUX}")]
        NeedsLinux {
            /// As it was given.
            path: String,
        },
        /// There are no new records.
        #[error(transparent)]
        Record(E),
    }

    impl<E: std::error::Error + 'static> RecordFileError<E> {
        /// Returns what can be done about it: nothing.
        pub fn hint(&self) -> Option<&'static str> {
            None
        }
    }

    /// Reads the records of a file that the operator named; those of a node need Linux.
    pub fn read_records(root: &Path, path: &str, named_by: NamedBy) -> Lookup<ImageRecords> {
        let read = match named_by {
            NamedBy::Operator => read_beneath(root, path, LARGEST as u64),
            NamedBy::Node => read_trusted(root, path, LARGEST as u64),
        };
        match read.map(|bytes| ImageRecords::parse(&bytes)) {
            Ok(Ok(records)) => Lookup::found(path, records),
            Ok(Err(error)) => Lookup::failed(path, format!("no records of images: {error}")),
            Err(error) => Lookup::failed(path, error.to_string()),
        }
    }

    /// A file of records that is to be written.
    #[derive(Clone, Debug)]
    pub struct RecordFile {
        path: String,
        /// Written on Linux only.
        _needs_linux: PhantomData<()>,
    }

    impl RecordFile {
        /// Names a file by its path on the node.
        pub fn new(_host_root: &Path, path: &str) -> Self {
            Self { path: path.to_owned(), _needs_linux: PhantomData }
        }

        /// Fails: it needs Linux.
        pub fn update<E: std::error::Error + 'static>(
            &self,
            _timeout: Duration,
            _next: impl FnOnce(Option<&ImageRecords>) -> Result<ImageRecords, E>,
        ) -> Result<ImageRecords, RecordFileError<E>> {
            Err(RecordFileError::NeedsLinux { path: self.path.clone() })
        }
    }
}

/// The files that a start of the kubelet reads.
pub mod start_files {
    use kq_facts::start_files::{FileUse, StartFiles};
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Reads nothing.
    pub fn read_start_files(_root: &Path, _named: &BTreeMap<String, FileUse>) -> StartFiles {
        StartFiles::default()
    }
}

/// The files of the node that kq trusts.
pub mod trust {
    use super::NEEDS_LINUX;
    use super::host::{ReadError, read_beneath};
    use std::convert::Infallible;
    use std::path::Path;

    pub use kq_facts::lookup::NamedBy;

    fn needs_linux() -> ReadError {
        ReadError::System(NEEDS_LINUX.to_owned())
    }

    /// Reads a file as [`read_beneath`] does: the user's own, such as a kubeconfig, whose owner is not checked.
    pub fn read_trusted(root: &Path, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        read_beneath(root, path, limit)
    }

    /// Fails: it needs Linux.
    pub fn list_trusted(_root: &Path, _path: &str) -> Result<Vec<String>, ReadError> {
        Err(needs_linux())
    }

    /// Fails: it needs Linux.
    pub fn files_trusted(_root: &Path, _folder: &str) -> Result<Vec<String>, ReadError> {
        Err(needs_linux())
    }

    /// Returns false: it needs Linux.
    pub fn is_folder(_root: &Path, _path: &str) -> bool {
        false
    }

    /// The owner of a file that names other files: it is not checked.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Namer;

    impl Namer {
        pub fn of(_file: &std::fs::File, _path: &Path) -> Result<Self, ReadError> {
            Ok(Self)
        }

        pub fn refuses(&self, _named: &std::fs::File) -> Result<Option<String>, ReadError> {
            Ok(None)
        }

        /// Refuses nothing: as for kubectl, the user's own files are not checked here.
        pub fn refuses_programs(&self) -> Option<String> {
            None
        }
    }

    /// Returns false: the rules for root need Linux.
    pub fn is_root() -> bool {
        false
    }

    /// A trusted program: there are none.
    #[derive(Debug)]
    pub struct TrustedProgram(pub Infallible);

    impl TrustedProgram {
        /// Fails: it needs Linux.
        pub fn find(_root: &Path, _path: &str) -> Result<Self, ReadError> {
            Err(needs_linux())
        }

        /// Fails: it needs Linux.
        pub fn of_process(_root: &Path, _pid: i32) -> Result<Self, ReadError> {
            Err(needs_linux())
        }

        /// Cannot be called: there is no program.
        pub fn path(&self) -> &str {
            match self.0 {}
        }
    }
}
