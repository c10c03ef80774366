//! The cgroups that the kubelet would set, for pods in files and for those of a node.

use super::kubepods::knowledge;
use kq_answer::origin::Origin;
use kq_answer::{Basis, Failure, Missing, Warning, WarningCode};
use kq_cgroup::knowledge::Knowledge;
use kq_cgroup::plan::{Plan, PlanError, PlanPods, Runtimes, plan, select};
use kq_cgroup::report::basis_of;
use kq_cgroup::view::{unknown_facts, unknown_facts_of};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::CgroupTree;
use kq_facts::live::tree_failure;
use kq_facts::lookup::{Lookup, Sourced};
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::node_pods::NodePods;
use kq_facts::pod_selector::Selection;
use kq_facts::workloads::effective_uid;
use kq_k8s::defaults::{apply_api_defaults, apply_priority};
use kq_k8s::manifest::{Loaded, LoadedPod};
use kq_k8s::pod::Pod;
use kq_k8s::priority::mark_static;
use std::collections::{BTreeMap, BTreeSet};

/// Pods and their node.
#[derive(Clone, Debug)]
pub struct PlanInput {
    pub node: NodeConfig,
    /// Pods that could not be read, with the reasons.
    pub left_out: Vec<String>,
    runtimes: Runtimes,
    pods: Vec<LoadedPod>,
    /// The pods with the resources that their specs ask for, where the kubelet has allocated others; else empty.
    desired: Vec<LoadedPod>,
    /// The UIDs of those that have ended.
    ended: BTreeSet<String>,
    /// The command line sets fields of the configuration.
    is_typed: bool,
    /// What is assumed of pods that are being resized.
    assumed: Vec<String>,
    /// Pods of the node, or its kubelet's configuration, are unknown.
    is_incomplete: bool,
    /// The facts are those of a node, and not of files alone.
    is_live: bool,
    /// The cgroups of the node.
    cgroups: Lookup<CgroupTree>,
    selection: Selection,
    notes: Vec<Warning>,
    knowledge: Knowledge,
}

/// The treatment of pods from files.
#[derive(Clone, Debug, Default)]
pub struct PlanPodOptions {
    /// The pods are static pods of the kubelet.
    pub are_static: bool,
    /// Only pods bound to this node, or to none yet.
    pub on_node: Option<String>,
    /// A file was named.
    pub has_files: bool,
    /// The pods to show; the sums are of all.
    pub selection: Selection,
}

/// Returns true if the command line sets fields of the configuration.
pub(super) fn types_config(node: &Node) -> bool {
    node.kubelet.origins.values().any(|origin| matches!(origin, Origin::Flag(_)))
}

/// Returns the failure for a configuration that ends the kubelet: a mistake where it is typed, else what the node has.
pub(super) fn refused(is_typed: bool, error: PlanError) -> Failure {
    match is_typed {
        true => Failure::usage(error),
        false => Failure::missing(error),
    }
}

impl PlanInput {
    /// Puts pods from files on a node.
    ///
    /// # Errors
    ///
    /// Fails as [`Node::settings`] does, and for an override that names no runtime.
    pub fn of_pods(
        node: &Node,
        mut loaded: Loaded,
        options: &PlanPodOptions,
    ) -> Result<Self, Failure> {
        let (mut notes, runtimes) = (node.notes_of_plan(), Runtimes::of_node(node)?);
        let mut is_incomplete = !node.refused_config().is_empty();
        let knowledge = Knowledge::default().without(node.refused_fields());
        let is_typed = types_config(node);
        let ended = ended(node, &loaded.pods);
        let node = node.settings()?.clone();
        if !options.has_files {
            let text = "no FILE is given: planned without pods (- reads standard input)";
            notes.push(Warning::new(WarningCode::NoPods, text));
        }
        notes.extend(WarningCode::PodManifest.each(&loaded.notes));
        let has_given = !loaded.pods.is_empty();
        choose(options.on_node.as_deref(), &mut loaded, &node, &mut notes);
        // Such pods are mostly those of another node, given by mistake.
        is_incomplete |= has_given && loaded.pods.is_empty() && options.on_node.is_none();
        for pod in loaded.pods.iter_mut().map(|loaded| &mut *loaded.pod) {
            apply_api_defaults(pod, &node.rules);
            apply_priority(pod);
            if options.are_static {
                mark_static(pod);
            }
        }
        notes.extend(given_twice(&loaded));
        let texts = loaded.problems.iter().map(|problem| format!("left out: {problem}"));
        notes.extend(WarningCode::PodLeftOut.each(texts));
        if !loaded.problems.is_empty() {
            let sums = "the node and QoS levels are computed without the pods left out";
            notes.push(Warning::new(WarningCode::IncompleteSums, sums));
        }
        Ok(Self {
            node,
            left_out: loaded.problems.iter().map(ToString::to_string).collect(),
            runtimes,
            pods: loaded.pods,
            desired: Vec::new(),
            ended,
            is_typed,
            assumed: Vec::new(),
            is_incomplete,
            is_live: false,
            cgroups: Lookup::default(),
            selection: options.selection.clone(),
            notes,
            knowledge,
        })
    }

