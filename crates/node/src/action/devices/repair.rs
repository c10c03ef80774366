//! The repair of a checkpoint: prepared, shown and confirmed by the caller, executed.
//!
//! The kubelet is checked before the question, after it, right before the file is replaced, and after that.

use crate::check_live;
use anyhow::anyhow;
use kq_answer::{Failure, Warning, WarningCode};
use kq_facts::checkpoint::device::DeviceCheckpoint;
use kq_facts::devices::PLUGIN_FOLDER;
use kq_facts::distribution::{Place, rows};
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::node_pods::NodePods;
use kq_facts::snapshot::Snapshot;
use kq_io::checkpoint_file::{CheckpointFile, CheckpointFileError, identity};
use kq_io::clock::now;
use kq_io::host::{ReadError, host_root};
use kq_io::kubelet_process::{FindKubeletError, Suspect, suspects};
use kq_linux::device_plugin::folder::KUBELET_SOCKET;
use kq_managers::repair::{DeviceRepair, Done, RepairPlan, Request, entries, plan};
use kq_output::shell::quoted;
use std::path::{Path, PathBuf};

/// The options of a repair.
#[derive(Clone, Debug)]
pub struct RepairOptions {
    pub request: Request,
    /// The file; `None`: the node's.
    pub checkpoint: Option<PathBuf>,
    /// The path of the copy of the old file; `None`: one folder above the plugin folder.
    pub backup: Option<PathBuf>,
    pub dry_run: bool,
}

/// A planned repair. Nothing is written before [`PreparedRepair::execute`].
#[derive(Debug)]
pub struct PreparedRepair {
    target: Target,
    /// The content that was planned for.
    bytes: Vec<u8>,
    plan: RepairPlan,
    backup: Option<PathBuf>,
    host_root: PathBuf,
    /// The file is in no kubelet's folder, so a kubelet may run.
    is_copy: bool,
    pub report: DeviceRepair,
}

impl PreparedRepair {
    /// Opens the file, gathers the pods and plans.
    ///
    /// # Errors
    ///
    /// Fails for a file that cannot be read, and refuses a backup that cannot be kept.
    pub fn prepare(
        options: RepairOptions,
        root: Option<&Path>,
        gather: impl FnOnce(Needs) -> Result<Node, Failure>,
    ) -> Result<Self, Failure> {
        check_live()?;
        let RepairOptions { request, checkpoint, backup, dry_run } = options;
        let named = checkpoint.as_deref().map(|path| absolute(path).and_then(open)).transpose()?;
        let (host_root, _) = host_root(root);
        let is_copy = match &named {
            Some(target) => !is_kubelets(&target.file, &host_root)?,
            None => false,
        };
        let node = gather(needs(named.is_some(), is_copy))?;
        let target = match named {
            Some(target) => target,
            None => of_node(&node.snapshot)?,
        };
        let bytes = target.file.read().map_err(|error| of_read(error, &target))?;
        let request = Request { version: Some(node.kubelet.version), ..request };
        let plan = plan(&bytes, &request, &NodePods::of(&node.snapshot));
        let mut notes = node.notes;
        if is_copy {
            let text = "the file is a copy: it is in no kubelet's folder, so a kubelet may run";
            notes.push(Warning::new(WarningCode::CheckpointCopy, text));
        }
        let backup = backup.as_deref().map(absolute).transpose()?;
        if let Some(path) = &backup {
            check_backup(path, &target, is_copy)?;
        }
        if !is_copy {
            notes.extend(elsewhere(&target.file, &host_root));
        }
        let report = DeviceRepair::new(target.file.path(), &plan, dry_run, &notes);
        Ok(Self { target, bytes, plan, backup, host_root, is_copy, report })
    }

    /// Checks that the kubelet is stopped, if the plan changes the file. A dry run gets the refusal in its report, and
    /// returned.
    ///
    /// # Errors
    ///
    /// Refuses if a kubelet runs, and if that is unknown.
    pub fn check_kubelet(&mut self) -> Result<Option<String>, Failure> {
        if !self.plan.refusals.is_empty() || !self.plan.is_change {
            return Ok(None);
        }
        match self.stopped() {
            Ok(()) => Ok(None),
            Err(refused) if self.report.dry_run => {
                self.report.refusals.push(refused.reason());
                Ok(Some(refused.reason()))
            }
            Err(refused) => Err(refused),
        }
    }

