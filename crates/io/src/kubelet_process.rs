//! Finds the kubelet among the processes of the node, or else how systemd would start it.
//!
//! Any user may call a process kubelet. It is trusted when all of its user IDs and the owner of its program are trusted.
//! Only a trusted kubelet supplies a configuration, paths, endpoints and a node name; another one is reported with the
//! reason, and otherwise ignored.

use crate::host::{LIMIT, ReadError, folder_beneath, link_beneath, list_beneath, read_beneath};
pub use crate::process_folder::PluginFolder;
use crate::process_folder::plugin_folder;
use crate::trust::{
    check_process_program, is_folder, is_trusted_user, list_trusted, read_trusted, trusted_users,
};
use kq_facts::host::{HostFacts, PROC_STAT, Text};
use kq_facts::kubelet_process::{
    CgroupPlace, KubeletProcess, NoFiles, NodeFiles, ProcessTexts, Program, as_started,
    cgroup_place, has_own_pids, may_be_kubelet, recognise, start_ticks, stopped_distribution,
};
use kq_facts::kubelet_unit::{
    KUBEADM_CONFIG, KUBEADM_UNIT, Service, UNIT, masked_by, service, unit_service,
};
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use rustix::fs::{PROC_SUPER_MAGIC, fstat, fstatfs};
use std::path::Path;

pub use kq_facts::kubelet_process::{KubeletSearch, StoppedKubelet};

/// Why the processes could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum FindKubeletError {
    /// The list of processes could not be read.
    #[error("cannot list processes in {path}")]
    Processes {
        /// The folder on the node.
        path: String,
        #[source]
        error: ReadError,
    },
    /// These are not the processes of a node.
    #[error("{path} has no process 1, so these are not the processes of the node")]
    NoProcesses {
        /// The folder on the node.
        path: String,
    },
}

/// A process that is, or may be, a kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Its number.
    pub pid: i32,
    /// Why it is uncertain; `None`: it is a kubelet.
    pub doubt: Option<String>,
    /// The root folder of the kubelet, where it is known.
    pub root_dir: Option<String>,
    /// Its plugin folder, in its own mount namespace, if visible.
    pub plugins: Option<PluginFolder>,
}

impl Suspect {
    /// Returns true if a plugin folder is this kubelet's.
    pub fn owns(&self, identity: Option<(u64, u64)>) -> bool {
        identity.is_some() && self.plugins.map(|plugins| plugins.identity) == identity
    }

    /// Returns true if it is certainly another node's, such as one in a container: a kubelet has one plugin folder,
    /// and this kubelet serves another one.
    pub fn is_elsewhere(&self, identity: Option<(u64, u64)>) -> bool {
        let is_served = self.plugins.is_some_and(|plugins| plugins.is_served);
        is_served && identity.is_some() && !self.owns(identity)
    }
}

/// Finds all processes that may be a kubelet, also in containers, for actions that are unsafe while one runs.
/// Fails where the node's processes cannot be listed, or are not there, as in an empty `/proc`.
pub fn suspects(root: &Path) -> Result<Vec<Suspect>, FindKubeletError> {
    let path = || "/proc".to_owned();
    let names = list_beneath(root, "/proc")
        .map_err(|error| FindKubeletError::Processes { path: path(), error })?;
    if read(root, "/proc/1/stat").as_deref().and_then(start_ticks).is_none() {
        return Err(FindKubeletError::NoProcesses { path: path() });
    }
    let pids = names.iter().filter_map(|name| name.parse::<i32>().ok());
    Ok(pids.filter_map(|pid| suspect(root, pid)).collect())
}

/// A process whose name is a kubelet's, and what the kernel says of it. Its memory is not read, because it can block the
/// reader: `cmdline` comes after the process is known to be trusted, and to be on the node.
struct Named {
    comm: String,
    stat: String,
    place: Place,
    /// Why it is not trusted.
    distrust: Option<String>,
}

/// Where a process is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Node,
    Container,
    Unknown,
}

/// Why the place of a process is unknown.
const UNKNOWN_PLACE: &str = "it may be in a container: its cgroup is outside of kq's cgroup namespace, and its mounts are \
                             not those of process 1, or not shown";

