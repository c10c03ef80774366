//! The requests of `kq devices allocate` to a fake kubelet: one line of JSON each way, on a socket of their own.

use super::folder::CONTROL_SOCKET;
use super::places::{Places, Seat};
use super::registration_server::Incoming;
use kq_io::input::plain;
use kq_io::listener::connect_within;
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{SendFlags, send};
use rustix::process::geteuid;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;

/// The longest line; a manifest is part of it.
pub const MAX_CONTROL_BYTES: u64 = 16 << 20;

/// The time limit for a complete request.
const PATIENCE: Duration = Duration::from_secs(5);

/// What each caller may say; more than that few say at once.
const SMALL_BYTES: usize = 64 << 10;

/// How many callers say more than a little at once; the next wait. Those that wait for an answer do not count.
pub(super) const CALLERS: usize = 16;

/// How long to wait for a descriptor.
const PAUSE: Duration = Duration::from_millis(20);

/// How often a caller gets a sign of life: a plugin may take long.
const BEAT: Duration = Duration::from_secs(1);

/// How long a fake kubelet that works can be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// Why a request to a fake kubelet failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No fake kubelet listens.
    #[error("no fake kubelet runs in {folder}: {}", plain(error))]
    Absent {
        folder: String,
        /// What the system said.
        error: io::Error,
    },
    /// The connection ended.
    #[error("the fake kubelet in {folder} did not answer: {reason}")]
    Broken {
        folder: String,
        /// What happened.
        reason: String,
    },
}

/// Sends a request to the fake kubelet of a folder, and waits for its answer while it sends signs of life, at most
/// for the limit.
/// Fails without a fake kubelet, and if it does not answer in that time.
pub fn send_request(
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
fn read_until(
    mut stream: &std::os::unix::net::UnixStream,
    left: impl Fn() -> Duration,
) -> io::Result<Vec<u8>> {
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
    reply: oneshot::Sender<Vec<u8>>,
}

impl Caller {
    /// Returns true if it has closed the connection.
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

/// Serves the socket, a task for each caller. Silent callers keep no other out, and what they may say
/// together is bounded; whoever takes what is said bounds those that wait for an answer. `answering` is held for
/// each of these.
pub(super) async fn serve_control(
    listener: UnixListener,
    sender: mpsc::Sender<Incoming>,
    answering: Weak<()>,
    places: Places,
) {
    let large = Arc::new(Semaphore::new(CALLERS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptors are left for the moment, or the caller has gone already.
            places.end_silent();
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (large, sender, answering) = (large.clone(), sender.clone(), answering.clone());
        let serve = |seat| async move {
            let stream = Arc::new(stream);
            let request = timeout(PATIENCE, listen(&stream, &seat, &large)).await;
            drop(seat);
            let _held = answering.upgrade();
            // A caller that breaks off has no answer to be given to.
            if let Ok(Ok(request)) = request {
                let _ = serve_one(&stream, request, &sender).await;
            }
        };
        places.run(serve).await;
    }
}

/// Greets a caller, and returns all that it says; one that only looks says nothing.
async fn listen(stream: &UnixStream, seat: &Seat, large: &Semaphore) -> io::Result<Vec<u8>> {
    let caller = socket_peercred(stream)?.uid;
    if caller != geteuid() && !caller.is_root() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    write_all(stream, b" ").await?;
    let mut said = Vec::new();
    let (mut busy, mut permit) = (None, None);
    loop {
        stream.readable().await?;
        let mut buffer = [0; 4_096];
        match stream.try_read(&mut buffer) {
            Ok(0) => return Ok(said),
            Ok(count) => said.extend(buffer.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        busy.get_or_insert_with(|| seat.busy());
        if said.len() as u64 > MAX_CONTROL_BYTES {
            return Err(io::Error::other(format!("more than {MAX_CONTROL_BYTES} bytes")));
        }
        if said.len() > SMALL_BYTES && permit.is_none() {
            permit = Some(large.acquire().await.map_err(io::Error::other)?);
        }
    }
}

async fn write_all(stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn serve_one(
    stream: &Arc<UnixStream>,
    request: Vec<u8>,
    sender: &mpsc::Sender<Incoming>,
) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let (reply, mut answer) = oneshot::channel();
    let caller = Caller { stream: stream.clone(), reply };
    if request.is_empty() || caller.has_gone() {
        return Ok(());
    }
    sender.try_send(Incoming::Control { request, caller }).map_err(|_| gone())?;
    loop {
        match timeout(BEAT, &mut answer).await {
            Ok(Ok(answer)) => {
                return timeout(PATIENCE, write_all(stream, &answer)).await.map_err(late)?;
            }
            Ok(Err(_)) => return Err(gone()),
            // Blanks before a value of JSON are nothing: they tell that it is at it.
            Err(_) => timeout(PATIENCE, write_all(stream, b" ")).await.map_err(late)??,
        }
    }
}
