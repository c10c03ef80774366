//! The program that creates containers: its path on the node, and its version.
//!
//! The runtime names it, so it is executed only if its name is known and the file is trusted.

use super::connect::words;
use super::info::NamedProgram;
use super::reason::chain;
use crate::edge::host::{ReadError, open};
use crate::edge::program_version::ask_version;
use crate::edge::trust::TrustedProgram;
use crate::facts::distribution::{Place, of_runtime};
use crate::facts::runtime::LowLevelRuntime;
use rustix::fs::OFlags;
use std::path::Path;
use std::time::Duration;

/// The search path of services: systemd's own, and `/sbin:/bin` for nodes where those are not links.
const FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The programs whose version is queried: OCI runtimes with the command line of runc.
const KNOWN: [&str; 10] = [
    "crun",
    "crun-wasm",
    "docker-runc",
    "krun",
    "nvidia-container-runtime",
    "nvidia-container-runtime.cdi",
    "nvidia-container-runtime.legacy",
    "runc",
    "sysbox-runc",
    "youki",
];

/// Returns the name and version that the program prints.
pub(super) fn ask(
    named: &NamedProgram,
    socket: &Path,
    host_root: &Path,
    time: Duration,
) -> Result<LowLevelRuntime, String> {
    let program = find(&named.program, socket, host_root).map_err(|reason| {
        format!("{:?} of runtime {:?}: {reason}", named.program, named.runtime)
    })?;
    if time.is_zero() {
        return Err(format!("{}: no time left to query its version", program.path()));
    }
    let said = ask_version(&program, time)
        .map_err(|error| format!("{}: {}", program.path(), chain(&error)))?;
    Ok(LowLevelRuntime { name: said.name, version: said.version, path: program.path().to_owned() })
}

/// Returns a program of the node.
fn find(program: &str, socket: &Path, host_root: &Path) -> Result<TrustedProgram, String> {
    let name = program.rsplit('/').next().unwrap_or_default();
    if !KNOWN.contains(&name) {
        return Err("not executed: not the name of a known low-level runtime".to_owned());
    }
    let found = |path: &str| TrustedProgram::find(host_root, path);
    if program.contains('/') {
        if !program.starts_with('/') {
            return Err("is a relative path".to_owned());
        }
        return found(program).map_err(words);
    }
    // Distributions with their own programs put them before the node's.
    let socket = socket.to_string_lossy();
    let bundled = of_runtime(&socket, Place::Programs).map(|row| row.path);
    let folders: Vec<&str> = bundled.chain(FOLDERS).collect();
    for folder in &folders {
        match found(&format!("{folder}/{program}")) {
            // Another program of that name would not be the runtime's.
            Err(error @ ReadError::Untrusted(_)) if is_there(host_root, folder, program) => {
                return Err(error.to_string());
            }
            Err(_) => {}
            Ok(program) => return Ok(program),
        }
    }
    Err(format!("not found in {}", folders.join(":")))
}

fn is_there(host_root: &Path, folder: &str, name: &str) -> bool {
    open(host_root, &format!("{folder}/{name}"), OFlags::PATH).is_ok()
}
