//! What a kubelet that starts makes of the file (`GetOrCreate` in `state/checkpointer.go`, and
//! `newClaimInfoCache`).

use super::read::{Claims, Envelope, read_data, read_envelope};
use super::types::ClaimInfo;
use super::write::encode;
use crate::facts::checkpoint::checksum::crc32;

/// What became of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraLoad {
    /// The text in the file; `None`: the file is no envelope.
    pub data: Option<String>,
    /// The checksum that the file says.
    pub checksum_in_file: u32,
    /// The checksum of the text.
    pub checksum_computed: u32,
    /// What the text calls itself: kind and version. The kubelet does not look at them.
    pub calls_itself: Option<(String, String)>,
    /// The claims that the kubelet goes on with, `None` being Go's nil; else it does not start.
    pub outcome: Result<Option<Vec<ClaimInfo>>, DraRefusal>,
    /// The claims, whether the checksum is right or not.
    pub shown: Result<Option<Vec<ClaimInfo>>, String>,
}

/// Why the kubelet does not start, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraRefusal {
    /// The file is no envelope.
    #[error("failed to get checkpoint dra_manager_state: {0}")]
    Json(String),
    /// The checksum is wrong.
    #[error("failed to get checkpoint dra_manager_state: checkpoint is corrupted")]
    Corrupt,
    /// The text in the file cannot be read.
    #[error("{0}")]
    Data(String),
}

/// Loads the file as a kubelet does that starts. It reads over an empty checkpoint: what the file does not
/// say is that of the empty one.
pub fn load(bytes: &[u8]) -> DraLoad {
    let empty = encode(None);
    let prepared = Envelope { data: empty.pre_image, checksum: empty.checksum };
    let (said, _) = read_envelope(bytes, Envelope::default());
    let (read, error) = read_envelope(bytes, prepared);
    let is_right = |envelope: &Envelope| envelope.checksum == crc32(envelope.data.as_bytes());
    let content = read_data(&read.data);
    let calls_itself =
        content.as_ref().ok().map(|(kind, version, _)| (kind.clone(), version.clone()));
    let claims = |(_, _, claims): Claims| claims;
    let outcome = match (&error, is_right(&read)) {
        (Some(error), _) => Err(DraRefusal::Json(error.clone())),
        (None, false) => Err(DraRefusal::Corrupt),
        (None, true) => content.clone().map(claims).map_err(DraRefusal::Data),
    };
    DraLoad {
        checksum_in_file: said.checksum,
        checksum_computed: crc32(said.data.as_bytes()),
        calls_itself,
        shown: error.as_ref().map_or_else(|| content.map(claims), |error| Err(error.clone())),
        data: error.is_none().then_some(said.data),
        outcome,
    }
}

impl DraLoad {
    /// Tells whether the checksum is that of the text.
    pub fn is_checksum_right(&self) -> bool {
        self.data.is_some() && self.checksum_in_file == self.checksum_computed
    }
}
