//! The file of image records: any process reads it, one at a time writes it.
//!
//! A writer holds a lock from before it reads until after it has written, so that two never lose what
//! the other recorded. The file is replaced as a whole ([`crate::replace`]) in a folder that is held open,
//! found beneath the node's root, so that no stranger's link and no rename on the way leads anywhere else. A sibling
//! that is found under the lock is what a writer left that was killed, and is removed.
//!
//! All may read the file, unless the umask says otherwise: it names images and times, which every user
//! sees in the list of pods. Only its owner may open the lock, or any user could keep kq from recording.

use crate::host::{ReadError, kind_name, read_beneath};
use crate::input::plain;
use crate::lock_file::{LockError, LockFile};
use crate::memory;
use crate::place::folder_to_write;
use crate::replace::{Access, NotReplaced, Sibling, is_left_behind};
use crate::trust::{NamedBy, read_trusted};
use crate::watchdog::reading;
use kq_facts::image_records::{ImageRecords, LARGEST, RecordsError};
use kq_facts::lookup::Lookup;
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why nothing was recorded. The file is what it was before, unless the disk failed while it was syncing
/// to keep the new one.
#[derive(Debug, thiserror::Error)]
pub enum RecordFileError<E: std::error::Error + 'static> {
    /// The path cannot be one of a file.
    #[error("{path:?} is not an absolute path of a file")]
    Path {
        /// As it was given.
        path: String,
    },
    /// The system refused.
    #[error("cannot {action} {path}: {reason}")]
    System {
        /// What was to be done.
        action: &'static str,
        /// With which file or folder.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// There is something that kq neither reads nor replaces.
    #[error("{path} is {found}, expected a file")]
    Kind {
        path: String,
        /// What is there.
        found: &'static str,
    },
    /// Another process has the lock.
    #[error("{} has held {path} for more than {waited:?}", holder.as_deref().unwrap_or("another process"))]
    Locked {
        /// The file that is locked.
        path: String,
        /// Who wrote its name into it: `process 1234`.
        holder: Option<String>,
        /// How long it was waited for.
        waited: Duration,
    },
    /// What is in the file are no records.
    #[error("{path} has no records of images")]
    Content {
        path: String,
        /// What is wrong.
        source: RecordsError,
    },
    /// The new records could not be read again.
    #[error("the records for {path} are not written")]
    Unreadable {
        path: String,
        /// What is wrong.
        source: RecordsError,
    },
    /// There are no new records.
    #[error(transparent)]
    Record(E),
}

impl<E: std::error::Error + 'static> RecordFileError<E> {
    /// Returns what can be done about it, as a sentence without a full stop.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Content { .. } => Some(
                "kq does not overwrite a file that it cannot read: move the file away to start new records",
            ),
            Self::Kind { .. } => Some("name another path, or move the present one away"),
            Self::Locked { .. } => Some("another kq is recording: end it, or wait for it"),
            Self::System { reason, .. } if reason == "permission denied" => Some("run as root"),
            _ => None,
        }
    }
}

/// Reads the records of a node, from a file beneath its root; one that the operator did not name must be trusted.
pub fn read_records(host_root: &Path, path: &str, named_by: NamedBy) -> Lookup<ImageRecords> {
    let _reading = reading(path);
    let read = match named_by {
        NamedBy::Operator => read_beneath(host_root, path, LARGEST as u64),
        NamedBy::Node => read_trusted(host_root, path, LARGEST as u64),
    };
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) => return Lookup::failed(path, error.to_string()),
    };
    match ImageRecords::parse(&bytes) {
        Ok(records) => Lookup::found(path, records),
        Err(error) => Lookup::failed(path, format!("no records of images: {error}")),
    }
}

/// A file of records that is to be written.
#[derive(Clone, Debug)]
pub struct RecordFile {
    host_root: PathBuf,
    path: String,
}

impl RecordFile {
    /// Names a file by its path on the node.
    pub fn new(host_root: &Path, path: &str) -> Self {
        Self { host_root: host_root.to_owned(), path: path.to_owned() }
    }

