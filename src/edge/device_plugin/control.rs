//! How `kq devices allocate` asks a stand-in: one line of JSON each way, on a socket of their own.

use super::folder::CONTROL_SOCKET;
use super::stand_in::Incoming;
use crate::edge::input::plain;
use crate::edge::listener::connect_within;
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{SendFlags, send};
use rustix::process::geteuid;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc as plain_mpsc;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The longest line; a manifest is part of it.
pub const MAX_CONTROL_BYTES: u64 = 16 << 20;

/// How long somebody may take to say all that they want.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many callers are listened to at once; the next wait. Those that wait for an answer do not count.
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
    let stream = connected.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => late(silence),
        _ => ControlError::Absent { folder: shown(), error },
    })?;
    let exchange = || -> io::Result<Vec<u8>> {
        stream.set_write_timeout(Some(silence))?;
        stream.set_read_timeout(Some(silence))?;
        // What is said before it listens, it would do after its caller has given up.
        if (&stream).read(&mut [0])? == 0 {
            return Ok(Vec::new());
        }
        (&stream).write_all(request)?;
        stream.shutdown(Shutdown::Write)?;
        read_until(&stream, || match end {
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
fn read_until(mut stream: &UnixStream, left: impl Fn() -> Duration) -> io::Result<Vec<u8>> {
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

/// Whoever asked for something, and waits for the answer.
#[derive(Debug)]
pub struct Caller {
    stream: Arc<UnixStream>,
    reply: plain_mpsc::Sender<Vec<u8>>,
}

impl Caller {
    /// Tells whether it has hung up: nothing is to be done for it then.
    pub fn has_gone(&self) -> bool {
        // A blank before a value of JSON is nothing.
        let sent = send(&*self.stream, b" ", SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        sent.is_err_and(|error| error != Errno::AGAIN)
    }

    /// Answers, where it is still there.
    pub fn answer(self, answer: Vec<u8>) {
        let _ = self.reply.send(answer);
    }
}

/// Serves the socket, a thread for each caller, until nobody takes what comes in any more. So many are
/// listened to at once; whoever takes what they say bounds those that wait for an answer. `answering` is held
/// for each of these.
pub(super) fn serve_control(
    listener: &UnixListener,
    sender: &mpsc::Sender<Incoming>,
    answering: &Weak<()>,
) {
    let places = Arc::new(());
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            thread::sleep(PAUSE);
            continue;
        };
        if sender.is_closed() {
            return;
        }
        let (place, sender, answering) = (places.clone(), sender.clone(), answering.clone());
        let serving = thread::Builder::new().spawn(move || {
            let stream = Arc::new(stream);
            let request = listen(&stream);
            drop(place);
            let _held = answering.upgrade();
            // A caller that breaks off has no answer to be given to.
            let _ = request.and_then(|request| serve_one(&stream, request, &sender));
        });
        // Without a thread the caller is let go, and the next may fare better.
        drop(serving);
        while Arc::strong_count(&places) > CALLERS {
            thread::sleep(PAUSE);
        }
    }
}

/// Greets a caller, and returns all that it says; one that only looks says nothing.
fn listen(mut stream: &UnixStream) -> io::Result<Vec<u8>> {
    let caller = socket_peercred(stream)?.uid;
    if caller != geteuid() && !caller.is_root() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b" ")?;
    let end = Instant::now() + PATIENCE;
    read_until(stream, || end.saturating_duration_since(Instant::now()))
}

fn serve_one(
    stream: &Arc<UnixStream>,
    request: Vec<u8>,
    sender: &mpsc::Sender<Incoming>,
) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    let (reply, answer) = plain_mpsc::channel();
    let caller = Caller { stream: stream.clone(), reply };
    if request.is_empty() || caller.has_gone() {
        return Ok(());
    }
    sender.try_send(Incoming::Control { request, caller }).map_err(|_| gone())?;
    let mut stream = &**stream;
    loop {
        match answer.recv_timeout(BEAT) {
            Ok(answer) => return stream.write_all(&answer),
            // Blanks before a value of JSON are nothing: they tell that it is at it.
            Err(plain_mpsc::RecvTimeoutError::Timeout) => stream.write_all(b" ")?,
            Err(plain_mpsc::RecvTimeoutError::Disconnected) => return Err(gone()),
        }
    }
}
