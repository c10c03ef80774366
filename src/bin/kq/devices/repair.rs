//! `kq devices repair`

use super::stopped::{check_socket, check_stopped, elsewhere, is_kubelets};
use crate::confirm::ask;
use crate::exit::{self, Code, Failure, note, tell, tell_all, warn};
use crate::kubelet_node::KubeletNodeArgs;
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::NamespaceArgs;
use crate::write;
use anyhow::anyhow;
use kq::device::repair::{
    DeviceRepair, Done, RepairPlan, Request, entries, kept as why_kept, plan, table, wide,
};
use kq::edge::checkpoint_file::{CheckpointFile, CheckpointFileError};
use kq::edge::clock::now;
use kq::edge::host::{ReadError, host_root};
use kq::facts::checkpoint::device::DeviceCheckpoint;
use kq::facts::node_pods::NodePods;
use kq::facts::pod_selector::is_uid;
use kq::facts::snapshot::Snapshot;
use kq::node::{FactKey, Needs};
use std::path::{Path, PathBuf};

/// Repair the device checkpoint of a stopped kubelet
///
/// repair removes entries of pods that are gone, or writes a valid file from a
/// damaged one. It restores a single flipped bit, which gives back the file that
/// the kubelet wrote. From a truncated or broken file it keeps the complete
/// entries. If the checksum is wrong for an unknown reason, no entry can be
/// trusted, and only --force keeps them. kq invents no entries. It shows the
/// removed entries with the reasons, asks for confirmation, keeps the old file,
/// and replaces the file atomically: a kq killed at any point leaves the old file
/// or the new one. kq reads the new file back.
///
/// A running kubelet holds the checkpoint in memory and would overwrite the file,
/// so it must be stopped. kq can check that only on the node, with the node's
/// processes visible. Stop the unit (systemctl stop kubelet): a crashed kubelet
/// can be started again at any moment. A starting kubelet removes all other files
/// from its device plugin directory, so the old file is kept one directory above.
/// A kubelet that serves plugins in another directory, as in a container, belongs
/// to another node and may run. A copy elsewhere (--checkpoint) can be repaired
/// while a kubelet runs, as a rehearsal; with --pods FILE, kq does not query this
/// machine.
///
/// If a container keeps running after its entry was removed, it keeps its device,
/// and the kubelet gives the same device to the next pod. Entries in use, or
/// possibly in use because the runtime is unavailable, are therefore not stale.
/// Entries in use that are named, or lost by --rebuild, are removed only with
/// --force.
///
/// Exit code 0: repaired, or nothing to repair. 4: refused, nothing was written.
/// 5: the new file was written but differs from the plan or may not be on the
/// disk, or a kubelet was started meanwhile. A dry run ends as the run would.
///
/// Examples:
///
///   kq devices repair --remove-stale --dry-run
///   kq devices repair --remove default/web
///   kq devices repair --remove 5f0c3a52-2c1b-4c0e-9d7e-3a3f2f0d8a11/train
///   kq devices repair --rebuild -o wide
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub struct Args {
    /// Remove the entries of a pod, of one of its containers, or of one resource of a container:
    /// UID[/CONTAINER[/RESOURCE]] or NAMESPACE/NAME[/CONTAINER[/RESOURCE]], or just NAME if only one
    /// pod has that name (can be repeated)
    #[arg(long, value_name = "POD", group = "what")]
    remove: Vec<String>,

    #[command(flatten)]
    namespace: NamespaceArgs,

    /// Remove the entries of pods that are gone or have ended
    #[arg(long, group = "what")]
    remove_stale: bool,

    /// Write a valid file from a damaged one
    #[arg(long, group = "what")]
    rebuild: bool,

    /// Also remove named entries that are in use or may be; with --rebuild, also write when entries are
    /// lost or may be wrong
    #[arg(long)]
    force: bool,

    /// Show the plan without applying it
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,

    /// Where to keep the old file (default: next to the device plugin directory, with the time in its
    /// name)
    #[arg(long, value_name = "FILE")]
    backup: Option<PathBuf>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    /// The checkpoint to repair (default: the node's kubelet_internal_checkpoint)
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    checkpoint: Option<PathBuf>,

    #[command(flatten)]
    kubelet: KubeletNodeArgs,
}

/// The file that is mended.
struct Target {
    /// The folder that its path begins at.
    root: PathBuf,
    file: CheckpointFile,
}

/// Opens the checkpoint of the node.
fn of_node(snapshot: &Snapshot) -> Result<Target, Failure> {
    let sought = snapshot.devices.as_ref().map(|devices| &devices.checkpoint);
    let found = sought.and_then(|sought| sought.found.as_ref());
    let tried = sought.and_then(|sought| sought.tried.first());
    let path = found.map(|found| &found.source).or(tried.map(|tried| &tried.source));
    let path = path.ok_or_else(|| {
        Failure::missing(anyhow!("where the checkpoint is could not be found out"))
            .hint("name it with --checkpoint")
    })?;
    open(PathBuf::from(&snapshot.host_root.path), path)
}

