//! Which socket offers which resource, for those who only want to ask the right plugin.

use super::Args;
use super::look::look;
use crate::exit::Failure;
use crate::output_format::OutputFormat;
use kq::device::plugins::{Place, PluginSocket, SocketKind};
use kq::edge::host::host_root;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The plugins of a folder that listen.
pub struct Offers {
    pub folder: String,
    /// How many plugins listen.
    pub listening: usize,
    /// The socket of each resource of which it is sure, and how it is known.
    pub sockets: BTreeMap<String, (PathBuf, String)>,
}

/// Finds out which socket offers which resource, as `kq devices plugins` does; a guess is none.
///
/// # Errors
///
/// Fails for a folder that cannot be read.
pub fn offers(
    dir: Option<PathBuf>,
    host: Option<PathBuf>,
    call_timeout: Duration,
) -> Result<Offers, Failure> {
    let (root, _) = host_root(host.as_deref());
    let report = look(&Args {
        dir,
        wait: None,
        timeout: Duration::ZERO,
        call_timeout,
        no_ask: false,
        host_root: host,
        output: OutputFormat::Table,
    })?;
    let mut sockets = BTreeMap::new();
    let listens = |it: &&PluginSocket| it.kind == SocketKind::Plugin && it.listens();
    let plugins: Vec<&PluginSocket> = report.sockets.iter().filter(listens).collect();
    let listening = plugins.len();
    for socket in plugins.into_iter().filter(|socket| !socket.resource_is_guess) {
        let (Ok(resource), Some(path)) = (&socket.resource, path(socket, &report.folder, &root))
        else {
            continue;
        };
        let because = socket.resource_because.clone().unwrap_or_default();
        sockets.insert(resource.clone(), (path, because));
    }
    Ok(Offers { folder: report.folder, listening, sockets })
}

/// Returns where a plugin serves. Of a socket deep in the other folder only the plugin itself can tell.
fn path(socket: &PluginSocket, folder: &str, root: &Path) -> Option<PathBuf> {
    match socket.place {
        Place::DevicePlugins => Some(Path::new(folder).join(&socket.name)),
        Place::PluginsRegistry => {
            let endpoint = socket.info.as_ref().map(|info| info.endpoint.trim_start_matches('/'));
            endpoint.filter(|endpoint| !endpoint.is_empty()).map(|endpoint| root.join(endpoint))
        }
    }
}
