//! What a kubelet that starts makes of the files (`restoreState` in `state_checkpoint.go`).

use super::read::{Envelope, read_data, read_data_of_1_32, read_envelope};
use super::types::PodAllocations;
use crate::facts::checkpoint::checksum::{Fnv32, PreImage};

/// What became of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct PodsLoad {
    /// The text in the envelope; `None`: the envelope is none.
    pub data: Option<String>,
    /// The checksum that the file says.
    pub checksum_in_file: u64,
    /// The checksum of the text.
    pub checksum_computed: u32,
    /// What the kubelet goes on with; else it does not start.
    pub outcome: Result<PodAllocations, PodsRefusal>,
    /// What the text holds, whether the checksum is right or not.
    pub shown: Result<PodAllocations, String>,
}

/// Why the kubelet does not start, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PodsRefusal {
    /// The file is no envelope.
    #[error("{0}")]
    Json(String),
    /// The checksum is wrong; 0 is no exception.
    #[error("checkpoint is corrupted")]
    Corrupt,
    /// The text in the envelope cannot be read.
    #[error("failed to get pod resource information: {0}")]
    Data(String),
}

/// Returns the text that is hashed, the data as a Go string, and its checksum.
pub(super) fn hashed(data: &str) -> (String, u32) {
    let pre_image = format!("(string){data}");
    let mut sum = Fnv32::default();
    sum.push(&pre_image);
    (pre_image, sum.sum())
}

impl PodsLoad {
    /// Returns the text that the checksum is made of.
    pub fn pre_image(&self) -> Option<String> {
        self.data.as_ref().map(|data| hashed(data).0)
    }

    /// Tells whether the checksum is right.
    pub fn is_checksum_right(&self) -> bool {
        self.data.is_some() && self.checksum_in_file == u64::from(self.checksum_computed)
    }
}

/// Loads `allocated_pods_state` or `actuated_pods_state` as a kubelet does that starts.
pub fn load(bytes: &[u8]) -> PodsLoad {
    load_with(bytes, read_data)
}

/// Loads `pod_status_manager_state` as a kubelet 1.32 does that starts.
pub fn load_v1_32(bytes: &[u8]) -> PodsLoad {
    load_with(bytes, read_data_of_1_32)
}

fn load_with(bytes: &[u8], read: fn(&str) -> Result<PodAllocations, String>) -> PodsLoad {
    let (Envelope { data, checksum }, error) = read_envelope(bytes);
    let (_, checksum_computed) = hashed(&data);
    if let Some(error) = error {
        return PodsLoad {
            data: None,
            checksum_in_file: checksum,
            checksum_computed,
            outcome: Err(PodsRefusal::Json(error.clone())),
            shown: Err(error),
        };
    }
    let shown = read(&data);
    let outcome = match checksum == u64::from(checksum_computed) {
        true => shown.clone().map_err(PodsRefusal::Data),
        false => Err(PodsRefusal::Corrupt),
    };
    PodsLoad { data: Some(data), checksum_in_file: checksum, checksum_computed, outcome, shown }
}
