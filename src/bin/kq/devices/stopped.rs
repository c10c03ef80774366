//! Whether the kubelet is stopped.

use crate::exit::Failure;
use anyhow::anyhow;
use kq::edge::kubelet_process::find_kubelet;
use kq::edge::listener::listens;
use std::path::Path;

/// The socket on which a kubelet waits for plugins, in their folder.
const REGISTRATION: &str = "kubelet.sock";

/// Makes sure that no kubelet runs, by the node's processes and by its socket for plugins.
///
/// # Errors
///
/// Refuses where one runs, and where nobody can tell.
pub fn check_stopped(host_root: &Path, plugins: &Path) -> Result<(), Failure> {
    let socket = plugins.join(REGISTRATION);
    let unknown = |why: String| {
        Failure::refused(anyhow!("whether the kubelet is stopped cannot be told: {why}"))
            .hint("run kq on the node as root, where it sees the node's processes")
    };
    let process =
        find_kubelet(host_root).map_err(|error| unknown(format!("{:#}", anyhow!(error))))?;
    if let Some(process) = process {
        return Err(running(&format!("process {}", process.pid)));
    }
    match listens(&socket) {
        Ok(false) => Ok(()),
        // One in another namespace of processes is not to be seen otherwise.
        Ok(true) => Err(running(&format!("something listens on {}", socket.display()))),
        Err(why) => Err(unknown(format!("{}: {why}", socket.display()))),
    }
}

fn running(how: &str) -> Failure {
    Failure::refused(anyhow!("the kubelet runs ({how}), and would write over the file"))
        .hint("stop it first, for instance with systemctl stop kubelet")
}
