//! The Registration service, as the kubelet serves it (`server.go`, `handler.go`).

use super::any_authority::AnyAuthority;
use super::client::PluginClient;
use super::places::{Places, Seat};
use super::registration_server::{Incoming, Timeouts, in_time, plugin_socket};
use super::v1beta1::registration_server::{Registration, RegistrationServer, SERVICE_NAME};
use super::v1beta1::{Empty, RegisterRequest};
use hyper::body::Incoming as Body;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kq_k8s::go_text::quote;
use kq_managers::manager::check_registration;
use std::error::Error;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tonic::codegen::Service;
use tonic::{Request, Response, Status};

/// Streams of one connection at once; each is a registration that waits.
const STREAMS: u32 = 1_024;

/// Plugins that are connected to at once. The time of the others begins with their turn, so that a burst of
/// registrations is not refused for its own length.
pub(super) const HANDSHAKES: usize = 128;

/// How often a silent connection is asked whether it is still there, and how long that may take: one that is
/// forgotten must not hold its place forever.
const PING: Duration = Duration::from_secs(60);

/// How long a silent connection is kept.
const SILENCE: Duration = Duration::from_secs(10);

/// What registers plugins.
pub(super) struct Registrar {
    pub folder: PathBuf,
    pub patience: Timeouts,
    pub sender: mpsc::Sender<Incoming>,
    pub connections: AtomicU64,
    pub handshakes: Semaphore,
}

/// Accepts connections, as many at once as there are places.
pub(super) async fn serve(listener: UnixListener, registrar: Arc<Registrar>, places: Places) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptors are left for the moment, or the caller has gone already.
            places.end_silent();
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let registrar = registrar.clone();
        places.run(|seat| connection(stream, registrar, seat)).await;
    }
}

async fn connection(stream: UnixStream, registrar: Arc<Registrar>, seat: Seat) {
    let (sender, seat) = (registrar.sender.clone(), Arc::new(seat));
    let service = service_fn(move |request: hyper::Request<Body>| {
        let (registrar, busy) = (registrar.clone(), seat.busy());
        async move {
            let _busy = busy;
            match unimplemented(request.uri().path()) {
                Some(status) => Ok(status.into_http()),
                None => RegistrationServer::from_arc(registrar).call(request).await,
            }
        }
    });
    let mut server = http2::Builder::new(TokioExecutor::new());
    server
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(STREAMS);
    let spoke = Arc::new(AtomicBool::new(false));
    let stream = TokioIo::new(AnyAuthority::new(stream, spoke.clone()));
    let mut served = pin!(server.serve_connection(stream, service));
    let done = match timeout(SILENCE, served.as_mut()).await {
        Ok(done) => done,
        Err(_) if spoke.load(Ordering::Relaxed) => served.await,
        Err(_) => return,
    };
    // A caller that breaks off is none of ours.
    if let Some(reason) = done.err().as_ref().and_then(wrong_protocol) {
        let _ = sender.send(Incoming::NotUnderstood { reason }).await;
    }
}

/// Returns what grpc-go answers to a call of anything else than what is served (`handleStream` of `server.go`).
fn unimplemented(path: &str) -> Option<Status> {
    let Some((service, method)) = path.strip_prefix('/').and_then(|path| path.rsplit_once('/'))
    else {
        return Some(Status::unimplemented(format!("malformed method name: {}", quote(path))));
    };
    match (service, method) {
        (SERVICE_NAME, "Register") => None,
        (SERVICE_NAME, method) => {
            let text = format!("unknown method {method} for service {SERVICE_NAME}");
            Some(Status::unimplemented(text))
        }
        (service, _) => Some(Status::unimplemented(format!("unknown service {service}"))),
    }
}

/// Returns what is wrong with a caller that speaks something else than HTTP/2.
fn wrong_protocol(error: &hyper::Error) -> Option<String> {
    let error = error.source()?.downcast_ref::<h2::Error>()?;
    let is_theirs = !error.is_io() && error.is_library();
    is_theirs.then(|| error.to_string())
}

#[tonic::async_trait]
impl Registration for Registrar {
    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Empty>, Status> {
        let request = request.into_inner();
        let (resource, endpoint) = (request.resource_name.clone(), request.endpoint.clone());
        match self.connect(request).await {
            Ok(()) => Ok(Response::new(Empty {})),
            Err((text, detail)) => {
                let told = Incoming::Refused { resource, endpoint, reason: text.clone(), detail };
                let _ = self.sender.send(told).await;
                // What grpc-go makes of an error that is no status.
                Err(Status::unknown(text))
            }
        }
    }
}

impl Registrar {
    /// Checks a registration, connects to the plugin and asks it for its options; from then on it is
    /// watched. The second text of an error is more than a kubelet says.
    async fn connect(&self, request: RegisterRequest) -> Result<(), (String, Option<String>)> {
        let RegisterRequest { version, endpoint, resource_name: resource, .. } = request;
        check_registration(&version, &resource).map_err(|error| (error.to_string(), None))?;
        let socket = plugin_socket(&self.folder, &endpoint);
        let turn = self.handshakes.acquire().await.expect("it is never closed");
        let mut plugin = PluginClient::dial(&socket, self.patience.dial)
            .await
            .map_err(|(go, why)| (format!("failed to dial device plugin: {go}"), Some(why)))?;
        let options = in_time(self.patience.call, plugin.options())
            .await
            .map_err(|error| (format!("failed to get device plugin options: {error}"), None))?;
        drop(turn);
        let id = self.connections.fetch_add(1, Ordering::Relaxed);
        let (taken, wait) = oneshot::channel();
        let connected =
            Incoming::Connected { id, resource, endpoint, options, plugin: plugin.clone(), taken };
        let (answer, answered) = oneshot::channel();
        // A caller that goes before it is answered does not take this with it: what is registered is watched.
        let sender = self.sender.clone();
        tokio::spawn(async move {
            if sender.send(connected).await.is_ok() && wait.await.is_ok() {
                let _ = answer.send(());
                watch(id, plugin, sender).await;
            }
        });
        answered.await.map_err(|_| ("the fake kubelet is stopping".to_owned(), None))
    }
}

/// Passes on the lists of a plugin until its stream ends. One list at a time: the next is read when the one
/// before was taken, so a plugin that floods is slowed down by its own socket.
async fn watch(id: u64, mut plugin: PluginClient, sender: mpsc::Sender<Incoming>) {
    let lists = async {
        let mut lists = plugin.list_and_watch().await?;
        loop {
            let devices = lists.next().await?;
            if sender.send(Incoming::Listed { id, devices }).await.is_err() {
                return Ok::<(), String>(());
            }
        }
    };
    if let Err(reason) = lists.await {
        let _ = sender.send(Incoming::Ended { id, reason }).await;
    }
}
