//! Detects listeners on unix sockets, and connects to them without blocking.

use crate::host::{ReadError, expect_kind, system};
use crate::input::plain;
use rustix::fs::{FileType, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The pause before retrying a socket whose queue is full.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns true if a process listens on a socket. kq connects and closes the connection at once, without sending
/// or waiting.
/// Fails with the reason if that is unknown.
pub fn listens(socket: &Path) -> Result<bool, String> {
    let words = |error: Errno| plain(&error.into());
    let address = SocketAddrUnix::new(socket).map_err(words)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let own = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(words)?;
    match connect(&own, &address) {
        // A busy listener with a full queue is a listener too.
        Ok(()) | Err(Errno::AGAIN) => Ok(true),
        Err(Errno::NOENT | Errno::CONNREFUSED | Errno::NOTDIR) => Ok(false),
        Err(error) => Err(words(error)),
    }
}

/// A socket that is open without a connection: it stays the same one, whatever takes its name.
#[derive(Debug)]
pub struct OpenSocket(OwnedFd);

impl OpenSocket {
    /// Opens a socket in a folder, without following a link.
    pub fn open_in(folder: &OwnedFd, name: &OsStr) -> Result<Self, ReadError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket = openat(folder, name, flags, Mode::empty()).map_err(system)?;
        expect_kind(&socket, FileType::Socket)?;
        Ok(Self(socket))
    }

    /// Returns a path to the socket, which is valid as long as this value lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}

/// Returns true if a process listens on the socket of a name in a folder. A link is not followed.
/// Fails with the reason if that is unknown.
pub fn listens_in(folder: &OwnedFd, name: &OsStr) -> Result<bool, String> {
    match OpenSocket::open_in(folder, name) {
        Ok(socket) => listens(&socket.path()),
        Err(ReadError::Absent) => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

/// Connects to a socket. If its queue is full, kq retries until the time is up; a blocking connect
/// could hang.
/// Fails as the system does, and with `WouldBlock` when the time is up.
pub fn connect_within(socket: &Path, patience: Duration) -> io::Result<UnixStream> {
    let end = Instant::now() + patience;
    let address = SocketAddrUnix::new(socket)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let own = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    loop {
        match connect(&own, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN) if Instant::now() < end => sleep(PAUSE),
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(own);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_that_was_left_behind_is_no_listener() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        assert_eq!(listens(&path), Ok(false));
        let listener = UnixListener::bind(&path).expect("bound");
        assert_eq!(listens(&path), Ok(true));
        drop(listener);
        assert_eq!(listens(&path), Ok(false));
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, "").expect("written");
        assert_eq!(listens(&path), Ok(false));
        assert!(listens(&folder.path().join("x".repeat(200))).is_err());
    }

    #[test]
    fn a_full_queue_listens_and_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let flags = SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let listener = listener.expect("a socket");
        let address = SocketAddrUnix::new(&path).expect("a short path");
        rustix::net::bind(&listener, &address).expect("bound");
        rustix::net::listen(&listener, 0).expect("listens");
        let waiting = connect_within(&path, Duration::from_secs(1)).expect("the first has a place");
        let began = Instant::now();
        let second = connect_within(&path, Duration::from_millis(100)).expect_err("no place");
        assert_eq!(second.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(listens(&path), Ok(true));
        assert!(began.elapsed() < Duration::from_secs(20));
        drop((waiting, listener));
    }
}
