//! The plan of a live node, compared with its kernel, for `diff` and `apply`.

use super::kubepods::knowledge;
use super::plan::{refused, types_config};
use anyhow::anyhow;
use kq_answer::origin::Origin;
use kq_answer::{Basis, Failure, Warning, WarningCode};
use kq_cgroup::live::compare::Rounding;
use kq_cgroup::live::diff::{Context, absent_controllers, diff};
use kq_cgroup::live::difference::Difference;
use kq_cgroup::live::motion::{Census, Confirmed, DriftSet, Motion};
use kq_cgroup::live::older::{self, Ages};
use kq_cgroup::live::place::live_cgroups;
use kq_cgroup::live::set_by::Writers;
use kq_cgroup::plan::{Plan, PlanPods, Runtimes, plan};
use kq_cgroup::report::basis_of;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_tree::CgroupPath;
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::cpu_manager::{CpuState, load};
use kq_facts::checkpoint::layout::KnownLayouts;
use kq_facts::host::Text;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::node_pods::NodePods;
use kq_facts::pod_selector::Selection;
use kq_facts::resize::{RecordedResizes, RecordedResources, put_effective};
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::effective_uid;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::pod::Pod;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A live node, and the pods to compare.
pub struct Compared {
    pub live: Arc<Node>,
    /// What its container manager works with.
    pub settings: NodeConfig,
    runtimes: Runtimes,
    selection: Selection,
    earlier: Vec<(&'static str, Vec<LoadedPod>)>,
    notes: Vec<Warning>,
    /// What differed as it did in the look before; `None`: there was one look.
    confirmed: Option<Confirmed>,
    /// The plan against the kernel, once it was asked for.
    comparison: OnceCell<Comparison>,
}

/// The plan of a node against its kernel.
pub struct Comparison {
    /// What differs, and what does not.
    pub differences: Vec<Difference<'static>>,
    /// What the comparison rests on.
    basis: Basis,
    census: Census,
}

/// Returns the pods with what was allocated, and with what is in effect, where they are being resized.
fn earlier(live: &Node, notes: &mut Vec<Warning>) -> Vec<(&'static str, Vec<LoadedPod>)> {
    let files = live.snapshot.state_files.as_ref();
    let mut read = |file: &str| {
        let recorded = RecordedResources::parse(files.and_then(|files| files.get(file)));
        recorded.unwrap_or_else(|reason| {
            let path = files.map(|files| files.path(file)).unwrap_or_default();
            let text = format!("{path}: {reason}: a resize in progress is seen by status only");
            notes.push(Warning::new(WarningCode::UnreadStateFile, text).about(path));
            RecordedResources::default()
        })
    };
    let recorded = RecordedResizes {
        allocated: read("allocated_pods_state"),
        actuated: read("actuated_pods_state"),
    };
    let rules = &live.kubelet.rules;
    let places = live.loaded_pods().iter().enumerate();
    let resizing = places.filter(|(_, loaded)| recorded.is_resizing(&loaded.pod, rules));
    let resizing: Vec<usize> = resizing.map(|(at, _)| at).collect();
    let mut earlier = Vec::new();
    let mut add = |name, put: &dyn Fn(&mut Pod) -> bool| {
        if resizing.is_empty() {
            return;
        }
        let mut pods = live.loaded_pods().to_vec();
        let mut changed = 0;
        for at in &resizing {
            changed += pods.get_mut(*at).map_or(0, |loaded| usize::from(put(&mut loaded.pod)));
        }
        if changed > 0 {
            earlier.push((name, pods));
        }
    };
    add("allocated", &|pod| recorded.allocated.put_into(pod, rules));
    add("actuated", &|pod| recorded.actuated.put_into(pod, rules));
    add("in effect", &put_effective);
    earlier
}

/// Returns the CPU manager's assignments, if its file can be read.
fn assigned_cpus(live: &Node) -> Option<CpuState> {
    let Some(Text::Read(text)) = live.snapshot.state_files.as_ref()?.get(StateFile::Cpu.name())
    else {
        return None;
    };
    load(text.as_bytes(), KnownLayouts::of(&live.kubelet.rules), None, None).shown
}

/// The warning for a node that was read only once.
const ONE_LOOK: &str = "the node was read once: a pod that started, ended or was resized at that moment looks \
                        like drift";

impl Compared {
    /// Returns what a comparison of these pods needs.
    ///
    /// # Errors
    ///
    /// Fails as [`Node::settings`] does, and for an override that names no runtime.
    pub fn of(live: Node, selection: Selection) -> Result<Self, Failure> {
        let (settings, runtimes) = (live.settings()?.clone(), Runtimes::of_node(&live)?);
        let mut notes = Vec::new();
        let earlier = earlier(&live, &mut notes);
        let comparison = OnceCell::new();
        Ok(Self {
            live: Arc::new(live),
            settings,
            runtimes,
            selection,
            earlier,
            notes,
            confirmed: None,
            comparison,
        })
    }

