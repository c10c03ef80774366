//! Calls to plugins during an allocation, recorded. The loop continues during a call.

use super::ServeLoop;
use crate::answer::Failure;
use crate::device::fake_kubelet::{Call, gets};
use crate::device::manager::{Allocated, ManagerState, Plugins};
use crate::edge::clock::steady;
use crate::edge::device_plugin::{PluginClient, in_time};
use crate::facts::checkpoint::device::{ContainerAllocateResponse, DeviceSet};
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
