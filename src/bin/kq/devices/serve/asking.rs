//! Asking plugins while something is allocated, and keeping what was said.

use kq::device::manager::{Allocated, Plugins};
use kq::device::stand_in::Call;
use kq::edge::clock::steady;
use kq::edge::device_plugin::{Caller, PluginClient};
use kq::facts::checkpoint::device::{ContainerAllocateResponse, DeviceSet};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

/// `KubeletPreStartContainerRPCTimeoutInSecs`
const PRE_START: Duration = Duration::from_secs(30);

/// The plugins of the resources whose endpoint is not stopped.
pub struct Asking {
    pub caller: Caller,
    pub clients: BTreeMap<String, PluginClient>,
    pub patience: Duration,
    pub calls: Vec<Call>,
}

impl Asking {
    /// Lets a plugin prepare devices for a container that is about to start.
    ///
    /// # Errors
    ///
    /// Fails when the call does.
    pub fn pre_start(&mut self, resource: &str, devices: &DeviceSet) -> Result<(), String> {
        let patience = self.patience.min(PRE_START);
        self.ask(
            "PreStartContainer",
            resource,
            shown(devices),
            patience,
            |plugin| async move {
                let mut plugin = plugin;
                plugin.pre_start(devices).await
            },
            |()| "done".to_owned(),
        )
    }

    fn ask<T, F>(
        &mut self,
        method: &str,
        resource: &str,
        request: String,
        patience: Duration,
        call: impl FnOnce(PluginClient) -> F,
        tell: impl FnOnce(&T) -> String,
    ) -> Result<T, String>
    where
        F: Future<Output = Result<T, String>>,
    {
        let began = steady();
        let answer = match self.clients.get(resource) {
            Some(plugin) => self.caller.call(patience, call(plugin.clone())),
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
}

impl Plugins for Asking {
    fn preferred_allocation(
        &mut self,
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
        let patience = self.patience;
        self.ask(
            "GetPreferredAllocation",
            resource,
            request,
            patience,
            |plugin| async move {
                let mut plugin = plugin;
                plugin.preferred_allocation(available, must_include, size).await
            },
            |answer| answer.as_ref().map_or_else(|| "for no container".to_owned(), shown),
        )
    }

    fn allocate(&mut self, resource: &str, devices: &DeviceSet) -> Result<Allocated, String> {
        let patience = self.patience;
        self.ask(
            "Allocate",
            resource,
            shown(devices),
            patience,
            |plugin| async move {
                let mut plugin = plugin;
                plugin.allocate(devices).await
            },
            |answer| match answer {
                Allocated::NoContainer => "for no container".to_owned(),
                Allocated::Answer(bytes) => match ContainerAllocateResponse::decode(bytes) {
                    Ok(gets) => format!("{gets:?}"),
                    Err(error) => format!("undecodable: {error}"),
                },
            },
        )
    }
}

fn shown(devices: &(impl IntoIterator<Item = String> + Clone + Debug)) -> String {
    let devices: Vec<String> = devices.clone().into_iter().collect();
    format!("[{}]", devices.join(" "))
}
