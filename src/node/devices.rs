//! The devices of plugins: what the kubelet remembers of them, and what it tells.

use super::config::KubeletConfig;
use super::facts::FactKey;
use super::needs::Needs;
use crate::edge::host::ReadError;
use crate::edge::input::{InputError, read_input_within};
use crate::edge::pod_resources::{BELOW_ROOT, read_pod_resources};
use crate::edge::trust::{NamedBy, list_trusted, read_trusted};
use crate::facts::checkpoint::LARGEST;
use crate::facts::devices::{CheckpointFact, DeviceFacts, no_folder};
use crate::facts::lookup::Lookup;
use crate::facts::pod_resources::PodResources;
use std::path::Path;
use std::time::Duration;

/// Looks for what is wanted, below the kubelet's folder.
pub fn gather(
    needs: Needs,
    root: &Path,
    settings: &KubeletConfig,
    time: Duration,
) -> Option<DeviceFacts> {
    if !needs.needs_devices() {
        return None;
    }
    let folder = settings.root_dir.trim_end_matches('/');
    Some(DeviceFacts {
        checkpoint: match needs.has(FactKey::DeviceCheckpoint) {
            true => checkpoint(root, folder),
            false => Lookup::default(),
        },
        pod_resources: match needs.has(FactKey::PodResources) {
            true => pod_resources(root, folder, time),
            false => Lookup::default(),
        },
    })
}

/// Reads a checkpoint that is named.
///
/// # Errors
///
/// Fails for what cannot be read within the limit.
pub fn of_named_file(path: &str) -> Result<CheckpointFact, InputError> {
    Ok(CheckpointFact::read(&read_input_within(path, LARGEST)?))
}

fn checkpoint(root: &Path, kubelet: &str) -> Lookup<CheckpointFact> {
    let folder = format!("{kubelet}/device-plugins");
    let path = format!("{folder}/kubelet_internal_checkpoint");
    match read_trusted(root, &path, LARGEST) {
        Ok(bytes) => Lookup::found(path, CheckpointFact::read(&bytes)),
        // A kubelet makes the folder when it starts, so that without it there is nothing to tell.
        Err(ReadError::Absent) => match list_trusted(root, &folder) {
            Ok(_) => {
                Lookup::found(path, CheckpointFact { absent: true, ..CheckpointFact::default() })
            }
            Err(ReadError::Absent) => Lookup::failed(path, no_folder(&folder)),
            Err(error) => Lookup::failed(folder, error.to_string()),
        },
        Err(error) => Lookup::failed(path, error.to_string()),
    }
}

/// Asks the kubelet; a socket that is not there is told as such.
fn pod_resources(root: &Path, kubelet: &str, time: Duration) -> Lookup<PodResources> {
    read_pod_resources(root, &format!("{kubelet}/{BELOW_ROOT}"), NamedBy::Node, time)
}