    /// Returns true if every pod could be read, and none was left out because its labels are unknown.
    pub fn is_complete(&self) -> bool {
        self.live.left_out.is_empty() && self.selection.unlabelled.is_empty()
    }

    /// Adds what differed in the look before as well.
    pub fn with_confirmed(mut self, confirmed: Confirmed) -> Self {
        if let Some(comparison) = self.comparison.get_mut() {
            confirmed.demote(&mut comparison.differences);
        }
        Self { confirmed: Some(confirmed), ..self }
    }

    /// Returns what drifts.
    ///
    /// # Errors
    ///
    /// Fails where no plan can be made.
    pub fn drift(&self) -> Result<DriftSet, Failure> {
        let comparison = self.comparison()?;
        Ok(DriftSet::of(&comparison.differences, comparison.census.clone()))
    }

    /// Returns the cgroup of all pods under the driver of the node.
    ///
    /// # Errors
    ///
    /// Refuses where pods have none: nothing there is only the kubelet's.
    pub fn root(&self) -> Result<&CgroupPath, Failure> {
        let driver = self.settings.cgroup_driver;
        let root = self.live.roots.iter().find(|(own, root)| *own == driver && root.depth() > 0);
        root.map(|(_, root)| root).ok_or_else(|| {
            Failure::refused(anyhow!(
                "pods have no cgroup of their own here (cgroupsPerQOS: false)"
            ))
        })
    }

    /// Refuses assumed facts that decide about written values.
    ///
    /// # Errors
    ///
    /// Refuses to write on a guess.
    pub fn check_basis(&self, weights: bool) -> Result<(), Failure> {
        let live = &self.live;
        let guessed = |fact: &str, flag: &str| {
            let guess = anyhow!("{fact} is unknown, and kq writes nothing on a guess");
            Err(Failure::refused(guess).hint(format!("set it with {flag}")))
        };
        if !live.has_configuration() || !live.refused_config().is_empty() {
            return guessed("the kubelet's whole configuration", "--kubelet-config FILE");
        }
        for (name, fact, flag) in [
            ("kubeletVersion", "the kubelet's version", "--kubelet-version VERSION"),
            ("cgroupDriver", "the cgroup driver", "--cgroup-driver DRIVER"),
            ("cgroupVersion", "the cgroup version", "--cgroup-version VERSION"),
        ] {
            let assumed = self.settings.facts.0.iter().find(|known| known.name == name);
            if assumed.is_some_and(|known| known.origin == Origin::Assumed) {
                return guessed(fact, flag);
            }
        }
        if weights
            && self.runtimes.default.assumed
            && self.settings.cgroup_version == CgroupVersion::V2
        {
            return guessed("how the runtime computes weights", "--runtime NAME=VERSION");
        }
        Ok(())
    }

    /// Returns how the kernel and systemd round here.
    pub fn rounding(&self) -> Rounding {
        let node = &self.settings;
        Rounding { version: node.cgroup_version, driver: node.cgroup_driver, kernel: node.kernel }
    }

    /// Returns the plan against the kernel. It is made once.
    ///
    /// # Errors
    ///
    /// Fails where no plan can be made, or the kernel's values are unknown.
    pub fn comparison(&self) -> Result<&Comparison, Failure> {
        if let Some(made) = self.comparison.get() {
            return Ok(made);
        }
        let made = self.compare()?;
        Ok(self.comparison.get_or_init(|| made))
    }

    /// Returns the differences and what they rest on, for an answer of their own.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::comparison`] does.
    pub fn answer(&self) -> Result<(Vec<Difference<'static>>, Basis), Failure> {
        let Comparison { differences, basis, .. } = self.comparison()?;
        let mut basis = basis.clone();
        if self.confirmed.is_none() && differences.iter().any(|found| found.verdict.is_drift()) {
            basis.warn(Warning::new(WarningCode::ReadOnce, ONE_LOOK));
        }
        Ok((differences.clone(), basis))
    }

    /// Returns the pods that the kubelet's records have and no source of pods.
    fn gone(&self) -> Vec<String> {
        let files = self.live.snapshot.state_files.as_ref();
        let text = files.and_then(|files| files.get("allocated_pods_state"));
        let Ok(recorded) = RecordedResources::parse(text) else { return Vec::new() };
        let known: BTreeSet<&str> =
            self.live.loaded_pods().iter().map(|loaded| effective_uid(&loaded.pod)).collect();
        recorded.uids().filter(|uid| !known.contains(uid)).map(str::to_owned).collect()
    }