    /// Returns true if the plan changes the file, is not refused, and is not a dry run.
    pub fn will_write(&self) -> bool {
        self.plan.refusals.is_empty() && self.plan.is_change && !self.report.dry_run
    }

    /// Asks for confirmation, and checks the kubelet again, since a person may take long.
    ///
    /// # Errors
    ///
    /// Fails as `ask` does, and refuses as [`PreparedRepair::check_kubelet`] does.
    pub fn confirm(&self, ask: impl FnOnce(&str) -> Result<(), Failure>) -> Result<(), Failure> {
        let (kept, gone) = self.report.counts();
        let counts = format!("{} stay, {gone} go", entries(kept));
        ask(&format!("Replace {} ({counts})?", self.target.file.path()))?;
        self.stopped()
    }

    /// Keeps the old file, replaces it and reads it back. Returns what went wrong after the file was replaced.
    ///
    /// # Errors
    ///
    /// Refuses where nothing was changed.
    pub fn execute(&mut self) -> Result<Option<String>, Failure> {
        let (copy, backup) = self.keep()?;
        let (file, content) = (&self.target.file, &self.plan.content);
        let mut trouble = None;
        // The last check is right before the file is written.
        let failed = match self.stopped().map(|()| file.replace(&self.bytes, content)) {
            Err(refused) => Some(refused),
            Ok(Ok(())) => None,
            Ok(Err(error @ CheckpointFileError::NotSynced { .. })) => {
                trouble = Some(error.to_string());
                None
            }
            Ok(Err(error)) => Some(Failure::refused(error)),
        };
        if let Some(failure) = failed {
            // The copy holds the plugins' answers, and has no use.
            let left = copy.remove(&self.bytes).err().map(|_| format!("; a copy is in {backup}"));
            let hint = format!("nothing was changed{}", left.unwrap_or_default());
            return Err(failure.hint(hint));
        }
        // A unit that was not stopped is restarted at any moment.
        if let Err(started) = self.stopped() {
            trouble = Some(format!(
                "after the file was replaced: {}; stop its unit and check the file again",
                started.reason()
            ));
        }
        let verified = file.read().is_ok_and(|read| read == *content)
            && DeviceCheckpoint::parse(content)
                .is_ok_and(|loaded| loaded.is_valid() && loaded.checkpoint == self.plan.after);
        let undo = format!("mv {} {}", quoted(&backup), quoted(&self.target.shown()));
        self.report.done = Some(Done { backup, undo, verified });
        self.report.basis.warn_all(WarningCode::CheckpointReplaced.each(&trouble));
        Ok(trouble)
    }

    fn stopped(&self) -> Result<(), Failure> {
        match self.is_copy {
            true => check_socket(&self.target.file, &self.target.folder()),
            false => check_stopped(&self.target.file, &self.host_root, &self.target.folder()),
        }
    }

    /// Keeps the old file; returns the copy and its path.
    fn keep(&self) -> Result<(CheckpointFile, String), Failure> {
        let (root, path) = match &self.backup {
            Some(path) => (Path::new("/"), path.to_string_lossy().into_owned()),
            None => (self.target.root.as_path(), self.target.backup_path(&now())),
        };
        let refuse = |error: CheckpointFileError| {
            Failure::refused(anyhow!("the old file cannot be kept, so nothing is changed: {error}"))
                .hint("name another place with --backup")
        };
        // Two repairs can happen within one second.
        let mut place = path.clone();
        let mut attempt = 1;
        loop {
            attempt += 1;
            let copy = CheckpointFile::open(root, &place).map_err(refuse)?;
            match copy.create_like(&self.target.file, &self.bytes) {
                Err(CheckpointFileError::Exists(_)) if self.backup.is_none() && attempt < 100 => {
                    place = format!("{path}-{attempt}");
                }
                kept => {
                    kept.map_err(refuse)?;
                    return Ok((copy, joined(root, &place)));
                }
            }
        }
    }
}

/// Returns the facts that a repair needs. A copy may be from another node than this machine: its pods are in files too.
fn needs(is_named: bool, is_copy: bool) -> Needs {
    let needs = Needs::DEVICE_LIST
        .without(&[FactKey::Node, FactKey::PodResources])
        .with_if(!is_named, &[FactKey::KubeletConfig, FactKey::DeviceCheckpoint]);
    Needs { files: is_copy, ..needs }
}

