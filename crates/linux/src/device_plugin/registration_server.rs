//! The sockets of a fake kubelet: plugins register on one, `kq devices allocate` connects to another. Everything that
//! comes in is passed on in order to the holder of the state.

use super::client::PluginClient;
use super::control::{CALLERS, Caller, serve_control};
use super::folder::{CONTROL_SOCKET, KUBELET_SOCKET};
use super::places::Places;
use super::registration::{HANDSHAKES, Registrar, serve};
use super::socket_registry::Held;
use crate::probe::run::connections_at_once;
use kq_io::clock::steady;
use kq_io::input::plain;
use kq_managers::manager::{Device, PluginOptions};
use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use std::future::{Future, poll_fn};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;

/// How many may wait to be accepted: as many as the kernel allows (`net.core.somaxconn`), as for a kubelet. A client
/// that does not wait is turned away where the queue is full.
const WAITING: i32 = i32::MAX;

/// Plugins at once: each needs a connection each way.
const PLUGINS: usize = 1_024;

/// Callers of the other socket that are listened to at once.
const LISTENED_TO: usize = 256;

/// How long an answer may take to arrive when it ends, and how often that is looked at.
const ARRIVAL: Duration = Duration::from_secs(2);
const SOON: Duration = Duration::from_millis(5);

/// How long plugins are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until they are connected to; the kubelet waits ten seconds.
    pub dial: Duration,
    /// Each call; the kubelet waits forever, except for PreStartContainer.
    pub call: Duration,
}

/// What came in.
#[derive(Debug)]
pub enum Incoming {
    /// A plugin has registered. It is answered once this is taken, and lists its devices then.
    Connected {
        /// The number of its connection.
        id: u64,
        /// What it offers.
        resource: String,
        /// The name of its socket.
        endpoint: String,
        /// What it can do.
        options: PluginOptions,
        plugin: PluginClient,
        /// Notified when it is known.
        taken: oneshot::Sender<()>,
    },
    /// A plugin was refused.
    Refused {
        /// What it offered.
        resource: String,
        /// The name of its socket.
        endpoint: String,
        /// The answer to it, in the kubelet's words.
        reason: String,
        /// What a kubelet does not tell.
        detail: Option<String>,
    },
    /// A caller of the kubelet's socket speaks something else than HTTP/2.
    NotUnderstood {
        /// What is wrong with what it said.
        reason: String,
    },
    /// A list came.
    Listed {
        /// The connection.
        id: u64,
        /// All its devices, as they were sent.
        devices: Vec<Device>,
    },
    /// A stream of lists has ended: the kubelet takes that for a disconnection.
    Ended {
        /// The connection.
        id: u64,
        /// How.
        reason: String,
    },
    /// A request arrives.
    Control {
        /// One line of JSON.
        request: Vec<u8>,
        /// Waits for one line of JSON.
        caller: Caller,
    },
    /// It is to end.
    Stop,
}

/// The sockets while they are served.
#[derive(Debug)]
pub struct RegistrationServer {
    sockets: Sockets,
    handle: Handle,
    receiver: mpsc::Receiver<Incoming>,
    /// What is asked for on the other socket, and the end.
    asked: mpsc::Receiver<Incoming>,
    /// Held for each caller that is served.
    answering: Arc<()>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RegistrationServer {
    /// Serves in a folder, whose stale sockets are gone. A second signal to end while the first is still
    /// being heeded calls `give_up`.
    /// Fails where a socket cannot be made.
    pub fn start(held: &Held, patience: Timeouts, give_up: fn()) -> io::Result<Self> {
        let folder = held.path.as_path();
        let at_once = connections_at_once(2 * PLUGINS + LISTENED_TO);
        let listened_to = (at_once / 4).min(LISTENED_TO);
        let (callers, plugins) =
            (Places::new(listened_to), Places::new((at_once - listened_to) / 2));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        // Before there is anything that a signal could leave behind.
        let signals = {
            let _inside = runtime.enter();
            let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
            // A terminal that is closed; under nohup it is to go on.
            kinds.extend((!ignores_hangup()).then_some(SignalKind::hangup()));
            kinds.into_iter().map(signal).collect::<io::Result<Vec<_>>>()?
        };
        let mut sockets = Sockets { folder: held.clone(), made: Vec::new() };
        let control = sockets.bind(CONTROL_SOCKET)?;
        let registration = sockets.bind(KUBELET_SOCKET)?;
        for socket in [&control, &registration] {
            socket.set_nonblocking(true)?;
        }
        // One place: what is not taken yet waits where it came from.
        let (sender, receiver) = mpsc::channel(1);
        // Room for more than can ask at once: some ask, and go without waiting for the answer.
        let (ask, asked) = mpsc::channel(4 * CALLERS);
        let is_stopping = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = oneshot::channel();
        let (registration, control) = {
            let _inside = runtime.enter();
            (UnixListener::from_std(registration)?, UnixListener::from_std(control)?)
        };
        let registrar = Arc::new(Registrar {
            folder: folder.to_owned(),
            patience,
            sender: sender.clone(),
            connections: AtomicU64::new(1),
            handshakes: Semaphore::new(HANDSHAKES),
        });
        let answering = Arc::new(());
        let (to_control, serving) = (ask.clone(), Arc::downgrade(&answering));
        let thread = thread::spawn(move || {
            runtime.block_on(async move {
                tokio::spawn(serve(registration, registrar, plugins));
                tokio::spawn(serve_control(control, to_control, serving, callers));
                for mut signal in signals {
                    let (ask, is_stopping) = (ask.clone(), is_stopping.clone());
                    tokio::spawn(async move {
                        loop {
                            signal.recv().await;
                            if is_stopping.swap(true, Ordering::Relaxed) {
                                give_up();
                            }
                            let _ = ask.send(Incoming::Stop).await;
                        }
                    });
                }
                let _ = stopped.await;
            });
        });
        let (stop, thread) = (Some(stop), Some(thread));
        Ok(Self { sockets, handle, receiver, asked, answering, stop, thread })
    }

    /// Waits for the end of a call, or for what comes in before it: then the call is to be waited for again.
    /// `None`: nothing came in that time.
    pub fn next_or<T>(
        &mut self,
        patience: Duration,
        mut call: Pin<&mut impl Future<Output = T>>,
    ) -> ControlFlow<T, Option<Incoming>> {
        let (receiver, asked) = (&mut self.receiver, &mut self.asked);
        let either = poll_fn(|context| {
            if let Poll::Ready(answer) = call.as_mut().poll(context) {
                return Poll::Ready(ControlFlow::Break(answer));
            }
            // What people ask for goes before what plugins flood with.
            let incoming = match asked.poll_recv(context) {
                Poll::Ready(Some(incoming)) => Poll::Ready(Some(incoming)),
                _ => receiver.poll_recv(context),
            };
            incoming.map(|it| ControlFlow::Continue(Some(it.unwrap_or(Incoming::Stop))))
        });
        let next = self.handle.block_on(async { timeout(patience, either).await });
        next.unwrap_or(ControlFlow::Continue(None))
    }

    /// Returns the name of a socket that is not the one that was made: it is no longer reachable.
    pub fn lost(&self) -> Option<&'static str> {
        let Sockets { folder, made } = &self.sockets;
        let is_lost = |(name, made): &&(&str, _)| identity(&folder.path.join(name)) != Some(*made);
        made.iter().find(is_lost).map(|(name, _)| *name)
    }
}

