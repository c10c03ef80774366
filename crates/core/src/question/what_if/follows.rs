//! The consequences of a change for new pods, images and eviction.

use super::described::Described;
use super::eviction::started;
use super::pods::Transition;
use super::state::NodeState;
use crate::question::admission::moves_cgroups;
use crate::question::eviction::{EvictionOptions, crossed_thresholds, eviction_rank};
use crate::question::image_gc::{ImageGcOptions, image_gc_plan};
use crate::question::measured::stats;
use crate::what_if::{
    AllocatableChange, Effect, EvictionChange, ImageGcChange, PodOutcome, PodResult, WhatIfRule,
};
use kq_admission::qualified;
use kq_answer::Subject;
use kq_facts::cgroup_name::CgroupName;
use kq_facts::kubelet_config::{EvictionThreshold, Signal};
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::node_object::NodeObject;
use kq_facts::node_pods::NodePods;
use kq_image_gc::plan::{Trigger, names};
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::{Container, ResourceName};
use kq_k8s::priority::is_static_pod;
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::resources::{ResourceOptions, Side, pod_total};
use std::collections::{BTreeMap, BTreeSet};

/// Moves the memory that is available within the cgroup of all pods as far as its limit moves: what `allocatableMemory` is
/// measured by (`makeSignalObservations`, `pkg/kubelet/eviction/helpers.go`).
fn limit_pods(state: &mut NodeState, more: i64) {
    let Some(stats) = &mut state.snapshot.stats_summary.found else { return };
    let pods = stats.value.node.system_containers.iter_mut().find(|it| it.name == "pods");
    if let Some(available) = pods.and_then(|it| it.memory.as_mut()?.available_bytes.as_mut()) {
        *available = available.saturating_add_signed(more);
    }
}

/// Returns true if a kubelet that starts reports other amounts than the Node object has, by its configuration: fewer, as it may
/// reserve more than is known, or another number of pods. A Node object with files alone may be one that was written for the
/// question.
pub fn reports_other_amounts(node: &Node) -> bool {
    let (Ok(settings), Some(object)) = (node.settings(), node.snapshot.node.value()) else {
        return false;
    };
    let reported = &object.status.allocatable;
    let mut computed = settings.allocatable.status.iter();
    let is_of_machine = node.snapshot.host.memory_bytes().is_ok();
    let count = reported.get(&ResourceName::from("pods"));
    is_of_machine
        && (count.is_some_and(|it| it.value() != settings.most_pods())
            || computed.any(|(name, new)| {
                reported.get(name).is_some_and(|reported| is_less(name, new, reported))
            }))
}

/// Returns true if an amount that follows from the configuration is less than the reported one. Of a disk, both are rounded in
/// another way.
fn is_less(name: &ResourceName, computed: &Quantity, reported: &Quantity) -> bool {
    let is_exact =
        name.hugepage_size().is_some() || matches!(name, ResourceName::Cpu | ResourceName::Memory);
    is_exact && reported.compare(computed).is_gt()
}

