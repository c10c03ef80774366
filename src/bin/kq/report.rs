//! `kq report`

use crate::cgroup::gather::gather_facts;
use crate::exit::{Code, Failure, note};
use crate::node_args::NodeArgs;
use crate::snapshot::{as_stored, refuse_form};
use crate::source_args::SourceArgs;
use crate::what_if::read;
use crate::write;
use anyhow::anyhow;
use kq_core::fleet::error_of_kq;
use kq_core::what_if::parse;
use kq_io::memory::received;
use kq_io::own_program::{OwnProgramError, run_own};
use kq_io::replace::{is_one_file, store};
use kq_io::snapshot_file::{self, SnapshotFolderError, node_files, pack};
use kq_node::NodeFile;
use kq_node::action::report::{
    CriticalPod, ReportChange, ReportOptions, flags, no_node, node_answers, report_needs,
};
use kq_output::credentials::redact;
use kq_output::value::json_line;
use kq_report::{NodeAnswers, Page, PagePart};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A page about more nodes is too large to be read.
const MOST_NODES: usize = 200;

/// The time for all questions about one of several snapshots.
const PART_TIME: Duration = Duration::from_secs(120);

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

    /// Write only the part of this number in a page about so many nodes, as JSON
    #[arg(long, hide = true, num_args = 2, value_names = ["NUMBER", "NODES"], requires = "part_of")]
    part: Vec<usize>,

    /// The snapshot of that part
    #[arg(long, hide = true, value_name = "FILE", requires = "part")]
    part_of: Option<PathBuf>,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,
}

impl Args {
    /// Gathers, asks, draws and writes.
    pub fn run(self) -> Result<Code, Failure> {
        if let (Some(path), [number, nodes]) = (&self.part_of, self.part.as_slice()) {
            return self.write_part(path, *number, *nodes);
        }
        refuse_form(self.output.as_deref(), "a report is a page of HTML")?;
        if self.output.is_none() && io::stdout().is_terminal() {
            return Err(Failure::usage(anyhow!("a page of HTML is not for a terminal"))
                .hint("-o FILE writes it to a file, for a browser"));
        }
        let changes = self.changes()?;
        let files = self.files()?;
        self.refuse_input_as_output(files.as_deref().unwrap_or_default())?;
        let nodes = files.as_ref().map_or(1, Vec::len);
        let mut page = Page::new(nodes);
        match files.as_deref() {
            None => page.add(PagePart::of(&self.one(&self.sources, &changes)?, 1, nodes)),
            Some([file]) => page.add(PagePart::of(&self.stored(file, &changes), 1, nodes)),
            // One node after the other, each in a process of its own: a snapshot that exceeds the limits of memory or time
            // costs its own part of the page.
            Some(files) => {
                for (at, file) in files.iter().enumerate() {
                    page.add(part(file, at + 1, nodes).unwrap_or_else(|reason| {
                        let failure = Failure::missing(anyhow!("{reason}"));
                        PagePart::of(&no_node(&file.node, &failure), at + 1, nodes)
                    }));
                }
            }
        }
        let is_whole = !page.lacks_answers();
        self.write(&redact(&page.finish()))?;
        Ok(Code::Answered.unless(!is_whole))
    }

    /// Writes the part of one of several snapshots, for the process that writes the page.
    fn write_part(&self, path: &Path, number: usize, nodes: usize) -> Result<Code, Failure> {
        let changes = self.changes()?;
        let files = node_files(&[path.to_owned()]).map_err(Failure::missing)?;
        let [file] = files.as_slice() else {
            return Err(Failure::usage(anyhow!("{}: not a file", path.display())));
        };
        write::line(&PagePart::of(&self.stored(file, &changes), number, nodes))?;
        Ok(Code::Answered)
    }