impl Named {
    /// Reads about a process; `None`: it has another name, or has ended.
    fn read(root: &Path, pid: i32) -> Option<Result<Self, Unreadable>> {
        let file = |name: &str| format!("/proc/{pid}/{name}");
        let comm = match read_beneath(root, &file("comm"), LIMIT) {
            // A process can choose a name that is not UTF-8.
            Ok(comm) => String::from_utf8_lossy(&comm).into_owned(),
            Err(_) => return Some(Err(Unreadable)),
        };
        if !may_be_kubelet(&comm) {
            // Nearly every process of a node.
            return None;
        }
        // The start comes first: what is read after it is compared with a second reading.
        let (Some(stat), Some(status)) = (read(root, &file("stat")), read(root, &file("status")))
        else {
            return Some(Err(Unreadable));
        };
        let place = place_of(root, pid, &status);
        let distrust = match place {
            // Its program is on file systems of its own choice.
            Place::Container => check_users(root, pid, &status),
            Place::Node | Place::Unknown => check_process(root, pid, &status),
        };
        Some(Ok(Self { comm, stat, place, distrust: distrust.err() }))
    }
}

/// The kernel does not show a process, or it has ended.
struct Unreadable;

fn place_of(root: &Path, pid: i32, status: &str) -> Place {
    if has_own_pids(status) {
        return Place::Container;
    }
    // The kernel has it of every process; a copy of a node's files may lack it.
    let Some(cgroups) = read(root, &format!("/proc/{pid}/cgroup")) else { return Place::Node };
    match cgroup_place(&cgroups, read(root, "/proc/1/cgroup").as_deref()) {
        CgroupPlace::Pod => Place::Container,
        CgroupPlace::Node => Place::Node,
        CgroupPlace::Outside if shares_mounts(root, pid) => Place::Node,
        CgroupPlace::Outside => Place::Unknown,
    }
}

/// Returns true for a process with the mounts of the node's first process.
fn shares_mounts(root: &Path, pid: i32) -> bool {
    let mounts = |pid: i32| link_beneath(root, &format!("/proc/{pid}/ns/mnt")).ok();
    let own = mounts(pid);
    own.is_some() && own == mounts(1)
}

fn suspect(root: &Path, pid: i32) -> Option<Suspect> {
    let unsure = |doubt: String| Suspect { pid, doubt: Some(doubt), root_dir: None, plugins: None };
    let unreadable = || {
        // One that has ended meanwhile is none.
        let is_there = list_beneath(root, &format!("/proc/{pid}")).err() != Some(ReadError::Absent);
        is_there.then(|| unsure("it is not accessible".to_owned()))
    };
    let named = match Named::read(root, pid)? {
        Ok(named) => named,
        Err(Unreadable) => return unreadable(),
    };
    if let Some(reason) = named.distrust {
        return Some(unsure(reason));
    }
    let plugins = plugin_folder(root, pid);
    if named.place != Place::Node {
        // Nothing else of it counts, and its command line could name files of the host.
        let doubt = "it looks like a kubelet in a container".to_owned();
        return Some(Suspect { plugins, ..unsure(doubt) });
    }
    let Ok(command_line) = read_beneath(root, &format!("/proc/{pid}/cmdline"), LIMIT) else {
        return unreadable();
    };
    let texts = texts(root, pid, &named, &command_line, None);
    let process = recognise(&texts, &NoFiles)?;
    let root_dir = with_files(root, &texts, process).interpreted().root_dir;
    Some(Suspect { pid, doubt: None, plugins, root_dir })
}

/// Returns the texts about a trusted process.
fn texts<'t>(
    root: &Path,
    pid: i32,
    named: &'t Named,
    command_line: &'t [u8],
    boot_time: Option<i64>,
) -> ProcessTexts<'t> {
    ProcessTexts {
        pid,
        comm: &named.comm,
        command_line,
        stat: &named.stat,
        executable: link_beneath(root, &format!("/proc/{pid}/exe")).ok(),
        working_folder: link_beneath(root, &format!("/proc/{pid}/cwd")).ok(),
        boot_time,
    }
}

/// The kubelets that run on a node, and the processes that only have the name of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundKubelets {
    /// The trusted ones; the oldest first.
    pub trusted: Vec<KubeletProcess>,
    /// The others, each with the reason.
    pub refused: Vec<FailedSource>,
    /// One of these may be the node's kubelet.
    pub may_run: bool,
}

