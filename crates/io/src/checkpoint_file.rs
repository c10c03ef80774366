//! A checkpoint of the kubelet that is read, copied and replaced.
//!
//! Everything happens in a folder that is opened once, beneath the node's root. The file itself is never
//! followed as a link and never opened as a device. It is replaced as [`crate::replace`] does it, by one
//! kq at a time, and what comes out when the new file goes in is what was expected, or goes back.

use crate::host::{ReadError, kind_name};
use crate::input::plain;
use crate::listener::listens_in;
use crate::memory;
use crate::place::{folder_to_write, system};
use crate::replace::{Access, NotReplaced, Sibling, is_left_behind};
use crate::watchdog::reading;
use kq_facts::checkpoint::LARGEST;
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A file in a folder that is held open.
#[derive(Debug)]
pub struct CheckpointFile {
    folder: OwnedFd,
    name: String,
    path: String,
}

/// Why a file could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointFileError {
    /// Its folder, or itself, cannot be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The file.
        path: String,
        error: ReadError,
    },
    /// Something else has written it.
    #[error("{0} is not any more what the plan was made from")]
    Changed(String),
    /// Another kq writes in the same folder.
    #[error("another kq is writing next to {0}")]
    Busy(String),
    /// There is a file already where a new one was to be.
    #[error("{0} is there already")]
    Exists(String),
    /// The new file is there, and whether it is still there after the machine stops is not sure.
    #[error("{path} is replaced, and cannot be made sure on the disk: {reason}")]
    NotSynced {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The system refused.
    #[error("cannot write {path}: {reason}")]
    Write {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
}

impl CheckpointFile {
    /// Opens the folder of a file beneath the node's root. The file need not be there.
    /// Fails where the folder is none, and for a path without a name.
    pub fn open(root: &Path, path: &str) -> Result<Self, CheckpointFileError> {
        let _reading = reading(path);
        let fail = |error| CheckpointFileError::Read { path: path.to_owned(), error };
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        if name.is_empty() || name == "." || name == ".." {
            return Err(fail(ReadError::System("it is not the name of a file".to_owned())));
        }
        let folder = if folder.is_empty() { "/" } else { folder };
        let folder = folder_to_write(root, folder).map_err(fail)?;
        Ok(Self { folder, name: name.to_owned(), path: path.to_owned() })
    }

    /// Returns the path as it was given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Reads the file.
    /// Fails for what is no regular file of a size that is read, and for a link.
    pub fn read(&self) -> Result<Vec<u8>, CheckpointFileError> {
        self.read_named(self.name.as_ref())
    }

    fn read_named(&self, name: &OsStr) -> Result<Vec<u8>, CheckpointFileError> {
        let _reading = reading(&name.to_string_lossy());
        let fail = |error| CheckpointFileError::Read { path: self.path.clone(), error };
        let (file, _) = self.open_named(name).map_err(fail)?;
        let mut content = Vec::new();
        let file = memory::Counting::new(&self.path, File::from(file));
        let read = file.take(LARGEST + 1).read_to_end(&mut content);
        read.map_err(|error| fail(ReadError::System(plain(&error))))?;
        if content.len() as u64 > LARGEST {
            return Err(fail(ReadError::TooLarge { limit: LARGEST }));
        }
        Ok(content)
    }

    /// Writes a file that must not be there yet, with the mode and owner of another. When this returns, it
    /// is on the disk. It gets its name when it is whole: killed before that, there is none.
    /// Fails where there is one already, and where the system refuses.
    pub fn create_like(&self, other: &Self, content: &[u8]) -> Result<(), CheckpointFileError> {
        let (_, status) = other
            .open_regular()
            .map_err(|error| CheckpointFileError::Read { path: other.path.clone(), error })?;
        let _alone = self.lock()?;
        let created =
            Sibling::write(&self.folder, self.name.as_ref(), content, &Access::As(&status))
                .and_then(|sibling| sibling.create(self.name.as_ref()).map(drop));
        created.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CheckpointFileError::Exists(self.path.clone()),
            _ => self.cannot_write(&error),
        })
    }

    /// Replaces the file, which must still hold what is expected; mode and owner stay.
    /// Fails where it holds something else, and where the system refuses. The old file is there then, but
    /// for [`CheckpointFileError::NotSynced`].
    pub fn replace(&self, expected: &[u8], content: &[u8]) -> Result<(), CheckpointFileError> {
        let fail = |error| CheckpointFileError::Read { path: self.path.clone(), error };
        let (_, status) = self.open_regular().map_err(fail)?;
        let _alone = self.lock()?;
        let mut sibling =
            Sibling::write(&self.folder, self.name.as_ref(), content, &Access::As(&status))
                .map_err(|error| self.cannot_write(&error))?;
        if self.read()? != expected {
            return Err(CheckpointFileError::Changed(self.path.clone()));
        }
        let name = self.name.as_ref();
        let replaced = match sibling.exchange(name).map_err(|error| self.cannot_write(&error))? {
            // Whoever wrote meanwhile is not written over.
            true if self.read_named(sibling.name())? != expected => {
                sibling.exchange(name).map_err(|error| self.cannot_write(&error))?;
                return Err(CheckpointFileError::Changed(self.path.clone()));
            }
            true => sibling.sync(),
            false => sibling.replace(name),
        };
        replaced.map_err(|not| match not {
            NotReplaced::Before(error) => self.cannot_write(&error),
            NotReplaced::NotSynced(error) => {
                CheckpointFileError::NotSynced { path: self.path.clone(), reason: plain(&error) }
            }
        })
    }

    /// Removes the file, which must hold what is expected.
    /// Fails where it holds something else, and where the system refuses.
    pub fn remove(&self, expected: &[u8]) -> Result<(), CheckpointFileError> {
        let _alone = self.lock()?;
        if self.read()? != expected {
            return Err(CheckpointFileError::Changed(self.path.clone()));
        }
        unlinkat(&self.folder, &*self.name, AtFlags::empty())
            .map_err(|error| self.cannot_write(&error.into()))
    }

    /// Keeps other runs of kq from writing in the folder, and removes what those left next to the file that
    /// were killed.
    fn lock(&self) -> Result<Alone<'_>, CheckpointFileError> {
        match flock(&self.folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(CheckpointFileError::Busy(self.path.clone())),
            Err(error) => return Err(self.cannot_write(&error.into())),
        }
        let alone = Alone(&self.folder);
        for entry in Dir::read_from(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_ok_and(|found| is_left_behind(found, &self.name)) {
                let _ = unlinkat(&self.folder, entry.file_name(), AtFlags::empty());
            }
        }
        Ok(alone)
    }

    /// Opens the file if it is a regular one; first without reading it, which could wait or act.
    fn open_regular(&self) -> Result<(OwnedFd, Stat), ReadError> {
        self.open_named(self.name.as_ref())
    }

    fn open_named(&self, name: &OsStr) -> Result<(OwnedFd, Stat), ReadError> {
        let open = |flags| {
            openat(&self.folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        };
        expect_regular(&open(OFlags::PATH).map_err(system)?)?;
        let file = open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(system)?;
        let status = expect_regular(&file)?;
        Ok((file, status))
    }

    /// Returns the device and inode of its folder.
    pub fn folder_identity(&self) -> Option<(u64, u64)> {
        let status = fstat(&self.folder).ok()?;
        Some((status.st_dev, status.st_ino))
    }

    /// Returns true if a process listens on a socket next to the file.
    /// Fails with the reason if that is unknown, as for anything but a socket.
    pub fn listens_beside(&self, socket: &str) -> Result<bool, String> {
        listens_in(&self.folder, socket.as_ref())
    }

    fn cannot_write(&self, error: &io::Error) -> CheckpointFileError {
        CheckpointFileError::Write { path: self.path.clone(), reason: plain(error) }
    }
}

