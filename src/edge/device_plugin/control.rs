//! How `kq devices allocate` asks a stand-in: one line of JSON each way, on a socket of their own.

use super::folder::CONTROL_SOCKET;
use super::stand_in::Incoming;
use crate::edge::input::plain;
use crate::edge::listener::connect_within;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc as plain_mpsc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The longest line; a manifest is part of it.
pub const MAX_CONTROL_BYTES: u64 = 16 << 20;

/// How long somebody may take to say all that they want.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many callers are listened to at once; the next wait.
pub(super) const CALLERS: usize = 16;

/// How long to wait for a place, or for a descriptor.
const PAUSE: Duration = Duration::from_millis(20);

/// How often a caller is told that its answer is still to come: a plugin may take long.
const BEAT: Duration = Duration::from_secs(1);

/// How long a stand-in that works can be silent.
const SILENCE: Duration = Duration::from_secs(10);

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

/// Asks the stand-in of a folder, and waits for its answer: as long as it says that it is at it, but no
/// longer than a limit where there is one.
///
/// # Errors
///
/// Fails when nobody is there, and when it does not answer in that time.
pub fn ask_stand_in(
    folder: &Path,
    request: &[u8],
    limit: Option<Duration>,
) -> Result<Vec<u8>, ControlError> {
    let shown = || folder.display().to_string();
    let silence = limit.map_or(SILENCE, |limit| limit.min(SILENCE));
    let late = |patience: Duration| ControlError::Broken {
        folder: shown(),
        reason: format!("no answer within {patience:?}"),
    };
    let end = limit.map(|limit| Instant::now() + limit);
    let connected = connect_within(&folder.join(CONTROL_SOCKET), silence);
    let mut stream = connected.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => late(silence),
        _ => ControlError::Absent { folder: shown(), error },
    })?;
    let mut exchange = || -> io::Result<Vec<u8>> {
        stream.set_write_timeout(Some(silence))?;
        stream.write_all(request)?;
        stream.shutdown(Shutdown::Write)?;
        read_until(&mut stream, || match end {
            Some(end) => SILENCE.min(end.saturating_duration_since(Instant::now())),
            None => SILENCE,
        })
    };
    match exchange() {
        Ok(answer) if answer.trim_ascii().is_empty() => {
            Err(ControlError::Broken { folder: shown(), reason: "it ended".to_owned() })
        }
        Ok(answer) => Ok(answer),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(late(silence)),
        Err(error) => Err(ControlError::Broken { folder: shown(), reason: plain(&error) }),
    }
}

/// Reads until the other side has said all. Each piece may take as long as is left; no time left is
/// `WouldBlock`.
fn read_until(stream: &mut UnixStream, left: impl Fn() -> Duration) -> io::Result<Vec<u8>> {
    let mut said = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let left = left();
        if left.is_zero() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(said),
            Ok(count) => said.extend(buffer.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if said.len() as u64 > MAX_CONTROL_BYTES {
            return Err(io::Error::other(format!("more than {MAX_CONTROL_BYTES} bytes")));
        }
    }
}

/// Serves the socket, a thread for each caller and a bounded number of them, until nobody takes what comes
/// in any more.
pub(super) fn serve_control(listener: &UnixListener, sender: &mpsc::Sender<Incoming>) {
    let places = Arc::new(());
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            thread::sleep(PAUSE);
            continue;
        };
        if sender.is_closed() {
            return;
        }
        let (place, sender) = (places.clone(), sender.clone());
        let serving = thread::Builder::new().spawn(move || {
            // A caller that breaks off has no answer to be given to.
            let _ = serve_one(&mut stream, &sender);
            drop(place);
        });
        // Without a thread the caller is let go, and the next may fare better.
        drop(serving);
        while Arc::strong_count(&places) > CALLERS {
            thread::sleep(PAUSE);
        }
    }
}

fn serve_one(stream: &mut UnixStream, sender: &mpsc::Sender<Incoming>) -> io::Result<()> {
    let caller = socket_peercred(&*stream)?.uid;
    if caller != geteuid() && !caller.is_root() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_write_timeout(Some(PATIENCE))?;
    let end = Instant::now() + PATIENCE;
    let request = read_until(stream, || end.saturating_duration_since(Instant::now()))?;
    if request.is_empty() {
        // Somebody only looked whether it is there.
        return Ok(());
    }
    let (reply, answer) = plain_mpsc::channel();
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    sender.try_send(Incoming::Control { request, reply }).map_err(|_| gone())?;
    loop {
        match answer.recv_timeout(BEAT) {
            Ok(answer) => return stream.write_all(&answer),
            // Blanks before a value of JSON are nothing: they tell that it is at it.
            Err(plain_mpsc::RecvTimeoutError::Timeout) => stream.write_all(b" ")?,
            Err(plain_mpsc::RecvTimeoutError::Disconnected) => return Err(gone()),
        }
    }
}
