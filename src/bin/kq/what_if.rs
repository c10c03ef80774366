//! `kq what-if`

use crate::captured;
use crate::cgroup::gather::gather_facts;
use crate::exit::{Code, Failure, tell, warn};
use crate::guess;
use crate::node_args::NodeArgs;
use crate::output_format::{OutputFormat, formats_with_script};
use crate::source_args::{DeviceFileArgs, GivenDevicesArgs, SourceArgs};
use crate::usage::with_sources;
use crate::write::{about_node, fixes};
use kq_core::fleet::NodeDisruptions;
use kq_core::question::what_if::{ChangeFiles, NodeState, at_any_restart, what_if, what_if_needs};
use kq_core::what_if::change::Change;
use kq_core::what_if::{
    ChangeError, ChangeList, WhatIf, changes_table, parse, script, table_but_for, wide,
};
use kq_facts::config_on_disk::ConfigContent;
use kq_facts::input_name::shown;
use kq_facts::kubelet_config::carried;
use kq_io::input::read_input;
use kq_k8s::manifest::load;
use kq_node::NodeFile;
use std::io::IsTerminal as _;

/// Show what a change would do to the node, before it is made
///
/// A CHANGE is one of those that kq what-if lists when it is called without any.
/// Changes combine: they are made in the given order, before the kubelet starts.
/// The answer covers the start of the kubelet with its fatal message, each pod, the
/// values of the cgroups, image garbage collection, eviction, and what the
/// scheduler has left for pods. Findings are listed worst first; -o wide also lists
/// every pod and every value. -o script prints what to do before the change.
///
/// A change of the kubelet's configuration, flags or version, and of a state file,
/// includes a restart of the kubelet. A label, a taint, a pod, a device, a disk or
/// memory changes while the kubelet runs; add kubelet-restart for both.
///
/// A resize names requests and limits: cpu=, memory=, cpu-limit=, memory-limit=.
/// The answer says whether the API server and the kubelet take it, which
/// containers restart for their resizePolicy, and when each value is written.
///
/// Exit code 0: nothing gets worse. 1: something does. 3: nothing that is known
/// does, and a fact that decides is unavailable.
///
/// Examples:
///
///   kq what-if
///   kq what-if kubelet-restart
///   kq what-if kubelet-version 1.36 set maxPods=50
///   kq what-if resize shop/web:app cpu=500m,memory-limit=2Gi
///   kq what-if taint maintenance=yes:NoExecute --snapshot node.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The changes: set systemReserved.cpu=700m, for example
    #[arg(value_name = "CHANGE")]
    changes: Vec<String>,

    /// The kubelet is killed, and started again
    #[arg(long)]
    kill: bool,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with_script())]
    output: OutputFormat,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,

    #[command(flatten)]
    devices: DeviceFileArgs,

    #[command(flatten)]
    given: GivenDevicesArgs,
}

impl Args {
    /// Gathers, changes, asks and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let mut words = self.changes.clone();
        if self.kill {
            words.extend(["kubelet-restart".to_owned(), "kill".to_owned()]);
        }
        if words.is_empty() {
            let words =
                |list: &ChangeList| list.items.iter().map(|it| it.word.to_owned()).collect();
            self.output.write_or_names(
                &ChangeList::default(),
                changes_table,
                changes_table,
                words,
            )?;
            return Ok(Code::Answered);
        }
        let changes = parse(&words).map_err(|error| {
            let asked: Vec<&str> =
                std::iter::once("what-if").chain(words.iter().map(String::as_str)).collect();
            let guessed = match error {
                ChangeError::Unknown { .. } => guess::hint(&asked, 1, &[]),
                // A kind of change with words that it does not take.
                _ => guess::of_table(&asked, 3, &[]),
            };
            let hint = guessed.map(with_sources).or_else(|| error.hint());
            let failure = Failure::usage(error);
            hint.into_iter().fold(failure, Failure::hint)
        })?;
        let files = read(&changes)?;
        let (mut needs, spec) = (what_if_needs(), self.sources.spec());
        let node_file = NodeFile::read(self.node.node_file.as_deref(), &mut Vec::new())?;
        node_file.put_into(&mut needs, &spec)?;
        let devices = self.devices.files(Some(&self.given));
        needs.files |= devices.first_flag().is_some();
        let devices = devices.read()?;
        devices.leave_out(&mut needs);
        let overrides = self.node.overrides()?;
        let mut facts = gather_facts(&self.sources, &self.node.root, &overrides, needs)?;
        devices.put(&mut facts);
        node_file.check(&facts, &spec)?;
        let before = NodeState::of(facts, overrides)?;
        let answer = what_if(&before, &changes, &files)?;
        captured::keep(|| NodeDisruptions::of(&before.snapshot, &answer));
        let lines = |it: &_| script(it).lines().map(str::to_owned).collect();
        let is_table = self.output == OutputFormat::Table && !self.sources.verbose;
        let others = match is_table && std::io::stdout().is_terminal() {
            true => at_any_restart(&before, &answer, &changes),
            false => Vec::new(),
        };
        let flags = self.sources.of_commands();
        let table = |it: &WhatIf| {
            let items = about_node(&it.items, &flags);
            table_but_for(&WhatIf { items, ..it.clone() }, &about_node(&others, &flags))
        };
        self.output.write_or_names(&answer, table, wide, lines)?;
        match self.output {
            OutputFormat::Wide => {
                tell(&answer.basis);
                answer.basis.warnings.iter().for_each(|it| warn(&it.text));
            }
            OutputFormat::Table => {
                tell(&answer.basis);
                let open: Vec<_> =
                    answer.items.iter().filter(|it| it.is_problem()).cloned().collect();
                fixes(&open, &flags);
            }
            _ => {}
        }
        Ok(match answer.gets_worse() {
            true => Code::No,
            false => Code::Answered.unless(answer.is_incomplete()),
        })
    }
}

/// Reads the files that changes name.
pub fn read(changes: &[Change]) -> Result<ChangeFiles, Failure> {
    let mut files = ChangeFiles::default();
    for change in changes {
        match change {
            Change::Config { file } => {
                let mut content = read_input(file).map_err(Failure::missing)?;
                if let Some(config) = std::str::from_utf8(&content).ok().and_then(carried) {
                    files.notes.push(config.note_of_change(shown(file)));
                    files.is_config_partial = config.is_partial;
                    content = config.text;
                }
                let content = ConfigContent::of(&content);
                files.config = Some(content.of_configz().unwrap_or(content));
            }
            Change::Add { file, is_static } => {
                let content = read_input(file).map_err(Failure::missing)?;
                let mut loaded = load(shown(file), &content);
                if *is_static {
                    let left_out = loaded.keep_static_pod();
                    if let (true, Some(first)) = (loaded.pods.is_empty(), left_out.first()) {
                        return Err(Failure::usage(anyhow::anyhow!("{first}"))
                            .hint("a file in the kubelet's folder holds one Pod"));
                    }
                    files.notes.extend(left_out);
                }
                if let Some(problem) = loaded.problems.first() {
                    return Err(Failure::usage(anyhow::anyhow!("{problem}")));
                }
                let mut notes = loaded.notes.iter().map(ToString::to_string);
                if loaded.pods.is_empty() {
                    let name = shown(file);
                    let why = notes.next().unwrap_or_else(|| format!("{name}: it has no pods"));
                    return Err(Failure::usage(anyhow::anyhow!("{why}"))
                        .hint("a Pod, or a workload with a pod template, is expected"));
                }
                files.notes.extend(notes);
                files.pods.insert(file.clone(), loaded.pods);
            }
            _ => {}
        }
    }
    Ok(files)
}
