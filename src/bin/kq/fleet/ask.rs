//! `kq fleet ask`

use super::question::{Question, reply};
use crate::exit::{Code, Failure, note, tell};
use crate::interval::parse_interval;
use crate::output_format::{Exchange, OutputFormat, formats_with};
use crate::progress::Progress;
use crate::write;
use anyhow::anyhow;
use kq::edge::own_program::{OwnProgramError, run_own};
use kq::edge::snapshot_file::read_snapshot;
use kq::edge::snapshot_folder::{NodeFile, node_files};
use kq::fleet::{
    FleetAnswer, Merge, NoAnswer, NodeOutcome, Reply, csv, names, summary, table, wide,
};
use kq::k8s::duration::GoDuration;
use kq::k8s::label_selector::LabelSelector;
use kq::output::json_path::Template;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// No answer about a node is as large.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// Ask the same question about many snapshots, and merge the answers
///
/// PATH is a snapshot (kq snapshot), or a folder of them. The node's name is that
/// of the file, without .json or .json.zst. COMMAND is a command of kq that reads
/// and has --snapshot; kq runs it for each snapshot in a process of its own, on
/// all cores, and merges the answers as they arrive.
///
/// Nodes with the same result share a line, the worst result first, and of equally
/// bad ones the rarest. Results of doctor, what-if and the lints are their rules
/// of severity ERROR, UNKNOWN or WARNING; other commands answer in a word. Nodes
/// without an answer are listed with the reason.
///
/// -o json is one value, with every node by name. -o jsonl writes the whole answer
/// of each node as it arrives, in one line; -o csv a line for each node.
///
/// Exit code 0: every node answers with 0. 1: a node answers with 1. 3: none does,
/// and a node's answer is incomplete or missing. 2: no node understood the
/// command.
///
/// Examples:
///
///   kq fleet ask snapshots/ -- doctor
///   kq fleet ask snapshots/ -- admit explain dns.yaml
///   kq fleet ask snapshots/ --value run.usage.percent -- gc dry-run
///   kq fleet ask snapshots/ --group-by pool -- what-if kubelet-restart
///   kq fleet ask today/ --diff yesterday/ -- doctor
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Snapshots, and folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// The command, after --
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,

    /// Only nodes with these labels, such as pool=gpu; the syntax is kubectl's
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    selector: Option<LabelSelector>,

    /// Count the nodes apart by the value of this label
    #[arg(long, value_name = "LABEL")]
    group_by: Option<String>,

    /// A number of each answer, by its path in JSON, such as run.usage.percent: percentiles, and the
    /// nodes at both ends
    #[arg(long, value_name = "JSONPATH", value_parser = parse_value)]
    value: Option<Value>,

    /// Snapshots taken before: show the nodes whose results differ
    #[arg(long, value_name = "PATH")]
    diff: Option<PathBuf>,

    /// How many snapshots are asked at a time (default: one for each core)
    #[arg(long, value_name = "NUMBER")]
    parallel: Option<NonZero<usize>>,

    /// How long one answer may take
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_interval)]
    timeout: Duration,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The nodes, those with the worst results first").and_lines())]
    output: OutputFormat,
}

/// Where a number is in an answer.
#[derive(Clone, Debug)]
struct Value {
    path: String,
    template: Template,
}

fn parse_value(text: &str) -> Result<Value, String> {
    let template = Template::parse(text).map_err(|error| error.to_string())?;
    Ok(Value { path: text.to_owned(), template })
}

