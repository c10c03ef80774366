//! The work of a collection as the kubelet does it: its parts one after the other: containers,
//! sandboxes, the log folders of pods.
//!
//! `GarbageCollect`, `evictContainers`, `removeOldestN`, `evictSandboxes`, `removeOldestNSandboxes` and
//! `evictPodLogsDirectories` in `pkg/kubelet/kuberuntime/kuberuntime_gc.go`.

use super::plan::{
    ContainerGcPlan, ContainerGcPolicy, ContainerStep, LogDirectoryStep, Remaining, SandboxStep,
    Step, Tie,
};
use super::reason::{KeepReason, PodRemoval, RemovalReason};
use super::state::{Call, FailedCall, Failures, GcContainer, GcSandbox, GcState, GcTrigger};
use kq_facts::runtime::ContainerState;
use kq_k8s::duration::GoDuration;
use kq_k8s::go_text::quote;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The dead containers of one name in one pod: indices into the list, in the list's order until they are
/// sorted.
type Units<'a> = BTreeMap<(&'a str, &'a str), Vec<usize>>;

/// A collection at work.
pub(super) struct Collection<'a> {
    policy: &'a ContainerGcPolicy,
    pub(super) state: &'a GcState,
    trigger: GcTrigger,
    pub(super) failures: &'a Failures,
    pub(super) plan: ContainerGcPlan,
    /// Why each container stays; `None`: it is gone.
    pub(super) kept: Vec<Option<KeepReason>>,
}

impl<'a> Collection<'a> {
    pub(super) fn new(
        policy: &'a ContainerGcPolicy,
        state: &'a GcState,
        trigger: GcTrigger,
        failures: &'a Failures,
    ) -> Self {
        let kept = vec![Some(KeepReason::Running); state.containers.len()];
        Self { policy, state, trigger, failures, plan: ContainerGcPlan::default(), kept }
    }

    /// Does all parts; a failure of one does not stop the others.
    pub(super) fn run(mut self) -> ContainerGcPlan {
        self.containers();
        self.sandboxes();
        self.log_directories();
        let left = self.state.containers.iter().zip(self.kept);
        self.plan.containers = left
            .filter_map(|(container, kept)| {
                let (id, pod_uid) = (container.id.clone(), container.pod_uid.clone());
                Some(Remaining { id, pod_uid, reason: kept? })
            })
            .collect();
        self.plan
    }

    /// Returns why everything of a pod goes, if it does.
    pub(super) fn pod_removal(&self, uid: &str) -> Option<PodRemoval> {
        let pod = self.state.pods.get(uid).copied().unwrap_or_default();
        if pod.content_should_be_removed {
            return Some(PodRemoval::Content);
        }
        let ended = pod.runtime_should_be_removed && self.trigger == GcTrigger::Eviction;
        ended.then_some(PodRemoval::Runtime)
    }

