//! Converts the messages of the CRI to facts, in a fixed order.

use super::v1;
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{
    Container, ContainerState, ContainerStatus, FilesystemUsage, Image, ImageFilesystems,
    RuntimeFacts, RuntimeVersion, Sandbox, WritableLayer,
};
use prost::{DecodeError, Message};
use std::collections::BTreeMap;

/// The label with which the kubelet marks the containers of a pod.
const POD_UID_LABEL: &str = "io.kubernetes.pod.uid";

/// The error for an answer without the requested status.
pub(super) const NO_STATUS: &str = "answered without a status";

pub(super) fn version(said: v1::VersionResponse) -> RuntimeVersion {
    RuntimeVersion {
        runtime_name: said.runtime_name,
        runtime_version: said.runtime_version,
        runtime_api_version: said.runtime_api_version,
    }
}

/// Returns the cgroup driver. An absent message is not the first driver of the list.
pub(super) fn cgroup_driver(said: v1::RuntimeConfigResponse) -> Result<CgroupDriver, String> {
    let linux = said.linux.ok_or("has no configuration for Linux")?;
    match v1::CgroupDriver::try_from(linux.cgroup_driver) {
        Ok(v1::CgroupDriver::Systemd) => Ok(CgroupDriver::Systemd),
        Ok(v1::CgroupDriver::Cgroupfs) => Ok(CgroupDriver::Cgroupfs),
        Err(_) => Err(format!("names cgroup driver {}, which is unknown", linux.cgroup_driver)),
    }
}

pub(super) fn sandboxes(said: v1::ListPodSandboxResponse) -> Vec<Sandbox> {
    let mut sandboxes: Vec<Sandbox> = said.items.into_iter().map(sandbox).collect();
    sandboxes.sort_by(|a, b| {
        (&a.namespace, &a.name, a.attempt, &a.id).cmp(&(&b.namespace, &b.name, b.attempt, &b.id))
    });
    sandboxes
}

fn sandbox(said: v1::PodSandbox) -> Sandbox {
    let ready = said.state == v1::PodSandboxState::SandboxReady as i32;
    let metadata = said.metadata.unwrap_or_default();
    Sandbox {
        id: said.id,
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        attempt: metadata.attempt,
        ready,
        created_at: said.created_at,
        runtime_handler: said.runtime_handler,
    }
}

/// Returns the containers; the pod of a container without labels is that of its sandbox.
pub(super) fn containers(
    said: v1::ListContainersResponse,
    sandboxes: Option<&[Sandbox]>,
) -> Vec<Container> {
    let pods: BTreeMap<&str, &str> = sandboxes
        .into_iter()
        .flatten()
        .map(|sandbox| (sandbox.id.as_str(), sandbox.uid.as_str()))
        .collect();
    let mut containers: Vec<Container> =
        said.containers.into_iter().map(|said| container(said, &pods)).collect();
    containers.sort_by(|a, b| {
        (&a.pod_uid, &a.name, a.attempt, &a.id).cmp(&(&b.pod_uid, &b.name, b.attempt, &b.id))
    });
    containers
}

fn container(mut said: v1::Container, pods: &BTreeMap<&str, &str>) -> Container {
    let state = container_state(said.state);
    let of_sandbox = || pods.get(said.pod_sandbox_id.as_str()).map(|uid| (*uid).to_owned());
    let pod_uid = said.labels.remove(POD_UID_LABEL).filter(|uid| !uid.is_empty());
    let pod_uid = pod_uid.or_else(of_sandbox).unwrap_or_default();
    let metadata = said.metadata.unwrap_or_default();
    let image = said.image.unwrap_or_default();
    Container {
        id: said.id,
        sandbox_id: said.pod_sandbox_id,
        name: metadata.name,
        pod_uid,
        attempt: metadata.attempt,
        state,
        image: image.image,
        image_ref: said.image_ref,
        image_id: Some(said.image_id).filter(|id| !id.is_empty()),
        image_runtime_handler: image.runtime_handler,
        created_at: said.created_at,
    }
}

pub(super) fn container_state(said: i32) -> ContainerState {
    match v1::ContainerState::try_from(said) {
        Ok(v1::ContainerState::ContainerCreated) => ContainerState::Created,
        Ok(v1::ContainerState::ContainerRunning) => ContainerState::Running,
        Ok(v1::ContainerState::ContainerExited) => ContainerState::Exited,
        Ok(v1::ContainerState::ContainerUnknown) | Err(_) => ContainerState::Unknown,
    }
}

/// Returns the status of the requested container.
///
/// Only mounts of images are kept: the kubelet compares their text with image IDs
/// (`handleImageVolumes` in `pkg/kubelet/images/image_gc_manager.go`).
pub(super) fn container_status(
    id: String,
    said: Result<v1::ContainerStatusResponse, String>,
) -> ContainerStatus {
    let said = said.and_then(|said| said.status.ok_or_else(|| NO_STATUS.to_owned()));
    let said = said.and_then(|status| match status.id.as_str() {
        other if !other.is_empty() && other != id => {
            Err(format!("answered the status of another container, {other:?}"))
        }
        _ => Ok(status),
    });
    let status = match said {
        Ok(status) => status,
        Err(reason) => {
            return ContainerStatus { id, error: Some(reason), ..ContainerStatus::default() };
        }
    };
    let images = status.mounts.into_iter().filter_map(|mount| mount.image);
    ContainerStatus {
        id,
        finished_at: Some(status.finished_at).filter(|time| *time != 0),
        image_volumes: images.map(|image| image.image).collect(),
        error: None,
    }
}

