//! What `diff` and `apply` have in common: the plan of a live node, held against its kernel.

use super::live_node::LiveNode;
use crate::exit::{Code, Failure};
use crate::live::{SourceArgs, TreeDetail, Wants};
use crate::node_args::NodeArgs;
use crate::subjects::Subjects;
use anyhow::anyhow;
use kq::cgroup::live::compare::Rounding;
use kq::cgroup::live::diff::{Context, Difference, diff};
use kq::cgroup::live::place::live_cgroups;
use kq::cgroup::plan::{Plan, plan};
use kq::cgroup::report::Basis;
use kq::facts::cgroup_mode::CgroupVersion;
use kq::facts::cgroup_tree::CgroupPath;
use kq::facts::kubelet_process::Program;
use kq::facts::origin::Origin;
use kq::facts::pod_selector::Selection;
use kq::facts::resize::{RecordedResources, put_effective};
use kq::k8s::manifest::LoadedPod;

/// The arguments of both.
#[derive(Debug, clap::Args)]
pub struct ComparisonArgs {
    /// Only these pods (NAME, NAMESPACE/NAME or UID), or those of files, which are compared as they
    /// are in the file
    #[arg(value_name = "POD|FILE")]
    subjects: Vec<String>,

    #[command(flatten)]
    pub sources: SourceArgs,

    #[command(flatten)]
    pub node: NodeArgs,
}

/// A live node, and what is asked about it.
pub struct Compared {
    /// The node.
    pub live: LiveNode,
    selection: Selection,
    earlier: Vec<(&'static str, Vec<LoadedPod>)>,
    notes: Vec<String>,
}

impl ComparisonArgs {
    /// Gathers what a comparison needs.
    pub fn gather(&self, usage: bool) -> Result<Compared, Failure> {
        let subjects = Subjects::of(&self.subjects);
        let tree = Some(TreeDetail { usage, statistics: false, processes: true });
        let wants = Wants { tree, state_files: true, ..Wants::PLAN };
        let live = LiveNode::gather(&self.sources, &self.node, wants, &subjects.files)?;
        live.check_kubepods()?;
        let selection = subjects.selection(&live.pods, &[], live.incomplete.as_deref())?;
        Ok(Compared::of(live, selection))
    }
}

/// Returns the pods with what was allocated, and with what is in effect, where that differs from what
/// is desired.
fn earlier(live: &LiveNode, notes: &mut Vec<String>) -> Vec<(&'static str, Vec<LoadedPod>)> {
    let mut earlier = Vec::new();
    for (name, file) in [("allocated", "allocated_pods_state"), ("actuated", "actuated_pods_state")]
    {
        let files = live.snapshot.state_files.as_ref();
        let recorded = match RecordedResources::parse(files.and_then(|files| files.get(file))) {
            Ok(recorded) => recorded,
            Err(reason) => {
                let path = files.map(|files| files.path(file)).unwrap_or_default();
                notes
                    .push(format!("{path}: {reason}: a resize in progress is seen by status only"));
                continue;
            }
        };
        let mut pods = live.pods.clone();
        let rules = &live.node.rules;
        let put = |loaded: &mut LoadedPod| recorded.put_into(&mut loaded.pod, rules);
        let changed = pods.iter_mut().map(put).filter(|changed| *changed).count();
        if changed > 0 {
            earlier.push((name, pods));
        }
    }
    let mut pods = live.pods.clone();
    let changed =
        pods.iter_mut().map(|loaded| put_effective(&mut loaded.pod)).filter(|c| *c).count();
    if changed > 0 {
        earlier.push(("in effect", pods));
    }
    earlier
}

impl Compared {
    /// Returns what a comparison of these pods needs.
    pub fn of(live: LiveNode, selection: Selection) -> Self {
        let mut notes = Vec::new();
        let earlier = earlier(&live, &mut notes);
        Self { live, selection, earlier, notes }
    }

    /// Returns the cgroup of all pods under the driver of the node.
    ///
    /// # Errors
    ///
    /// Refuses where pods have none: nothing there is only the kubelet's.
    pub fn root(&self) -> Result<&CgroupPath, Failure> {
        let driver = self.live.node.cgroup_driver;
        let root = self.live.roots.iter().find(|(own, root)| *own == driver && root.depth() > 0);
        root.map(|(_, root)| root).ok_or_else(|| {
            Failure::refused(anyhow!(
                "pods have no cgroup of their own here (cgroupsPerQOS: false)"
            ))
        })
    }