    /// Returns the allocatable resources in one line, for a plan without pods: it is about the node alone.
    pub fn allocatable_line(&self) -> Option<String> {
        let has_no_pods = self.notes.iter().any(|note| note.code == WarningCode::NoPods);
        let amounts = self.node.allocatable.status.iter();
        let amounts: Vec<String> = amounts
            .filter(|(name, _)| name.as_str() != "pid")
            .map(|(name, amount)| format!("{name} {amount}"))
            .collect();
        (has_no_pods && !amounts.is_empty())
            .then(|| format!("{} (kq allocatable shows the sums)", amounts.join(", ")))
    }

    /// Takes the pods of a live node.
    ///
    /// # Errors
    ///
    /// Fails as [`PlanInput::of_pods`] does.
    pub fn of_live(live: &Node, selection: Selection, are_static: bool) -> Result<Self, Failure> {
        let (settings, runtimes) = (live.settings()?.clone(), Runtimes::of_node(live)?);
        let knowledge = knowledge(live, &settings, runtimes.default);
        let incomplete = live.unknown_pods();
        let lacks_config = live.config.value.is_null() || !live.refused_config().is_empty();
        let is_incomplete = incomplete.is_some() || lacks_config;
        let mut notes = live.notes_of_plan();
        let texts = incomplete.map(|it| format!("totals may be incomplete: {}", it.text));
        notes.extend(WarningCode::IncompleteSums.each(texts));
        // The kubelet makes cgroups of what it allocated (`UpdatePodFromAllocation`, `pkg/kubelet/allocation`).
        let mut pods = live.loaded_allocated_pods();
        let mut desired = match live.has_other_allocations() {
            true => live.loaded_pods().to_vec(),
            false => Vec::new(),
        };
        for loaded in pods.iter_mut().chain(&mut desired).filter(|_| are_static) {
            mark_static(&mut loaded.pod);
        }
        let assumed = live.assumed_allocations();
        Ok(Self {
            node: settings,
            left_out: live.left_out.clone(),
            runtimes,
            ended: ended(live, &pods),
            pods,
            desired,
            is_typed: types_config(live),
            assumed,
            is_incomplete,
            is_live: true,
            cgroups: live.snapshot.cgroups.clone(),
            selection,
            notes,
            knowledge,
        })
    }

    /// Keeps some of the pods. The others are known, and gone.
    pub fn with_pods(mut self, is_kept: impl Fn(&Pod) -> bool) -> Self {
        self.pods.retain(|loaded| is_kept(&loaded.pod));
        self.desired.retain(|loaded| is_kept(&loaded.pod));
        self
    }

    /// Plans the cgroups of the selected pods, with the basis of the plan.
    ///
    /// # Errors
    ///
    /// Fails for a pod or a node that the kubelet does not take.
    pub fn answer(&self) -> Result<(Plan<'_>, Basis), Failure> {
        let mut plan = self.plan()?;
        self.withhold(&mut plan);
        let mut basis = self.basis(&plan);
        self.select(&mut plan);
        basis.lack_all(unknown_facts(&plan));
        Ok((plan, basis))
    }

    /// Returns true if all pods and the kubelet's configuration are known.
    pub fn is_complete(&self) -> bool {
        !self.is_incomplete && self.left_out.is_empty() && self.selection.unlabelled.is_empty()
    }

    /// Returns true if the pods are those of a node, and what is not known of it is missing.
    pub fn is_of_node(&self) -> bool {
        self.is_live
    }

    /// Returns what is missing of the planned weights and quotas.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::plan`] does.
    pub fn unknown_cpu(&self) -> Result<Vec<Missing>, Failure> {
        use CgroupFile::{CpuCfsPeriod, CpuCfsQuota, CpuMax, CpuShares, CpuWeight};
        let mut plan = self.plan()?;
        self.withhold(&mut plan);
        let divides = [CpuWeight, CpuShares, CpuMax, CpuCfsQuota, CpuCfsPeriod];
        Ok(unknown_facts_of(&plan, |file| divides.contains(&file)))
    }

    /// Returns the cgroups that the kernel of the node has.
    ///
    /// # Errors
    ///
    /// Fails where they are unknown: for pods of files, and for a node of which they could not be read.
    pub fn cgroups(&self) -> Result<&Sourced<CgroupTree>, Failure> {
        self.cgroups.found.as_ref().ok_or_else(|| tree_failure(&self.cgroups))
    }