pub(super) fn writable_layers(said: v1::ListContainerStatsResponse) -> Vec<WritableLayer> {
    let mut layers: Vec<WritableLayer> = said.stats.into_iter().map(writable_layer).collect();
    layers.sort_by(|a, b| {
        (&a.id, a.used_bytes, a.inodes_used).cmp(&(&b.id, b.used_bytes, b.inodes_used))
    });
    layers
}

fn writable_layer(said: v1::ContainerStats) -> WritableLayer {
    let layer = said.writable_layer.unwrap_or_default();
    WritableLayer {
        id: said.attributes.unwrap_or_default().id,
        used_bytes: layer.used_bytes.map(|bytes| bytes.value),
        inodes_used: layer.inodes_used.map(|inodes| inodes.value),
    }
}

pub(super) fn images(said: v1::ListImagesResponse) -> Vec<Image> {
    let mut images: Vec<Image> = said.images.into_iter().map(image).collect();
    images.sort_by(|a, b| (a.repo_tags.first(), &a.id).cmp(&(b.repo_tags.first(), &b.id)));
    images
}

pub(super) fn image(said: v1::Image) -> Image {
    Image {
        id: said.id,
        repo_tags: said.repo_tags,
        repo_digests: said.repo_digests,
        size: said.size,
        pinned: said.pinned,
        runtime_handler: said.spec.unwrap_or_default().runtime_handler,
    }
}

pub(super) fn image_filesystems(said: v1::ImageFsInfoResponse) -> ImageFilesystems {
    let usages = |said: Vec<v1::FilesystemUsage>| said.into_iter().map(usage).collect();
    ImageFilesystems {
        image: usages(said.image_filesystems),
        container: usages(said.container_filesystems),
    }
}

fn usage(said: v1::FilesystemUsage) -> FilesystemUsage {
    FilesystemUsage {
        mountpoint: said.fs_id.unwrap_or_default().mountpoint,
        used_bytes: said.used_bytes.map(|bytes| bytes.value),
        inodes_used: said.inodes_used.map(|inodes| inodes.value),
        timestamp: said.timestamp,
    }
}

/// Which answer some bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// `ListPodSandbox`
    Sandboxes,
    /// `ListContainers`
    Containers,
    /// `ListImages`
    Images,
    /// `ImageFsInfo`
    ImageFilesystems,
    /// `ContainerStatus`
    ContainerStatus,
    /// `ListContainerStats`
    WritableLayers,
}

impl Answered {
    /// The answers that are lists or have many values.
    pub const ALL: [Self; 6] = [
        Self::Sandboxes,
        Self::Containers,
        Self::Images,
        Self::ImageFilesystems,
        Self::ContainerStatus,
        Self::WritableLayers,
    ];
}

/// Returns the facts of an answer; the other facts are not queried.
/// Fails for bytes that are not such a message.
pub fn decode_answer(answered: Answered, bytes: &[u8]) -> Result<RuntimeFacts, DecodeError> {
    let mut facts = RuntimeFacts::default();
    let source = "an answer";
    match answered {
        Answered::Sandboxes => {
            let said = v1::ListPodSandboxResponse::decode(bytes)?;
            facts.sandboxes = Lookup::found(source, sandboxes(said).into());
        }
        Answered::Containers => {
            let said = v1::ListContainersResponse::decode(bytes)?;
            facts.containers = Lookup::found(source, containers(said, None).into());
        }
        Answered::Images => {
            let said = v1::ListImagesResponse::decode(bytes)?;
            facts.images = Lookup::found(source, images(said).into());
        }
        Answered::ImageFilesystems => {
            let said = v1::ImageFsInfoResponse::decode(bytes)?;
            facts.image_filesystems = Lookup::found(source, image_filesystems(said));
        }
        Answered::ContainerStatus => {
            let said = v1::ContainerStatusResponse::decode(bytes)?;
            let status = container_status(String::new(), Ok(said));
            facts.container_statuses = Lookup::found(source, vec![status]);
        }
        Answered::WritableLayers => {
            let said = v1::ListContainerStatsResponse::decode(bytes)?;
            facts.writable_layers = Lookup::found(source, writable_layers(said));
        }
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_without_its_runtime() {
        let image = v1::Image { id: "sha256:a".to_owned(), size: u64::MAX, ..v1::Image::default() };
        let bytes = v1::ListImagesResponse { images: vec![image] }.encode_to_vec();
        let facts = decode_answer(Answered::Images, &bytes).expect("it is one");
        let images = facts.images.value().expect("it was read");
        assert_eq!(images.iter().map(|image| image.size).collect::<Vec<_>>(), [u64::MAX]);
        for answered in Answered::ALL {
            assert!(decode_answer(answered, &[]).is_ok(), "{answered:?}: all fields are absent");
            assert!(decode_answer(answered, &bytes[..9]).is_err(), "{answered:?}: cut off");
        }
    }
}
