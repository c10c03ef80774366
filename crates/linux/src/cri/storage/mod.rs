//! The layers that images share in containerd, from its own services on the socket of the CRI.
//!
//! Nothing is written. The meaning of the answers is in [`kq_facts::containerd_storage`].

mod ask;
pub mod v1;

use super::MAX_MESSAGE_BYTES;
use kq_facts::containerd_storage;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{Image, ImageStorage, RuntimeVersion};
use tonic::transport::Channel;

/// Queries containerd for the layers of the images that the CRI lists.
///
/// It has no time limit of its own. Concurrent changes of images and containers make the answer
/// inconsistent, as with all lists.
pub async fn image_storage(
    channel: &Channel,
    endpoint: &str,
    version: &RuntimeVersion,
    images: &[Image],
) -> Lookup<ImageStorage> {
    let source = format!("{endpoint} containerd.services");
    if version.runtime_name != "containerd" {
        return Lookup::failed(source, "only containerd reports what its images share");
    }
    match ask::storage(channel).await {
        Ok(storage) => Lookup::found(source, containerd_storage::image_storage(&storage, images)),
        Err(reason) => Lookup::failed(source, reason),
    }
}
