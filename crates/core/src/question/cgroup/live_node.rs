//! A described live node: the facts behind the questions about its cgroups.

use super::gathered_tree::{GatheredTree, check_kubepods};
use crate::question::cgroup::{NodeDescription, NodeInputs, NodeOptions};
use kq_answer::{Failure, Warning, WarningCode};
use kq_cgroup::files::CgroupDriver;
use kq_cgroup::knowledge::Knowledge;
use kq_cgroup::live::place::{LiveOwner, live_cgroups};
use kq_cgroup::plan::RuntimeFormula;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::describe::ConfigSource;
use kq_facts::kubelet_config::Source;
use kq_facts::kubelet_process::KubeletProcess;
use kq_facts::live::cgroup_tree;
use kq_facts::live::{adopt_uid, incomplete, live_sources};
use kq_facts::node::config_of;
use kq_facts::node_config::NodeConfig;
use kq_facts::runtime::RuntimeFacts;
use kq_facts::snapshot::Snapshot;
use kq_facts::workloads::{Workloads, add_container_ids, effective_uid};
use kq_k8s::defaults::{apply_api_defaults, apply_priority};
use kq_k8s::manifest::{Loaded, LoadedPod};
use kq_k8s::pod::Pod;
use kq_k8s::qos::QosClass;
use std::collections::BTreeSet;

/// Everything that was found out about a node.
pub struct LiveNode {
    /// As it was gathered.
    pub snapshot: Snapshot,
    /// The kubelet's configuration, without the flags that speak of single fields.
    pub config: ConfigSource,
    /// The configuration is that of the files and flags of the kubelet's process.
    pub is_config_of_process: bool,
    /// The node, described.
    pub node: NodeConfig,
    /// The runtime's formula.
    pub formula: RuntimeFormula,
    /// The pods, with those of files in place of their namesakes.
    pub pods: Vec<LoadedPod>,
    /// The names.
    pub workloads: Workloads,
    /// Where the cgroup of all pods may be.
    pub roots: Vec<(CgroupDriver, CgroupPath)>,
    /// Why the pods may not be all of the node.
    pub incomplete: Option<String>,
    /// What is odd, or is unknown.
    pub notes: Vec<Warning>,
    /// Pods that could not be read.
    pub left_out: Vec<String>,
}

impl LiveNode {
    /// Describes a gathered node. Pods of files take the place of those of the same name.
    ///
    /// # Errors
    ///
    /// Fails on facts that no node has.
    pub fn of(
        gathered: GatheredTree,
        options: &NodeOptions,
        given: Loaded,
    ) -> Result<Self, Failure> {
        let GatheredTree { snapshot, given: given_config, roots, mut notes } = gathered;
        let config = config_of(given_config, &snapshot, &mut notes);
        let is_config_of_process = snapshot
            .kubelet_config
            .value()
            .is_some_and(|recorded| recorded.read_as != Some(Source::Configz));
        let found = NodeInputs {
            config: config.clone(),
            object: snapshot.node.found.clone().map(|found| (found.source, found.value)),
            live: Some(live_sources(&snapshot, &roots)),
            low_level: snapshot.runtime.value().and_then(|r| r.low_level.value().cloned()),
            notes,
        };
        let NodeDescription { node, formula, mut notes } = options.describe(found)?;
        let mut left_out = Vec::new();
        let mut pods = Vec::new();
        if let Some(recorded) = snapshot.pods.value() {
            notes.extend(WarningCode::PodManifest.each(&recorded.notes));
            left_out.extend(recorded.left_out.iter().cloned());
            pods.clone_from(&recorded.pods);
        }
        notes.extend(WarningCode::PodManifest.each(&given.notes));
        left_out.extend(given.problems.iter().map(ToString::to_string));
        let runtime = snapshot.runtime.value();
        let known = Workloads::of(pods.iter().map(|loaded| &loaded.pod), runtime);
        for loaded in &mut pods {
            prepare(&mut loaded.pod, &node, &known, runtime);
        }
        for mut loaded in given.pods {
            prepare(&mut loaded.pod, &node, &known, runtime);
            put(&mut pods, loaded);
        }
        notes.extend(keep_last(&mut pods));
        let all: Vec<&Pod> = pods.iter().map(|loaded| &loaded.pod).collect();
        let incomplete = incomplete(&snapshot.pods, &all, runtime).map(|it| it.text);
        let workloads = Workloads::of(all, runtime);
        let texts = left_out.iter().map(|problem| format!("left out: {problem}"));
        notes.extend(WarningCode::PodLeftOut.each(texts));
        Ok(Self {
            snapshot,
            config,
            is_config_of_process,
            node,
            formula,
            pods,
            workloads,
            roots,
            incomplete,
            notes,
            left_out,
        })
    }

