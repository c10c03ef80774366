//! The pieces that images share, as a fake containerd reports them.

use super::fake::Server;
use crate::services::content::content_server::{Content, ContentServer};
use crate::services::images::images_server::{Images, ImagesServer};
use crate::services::leases::leases_server::{Leases, LeasesServer};
use crate::services::namespaces::namespaces_server::{Namespaces, NamespacesServer};
use crate::services::snapshots::snapshots_server::{Snapshots, SnapshotsServer};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{Image, ImageStorage, RuntimeVersion};
use kq_linux::cri::connect;
use kq_linux::cri::storage::image_storage;
use kq_linux::cri::storage::v1::content::{Info, ListContentRequest, ListContentResponse};
use kq_linux::cri::storage::v1::images::{self, ListImagesRequest, ListImagesResponse, Target};
use kq_linux::cri::storage::v1::leases::{
    Lease, ListRequest, ListResourcesRequest, ListResourcesResponse, ListResponse, Resource,
};
use kq_linux::cri::storage::v1::namespaces::{
    ListNamespacesRequest, ListNamespacesResponse, Namespace,
};
use kq_linux::cri::storage::v1::snapshots::{
    self, Kind, ListSnapshotsRequest, ListSnapshotsResponse, UsageRequest, UsageResponse,
};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tonic::codegen::{BoxStream, Service, tokio_stream};
use tonic::{Request, Response, Status, async_trait};

/// A containerd whose lists can be broken.
#[derive(Default)]
struct Made {
    /// What answers that it does not exist.
    missing: &'static str,
    /// The size of every blob and snapshot.
    size: i64,
    /// How many finished snapshots there are.
    layers: usize,
    /// The number of current queries for sizes, and its maximum.
    asked: AtomicUsize,
    most: AtomicUsize,
}

type Answer<T> = Result<Response<T>, Status>;

impl Made {
    /// Returns the namespace of a request.
    fn asked<T>(&self, name: &str, request: &Request<T>) -> Result<String, Status> {
        if self.missing == name {
            return Err(Status::unimplemented("not by this one"));
        }
        let namespace = request.metadata().get("containerd-namespace");
        let namespace = namespace.ok_or_else(|| Status::failed_precondition("no namespace"))?;
        Ok(namespace.to_str().expect("text").to_owned())
    }
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| (format!("containerd.io/gc.{key}"), (*value).into())).collect()
}

#[async_trait]
impl Images for Made {
    async fn list(&self, request: Request<ListImagesRequest>) -> Answer<ListImagesResponse> {
        assert_eq!(self.asked("images", &request)?, "k8s.io");
        let image = |name: &str| images::Image {
            name: name.to_owned(),
            target: Some(Target { digest: "sha256:manifest".to_owned() }),
            ..images::Image::default()
        };
        let images = vec![image("one:1"), image("sha256:config")];
        Ok(Response::new(ListImagesResponse { images }))
    }
}

#[async_trait]
impl Content for Made {
    async fn list(
        &self,
        request: Request<ListContentRequest>,
    ) -> Answer<BoxStream<ListContentResponse>> {
        let namespace = self.asked("content", &request)?;
        let blob = |digest: &str, pairs: &[(&str, &str)]| Info {
            digest: digest.to_owned(),
            size: self.size,
            labels: labels(pairs),
        };
        let children =
            [("ref.content.config", "sha256:config"), ("ref.content.l.0", "sha256:layer")];
        let parts = match namespace.as_str() {
            "k8s.io" => vec![
                vec![blob("sha256:manifest", &children), blob("sha256:layer", &[])],
                vec![],
                vec![blob("sha256:config", &[("ref.snapshot.overlayfs", "0")])],
                vec![blob("sha256:leased", &[])],
            ],
            "moby" => vec![vec![blob("sha256:layer", &[]), blob("sha256:other", &[])]],
            other => panic!("asked for {other}"),
        };
        let parts = parts.into_iter().map(|info| Ok(ListContentResponse { info }));
        let parts: Vec<_> = parts.collect();
        Ok(Response::new(Box::pin(tokio_stream::iter(parts))))
    }
}

#[async_trait]
impl Leases for Made {
    async fn list(&self, request: Request<ListRequest>) -> Answer<ListResponse> {
        assert_eq!(self.asked("leases", &request)?, "k8s.io");
        let lease = |id: &str| Lease { id: id.to_owned(), ..Lease::default() };
        Ok(Response::new(ListResponse { leases: vec![lease("gone"), lease("held")] }))
    }

    async fn list_resources(
        &self,
        request: Request<ListResourcesRequest>,
    ) -> Answer<ListResourcesResponse> {
        self.asked("resources", &request)?;
        if request.into_inner().id == "gone" {
            return Err(Status::not_found("it ended"));
        }
        let held = Resource { id: "sha256:leased".to_owned(), r#type: "content".to_owned() };
        Ok(Response::new(ListResourcesResponse { resources: vec![held] }))
    }
}

#[async_trait]
impl Namespaces for Made {
    async fn list(&self, _: Request<ListNamespacesRequest>) -> Answer<ListNamespacesResponse> {
        if self.missing == "namespaces" {
            return Err(Status::unimplemented("not by this one"));
        }
        let namespaces = ["k8s.io", "moby"].map(|name| Namespace { name: name.to_owned() });
        Ok(Response::new(ListNamespacesResponse { namespaces: namespaces.to_vec() }))
    }
}

#[async_trait]
impl Snapshots for Made {
    /// Each lies on the next; a container writes over the last.
    async fn list(
        &self,
        request: Request<ListSnapshotsRequest>,
    ) -> Answer<BoxStream<ListSnapshotsResponse>> {
        assert_eq!(self.asked("snapshots", &request)?, "k8s.io");
        assert_eq!(request.into_inner().snapshotter, "overlayfs");
        let layers = self.layers;
        let info = move |n: usize| snapshots::Info {
            name: n.to_string(),
            parent: if n + 1 < layers { (n + 1).to_string() } else { String::new() },
            kind: Kind::Committed.into(),
            ..snapshots::Info::default()
        };
        let written = snapshots::Info {
            name: "container".to_owned(),
            parent: layers.saturating_sub(1).to_string(),
            kind: Kind::Active.into(),
            ..snapshots::Info::default()
        };
        let infos = (0..layers).map(info).chain([written]);
        let parts = infos.map(|info| Ok(ListSnapshotsResponse { info: vec![info] }));
        let parts: Vec<_> = parts.collect();
        Ok(Response::new(Box::pin(tokio_stream::iter(parts))))
    }

