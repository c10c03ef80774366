//! The checkpoint of a stand-in: taken over when it starts, written after each change.

use crate::exit::Failure;
use anyhow::Context;
use kq::device::fake_kubelet::Event;
use kq::device::manager::ManagerState;
use kq::edge::clock::moment;
use kq::edge::device_plugin::folder::{CHECKPOINT, keep_beside, read_checkpoint};
use kq::edge::device_plugin::socket_registry::Held;
use kq::edge::host::ReadError;
use kq::facts::checkpoint::device::{DeviceCheckpoint, Loaded, PodDevices};
use std::collections::BTreeSet;

/// Takes over what the file says, as a kubelet that starts does. One that is damaged is put aside, and one
/// that no stand-in wrote is kept as well.
///
/// # Errors
///
/// Fails for a file that cannot be read at all.
pub fn restore(folder: &Held, is_own: bool) -> Result<(ManagerState, Vec<Event>), Failure> {
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
            .with_context(|| format!("cannot keep {} beside", path.display()))
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

/// Writes the file after each change; whoever looks finds the old one or the new one.
pub struct Saver {
    folder: Held,
    /// What it wrote last; `None`: nothing yet.
    last: Option<Vec<u8>>,
    /// Why what changed is not in the file yet.
    pub failed: Option<String>,
}

impl Saver {
    /// Begins with nothing written: what was taken over may have been written otherwise.
    pub fn new(folder: &Held) -> Self {
        Self { folder: folder.clone(), last: None, failed: None }
    }

    /// Writes what changed, and tells where that fails for a new reason, or does not fail any more.
    pub fn save(&mut self, state: &ManagerState) -> Option<Event> {
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