    /// Returns the cgroup tree.
    ///
    /// # Errors
    ///
    /// Fails when it could not be read: then there is no answer.
    pub fn tree(&self) -> Result<&CgroupTree, Failure> {
        cgroup_tree(&self.snapshot)
    }

    /// Refuses a node whose cgroup of all pods is absent, unless its kubelet and its pods are known: then
    /// the cgroup is missing.
    ///
    /// # Errors
    ///
    /// Fails where there is nothing to compare with.
    pub fn check_kubepods(&self) -> Result<(), Failure> {
        let tree = self.tree()?;
        let is_known = !self.config.value.is_null() && self.incomplete.is_none();
        if is_known { Ok(()) } else { check_kubepods(tree, &self.roots) }
    }

    /// Returns true if the kubelet's whole configuration is known. A kubelet inside another program can
    /// have settings that nothing shows.
    pub fn has_configuration(&self) -> bool {
        let embedded = self.is_config_of_process
            && self.snapshot.kubelet.value().is_some_and(KubeletProcess::hides_flags);
        !self.config.value.is_null() && !embedded
    }

    /// Returns what is known of the facts that a plan rests on.
    pub fn knowledge(&self) -> Knowledge {
        let unknown_pods = self.incomplete.clone().filter(|_| !self.lacks_best_effort_only());
        Knowledge::of(&self.node, self.formula, self.has_configuration(), unknown_pods)
    }

    /// Returns true if each pod that is not in the list is BestEffort by the place of its cgroup: such a pod
    /// requests nothing, and is in no sum.
    fn lacks_best_effort_only(&self) -> bool {
        let (Some(tree), Some(pods)) = (self.snapshot.cgroups.value(), self.snapshot.pods.value())
        else {
            return false;
        };
        let sandboxes = self.runtime().and_then(|runtime| runtime.sandboxes.value());
        let Some(sandboxes) = sandboxes.filter(|_| pods.left_out.is_empty()) else { return false };
        let present = self.roots.iter().filter(|(_, root)| tree.get(root).is_some());
        let cgroups: Vec<_> = present
            .flat_map(|(driver, root)| live_cgroups(tree, root, *driver, &self.workloads))
            .collect();
        let is_best_effort = |uid: &str| {
            cgroups.iter().any(|cgroup| match &cgroup.owner {
                LiveOwner::Pod(pod) => pod.uid == uid && pod.class == QosClass::BestEffort,
                _ => false,
            })
        };
        let is_known = |uid: &str| self.workloads.pod(uid).is_some_and(|pod| pod.known);
        let mut unknown = sandboxes.iter().filter(|it| it.ready && !is_known(&it.uid));
        unknown.all(|sandbox| is_best_effort(&sandbox.uid))
    }

    /// Returns what the runtime said.
    pub fn runtime(&self) -> Option<&RuntimeFacts> {
        self.snapshot.runtime.value()
    }
}

/// Puts into a pod what an API server and a kubelet would, and what the runtime knows of it.
fn prepare(pod: &mut Pod, node: &NodeConfig, known: &Workloads, runtime: Option<&RuntimeFacts>) {
    apply_api_defaults(pod, &node.rules);
    apply_priority(pod);
    adopt_uid(pod, known);
    if let Some(runtime) = runtime {
        add_container_ids(pod, runtime);
    }
}

/// Keeps one of each pod: a node has no two of the same UID, or of the same name.
fn keep_last(pods: &mut Vec<LoadedPod>) -> Vec<Warning> {
    let mut seen = BTreeSet::new();
    let mut notes = Vec::new();
    pods.reverse();
    pods.retain(|loaded| {
        let metadata = &loaded.pod.metadata;
        let name = format!("{}/{}", metadata.namespace, metadata.name);
        let uid = effective_uid(&loaded.pod);
        // Pods of a workload have no name of their own yet.
        let is_named = !metadata.name.is_empty() && !loaded.source.name_generated;
        let is_new = (!is_named || seen.insert(name.clone()))
            && (uid.is_empty() || seen.insert(format!("uid {uid}")));
        if !is_new {
            let text = format!("pod {name} was given more than once: the last one counts");
            notes.push(Warning::new(WarningCode::DuplicatePod, text).about(name));
        }
        is_new
    });
    pods.reverse();
    notes
}

/// Puts a pod in the place of its namesake, and keeps the status that the node reported.
fn put(pods: &mut Vec<LoadedPod>, mut loaded: LoadedPod) {
    let own = &loaded.pod.metadata;
    let namesake = pods.iter_mut().find(|other| {
        let other = &other.pod.metadata;
        other.namespace == own.namespace && other.name == own.name
    });
    match namesake {
        Some(namesake) => {
            if loaded.pod.status == Default::default() {
                loaded.pod.status.clone_from(&namesake.pod.status);
            }
            *namesake = loaded;
        }
        None => pods.push(loaded),
    }
}
