//! Calls that a plugin which serves a kubelet tolerates: its options and its registration info. The plugin answers from
//! its own data, and notices only a connection that opens and closes.

use super::MAX_PLUGIN_MESSAGE_BYTES;
use super::address::{EndpointFolders, SocketAddress};
use super::client::PluginClient;
use super::pluginregistration::{InfoRequest, registration_client::RegistrationClient};
use super::query::{PluginAnswer, PluginQuery};
use crate::cri::connect::dial;
use crate::cri::reason::go_status;
use crate::probe::run::connections_at_once;
use kq_facts::checkpoint::device::DeviceSet;
use kq_io::listener::OpenSocket;
use kq_managers::manager::PluginOptions;
use kq_managers::plugins::PluginInfo;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};

/// How many plugins are asked at once, where there are descriptors for so many.
const AT_ONCE: usize = 1_024;

/// Asks a plugin what it can do (`GetDevicePluginOptions`). Blocks until the deadline at most.
/// Fails with what is in the way, or what the plugin answered.
pub fn ask_options(socket: &Path, deadline: Duration) -> Result<PluginOptions, String> {
    within(deadline, options(socket))
}

/// Asks a plugin which devices it prefers (`GetPreferredAllocation`); `None` is an answer without a container, and an
/// error inside is what the plugin said. Blocks until the deadline at most. Fails if kq gets no answer; the kubelet is
/// not affected.
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
/// it finds its socket. The plugin gets no registration status.
/// Fails with what is in the way, or what the plugin answered.
pub fn ask_info(socket: &Path, deadline: Duration) -> Result<PluginInfo, String> {
    within(deadline, info(socket))
}

/// Asks many plugins side by side; all of them have one deadline. Those of `plugins_registry` are asked who they
/// are, and what they can do where they are device plugins: a socket that one names is in one of the folders.
pub fn ask_all(
    plugins: &[PluginQuery],
    folders: &EndpointFolders,
    deadline: Duration,
) -> Vec<PluginAnswer> {
    let late = format!("no answer within {deadline:?}");
    let runtime = match Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let error = kq_io::input::plain(&error);
            return plugins.iter().map(|plugin| PluginAnswer::failed(plugin, &error)).collect();
        }
    };
    // One that is asked who it is, and what it can do, has one connection after the other.
    // The socket is open as well.
    let at_once = connections_at_once(AT_ONCE.saturating_mul(2)).div_ceil(2);
    let at_once = Arc::new(Semaphore::new(at_once));
    runtime.block_on(async {
        let end = Instant::now() + deadline;
        let ask = |plugin: &PluginQuery| {
            let (plugin, folders, late) = (plugin.clone(), folders.clone(), late.clone());
            let at_once = at_once.clone();
            tokio::spawn(async move {
                let Ok(Ok(_permit)) = timeout_at(end, at_once.acquire()).await else {
                    return PluginAnswer::failed(&plugin, "not asked in time: too many others are");
                };
                let mut asked = PluginAnswer::default();
                if plugin.in_registry {
                    let info = async { info(&open(&plugin.socket)?.path()).await };
                    let info = timeout_at(end, info).await;
                    asked.info = Some(info.unwrap_or_else(|_| Err(late.clone())));
                }
                if let Some(serves) = asked.serves(&plugin, &folders) {
                    let options = async { options(&open(&serves?)?.path()).await };
                    let options = timeout_at(end, options).await;
                    asked.options = Some(options.unwrap_or(Err(late)));
                }
                asked
            })
        };
        let asked: Vec<_> = plugins.iter().map(|plugin| (plugin, ask(plugin))).collect();
        let mut answers = Vec::new();
        for (plugin, asked) in asked {
            let failed = |_| PluginAnswer::failed(plugin, "kq could not call it");
            answers.push(asked.await.unwrap_or_else(failed));
        }
        answers
    })
}

fn open(socket: &SocketAddress) -> Result<OpenSocket, String> {
    socket.open().map_err(|error| error.to_string())
}

async fn options(socket: &Path) -> Result<PluginOptions, String> {
    PluginClient::dial_now(socket).await?.options().await
}

async fn info(socket: &Path) -> Result<PluginInfo, String> {
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
}

fn within<T>(
    deadline: Duration,
    task: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| kq_io::input::plain(&error))?;
    runtime.block_on(async {
        timeout(deadline, task)
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {deadline:?}")))
    })
}
