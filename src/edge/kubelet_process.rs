//! Finding the kubelet among the processes of the node.

use crate::edge::host::{LIMIT, ReadError, link_beneath, list_beneath, read_beneath};
use crate::facts::host::{HostFacts, PROC_STAT, Text};
use crate::facts::kubelet_process::{KubeletProcess, ProcessTexts, recognise, start_ticks};
use std::path::Path;

/// Why the processes could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum FindKubeletError {
    /// The list of processes could not be read.
    #[error("cannot list processes in {path}")]
    Processes {
        /// The folder on the node.
        path: String,
        /// What is wrong.
        #[source]
        error: ReadError,
    },
}

/// Finds the kubelet that runs on the node: of several the one that started first; the others are named
/// in it. A process that ends meanwhile is none.
///
/// What runs in a container is none either, whatever it calls itself: it would decide which files are
/// read and which program is asked for its version. A container is known by a namespace of processes
/// of its own, or by a cgroup below kubepods.
///
/// # Errors
///
/// Fails where the node's processes cannot be listed.
pub fn find_kubelet(root: &Path) -> Result<Option<KubeletProcess>, FindKubeletError> {
    let mut found = find_kubelets(root)?.into_iter();
    let Some(mut first) = found.next() else { return Ok(None) };
    first.others = found.map(|process| process.pid).collect();
    if !first.others.is_empty() {
        let others: Vec<String> = first.others.iter().map(ToString::to_string).collect();
        first.notes.push(format!(
            "several kubelets run; process {} is looked at, not {}",
            first.pid,
            others.join(", ")
        ));
    }
    Ok(Some(first))
}

/// Finds all kubelets that run on the node, as [`find_kubelet`] does; first the one that started first.
///
/// # Errors
///
/// Fails where the node's processes cannot be listed.
pub fn find_kubelets(root: &Path) -> Result<Vec<KubeletProcess>, FindKubeletError> {
    let names = list_beneath(root, "/proc")
        .map_err(|error| FindKubeletError::Processes { path: "/proc".to_owned(), error })?;
    let boot_time = boot_time(root);
    let mut found: Vec<KubeletProcess> = Vec::new();
    for pid in names.iter().filter_map(|name| name.parse::<i32>().ok()) {
        found.extend(look_at(root, pid, boot_time));
    }
    found.sort_by_key(|process| (process.start_ticks, process.pid));
    Ok(found)
}

fn boot_time(root: &Path) -> Option<i64> {
    let text = Text::Read(read(root, PROC_STAT)?);
    let texts = [(PROC_STAT.to_owned(), text)].into();
    HostFacts { texts, page_size: None }.boot_time().ok()
}

/// Returns the kubelet that a process is.
fn look_at(root: &Path, pid: i32, boot_time: Option<i64>) -> Option<KubeletProcess> {
    let file = |name: &str| format!("/proc/{pid}/{name}");
    let comm = read(root, &file("comm"))?;
    if !comm.starts_with('k') {
        // Nearly every process of a node, and no kubelet by any name.
        return None;
    }
    let stat = read(root, &file("stat"))?;
    let command_line = read_beneath(root, &file("cmdline"), LIMIT).ok()?;
    let process = recognise(&ProcessTexts {
        pid,
        comm: &comm,
        command_line: &command_line,
        stat: &stat,
        executable: link_beneath(root, &file("exe")).ok(),
        working_folder: link_beneath(root, &file("cwd")).ok(),
        boot_time,
    })?;
    let own_cgroups = read(root, &file("cgroup")).unwrap_or_default();
    if depth(&read(root, &file("status"))?) > 1 || own_cgroups.contains("kubepods") {
        return None;
    }
    // The number can have gone to another process between two of the files.
    let still = start_ticks(&read(root, &file("stat"))?)?;
    (still == process.start_ticks).then_some(process)
}

/// Counts the numbers that a process has: one in each namespace that it is in, from that of the
/// reader's `/proc` on. Kernels before 4.1 do not say, and count as one.
fn depth(status: &str) -> usize {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.map_or(1, |line| line.split_whitespace().count())
}

fn read(root: &Path, path: &str) -> Option<String> {
    let bytes = read_beneath(root, path, LIMIT).ok()?;
    // A process can give itself a name that is no text.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
