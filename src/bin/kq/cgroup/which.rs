//! `kq cgroup which`

use super::gather::gather_tree;
use crate::exit::{Code, Failure, warn};
use crate::node_args::RootArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::source_args::SourceArgs;
use crate::write;
use anyhow::anyhow;
use kq_cgroup::live::which::{WhichError, WhichSubject, lines, which};
use kq_core::question::cgroup::{tree_of_pods, unknown_names};
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_io::host::{has_process, host_root};

/// Find the pod and container of a process, a cgroup or a container ID
///
/// Exit code 0: found. 1: the process, cgroup or container is outside of pods. 2:
/// no such process on this node. 3: the cgroups could not be read.
///
/// Examples:
///
///   kq cgroup which --pid 4711
///   kq cgroup which --path kubepods.slice/kubepods-besteffort.slice
///   kq cgroup which --container 3f2a9c
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    subject: SubjectArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The path of the cgroup"))]
    output: OutputFormat,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    root: RootArgs,
}

/// A process, a cgroup or a container.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct SubjectArgs {
    /// A process ID
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,

    /// A cgroup: its path below the root of the hierarchy, or the path of its directory or of a file in
    /// that directory
    #[arg(long, value_name = "PATH")]
    path: Option<String>,

    /// A container ID, or the start of one
    #[arg(long, value_name = "ID")]
    container: Option<String>,
}

impl Args {
    /// Gathers, finds and shows.
    pub fn run(self) -> Result<Code, Failure> {
        self.check_process()?;
        let needs = Needs::NAMES.with(&[FactKey::CgroupTree, FactKey::Processes]);
        let live = gather_tree(&self.sources, &self.root, needs)?;
        let tree = tree_of_pods(&live)?;
        let subject = match (&self.subject.pid, &self.subject.path, &self.subject.container) {
            (Some(pid), ..) => WhichSubject::Pid(*pid),
            (_, Some(path), _) => WhichSubject::path(path, tree),
            (.., container) => WhichSubject::Container(container.clone().unwrap_or_default()),
        };
        let owner = match which(&subject, tree, &live.roots, &live.workloads) {
            Ok(owner) => owner,
            Err(error @ WhichError::Ambiguous { .. }) => {
                return Err(Failure::usage(error).hint("give more characters of the ID"));
            }
            Err(error) => return Err(Failure::no(error)),
        };
        match self.output {
            OutputFormat::Table | OutputFormat::Wide => write::lines(lines(&owner))?,
            OutputFormat::Name => write::verbatim([owner.place.cgroup.to_owned()])?,
            structured => write::answer(structured, &owner)?,
        }
        for note in unknown_names(&live) {
            warn(&note.text);
        }
        Ok(Code::Answered)
    }

    /// Refuses a process that does not exist: one outside of pods is an answer, this is a mistake.
    fn check_process(&self) -> Result<(), Failure> {
        let (Some(pid), None) = (self.subject.pid, &self.sources.snapshot) else { return Ok(()) };
        let (root, _) = host_root(self.sources.host_root.as_deref());
        match has_process(&root, pid) {
            Some(false) => Err(Failure::usage(anyhow!("no process {pid} on this node"))),
            Some(true) | None => Ok(()),
        }
    }
}
