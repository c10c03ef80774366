//! How `kq devices allocate` asks a stand-in: one line of JSON each way, on a socket of their own.

use super::stand_in::{CONTROL_SOCKET, Incoming};
use crate::edge::input::plain;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc as plain_mpsc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The longest line; a manifest is part of it.
pub const MAX_CONTROL_BYTES: u64 = 16 << 20;

/// How long somebody may take to say what they want.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a stand-in could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Nobody is there.
    #[error("nobody stands in for a kubelet in {folder}: {}", plain(error))]
    Absent {
        /// The folder.
        folder: String,
        /// What the system said.
        error: io::Error,
    },
    /// It broke off.
    #[error("the stand-in in {folder} did not answer: {reason}")]
    Broken {
        /// The folder.
        folder: String,
        /// What happened.
        reason: String,
    },
}

/// Asks the stand-in of a folder, and waits for its answer.
///
/// # Errors
///
/// Fails when nobody is there, and when it does not answer in that time.
pub fn ask_stand_in(
    folder: &Path,
    request: &[u8],
    patience: Duration,
) -> Result<Vec<u8>, ControlError> {
    let shown = || folder.display().to_string();
    let mut stream = UnixStream::connect(folder.join(CONTROL_SOCKET))
        .map_err(|error| ControlError::Absent { folder: shown(), error })?;
    let mut exchange = || -> io::Result<Vec<u8>> {
        stream.set_read_timeout(Some(patience))?;
        stream.write_all(request)?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = Vec::new();
        (&stream).take(MAX_CONTROL_BYTES).read_to_end(&mut answer)?;
        Ok(answer)
    };
    match exchange() {
        Ok(answer) if answer.is_empty() => {
            Err(ControlError::Broken { folder: shown(), reason: "it ended".to_owned() })
        }
        Ok(answer) => Ok(answer),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(ControlError::Broken {
            folder: shown(),
            reason: format!("no answer within {patience:?}"),
        }),
        Err(error) => Err(ControlError::Broken { folder: shown(), reason: plain(&error) }),
    }
}

/// Serves the socket, one caller after the other, until nobody takes what comes in any more.
pub(super) fn serve_control(listener: &UnixListener, sender: &mpsc::Sender<Incoming>) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        if sender.is_closed() {
            return;
        }
        // A caller that breaks off has no answer to be given to.
        let _ = serve_one(&mut stream, sender);
    }
}

fn serve_one(stream: &mut UnixStream, sender: &mpsc::Sender<Incoming>) -> io::Result<()> {
    let caller = socket_peercred(&*stream)?.uid;
    if caller != geteuid() && !caller.is_root() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    stream.take(MAX_CONTROL_BYTES).read_to_end(&mut request)?;
    if request.is_empty() {
        // Somebody only looked whether it is there.
        return Ok(());
    }
    let (reply, answer) = plain_mpsc::channel();
    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    sender.blocking_send(Incoming::Control { request, reply }).map_err(|_| gone(()))?;
    let answer = answer.recv().map_err(|_| gone(()))?;
    stream.write_all(&answer)
}
