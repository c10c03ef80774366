//! Huge pages in the kubelet's measurement of memory.

use super::state::NodeState;
use crate::what_if::change::Change;
use kq_answer::Basis;
use kq_facts::snapshot::Snapshot;
use kq_k8s::quantity::Quantity;
use kq_output::units::bytes;

/// Turns the available memory of the node into what the other kubelet reports: with HugepageAwareEviction (since 1.37, by a
/// gate) the huge pages of the Node object are taken from it, not below zero (`adjustForHugePages`,
/// `pkg/kubelet/server/stats/summary.go`, of whose merged form the test was read). Amounts that a change names stay.
pub fn adjust(before: &NodeState, after: &mut NodeState, changes: &[Change], basis: &mut Basis) {
    let is_named = changes.iter().any(|change| matches!(change, Change::MemoryAvailable { .. }));
    if is_named || !changes.iter().any(Change::restarts_kubelet) {
        return;
    }
    let subtracts =
        |state: &NodeState| Some(state.node().ok()?.kubelet.rules.subtracts_hugepages());
    let Some(hugepages) = hugepages(&after.snapshot).filter(|bytes| *bytes > 0) else { return };
    let (Some(was), Some(is)) = (subtracts(before), subtracts(after)) else { return };
    if was == is {
        return;
    }
    let memory = after.snapshot.stats_summary.found.as_mut();
    let memory = memory.and_then(|found| found.value.node.memory.as_mut());
    let Some(available) = memory.and_then(|memory| memory.available_bytes.as_mut()) else { return };
    let amount = bytes(hugepages);
    *available = match is {
        true => available.saturating_sub(hugepages),
        false => available.saturating_add(hugepages),
    };
    basis.assume(match is {
        true => format!("memory.available is less by the huge pages of the node, {amount}"),
        false => format!(
            "memory.available is more by the huge pages of the node, {amount}: the kubelet no longer subtracts them"
        ),
    });
}

/// Returns the bytes of all huge pages in the capacity of the Node object; `None`: it is not known.
pub fn hugepages(snapshot: &Snapshot) -> Option<u64> {
    let object = snapshot.node.value()?;
    let sizes = object.status.capacity.iter().filter(|(name, _)| name.hugepage_size().is_some());
    let amounts = sizes.map(|(_, amount)| u64::try_from(Quantity::value(amount)).unwrap_or(0));
    Some(amounts.fold(0, u64::saturating_add))
}
