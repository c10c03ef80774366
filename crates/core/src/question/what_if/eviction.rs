//! The pods that the eviction manager evicts.

use super::pods::{PodEffects, Transition};
use super::state::NodeState;
use crate::question::admission::{AdmissionNode, start_pressure};
use crate::question::eviction::{EvictionOptions, crossed_thresholds, eviction_rank};
use crate::question::measured::stats;
use crate::question::reclaim::{Sufficiency, node_reclaim};
use crate::what_if::{OpenCause, PodResult};
use kq_answer::{Basis, Failure};
use kq_facts::kubelet_config::Signal;
use kq_facts::node::Node;
use std::collections::{BTreeMap, BTreeSet};

impl Transition<'_> {
    /// Marks the pods that the eviction manager evicts, in order of usage, until the pressure ends.
    pub(super) fn evictions(
        &self,
        about: &AdmissionNode,
        effects: &mut PodEffects,
        basis: &mut Basis,
    ) -> Result<(), Failure> {
        let mut ignored = Basis::default();
        if stats(&about.node).is_none() || start_pressure(about, &mut ignored)?.is_empty() {
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
        let shortages = shortages(&about.node);
        let is_of_disk = shortages.iter().any(|(signal, _)| signal.filesystem().is_some());
        let reclaim = if is_of_disk { node_reclaim(&about.node).ok() } else { None };
        for (signal, missing) in shortages {
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
            let Ok(rank) = eviction_rank(&about.node, &options) else { continue };
            // Freed disk space helps both signals of a file system.
            if under.replace(rank.condition) != Some(rank.condition) {
                freed = Some(i64::try_from(reclaimed).unwrap_or(i64::MAX));
            }
            let left = rank.items.iter().filter(|item| !item.critical);
            let names =
                left.map(|item| (format!("{}/{}", item.pod.namespace, item.pod.name), item.usage));
            let left: Vec<_> = names.filter(|(name, _)| !gone.contains(name)).collect();
            for (name, usage) in left {
                if freed.is_some_and(|freed| freed >= missing) {
                    break;
                }
                // Without usage, the order is unknown too.
                let is_open = freed.is_none() || usage.is_none();
                if let Some(at) = places.get(&name) {
                    let outcome = &mut effects.outcomes[*at];
                    if is_open || may_suffice {
                        let cause = if may_suffice { OpenCause::Reclaim } else { OpenCause::Usage };
                        outcome.or_else.push(PodResult::Kept);
                        outcome.depends_on = Some(cause.to_string());
                    }
                    outcome.result = PodResult::Evicted;
                    outcome.containers.clear();
                    outcome.reason = Some("Evicted".to_owned());
                    outcome.message = Some(rank.condition.as_str().to_owned());
                    place += 1;
                    outcome.place = Some(place);
                    gone.insert(name);
                }
                let used = usage.and_then(|it| i64::try_from(it).ok());
                freed = freed.zip(used).map(|(freed, used)| freed.saturating_add(used));
            }
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
    /// Returns the node once the reclaim has ended the pressure on its disks; `None`: there is none, or it does not.
    pub(super) fn after_reclaim(&self) -> Option<NodeState> {
        let node = self.after.kubelet().ok()?;
        let shortages = shortages(node);
        let reclaim = node_reclaim(node).ok()?;
        let is_enough = |signal: Signal| {
            reclaim.ahead(signal).is_some_and(|ahead| ahead.sufficiency == Sufficiency::Enough)
        };
        if shortages.is_empty() || !shortages.iter().all(|(signal, _)| is_enough(*signal)) {
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
        }
        Some(state)
    }
}

/// Returns the signals whose hard threshold is crossed, and the missing amount.
fn shortages(node: &Node) -> Vec<(Signal, i64)> {
    let crossings = crossed_thresholds(node).unwrap_or_default();
    let hard = crossings.iter().filter(|crossing| crossing.threshold.is_hard());
    let missing = hard.filter_map(|crossing| {
        let comparison = crossing.comparison.as_ref()?;
        let missing =
            comparison.threshold_quantity.value() - comparison.observation.available.value();
        Some((crossing.threshold.signal, missing))
    });
    missing.collect()
}