    async fn usage(&self, request: Request<UsageRequest>) -> Answer<UsageResponse> {
        self.asked("usage", &request)?;
        let key = request.into_inner().key;
        assert_ne!(key, "container", "that would be counted file by file");
        let now = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(2)).await;
        self.asked.fetch_sub(1, Ordering::SeqCst);
        match key.as_str() {
            "gone" | "1" => Err(Status::not_found("it is gone")),
            _ => Ok(Response::new(UsageResponse { size: self.size })),
        }
    }
}

/// Answers on one connection until it ends.
fn serve(stream: UnixStream, made: &Arc<Made>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(async {
        stream.set_nonblocking(true).expect("a socket can be set up");
        let stream = tokio::net::UnixStream::from_std(stream).expect("a socket can be used");
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let made = made.clone();
            async move {
                let path = request.uri().path().to_owned();
                match path.split('/').nth(1) {
                    Some("containerd.services.images.v1.Images") => {
                        ImagesServer::from_arc(made).call(request).await
                    }
                    Some("containerd.services.content.v1.Content") => {
                        ContentServer::from_arc(made).call(request).await
                    }
                    Some("containerd.services.leases.v1.Leases") => {
                        LeasesServer::from_arc(made).call(request).await
                    }
                    Some("containerd.services.snapshots.v1.Snapshots") => {
                        SnapshotsServer::from_arc(made).call(request).await
                    }
                    _ => NamespacesServer::from_arc(made).call(request).await,
                }
            }
        });
        let connection = http2::Builder::new(TokioExecutor::new());
        let _ = connection.serve_connection(TokioIo::new(stream), service).await;
    });
}

/// Queries a fake containerd about one image.
fn asked(runtime_name: &str, made: Arc<Made>) -> Lookup<ImageStorage> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("c.sock");
    let server = Server::handling(&path, move |stream| serve(stream, &made));
    let images = [Image {
        id: "sha256:config".to_owned(),
        repo_tags: vec!["one:1".to_owned()],
        ..Image::default()
    }];
    let version =
        RuntimeVersion { runtime_name: runtime_name.to_owned(), ..RuntimeVersion::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(async {
        let channel =
            connect(&server.endpoint(), Path::new("/")).await.expect("somebody listens there");
        let asked = image_storage(&channel, "the socket", &version, &images);
        tokio::time::timeout(Duration::from_secs(60), asked).await.expect("it answers")
    })
}

#[test]
fn pieces_and_their_holders_are_told() {
    let made = Arc::new(Made { size: 5, layers: 100, ..Made::default() });
    let sought = asked("containerd", made.clone());
    let storage = sought.value().unwrap_or_else(|| panic!("{}", sought.reason()));
    let told: BTreeMap<&str, (u64, usize, bool)> = storage
        .pieces
        .iter()
        .map(|piece| (piece.name.as_str(), (piece.bytes, piece.images.len(), piece.held_otherwise)))
        .collect();
    assert_eq!(told.len(), 4 + 99, "every blob, and every finished snapshot but the one gone");
    for (name, expected) in [
        ("sha256:manifest", (5, 1, false)),
        ("sha256:config", (5, 1, false)),
        ("sha256:layer", (5, 1, true)),
        ("sha256:leased", (5, 0, true)),
        ("overlayfs/0", (5, 1, false)),
        ("overlayfs/99", (5, 0, true)),
    ] {
        assert_eq!(told.get(name), Some(&expected), "{name}");
    }
    let most = made.most.load(Ordering::SeqCst);
    assert!((2..=16).contains(&most), "{most} at a time");
}

#[test]
fn whatever_is_not_answered_has_a_reason() {
    for (missing, method) in [
        ("images", "Images/List"),
        ("content", "Content/List"),
        ("leases", "Leases/List"),
        ("resources", "Leases/ListResources"),
        ("namespaces", "Namespaces/List"),
        ("snapshots", "Snapshots/List"),
        ("usage", "Snapshots/Usage"),
    ] {
        let sought = asked("containerd", Arc::new(Made { missing, layers: 1, ..Made::default() }));
        assert_eq!(
            sought.reason(),
            format!(
                "the socket containerd.services: {method}: answered Unimplemented: not by this one"
            )
        );
        assert_eq!(sought.found, None, "{missing}");
    }
    let sought = asked("containerd", Arc::new(Made { size: -1, ..Made::default() }));
    let expected = "the socket containerd.services: Content/List: sha256:manifest has -1 bytes";
    assert_eq!(sought.reason(), expected);
}

#[test]
fn other_runtimes_are_not_asked() {
    let sought = asked("cri-o", Arc::new(Made { missing: "images", ..Made::default() }));
    let expected = "the socket containerd.services: only containerd reports what its images share";
    assert_eq!(sought.reason(), expected);
}
