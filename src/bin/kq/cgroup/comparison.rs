//! The flags of `diff` and `apply`, and their comparison of the plan with the kernel.

use super::gather::gather_node;
use crate::exit::{Code, Failure};
use crate::node_args::NodeArgs;
use crate::pod_args::PodsArgs;
use crate::source_args::SourceArgs;
use kq::action::cgroup::settled;
use kq::node::{FactKey, Needs};
use kq::question::cgroup::Compared;
use kq::question::pod_selectors::PodSelectors;
use std::path::Path;

/// The pods and the node of a comparison.
#[derive(Debug, clap::Args)]
pub struct ComparisonArgs {
    /// Only these pods (NAME, NAMESPACE/NAME or UID), or the pods of these files. Pods of a file are
    /// compared as the file defines them
    #[arg(value_name = "POD|FILE")]
    subjects: Vec<String>,

    #[command(flatten)]
    pods: PodsArgs,

    #[command(flatten)]
    pub sources: SourceArgs,

    #[command(flatten)]
    pub node: NodeArgs,
}

impl ComparisonArgs {
    /// Gathers and compares; with `usage` also the current usage.
    pub fn gather(&self, usage: bool) -> Result<Compared, Failure> {
        let subjects = PodSelectors::of(&self.pods.all(&self.subjects)?);
        let subjects = self.pods.select(subjects)?;
        let needs = Needs::PLAN
            .with(&[FactKey::Processes, FactKey::StateFiles, FactKey::DropIns])
            .with_if(usage, &[FactKey::CgroupUsage]);
        let compare = |sources: &SourceArgs| {
            let live = gather_node(sources, &self.node, needs, &subjects.files)?;
            live.check_kubepods()?;
            let selection = subjects.selection_of(&live)?;
            Ok(Compared::of(live, selection))
        };
        let mut named = self.node.files().chain(&self.sources.pods).chain(&subjects.files);
        compare_until_settled(&self.sources, &mut named, compare)
    }
}

/// Compares as [`settled`] does; once if the node is a snapshot or a `named` file is a pipe.
pub fn compare_until_settled(
    sources: &SourceArgs,
    mut named: &mut dyn Iterator<Item = &String>,
    compare: impl Fn(&SourceArgs) -> Result<Compared, Failure>,
) -> Result<Compared, Failure> {
    let is_pipe = |file: &String| !Path::new(file).is_file();
    if sources.snapshot.is_some() || Iterator::any(&mut named, is_pipe) {
        return compare(sources);
    }
    // The sources are listed once.
    let again = SourceArgs { verbose: false, ..sources.clone() };
    settled(|is_again| compare(if is_again { &again } else { sources }))
}

/// Returns the exit code of an answer without differences.
pub fn code(compared: &Compared) -> Code {
    Code::Answered.unless(!compared.is_complete())
}
