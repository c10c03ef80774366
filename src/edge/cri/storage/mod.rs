//! What images share in containerd: asked of its own services, which listen on the socket of the CRI.
//!
//! Nothing is written. What the answers mean is in [`crate::facts::containerd_storage`].

mod ask;
pub mod v1;

use super::MAX_MESSAGE_BYTES;
use crate::facts::containerd_storage;
use crate::facts::lookup::Lookup;
use crate::facts::runtime::{Image, ImageStorage, RuntimeVersion};
use tonic::transport::Channel;

/// Asks containerd what the images that the CRI lists are made of.
///
/// It waits as long as it takes; the caller sets the time. Images and containers that come and go in
/// the meantime make the answer one of no single moment, as with all lists.
pub async fn image_storage(
    channel: &Channel,
    endpoint: &str,
    version: &RuntimeVersion,
    images: &[Image],
) -> Lookup<ImageStorage> {
    let source = format!("{endpoint} containerd.services");
    if version.runtime_name != "containerd" {
        return Lookup::failed(source, "only containerd tells what its images share");
    }
    match ask::storage(channel).await {
        Ok(storage) => Lookup::found(source, containerd_storage::image_storage(&storage, images)),
        Err(reason) => Lookup::failed(source, reason),
    }
}