/// Finds the running kubelet: of several, the oldest; the others are named
/// in it. An untrusted process is a failed source.
///
/// A process in a container is ignored, whatever its name: it would decide which files are read. A container has its own
/// PID namespace, or a cgroup of a pod.
/// Fails where the node's processes cannot be listed.
pub fn find_kubelet(root: &Path) -> Result<KubeletSearch, FindKubeletError> {
    let FoundKubelets { trusted, refused: mut tried, may_run } = find_kubelets(root)?;
    let mut trusted = trusted.into_iter();
    let Some(mut first) = trusted.next() else {
        let reason = match may_run {
            true => "it is unknown whether a kubelet runs",
            false => "no kubelet runs on this node",
        };
        tried.push(FailedSource { source: "/proc".to_owned(), reason: reason.to_owned() });
        return Ok(KubeletSearch { process: Lookup { found: None, tried }, may_run });
    };
    first.others = trusted.map(|process| process.pid).collect();
    if !first.others.is_empty() {
        let others: Vec<String> = first.others.iter().map(ToString::to_string).collect();
        first.notes.push(format!(
            "several kubelets run; kq reads process {}, not {}",
            first.pid,
            others.join(", ")
        ));
    }
    let found = Some(Sourced { source: format!("/proc/{}", first.pid), value: first });
    Ok(KubeletSearch { process: Lookup { found, tried }, may_run: true })
}

/// Finds all kubelets that run on the node, as [`find_kubelet`] does.
/// Fails where the node's processes cannot be listed.
pub fn find_kubelets(root: &Path) -> Result<FoundKubelets, FindKubeletError> {
    let names = list_beneath(root, "/proc")
        .map_err(|error| FindKubeletError::Processes { path: "/proc".to_owned(), error })?;
    let boot_time = boot_time(root);
    let mut found = FoundKubelets::default();
    for pid in names.iter().filter_map(|name| name.parse::<i32>().ok()) {
        match look_at(root, pid, boot_time) {
            None => {}
            Some(Ok(process)) => found.trusted.push(process),
            Some(Err(refusal)) => {
                let reason = match refusal {
                    Refusal::Distrust(reason) => {
                        format!("is called kubelet and is not trusted: {reason}")
                    }
                    Refusal::UnknownPlace => {
                        found.may_run = true;
                        format!("is called kubelet and is not used: {UNKNOWN_PLACE}")
                    }
                };
                found.refused.push(FailedSource { source: format!("/proc/{pid}"), reason });
            }
        }
    }
    found.trusted.sort_by_key(|process| (process.start_ticks, process.pid));
    Ok(found)
}

/// Checks that all user IDs of a process are a trusted user's.
fn check_users(root: &Path, pid: i32, status: &str) -> Result<(), String> {
    let ids = user_ids(status).or_else(|| Some(vec![owner_of_copy(root, pid)?]));
    let ids = ids.ok_or("its user is not known")?;
    if let Some(uid) = ids.into_iter().find(|uid| !is_trusted_user(*uid)) {
        return Err(format!("it runs as user {uid}, expected {}", trusted_users()));
    }
    Ok(())
}

/// Checks that all user IDs of a process are a trusted user's, and that its program is trusted.
fn check_process(root: &Path, pid: i32, status: &str) -> Result<(), String> {
    check_users(root, pid, status)?;
    check_process_program(root, pid).map_err(|error| match error {
        ReadError::Untrusted(reason) => reason,
        error => error.to_string(),
    })
}

/// Returns the owner of a copy of a process's files that lacks its user IDs. The kernel's own files always have them.
fn owner_of_copy(root: &Path, pid: i32) -> Option<u32> {
    let folder = folder_beneath(root, &format!("/proc/{pid}")).ok()?;
    let is_kernels = fstatfs(&folder).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC);
    if is_kernels { None } else { Some(fstat(&folder).ok()?.st_uid) }
}

/// Returns the real, effective, saved and file system user ID of a process.
fn user_ids(status: &str) -> Option<Vec<u32>> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let ids: Vec<u32> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    (!ids.is_empty()).then_some(ids)
}

fn boot_time(root: &Path) -> Option<i64> {
    let text = Text::Read(read(root, PROC_STAT)?);
    let texts = [(PROC_STAT.to_owned(), text)].into();
    HostFacts { texts, page_size: None }.boot_time().ok()
}