/// Gives a call to a plugin as long as it may take.
/// Fails as the call does, and in the words of grpc-go when its time is up.
pub async fn in_time<T>(
    patience: Duration,
    call: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let late = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
    timeout(patience, call).await.unwrap_or_else(|_| Err(late.to_owned()))
}

impl Drop for RegistrationServer {
    fn drop(&mut self) {
        // Waiting items are dropped, so that nothing waits forever.
        self.receiver.close();
        self.asked.close();
        while self.asked.try_recv().is_ok() {}
        // What was answered is to arrive.
        let end = steady() + ARRIVAL;
        while Arc::strong_count(&self.answering) > 1 && steady() < end {
            thread::sleep(SOON);
        }
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns true if SIGHUP was ignored at the start.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The first signal is the lowest bit.
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}

/// Returns the device and the inode of a file; `None`: there is none.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::lstat(path).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// The sockets that were made, which go with it.
#[derive(Debug)]
struct Sockets {
    folder: Held,
    /// Their names, devices and inodes.
    made: Vec<(&'static str, (u64, u64))>,
}

impl Sockets {
    /// Makes a socket that only its owner can use.
    fn bind(&mut self, name: &'static str) -> io::Result<std::os::unix::net::UnixListener> {
        let path = self.folder.inside().join(name);
        let shown = self.folder.path.join(name);
        let listener = bind_for_owner(&path).map_err(|error| {
            let error = io::Error::from(error);
            io::Error::new(error.kind(), format!("{}: {}", shown.display(), plain(&error)))
        })?;
        self.made.extend(identity(&path).map(|made| (name, made)));
        Ok(listener)
    }
}

/// Listens on a new socket that only its owner can use. It gets its mode before its name: set afterwards, it could
/// be the mode of what a link leads to.
fn bind_for_owner(path: &Path) -> Result<std::os::unix::net::UnixListener, Errno> {
    let kind = (AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC);
    let socket = socket_with(kind.0, kind.1, kind.2, None)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, WAITING)?;
    Ok(socket.into())
}

impl Drop for Sockets {
    fn drop(&mut self) {
        for (name, made) in &self.made {
            // Another may have taken its place.
            let path = self.folder.inside().join(name);
            if identity(&path) == Some(*made) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// Returns the socket of a plugin, wherever it is: the kubelet joins what it is given to its folder, and cleans
/// the path by its text alone (Go's `filepath.Join`).
pub(super) fn plugin_socket(folder: &Path, endpoint: &str) -> PathBuf {
    let mut socket = folder.to_owned();
    for part in endpoint.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(socket.pop()),
            name => socket.push(name),
        }
    }
    socket
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_joined_as_by_go() {
        for (endpoint, socket) in [
            ("gpu.sock", "/plugins/gpu.sock"),
            ("..gpu", "/plugins/..gpu"),
            ("sub/gpu.sock", "/plugins/sub/gpu.sock"),
            ("/tmp/gpu.sock", "/plugins/tmp/gpu.sock"),
            ("../gpu.sock", "/gpu.sock"),
            ("../../../gpu.sock", "/gpu.sock"),
            ("a//b/./../gpu.sock", "/plugins/a/gpu.sock"),
            ("", "/plugins"),
            (".", "/plugins"),
        ] {
            assert_eq!(
                plugin_socket(Path::new("/plugins"), endpoint),
                Path::new(socket),
                "{endpoint}"
            );
        }
    }
}