/// Returns the node after changes with the capacity and the allocatable resources that its kubelet reports then: the
/// Node object changes by as much as their computation does. A kubelet that starts reports no more than follows from its
/// configuration, whatever the Node object has of the one before. `None`: they do not change.
pub fn with_allocatable(
    before: &Described<'_>,
    after: &Described<'_>,
    restarts: bool,
) -> Option<NodeState> {
    let (old, new) = (before.node().ok()?, after.node().ok()?);
    let reported = &after.state.snapshot.node.value()?.status;
    // A node of which nothing is reported is not one whose resources became nothing.
    if reported.allocatable.is_empty() {
        return None;
    }
    let is_of_machine = after.state.snapshot.host.memory_bytes().is_ok();
    let knows_config = restarts && is_of_machine && !after.state.has_assumed_config;
    // A set of CPUs takes the place of any other reservation of CPU (`run`, `cmd/kubelet/app/server.go`).
    let config = &after.kubelet().ok()?.kubelet.config;
    let has_reserved_cpus = !config.reserved_system_cpus.is_empty();
    let mut changed = Vec::new();
    for (name, new) in new.allocatable.status.iter() {
        let Some(reported) = reported.allocatable.get(name) else { continue };
        let is_less = knows_config && is_less(name, new, reported);
        let old = old.allocatable.status.get(name);
        let Some(old) = old.filter(|old| old.compare(new).is_ne() || is_less) else { continue };
        // The kubelet may reserve more than is known; less than its configuration says it does not reserve.
        let amount = match reported.compare(old).is_lt() {
            false => new.clone(),
            true if has_reserved_cpus && *name == ResourceName::Cpu => new.clone(),
            true => {
                let mut shifted = reported.clone();
                shifted += new;
                shifted -= old;
                match after.node().ok()?.capacity.get(name) {
                    Some(capacity) if shifted.compare(capacity).is_gt() => capacity.clone(),
                    _ => shifted,
                }
            }
        };
        changed.push((name.clone(), amount));
    }
    let reports_others = |count: i64| {
        let reported = reported.allocatable.get(&ResourceName::from("pods"));
        knows_config && reported.is_some_and(|it| it.value() != count)
    };
    let (old, new) = (old.most_pods(), new.most_pods());
    let is_same_count = old == new && !reports_others(new);
    if changed.is_empty() && is_same_count {
        return None;
    }
    let mut state = after.state.clone();
    let limits =
        [&before.node().ok()?.allocatable.absolute, &after.node().ok()?.allocatable.absolute];
    let [old_limit, new_limit] =
        limits.map(|list| list.get(&ResourceName::Memory).map(Quantity::value));
    if let (Some(old), Some(new)) = (old_limit, new_limit) {
        limit_pods(&mut state, new.saturating_sub(old));
    }
    let status = &mut state.snapshot.node.found.as_mut()?.value.status;
    for (name, amount) in changed {
        status.allocatable.insert(name, amount);
    }
    if !is_same_count {
        let name = ResourceName::from("pods");
        let count = Quantity::from_units(new, Format::DecimalSi);
        status.capacity.insert(name.clone(), count.clone());
        status.allocatable.insert(name, count);
    }
    Some(state)
}

