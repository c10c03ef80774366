//! The devices of plugins: the kubelet's checkpoint, and its pod-resources API.

use super::readers::Below;
use kq_facts::checkpoint::LARGEST;
use kq_facts::devices::{CHECKPOINT_NAME, CheckpointFact, DeviceFacts, NO_FOLDER, PLUGIN_FOLDER};
use kq_facts::lookup::Lookup;
use kq_facts::pod_resources::PodResources;
use kq_io::host::ReadError;
use kq_io::input::{InputError, read_input_within};
use kq_io::trust::{NamedBy, list_trusted, read_trusted};
use kq_linux::pod_resources::{BELOW_ROOT, read_pod_resources};

/// Reads a checkpoint that is named.
///
/// # Errors
///
/// Fails for a file that cannot be read or exceeds the limit.
pub fn of_named_file(path: &str) -> Result<CheckpointFact, InputError> {
    Ok(CheckpointFact::read(&read_input_within(path, LARGEST)?))
}

/// Reads the checkpoint of the device manager.
pub(super) fn read_checkpoint(below: &Below<'_>, facts: &mut DeviceFacts) {
    let (root, folder) = (below.root, PLUGIN_FOLDER);
    let path = format!("{folder}/{CHECKPOINT_NAME}");
    facts.checkpoint = match read_trusted(root, &path, LARGEST) {
        Ok(bytes) => Lookup::found(path, CheckpointFact::read(&bytes)),
        // A starting kubelet creates the folder, so without it there is no checkpoint.
        Err(ReadError::Absent) => match list_trusted(root, folder) {
            Ok(_) => {
                Lookup::found(path, CheckpointFact { absent: true, ..CheckpointFact::default() })
            }
            Err(ReadError::Absent) => {
                facts.lacks_folder = true;
                Lookup::failed(path, format!("{folder} {NO_FOLDER}"))
            }
            Err(error) => Lookup::failed(folder, error.to_string()),
        },
        Err(error) => Lookup::failed(path, error.to_string()),
    };
}

/// Queries the kubelet's pod-resources API; a missing socket is reported as such.
pub(super) fn pod_resources(below: &Below<'_>) -> Lookup<PodResources> {
    let (root, kubelet) = (below.root, below.settings.root_dir.trim_end_matches('/'));
    let time = below.spec.timeout;
    read_pod_resources(root, &format!("{kubelet}/{BELOW_ROOT}"), NamedBy::Node, time)
}
