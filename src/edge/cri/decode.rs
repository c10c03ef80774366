//! Decodes single answers of a runtime from their wire format, without a runtime.

use super::{convert, v1};
use crate::facts::lookup::Lookup;
use crate::facts::runtime::RuntimeFacts;
use prost::{DecodeError, Message};

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
///
/// # Errors
///
/// Fails for bytes that are not such a message.
pub fn decode_answer(answered: Answered, bytes: &[u8]) -> Result<RuntimeFacts, DecodeError> {
    let mut facts = RuntimeFacts::default();
    let source = "an answer";
    match answered {
        Answered::Sandboxes => {
            let said = v1::ListPodSandboxResponse::decode(bytes)?;
            facts.sandboxes = Lookup::found(source, convert::sandboxes(said));
        }
        Answered::Containers => {
            let said = v1::ListContainersResponse::decode(bytes)?;
            facts.containers = Lookup::found(source, convert::containers(said, None));
        }
        Answered::Images => {
            let said = v1::ListImagesResponse::decode(bytes)?;
            facts.images = Lookup::found(source, convert::images(said));
        }
        Answered::ImageFilesystems => {
            let said = v1::ImageFsInfoResponse::decode(bytes)?;
            facts.image_filesystems = Lookup::found(source, convert::image_filesystems(said));
        }
        Answered::ContainerStatus => {
            let said = v1::ContainerStatusResponse::decode(bytes)?;
            let status = convert::container_status(String::new(), Ok(said));
            facts.container_statuses = Lookup::found(source, vec![status]);
        }
        Answered::WritableLayers => {
            let said = v1::ListContainerStatsResponse::decode(bytes)?;
            facts.writable_layers = Lookup::found(source, convert::writable_layers(said));
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
