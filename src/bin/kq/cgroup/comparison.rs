//! What `diff` and `apply` have in common: the plan of a live node, held against its kernel.

use super::live_node::LiveNode;
use crate::exit::{Code, Failure};
use crate::node_args::NodeArgs;
use crate::source_args::SourceArgs;
use crate::subjects::Subjects;
use anyhow::anyhow;
use kq::cgroup::live::compare::Rounding;
use kq::cgroup::live::diff::{Context, Difference, diff};
use kq::cgroup::live::motion::{Census, Confirmed, Look, Motion};
use kq::cgroup::live::place::live_cgroups;
use kq::cgroup::plan::{Plan, plan};
use kq::cgroup::report::Basis;
use kq::edge::clock::pause;
use kq::facts::cgroup_mode::CgroupVersion;
use kq::facts::cgroup_tree::CgroupPath;
use kq::facts::checkpoint::StateFile;
use kq::facts::checkpoint::cpu_manager::{CpuState, load};
use kq::facts::host::Text;
use kq::facts::origin::Origin;
use kq::facts::pod_selector::Selection;
use kq::facts::resize::{RecordedResizes, RecordedResources, put_effective};
use kq::facts::timestamp::Timestamp;
use kq::k8s::feature_gates::Gate;
use kq::k8s::manifest::LoadedPod;
use kq::k8s::pod::Pod;
use kq::node::{TreeDetail, Wants};
use std::path::Path;
use std::time::Duration;

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
    /// What differed as it did in the look before; `None`: there was one look.
    confirmed: Option<Confirmed>,
}

/// How long kq waits before it looks again. A runtime makes or removes a container in less.
const PAUSE: Duration = Duration::from_millis(500);

/// How often kq looks at most.
const LOOKS: usize = 4;

impl ComparisonArgs {
    /// Gathers what a comparison needs.
    pub fn gather(&self, usage: bool) -> Result<Compared, Failure> {
        let subjects = Subjects::of(&self.subjects);
        let tree = Some(TreeDetail { usage, statistics: false, processes: true });
        let wants = Wants { tree, state_files: true, ..Wants::PLAN };
        let look = |sources: &SourceArgs| {
            let live = LiveNode::gather(sources, &self.node, wants, &subjects.files)?;
            live.check_kubepods()?;
            let selection = subjects.selection(&live.pods, &[], live.incomplete.as_deref())?;
            Ok(Compared::of(live, selection))
        };
        let mut named = self.node.files().chain(&self.sources.pods).chain(&subjects.files);
        Compared::settled(&self.sources, &mut named, look)
    }
}

/// Returns the pods with what was allocated, and with what is in effect, where they are being resized.
fn earlier(live: &LiveNode, notes: &mut Vec<String>) -> Vec<(&'static str, Vec<LoadedPod>)> {
    let files = live.snapshot.state_files.as_ref();
    let mut read = |file: &str| {
        let recorded = RecordedResources::parse(files.and_then(|files| files.get(file)));
        recorded.unwrap_or_else(|reason| {
            let path = files.map(|files| files.path(file)).unwrap_or_default();
            notes.push(format!("{path}: {reason}: a resize in progress is seen by status only"));
            RecordedResources::default()
        })
    };
    let recorded = RecordedResizes {
        allocated: read("allocated_pods_state"),
        actuated: read("actuated_pods_state"),
    };
    let rules = &live.node.rules;
    let mut earlier = Vec::new();
    let mut add = |name, put: &dyn Fn(&mut Pod) -> bool| {
        let mut pods = live.pods.clone();
        let resizing = pods.iter_mut().filter(|it| recorded.is_resizing(&it.pod, rules));
        if resizing.map(|loaded| put(&mut loaded.pod)).filter(|changed| *changed).count() > 0 {
            earlier.push((name, pods));
        }
    };
    add("allocated", &|pod| recorded.allocated.put_into(pod, rules));
    add("actuated", &|pod| recorded.actuated.put_into(pod, rules));
    add("in effect", &put_effective);
    earlier
}

/// Returns which CPUs the CPU manager gave to whom, as far as its file can be read.
fn assigned_cpus(live: &LiveNode) -> Option<CpuState> {
    let Some(Text::Read(text)) = live.snapshot.state_files.as_ref()?.get(StateFile::Cpu.name())
    else {
        return None;
    };
    let by_pod = live.node.rules.gates.enabled(Gate::PodLevelResourceManagers);
    load(text.as_bytes(), by_pod, None, None).shown
}

/// What is said where a node could be looked at once only.
const ONE_LOOK: &str = "this is one look: what differs because a pod started, ended or was resized at that \
                        moment cannot be told from drift";

impl Compared {
    /// Returns what a comparison of these pods needs.
    pub fn of(live: LiveNode, selection: Selection) -> Self {
        let mut notes = Vec::new();
        let earlier = earlier(&live, &mut notes);
        Self { live, selection, earlier, notes, confirmed: None }
    }

    /// Looks until all that drifts did so in the look before, with the same containers. What still does
    /// not after a few looks is changing. A stored node can be looked at once only, and so can one about
    /// which a pipe tells something: `named` are the files that are read.
    pub fn settled(
        sources: &SourceArgs,
        mut named: &mut dyn Iterator<Item = &String>,
        look: impl Fn(&SourceArgs) -> Result<Self, Failure>,
    ) -> Result<Self, Failure> {
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
            (compared, seen) = (Self { confirmed: Some(confirmed), ..next }, now);
            if is_settled {
                break;
            }
        }
        Ok(compared)
    }

    /// Returns what drifts.
    fn look(&self) -> Result<Look, Failure> {
        self.compare(|found, _, census| Ok(Look::of(&found, census)))
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
        if !live.has_configuration() {
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
        self.compare(|mut found, mut basis, _| {
            match &self.confirmed {
                Some(confirmed) => confirmed.demote(&mut found),
                None if found.iter().any(|found| found.verdict.is_drift()) => {
                    basis.warnings.push(ONE_LOOK.to_owned());
                }
                None => {}
            }
            show(found, basis)
        })
    }

    /// Plans and compares.
    fn compare<T>(
        &self,
        show: impl FnOnce(Vec<Difference<'_>>, Basis, Census) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let live = &self.live;
        let (node, formula) = (&live.node, live.formula);
        let knowledge = live.knowledge();
        let cpus = assigned_cpus(live);
        let known = |pods| -> Result<Plan<'_>, Failure> {
            let mut planned = plan(pods, node, formula).map_err(Failure::usage)?;
            if let Some(state) = &cpus {
                planned.assign_cpus(state);
            }
            planned.withhold(knowledge.clone());
            Ok(planned)
        };
        let desired = known(&live.pods)?;
        let mut others: Vec<(&'static str, Plan<'_>)> = Vec::new();
        for (name, pods) in &self.earlier {
            others.push((*name, known(pods)?));
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
        let pods = || live.pods.iter().map(|loaded| &loaded.pod);
        let taken_at = live.snapshot.taken_at.parse().ok();
        let started_at = live.snapshot.kubelet.value().and_then(|process| process.started_at);
        let started_at = started_at.map(Timestamp::from_seconds);
        let context = Context {
            handlers: &handlers,
            motion: &Motion::of(pods(), runtime, started_at, taken_at),
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
        show(found, basis, Census::of(pods(), runtime, &cgroups))
    }

    /// Returns the exit code of an answer without differences.
    pub fn code(&self) -> Code {
        if self.live.left_out.is_empty() { Code::Answered } else { Code::Missing }
    }
}
