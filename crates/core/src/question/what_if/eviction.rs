//! The pods that the eviction manager evicts.

use super::pods::{PodEffects, Transition};
use super::state::NodeState;
use crate::question::admission::{AdmissionNode, start_pressure};
use crate::question::eviction::{EvictionOptions, crossed_thresholds, eviction_rank};
use crate::question::image_gc::{ImageGcOptions, Trigger, image_gc_plan};
use crate::question::measured::stats;
use crate::question::reclaim::{NodeReclaim, Sufficiency, node_reclaim, removes_images};
use crate::what_if::change::Change;
use crate::what_if::{OpenCause, PodOutcome, PodResult};
use kq_admission::qualified;
use kq_answer::{Basis, Failure, Missing, MissingFact};
use kq_facts::filesystems::FolderRole;
use kq_facts::kubelet::KubeletStart;
use kq_facts::kubelet_config::Signal;
use kq_facts::lookup::Lookup;
use kq_facts::node::Node;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::ResourceName;
use kq_k8s::priority::is_critical_pod;
use kq_k8s::quantity::Quantity;
use std::collections::{BTreeMap, BTreeSet};

impl Transition<'_> {
    /// Marks the pods that the eviction manager evicts, in order of usage, until the pressure ends.
    pub(super) fn evictions(
        &self,
        about: &AdmissionNode,
        effects: &mut PodEffects,
        basis: &mut Basis,
    ) -> Result<(), Failure> {
        let mut measured = Basis::default();
        let pressure = start_pressure(about, &mut measured)?;
        // A change of what is measured, or of what that is compared with, decides by facts that may be missing.
        let is_amount =
            |it: &Change| matches!(it, Change::Disk { .. } | Change::MemoryAvailable { .. });
        if self.changes.iter().any(is_amount) {
            let new = measured.missing.into_iter().filter(|it| !basis.missing.contains(it));
            basis.lack_all(new.collect::<Vec<_>>());
        }
        if stats(&about.node).is_none() || pressure.is_empty() {
            return Ok(());
        }
        let mut gone: BTreeSet<String> = effects
            .outcomes
            .iter()
            .filter(|it| it.result.is_lost())
            .map(|it| it.pod.clone())
            .collect();
        let places: BTreeMap<String, usize> =
            effects.outcomes.iter().enumerate().map(|(at, it)| (it.pod.clone(), at)).collect();
        let (mut place, mut under, mut freed) = (0, None, Some(0_i64));
        let shortages = self.new_shortages(&about.node, basis);
        let reclaim = self.reclaim_of_disks(&shortages);
        for Shortage { signal, missing, has_grace } in shortages {
            let ahead = reclaim.as_ref().and_then(|reclaim| reclaim.ahead(signal));
            let sufficiency = ahead.map(|ahead| ahead.sufficiency);
            if sufficiency == Some(Sufficiency::Enough) {
                continue;
            }
            // Without the images, whether anything is reclaimed is not known either.
            let may_suffice = sufficiency == Some(Sufficiency::Unknown)
                || signal.filesystem().is_some() && reclaim.is_none();
            let reclaimed = reclaim.as_ref().map_or(0, |reclaim| reclaim.least_bytes(signal));
            let options = EvictionOptions {
                signal,
                node_name: about.node.snapshot.node.value().map(|it| it.metadata.name.clone()),
                stats_file: None,
                is_stored: true,
            };
            let unknown = |reason: String| {
                let text = format!("which pods are evicted for {}: {reason}", signal.as_str());
                Missing::new(MissingFact::PodStats, text)
            };
            let rank = match eviction_rank(&about.node, &options) {
                Ok(rank) => rank,
                Err(failure) => {
                    basis.lack(unknown(failure.reason()));
                    leave_open(about, effects);
                    continue;
                }
            };
            if rank.items.is_empty() && !rank.basis.missing.is_empty() {
                basis.lack_all(rank.basis.missing.iter().map(|it| unknown(it.to_string())));
                leave_open(about, effects);
            }
            // Freed disk space helps both signals of a file system.
            if under.replace(rank.condition) != Some(rank.condition) {
                freed = Some(i64::try_from(reclaimed).unwrap_or(i64::MAX));
            }
            let left = rank.items.iter().filter(|item| !item.critical);
            let names = left.map(|item| (item.pod.to_string(), item.usage, item.rank));
            let left: Vec<_> = names.filter(|(name, ..)| !gone.contains(name)).collect();
            // Another threshold, with what is to be reclaimed at least, may want more than this one: one pod is evicted before
            // the kubelet measures again.
            let mut is_wanted = sufficiency == Some(Sufficiency::NotEnough) && place == 0;
            let mut last_rank = None;
            for (name, usage, pod_rank) in &left {
                if !is_wanted && freed.is_some_and(|freed| freed >= missing) {
                    break;
                }
                is_wanted = false;
                // Without usage, the order is unknown too.
                let is_open = freed.is_none() || usage.is_none();
                if let Some(at) = places.get(name) {
                    let outcome = &mut effects.outcomes[*at];
                    if is_open || may_suffice || has_grace {
                        let cause = match (may_suffice, has_grace) {
                            (true, _) => OpenCause::Reclaim,
                            (false, true) => OpenCause::Grace,
                            (false, false) => OpenCause::Usage,
                        };
                        outcome.or_else.push(PodResult::Kept);
                        outcome.depends_on = Some(cause.to_string());
                    }
                    outcome.result = PodResult::Evicted;
                    outcome.containers.clear();
                    outcome.reason = Some("Evicted".to_owned());
                    outcome.message = Some(rank.condition.as_str().to_owned());
                    place += 1;
                    outcome.place = Some(place);
                    gone.insert(name.clone());
                }
                last_rank = Some(*pod_rank);
                let used = usage.and_then(|it| i64::try_from(it).ok());
                freed = freed.zip(used).map(|(freed, used)| freed.saturating_add(used));
            }
            let tied = left.iter().filter(|(.., rank)| Some(*rank) == last_rank);
            let tied: Vec<usize> =
                tied.filter_map(|(name, ..)| places.get(name).copied()).collect();
            leave_ties_open(&tied, &mut effects.outcomes);
        }
        if place > 0 {
            basis.assume(
                "the eviction manager evicts pods until the usage of the evicted pods covers the shortage"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

impl Transition<'_> {
    /// Returns the shortages that the changes make, or make larger. The pods that the kubelet evicts for the others is no effect of
    /// them.
    fn new_shortages(&self, node: &Node, basis: &mut Basis) -> Vec<Shortage> {
        let before = self.before.kubelet().map(|node| shortages(node)).unwrap_or_default();
        let is_old = |it: &Shortage| {
            let mut same = before.iter().filter(|old| old.signal == it.signal);
            same.any(|old| old.missing >= it.missing && old.has_grace <= it.has_grace)
        };
        let (old, new): (Vec<_>, Vec<_>) = shortages(node).into_iter().partition(is_old);
        if !old.is_empty() {
            let signals: Vec<&str> = old.iter().map(|it| it.signal.as_str()).collect();
            basis.assume(format!(
                "{} is short without the change too: what the kubelet evicts for it is no effect of the change (kq evict \
                 rank)",
                signals.join(", ")
            ));
        }
        new
    }

    /// Returns the node once what the kubelet reclaims and evicts has ended the pressure on its disks; `None`: there is none.
    pub(super) fn after_reclaim(&self) -> Option<NodeState> {
        let node = self.after.kubelet().ok()?;
        let shortages = shortages(node);
        if shortages.is_empty() {
            return None;
        }
        let mut state = self.after.state.clone();
        state.snapshot.stats_summary.found = stats(node).cloned();
        let stats = &mut state.snapshot.stats_summary.found.as_mut()?.value.node;
        let runtime = stats.runtime.iter_mut();
        let of_runtime = runtime.flat_map(|it| it.image_fs.iter_mut().chain(&mut it.container_fs));
        // How much is free does not matter any more: no threshold is crossed.
        for fs in stats.fs.iter_mut().chain(of_runtime) {
            fs.available_bytes = fs.capacity_bytes;
            fs.inodes_free = fs.inodes.or(fs.inodes_free);
        }
        let folders = state.snapshot.folders.values_mut();
        for fs in folders.filter_map(|it| it.filesystem.found.as_mut()).map(|it| &mut it.value) {
            fs.available_bytes = fs.capacity_bytes;
            fs.inodes_free = fs.inodes;
        }
        let capacity = node.snapshot.node.value();
        let capacity = capacity.and_then(|it| it.status.capacity.get(&ResourceName::Memory));
        if let (Some(memory), Some(capacity)) = (&mut stats.memory, capacity) {
            memory.available_bytes =
                u64::try_from(capacity.value()).ok().or(memory.available_bytes);
        }
        Some(state)
    }
}

impl Transition<'_> {
    /// Returns what the eviction manager reclaims after the change before it evicts a pod; `None`: the images or the containers
    /// are not known.
    pub(super) fn reclaim(&self) -> Option<NodeReclaim> {
        match self.restarts {
            true => node_reclaim(&started(self.after.kubelet().ok()?, GoDuration(0))).ok(),
            false => node_reclaim(self.after.kubelet().ok()?).ok(),
        }
    }

    /// Returns what the eviction manager reclaims once the disks have their turn; `None`: none is short, or the images or the
    /// containers are not known.
    fn reclaim_of_disks(&self, shortages: &[Shortage]) -> Option<NodeReclaim> {
        let is_of_disk = |it: &Shortage| it.signal.filesystem().is_some();
        if !shortages.iter().any(is_of_disk) {
            return None;
        }
        if shortages.iter().all(is_of_disk) {
            return self.reclaim();
        }
        // Memory comes first, and is no longer short when they have it.
        let mut state = self.after.state.clone();
        state.snapshot.stats_summary.found = stats(self.after.kubelet().ok()?).cloned();
        let stats = &mut state.snapshot.stats_summary.found.as_mut()?.value.node;
        let capacity = state.snapshot.node.value().and_then(|node| {
            let capacity = node.status.capacity.get(&ResourceName::Memory)?;
            u64::try_from(capacity.value()).ok()
        });
        stats.memory.as_mut()?.available_bytes = capacity;
        let node = state.node().ok()?;
        match self.restarts {
            true => node_reclaim(&started(&node, GoDuration(0))).ok(),
            false => node_reclaim(&node).ok(),
        }
    }

    /// Returns the node once the eviction manager has removed images; `None`: it removes none.
    pub(super) fn after_images(&self) -> Option<Node> {
        let node = self.after.kubelet().ok()?;
        let answer = image_gc_plan(node, &ImageGcOptions::new(Trigger::Eviction)).ok()?;
        if !removes_images(&answer) {
            return None;
        }
        let plan = answer.plan;
        let freed = plan.freed.real_bytes?;
        let gone = plan.items.iter().filter(|it| it.verdict.is_removal());
        let gone: BTreeSet<String> = gone.map(|it| it.id.clone()).collect();
        if gone.is_empty() {
            return None;
        }
        let mut state = self.after.state.clone();
        let images = &mut state.snapshot.runtime.found.as_mut()?.value.images;
        images.found.as_mut()?.value.retain(|image| !gone.contains(&image.id));
        let folder = state.snapshot.folders.get_mut(&FolderRole::Images)?;
        let disk = &mut folder.filesystem.found.as_mut()?.value;
        let available = disk.available_bytes.saturating_add(freed);
        disk.available_bytes = available.min(disk.capacity_bytes);
        state.node().ok()
    }
}

/// Leaves open which of equal pods are evicted, where only some are.
fn leave_ties_open(tied: &[usize], outcomes: &mut [PodOutcome]) {
    let is_evicted = |at: &usize| outcomes[*at].result == PodResult::Evicted;
    if tied.iter().all(is_evicted) {
        return;
    }
    for at in tied {
        let outcome = &mut outcomes[*at];
        let other = match outcome.result {
            PodResult::Evicted => PodResult::Kept,
            PodResult::Kept => PodResult::Evicted,
            _ => continue,
        };
        if !outcome.or_else.contains(&other) {
            outcome.or_else.push(other);
        }
        outcome.depends_on.get_or_insert_with(|| OpenCause::EqualRank.to_string());
    }
}

/// Leaves open which of the pods are evicted, of those that the kubelet evicts.
fn leave_open(about: &AdmissionNode, effects: &mut PodEffects) {
    let pods = about.node.allocated_pods();
    let spared = pods.iter().filter(|pod| is_critical_pod(pod)).map(|pod| qualified(pod));
    let spared: BTreeSet<String> = spared.collect();
    let stays = |it: &&mut PodOutcome| it.result == PodResult::Kept && it.or_else.is_empty();
    for outcome in effects.outcomes.iter_mut().filter(stays) {
        if !spared.contains(&outcome.pod) {
            outcome.or_else.push(PodResult::Evicted);
            outcome.depends_on = Some(OpenCause::Rank.to_string());
        }
    }
}

/// Returns the node of a kubelet that has been up for so long. A kubelet that starts has found every image just now, and knows
/// of no use.
pub(super) fn started(node: &Node, up: GoDuration) -> Node {
    let mut node = node.clone();
    node.snapshot.image_records = Lookup::default();
    node.kubelet_start =
        Some(KubeletStart { at: node.now.plus(-up.0), source: "the change".to_owned() });
    node
}

/// A signal of which a threshold is crossed.
#[derive(Clone, Copy)]
struct Shortage {
    signal: Signal,
    /// What has to come free: up to the threshold, and what is to be reclaimed beyond it (`evictionMinimumReclaim`).
    missing: i64,
    /// Only soft thresholds with a grace period are crossed.
    has_grace: bool,
}

/// Returns the signals of which a threshold is crossed, memory first (`byEvictionPriority`,
/// `pkg/kubelet/eviction/helpers.go`).
fn shortages(node: &Node) -> Vec<Shortage> {
    let mut all: Vec<Shortage> = Vec::new();
    for crossing in crossed_thresholds(node).unwrap_or_default() {
        let Some(comparison) = &crossing.comparison else { continue };
        let wanted = comparison.threshold_quantity.value();
        let beyond = comparison.min_reclaim.as_ref().map_or(0, Quantity::value);
        let missing =
            wanted.saturating_add(beyond).saturating_sub(comparison.observation.available.value());
        let signal = crossing.threshold.signal;
        let has_grace = crossing.threshold.grace_period.0 > 0;
        match all.iter_mut().find(|it| it.signal == signal) {
            Some(known) => {
                known.missing = known.missing.max(missing);
                known.has_grace &= has_grace;
            }
            None => all.push(Shortage { signal, missing, has_grace }),
        }
    }
    let is_memory =
        |signal| matches!(signal, Signal::MemoryAvailable | Signal::AllocatableMemoryAvailable);
    all.sort_by_key(|it| !is_memory(it.signal));
    all
}
