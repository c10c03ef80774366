//! Whether somebody listens on a unix socket.

use crate::edge::input::plain;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::path::Path;

/// Tells whether somebody listens on a socket. It is connected to and closed at once; nothing is said,
/// and nothing is waited for.
///
/// # Errors
///
/// Fails where that cannot be told, with the reason.
pub fn listens(socket: &Path) -> Result<bool, String> {
    let words = |error: Errno| plain(&error.into());
    let address = SocketAddrUnix::new(socket).map_err(words)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let own = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(words)?;
    match connect(&own, &address) {
        // One that has too much to do listens all the same.
        Ok(()) | Err(Errno::AGAIN) => Ok(true),
        Err(Errno::NOENT | Errno::CONNREFUSED | Errno::NOTDIR) => Ok(false),
        Err(error) => Err(words(error)),
    }
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
}
