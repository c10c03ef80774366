//! Runtimes that are made up: a gRPC server that answers what it is told, and sockets that misbehave.

use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kq::edge::cri::v1::image_service_server::{ImageService, ImageServiceServer};
use kq::edge::cri::v1::runtime_service_server::{RuntimeService, RuntimeServiceServer};
use kq::edge::cri::v1::{
    ImageFsInfoRequest, ImageFsInfoResponse, ListContainersRequest, ListContainersResponse,
    ListImagesRequest, ListImagesResponse, ListPodSandboxRequest, ListPodSandboxResponse,
    RuntimeConfigRequest, RuntimeConfigResponse, StatusRequest, StatusResponse, VersionRequest,
    VersionResponse,
};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use tonic::codegen::Service;
use tonic::{Request, Response, Status, async_trait};

/// What a made-up runtime answers; what it has no answer for it does not implement.
#[derive(Clone, Default)]
pub struct Answers {
    pub runtime_config: Option<RuntimeConfigResponse>,
    pub status: Option<StatusResponse>,
    pub sandboxes: Option<ListPodSandboxResponse>,
    pub containers: Option<ListContainersResponse>,
    pub images: Option<ListImagesResponse>,
    pub filesystems: Option<ImageFsInfoResponse>,
    /// `ListContainers` is never answered.
    pub is_stuck: bool,
}

type Answer<T> = Result<Response<T>, Status>;

fn answer<T: Clone>(known: &Option<T>) -> Answer<T> {
    known.clone().map(Response::new).ok_or_else(|| Status::unimplemented("not by this one"))
}

#[async_trait]
impl RuntimeService for Answers {
    async fn version(&self, _: Request<VersionRequest>) -> Answer<VersionResponse> {
        Ok(Response::new(VersionResponse {
            version: "0.1.0".to_owned(),
            runtime_name: "made-up".to_owned(),
            runtime_version: "1.2.3".to_owned(),
            runtime_api_version: "v1".to_owned(),
        }))
    }

    async fn runtime_config(
        &self,
        _: Request<RuntimeConfigRequest>,
    ) -> Answer<RuntimeConfigResponse> {
        answer(&self.runtime_config)
    }

    async fn status(&self, request: Request<StatusRequest>) -> Answer<StatusResponse> {
        let mut status = answer(&self.status)?;
        if !request.into_inner().verbose {
            status.get_mut().info.clear();
        }
        Ok(status)
    }

    async fn list_pod_sandbox(
        &self,
        _: Request<ListPodSandboxRequest>,
    ) -> Answer<ListPodSandboxResponse> {
        answer(&self.sandboxes)
    }

    async fn list_containers(
        &self,
        _: Request<ListContainersRequest>,
    ) -> Answer<ListContainersResponse> {
        if self.is_stuck {
            std::future::pending::<()>().await;
        }
        answer(&self.containers)
    }
}

#[async_trait]
impl ImageService for Answers {
    async fn list_images(&self, _: Request<ListImagesRequest>) -> Answer<ListImagesResponse> {
        answer(&self.images)
    }

    async fn image_fs_info(&self, _: Request<ImageFsInfoRequest>) -> Answer<ImageFsInfoResponse> {
        answer(&self.filesystems)
    }
}

/// A server on a socket, which ends with it.
pub struct Server {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves answers at a path.
    pub fn answering(path: &Path, answers: Answers) -> Self {
        let listener = UnixListener::bind(path).expect("a socket can be made");
        Self::start(path, move |stop| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .enable_time()
                .build()
                .expect("a runtime can be made");
            runtime.block_on(accept(listener, Arc::new(answers), stop));
        })
    }

    /// Lets each connection at a path be handled by a function, on a thread of its own.
    pub fn handling(path: &Path, handle: impl Fn(UnixStream) + Clone + Send + 'static) -> Self {
        let listener = UnixListener::bind(path).expect("a socket can be made");
        Self::start(path, move |stop| {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let handle = handle.clone();
                let stream = stream.expect("a connection can be accepted");
                thread::spawn(move || handle(stream));
            }
        })
    }

    fn start(path: &Path, serve: impl FnOnce(Arc<AtomicBool>) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let stop = stop.clone();
            move || serve(stop)
        });
        Self { path: path.to_owned(), stop, thread: Some(thread) }
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.path.display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread, which then sees that it is over.
        if UnixStream::connect(&self.path).is_ok() {
            let ended = self.thread.take().map(JoinHandle::join);
            assert!(!matches!(ended, Some(Err(_))) || thread::panicking(), "a server panicked");
        }
    }
}

async fn accept(listener: UnixListener, answers: Arc<Answers>, stop: Arc<AtomicBool>) {
    listener.set_nonblocking(true).expect("a socket can be set up");
    let listener = tokio::net::UnixListener::from_std(listener).expect("a socket can be used");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection can be accepted");
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let answers = answers.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let answers = answers.clone();
            async move {
                if request.uri().path().starts_with("/runtime.v1.ImageService/") {
                    ImageServiceServer::from_arc(answers).call(request).await
                } else {
                    RuntimeServiceServer::from_arc(answers).call(request).await
                }
            }
        });
        let connection = http2::Builder::new(TokioExecutor::new());
        tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
    }
}
