//! The questions that a plugin which serves a kubelet stands: what it can do, and who it is. Both are
//! answered from what it knows of itself; it notices nothing but a connection that comes and goes.

use super::MAX_PLUGIN_MESSAGE_BYTES;
use super::client::PluginClient;
use super::pluginregistration::{InfoRequest, registration_client::RegistrationClient};
use crate::device::manager::PluginOptions;
use crate::device::plugins::PluginInfo;
use crate::edge::cri::connect::dial;
use crate::edge::cri::go_status::go_status;
use crate::facts::checkpoint::device::DeviceSet;
use std::future::Future;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::timeout;

/// Asks a plugin what it can do (`GetDevicePluginOptions`). Blocks until the deadline at most.
///
/// # Errors
///
/// Fails with what is in the way, or what the plugin answered.
pub fn ask_options(socket: &Path, deadline: Duration) -> Result<PluginOptions, String> {
    within(deadline, async {
        let mut plugin = PluginClient::dial_now(socket).await?;
        plugin.options().await
    })
}

/// Asks a plugin which devices it prefers (`GetPreferredAllocation`); `None` is an answer without a
/// container, and an error inside is what the plugin said. Blocks until the deadline at most.
///
/// # Errors
///
/// Fails with what is in the way of an answer, which is kq's own trouble and not the kubelet's.
pub fn ask_preferred(
    socket: &Path,
    available: &DeviceSet,
    must_include: &DeviceSet,
    size: usize,
    deadline: Duration,
) -> Result<Result<Option<Vec<String>>, String>, String> {
    within(deadline, async {
        let mut plugin = PluginClient::dial_now(socket).await?;
        Ok(plugin.preferred_allocation(available, must_include, size).await)
    })
}

/// Asks a plugin of `plugins_registry` who it is (`GetInfo`), as the kubelet's watcher does each time when
/// it finds its socket. Nobody is told that it is registered.
///
/// # Errors
///
/// Fails with what is in the way, or what the plugin answered.
pub fn ask_info(socket: &Path, deadline: Duration) -> Result<PluginInfo, String> {
    within(deadline, async {
        let channel = dial(socket.to_owned()).await?;
        let mut client =
            RegistrationClient::new(channel).max_decoding_message_size(MAX_PLUGIN_MESSAGE_BYTES);
        let info = client
            .get_info(InfoRequest {})
            .await
            .map_err(|status| go_status(&status, MAX_PLUGIN_MESSAGE_BYTES).to_string())?
            .into_inner();
        Ok(PluginInfo {
            kind: info.r#type,
            name: info.name,
            endpoint: info.endpoint,
            versions: info.supported_versions,
        })
    })
}

fn within<T>(
    deadline: Duration,
    task: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| crate::edge::input::plain(&error))?;
    runtime.block_on(async {
        timeout(deadline, task)
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {deadline:?}")))
    })
}
