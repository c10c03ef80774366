//! What `diff` and `apply` have in common: the plan of a live node, compared with its kernel.

use super::live_tree::gather_node;
use crate::exit::{Code, Failure};
use crate::node_args::NodeArgs;
use crate::pod_args::PodsArgs;
use crate::pod_selectors::PodSelectors;
use crate::source_args::SourceArgs;
use kq::edge::clock::pause;
use kq::node::{FactKey, Needs};
use std::path::Path;
use std::time::Duration;

pub use kq::question::cgroup::Compared;

/// The arguments of both.
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

/// How long kq waits before it looks again. A runtime makes or removes a container in less.
const PAUSE: Duration = Duration::from_millis(500);

/// How often kq looks at most.
const LOOKS: usize = 4;

impl ComparisonArgs {
    /// Gathers what a comparison needs.
    pub fn gather(&self, usage: bool) -> Result<Compared, Failure> {
        let subjects = PodSelectors::of(&self.pods.all(&self.subjects)?);
        let subjects = subjects.within(&self.pods.namespace, &self.pods.labels)?;
        let needs = Needs::PLAN
            .with(&[FactKey::Processes, FactKey::StateFiles, FactKey::DropIns])
            .with_if(usage, &[FactKey::CgroupUsage]);
        let look = |sources: &SourceArgs| {
            let live = gather_node(sources, &self.node, needs, &subjects.files)?;
            live.check_kubepods()?;
            let selection = subjects.selection_of(&live)?;
            Ok(Compared::of(live, selection))
        };
        let mut named = self.node.files().chain(&self.sources.pods).chain(&subjects.files);
        settled(&self.sources, &mut named, look)
    }
}

/// Looks until all that drifts did so in the look before, with the same containers. What still does
/// not after a few looks is changing. A stored node can be looked at once only, and so can one about
/// which a pipe tells something: `named` are the files that are read.
pub fn settled(
    sources: &SourceArgs,
    mut named: &mut dyn Iterator<Item = &String>,
    look: impl Fn(&SourceArgs) -> Result<Compared, Failure>,
) -> Result<Compared, Failure> {
    let mut compared = look(sources)?;
    let is_there_again = Iterator::all(&mut named, |file| Path::new(file).is_file());
    if sources.snapshot.is_some() || !is_there_again {
        return Ok(compared);
    }
    // A plan that cannot be made is the same the next time.
    let Ok(mut seen) = compared.look() else { return Ok(compared) };
    // The sources are named once.
    let again = SourceArgs { verbose: false, ..sources.clone() };
    for _ in 1..LOOKS {
        if seen.is_clean() {
            break;
        }
        pause(PAUSE);
        // A source that fails now may be what is changing; what it said before is what there is.
        let Ok(next) = look(&again) else { break };
        let Ok(now) = next.look() else { break };
        let confirmed = now.confirmed(&seen);
        let is_settled = now.is_settled(&confirmed);
        (compared, seen) = (next.with_confirmed(confirmed), now);
        if is_settled {
            break;
        }
    }
    Ok(compared)
}

/// Returns the exit code of an answer without differences.
pub fn code(compared: &Compared) -> Code {
    Code::Answered.unless(!compared.is_complete())
}
