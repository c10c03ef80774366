//! Calls to plugins during an allocation, recorded, and the checkpoint, which is restored at the start and written after each
//! change. The loop continues during a call.

use super::ServeLoop;
use anyhow::Context;
use kq_answer::Failure;
use kq_facts::checkpoint::device::{
    ContainerAllocateResponse, DeviceCheckpoint, DeviceSet, Loaded, PodDevices,
};
use kq_io::clock::{moment, steady};
use kq_io::host::ReadError;
use kq_k8s::version::KubeletVersion;
use kq_linux::device_plugin::folder::{CHECKPOINT, keep_beside, read_checkpoint};
use kq_linux::device_plugin::socket_registry::Held;
use kq_linux::device_plugin::{PluginClient, in_time};
use kq_managers::fake_kubelet::{Call, Event, gets};
use kq_managers::manager::{Allocated, ManagerState, Plugins};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;

/// `KubeletPreStartContainerRPCTimeoutInSecs`
const PRE_START: Duration = Duration::from_secs(30);

/// The plugins of a fake kubelet.
pub(super) struct PluginCalls<'t, 'e> {
    serving: &'t mut ServeLoop<'e>,
    /// The calls, in order.
    pub(super) calls: Vec<Call>,
    /// Why the fake kubelet cannot continue; then no plugin is called.
    pub(super) failure: Option<Failure>,
}

impl<'t, 'e> PluginCalls<'t, 'e> {
    pub(super) fn new(serving: &'t mut ServeLoop<'e>) -> Self {
        Self { serving, calls: Vec::new(), failure: None }
    }

    fn call<T, F>(
        &mut self,
        state: &mut ManagerState,
        (method, resource, request): (&str, &str, String),
        call: impl FnOnce(PluginClient) -> F,
        show: impl FnOnce(&T) -> String,
    ) -> Result<T, String>
    where
        F: Future<Output = Result<T, String>>,
    {
        let began = steady();
        let longest = if method == "PreStartContainer" { PRE_START } else { Duration::MAX };
        let limit = self.serving.call_timeout.min(longest);
        let answer = match self.serving.plugin(resource) {
            Some(plugin) => self.wait(state, in_time(limit, call(plugin))),
            None => Err("rpc error: code = Canceled desc = grpc: the client connection is closing"
                .to_owned()),
        };
        let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.calls.push(Call {
            method: method.to_owned(),
            resource: resource.to_owned(),
            request,
            answer: answer.as_ref().ok().map(show),
            error: answer.as_ref().err().cloned(),
            took_us,
        });
        answer
    }

    /// Waits for an answer. As in the kubelet, which holds no lock then, plugins register, list and end meanwhile, so
    /// the loop has the state during the wait.
    fn wait<T>(
        &mut self,
        state: &mut ManagerState,
        call: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let canceled = || Err("rpc error: code = Canceled desc = context canceled".to_owned());
        let mut call = pin!(call);
        std::mem::swap(state, &mut self.serving.manager.state);
        let answer = loop {
            if self.failure.is_some() || self.serving.is_stopping {
                break canceled();
            }
            match self.serving.next_or(call.as_mut()) {
                ControlFlow::Break(answer) => break answer,
                ControlFlow::Continue(incoming) => self.failure = self.serving.take(incoming).err(),
            }
        };
        std::mem::swap(state, &mut self.serving.manager.state);
        answer
    }
}

impl Plugins for PluginCalls<'_, '_> {
    fn preferred_allocation(
        &mut self,
        state: &mut ManagerState,
        resource: &str,
        available: &DeviceSet,
        must_include: &DeviceSet,
        size: usize,
    ) -> Result<Option<Vec<String>>, String> {
        let request = format!(
            "available {} must include {} size {size}",
            shown(available),
            shown(must_include)
        );
        self.call(
            state,
            ("GetPreferredAllocation", resource, request),
            |mut plugin| async move {
                plugin.preferred_allocation(available, must_include, size).await
            },
            |answer| answer.as_ref().map_or_else(|| "for no container".to_owned(), shown),
        )
    }

    fn allocate(
        &mut self,
        state: &mut ManagerState,
        resource: &str,
        devices: &DeviceSet,
    ) -> Result<Allocated, String> {
        self.call(
            state,
            ("Allocate", resource, shown(devices)),
            |mut plugin| async move { plugin.allocate(devices).await },
            |answer| match answer {
                Allocated::NoContainer => "for no container".to_owned(),
                Allocated::Answer(bytes) => match ContainerAllocateResponse::decode(bytes) {
                    Ok(answer) => match gets(&answer) {
                        gets if gets.is_empty() => "nothing".to_owned(),
                        gets => gets.join(", "),
                    },
                    Err(error) => format!("undecodable: {error}"),
                },
            },
        )
    }

    fn pre_start(
        &mut self,
        state: &mut ManagerState,
        resource: &str,
        devices: &DeviceSet,
    ) -> Result<(), String> {
        self.call(
            state,
            ("PreStartContainer", resource, shown(devices)),
            |mut plugin| async move { plugin.pre_start(devices).await },
            |()| "done".to_owned(),
        )
    }

    fn write_checkpoint(&mut self, state: &ManagerState) -> Result<(), String> {
        self.serving.save(state).unwrap_or_else(|failure| {
            let reason = failure.reason();
            self.failure.get_or_insert(failure);
            Err(reason)
        })
    }
}

fn shown(devices: &(impl IntoIterator<Item = String> + Clone + Debug)) -> String {
    let devices: Vec<String> = devices.clone().into_iter().collect();
    format!("[{}]", devices.join(" "))
}

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
    let restored = PodDevices::restore(&checkpoint, KubeletVersion::ASSUMED);
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
