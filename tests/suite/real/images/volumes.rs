//! Images as volumes: containerd 2.1 and later mount them.

use super::ImageNode;
use super::users::container_config;
use kq_linux::cri::v1;
use prost::Message;
use tonic::codegen::http::uri::PathAndQuery;

/// A container with mounts of images, which kq's own messages do not have.
#[derive(Clone, PartialEq, Message)]
struct CreateRequest {
    #[prost(string, tag = "1")]
    pod_sandbox_id: String,
    #[prost(message, optional, tag = "2")]
    config: Option<Config>,
    #[prost(message, optional, tag = "3")]
    sandbox_config: Option<v1::PodSandboxConfig>,
}

#[derive(Clone, PartialEq, Message)]
struct Config {
    #[prost(message, optional, tag = "1")]
    metadata: Option<v1::ContainerMetadata>,
    #[prost(message, optional, tag = "2")]
    image: Option<v1::ImageSpec>,
    #[prost(string, repeated, tag = "3")]
    command: Vec<String>,
    #[prost(message, repeated, tag = "7")]
    mounts: Vec<Mount>,
    #[prost(message, optional, tag = "15")]
    linux: Option<v1::LinuxContainerConfig>,
}

#[derive(Clone, PartialEq, Message)]
struct Mount {
    #[prost(string, tag = "1")]
    container_path: String,
    #[prost(string, tag = "2")]
    host_path: String,
    #[prost(bool, tag = "3")]
    readonly: bool,
    #[prost(message, optional, tag = "9")]
    image: Option<v1::ImageSpec>,
}

#[derive(Clone, PartialEq, Message)]
struct StatusAnswer {
    #[prost(message, optional, tag = "1")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(message, repeated, tag = "14")]
    mounts: Vec<Mount>,
}

impl ImageNode {
    /// Makes a pod whose container has an image as a volume; returns the container's id.
    fn run_with_volume(&self, pod: &str, image: &str, volume: &str) -> Result<String, String> {
        let (sandbox, sandbox_config) = self.run_sandbox(pod);
        let config = container_config(pod, image, "86400");
        let own = |mount: v1::Mount| Mount {
            container_path: mount.container_path,
            host_path: mount.host_path,
            readonly: mount.readonly,
            image: None,
        };
        let mut mounts: Vec<Mount> = config.mounts.into_iter().map(own).collect();
        mounts.push(Mount {
            container_path: "/volume".to_owned(),
            readonly: true,
            image: Some(v1::ImageSpec { image: volume.to_owned(), ..Default::default() }),
            ..Mount::default()
        });
        let request = CreateRequest {
            pod_sandbox_id: sandbox,
            config: Some(Config {
                metadata: config.metadata,
                image: config.image,
                command: config.command,
                mounts,
                linux: config.linux,
            }),
            sandbox_config: Some(sandbox_config),
        };
        let created: v1::CreateContainerResponse = self.call("CreateContainer", request)?;
        let request = v1::StartContainerRequest { container_id: created.container_id.clone() };
        self.runtime.call(self.runtime.client().start_container(request))?;
        Ok(created.container_id)
    }

    /// Returns the images that the runtime says are mounted in a container, each with its path.
    fn volumes_of(&self, container: &str) -> Vec<(String, String)> {
        let request =
            v1::ContainerStatusRequest { container_id: container.to_owned(), verbose: false };
        let answer: StatusAnswer =
            self.call("ContainerStatus", request).expect("the runtime answers");
        let mounts = answer.status.expect("the runtime knows the container").mounts;
        let volumes =
            mounts.into_iter().filter_map(|mount| Some((mount.container_path, mount.image?.image)));
        volumes.collect()
    }

    /// Calls a method of the runtime with messages that are our own.
    fn call<Q, A>(&self, method: &str, request: Q) -> Result<A, String>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let path = format!("/runtime.v1.RuntimeService/{method}");
        let path = PathAndQuery::try_from(path).expect("a path");
        let mut client = tonic::client::Grpc::new(self.runtime.channel());
        self.runtime.call(async move {
            client.ready().await.map_err(|error| tonic::Status::unknown(error.to_string()))?;
            let codec = tonic_prost::ProstCodec::default();
            client.unary(tonic::Request::new(request), path, codec).await
        })
    }
}

/// Mounts an image and removes it. The status names the image as the mount was asked with, so only what
/// was asked by id looks in use to the kubelet.
pub fn a_volume_does_not_keep_its_image(node: &ImageNode) {
    let (image, volume) = (&node.made("tiny").id, node.made("cache"));
    let by_id = node.run_with_volume("volume-by-id", image, &volume.id);
    if node.version < (2, 1) {
        // It takes the mount for one of a folder without a name.
        let error = by_id.expect_err("there are no such volumes");
        assert!(error.contains("mkdir"), "{error}");
        return;
    }
    let by_id = by_id.expect("the image can be mounted");
    assert_eq!(node.volumes_of(&by_id), [("/volume".to_owned(), volume.id.clone())]);
    let by_tag = node.run_with_volume("volume-by-tag", image, &volume.tags[0]);
    let by_tag = by_tag.expect("the image can be mounted");
    assert_eq!(node.volumes_of(&by_tag), [("/volume".to_owned(), volume.tags[0].clone())]);
    assert_eq!(node.remove_image(&volume.id), Ok(()));
    assert!(!node.has(volume.name));
    assert_eq!(node.volumes_of(&by_id), [("/volume".to_owned(), volume.id.clone())]);
}