/// Refuses a backup without a folder, and one in the folder that a starting kubelet clears.
fn check_backup(path: &Path, target: &Target, is_copy: bool) -> Result<(), Failure> {
    let backup = CheckpointFile::open(Path::new("/"), &path.to_string_lossy());
    let backup = backup.map_err(|error| {
        let folder = path.parent().unwrap_or(Path::new("/")).display();
        let why = match error {
            CheckpointFileError::Read { error: ReadError::Absent, .. } => {
                format!("there is no folder {folder}")
            }
            CheckpointFileError::Read { error, .. } => format!("{folder}: {error}"),
            other => other.to_string(),
        };
        Failure::refused(anyhow!("--backup {}: {why}", path.display()))
            .hint("name a file in an existing folder")
    })?;
    let folder = backup.folder_identity();
    match !is_copy && folder.is_some() && folder == target.file.folder_identity() {
        false => Ok(()),
        true => Err(Failure::refused(anyhow!(
            "--backup {}: a kubelet that starts removes it from this folder",
            path.display()
        ))
        .hint("name a place in another folder")),
    }
}

/// The file that is repaired.
#[derive(Debug)]
struct Target {
    /// The folder that its path begins at.
    root: PathBuf,
    file: CheckpointFile,
}

/// Opens the checkpoint of the node.
fn of_node(snapshot: &Snapshot) -> Result<Target, Failure> {
    let lookup = snapshot.devices.as_ref().map(|devices| &devices.checkpoint);
    let found = lookup.and_then(|lookup| lookup.found.as_ref());
    let tried = lookup.and_then(|lookup| lookup.tried.first());
    let path = found.map(|found| &found.source).or(tried.map(|tried| &tried.source));
    let path = path.ok_or_else(|| {
        Failure::missing(anyhow!("the path of the checkpoint is unknown"))
            .hint("name it with --checkpoint")
    })?;
    Target::open(PathBuf::from(&snapshot.host_root.path), path)
}

fn open(path: PathBuf) -> Result<Target, Failure> {
    Target::open(PathBuf::from("/"), &path.to_string_lossy())
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(Failure::usage)
}

impl Target {
    fn open(root: PathBuf, path: &str) -> Result<Self, Failure> {
        let file = CheckpointFile::open(&root, path)
            .map_err(|error| Failure::missing(error).hint("name the file with --checkpoint"))?;
        Ok(Self { root, file })
    }

    /// Returns the file's folder as this machine names it.
    fn folder(&self) -> PathBuf {
        PathBuf::from(self.shown()).parent().map(Path::to_owned).unwrap_or_default()
    }

    fn shown(&self) -> String {
        joined(&self.root, self.file.path())
    }

    /// Returns the path of the backup, outside of the folder that a starting kubelet clears.
    fn backup_path(&self, at: &str) -> String {
        let path = Path::new(self.file.path());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{name}.kq-{}", at.replace([':', '-'], ""));
        let folder = path.parent().unwrap_or(Path::new("/"));
        let is_swept = folder.file_name().is_some_and(|name| name == "device-plugins");
        let folder = folder.parent().filter(|_| is_swept).unwrap_or(folder);
        folder.join(name).to_string_lossy().into_owned()
    }
}

fn of_read(error: CheckpointFileError, target: &Target) -> Failure {
    let is_absent = matches!(&error, CheckpointFileError::Read { error: ReadError::Absent, .. });
    let failure = Failure::missing(error);
    match is_absent {
        true => failure.hint("a kubelet that starts without it begins with an empty state"),
        false => failure.hint(format!("kq repairs a regular file: {}", target.shown())),
    }
}

fn joined(root: &Path, path: &str) -> String {
    root.join(path.trim_start_matches('/')).to_string_lossy().into_owned()
}

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
    check_socket(file, plugins)
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

/// Checks that no kubelet serves plugins in the folder of a file; `plugins` is the path that is shown.
///
/// # Errors
///
/// Refuses if one does, and if that is unknown.
pub fn check_socket(file: &CheckpointFile, plugins: &Path) -> Result<(), Failure> {
    let socket = plugins.join(KUBELET_SOCKET);
    match file.listens_beside(KUBELET_SOCKET) {
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
            let found = identity(&base.join(folder.trim_start_matches('/')));
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