impl Args {
    /// Asks, merges and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let question = Question::parse(self.command.clone())?;
        let files = files(&self.paths)?;
        let earlier = self.diff.as_ref().map(|path| files_of(path)).transpose()?;
        if self.output == OutputFormat::Exchange(Exchange::Csv) {
            write::verbatim([csv(None)])?;
        }
        let merged = self.ask(&question, &files, true)?;
        let before = earlier.map(|files| self.ask(&question, &files, false)).transpose()?;
        let code = code(merged.exit_code());
        let answer = merged.finish(question.words(), before);
        if answer.nodes.asked == 0 {
            let selector = anyhow!("no node has the labels that --selector names");
            return Err(
                Failure::usage(selector).hint("the Node object in a snapshot has the labels")
            );
        }
        if let OutputFormat::Exchange(Exchange::Lines | Exchange::Csv) = self.output {
            return Ok(code);
        }
        if let (Code::Usage, Some(first)) = (code, answer.basis.missing.first()) {
            return Err(Failure::usage(anyhow!("no node understood the command: {}", first.text)));
        }
        self.output.write_or_names(&answer, table, wide, |it: &FleetAnswer| names(it))?;
        if self.output.is_for_people() {
            note("nodes", &summary(&answer));
            tell(&answer.basis);
        }
        Ok(code)
    }

    /// Asks about each snapshot. Answers are written as they arrive where that is the format, and `is_shown`.
    fn ask(
        &self,
        question: &Question,
        files: &[NodeFile],
        is_shown: bool,
    ) -> Result<Merge, Failure> {
        let value = self.value.clone().map(|value| (value.path, value.template));
        let mut merged = Merge::new(value);
        let progress = Progress::of("nodes");
        let (next, (sender, outcomes)) = (AtomicUsize::new(0), mpsc::channel());
        let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        let workers = self.parallel.unwrap_or_else(cores).get().min(files.len());
        thread::scope(|scope| {
            for _ in 0..workers {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // Nobody receives any more once writing an answer has failed.
                        if sender.send(self.outcome(question, file)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (done, outcome) in outcomes.iter().enumerate() {
                if let Some(outcome) = outcome {
                    merged.add(&outcome);
                    if is_shown {
                        self.line(&outcome)?;
                    }
                }
                progress.show(done + 1, files.len());
            }
            Ok(merged)
        })
    }

    /// Asks about one snapshot; `None`: its node is not selected.
    fn outcome(&self, question: &Question, file: &NodeFile) -> Option<NodeOutcome> {
        let node = file.node.clone();
        let labels = match self.selector.is_some() || self.group_by.is_some() {
            true => labels(&file.path),
            false => BTreeMap::new(),
        };
        if self.selector.as_ref().is_some_and(|selector| !selector.matches(&labels)) {
            return None;
        }
        let group = self.group_by.as_ref().map(|key| labels.get(key).cloned().unwrap_or_default());
        let failed = |why| Reply::Failed { exit_code: None, why };
        let reply = match run_own(&question.arguments(&file.path), self.timeout, MAX_ANSWER_BYTES) {
            Ok(ended) => reply(&file.path, ended.exit_code, &ended.output, &ended.notes),
            Err(OwnProgramError::TimedOut(_)) => {
                let timeout = i64::try_from(self.timeout.as_nanos()).unwrap_or(i64::MAX);
                failed(NoAnswer::TimedOut(GoDuration(timeout).to_string()))
            }
            Err(OwnProgramError::Large(limit)) => failed(NoAnswer::Large(limit)),
            Err(OwnProgramError::Io(error)) => failed(NoAnswer::NotRun(error.to_string())),
        };
        Some(NodeOutcome { node, group, reply })
    }

    /// Writes the answer of a node, where answers are written as they arrive.
    fn line(&self, outcome: &NodeOutcome) -> Result<(), Failure> {
        match self.output {
            OutputFormat::Exchange(Exchange::Csv) => write::verbatim([csv(Some(outcome))]),
            OutputFormat::Exchange(Exchange::Lines) => {
                let (answer, error) = match &outcome.reply {
                    Reply::Answered { answer, .. } => (Some(answer), None),
                    Reply::Failed { why, .. } => (None, Some(why.to_string())),
                };
                write::line(&json!({
                    "node": outcome.node,
                    "group": outcome.group,
                    "exitCode": outcome.reply.exit_code(),
                    "answer": answer,
                    "error": error,
                }))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the labels of the node of a snapshot. One that cannot be read has none: its answer says why.
fn labels(path: &Path) -> BTreeMap<String, String> {
    let snapshot = read_snapshot(&path.to_string_lossy()).ok();
    let node = snapshot.and_then(|snapshot| snapshot.node.found);
    node.map(|found| found.value.metadata.labels).unwrap_or_default()
}

fn files_of(path: &Path) -> Result<Vec<NodeFile>, Failure> {
    files(&[path.to_owned()])
}

fn files(paths: &[PathBuf]) -> Result<Vec<NodeFile>, Failure> {
    node_files(paths).map_err(|error| {
        Failure::usage(anyhow::Error::from(error))
            .hint("kq snapshot -o NODE.json.zst stores the node that it runs on")
    })
}

fn code(code: u8) -> Code {
    match code {
        0 => Code::Answered,
        1 => Code::No,
        2 => Code::Usage,
        _ => Code::Missing,
    }
}
