//! Fake runtimes: a gRPC server with given answers, and sockets that misbehave.

use super::world::Changing;
use crate::services::cri::image_service_server::{ImageService, ImageServiceServer};
use crate::services::cri::runtime_service_server::{RuntimeService, RuntimeServiceServer};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kq_linux::cri::v1::{
    ContainerStatusRequest, ContainerStatusResponse, ExecSyncRequest, ExecSyncResponse,
    ImageFsInfoRequest, ImageFsInfoResponse, ImageStatusRequest, ImageStatusResponse,
    ListContainerStatsRequest, ListContainerStatsResponse, ListContainersRequest,
    ListContainersResponse, ListImagesRequest, ListImagesResponse, ListPodSandboxRequest,
    ListPodSandboxResponse, RemoveContainerRequest, RemoveContainerResponse, RemoveImageRequest,
    RemoveImageResponse, RemovePodSandboxRequest, RemovePodSandboxResponse, RuntimeConfigRequest,
    RuntimeConfigResponse, StatusRequest, StatusResponse, StopContainerRequest,
    StopContainerResponse, StopPodSandboxRequest, StopPodSandboxResponse, VersionRequest,
    VersionResponse,
};
use std::collections::BTreeMap;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use tonic::codegen::Service;
use tonic::{Code, Request, Response, Status, async_trait};

/// What a made-up runtime answers; what it has no answer for it does not implement.
#[derive(Clone, Default)]
pub struct Answers {
    pub runtime_config: Option<RuntimeConfigResponse>,
    pub status: Option<StatusResponse>,
    pub sandboxes: Option<ListPodSandboxResponse>,
    pub containers: Option<ListContainersResponse>,
    pub images: Option<ListImagesResponse>,
    pub filesystems: Option<ImageFsInfoResponse>,
    pub stats: Option<ListContainerStatsResponse>,
    /// `1.2.3` of `made-up`.
    pub version: Option<(&'static str, &'static str)>,
    /// By the id of the container; others are not found.
    pub statuses: BTreeMap<String, ContainerStatusResponse>,
    /// By the id of the container; others are not found.
    pub execs: BTreeMap<String, ExecSyncResponse>,
    /// What a call is refused with, by method and id: `RemoveImage sha256:a`. A call that is cancelled
    /// is never answered.
    pub refusals: BTreeMap<String, Status>,
    /// The calls that name something, as they came.
    pub calls: Arc<Mutex<Vec<String>>>,
    /// `ListContainers` is never answered.
    pub is_stuck: bool,
    /// Images and containers that come and go; it answers for them where it is there.
    pub world: Option<Changing>,
}

type Answer<T> = Result<Response<T>, Status>;

fn answer<T: Clone>(known: &Option<T>) -> Answer<T> {
    known.clone().map(Response::new).ok_or_else(|| Status::unimplemented("not by this one"))
}

impl Answers {
    /// Records a call, and rejects it if configured so.
    async fn take(&self, call: String) -> Result<(), Status> {
        let told = self.world.as_ref().map(|world| world.turn(&call));
        let refusal = told.flatten().or_else(|| self.refusals.get(&call).cloned());
        self.calls.lock().expect("no test panics with it").push(call);
        match refusal {
            Some(status) if status.code() == Code::Cancelled => {
                std::future::pending::<()>().await;
                Ok(())
            }
            Some(status) => Err(status),
            None => Ok(()),
        }
    }
}

#[async_trait]
impl RuntimeService for Answers {
    async fn version(&self, _: Request<VersionRequest>) -> Answer<VersionResponse> {
        let (name, version) = self.version.unwrap_or(("made-up", "1.2.3"));
        Ok(Response::new(VersionResponse {
            version: "0.1.0".to_owned(),
            runtime_name: name.to_owned(),
            runtime_version: version.to_owned(),
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
        if let Some(world) = &self.world {
            self.take("ListContainers".to_owned()).await?;
            return Ok(Response::new(world.containers()));
        }
        answer(&self.containers)
    }

    async fn list_container_stats(
        &self,
        _: Request<ListContainerStatsRequest>,
    ) -> Answer<ListContainerStatsResponse> {
        answer(&self.stats)
    }

    async fn exec_sync(&self, request: Request<ExecSyncRequest>) -> Answer<ExecSyncResponse> {
        let request = request.into_inner();
        let id = request.container_id;
        self.take(format!("ExecSync {id} {:?} {}", request.cmd, request.timeout)).await?;
        let known = self.execs.get(&id).cloned();
        known.map(Response::new).ok_or_else(|| Status::not_found(format!("no container {id:?}")))
    }

    async fn container_status(
        &self,
        request: Request<ContainerStatusRequest>,
    ) -> Answer<ContainerStatusResponse> {
        let id = request.into_inner().container_id;
        self.take(format!("ContainerStatus {id}")).await?;
        if let Some(world) = &self.world {
            return world.container_status(&id).map(Response::new);
        }
        let known = self.statuses.get(&id).cloned();
        known.map(Response::new).ok_or_else(|| Status::not_found(format!("no container {id:?}")))
    }

    async fn stop_container(
        &self,
        request: Request<StopContainerRequest>,
    ) -> Answer<StopContainerResponse> {
        let StopContainerRequest { container_id, timeout } = request.into_inner();
        self.take(format!("StopContainer {container_id} {timeout}")).await?;
        Ok(Response::new(StopContainerResponse {}))
    }

    async fn remove_container(
        &self,
        request: Request<RemoveContainerRequest>,
    ) -> Answer<RemoveContainerResponse> {
        self.take(format!("RemoveContainer {}", request.into_inner().container_id)).await?;
        Ok(Response::new(RemoveContainerResponse {}))
    }

    async fn stop_pod_sandbox(
        &self,
        request: Request<StopPodSandboxRequest>,
    ) -> Answer<StopPodSandboxResponse> {
        self.take(format!("StopPodSandbox {}", request.into_inner().pod_sandbox_id)).await?;
        Ok(Response::new(StopPodSandboxResponse {}))
    }

    async fn remove_pod_sandbox(
        &self,
        request: Request<RemovePodSandboxRequest>,
    ) -> Answer<RemovePodSandboxResponse> {
        self.take(format!("RemovePodSandbox {}", request.into_inner().pod_sandbox_id)).await?;
        Ok(Response::new(RemovePodSandboxResponse {}))
    }
}

#[async_trait]
impl ImageService for Answers {
    async fn list_images(&self, _: Request<ListImagesRequest>) -> Answer<ListImagesResponse> {
        if let Some(world) = &self.world {
            self.take("ListImages".to_owned()).await?;
            return Ok(Response::new(world.images()));
        }
        answer(&self.images)
    }

    async fn image_status(
        &self,
        request: Request<ImageStatusRequest>,
    ) -> Answer<ImageStatusResponse> {
        let id = request.into_inner().image.unwrap_or_default().image;
        self.take(format!("ImageStatus {id}")).await?;
        if let Some(world) = &self.world {
            return Ok(Response::new(world.image_status(&id)));
        }
        let known = self.images.iter().flat_map(|list| &list.images);
        let image = known.clone().find(|image| image.id == id).cloned();
        Ok(Response::new(ImageStatusResponse { image, ..ImageStatusResponse::default() }))
    }

    async fn remove_image(
        &self,
        request: Request<RemoveImageRequest>,
    ) -> Answer<RemoveImageResponse> {
        let id = request.into_inner().image.unwrap_or_default().image;
        self.take(format!("RemoveImage {id}")).await?;
        self.world.iter().for_each(|world| world.remove_image(&id));
        Ok(Response::new(RemoveImageResponse {}))
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