    fn containers(&mut self) {
        if let Some(error) = &self.failures.list_containers {
            self.plan.errors.push(error.clone());
            self.kept.fill(Some(KeepReason::NotListed { error: error.clone() }));
            return;
        }
        let mut units = self.dead_units();
        let ready = self.state.all_sources_ready;
        units.retain(|(uid, _), unit| {
            let removal = self.pod_removal(uid).filter(|_| ready);
            if let Some(pod) = removal {
                self.remove_oldest(unit, 0, &RemovalReason::PodRemoved { pod });
            }
            removal.is_none()
        });
        if let Some(limit) = self.policy.max_per_pod_container {
            self.limit_units(&mut units, limit, |dead| RemovalReason::MaxPerPodContainer {
                limit,
                dead,
            });
        }
        let mut per_unit = self.policy.max_per_pod_container;
        let mut trimmed = false;
        if let Some(limit) = self.policy.max_containers
            && exceeds(count(&units), limit)
        {
            let share = limit.checked_div(units.len() as u64).unwrap_or(limit).max(1);
            self.limit_units(&mut units, share, |dead| RemovalReason::MaxContainersShare {
                limit,
                share,
                dead,
            });
            per_unit = Some(per_unit.map_or(share, |own| own.min(share)));
            let dead = count(&units);
            if exceeds(dead, limit) {
                let mut all: Vec<usize> = units.into_values().flatten().collect();
                all.sort_by_key(|at| Reverse(self.created_at(*at)));
                self.find_tie(&all, limit);
                let reason = RemovalReason::MaxContainersOldest { limit, dead };
                self.remove_oldest(&mut all, limit, &reason);
                units = self.units_of(all);
                trimmed = true;
            }
        }
        for (at, rank, uid) in ranked(&units, &self.state.containers) {
            let removal = self.pod_removal(uid);
            let reason = match (removal, per_unit, self.policy.max_containers) {
                // Had the sources been ready, it would be gone already.
                (Some(pod), ..) => KeepReason::SourcesNotReady { pod },
                (None, Some(limit), _) if !trimmed => KeepReason::NewestOfContainer { rank, limit },
                (None, _, Some(limit)) => KeepReason::WithinMaxContainers { limit },
                (None, Some(limit), None) => KeepReason::NewestOfContainer { rank, limit },
                (None, None, None) => KeepReason::NoLimit,
            };
            self.keep(at, reason);
        }
    }

    /// Returns the containers that may go: they do not run, and were created long enough ago.
    fn dead_units(&mut self) -> Units<'a> {
        let mut dead = Vec::new();
        for (at, container) in self.state.containers.iter().enumerate() {
            if container.state == ContainerState::Running {
                continue;
            }
            let age = i128::from(self.state.now) - i128::from(container.created_at);
            if age < i128::from(self.policy.min_age.0) {
                let age = age.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
                let min_age = self.policy.min_age;
                self.keep(at, KeepReason::TooYoung { age: GoDuration(age), min_age });
            } else {
                dead.push(at);
            }
        }
        self.units_of(dead)
    }

    fn units_of(&self, containers: Vec<usize>) -> Units<'a> {
        let mut units = Units::new();
        for at in containers {
            if let Some(container) = self.state.containers.get(at) {
                let unit = (container.pod_uid.as_str(), container.name.as_str());
                units.entry(unit).or_default().push(at);
            }
        }
        units
    }

    fn limit_units(
        &mut self,
        units: &mut Units<'_>,
        limit: u64,
        reason: impl Fn(usize) -> RemovalReason,
    ) {
        for unit in units.values_mut() {
            if exceeds(unit.len(), limit) {
                let reason = reason(unit.len());
                self.remove_oldest(unit, limit, &reason);
            }
        }
    }

    /// Removes the oldest down to a number. Nothing is sorted if nothing stays: then the last of the list
    /// goes first.
    fn remove_oldest(&mut self, list: &mut Vec<usize>, keep: u64, reason: &RemovalReason) {
        if keep > 0 {
            // Stable, as the kubelet's sort is for up to twelve.
            list.sort_by_key(|at| Reverse(self.created_at(*at)));
        }
        while exceeds(list.len(), keep)
            && let Some(at) = list.pop()
        {
            self.remove(at, reason.clone());
        }
    }

    fn remove(&mut self, at: usize, reason: RemovalReason) {
        let Some(container) = self.state.containers.get(at) else { return };
        let stop = container.state == ContainerState::Unknown;
        let calls: &[Call] = match stop {
            true => &[Call::ContainerStatus, Call::StopContainer, Call::RemoveContainer],
            false => &[Call::ContainerStatus, Call::RemoveContainer],
        };
        let failed = self.failures.first_of(calls, &container.id);
        if let Some(kept) = self.kept.get_mut(at) {
            *kept = failed.clone().map(KeepReason::Failed);
        }
        self.plan.steps.push(Step::Container(ContainerStep {
            id: container.id.clone(),
            pod_uid: container.pod_uid.clone(),
            name: container.name.clone(),
            state: container.state,
            created_at: container.created_at,
            stop_timeout_seconds: stop.then(|| container.stop_timeout_seconds()),
            reason,
            failed,
        }));
    }

    /// Notes where the limit of the node falls between containers of equal age; they are sorted.
    fn find_tie(&mut self, all: &[usize], limit: u64) {
        let keep = usize::try_from(limit).unwrap_or(usize::MAX);
        let created_at = |at: usize| all.get(at).map(|container| self.created_at(*container));
        let (last_kept, first_gone) = (keep.checked_sub(1).and_then(created_at), created_at(keep));
        if let Some(created_at) = last_kept.filter(|_| last_kept == first_gone) {
            let gone = all.iter().skip(keep);
            let removed = gone.filter(|at| self.created_at(**at) == created_at).count();
            let tied = all.iter().filter_map(|at| self.state.containers.get(*at));
            let ids = tied.filter(|container| container.created_at == created_at);
            let ids = ids.map(|container| container.id.clone()).collect();
            self.plan.tie = Some(Tie { created_at, ids, removed });
        }
    }

    fn created_at(&self, at: usize) -> i64 {
        self.state.containers.get(at).map_or(i64::MAX, |container| container.created_at)
    }

    fn keep(&mut self, at: usize, reason: KeepReason) {
        if let Some(kept) = self.kept.get_mut(at) {
            *kept = Some(reason);
        }
    }
}

