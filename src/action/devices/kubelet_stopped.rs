//! The check that no kubelet runs that would overwrite a checkpoint.

use crate::answer::{Failure, Warning, WarningCode};
use crate::edge::checkpoint_file::CheckpointFile;
use crate::edge::device_plugin::folder::KUBELET_SOCKET;
use crate::edge::kubelet_process::{FindKubeletError, Suspect, suspects};
use crate::edge::listener::listens;
use crate::facts::devices::PLUGIN_FOLDER;
use crate::facts::distribution::{Place, rows};
use anyhow::anyhow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Checks the node's processes and the plugin socket for a kubelet that owns the file.
///
/// # Errors
///
/// Refuses if one runs, and if that is unknown.
pub fn check_stopped(
    file: &CheckpointFile,
    host_root: &Path,
    plugins: &Path,
) -> Result<(), Failure> {
    let own = file.folder_identity();
    let mut found = suspects(host_root).map_err(|error| unknown(&words(error)))?;
    found.retain(|process| !process.is_elsewhere(own));
    // A process that is certainly a kubelet is the clearer reason.
    if let Some(process) = found.iter().find(|it| it.doubt.is_none() || it.owns(own)) {
        return Err(running(&format!("process {}", process.pid)));
    }
    if let Some((process, doubt)) = found.iter().find_map(|p| Some((p, p.doubt.as_ref()?))) {
        return Err(unknown(&format!("process {}: {doubt}", process.pid)));
    }
    check_socket(plugins)
}

/// Returns a warning for each kubelet of another node, which may run.
pub fn elsewhere(file: &CheckpointFile, host_root: &Path) -> Vec<Warning> {
    let own = file.folder_identity();
    let found = suspects(host_root).unwrap_or_default();
    let others = found.iter().filter(|process| process.is_elsewhere(own));
    let warning = |process: &Suspect| {
        let pid = process.pid;
        let text = format!(
            "process {pid} is the kubelet of another node: it serves plugins in another folder"
        );
        Warning::new(WarningCode::OtherKubelet, text).about(pid.to_string())
    };
    others.map(warning).collect()
}

/// Checks that no kubelet serves plugins in a folder.
///
/// # Errors
///
/// Refuses if one does, and if that is unknown.
pub fn check_socket(plugins: &Path) -> Result<(), Failure> {
    let socket = plugins.join(KUBELET_SOCKET);
    match listens(&socket) {
        Ok(false) => Ok(()),
        // The socket is the only trace of a kubelet in another PID namespace.
        Ok(true) => Err(running(&format!("something listens on {}", socket.display()))),
        Err(why) => Err(unknown(&format!("{}: {why}", socket.display()))),
    }
}

/// Returns true if a file is in the plugin folder of a kubelet: a usual one, or that of a running kubelet.
/// Folders are compared by device and inode, so links and mounts do not hide them.
///
/// # Errors
///
/// Refuses if the running kubelets are unknown.
pub fn is_kubelets(file: &CheckpointFile, host_root: &Path) -> Result<bool, Failure> {
    let found = suspects(host_root).map_err(|error| unknown(&words(error)))?;
    let own = file.folder_identity();
    if found.iter().any(|process| process.owns(own)) {
        return Ok(true);
    }
    // A patched kubelet may have it below its root folder.
    let roots = found.into_iter().filter_map(|process| process.root_dir);
    let usual = rows(Place::RootFolder).map(|row| row.path.to_owned());
    let folders = roots.chain(usual).map(|root| format!("{root}/device-plugins"));
    Ok(folders.chain([PLUGIN_FOLDER.to_owned()]).any(|folder| {
        [host_root, Path::new("/")].into_iter().any(|base| {
            let found = base.join(folder.trim_start_matches('/')).metadata().ok();
            let found = found.map(|found| (found.dev(), found.ino()));
            found.is_some() && found == own
        })
    }))
}

fn words(error: FindKubeletError) -> String {
    format!("{:#}", anyhow!(error))
}

fn unknown(why: &str) -> Failure {
    Failure::refused(anyhow!("it is unknown whether the kubelet is stopped: {why}"))
        .hint("run kq on the node as root, where it sees the node's processes")
}

fn running(how: &str) -> Failure {
    Failure::refused(anyhow!("the kubelet runs ({how}), and would overwrite the file"))
        .hint("stop its unit first, for instance with systemctl stop kubelet")
}
