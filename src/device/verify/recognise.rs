//! Whose content a file has, going by the names of its fields.

use crate::facts::checkpoint::StateFile;
use crate::k8s::go_json::{Kind, Reader};
use std::collections::BTreeMap;

/// Returns the kind of file whose content this is. That of `allocated_pods_state` is not told from that of
/// `actuated_pods_state`: they are alike.
pub fn recognise(bytes: &[u8]) -> Option<StateFile> {
    let mut reader = Reader::new(bytes);
    let mut fields = BTreeMap::new();
    let mut data = String::new();
    if reader.kind().ok()? != Kind::Object {
        return None;
    }
    // A file that is cut is recognised by its beginning.
    let _ = reader.object(|reader, key| {
        let kind = reader.kind()?;
        if fields.len() < 16 {
            fields.insert(key.to_ascii_lowercase(), kind);
        }
        if kind == Kind::String && key.eq_ignore_ascii_case("data") {
            data = reader.string()?.into_owned();
            return Ok(());
        }
        reader.skip()
    });
    let has = |name: &str| fields.contains_key(name);
    if has("defaultcpuset") {
        return Some(StateFile::Cpu);
    }
    if has("machinestate") {
        return Some(StateFile::Memory);
    }
    match fields.get("data")? {
        Kind::Object => Some(StateFile::Devices),
        // A cut text is not in `data`, and says nothing.
        Kind::String if data.contains("\"ClaimInfoStateList\"") => Some(StateFile::Dra),
        Kind::String if data.contains("\"allocationEntries\"") => Some(StateFile::PodStatus),
        Kind::String if data.starts_with('{') => Some(StateFile::AllocatedPods),
        _ => None,
    }
}

/// Tells whether content of one kind is what a file of another name holds.
pub(super) fn is_alike(named: StateFile, found: StateFile) -> bool {
    let is_pods = |file| matches!(file, StateFile::AllocatedPods | StateFile::ActuatedPods);
    named == found
        || (is_pods(named) && is_pods(found))
        // The layout of 1.32 under its later names, and an empty file of either.
        || (is_pods(named) && found == StateFile::PodStatus)
        || (named == StateFile::PodStatus && is_pods(found))
}
