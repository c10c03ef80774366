//! A connection to a runtime's socket.

use super::beneath::resolve;
use super::reason::chain;
use super::{CriError, v1};
use crate::edge::input::plain;
use hyper_util::rt::TokioIo;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};
use v1::image_service_client::ImageServiceClient;
use v1::runtime_service_client::RuntimeServiceClient;

/// The largest answer that is read.
///
/// The limit of tonic is 4 MiB, that of the kubelet and crictl 16 MiB, and a node with many images
/// passes both: 60,000 images are about 9 MiB. A node on which the kubelet fails for that reason is one
/// where kq must still answer, so the limit only stops what cannot be meant.
pub const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// How long to wait before a socket whose queue is full is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// Connects to the socket of a runtime: `unix:///PATH` or `/PATH`, beneath the node's root.
///
/// It waits as long as it takes; the caller sets the time.
///
/// # Errors
///
/// Fails for an endpoint that is no unix socket, and when nobody listens there.
pub async fn connect(endpoint: &str, host_root: &Path) -> Result<Channel, CriError> {
    let refused = |reason| CriError::Connect { endpoint: endpoint.to_owned(), reason };
    let path =
        resolve(host_root, socket_path(endpoint)?).map_err(|error| refused(plain(&error)))?;
    dial(path).await.map_err(refused)
}

/// Connects to a socket where it is for kq; the reason of a failure is a lowercase fragment.
pub(in crate::edge) async fn dial(path: PathBuf) -> Result<Channel, String> {
    let connector = tower::service_fn(move |_: Uri| {
        let path = path.clone();
        async move { connect_socket(&path).await.map(TokioIo::new) }
    });
    // The address is never looked up; it is the authority that Go's gRPC sends over unix sockets.
    Endpoint::from_static("http://localhost")
        // Lists of megabytes come faster through a window that grows.
        .http2_adaptive_window(true)
        .connect_with_connector(connector)
        .await
        .map_err(|error| chain(&error))
}

/// Connects to a socket; one whose queue is full is asked again, which the kernel does itself for
/// connections that may block.
pub(in crate::edge) async fn connect_socket(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Returns the path of the socket.
pub(super) fn socket_path(endpoint: &str) -> Result<&Path, CriError> {
    let path = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
    if path.starts_with('/') && !path.trim_end_matches('/').is_empty() {
        Ok(Path::new(path))
    } else {
        Err(CriError::Endpoint { endpoint: endpoint.to_owned() })
    }
}

/// Returns the client of the runtime's half of the API.
pub(super) fn runtime_client(channel: &Channel) -> RuntimeServiceClient<Channel> {
    RuntimeServiceClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES)
}

/// Returns the client of the images' half of the API.
pub(super) fn image_client(channel: &Channel) -> ImageServiceClient<Channel> {
    ImageServiceClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES)
}

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
            ("unix:/run/crio.sock", None),
            ("unix://", None),
            ("unix:///", None),
            ("/", None),
            ("", None),
            ("tcp://127.0.0.1:1234", None),
            ("http://localhost", None),
            ("npipe:////./pipe/containerd-containerd", None),
        ];
        for (endpoint, expected) in rows {
            assert_eq!(socket_path(endpoint).ok(), expected.map(Path::new), "{endpoint:?}");
        }
    }
}