    /// Returns the snapshots that are named; `None`: the node that the flags name.
    fn files(&self) -> Result<Option<Vec<snapshot_file::NodeFile>>, Failure> {
        if self.paths.is_empty() {
            return Ok(None);
        }
        let files = node_files(&self.paths).map_err(|error| {
            let failure = match error {
                SnapshotFolderError::Read { .. } => Failure::missing(error),
                _ => Failure::usage(error),
            };
            failure.hint("kq snapshot -o NODE.json.zst stores the node that it runs on")
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
        if files.len() > 1 && self.reads_input() {
            let input = anyhow!("-: standard input cannot be read for each snapshot");
            return Err(Failure::usage(input).hint("name a file"));
        }
        Ok(Some(files))
    }

    /// The page would take the place of what it is about.
    fn refuse_input_as_output(&self, files: &[snapshot_file::NodeFile]) -> Result<(), Failure> {
        let Some(output) = self.output.as_deref() else { return Ok(()) };
        let named = [&self.sources.snapshot, &self.preempt_for, &self.node.node_file];
        let named = named.into_iter().flatten().chain(&self.sources.pods).map(Path::new);
        let configs = self.node.root.config.files().map(Path::new);
        let changed = self.what_if.iter().flat_map(|text| text.split_whitespace()).map(Path::new);
        let stored = files.iter().map(|file| file.path.as_path());
        let mut inputs = named.chain(configs).chain(changed).chain(stored);
        match inputs.find(|input| is_one_file(Path::new(output), input)) {
            None => Ok(()),
            Some(_) => Err(Failure::usage(anyhow!(
                "-o {output}: the page is made of this file, and would replace it"
            ))
            .hint("name another file")),
        }
    }

    /// Returns true if a flag names standard input.
    fn reads_input(&self) -> bool {
        let files = [&self.preempt_for, &self.node.node_file];
        files.into_iter().flatten().any(|file| file == "-")
            || self.sources.pods.iter().any(|file| file == "-")
            || self.what_if.iter().any(|text| text.split_whitespace().any(|word| word == "-"))
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
            let mut files = read(&changes)?;
            files.redact();
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
        let overrides = self.node.overrides()?;
        let mut snapshot = gather_facts(sources, &self.node.root, &overrides, needs)?;
        node_file.check(&snapshot, &spec)?;
        if let Some(object) = object {
            snapshot.node = object;
        }
        let mut options = ReportOptions {
            overrides,
            node_name: sources.node_name.clone(),
            is_stored: sources.snapshot.is_some(),
            flags: flags(sources.snapshot.as_deref().map(|path| ("--snapshot", path))),
            changes: changes.to_vec(),
            critical_pod: self
                .preempt_for
                .clone()
                .map(|file| CriticalPod { file, is_static: self.is_static }),
        };
        let mut node = node_answers(&mut snapshot, &mut options);
        if self.with_snapshot {
            let stored = as_stored(snapshot, options.overrides.config.as_ref());
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

/// Asks about a stored node in a process of its own: with the command line of this one, and the node.
fn part(file: &snapshot_file::NodeFile, number: usize, nodes: usize) -> Result<PagePart, String> {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Before the arguments: what follows a -- is no flag.
    let at = arguments.iter().position(|word| word == "report").map_or(0, |at| at + 1);
    let flags = ["--part".into(), number.to_string().into(), nodes.to_string().into()];
    let mut path = OsString::from("--part-of=");
    path.push(&file.path);
    arguments.splice(at..at, flags.into_iter().chain([path]));
    let limit = PagePart::limit(nodes) as u64;
    let ended = run_own(&arguments, PART_TIME, limit).map_err(|error| match error {
        OwnProgramError::TimedOut(_) => {
            format!("no answer within {} seconds", PART_TIME.as_secs())
        }
        OwnProgramError::Large(limit) => {
            format!("its part of the page is larger than {} MiB", limit >> 20)
        }
        OwnProgramError::Io(error) => format!("kq could not be run: {error}"),
    })?;
    if ended.exit_code != Some(0) {
        return Err(error_of_kq(&ended.notes).unwrap_or_else(|| "its process ended".to_owned()));
    }
    received("parts of the page", ended.output.len());
    serde_json::from_slice(&ended.output).map_err(|error| error.to_string())
}
