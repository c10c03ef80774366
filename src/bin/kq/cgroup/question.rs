//! What the cgroup commands have in common: pods, a node, and the plan that follows.

use super::live_tree::gather_node;
use crate::exit::{Code, Failure, warn};
use crate::node_args::NodeArgs;
use crate::pod_args::PodsArgs;
use crate::pod_selectors::PodSelectors;
use crate::source_args::SourceArgs;
use anyhow::anyhow;
use kq::edge::input::{read_input, shown};
use kq::facts::pod_selector::{Selection, is_file};
use kq::k8s::manifest::{Loaded, NoteKind, load};
use kq::node::Needs;
use kq::question::cgroup::plan::{PlanInput, PlanPodOptions};
use std::path::Path;

/// The arguments that every cgroup question about pods takes.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// Manifests in YAML or JSON: pods, lists, and workloads with a pod template; - reads standard
    /// input. Without FILE, and without flags that describe a node, kq plans the pods of this node. With
    /// --live or --snapshot, also pods of the node: NAME, NAMESPACE/NAME or UID (default: all of them)
    #[arg(value_name = "FILE|POD")]
    arguments: Vec<String>,

    #[command(flatten)]
    pods: PodsArgs,

    /// The arguments and the files, pods with their namespace.
    #[arg(skip)]
    files: Vec<String>,

    /// Treat the pods of the files as static pods, from the kubelet's static pod directory instead of
    /// the API server
    #[arg(long = "static")]
    are_static: bool,

    /// Everything asked about is on the node.
    #[arg(skip)]
    pub is_of_node: bool,

    /// Only the pods bound to this node, or to no node yet (default: the name in --node-file)
    #[arg(long, value_name = "NAME")]
    on_node: Option<String>,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,
}

impl Question {
    /// Reads the files that are named, or looks at the node.
    pub fn gather(&mut self) -> Result<PlanInput, Failure> {
        self.files = self.pods.all(&self.arguments)?;
        self.check_standard_input()?;
        // What is described is not looked for; where nothing is, the answer is about this node, as everywhere.
        let is_described = !self.files.is_empty() || self.node.is_given();
        if self.sources.live || self.sources.snapshot.is_some() || !is_described {
            return self.gather_live();
        }
        if let Some(flag) = self.sources.first_given() {
            return Err(Failure::usage(anyhow!(
                "{flag} needs --live: nothing is asked without it"
            )));
        }
        self.sources.choose_notes();
        let described = self.node.gather()?;
        let loaded = self.load()?;
        let selection = match self.pods.labels.selector {
            Some(_) => self.subjects()?.selection(&loaded.pods, &[], None)?,
            None => Selection::default(),
        };
        let options = PlanPodOptions {
            are_static: self.are_static,
            on_node: self.on_node.clone(),
            has_files: !self.files.is_empty(),
            selection,
        };
        Ok(PlanInput::of_pods(described, loaded, &options))
    }

    /// Returns the pods that are asked about.
    fn subjects(&self) -> Result<PodSelectors, Failure> {
        PodSelectors::of(&self.files).within(&self.pods.namespace, &self.pods.labels)
    }

    /// Looks at the node.
    fn gather_live(&mut self) -> Result<PlanInput, Failure> {
        let subjects = self.subjects()?;
        self.is_of_node = subjects.files.is_empty();
        let live = gather_node(&self.sources, &self.node, Needs::PLAN, &subjects.files)?;
        let selection = subjects.selection_of(&live)?;
        Ok(PlanInput::of_live(live, selection, self.are_static))
    }

    /// Reads the pods; fails when there is nothing to plan.
    fn load(&self) -> Result<Loaded, Failure> {
        let mut loaded = Loaded::default();
        for file in &self.files {
            let content = read_input(file).map_err(|error| {
                let failure = Failure::missing(error);
                match is_file(file) || Path::new(file).exists() {
                    true => failure,
                    false => failure.hint(format!("for pod {file} of this node say --live")),
                }
            })?;
            loaded.append(load(shown(file), &content));
        }
        if !loaded.pods.is_empty() || self.files.is_empty() {
            return Ok(loaded);
        }
        if let Some(problem) = loaded.problems.first() {
            let failure = Failure::usage(anyhow!("{problem}"));
            return Err(match loaded.problems.len() - 1 {
                0 => failure,
                1 => failure.hint("1 more problem was found"),
                more => failure.hint(format!("{more} more problems were found")),
            });
        }
        // A list without items is an answer: no pods.
        if loaded.notes.iter().any(|note| matches!(note.kind, NoteKind::EmptyList { .. })) {
            return Ok(loaded);
        }
        let names: Vec<&str> = self.files.iter().map(|file| shown(file)).collect();
        let failure = Failure::usage(anyhow!("{}: no pods", names.join(", ")));
        let notes = loaded.notes.iter().take(SHOWN_NOTES);
        Err(notes
            .fold(failure, |failure, note| failure.hint(note.to_string()))
            .hint("a Pod, a list of pods, or a workload with a pod template is expected"))
    }

    /// Refuses to read standard input twice: the second time it is empty.
    fn check_standard_input(&self) -> Result<(), Failure> {
        let files = self.files.iter().chain(self.node.files());
        match files.filter(|file| *file == "-").count() {
            0 | 1 => Ok(()),
            times => Err(Failure::usage(anyhow!("standard input cannot be read {times} times"))
                .hint("only one of FILE, --kubelet-config and --node-file can be -")),
        }
    }
}

/// How many of the things that were there instead of pods are named.
const SHOWN_NOTES: usize = 3;

/// Writes what was left out, for answers that carry everything else themselves.
pub fn write_problems(input: &PlanInput) {
    for problem in &input.left_out {
        warn(&format!("left out: {problem}"));
    }
}

/// Returns the exit code of an answer.
pub fn code(input: &PlanInput) -> Code {
    Code::Answered.unless(!input.is_complete())
}
