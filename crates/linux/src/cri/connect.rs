//! A connection to a runtime's socket.

use super::reason::chain;
use super::{CriError, v1};
use hyper_util::rt::TokioIo;
use kq_io::host::{ReadError, resolve};
use kq_io::input::plain;
use kq_io::memory;
use kq_io::place::Last;
use kq_io::trust::{NamedBy, TrustedSocket, is_trusted_user, trusted_users};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::Service;
use v1::image_service_client::ImageServiceClient;
use v1::runtime_service_client::RuntimeServiceClient;

/// The largest answer that is read.
///
/// tonic's default limit is 4 MiB, that of the kubelet and crictl 16 MiB, and a node with many images
/// exceeds both: 60,000 images are about 9 MiB. kq must still answer on a node where the kubelet fails
/// for that reason, so the limit only stops absurd sizes.
pub const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// The pause before retrying a socket whose queue is full.
const PAUSE: Duration = Duration::from_millis(20);

/// Connects to the socket of a runtime that the operator named: `unix:///PATH`, `unix:/PATH` or `/PATH`, beneath the
/// node's root.
///
/// It has no time limit of its own.
/// Fails for an endpoint that is not a unix socket, and without a listener.
pub async fn connect(endpoint: &str, host_root: &Path) -> Result<Channel, CriError> {
    Ok(connect_checked(endpoint, host_root, NamedBy::Operator).await?.channel)
}

/// Connects to the socket of a runtime. One that the operator did not name must be trusted.
pub(super) async fn connect_checked(
    endpoint: &str,
    host_root: &Path,
    named_by: NamedBy,
) -> Result<Connection, CriError> {
    let refused = |reason| CriError::Connect { endpoint: endpoint.to_owned(), reason };
    let place = SocketPlace::find(host_root, &socket_path(endpoint)?, named_by).map_err(refused)?;
    dial_checked(place).await.map_err(refused)
}

/// Where a socket is for kq.
pub(crate) enum SocketPlace {
    /// The operator named it: any user may own it.
    Named(PathBuf),
    /// Only trusted users can replace it, and the listener is checked.
    Checked(TrustedSocket),
}

impl SocketPlace {
    /// Finds a socket beneath the node's root; the reason of a failure is a lowercase fragment.
    pub(crate) fn find(host_root: &Path, path: &Path, named_by: NamedBy) -> Result<Self, String> {
        match named_by {
            NamedBy::Operator => {
                let found = resolve(host_root, path, Last::Follow).map(Self::Named);
                found.map_err(|error| match error {
                    Errno::LOOP => "too many links".to_owned(),
                    error => plain(&error.into()),
                })
            }
            NamedBy::Node => {
                let found = TrustedSocket::find(host_root, &path.to_string_lossy());
                found.map(Self::Checked).map_err(words)
            }
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Named(path) => path.clone(),
            Self::Checked(socket) => socket.path(),
        }
    }
}

/// Returns why something was not found, in the system's words.
pub(super) fn words(error: ReadError) -> String {
    match error {
        ReadError::Absent => "no such file or directory".to_owned(),
        error => error.to_string(),
    }
}

/// A connection to a socket.
pub(crate) struct Connection {
    pub(crate) channel: Channel,
    /// The listening user; `None`: the kernel does not report it.
    listener: Option<u32>,
}

impl Connection {
    /// Returns why a program that the runtime names does not count.
    pub(super) fn distrust(&self) -> Option<String> {
        distrust(self.listener)
    }
}

/// Returns why a listener is not trusted.
fn distrust(listener: Option<u32>) -> Option<String> {
    match listener {
        Some(uid) if is_trusted_user(uid) => None,
        Some(uid) => {
            Some(format!("not trusted: user {uid} listens there, expected {}", trusted_users()))
        }
        None => Some("not trusted: the listening user is unknown".to_owned()),
    }
}

/// Connects to a socket, and checks the listener of a checked socket.
pub(crate) async fn dial_checked(place: SocketPlace) -> Result<Connection, String> {
    let listener = Arc::new(OnceLock::new());
    let (place, seen) = (Arc::new(place), Arc::clone(&listener));
    let connector = tower::service_fn(move |_: Uri| {
        let (place, seen) = (Arc::clone(&place), Arc::clone(&seen));
        async move {
            let stream = connect_socket(&place.path()).await?;
            let uid = stream.peer_cred().ok().map(|found| found.uid());
            if let (SocketPlace::Checked(_), Some(reason)) = (&*place, distrust(uid)) {
                return Err(io::Error::other(reason));
            }
            // A second connection may have another listener.
            if *seen.get_or_init(|| uid) != uid {
                return Err(io::Error::other("another user listens there by now"));
            }
            Ok(TokioIo::new(CountedStream::new(stream, place.path().display().to_string())))
        }
    });
    let channel = channel_over(connector).await?;
    Ok(Connection { channel, listener: listener.get().copied().flatten() })
}