/// Returns the device and inode of a folder.
pub fn identity(folder: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::stat(folder).ok()?;
    Some((found.st_dev, found.st_ino))
}

/// While it is there, no other kq writes in the folder.
struct Alone<'f>(&'f OwnedFd);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

fn expect_regular(file: &OwnedFd) -> Result<Stat, ReadError> {
    let status = fstat(file).map_err(system)?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => Ok(status),
        kind => Err(ReadError::Kind { found: kind_name(kind), expected: "a regular file" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn file(folder: &Path, name: &str) -> CheckpointFile {
        CheckpointFile::open(folder, &format!("/{name}")).expect("the folder is there")
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        fs::write(&path, "old").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        let state = file(folder.path(), "state");
        assert_eq!(state.read(), Ok(b"old".to_vec()));
        let changed = CheckpointFileError::Changed("/state".to_owned());
        assert_eq!(state.replace(b"other", b"new"), Err(changed));
        assert_eq!(state.read(), Ok(b"old".to_vec()));

        let copy = file(folder.path(), "copy");
        assert_eq!(copy.create_like(&state, b"old"), Ok(()));
        let exists = CheckpointFileError::Exists("/copy".to_owned());
        assert_eq!(copy.create_like(&state, b"new"), Err(exists));
        assert_eq!(state.replace(b"old", b"new"), Ok(()));
        assert_eq!(state.read(), Ok(b"new".to_vec()));
        for name in ["state", "copy"] {
            let mode = fs::metadata(folder.path().join(name)).expect("there").permissions().mode();
            assert_eq!(mode & 0o7777, 0o640, "{name}");
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "no sibling is left");

        // What a run that was killed left goes.
        let left = folder.path().join(format!(".state.kq-{}-0", std::process::id()));
        fs::write(&left, "left").expect("written");
        assert_eq!(state.replace(b"new", b"newer"), Ok(()));
        assert!(!left.exists());
        assert_eq!(state.read(), Ok(b"newer".to_vec()));
        assert_eq!(copy.remove(b"new"), Err(CheckpointFileError::Changed("/copy".to_owned())));
        assert_eq!(copy.remove(b"old"), Ok(()));
        assert!(!folder.path().join("copy").exists());
    }

    #[test]
    fn one_writes_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("state"), "old").expect("written");
        let (one, other) = (file(folder.path(), "state"), file(folder.path(), "state"));
        let alone = one.lock().expect("nobody else is there");
        let busy = Err(CheckpointFileError::Busy("/state".to_owned()));
        assert_eq!(other.replace(b"old", b"new"), busy);
        drop(alone);
        assert_eq!(other.replace(b"old", b"new"), Ok(()));
    }

    #[test]
    fn of_many_that_write_one_wins_each_time() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("state"), "0").expect("written");
        // Each adds one to what it read; none is lost.
        let add = || {
            let state = file(folder.path(), "state");
            let mut done = 0;
            while done < 10 {
                let Ok(before) = state.read() else { continue };
                let number: u32 = String::from_utf8_lossy(&before).parse().expect("a number");
                done +=
                    u32::from(state.replace(&before, (number + 1).to_string().as_bytes()).is_ok());
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(add);
            }
        });
        assert_eq!(fs::read(folder.path().join("state")).expect("there"), b"40");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_by_its_kind() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("target"), "x").expect("written");
        symlink("target", folder.path().join("link")).expect("linked");
        fs::create_dir(folder.path().join("dir")).expect("made");
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe"), Mode::RUSR)
            .expect("made");
        for (name, error) in [
            ("link", "cannot read /link: a symbolic link, expected a regular file"),
            ("dir", "cannot read /dir: a folder, expected a regular file"),
            ("pipe", "cannot read /pipe: a named pipe, expected a regular file"),
            ("none", "cannot read /none: no such file"),
        ] {
            let file = file(folder.path(), name);
            assert_eq!(file.read().expect_err("refused").to_string(), error);
            assert!(file.replace(b"x", b"y").is_err(), "{name}");
        }
        assert!(CheckpointFile::open(folder.path(), "/").is_err());
        assert!(CheckpointFile::open(folder.path(), "/none/state").is_err());
    }
}