    /// Plans and compares.
    fn compare(&self) -> Result<Comparison, Failure> {
        let live = &self.live;
        let kubelet = &live.snapshot.kubelet;
        let has_root = live
            .snapshot
            .cgroups
            .value()
            .is_none_or(|tree| live.roots.iter().any(|(_, root)| tree.get(root).is_some()));
        if kubelet.found.is_none() && !kubelet.was_not_queried() && !has_root {
            // A kubelet that starts makes it: it was not removed.
            return Err(Failure::missing(anyhow!(
                "no kubelet runs, and there is no cgroup of all pods"
            )));
        }
        let (node, formula) = (&self.settings, self.runtimes.default);
        let knowledge = knowledge(live, node, formula);
        let cpus = assigned_cpus(live);
        let standings = NodePods::of(&live.snapshot);
        let counted = |pods| PlanPods::of(pods, |pod| standings.is_active(pod));
        let known = |pods| -> Result<Plan<'_>, Failure> {
            let mut planned = plan(counted(pods), node, self.runtimes.clone())
                .map_err(|error| refused(types_config(live), error))?;
            if let Some(state) = &cpus {
                planned.assign_cpus(state);
            }
            planned.withhold(knowledge.clone());
            Ok(planned)
        };
        let desired = known(live.loaded_pods())?;
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
        let runtime = live.snapshot.runtime.value();
        let sandboxes = runtime.and_then(|runtime| runtime.sandboxes.value());
        let of_handlers = |handlers: &BTreeSet<String>| -> BTreeSet<String> {
            let own = sandboxes.into_iter().flatten();
            let own = own.filter(|sandbox| handlers.contains(&sandbox.runtime_handler));
            own.map(|sandbox| sandbox.uid.clone()).collect()
        };
        let in_machines = runtime.map(|it| of_handlers(&it.kata_handlers)).unwrap_or_default();
        let annotated = runtime.map(|it| &it.annotated_cpus).cloned().unwrap_or_default();
        let handlers = sandboxes.into_iter().flatten().filter(|s| !s.runtime_handler.is_empty());
        let handlers = handlers.filter(|s| !self.runtimes.knows(&s.uid));
        let handlers = handlers.map(|s| (s.uid.clone(), s.runtime_handler.clone())).collect();
        let pods = || live.loaded_pods().iter().map(|loaded| &*loaded.pod);
        let taken_at = live.snapshot.taken_at.parse().ok();
        let started_at = live.snapshot.kubelet.value().and_then(|process| process.started_at);
        let started_at = started_at.map(Timestamp::from_seconds);
        let drop_ins = &live.snapshot.drop_ins;
        let writers = Writers {
            drop_ins: drop_ins.value().map(Vec::as_slice),
            // What could not be read of the kubelet's records is noted.
            are_complete: drop_ins.tried.is_empty()
                && live.snapshot.state_files.is_some()
                && self.notes.is_empty(),
            is_formula_assumed: formula.assumed,
        };
        let restricts = live.overrides.runtime_settings.restrict_oom_score_adj;
        let incomplete = live.unknown_pods().map(|it| it.text);
        let context = Context {
            writers,
            handlers: &handlers,
            in_machines: &in_machines,
            annotated: &of_handlers(&annotated.handlers),
            workloads_of_runtime: &annotated.workloads,
            motion: &Motion::of(pods(), runtime, started_at, taken_at).with_gone(self.gone()),
            workloads: &live.workloads,
            rounding: self.rounding(),
            incomplete: incomplete.as_deref(),
            runtime_known: runtime.is_some_and(|runtime| {
                runtime.containers.found.is_some() && runtime.sandboxes.found.is_some()
            }),
            restricts_oom_score: restricts.or_else(|| runtime?.restricts_oom_score),
            selection: &self.selection,
            resizing: &resizing,
        };
        let mut found = diff(&desired, tree, &cgroups, context);
        if let Some(ages) = Ages::of(live.snapshot.kubelet.value(), pods(), runtime) {
            let compared = older::Compared {
                node,
                pods: &counted(live.loaded_pods()),
                runtimes: &self.runtimes,
                rounding: self.rounding(),
            };
            older::excuse(&mut found, &ages, compared);
        }
        if let Some(confirmed) = &self.confirmed {
            confirmed.demote(&mut found);
        }
        let mut notes = live.notes_of_plan();
        notes.extend(self.notes.iter().cloned());
        notes.extend(tree.warnings());
        notes.extend(absent_controllers(&desired, tree).iter().map(|controller| {
            let text = format!(
                "this machine has no cgroup controller {controller}: its files are not compared"
            );
            Warning::new(WarningCode::NoController, text).about(controller)
        }));
        let mut basis = basis_of(node, &desired, live.loaded_pods(), formula, notes);
        basis.lack_all(self.selection.missing());
        let differences = found.into_iter().map(Difference::into_owned).collect();
        Ok(Comparison { differences, basis, census: Census::of(pods(), runtime, &cgroups) })
    }
}
