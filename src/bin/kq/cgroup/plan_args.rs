//! The flags of `plan` and `shares`: pods, a node, and the input of the plan.

use super::gather::gather_node;
use crate::exit::{Code, Failure, warn};
use crate::node_args::NodeArgs;
use crate::pod_args::PodsArgs;
use crate::source_args::{SourceArgs, refuse_input_twice};
use anyhow::anyhow;
use kq_core::question::cgroup::plan::{PlanInput, PlanPodOptions};
use kq_core::question::pod_selectors::PodSelectors;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::needs::Needs;
use kq_facts::pod_selector::{Selection, is_file};
use kq_k8s::manifest::Loaded;
use kq_node::read_pods;
use std::path::Path;

/// The pods and the node of a plan.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanArgs {
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

    /// All pods are those of the node.
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

impl PlanArgs {
    /// Reads the named files, or gathers the node.
    pub fn gather(&mut self) -> Result<PlanInput, Failure> {
        self.files = self.pods.all(&self.arguments)?;
        let files = self.files.iter().chain(self.node.files());
        refuse_input_twice(files, "--kubelet-config and --node-file")?;
        // A described node is not gathered; without a description, the answer is about this node.
        let is_described = !self.files.is_empty() || self.node.is_given();
        if self.sources.live || self.sources.snapshot.is_some() || !is_described {
            return self.gather_live();
        }
        self.files.append(&mut self.sources.pods);
        if let Some(flag) = self.sources.first_given() {
            return Err(Failure::usage(anyhow!("{flag} has no effect without --live")));
        }
        self.sources.choose_notes();
        let node = self.node.of_files()?.checked()?;
        node.settings()?;
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
        PlanInput::of_pods(&node, loaded, &options)
    }

    /// Returns the same question under each version of cgroups, where both are asked for.
    pub fn versions(&self) -> Option<[Self; 2]> {
        let asked = &self.node.cgroup_version;
        let has = |version: CgroupVersion| asked.contains(&version);
        (has(CgroupVersion::V1) && has(CgroupVersion::V2)).then(|| {
            [CgroupVersion::V1, CgroupVersion::V2].map(|version| {
                let mut one = self.clone();
                one.node.cgroup_version = vec![version];
                one
            })
        })
    }

    fn subjects(&self) -> Result<PodSelectors, Failure> {
        self.pods.select(PodSelectors::of(&self.files))
    }

    fn gather_live(&mut self) -> Result<PlanInput, Failure> {
        let subjects = self.subjects()?;
        self.is_of_node = subjects.files.is_empty();
        let live =
            gather_node(&self.sources, &self.node, Needs::PLAN, &subjects.files)?.checked()?;
        let selection = subjects.selection_of(&live)?;
        PlanInput::of_live(&live, selection, self.are_static)
    }

    /// Reads the pods of the files.
    fn load(&self) -> Result<Loaded, Failure> {
        let is_pod = |name: &&String| !is_file(name) && !Path::new(name).exists();
        read_pods(&self.files).map_err(|failure| match self.files.iter().find(is_pod) {
            Some(pod) => failure.hint(format!("for pod {pod} of this node, add --live")),
            None => failure,
        })
    }
}

/// Writes the pods that were left out, for answers that carry everything else themselves.
pub fn write_problems(input: &PlanInput) {
    for problem in &input.left_out {
        warn(&format!("left out: {problem}"));
    }
}

/// Returns the exit code of an answer.
pub fn code(input: &PlanInput) -> Code {
    Code::Answered.unless(!input.is_complete())
}
