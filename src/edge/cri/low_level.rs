//! The program that creates containers: where it is on the node, and what it calls itself.

use super::beneath::resolve;
use super::info::NamedProgram;
use super::reason::chain;
use crate::edge::input::plain;
use crate::edge::program_version::ask_version;
use crate::facts::runtime::LowLevelRuntime;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a service finds programs: systemd's own search path, and `/sbin:/bin` for nodes where
/// those are not links.
const FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Distributions that bring their own programs and put them before the node's.
const BUNDLED: [(&str, &str); 4] = [
    ("/run/k3s/", "/var/lib/rancher/k3s/data/current/bin"),
    ("/run/k3s/", "/var/lib/rancher/rke2/bin"),
    ("/run/k0s/", "/var/lib/k0s/bin"),
    ("/var/snap/microk8s/", "/snap/microk8s/current/bin"),
];

/// Returns what the program says about itself.
pub(super) fn ask(
    named: &NamedProgram,
    socket: &Path,
    host_root: &Path,
    time: Duration,
) -> Result<LowLevelRuntime, String> {
    let (path, real) = find(&named.program, socket, host_root).map_err(|reason| {
        format!("{:?} of runtime {:?}: {reason}", named.program, named.runtime)
    })?;
    if time.is_zero() {
        return Err(format!("{}: no time was left to ask its version", path.display()));
    }
    let said = ask_version(&real, time)
        .map_err(|error| format!("{}: {}", path.display(), chain(&error)))?;
    Ok(LowLevelRuntime {
        name: said.name,
        version: said.version,
        path: path.to_string_lossy().into_owned(),
    })
}

/// Returns where a program is on the node, and where that is for kq.
fn find(program: &str, socket: &Path, host_root: &Path) -> Result<(PathBuf, PathBuf), String> {
    if program.contains('/') {
        let path = PathBuf::from(program);
        if !path.is_absolute() {
            return Err("is a relative path".to_owned());
        }
        let real = executable(host_root, &path).map_err(|error| plain(&error))?;
        return Ok((path, real));
    }
    let bundled = BUNDLED.iter().filter(|(sockets, _)| socket.starts_with(sockets));
    let folders: Vec<&str> = bundled.map(|(_, folder)| *folder).chain(FOLDERS).collect();
    for folder in &folders {
        let path = Path::new(folder).join(program);
        if let Ok(real) = executable(host_root, &path) {
            return Ok((path, real));
        }
    }
    Err(format!("not found in {}", folders.join(":")))
}

/// Returns where a file of the node is for kq, when it can be run.
fn executable(host_root: &Path, path: &Path) -> io::Result<PathBuf> {
    let real = resolve(host_root, path)?;
    let metadata = fs::metadata(&real)?;
    if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
        Ok(real)
    } else {
        Err(io::Error::other("is no file that can be run"))
    }
}
