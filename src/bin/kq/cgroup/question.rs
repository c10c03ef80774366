//! What the cgroup commands have in common: pods, a node, and the plan that follows.

use super::live_tree::gather_node;
use crate::exit::{Code, Failure, warn};
use crate::node_args::NodeArgs;
use crate::pod_selectors::{PodSelectors, is_file};
use crate::source_args::SourceArgs;
use crate::write::Output;
use anyhow::anyhow;
use kq::answer::Basis;
use kq::cgroup::knowledge::Knowledge;
use kq::cgroup::live::selection::select;
use kq::cgroup::plan::{Plan, RuntimeFormula, display_name, plan};
use kq::cgroup::report::basis_of;
use kq::edge::input::{read_input, shown};
use kq::facts::node::Node;
use kq::facts::pod_selector::Selection;
use kq::facts::workloads::effective_uid;
use kq::k8s::defaults::{apply_api_defaults, apply_priority};
use kq::k8s::manifest::{Loaded, LoadedPod, NoteKind, load};
use kq::k8s::priority::mark_static;
use kq::node::Needs;
use kq::question::cgroup::LiveNode;
use std::collections::BTreeMap;
use std::path::Path;

/// The arguments that every cgroup question about pods takes.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// Manifests in YAML or JSON: pods, lists, and workloads with a pod template; - reads standard
    /// input. Without FILE, kq plans the node without pods. With --live or --snapshot, also pods of the
    /// node: NAME, NAMESPACE/NAME or UID (default: all of them)
    #[arg(value_name = "FILE|POD")]
    files: Vec<String>,

    /// Treat the pods of the files as static pods, from the kubelet's static pod directory instead of
    /// the API server
    #[arg(long = "static")]
    are_static: bool,

    /// Only the pods bound to this node, or to no node yet (default: the name in --node-file)
    #[arg(long, value_name = "NAME")]
    on_node: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Output,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,
}

/// Everything that was gathered for an answer.
pub struct Gathered {
    /// The node.
    pub node: Node,
    formula: RuntimeFormula,
    pods: Vec<LoadedPod>,
    left_out: Vec<String>,
    /// Pods of the node, or its kubelet's configuration, are unknown.
    is_incomplete: bool,
    selection: Selection,
    notes: Vec<String>,
    knowledge: Knowledge,
}

impl Question {
    /// Reads the files that are named, or looks at the node.
    pub fn gather(&self) -> Result<Gathered, Failure> {
        self.check_standard_input()?;
        if self.sources.live || self.sources.snapshot.is_some() {
            return self.gather_live();
        }
        if let Some(flag) = self.sources.first_given() {
            return Err(Failure::usage(anyhow!(
                "{flag} needs --live: nothing is asked without it"
            )));
        }
        let described = self.node.gather()?;
        let (node, formula, mut notes) = (described.node, described.formula, described.notes);
        let mut loaded = self.load()?;
        if self.files.is_empty() {
            notes
                .push("no FILE is given: planned without pods (- reads standard input)".to_owned());
        }
        notes.extend(loaded.notes.iter().map(ToString::to_string));
        self.choose(&mut loaded, &node, &mut notes);
        for pod in loaded.pods.iter_mut().map(|loaded| &mut loaded.pod) {
            apply_api_defaults(pod, &node.rules);
            apply_priority(pod);
            if self.are_static {
                mark_static(pod);
            }
        }
        notes.extend(given_twice(&loaded));
        notes.extend(loaded.problems.iter().map(|problem| format!("left out: {problem}")));
        if !loaded.problems.is_empty() {
            let sums = "the node and QoS levels are computed without what was left out";
            notes.push(sums.to_owned());
        }
        let left_out = loaded.problems.iter().map(ToString::to_string).collect();
        let selection = Selection::default();
        let pods = loaded.pods;
        let (is_incomplete, knowledge) = (false, Knowledge::default());
        Ok(Gathered { node, formula, pods, left_out, is_incomplete, selection, notes, knowledge })
    }

