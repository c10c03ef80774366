//! A server that goes on while its test waits.

use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::path::Path;
use std::thread::{self, JoinHandle};
use tokio::net::UnixListener;
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::codegen::Service;

/// A gRPC server on a thread of its own; when it ends its connections break, as those of a process.
pub struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Serves at a socket.
    pub fn serve<S>(socket: &Path, server: S) -> Self
    where
        S: Service<hyper::Request<Incoming>, Response = hyper::Response<Body>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
    {
        let listener =
            std::os::unix::net::UnixListener::bind(socket).expect("a socket can be made");
        listener.set_nonblocking(true).expect("a socket can be set up");
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(async move {
                tokio::spawn(accept(listener, server));
                let _ = stopped.await;
            });
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.take().map(|stop| stop.send(()));
        self.thread.take().map(JoinHandle::join);
    }
}

async fn accept<S>(listener: std::os::unix::net::UnixListener, server: S)
where
    S: Service<hyper::Request<Incoming>, Response = hyper::Response<Body>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
{
    let listener = UnixListener::from_std(listener).expect("a socket can be used");
    while let Ok((stream, _)) = listener.accept().await {
        let server = server.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let mut server = server.clone();
            async move { server.call(request).await }
        });
        let connection = http2::Builder::new(TokioExecutor::new());
        tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
    }
}
