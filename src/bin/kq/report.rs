//! `kq report`

use crate::cgroup::gather::gather_tree;
use crate::exit::{Code, Failure, note};
use crate::node_args::NodeArgs;
use crate::snapshot::{as_stored, refuse_form};
use crate::source_args::SourceArgs;
use crate::what_if::read;
use crate::write;
use anyhow::anyhow;
use kq::edge::replace::store;
use kq::edge::snapshot_file::{self, node_files, pack};
use kq::node::NodeFile;
use kq::output::value::json_line;
use kq::question::report::{
    CriticalPod, ReportChange, ReportOptions, flags, lacks_answers, no_node, node_answers,
    report_needs,
};
use kq::report::{NodeAnswers, Page};
use kq::what_if::parse;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// A page about more nodes is too large to be read.
const MOST_NODES: usize = 200;

/// Write one page about a node, with pictures of the answers
///
/// The page is one HTML file that loads nothing: it opens from a mail, and prints.
/// It has the findings of kq doctor, the CPU time and memory by cgroup, the images
/// and the disk, the devices, the time lines of the probes, the order of eviction,
/// the pods that a restarted kubelet admits, and the facts. Each picture has its
/// table and the command that gives it; the page holds the JSON of the answers.
///
/// PATH is a snapshot (kq snapshot), or a folder of them. Several nodes share one
/// page, with an index of those with the worst findings first.
///
/// --with-snapshot stores the facts in the page, and kq COMMAND --snapshot PAGE
/// answers from them. Such a page says what a snapshot says: see docs/sources.md.
///
/// Exit code 0: written, and every question has an answer; the page lists the facts
/// that an answer lacks. 3: written, and a question has no answer; the page has the
/// reason.
///
/// Examples:
///
///   kq report -o report.html
///   kq report -o report.html --what-if 'set systemReserved.cpu=1500m'
///   kq report -o report.html --snapshot node.json.zst --with-snapshot
///   kq report -o fleet.html snapshots/
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Snapshots, and folders of them (default: the node)
    #[arg(value_name = "PATH", conflicts_with_all = ["snapshot", "live"])]
    paths: Vec<PathBuf>,

    /// The file to write (default: standard output). Only the owner can read it
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,

    /// Also show what these changes would do: the words of kq what-if, such as 'taint a=b:NoExecute'
    /// (can be repeated, for changes to compare)
    #[arg(long, value_name = "CHANGES")]
    what_if: Vec<String>,

    /// Also show which pods the kubelet would kill to take in the pod of this manifest
    #[arg(long, value_name = "FILE")]
    preempt_for: Option<String>,

    /// Treat the pod of --preempt-for as a static pod
    #[arg(long = "static", requires = "preempt_for")]
    is_static: bool,

    /// Store the facts in the page, for --snapshot
    #[arg(long)]
    with_snapshot: bool,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,
}

impl Args {
    /// Gathers, asks, draws and writes.
    pub fn run(self) -> Result<Code, Failure> {
        refuse_form(self.output.as_deref(), "a report is a page of HTML")?;
        if self.output.is_none() && io::stdout().is_terminal() {
            return Err(Failure::usage(anyhow!("a page of HTML is not for a terminal"))
                .hint("-o FILE writes it to a file, for a browser"));
        }
        let changes = self.changes()?;
        let files = self.files()?;
        let mut is_whole = true;
        let mut page = Page::new(files.as_ref().map_or(1, Vec::len));
        match &files {
            None => {
                let node = self.one(&self.sources, &changes)?;
                is_whole &= !lacks_answers(&node);
                page.add(&node);
            }
            // One node after the other: only its own answers are in memory.
            Some(files) => files.iter().for_each(|file| {
                let node = self.stored(file, &changes);
                is_whole &= !lacks_answers(&node);
                page.add(&node);
            }),
        }
        self.write(&page.finish())?;
        Ok(Code::Answered.unless(!is_whole))
    }

    /// Returns the snapshots that are named; `None`: the node that the flags name.
    fn files(&self) -> Result<Option<Vec<snapshot_file::NodeFile>>, Failure> {
        if self.paths.is_empty() {
            return Ok(None);
        }
        let files = node_files(&self.paths).map_err(|error| {
            Failure::usage(anyhow::Error::from(error))
                .hint("kq snapshot -o NODE.json.zst stores the node that it runs on")
        })?;
        if files.len() > MOST_NODES {
            let many = anyhow!("{} snapshots: a page has at most {MOST_NODES} nodes", files.len());
            return Err(Failure::usage(many)
                .hint("kq fleet ask SNAPSHOTS -- doctor finds the nodes that are worth a page"));
        }
        if self.with_snapshot && files.len() > 1 {
            let several = anyhow!("--with-snapshot: a page about several nodes holds no snapshot");
            return Err(Failure::usage(several).hint("write a page for each node"));
        }
        Ok(Some(files))
    }

    fn changes(&self) -> Result<Vec<ReportChange>, Failure> {
        let one = |text: &String| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let changes = parse(&words).map_err(|error| {
                let hint = error.hint();
                let failure = Failure::usage(
                    anyhow::Error::from(error).context(format!("--what-if {text:?}")),
                );
                hint.into_iter().fold(failure, Failure::hint)
            })?;
            if changes.is_empty() {
                return Err(Failure::usage(anyhow!("--what-if {text:?}: no change"))
                    .hint("kq what-if lists the changes"));
            }
            let files = read(&changes)?;
            Ok(ReportChange { text: words.join(" "), changes, files })
        };
        self.what_if.iter().map(one).collect()
    }

    /// Asks about a stored node. What goes wrong is said on the page: the others are not lost.
    fn stored(&self, file: &snapshot_file::NodeFile, changes: &[ReportChange]) -> NodeAnswers {
        let snapshot = Some(file.path.to_string_lossy().into_owned());
        let sources = SourceArgs { snapshot, ..self.sources.clone() };
        self.one(&sources, changes).unwrap_or_else(|failure| no_node(&file.node, &failure))
    }

    fn one(&self, sources: &SourceArgs, changes: &[ReportChange]) -> Result<NodeAnswers, Failure> {
        let (mut needs, spec) = (report_needs(), sources.spec());
        let node_file = NodeFile::read(self.node.node_file.as_deref(), &mut Vec::new())?;
        let object = node_file.put_into(&mut needs, &spec)?;
        let mut gathered = gather_tree(sources, &self.node.root, needs)?;
        node_file.check(&gathered.snapshot, &spec)?;
        if let Some(object) = object {
            gathered.snapshot.node = object;
        }
        let options = ReportOptions {
            node: self.node.options(),
            kubelet: self.node.kubelet_options()?,
            node_name: sources.node_name.clone(),
            is_stored: sources.snapshot.is_some(),
            flags: flags(sources.snapshot.as_deref().map(|path| ("--snapshot", path))),
            changes: changes.to_vec(),
            critical_pod: self
                .preempt_for
                .clone()
                .map(|file| CriticalPod { file, is_static: self.is_static }),
        };
        let mut node = node_answers(&gathered, &options);
        if self.with_snapshot {
            let stored = as_stored(gathered.snapshot, gathered.given.as_ref());
            let json = json_line(&stored).map_err(Failure::missing)?;
            node.snapshot = Some(pack(&json));
        }
        Ok(node)
    }

    fn write(&self, page: &str) -> Result<(), Failure> {
        match &self.output {
            None => write::page(page),
            Some(path) => {
                store(Path::new(path), page.as_bytes()).map_err(Failure::missing)?;
                note("written", path);
                Ok(())
            }
        }
    }
}
