//! Whether the kubelet is stopped.

use crate::exit::Failure;
use anyhow::anyhow;
use kq::edge::checkpoint_file::CheckpointFile;
use kq::edge::device_plugin::folder::KUBELET_SOCKET;
use kq::edge::kubelet_process::{FindKubeletError, Suspect, suspects};
use kq::edge::listener::listens;
use kq::facts::distribution::{Place, rows};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Makes sure that no kubelet runs that has the file, by the node's processes and by the socket for plugins.
///
/// # Errors
///
/// Refuses where one runs, and where nobody can tell.
pub fn check_stopped(
    file: &CheckpointFile,
    host_root: &Path,
    plugins: &Path,
) -> Result<(), Failure> {
    let own = file.folder_identity();
    let mut found = suspects(host_root).map_err(|error| unknown(&words(error)))?;
    found.retain(|process| !process.is_elsewhere(own));
    // One that is known for sure is the clearer reason.
    if let Some(process) = found.iter().find(|it| it.doubt.is_none() || it.owns(own)) {
        return Err(running(&format!("process {}", process.pid)));
    }
    if let Some((process, doubt)) = found.iter().find_map(|p| Some((p, p.doubt.as_ref()?))) {
        return Err(unknown(&format!("process {}: {doubt}", process.pid)));
    }
    check_socket(plugins)
}

/// Says which kubelets are passed over, because they are other nodes'.
pub fn elsewhere(file: &CheckpointFile, host_root: &Path) -> Vec<String> {
    let own = file.folder_identity();
    let found = suspects(host_root).unwrap_or_default();
    let others = found.iter().filter(|process| process.is_elsewhere(own));
    let said = |process: &Suspect| {
        let pid = process.pid;
        format!("process {pid} is the kubelet of another node: it serves plugins in another folder")
    };
    others.map(said).collect()
}

/// Makes sure that no kubelet waits for plugins in a folder.
///
/// # Errors
///
/// Refuses where one does, and where nobody can tell.
pub fn check_socket(plugins: &Path) -> Result<(), Failure> {
    let socket = plugins.join(KUBELET_SOCKET);
    match listens(&socket) {
        Ok(false) => Ok(()),
        // One in another namespace of processes is not to be seen otherwise.
        Ok(true) => Err(running(&format!("something listens on {}", socket.display()))),
        Err(why) => Err(unknown(&format!("{}: {why}", socket.display()))),
    }
}

/// Tells whether a file is in the folder of plugins of a kubelet: of a usual one, or of one that runs.
/// Folders are compared by device and inode, so no link and no mount hides them.
///
/// # Errors
///
/// Refuses where nobody can tell which kubelets run.
pub fn is_kubelets(file: &CheckpointFile, host_root: &Path) -> Result<bool, Failure> {
    let found = suspects(host_root).map_err(|error| unknown(&words(error)))?;
    let own = file.folder_identity();
    if found.iter().any(|process| process.owns(own)) {
        return Ok(true);
    }
    let roots = found.into_iter().filter_map(|process| process.root_dir);
    let usual = rows(Place::RootFolder).map(|row| row.path.to_owned());
    Ok(roots.chain(usual).any(|root| {
        [host_root, Path::new("/")].into_iter().any(|base| {
            let folder = base.join(root.trim_start_matches('/')).join("device-plugins");
            let found = folder.metadata().ok().map(|found| (found.dev(), found.ino()));
            found.is_some() && found == own
        })
    }))
}

fn words(error: FindKubeletError) -> String {
    format!("{:#}", anyhow!(error))
}

fn unknown(why: &str) -> Failure {
    Failure::refused(anyhow!("whether the kubelet is stopped cannot be told: {why}"))
        .hint("run kq on the node as root, where it sees the node's processes")
}

fn running(how: &str) -> Failure {
    Failure::refused(anyhow!("the kubelet runs ({how}), and would write over the file"))
        .hint("stop its unit first, for instance with systemctl stop kubelet")
}
