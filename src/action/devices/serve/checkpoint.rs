//! The checkpoint of a fake kubelet: restored at its start, written after each change.

use crate::answer::Failure;
use crate::device::fake_kubelet::Event;
use crate::device::manager::ManagerState;
use crate::edge::clock::moment;
use crate::edge::device_plugin::folder::{CHECKPOINT, keep_beside, read_checkpoint};
use crate::edge::device_plugin::socket_registry::Held;
use crate::edge::host::ReadError;
use crate::facts::checkpoint::device::{DeviceCheckpoint, Loaded, PodDevices};
use anyhow::Context;
use std::collections::BTreeSet;

/// Restores the state from the file, as a starting kubelet does. A copy is kept of a damaged file, and of a file that no
/// fake kubelet wrote.
///
/// # Errors
///
/// Fails for a file that cannot be read.
pub(super) fn restore(folder: &Held, is_own: bool) -> Result<(ManagerState, Vec<Event>), Failure> {
    let path = folder.path.join(CHECKPOINT);
    let bytes = match read_checkpoint(&folder.inside()) {
        Ok(bytes) => bytes,
        Err(ReadError::Absent) => {
            return Ok((ManagerState::default(), Vec::new()));
        }
        Err(error) => {
            let reading = format!("cannot read {}", path.display());
            return Err(Failure::missing(anyhow::Error::new(error).context(reading)));
        }
    };
    let parsed = DeviceCheckpoint::parse(&bytes).map_err(|error| error.to_string());
    let sound = parsed.and_then(|loaded: Loaded| match loaded.error() {
        Some(error) => Err(error.to_owned()),
        None => Ok(loaded.checkpoint),
    });
    let keep = |mark: &str| {
        keep_beside(&folder.inside(), mark)
            .with_context(|| format!("cannot keep a copy of {}", path.display()))
            .map_err(Failure::missing)
    };
    let checkpoint = match sound {
        Ok(checkpoint) => checkpoint,
        Err(error) => {
            let damaged = Event::Damaged { error, kept: Some(keep("damaged")?) };
            return Ok((ManagerState::default(), vec![damaged]));
        }
    };
    let restored = PodDevices::restore(&checkpoint);
    let registered = checkpoint.registered.unwrap_or_default();
    let pods: BTreeSet<&String> =
        restored.pod_devices.entries.keys().map(|key| &key.pod_uid).collect();
    let mut events = Vec::new();
    if !is_own {
        events.push(Event::Kept { name: CHECKPOINT.to_owned(), kept: keep("before")? });
    }
    events.push(Event::Restored {
        pods: pods.into_iter().cloned().collect(),
        resources: registered.keys().cloned().collect(),
    });
    events.extend(restored.skipped.iter().map(|(place, reason)| Event::Odd {
        resource: CHECKPOINT.to_owned(),
        text: format!("entry {place} is skipped, as the kubelet does: {reason}"),
    }));
    let names = registered.keys().map(String::as_str);
    Ok((ManagerState::restore(restored.pod_devices, names, moment()), events))
}

/// Replaces the file after each change, atomically.
pub(super) struct CheckpointWriter {
    folder: Held,
    /// The content that was written last; `None`: none yet.
    last: Option<Vec<u8>>,
    /// Why the last change is not in the file yet.
    pub(super) failed: Option<String>,
}

impl CheckpointWriter {
    /// Returns a writer that writes at the first change, since a restored file may differ in its format.
    pub(super) fn new(folder: &Held) -> Self {
        Self { folder: folder.clone(), last: None, failed: None }
    }

    /// Writes a changed state. Returns the event of a failure for a new reason, and of the first success after one.
    pub(super) fn write(&mut self, state: &ManagerState) -> Option<Event> {
        let bytes = state.checkpoint().to_bytes();
        if self.last.as_ref() == Some(&bytes) && self.failed.is_none() {
            return None;
        }
        match self.folder.replace(CHECKPOINT, &bytes) {
            Ok(()) => {
                self.last = Some(bytes);
                self.failed.take().map(|_| Event::CheckpointWritten)
            }
            Err(error) => {
                let error = error.to_string();
                let before = self.failed.replace(error.clone());
                (before.as_ref() != Some(&error)).then_some(Event::CheckpointFailed { error })
            }
        }
    }
}