    /// Replaces the records by what follows from them, and returns that. When this returns, they are
    /// on the disk.
    ///
    /// `next` is called under the lock. What it is to record is to be looked at there, the clock too:
    /// what was seen before the lock may be older than what the one before recorded. `timeout` is how
    /// long the lock is waited for.
    ///
    /// A missing folder is made, but only the last one: that of a node has its parent everywhere, and a
    /// path of which more is missing is mistyped, or beneath the wrong root.
    /// Fails where the system refuses, for what is not a file of records, when the lock cannot be had,
    /// and as `next` does.
    pub fn update<E: std::error::Error + 'static>(
        &self,
        timeout: Duration,
        next: impl FnOnce(Option<&ImageRecords>) -> Result<ImageRecords, E>,
    ) -> Result<ImageRecords, RecordFileError<E>> {
        let (folder, name) = self.folder()?;
        let place = Place { folder, path: &self.path, name };
        let _lock = place.lock(timeout)?;
        place.clear();
        let before = place.read()?;
        let after = next(before.as_ref()).map_err(RecordFileError::Record)?;
        let bytes = serde_json::to_vec(&after).map_err(|error| RecordFileError::System {
            action: "store the records for",
            path: self.path.clone(),
            reason: error.to_string(),
        })?;
        // Whatever is written is read before the next time, which must not fail.
        ImageRecords::parse(&bytes)
            .map_err(|source| RecordFileError::Unreadable { path: self.path.clone(), source })?;
        place.replace(&bytes)?;
        Ok(after)
    }

    /// Opens the folder, which is made if need be, and returns it with the name in it.
    fn folder<E: std::error::Error>(&self) -> Result<(OwnedFd, &str), RecordFileError<E>> {
        let no_file = || RecordFileError::Path { path: self.path.clone() };
        let (folder, name) = self.path.rsplit_once('/').ok_or_else(no_file)?;
        if !self.path.starts_with('/') || matches!(name, "" | "." | "..") || name.contains('\0') {
            return Err(no_file());
        }
        let open =
            |path: &str| folder_to_write(&self.host_root, if path.is_empty() { "/" } else { path });
        let failed = |action, path: &str, reason: String| RecordFileError::System {
            action,
            path: path.to_owned(),
            reason,
        };
        let opened = match open(folder) {
            Err(ReadError::Absent) => {
                let trimmed = folder.trim_end_matches('/');
                let (parent, last) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
                let above = open(parent)
                    .map_err(|error| failed("open the folder", parent, error.to_string()))?;
                match fs::mkdirat(&above, last, Mode::from_raw_mode(0o755)) {
                    // EXIST: another one was quicker.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(failed("make the folder", trimmed, words(error))),
                }
                // Without it, the folder may be gone after a crash, and the records with it.
                fs::fsync(&above)
                    .map_err(|error| failed("make the folder", trimmed, words(error)))?;
                open(folder)
            }
            opened => opened,
        };
        let opened =
            opened.map_err(|error| failed("open the folder", folder, error.to_string()))?;
        Ok((opened, name))
    }
}

/// The folder with the file, its sibling and its lock.
struct Place<'a> {
    folder: OwnedFd,
    path: &'a str,
    name: &'a str,
}

impl Place<'_> {
    /// Waits for the lock, which ends when what is returned goes, also by being killed.
    fn lock<E: std::error::Error>(
        &self,
        timeout: Duration,
    ) -> Result<LockFile, RecordFileError<E>> {
        let (name, path) = (format!("{}.lock", self.name), format!("{}.lock", self.path));
        LockFile::take(&self.folder, &name, timeout).map_err(|error| match error {
            LockError::Kind(found) => RecordFileError::Kind { path, found },
            LockError::Held(holder) => {
                let holder = holder.map(|process| format!("process {process}"));
                RecordFileError::Locked { path, holder, waited: timeout }
            }
            error => RecordFileError::System { action: "lock", path, reason: error.reason() },
        })
    }

    /// Removes what writers left that were killed.
    fn clear(&self) {
        for entry in Dir::read_from(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_ok_and(|found| is_left_behind(found, self.name)) {
                let _ = fs::unlinkat(&self.folder, entry.file_name(), AtFlags::empty());
            }
        }
    }

    /// Reads the records; `None`: there is no file.
    fn read<E: std::error::Error>(&self) -> Result<Option<ImageRecords>, RecordFileError<E>> {
        if !self.expect_file(self.name, self.path)? {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(&self.folder, self.name, flags, Mode::empty())
            .map_err(|error| self.failed("read", self.path, error))?;
        let mut bytes = Vec::new();
        File::from(file)
            .take(LARGEST as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.refused("read", &error))?;
        memory::received(self.path, bytes.len());
        let content = |source| RecordFileError::Content { path: self.path.to_owned(), source };
        ImageRecords::parse(&bytes).map(Some).map_err(content)
    }

    /// Puts new content in the place of the old.
    fn replace<E: std::error::Error>(&self, bytes: &[u8]) -> Result<(), RecordFileError<E>> {
        let name = self.name.as_ref();
        let written = Sibling::write(&self.folder, name, bytes, &Access::All)
            .map_err(NotReplaced::Before)
            .and_then(|sibling| sibling.replace(name));
        written.map_err(|not| match not {
            NotReplaced::Before(error) | NotReplaced::NotSynced(error) => {
                self.refused("write", &error)
            }
        })
    }

    /// Returns true if there is a file; whatever else is there is refused without being opened, because
    /// opening a device can do something.
    fn expect_file<E: std::error::Error>(
        &self,
        name: &str,
        path: &str,
    ) -> Result<bool, RecordFileError<E>> {
        let stat = match fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(self.failed("inspect", path, error)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(true),
            found => Err(RecordFileError::Kind { path: path.to_owned(), found: kind_name(found) }),
        }
    }

    fn failed<E: std::error::Error>(
        &self,
        action: &'static str,
        path: &str,
        error: Errno,
    ) -> RecordFileError<E> {
        RecordFileError::System { action, path: path.to_owned(), reason: words(error) }
    }

    fn refused<E: std::error::Error>(
        &self,
        action: &'static str,
        error: &io::Error,
    ) -> RecordFileError<E> {
        RecordFileError::System { action, path: self.path.to_owned(), reason: plain(error) }
    }
}

fn words(error: Errno) -> String {
    plain(&error.into())
}