    /// Plans the cgroups.
    pub fn plan(&self) -> Result<Plan<'_>, Failure> {
        let is_active = |pod: &Pod| match effective_uid(pod) {
            "" => !pod.status.has_ended(),
            uid => !self.ended.contains(uid),
        };
        let planned = |pods| {
            plan(PlanPods::of(pods, is_active), &self.node, self.runtimes.clone())
                .map_err(|error| refused(self.is_typed, error))
        };
        let mut made = planned(&self.pods)?;
        if !self.desired.is_empty() {
            made.take_classes(&planned(&self.desired)?);
        }
        Ok(made)
    }

    /// Removes values that depend on unknown facts of a live node. For a node from files, omitted settings have the
    /// kubelet's defaults.
    pub fn withhold(&self, plan: &mut Plan<'_>) {
        plan.withhold(self.knowledge.clone());
    }

    /// Keeps the selected pods.
    pub fn select(&self, plan: &mut Plan<'_>) {
        select(&mut plan.roots, &self.selection);
    }

    /// Returns true if a pod is selected.
    pub fn is_selected(&self, namespace: &str, pod: &str) -> bool {
        if self.selection.is_all() {
            return true;
        }
        let mut named = self.pods.iter().map(|loaded| &*loaded.pod);
        let uid =
            named.find(|own| own.metadata.namespace == namespace && own.display_name() == pod);
        self.selection.has(namespace, pod, uid.map(effective_uid).unwrap_or_default())
    }

    /// Returns what a plan rests on.
    pub fn basis(&self, plan: &Plan<'_>) -> Basis {
        let mut basis =
            basis_of(&self.node, plan, &self.pods, self.runtimes.default, self.notes.clone());
        basis.lack_all(self.selection.missing());
        basis.assume_all(self.assumed.iter().cloned());
        basis
    }
}

/// Returns the UIDs of the pods that have ended.
fn ended(node: &Node, pods: &[LoadedPod]) -> BTreeSet<String> {
    let standings = NodePods::of(&node.snapshot);
    let ended = pods.iter().map(|loaded| &loaded.pod).filter(|pod| !standings.is_active(pod));
    ended.map(|pod| effective_uid(pod).to_owned()).collect()
}

/// Keeps the pods of the node.
fn choose(on_node: Option<&str>, loaded: &mut Loaded, node: &NodeConfig, notes: &mut Vec<Warning>) {
    let bound_to = |loaded: &Loaded| {
        let names = loaded.pods.iter().map(|loaded| loaded.pod.spec.node_name.clone());
        let mut names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    if let (Some(asked), Some(described)) = (on_node, node.name.as_deref())
        && asked != described
    {
        let text = format!("--on-node {asked}, but --node-file describes {described}");
        notes.push(Warning::new(WarningCode::PodsOfOtherNodes, text).about(asked));
    }
    if let Some(name) = on_node.or(node.name.as_deref()) {
        let before = loaded.pods.len();
        loaded.pods.retain(|loaded| {
            let bound = &loaded.pod.spec.node_name;
            bound.is_empty() || bound == name
        });
        let elsewhere = before - loaded.pods.len();
        if elsewhere > 0 {
            let text = format!("{elsewhere} of {before} pods left out: not bound to node {name}");
            notes.push(Warning::new(WarningCode::PodsOfOtherNodes, text).about(name));
        }
    } else if let [first, second, ..] = bound_to(loaded).as_slice() {
        let text = format!(
            "the pods are bound to several nodes ({first}, {second}, ...): the sums are of all of \
             them; choose one with --on-node"
        );
        notes.push(Warning::new(WarningCode::PodsOfOtherNodes, text));
    }
}

/// Returns a warning for pods that came more than once, for example from two files: an API server has
/// only one of that name, but the sums are of all that were read.
fn given_twice(loaded: &Loaded) -> Option<Warning> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for pod in loaded.pods.iter().map(|loaded| &loaded.pod.metadata) {
        *counts.entry((&pod.namespace, &pod.name)).or_default() += 1;
    }
    // Pods of a workload have no name yet.
    let mut twice = counts.iter().filter(|((_, name), count)| **count > 1 && !name.is_empty());
    let ((namespace, name), count) = twice.next()?;
    let pod = format!("{namespace}/{name}");
    let warning = |others: String| {
        let text = format!("pod {pod} was given {count} times{others}: each one counts");
        Warning::new(WarningCode::DuplicatePod, text)
    };
    Some(match twice.count() {
        0 => warning(String::new()).about(&pod),
        others => warning(format!(", and {others} others more than once")),
    })
}