/// Returns the kubelet that a process is, or the reason why a process of that name is not trusted.
fn look_at(
    root: &Path,
    pid: i32,
    boot_time: Option<i64>,
) -> Option<Result<KubeletProcess, Refusal>> {
    let named = Named::read(root, pid)?.ok()?;
    match (named.place, named.distrust.clone()) {
        (Place::Container, _) => return None,
        (_, Some(reason)) => return Some(Err(Refusal::Distrust(reason))),
        (Place::Unknown, None) => return Some(Err(Refusal::UnknownPlace)),
        (Place::Node, None) => {}
    }
    let line = || read_beneath(root, &format!("/proc/{pid}/cmdline"), LIMIT).ok();
    let command_line = line()?;
    let texts = texts(root, pid, &named, &command_line, boot_time);
    let process = recognise(&texts, &NoFiles)?;
    // The process ID may be reused between two reads, and the process can execute another program.
    let again = Named::read(root, pid)?.ok()?;
    let is_same = start_ticks(&again.stat) == Some(process.start_ticks)
        && again.comm == named.comm
        && again.place == Place::Node
        && again.distrust.is_none()
        && line().as_ref() == Some(&command_line);
    is_same.then(|| Ok(with_files(root, &texts, process)))
}

/// Why a process with a kubelet's name does not count.
enum Refusal {
    /// It is not trusted.
    Distrust(String),
    /// It may be in a container.
    UnknownPlace,
}

/// Reads the flag files of a trusted kubelet that runs inside another program.
fn with_files(root: &Path, texts: &ProcessTexts<'_>, process: KubeletProcess) -> KubeletProcess {
    match process.program {
        Program::Kubelet => process,
        _ => recognise(texts, &TrustedFiles(root)).unwrap_or(process),
    }
}

/// The trusted files below a node's root.
struct TrustedFiles<'a>(&'a Path);

impl NodeFiles for TrustedFiles<'_> {
    fn text(&self, path: &str) -> Option<String> {
        String::from_utf8(read_trusted(self.0, path, LIMIT).ok()?).ok()
    }

    fn names(&self, folder: &str) -> Option<Vec<String>> {
        list_trusted(self.0, folder).ok()
    }

    fn link(&self, path: &str) -> Option<String> {
        let (folder, _) = path.rsplit_once('/')?;
        is_folder(self.0, folder).then(|| link_beneath(self.0, path).ok()).flatten()
    }
}

fn read(root: &Path, path: &str) -> Option<String> {
    let bytes = read_beneath(root, path, LIMIT).ok()?;
    // A process can choose a name that is not UTF-8.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the kubelet as its unit would start it; without a unit, as the Kubernetes packages start it if
/// kubeadm left its configuration, or as an installed distribution starts it. `None`: unknown.
pub fn stopped_kubelet(root: &Path) -> Option<StoppedKubelet> {
    let files = TrustedFiles(root);
    let unit = unit_service(UNIT, &files);
    let kubeadm = || {
        files.text(KUBEADM_CONFIG)?;
        let service = service(&[KUBEADM_UNIT.to_owned()], |path| files.text(path))?;
        Some(("the unit of the Kubernetes packages".to_owned(), service))
    };
    let masked_by = masked_by(UNIT, &files);
    // A node of a distribution has no use for a package's unit, which is masked there.
    let distribution = match (&masked_by, &unit) {
        (None, Some(_)) => None,
        _ => stopped_distribution(&files),
    };
    let is_unit_assumed = unit.is_none();
    let own = unit.or_else(kubeadm).filter(|_| masked_by.is_none() || distribution.is_none());
    if let Some((source, Service { command, removes })) = own {
        let process = as_started(&command)?;
        return Some(StoppedKubelet { source, process, masked_by, removes, is_unit_assumed });
    }
    let (owner, found) = distribution?;
    let line: Vec<String> = std::iter::once("kubelet".to_owned()).chain(found.arguments).collect();
    let mut process = as_started(&line)?;
    process.flag_files = found.files;
    process.notes.extend(found.notes);
    Some(StoppedKubelet {
        source: owner.name().to_owned(),
        process,
        masked_by: None,
        removes: Vec::new(),
        is_unit_assumed: false,
    })
}