fn open(root: PathBuf, path: &str) -> Result<Target, Failure> {
    let file = CheckpointFile::open(&root, path)
        .map_err(|error| Failure::missing(error).hint("name the file with --checkpoint"))?;
    Ok(Target { root, file })
}

impl Args {
    /// Returns the name of an entry with the namespace; a UID stands for its pod alone.
    fn qualify(&self, entry: &str) -> String {
        let pod = entry.split('/').next().unwrap_or_default();
        match self.namespace.name() {
            Some(namespace) if pod != namespace && !is_uid(pod) => format!("{namespace}/{entry}"),
            _ => entry.to_owned(),
        }
    }

    /// Gathers, plans, shows, asks and writes.
    pub fn run(self) -> Result<Code, Failure> {
        tell_all();
        if self.kubelet.sources.snapshot.is_some() {
            return Err(Failure::usage(anyhow!("a snapshot has no file that could be mended"))
                .hint("name a copy of the file with --checkpoint, and say --dry-run to look"));
        }
        if !self.output.is_for_people() && !self.yes && !self.dry_run {
            return Err(Failure::usage(anyhow!("-o json and yaml show no plan before they ask"))
                .hint("say --dry-run to look, or --yes to do it"));
        }
        let named = self.named()?;
        let (root, _) = host_root(self.kubelet.sources.host_root.as_deref());
        let is_copy = match &named {
            Some(target) => !is_kubelets(&target.file, &root)?,
            None => false,
        };
        let node = self.kubelet.gather(self.needs(is_copy))?;
        let target = match named {
            Some(target) => target,
            None => of_node(&node.snapshot)?,
        };
        let bytes = target.file.read().map_err(|error| of_read(error, &target))?;
        let request = Request {
            rebuild: self.rebuild,
            remove_stale: self.remove_stale,
            remove: self.remove.iter().map(|entry| self.qualify(entry)).collect(),
            force: self.force,
        };
        let plan = plan(&bytes, &request, &NodePods::of(&node.snapshot));
        let mut notes = node.notes.clone();
        if is_copy {
            notes.push(
                "the file is a copy: it is in no kubelet's folder, so a kubelet may run".to_owned(),
            );
        }
        self.check_backup(&target, is_copy)?;
        if !is_copy {
            notes.extend(elsewhere(&target.file, &root));
        }
        let mut report = DeviceRepair::new(target.file.path(), &plan, self.dry_run, &notes);
        let stopped = || match is_copy {
            true => check_socket(&target.folder()),
            false => check_stopped(&target.file, &root, &target.folder()),
        };
        self.carry_out(&plan, &target, &bytes, &stopped, &mut report)
    }

    /// A copy may be of another node than this machine: then its pods are in files too.
    fn needs(&self, is_copy: bool) -> Needs {
        let finds_file = self.checkpoint.is_none();
        let needs = Needs::DEVICE_LIST
            .without(&[FactKey::Node, FactKey::PodResources])
            .with_if(finds_file, &[FactKey::KubeletConfig, FactKey::DeviceCheckpoint]);
        Needs { files: is_copy, ..needs }
    }

    /// Opens the file that is named.
    fn named(&self) -> Result<Option<Target>, Failure> {
        let Some(path) = &self.checkpoint else { return Ok(None) };
        let path = std::path::absolute(path).map_err(Failure::usage)?;
        open(PathBuf::from("/"), &path.to_string_lossy()).map(Some)
    }

    fn carry_out(
        &self,
        plan: &RepairPlan,
        target: &Target,
        bytes: &[u8],
        stopped: &dyn Fn() -> Result<(), Failure>,
        report: &mut DeviceRepair,
    ) -> Result<Code, Failure> {
        if self.output.is_for_people() {
            self.show(report)?;
        }
        let refuse_running = plan.refusals.is_empty() && plan.is_change;
        if refuse_running && let Err(refused) = stopped() {
            if !self.dry_run {
                return Err(refused);
            }
            report.refusals.push(refused.reason());
            note("refused", &refused.reason());
        }
        if !plan.refusals.is_empty() || !plan.is_change || self.dry_run {
            if !self.output.is_for_people() {
                self.write(report)?;
            }
            return Ok(if report.refusals.is_empty() { Code::Answered } else { Code::Refused });
        }
        let (kept, gone) = report.counts();
        if !self.yes {
            let counts = format!("{} stay, {gone} go", entries(kept));
            ask(&format!("Replace {} ({counts})?", target.file.path()))?;
            // A person may take long.
            stopped()?;
        }
        exit::changes_begin();
        let (copy, backup) = self.keep(target, bytes)?;
        let content = &plan.content;
        let mut trouble = None;
        // Right before it is written.
        let failed = match stopped().map(|()| target.file.replace(bytes, content)) {
            Err(refused) => Some(refused),
            Ok(Ok(())) => None,
            Ok(Err(error @ CheckpointFileError::NotSynced { .. })) => {
                trouble = Some(error.to_string());
                None
            }
            Ok(Err(error)) => Some(Failure::refused(error)),
        };
        if let Some(failure) = failed {
            // What plugins answered is not left about for nothing.
            let left = copy.remove(bytes).err().map(|_| format!("; a copy is in {backup}"));
            let hint = format!("nothing was changed{}", left.unwrap_or_default());
            return Err(failure.hint(hint));
        }
        // A unit that was not stopped is started again at any moment.
        if let Err(started) = stopped() {
            trouble = Some(format!(
                "after the file was replaced: {}; stop its unit and look at the file again",
                started.reason()
            ));
        }
        let verified = target.file.read().is_ok_and(|read| read == *content)
            && DeviceCheckpoint::parse(content)
                .is_ok_and(|loaded| loaded.is_valid() && loaded.checkpoint == plan.after);
        let undo = format!("mv {} {}", quoted(&backup), quoted(&target.shown()));
        report.done = Some(Done { backup, undo, verified });
        report.basis.warn_all(trouble.clone());
        self.end(report, trouble.as_deref())
    }