impl Transition<'_> {
    /// Returns the consequences for new pods, images and eviction.
    pub fn follows(&self, pods: &[PodOutcome]) -> Vec<Effect> {
        let mut findings = self.allocatable(pods);
        findings.extend(self.other_tree());
        findings.extend(self.other_name());
        findings.extend(self.readiness(pods));
        findings.extend(self.image_gc());
        findings.extend(self.images_age());
        findings.extend(self.thresholds(pods));
        findings
    }

    fn allocatable(&self, pods: &[PodOutcome]) -> Vec<Effect> {
        let object = |state: &NodeState| state.snapshot.node.value().cloned().unwrap_or_default();
        let (before, after): (NodeObject, NodeObject) =
            (object(self.before.state), object(self.after.state));
        let lost: BTreeSet<&str> =
            pods.iter().filter(|it| it.result.is_lost()).map(|it| it.pod.as_str()).collect();
        let mut findings = Vec::new();
        for (name, new) in after.status.allocatable.iter() {
            let Some(old) = before.status.allocatable.get(name) else { continue };
            if old.compare(new).is_eq() {
                continue;
            }
            let requested = self.requested(name, &lost);
            let rule = WhatIfRule::Allocatable(AllocatableChange {
                resource: name.to_string(),
                before: old.to_string(),
                after: new.to_string(),
                requested: requested.to_string(),
                is_exceeded: requested.compare(new).is_gt(),
            });
            findings.push(Effect::new(Subject::Node, rule));
        }
        findings
    }

    /// Returns the requests of the remaining pods.
    fn requested(&self, name: &ResourceName, lost: &BTreeSet<&str>) -> Quantity {
        let snapshot = &self.after.state.snapshot;
        let standings = NodePods::of(snapshot);
        let pods = snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
        let pods = pods
            .map(|loaded| &*loaded.pod)
            .filter(|pod| !lost.contains(qualified(pod).as_str()) && standings.is_active(pod));
        if name.as_str() == "pods" {
            let count = i64::try_from(pods.count()).unwrap_or(i64::MAX);
            return Quantity::from_units(count, Format::DecimalSi);
        }
        let format = if *name == ResourceName::Cpu { Format::DecimalSi } else { Format::BinarySi };
        let mut sum = Quantity::from_units(0, format);
        for pod in pods {
            let total = pod_total(pod, Side::Requests, &ResourceOptions::default()).total;
            if let Some(amount) = total.get(name) {
                sum += amount;
            }
        }
        sum
    }

    /// Reports the tree of pods that changes with the driver or the root, and drivers that differ.
    fn other_tree(&self) -> Vec<Effect> {
        let (Ok(old), Ok(new)) = (self.before.kubelet(), self.after.kubelet()) else {
            return Vec::new();
        };
        let (Ok(before), Ok(after)) = (old.settings(), new.settings()) else { return Vec::new() };
        let root = |node: &NodeConfig| {
            let config = &node.config;
            let name =
                CgroupName::node_allocatable_root(&config.cgroup_root, config.cgroups_per_qos);
            name.to_path(node.cgroup_driver).unwrap_or_default()
        };
        let mut rules = Vec::new();
        if moves_cgroups(old, new) {
            let (before, after) = (root(before), root(after));
            rules.push(WhatIfRule::CgroupsMove { before, after, is_left: !self.reboots });
        }
        let differ = |state: &NodeState, node: &NodeConfig| {
            let runtime = *state.snapshot.runtime.value()?.cgroup_driver.value()?;
            (runtime != node.cgroup_driver)
                .then(|| (node.cgroup_driver.to_string(), runtime.to_string()))
        };
        if let Some((kubelet, runtime)) = differ(self.after.state, after)
            && differ(self.before.state, before).is_none()
        {
            rules.push(WhatIfRule::DriversDiffer { kubelet, runtime });
        }
        rules.into_iter().map(|rule| Effect::new(Subject::Node, rule)).collect()
    }

    /// Reports a kubelet that starts under another name than that of its Node object.
    fn other_name(&self) -> Option<Effect> {
        let said = self.after.state.on_disk.process.as_ref()?.interpreted().hostname_override?;
        let before = self.before.state.on_disk.process.as_ref();
        let is_new = before.and_then(|it| it.interpreted().hostname_override) != Some(said.clone());
        let node = &self.after.state.snapshot.node.value()?.metadata.name;
        if !self.restarts || !is_new || said == *node {
            return None;
        }
        let pods = self.after.state.snapshot.pods.value();
        let pods = pods.into_iter().flat_map(|it| &it.pods);
        let static_pods = pods.filter(|loaded| is_static_pod(&loaded.pod)).count();
        let rule = WhatIfRule::OtherNodeName { name: said, node: node.clone(), static_pods };
        Some(Effect::new(Subject::Node, rule))
    }

    /// Reports the readiness of probed containers that keep running (`newWorker`, `pkg/kubelet/prober/worker.go`: since
    /// 1.35, a container that was already running keeps its readiness).
    fn readiness(&self, pods: &[PodOutcome]) -> Option<Effect> {
        let rules = &self.after.kubelet().ok()?.kubelet;
        let is_kept = rules.version.keeps_readiness()
            && !rules.rules.gates.enabled(Gate::ChangeContainerStatusOnKubeletRestart);
        let kept: BTreeSet<&str> = pods
            .iter()
            .filter(|it| it.result == PodResult::Kept)
            .map(|it| it.pod.as_str())
            .collect();
        let all = self.after.state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
        let kept = all.map(|it| &it.pod).filter(|pod| kept.contains(qualified(pod).as_str()));
        let containers = kept.flat_map(|pod| &pod.spec.containers);
        let is_probed =
            |it: &&Container| it.readiness_probe.is_some() || it.startup_probe.is_some();
        let containers = containers.filter(is_probed).count();
        (self.restarts && containers > 0)
            .then(|| Effect::new(Subject::Node, WhatIfRule::Readiness { containers, is_kept }))
    }

    fn image_gc(&self) -> Option<Effect> {
        let plan = |node: &Described<'_>| {
            let node = node.kubelet().ok()?;
            Some(image_gc_plan(node, &ImageGcOptions::new(Trigger::Periodic)).ok()?.plan)
        };
        if self.restarts {
            return self.image_gc_from_start();
        }
        let before = plan(&self.before)?;
        // The eviction manager looks at the disk every 10 s, and a collection comes every 5 minutes.
        let after = match self.after_images() {
            Some(node) => image_gc_plan(&node, &ImageGcOptions::new(Trigger::Periodic)).ok()?.plan,
            None => plan(&self.after)?,
        };
        let rule = match (&after.outcome.error, &before.outcome.error) {
            _ if after.lacks_settings() => {
                let differs = (&after.outcome.error, after.freed.images)
                    != (&before.outcome.error, before.freed.images);
                let rule = WhatIfRule::Missing {
                    about: "the images that go".to_owned(),
                    reason:
                        "the thresholds of image garbage collection are unknown (--kubelet-config)"
                            .to_owned(),
                };
                return differs.then(|| Effect::new(Subject::Node, rule));
            }
            (Some(error), None) => ImageGcChange::FallsShort { error: error.clone() },
            _ if after.freed.images > before.freed.images => ImageGcChange::Removes {
                images: after.freed.images,
                bytes: u64::try_from(after.freed.counted_bytes).unwrap_or(0),
                first: after
                    .items
                    .first()
                    .map(|it| names(&it.tags, &it.digests))
                    .unwrap_or_default(),
                before: before.freed.images,
            },
            _ => return None,
        };
        Some(Effect::new(Subject::Node, WhatIfRule::ImageGc(rule)))
    }

    /// Returns the collections of a kubelet that starts. It has found every image just now, so that the first one leaves
    /// those that are younger than `imageMinimumGCAge`; the next one comes five minutes later. They are compared with those of
    /// a start without the change.
    fn image_gc_from_start(&self) -> Option<Effect> {
        let plan = |node: &Described<'_>, minutes: i64| {
            let up = GoDuration(minutes * 60 * GoDuration::SECOND.0);
            let node = started(node.kubelet().ok()?, up);
            Some(image_gc_plan(&node, &ImageGcOptions::new(Trigger::Periodic)).ok()?.plan)
        };
        let (first, next) = (plan(&self.after, 0)?, plan(&self.after, 6)?);
        if first.run.wants_space != Some(true) && next.freed.images == 0 {
            return None;
        }
        let unchanged = plan(&self.before, 6);
        let before = unchanged.as_ref().map_or(0, |plan| plan.freed.images);
        let fails_before = unchanged.is_some_and(|plan| plan.outcome.error.is_some());
        let rule = ImageGcChange::FromStart {
            error: first.outcome.error.clone(),
            images: next.freed.images,
            bytes: u64::try_from(next.freed.at_most_bytes).unwrap_or(0),
            is_certain: next.freed.at_least_bytes == next.freed.at_most_bytes,
            next_error: next.outcome.error.clone(),
            removes_more: next.freed.images > before,
            fails_newly: next.outcome.error.is_some() && !fails_before,
        };
        Some(Effect::new(Subject::Node, WhatIfRule::ImageGc(rule)))
    }

    /// Reports images that become too old after a start with a shorter `imageMaximumGCAge`.
    fn images_age(&self) -> Option<Effect> {
        let maximum = |node: &Described<'_>| {
            let age = node.kubelet().ok()?.config().image_maximum_gc_age;
            (age.0 > 0).then_some(age)
        };
        let (before, after) = (maximum(&self.before), maximum(&self.after)?);
        if !self.restarts || before.is_some_and(|before| before.0 <= after.0) {
            return None;
        }
        let up = GoDuration(after.0.saturating_add(300 * GoDuration::SECOND.0));
        let node = started(self.after.kubelet().ok()?, up);
        let freed = image_gc_plan(&node, &ImageGcOptions::new(Trigger::Periodic)).ok()?.plan.freed;
        let bytes = u64::try_from(freed.by_age_bytes).unwrap_or(0);
        let rule = ImageGcChange::Ages { after, images: freed.images, bytes };
        (freed.images > 0).then(|| Effect::new(Subject::Node, WhatIfRule::ImageGc(rule)))
    }

    fn thresholds(&self, pods: &[PodOutcome]) -> Vec<Effect> {
        let finding = |rule| Effect::new(Subject::Node, WhatIfRule::Eviction(rule));
        let (before, after) = (crossed(&self.before), crossed(&self.after));
        let mut findings = self.other_thresholds();
        let is_new = |signal: &Signal| !before.contains_key(signal);
        let reclaim = if after.keys().any(is_new) { self.reclaim() } else { None };
        for (signal, (available, threshold)) in after.iter().filter(|(it, _)| is_new(it)) {
            let first = self.first_evicted(*signal, pods);
            findings.push(finding(EvictionChange::Crossed {
                signal: *signal,
                available: *available,
                threshold: *threshold,
                first,
                reclaim: reclaim.as_ref().and_then(|reclaim| reclaim.ahead(*signal)),
            }));
        }
        for signal in before.keys().filter(|signal| !after.contains_key(signal)) {
            findings.push(finding(EvictionChange::Relieved { signal: *signal }));
        }
        findings
    }

    /// Reports signals without a threshold from now on, and thresholds that cannot be compared.
    fn other_thresholds(&self) -> Vec<Effect> {
        // The kubelet derives these from the others.
        let is_derived = |signal: Signal| {
            use Signal::{AllocatableMemoryAvailable, ContainerFsAvailable, ContainerFsInodesFree};
            matches!(
                signal,
                AllocatableMemoryAvailable | ContainerFsAvailable | ContainerFsInodesFree
            )
        };
        let thresholds = |node: &Described<'_>| -> Vec<EvictionThreshold> {
            let all = node.kubelet().ok().and_then(|node| node.eviction_thresholds().ok());
            all.into_iter().flatten().filter(|it| !is_derived(it.signal)).collect()
        };
        let (before, after) = (thresholds(&self.before), thresholds(&self.after));
        let has = |list: &[EvictionThreshold], signal| list.iter().any(|it| it.signal == signal);
        let names = |signals: BTreeSet<Signal>| -> Vec<String> {
            signals.into_iter().map(|signal| signal.as_str().to_owned()).collect()
        };
        let off: BTreeSet<Signal> =
            before.iter().map(|it| it.signal).filter(|signal| !has(&after, *signal)).collect();
        let is_new = |it: &&EvictionThreshold| it.is_hard() && !before.contains(it);
        let new: BTreeSet<Signal> = after.iter().filter(is_new).map(|it| it.signal).collect();
        let is_measured = self.after.kubelet().is_ok_and(|node| stats(node).is_some());
        // That of the pods' memory goes with that of the node's, and without it where the kubelet no longer limits the pods.
        let watches_pods = |node: &Described<'_>| {
            let all = node.kubelet().ok().and_then(|node| node.eviction_thresholds().ok());
            all.is_some_and(|all| has(&all, Signal::AllocatableMemoryAvailable))
        };
        let is_off_for_pods = watches_pods(&self.before)
            && !watches_pods(&self.after)
            && has(&after, Signal::MemoryAvailable);
        let off_for_pods = is_off_for_pods.then_some(EvictionChange::OffForPods);
        let off = (!off.is_empty()).then(|| EvictionChange::Off { signals: names(off) });
        let unmeasured = (!new.is_empty() && !is_measured)
            .then(|| EvictionChange::Unmeasured { signals: names(new) });
        let rules = off.into_iter().chain(off_for_pods).chain(unmeasured);
        rules.map(|rule| Effect::new(Subject::Node, WhatIfRule::Eviction(rule))).collect()
    }

    /// Returns who is evicted first for a signal, of the pods that the start leaves.
    fn first_evicted(&self, signal: Signal, pods: &[PodOutcome]) -> Vec<String> {
        let Ok(node) = self.after.kubelet() else { return Vec::new() };
        let options = EvictionOptions {
            signal,
            node_name: node.snapshot.node.value().map(|it| it.metadata.name.clone()),
            stats_file: None,
            is_stored: true,
        };
        let Ok(rank) = eviction_rank(node, &options) else { return Vec::new() };
        let ends = |it: &&PodOutcome| {
            it.result.is_lost() && it.result != PodResult::Evicted && it.or_else.is_empty()
        };
        let ended: BTreeSet<&str> = pods.iter().filter(ends).map(|it| it.pod.as_str()).collect();
        let has_ended = |name: String| ended.contains(name.as_str());
        let first = rank.first_without(|pod| has_ended(pod.to_string()));
        first.one_of.iter().map(ToString::to_string).collect()
    }
}

/// Returns the crossed signals, with the available amount and the threshold.
fn crossed(node: &Described<'_>) -> BTreeMap<Signal, (i64, i64)> {
    let Ok(node) = node.kubelet() else { return BTreeMap::new() };
    let crossings = crossed_thresholds(node).unwrap_or_default();
    let met = crossings.iter().filter_map(|crossing| {
        let comparison = crossing.comparison.as_ref()?;
        let amounts =
            (comparison.observation.available.value(), comparison.threshold_quantity.value());
        Some((crossing.threshold.signal, amounts))
    });
    met.collect()
}
