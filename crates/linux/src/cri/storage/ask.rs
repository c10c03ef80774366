//! Queries containerd's services.

use super::MAX_MESSAGE_BYTES;
use super::v1::content::content_client::ContentClient;
use super::v1::content::{Info, ListContentRequest};
use super::v1::images::images_client::ImagesClient;
use super::v1::images::{Image, ListImagesRequest};
use super::v1::leases::leases_client::LeasesClient;
use super::v1::leases::{Lease, ListRequest, ListResourcesRequest};
use super::v1::namespaces::ListNamespacesRequest;
use super::v1::namespaces::namespaces_client::NamespacesClient;
use super::v1::snapshots::snapshots_client::SnapshotsClient;
use super::v1::snapshots::{self, Kind, ListSnapshotsRequest, UsageRequest};
use crate::cri::reason::status_reason;
use kq_facts::containerd_storage::{
    Blob, ContainerdStorage, ImageName, Leased, Snapshot, snapshotters,
};
use std::collections::BTreeSet;
use tokio::task::JoinSet;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};

/// The namespace of everything that containerd creates for the CRI.
const NAMESPACE: &str = "k8s.io";

/// The number of concurrent queries for the size of a snapshot. They are answered from a database;
/// more would only queue up there, ahead of the kubelet's.
const AT_A_TIME: usize = 16;

/// The result of a call, or its name and the reason of its failure.
type Answer<T> = Result<T, String>;

/// Queries all facts about the storage of images.
pub(super) async fn storage(channel: &Channel) -> Answer<ContainerdStorage> {
    let mut storage = ContainerdStorage {
        names: names(channel).await?,
        blobs: blobs(channel).await?,
        leased: leased(channel).await?,
        elsewhere: elsewhere(channel).await?,
        ..ContainerdStorage::default()
    };
    for snapshotter in snapshotters(&storage) {
        storage.snapshots.extend(snapshots(channel, snapshotter).await?);
    }
    Ok(storage)
}

async fn names(channel: &Channel) -> Answer<Vec<ImageName>> {
    let mut client =
        ImagesClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let listed = client.list(within(NAMESPACE, ListImagesRequest {})?).await;
    let name = |image: Image| ImageName {
        name: image.name,
        target: image.target.unwrap_or_default().digest,
        labels: image.labels,
    };
    let listed = listed.map_err(failed("Images/List"))?.into_inner();
    Ok(listed.images.into_iter().map(name).collect())
}

async fn blobs(channel: &Channel) -> Answer<Vec<Blob>> {
    let blob = |info: Info| {
        let bytes = u64::try_from(info.size)
            .map_err(|_| format!("Content/List: {} has {} bytes", info.digest, info.size))?;
        Ok(Blob { digest: info.digest, bytes, labels: info.labels })
    };
    content(channel, NAMESPACE).await?.into_iter().map(blob).collect()
}

/// Returns the blobs of all other namespaces: a blob in two namespaces is stored once, and is kept
/// until both delete it.
async fn elsewhere(channel: &Channel) -> Answer<BTreeSet<String>> {
    let mut client =
        NamespacesClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let listed = client.list(Request::new(ListNamespacesRequest {})).await;
    let namespaces = listed.map_err(failed("Namespaces/List"))?.into_inner().namespaces;
    let mut digests = BTreeSet::new();
    for namespace in namespaces.iter().filter(|namespace| namespace.name != NAMESPACE) {
        let blobs = content(channel, &namespace.name).await?;
        digests.extend(blobs.into_iter().map(|info| info.digest));
    }
    Ok(digests)
}

async fn content(channel: &Channel, namespace: &str) -> Answer<Vec<Info>> {
    let mut client =
        ContentClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let listed = client.list(within(namespace, ListContentRequest {})?).await;
    let name = "Content/List";
    let parts = collect(listed.map_err(failed(name))?.into_inner()).await.map_err(failed(name))?;
    Ok(parts.into_iter().flat_map(|part| part.info).collect())
}