/// Connects to a socket where it is for kq; the reason of a failure is a lowercase fragment.
pub(crate) async fn dial(path: PathBuf) -> Result<Channel, String> {
    Ok(dial_checked(SocketPlace::Named(path)).await?.channel)
}

async fn channel_over<C>(connector: C) -> Result<Channel, String>
where
    C: Service<Uri, Response = TokioIo<CountedStream>, Error = io::Error> + Send + 'static,
    C::Future: Send,
{
    // The address is not resolved; it is the authority that Go's gRPC sends over unix sockets.
    Endpoint::from_static("http://localhost")
        // Large lists are faster with an adaptive window.
        .http2_adaptive_window(true)
        .connect_with_connector(connector)
        .await
        .map_err(|error| chain(&error))
}

/// Connects to a socket; retries if its queue is full, as the kernel does for blocking
/// connections.
pub(crate) async fn connect_socket(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Returns the path of the socket: `unix:///PATH` or `unix:/PATH` with what a URL escapes, as crictl takes
/// them (`parseEndpoint` of `k8s.io/cri-client/pkg/util`), or `/PATH` as it stands.
///
/// A host between `//` and the path is rejected, although crictl ignores it: usually a slash is missing, and the path
/// is not the intended one.
pub(super) fn socket_path(endpoint: &str) -> Result<PathBuf, CriError> {
    let refuse = || CriError::Endpoint { endpoint: endpoint.to_owned() };
    let path = match endpoint.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("unix") => {
            let rest = rest.strip_prefix("//").unwrap_or(rest);
            unescaped(rest.split(['?', '#']).next().unwrap_or_default()).ok_or_else(refuse)?
        }
        _ => endpoint.to_owned(),
    };
    match path.starts_with('/') && !path.trim_end_matches('/').is_empty() {
        true => Ok(PathBuf::from(path)),
        false => Err(refuse()),
    }
}

/// Returns the text that a path of a URL stands for; `None`: an escape in it is broken.
fn unescaped(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits =
            part.get(..2).filter(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

/// Returns the client of the runtime's half of the API.
pub(super) fn runtime_client(channel: &Channel) -> RuntimeServiceClient<Channel> {
    RuntimeServiceClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES)
}

/// Returns the client of the images' half of the API.
pub(super) fn image_client(channel: &Channel) -> ImageServiceClient<Channel> {
    ImageServiceClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES)
}

/// A connection to a named socket.
#[derive(Debug)]
struct CountedStream {
    stream: UnixStream,
    /// How errors name it.
    socket: String,
}

impl CountedStream {
    fn new(stream: UnixStream, socket: String) -> Self {
        Self { stream, socket }
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let received = buffer.filled().len().saturating_sub(before);
        if received > 0 {
            memory::received(&self.socket, received);
        }
        polled
    }
}

write_through!(CountedStream);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_unix_sockets() {
        let rows = [
            ("unix:///run/containerd/containerd.sock", Some("/run/containerd/containerd.sock")),
            ("/run/crio/crio.sock", Some("/run/crio/crio.sock")),
            ("unix://run/crio.sock", None),
            ("run/crio.sock", None),
            ("unix:/run/crio.sock", Some("/run/crio.sock")),
            ("UNIX:///run/crio.sock", Some("/run/crio.sock")),
            ("unix:///run/my%20crio.sock?a#b", Some("/run/my crio.sock")),
            ("/run/my%20crio.sock", Some("/run/my%20crio.sock")),
            ("unix:///run/crio%2", None),
            ("unix:///run/crio%zz", None),
            ("unix:run/crio.sock", None),
            ("unix:", None),
            ("unix://", None),
            ("unix:///", None),
            ("/", None),
            ("", None),
            ("tcp://127.0.0.1:1234", None),
            ("http://localhost", None),
            ("npipe:////./pipe/containerd-containerd", None),
        ];
        for (endpoint, expected) in rows {
            assert_eq!(socket_path(endpoint).ok(), expected.map(PathBuf::from), "{endpoint:?}");
        }
    }
}
