//! `kq devices repair`

use crate::exit::{self, Code, Failure, note, tell, tell_all, warn};
use crate::node_args::KubeletNodeArgs;
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::NamespaceArgs;
use crate::write;
use crate::write::confirm;
use anyhow::anyhow;
use kq_facts::pod_selector::is_uid;
use kq_managers::repair::{DeviceRepair, Request, entries, kept as why_kept, table, wide};
use kq_node::action::devices::{PreparedRepair, RepairOptions};
use std::path::PathBuf;

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

impl Args {
    /// Prepares, shows, confirms and executes.
    pub fn run(self) -> Result<Code, Failure> {
        tell_all();
        self.check_flags()?;
        let root = self.kubelet.sources.host_root.as_deref();
        let mut repair =
            PreparedRepair::prepare(self.options(), root, |needs| self.kubelet.gather(needs))?;
        if self.output.is_for_people() {
            write::shown_plan(self.show(&repair.report), self.dry_run)?;
        }
        if let Some(refusal) = repair.check_kubelet()? {
            note("refused", &refusal);
        }
        if !repair.will_write() {
            if !self.output.is_for_people() {
                self.write(&repair.report)?;
            }
            let is_refused = !repair.report.refusals.is_empty();
            return Ok(if is_refused { Code::Refused } else { Code::Answered });
        }
        if !self.yes {
            repair.confirm(confirm)?;
        }
        exit::changes_begin(Some(1));
        let trouble = repair.execute()?;
        Ok(self.end(&repair.report, trouble.as_deref()))
    }

    fn check_flags(&self) -> Result<(), Failure> {
        if self.kubelet.sources.snapshot.is_some() {
            return Err(Failure::usage(anyhow!("a snapshot has no file to repair")).hint(
                "name a copy of the file with --checkpoint, with --dry-run to see the plan",
            ));
        }
        if !self.output.is_for_people() && !self.yes && !self.dry_run {
            return Err(Failure::usage(anyhow!(
                "-o json and yaml cannot show a plan before the confirmation"
            ))
            .hint("use --dry-run to see the plan, or --yes to execute it"));
        }
        Ok(())
    }

    fn options(&self) -> RepairOptions {
        let request = Request {
            rebuild: self.rebuild,
            remove_stale: self.remove_stale,
            remove: self.remove.iter().map(|entry| self.qualify(entry)).collect(),
            force: self.force,
            ..Request::default()
        };
        let (checkpoint, backup) = (self.checkpoint.clone(), self.backup.clone());
        RepairOptions { request, checkpoint, backup, dry_run: self.dry_run }
    }

    /// Adds the namespace to the name of an entry; a UID names its pod without one.
    fn qualify(&self, entry: &str) -> String {
        let pod = entry.split('/').next().unwrap_or_default();
        match self.namespace.name() {
            Some(namespace) if pod != namespace && !is_uid(pod) => format!("{namespace}/{entry}"),
            _ => entry.to_owned(),
        }
    }

    fn show(&self, report: &DeviceRepair) -> Result<(), Failure> {
        if let Some(error) = &report.error {
            warn(&format!("the kubelet rejects {}: {error}", report.checkpoint));
        }
        let (kept, gone) = report.counts();
        match (kept + gone, gone) {
            (0, _) if report.error.is_some() => write::lines(["no entry can be saved".to_owned()])?,
            (_, 0) if report.error.is_none() && self.output == OutputFormat::Table => {
                let removes = self.remove_stale || !self.remove.is_empty();
                let what = if removes { "nothing to remove" } else { "nothing to repair" };
                write::lines([format!("{}: {what}", entries(kept))])?;
            }
            _ => self.write(report)?,
        }
        if self.remove_stale && self.output == OutputFormat::Table {
            why_kept(report).iter().for_each(|text| note("kept", text));
        }
        tell(&report.basis);
        report.refusals.iter().for_each(|refusal| note("refused", refusal));
        Ok(())
    }

    fn write(&self, report: &DeviceRepair) -> Result<(), Failure> {
        self.output.write(report, table, wide)
    }

    /// Shows the result. The file is replaced, so a failed write of it changes no exit code.
    fn end(&self, report: &DeviceRepair, trouble: Option<&str>) -> Code {
        let Some(done) = &report.done else { return Code::Answered };
        if self.output.is_for_people() {
            write::told(write::lines([format!("replaced {}", report.checkpoint)]));
            note("backup", &done.backup);
            note("undo", &done.undo);
        } else {
            write::told(self.write(report));
        }
        if let Some(trouble) = trouble {
            note("stopped", trouble);
        }
        if !done.verified {
            note("stopped", "the file differs from the plan; check it before the kubelet starts");
        }
        match (trouble, done.verified) {
            (None, true) => Code::Answered,
            _ => Code::Stopped,
        }
    }
}