/// Returns true if there are more than a limit.
fn exceeds(number: usize, limit: u64) -> bool {
    u64::try_from(number).is_ok_and(|number| number > limit)
}

fn count(units: &Units<'_>) -> usize {
    units.values().map(Vec::len).sum()
}

/// Walks over the containers of units with their rank from the newest, and the UID of their pod.
fn ranked<'a>(units: &Units<'a>, containers: &[GcContainer]) -> Vec<(usize, usize, &'a str)> {
    let created_at = |at: &usize| containers.get(*at).map(|container| container.created_at);
    let mut all = Vec::new();
    for ((uid, _), unit) in units {
        let mut unit = unit.clone();
        unit.sort_by_key(|at| Reverse(created_at(at)));
        let ranks = unit.into_iter().zip(1..);
        all.extend(ranks.map(|(at, rank)| (at, rank, *uid)));
    }
    all
}

impl Collection<'_> {
    /// Removes the log folders of pods that are gone; the folder is not even read before every source of
    /// pods is ready.
    pub(super) fn log_directories(&mut self) {
        let ready = self.state.all_sources_ready;
        let unread = self.failures.read_log_root.as_ref().filter(|_| ready);
        if let Some(error) = unread {
            let root = quote(&self.state.log_root);
            self.plan.errors.push(format!("failed to read podLogsDirectory {root}: {error}"));
        }
        for name in &self.state.log_directories {
            let uid = name.rsplit_once('_').map_or(name.as_str(), |(_, uid)| uid);
            let pod = self.state.pods.get(uid).copied().unwrap_or_default();
            let (pod_uid, pod) = (uid.to_owned(), (pod.content_should_be_removed, ready, unread));
            let kept = match pod {
                (_, _, Some(error)) => Some(KeepReason::NotListed { error: error.clone() }),
                (false, ..) => Some(KeepReason::PodExists),
                (true, false, None) => {
                    Some(KeepReason::SourcesNotReady { pod: PodRemoval::Content })
                }
                (true, true, None) => {
                    let failed = self.failures.first_of(&[Call::RemoveLogDirectory], name);
                    self.plan.steps.push(Step::LogDirectory(LogDirectoryStep {
                        root: self.state.log_root.clone(),
                        name: name.clone(),
                        pod_uid: pod_uid.clone(),
                        reason: RemovalReason::PodRemoved { pod: PodRemoval::Content },
                        failed: failed.clone(),
                    }));
                    failed.map(KeepReason::Failed)
                }
            };
            self.plan.log_directories.extend(kept.map(|reason| Remaining {
                id: name.clone(),
                pod_uid,
                reason,
            }));
        }
    }
}

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
