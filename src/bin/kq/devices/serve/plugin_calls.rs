//! Asking plugins while something is allocated. What comes in meanwhile is taken, and what was said is kept.

use super::serve_loop::ServeLoop;
use crate::exit::Failure;
use kq::device::fake_kubelet::{Call, gets};
use kq::device::manager::{Allocated, ManagerState, Plugins};
use kq::edge::clock::steady;
use kq::edge::device_plugin::{PluginClient, in_time};
use kq::facts::checkpoint::device::{ContainerAllocateResponse, DeviceSet};
use std::fmt::Debug;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;

/// `KubeletPreStartContainerRPCTimeoutInSecs`
const PRE_START: Duration = Duration::from_secs(30);

/// The plugins of a stand-in, which goes on turning while it waits for one.
pub struct Asking<'t> {
    turning: &'t mut ServeLoop,
    /// What was asked, in order.
    pub calls: Vec<Call>,
    /// Why the stand-in cannot go on; then nothing more is asked.
    pub failure: Option<Failure>,
}

impl<'t> Asking<'t> {
    /// Begins with nothing asked.
    pub fn new(turning: &'t mut ServeLoop) -> Self {
        Self { turning, calls: Vec::new(), failure: None }
    }

    fn ask<T, F>(
        &mut self,
        state: &mut ManagerState,
        (method, resource, request): (&str, &str, String),
        call: impl FnOnce(PluginClient) -> F,
        tell: impl FnOnce(&T) -> String,
    ) -> Result<T, String>
    where
        F: Future<Output = Result<T, String>>,
    {
        let began = steady();
        let longest = if method == "PreStartContainer" { PRE_START } else { Duration::MAX };
        let patience = self.turning.call_timeout.min(longest);
        let answer = match self.turning.plugin(resource) {
            Some(plugin) => self.wait(state, in_time(patience, call(plugin))),
            None => Err("rpc error: code = Canceled desc = grpc: the client connection is closing"
                .to_owned()),
        };
        let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.calls.push(Call {
            method: method.to_owned(),
            resource: resource.to_owned(),
            request,
            answer: answer.as_ref().ok().map(tell),
            error: answer.as_ref().err().cloned(),
            took_us,
        });
        answer
    }

    /// Waits for an answer. As in the kubelet, which holds no lock then, plugins register, list and go all
    /// the while; so the state is handed to the loop, and taken back with what changed.
    fn wait<T>(
        &mut self,
        state: &mut ManagerState,
        call: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let canceled = || Err("rpc error: code = Canceled desc = context canceled".to_owned());
        let mut call = pin!(call);
        std::mem::swap(state, &mut self.turning.manager.state);
        let answer = loop {
            if self.failure.is_some() || self.turning.is_stopping {
                break canceled();
            }
            match self.turning.next_or(call.as_mut()) {
                ControlFlow::Break(answer) => break answer,
                ControlFlow::Continue(incoming) => self.failure = self.turning.take(incoming).err(),
            }
        };
        std::mem::swap(state, &mut self.turning.manager.state);
        answer
    }
}

impl Plugins for Asking<'_> {
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
        self.ask(
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
        self.ask(
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
        self.ask(
            state,
            ("PreStartContainer", resource, shown(devices)),
            |mut plugin| async move { plugin.pre_start(devices).await },
            |()| "done".to_owned(),
        )
    }

    fn write_checkpoint(&mut self, state: &ManagerState) -> Result<(), String> {
        self.turning.save(state).unwrap_or_else(|failure| {
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
