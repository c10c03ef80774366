//! The part of a collection that removes sandboxes.
//!
//! `evictSandboxes` and `removeOldestNSandboxes` in `pkg/kubelet/kuberuntime/kuberuntime_gc.go`.

use super::collect::Collection;
use super::failures::{Call, FailedCall};
use super::plan::{Remaining, SandboxStep, Step};
use super::reason::{KeepReason, RemovalReason};
use super::state::GcSandbox;
use std::cmp::Reverse;
use std::collections::BTreeMap;

impl Collection<'_> {
    /// Removes sandboxes; containers are listed again, so one that was just freed can go at once.
    pub(super) fn sandboxes(&mut self) {
        let sandboxes = &self.state.sandboxes;
        let remaining = |sandbox: &GcSandbox, reason| Remaining {
            id: sandbox.id.clone(),
            pod_uid: sandbox.pod_uid.clone(),
            reason,
        };
        let failed =
            self.failures.list_containers_again.as_ref().or(self.failures.list_sandboxes.as_ref());
        if let Some(error) = failed {
            self.plan.errors.push(error.clone());
            let unknown =
                |sandbox| remaining(sandbox, KeepReason::NotListed { error: error.clone() });
            self.plan.sandboxes = sandboxes.iter().map(unknown).collect();
            return;
        }
        let mut used: BTreeMap<&str, usize> = BTreeMap::new();
        let left = self.state.containers.iter().zip(&self.kept).filter(|(_, kept)| kept.is_some());
        for (container, _) in left {
            let containers = used.entry(&container.sandbox_id).or_default();
            *containers = containers.saturating_add(1);
        }
        let mut pods: BTreeMap<&str, Vec<(usize, &GcSandbox)>> = BTreeMap::new();
        for (at, sandbox) in sandboxes.iter().enumerate() {
            pods.entry(&sandbox.pod_uid).or_default().push((at, sandbox));
        }
        let mut kept: Vec<Option<KeepReason>> = vec![None; sandboxes.len()];
        let mut keep = |at: usize, reason: Option<KeepReason>| {
            if let Some(kept) = kept.get_mut(at) {
                *kept = reason;
            }
        };
        for (uid, mut list) in pods {
            let removal = self.pod_removal(uid);
            if removal.is_none() {
                list.sort_by_key(|(_, sandbox)| Reverse(sandbox.created_at));
            }
            let mut list = list.into_iter();
            let reason = match removal {
                Some(pod) => RemovalReason::PodRemoved { pod },
                None => {
                    let Some((at, newest)) = list.next() else { continue };
                    keep(at, Some(KeepReason::NewestSandbox));
                    RemovalReason::NewerSandbox { newest: newest.id.clone() }
                }
            };
            for (at, sandbox) in list.rev() {
                let containers = used.get(sandbox.id.as_str()).copied().unwrap_or_default();
                if sandbox.ready {
                    keep(at, Some(KeepReason::Ready));
                } else if containers > 0 {
                    keep(at, Some(KeepReason::HasContainers { containers }));
                } else {
                    let calls = [Call::StopSandbox, Call::RemoveSandbox];
                    let failed: Option<FailedCall> = self.failures.first_of(&calls, &sandbox.id);
                    keep(at, failed.clone().map(KeepReason::Failed));
                    self.plan.steps.push(Step::Sandbox(SandboxStep {
                        id: sandbox.id.clone(),
                        pod_uid: sandbox.pod_uid.clone(),
                        created_at: sandbox.created_at,
                        reason: reason.clone(),
                        failed,
                    }));
                }
            }
        }
        let left = sandboxes.iter().zip(kept);
        self.plan.sandboxes =
            left.filter_map(|(sandbox, kept)| Some(remaining(sandbox, kept?))).collect();
    }
}