    /// Says what is only assumed and would decide about what is written.
    ///
    /// # Errors
    ///
    /// Refuses to write on a guess.
    pub fn check_basis(&self, weights: bool) -> Result<(), Failure> {
        let live = &self.live;
        let guessed = |fact: &str, flag: &str| {
            let guess = anyhow!("{fact} is not known, and nothing is written on a guess");
            Err(Failure::refused(guess).hint(format!("say it with {flag}")))
        };
        let embedded = live.snapshot.kubelet.value().is_some_and(|process| {
            process.program != Program::Kubelet && live.is_config_of_process
        });
        if live.config.value.is_null() || embedded {
            return guessed("the kubelet's whole configuration", "--kubelet-config FILE");
        }
        for (name, fact, flag) in [
            ("kubeletVersion", "the kubelet's version", "--kubelet-version VERSION"),
            ("cgroupDriver", "the cgroup driver", "--cgroup-driver DRIVER"),
            ("cgroupVersion", "the cgroup version", "--cgroup-version VERSION"),
        ] {
            let assumed = live.node.facts.0.iter().find(|known| known.name == name);
            if assumed.is_some_and(|known| known.origin == Origin::Assumed) {
                return guessed(fact, flag);
            }
        }
        if weights && live.formula.assumed && live.node.cgroup_version == CgroupVersion::V2 {
            return guessed("how the runtime computes weights", "--runtime NAME=VERSION");
        }
        Ok(())
    }

    /// Returns how the kernel and systemd round here.
    pub fn rounding(&self) -> Rounding {
        let node = &self.live.node;
        Rounding {
            version: node.cgroup_version,
            driver: node.cgroup_driver,
            page_size: node.page_size,
        }
    }

    /// Plans, compares, and hands the result over; the plan lives as long as that.
    pub fn with<T>(
        &self,
        show: impl FnOnce(Vec<Difference<'_>>, Basis) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let live = &self.live;
        let (node, formula) = (&live.node, live.formula);
        let desired = plan(&live.pods, node, formula).map_err(Failure::usage)?;
        let mut others: Vec<(&'static str, Plan<'_>)> = Vec::new();
        for (name, pods) in &self.earlier {
            others.push((*name, plan(pods, node, formula).map_err(Failure::usage)?));
        }
        let resizing: Vec<(&'static str, &Plan<'_>)> =
            others.iter().map(|(name, plan)| (*name, plan)).collect();
        let tree = live.tree()?;
        let present = live.roots.iter().filter(|(_, root)| tree.get(root).is_some());
        let cgroups: Vec<_> = present
            .flat_map(|(driver, root)| live_cgroups(tree, root, *driver, &live.workloads))
            .collect();
        let runtime = live.runtime();
        let sandboxes = runtime.and_then(|runtime| runtime.sandboxes.value());
        let handlers = sandboxes.into_iter().flatten().filter(|s| !s.runtime_handler.is_empty());
        let handlers = handlers.map(|s| (s.uid.clone(), s.runtime_handler.clone())).collect();
        let context = Context {
            handlers: &handlers,
            workloads: &live.workloads,
            rounding: self.rounding(),
            incomplete: live.incomplete.as_deref(),
            runtime_known: runtime.is_some_and(|runtime| runtime.containers.found.is_some()),
            restricts_oom_score: runtime.and_then(|runtime| runtime.restricts_oom_score),
            selection: &self.selection,
            resizing: &resizing,
        };
        let found = diff(&desired, tree, &cgroups, context);
        let mut notes = live.notes.clone();
        notes.extend(self.notes.iter().cloned());
        notes.extend(tree.problems.iter().map(ToString::to_string));
        notes.extend(kq::cgroup::live::diff::absent_controllers(&desired, tree).iter().map(
            |controller| {
                format!(
                    "this machine has no cgroup controller {controller}: its files are not compared"
                )
            },
        ));
        let basis = Basis::of(node, &desired, &live.pods, formula, notes);
        show(found, basis)
    }

    /// Returns the exit code of an answer without differences.
    pub fn code(&self) -> Code {
        if self.live.left_out.is_empty() { Code::Answered } else { Code::Missing }
    }
}