    /// Looks at the node.
    fn gather_live(&self) -> Result<Gathered, Failure> {
        let subjects = PodSelectors::of(&self.files);
        let live = gather_node(&self.sources, &self.node, Needs::PLAN, &subjects.files)?;
        let selection = subjects.selection(&live.pods, &[], live.incomplete.as_deref())?;
        let knowledge = live.knowledge();
        let LiveNode { config, node, formula, mut pods, mut notes, left_out, incomplete, .. } =
            live;
        for loaded in &mut pods {
            if self.are_static {
                mark_static(&mut loaded.pod);
            }
        }
        let is_incomplete = incomplete.is_some() || config.value.is_null();
        notes.extend(incomplete.map(|reason| format!("the sums may be too small: {reason}")));
        Ok(Gathered { node, formula, pods, left_out, is_incomplete, selection, notes, knowledge })
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

    /// Keeps the pods of the node.
    fn choose(&self, loaded: &mut Loaded, node: &Node, notes: &mut Vec<String>) {
        let bound_to = |loaded: &Loaded| {
            let names = loaded.pods.iter().map(|loaded| loaded.pod.spec.node_name.clone());
            let mut names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        if let (Some(asked), Some(described)) = (&self.on_node, &node.name)
            && asked != described
        {
            notes.push(format!("--on-node {asked}, but --node-file describes {described}"));
        }
        if let Some(name) = self.on_node.as_ref().or(node.name.as_ref()) {
            let before = loaded.pods.len();
            loaded.pods.retain(|loaded| {
                let bound = &loaded.pod.spec.node_name;
                bound.is_empty() || bound == name
            });
            let elsewhere = before - loaded.pods.len();
            if elsewhere > 0 {
                notes.push(format!(
                    "{elsewhere} of {before} pods left out: not bound to node {name}"
                ));
            }
        } else if let [first, second, ..] = bound_to(loaded).as_slice() {
            notes.push(format!(
                "the pods are bound to several nodes ({first}, {second}, ...): the sums are of all of \
                 them; choose one with --on-node"
            ));
        }
    }
}

/// How many of the things that were there instead of pods are named.
const SHOWN_NOTES: usize = 3;

/// Returns a warning for pods that came more than once, for example from two files: an API server has
/// only one of that name, but the sums are of all that were read.
fn given_twice(loaded: &Loaded) -> Option<String> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for pod in loaded.pods.iter().map(|loaded| &loaded.pod.metadata) {
        *counts.entry((&pod.namespace, &pod.name)).or_default() += 1;
    }
    // Pods of a workload have no name yet.
    let mut twice = counts.iter().filter(|((_, name), count)| **count > 1 && !name.is_empty());
    let ((namespace, name), count) = twice.next()?;
    let others = match twice.count() {
        0 => String::new(),
        others => format!(", and {others} others more than once"),
    };
    Some(format!("pod {namespace}/{name} was given {count} times{others}: each one counts"))
}

impl Gathered {
    /// Plans the cgroups.
    pub fn plan(&self) -> Result<Plan<'_>, Failure> {
        plan(&self.pods, &self.node, self.formula).map_err(Failure::usage)
    }

    /// Takes out of a plan what is not known of a live node. Of a node that is made up of files, what no
    /// file says is the kubelet's default.
    pub fn withhold(&self, plan: &mut Plan<'_>) {
        plan.withhold(self.knowledge.clone());
    }

    /// Leaves of a plan what was asked about.
    pub fn select(&self, plan: &mut Plan<'_>) {
        select(&mut plan.roots, &self.selection);
    }

    /// Tells whether a pod was asked about.
    pub fn is_selected(&self, namespace: &str, pod: &str) -> bool {
        if self.selection.is_all() {
            return true;
        }
        let mut named = self.pods.iter().map(|loaded| &loaded.pod);
        let uid = named.find(|own| own.metadata.namespace == namespace && display_name(own) == pod);
        self.selection.has(namespace, pod, uid.map(effective_uid).unwrap_or_default())
    }

    /// Returns what a plan rests on.
    pub fn basis(&self, plan: &Plan<'_>) -> Basis {
        basis_of(&self.node, plan, &self.pods, self.formula, self.notes.clone())
    }

    /// Writes what was left out, for answers that carry everything else themselves.
    pub fn write_problems(&self) {
        for problem in &self.left_out {
            warn(&format!("left out: {problem}"));
        }
    }

    /// Returns the exit code of an answer.
    pub fn code(&self) -> Code {
        Code::Answered.unless(self.is_incomplete || !self.left_out.is_empty())
    }
}