    /// Refuses to keep the old file where there is no folder, and where a kubelet that starts removes it.
    fn check_backup(&self, target: &Target, is_copy: bool) -> Result<(), Failure> {
        let Some(path) = &self.backup else { return Ok(()) };
        let path = std::path::absolute(path).map_err(Failure::usage)?;
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
                .hint("name a file in a folder that is there")
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

    /// Keeps the old file; returns the copy, and where it is.
    fn keep(&self, target: &Target, bytes: &[u8]) -> Result<(CheckpointFile, String), Failure> {
        let (root, path) = match &self.backup {
            Some(path) => {
                let path = std::path::absolute(path).map_err(Failure::usage)?;
                (PathBuf::from("/"), path.to_string_lossy().into_owned())
            }
            None => (target.root.clone(), target.backup_path(&now())),
        };
        let refuse = |error: CheckpointFileError| {
            Failure::refused(anyhow!("the old file cannot be kept, so nothing is changed: {error}"))
                .hint("name another place with --backup")
        };
        // Two repairs can be within one second.
        let mut place = path.clone();
        let mut attempt = 1;
        loop {
            attempt += 1;
            let copy = CheckpointFile::open(&root, &place).map_err(refuse)?;
            match copy.create_like(&target.file, bytes) {
                Err(CheckpointFileError::Exists(_)) if self.backup.is_none() && attempt < 100 => {
                    place = format!("{path}-{attempt}");
                }
                kept => {
                    kept.map_err(refuse)?;
                    return Ok((copy, joined(&root, &place)));
                }
            }
        }
    }

    /// Shows what would be done.
    fn show(&self, report: &DeviceRepair) -> Result<(), Failure> {
        if let Some(error) = &report.error {
            warn(&format!("the kubelet does not take {}: {error}", report.checkpoint));
        }
        let (kept, gone) = report.counts();
        match (kept + gone, gone) {
            (0, _) if report.error.is_some() => write::lines(["no entry can be saved".to_owned()])?,
            (_, 0) if report.error.is_none() && self.output == OutputFormat::Table => {
                let is_asked = self.remove_stale || !self.remove.is_empty();
                let what = if is_asked { "nothing to remove" } else { "nothing to mend" };
                write::lines([format!("{}: {what}", entries(kept))])?;
            }
            _ => self.write(report)?,
        }
        if self.remove_stale && self.output == OutputFormat::Table {
            why_kept(report).iter().for_each(|text| note("kept", text));
        }
        tell(&report.basis);
        for refusal in &report.refusals {
            note("refused", refusal);
        }
        Ok(())
    }

    fn write(&self, report: &DeviceRepair) -> Result<(), Failure> {
        self.output.write(report, table, wide)
    }

    /// Tells what was done.
    fn end(&self, report: &DeviceRepair, trouble: Option<&str>) -> Result<Code, Failure> {
        let Some(done) = &report.done else { return Ok(Code::Answered) };
        // What was done was done, whether or not anybody reads it.
        if self.output.is_for_people() {
            let _ = write::lines([format!("replaced {}", report.checkpoint)]);
            note("backup", &done.backup);
            note("undo", &done.undo);
        } else {
            let _ = self.write(report);
        }
        if let Some(trouble) = trouble {
            note("stopped", trouble);
        }
        if !done.verified {
            note(
                "stopped",
                "the file is not what was written; look at it before the kubelet starts",
            );
        } else if trouble.is_none() {
            return Ok(Code::Answered);
        }
        Ok(Code::Stopped)
    }
}

impl Target {
    /// Returns the file's folder as this machine names it.
    fn folder(&self) -> PathBuf {
        PathBuf::from(self.shown()).parent().map(Path::to_owned).unwrap_or_default()
    }

    fn shown(&self) -> String {
        joined(&self.root, self.file.path())
    }

    /// Returns where the old file is kept: not where a kubelet that starts removes it.
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
        true => failure.hint("a kubelet that starts without it begins with nothing"),
        false => failure.hint(format!("kq mends a regular file: {}", target.shown())),
    }
}

fn joined(root: &Path, path: &str) -> String {
    root.join(path.trim_start_matches('/')).to_string_lossy().into_owned()
}

/// Returns a path as a shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@,".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}
