//! The files as the kubelet writes them (`storeState` in `state_checkpoint.go`).

use super::load::hashed;
use super::types::{PodAllocation, PodAllocations};
use crate::facts::checkpoint::Encoded;
use crate::facts::checkpoint::go_write::to_go_json;
use serde::Serialize;
use std::collections::BTreeMap;

/// The text in the envelope.
#[derive(Serialize)]
struct Data<'p> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    entries: &'p BTreeMap<String, PodAllocation>,
}

/// The envelope.
#[derive(Serialize)]
struct Envelope<'d> {
    data: &'d str,
    checksum: u32,
}

/// Writes a file. The kubelet writes none before it has recorded a pod.
pub fn encode(pods: &PodAllocations) -> Encoded {
    let data = to_go_json(&Data { entries: pods });
    let (pre_image, checksum) = hashed(&data);
    let text = to_go_json(&Envelope { data: &data, checksum });
    Encoded { text, pre_image, checksum }
}