async fn leased(channel: &Channel) -> Answer<Vec<Leased>> {
    let mut client =
        LeasesClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let listed = client.list(within(NAMESPACE, ListRequest {})?).await;
    let mut leased = Vec::new();
    for Lease { id, labels } in listed.map_err(failed("Leases/List"))?.into_inner().leases {
        let is_flat = labels.contains_key("containerd.io/gc.flat");
        match client.list_resources(within(NAMESPACE, ListResourcesRequest { id })?).await {
            Ok(listed) => {
                leased.extend(listed.into_inner().resources.into_iter().map(|held| Leased {
                    kind: held.r#type,
                    id: held.id,
                    is_flat,
                }))
            }
            // It ended since it was listed.
            Err(status) if status.code() == Code::NotFound => {}
            Err(status) => return Err(failed("Leases/ListResources")(status)),
        }
    }
    Ok(leased)
}

/// Requests the snapshots, and the size of each committed one: the size of an active snapshot
/// is recounted file by file, and is not part of an image.
async fn snapshots(channel: &Channel, snapshotter: String) -> Answer<Vec<Snapshot>> {
    let client = SnapshotsClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let request = ListSnapshotsRequest { snapshotter: snapshotter.clone() };
    let listed = client.clone().list(within(NAMESPACE, request)?).await;
    let name = "Snapshots/List";
    let parts = collect(listed.map_err(failed(name))?.into_inner()).await.map_err(failed(name))?;
    let mut infos = parts.into_iter().flat_map(|part| part.info);
    let mut sizes = JoinSet::new();
    let mut found = Vec::new();
    loop {
        while sizes.len() < AT_A_TIME {
            let Some(info) = infos.next() else { break };
            sizes.spawn(sized(client.clone(), snapshotter.clone(), info));
        }
        match sizes.join_next().await {
            Some(Ok(answer)) => found.extend(answer?),
            Some(Err(error)) => {
                return Err(format!("Snapshots/Usage: the call broke off: {error}"));
            }
            None => return Ok(found),
        }
    }
}

/// Returns a snapshot with its size; `None`: it no longer exists.
async fn sized(
    mut client: SnapshotsClient<Channel>,
    snapshotter: String,
    info: snapshots::Info,
) -> Answer<Option<Snapshot>> {
    let mut bytes = None;
    if info.kind() == Kind::Committed {
        let (snapshotter, key) = (snapshotter.clone(), info.name.clone());
        let request = within(NAMESPACE, UsageRequest { snapshotter, key })?;
        let size = match client.usage(request).await {
            Ok(usage) => usage.into_inner().size,
            Err(status) if status.code() == Code::NotFound => return Ok(None),
            Err(status) => return Err(failed("Snapshots/Usage")(status)),
        };
        let counted = u64::try_from(size)
            .map_err(|_| format!("Snapshots/Usage: {} has {size} bytes", info.name))?;
        bytes = Some(counted);
    }
    let (name, parent, labels) = (info.name, info.parent, info.labels);
    Ok(Some(Snapshot { snapshotter, name, parent, bytes, labels }))
}

/// Returns a request about the content of a namespace.
fn within<T>(namespace: &str, message: T) -> Answer<Request<T>> {
    let mut request = Request::new(message);
    let namespace = MetadataValue::try_from(namespace)
        .map_err(|_| format!("namespace {namespace:?} is not a valid header"))?;
    request.metadata_mut().insert("containerd-namespace", namespace);
    Ok(request)
}

async fn collect<T>(mut parts: Streaming<T>) -> Result<Vec<T>, Status> {
    let mut all = Vec::new();
    while let Some(part) = parts.message().await? {
        all.push(part);
    }
    Ok(all)
}

fn failed(method: &'static str) -> impl FnOnce(Status) -> String {
    move |status| format!("{method}: {}", status_reason(&status))
}
