//! Opens the files that the command line or a configuration names, so that no open waits without a limit.

use crate::trust::{is_trusted_user, trusted_users};
use rustix::fs::{FsWord, Mode, OFlags, PROC_SUPER_MAGIC, fstatfs, open, statfs};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The file system of pipes without a name (`pipefs` of the kernel).
const PIPEFS_MAGIC: FsWord = 0x5049_5045;

/// How long kq waits for a writer of a named pipe.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens what the operator named, to be read to its end: a file, a device, a pipe. For a named pipe, kq waits a
/// limited time for a writer; a pipe that a shell passes is already open at the other end.
/// Fails as the system does, for a folder, and for a named pipe without a writer.
pub fn open_input(path: &Path) -> io::Result<File> {
    open_within(path, PATIENCE)
}

fn open_within(path: &Path, patience: Duration) -> io::Result<File> {
    let metadata = fs::metadata(path)?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(io::Error::other("is a directory, expected a file"));
    }
    if kind.is_file() {
        return open_regular(path);
    }
    // The owner of a pipe or a device decides when its content ends. A pipe that a shell passes has no name.
    let is_anonymous = statfs(path)?.f_type == PIPEFS_MAGIC;
    if !is_anonymous && !is_trusted_user(metadata.uid()) {
        let uid = metadata.uid();
        return Err(io::Error::other(format!(
            "a pipe or a device of user {uid}, expected a file, or one of {}",
            trusted_users()
        )));
    }
    if !kind.is_fifo() {
        return File::open(path);
    }
    // Only the open waits for a writer, in its own thread. A non-blocking open could not distinguish a
    // pipe without a writer from one at its end.
    let (opened, waits) = mpsc::channel();
    let pipe = path.to_owned();
    thread::spawn(move || opened.send(File::open(pipe)));
    waits.recv_timeout(patience).unwrap_or_else(|_| {
        let waited = patience.as_secs();
        Err(io::Error::other(format!("a named pipe without a writer for {waited} seconds")))
    })
}

/// Opens a regular file. Files of the kernel are rejected, because some have no end, such as `/proc/kmsg`.
fn open_regular(path: &Path) -> io::Result<File> {
    // Non-blocking: a pipe may have replaced the file.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("no longer a file"));
    }
    match fstatfs(&file)?.f_type == PROC_SUPER_MAGIC {
        true => Err(io::Error::other("a file of the kernel's (proc), expected one on a disk")),
        false => Ok(file),
    }
}

/// Opens a file without waiting for a writer: a named pipe may have replaced it.
pub fn open_unblocked(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::read_input;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::io::Write;

    #[test]
    fn a_named_pipe_is_waited_for_and_not_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).expect("made");
        let error = open_within(&pipe, Duration::from_millis(50)).expect_err("nobody writes");
        assert!(error.to_string().starts_with("a named pipe without a writer"), "{error}");
        // The reader above still waits; a second pipe has one reader only.
        let pipe = folder.path().join("second");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).expect("made");
        let writer = pipe.clone();
        let writer = thread::spawn(move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(writer).expect("opened");
            // The other end may be slow.
            thread::sleep(Duration::from_millis(100));
            pipe.write_all(b"late").expect("written");
        });
        let content = read_input(pipe.to_str().expect("text")).expect("it is read to its end");
        assert_eq!(content, b"late");
        writer.join().expect("it ended");
    }
}
