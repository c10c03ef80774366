//! Planned cgroups that the kernel does not have.

use crate::live::diff::Comparison;
use crate::live::difference::{Difference, Verdict};
use crate::plan::{Owner, PlannedCgroup};
use kq_facts::cgroup_tree::CgroupPath;
use kq_facts::runtime::ContainerState;
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::{ContainerStatus, Pod};

impl<'a> Comparison<'a> {
    /// Judges a planned cgroup that the kernel does not have.
    pub(super) fn absent(&mut self, cgroup: &'a PlannedCgroup<'a>) {
        let (verdict, reason) = match cgroup.owner {
            Owner::Node(_) | Owner::Qos(_) => match self.unknown_place() {
                Some(reason) => (Verdict::Unknown, reason),
                None => (Verdict::Missing, "no such cgroup".to_owned()),
            },
            Owner::Pod(pod, _) => self.absent_pod(pod),
            Owner::Container { pod, status, .. } => {
                match self.absent_container(cgroup, pod, status) {
                    Some(judged) => judged,
                    None => return,
                }
            }
        };
        let reason = Some(reason);
        self.found.push(Difference { reason, ..Difference::of(cgroup, None, verdict) });
    }

    /// Returns why it is not known where the kubelet's cgroups are, unless they are where the plan has
    /// them.
    fn unknown_place(&self) -> Option<String> {
        let kubepods = self.plan.roots.first()?;
        if self.tree.get(&CgroupPath::new(&kubepods.path)).is_some() {
            return None;
        }
        self.plan.unknown_place().map(|unknown| unknown.reason)
    }

    fn absent_pod(&self, pod: &Pod) -> (Verdict, String) {
        if let Some(reason) = self.unknown_place() {
            return (Verdict::Unknown, reason);
        }
        let uid = effective_uid(pod);
        if uid.is_empty() {
            let reason = "the manifest has no UID, and no pod of this name is on the node";
            return (Verdict::Unknown, reason.to_owned());
        }
        let alive = self.context.workloads.pod(uid).is_some_and(|pod| pod.alive);
        match (self.context.runtime_known, alive) {
            (true, true) if has_new_status(pod) => {
                let reason = "the kubelet has begun a new status of the pod, without conditions: the pod is being \
                              started or ended";
                (Verdict::Changing, reason.to_owned())
            }
            (true, true) if pod.status.phase != "Pending" => {
                (Verdict::Missing, "the pod runs and has no cgroup".to_owned())
            }
            (true, _) => (Verdict::Unknown, "the pod has not been started here".to_owned()),
            (false, _) => {
                let reason = "no such cgroup, and the pod's state is unknown";
                (Verdict::Unknown, reason.to_owned())
            }
        }
    }

    fn absent_container(
        &self,
        cgroup: &PlannedCgroup<'_>,
        pod: &Pod,
        status: Option<&ContainerStatus>,
    ) -> Option<(Verdict, String)> {
        let parent = CgroupPath::new(&cgroup.path).parent();
        if parent.is_none_or(|parent| self.tree.get(&parent).is_none()) {
            // Said of the pod already.
            return None;
        }
        match self.state(status) {
            Some(ContainerState::Running)
                if self.context.in_machines.contains(effective_uid(pod)) =>
            {
                let reason = "Kata Containers runs it in the virtual machine of its pod, and it has no cgroup on \
                              the node";
                Some((Verdict::Unknown, reason.to_owned()))
            }
            Some(ContainerState::Running)
                if self.context.handlers.contains_key(effective_uid(pod)) =>
            {
                let reason = "its RuntimeClass has a runtime that may give containers no cgroups";
                Some((Verdict::Unknown, reason.to_owned()))
            }
            Some(ContainerState::Running) => {
                Some((Verdict::Missing, "the container runs and has no cgroup".to_owned()))
            }
            Some(ContainerState::Exited | ContainerState::Created) => None,
            // What the runtime does not have does not run.
            _ if self.context.runtime_known => None,
            _ => Some((Verdict::Unknown, "the container's state is unknown".to_owned())),
        }
    }

    /// Returns the state of a container; `None`: it is unknown.
    fn state(&self, status: Option<&ContainerStatus>) -> Option<ContainerState> {
        let (_, id) = status?.container_id.split_once("://")?;
        self.context.workloads.container(id).map(|known| known.state)
    }

    /// Judges a container for which the kubelet asks for no place: with `cgroupsPerQOS: false` it names no
    /// parent (`podContainerManagerNoop`, `pkg/kubelet/cm/pod_container_manager_linux.go`).
    pub(super) fn unplaced_container(
        &mut self,
        cgroup: &'a PlannedCgroup<'a>,
        status: Option<&ContainerStatus>,
    ) {
        let runs = match self.state(status) {
            Some(state) => state == ContainerState::Running,
            None => !self.context.runtime_known,
        };
        if runs && self.is_selected(cgroup) {
            let reason = "cgroupsPerQOS is false: the kubelet asks for no parent, and the runtime \
                          decides the place";
            self.found.push(Difference {
                reason: Some(reason.to_owned()),
                ..Difference::of(cgroup, None, Verdict::Unknown)
            });
        }
    }
}

/// Returns true if an API server has a status of a running pod in which the kubelet reports nothing yet, as it does for a
/// pod that it refuses, or takes up again after its restart.
fn has_new_status(pod: &Pod) -> bool {
    let status = &pod.status;
    status.phase == "Running"
        && status.conditions.is_empty()
        && status.start_time.is_some()
        && pod.metadata.generation.is_some()
}
