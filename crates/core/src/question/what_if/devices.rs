//! The effect of a kubelet restart on pods with devices.

use super::pods::{Transition, survival};
use super::state::NodeState;
use crate::kubelet_start::StartFinding;
use crate::question::admission::{AdmissionNode, KubeletStart};
use crate::question::device_panic::device_panic;
use crate::question::devices::admission::{PluginStart, restarted_containers};
use crate::question::devices::plan::{Holder, holders_of};
use crate::what_if::change::Change;
use crate::what_if::{Effect, OpenCause, PodOutcome, PodResult, WhatIfRule};
use kq_admission::preemption::{ReadmissionResult, TiedOrder};
use kq_admission::qualified;
use kq_answer::{Failure, Subject};
use kq_facts::devices::DeviceFacts;
use kq_facts::workloads::effective_uid;
use kq_k8s::patch_fixes::PatchFault;
use kq_k8s::pod::Pod;
use kq_managers::reconstruct::asked_devices;
use std::collections::{BTreeMap, BTreeSet};

impl Transition<'_> {
    /// Reports the pods that hold a device which its plugin lists no longer, as `kq devices plan --unhealthy` does.
    pub(super) fn holders(&self, pods: &[PodOutcome]) -> Vec<Effect> {
        let unhealthy = self.gone_devices();
        let Ok(node) = self.before.kubelet() else { return Vec::new() };
        if unhealthy.is_empty() {
            return Vec::new();
        }
        let holders = match holders_of(node, unhealthy) {
            Ok(holders) => holders,
            Err(failure) => return vec![super::missing("the holders of devices", &failure)],
        };
        let lost: BTreeSet<&str> =
            pods.iter().filter(|it| it.result.is_lost()).map(|it| it.pod.as_str()).collect();
        let stay = holders.into_iter().filter(|holder| !lost.contains(&*holder.pod));
        let effect = |holder: Holder| {
            let subject = Subject::Pod { pod: holder.pod.clone(), container: None };
            Effect::new(subject, WhatIfRule::DeviceHeld(holder))
        };
        stay.map(effect).collect()
    }

    /// Returns the devices that the changes take away, each behind its resource.
    fn gone_devices(&self) -> Vec<String> {
        let listed = |state: &NodeState| {
            state.snapshot.devices.as_ref().map(DeviceFacts::listed).unwrap_or_default()
        };
        let (before, after) = (listed(self.before.state), listed(self.after.state));
        let is_gone = |change: &Change, resource: &str, id: &str| match change {
            Change::DeviceGone { .. } => !after.get(resource).is_some_and(|ids| ids.contains(id)),
            Change::PluginGone { resource: gone } => resource == gone,
            _ => false,
        };
        let all =
            before.iter().flat_map(|(resource, ids)| ids.iter().map(move |id| (resource, id)));
        all.filter(|(resource, id)| self.changes.iter().any(|it| is_gone(it, resource, id)))
            .map(|(resource, id)| format!("{resource}={id}"))
            .collect()
    }

    /// Returns a resource of which the kubelet does not remember the devices of a pod that runs.
    pub(super) fn forgotten_device(&self, pod: &Pod) -> Option<String> {
        let devices = self.after.state.snapshot.devices.as_ref()?;
        let checkpoint = devices.checkpoint.value()?;
        let before = self.before.state.snapshot.devices.as_ref()?.checkpoint.value()?;
        let uid = effective_uid(pod);
        let lost = before.entries.iter().find(|entry| {
            entry.pod_uid == uid
                && !checkpoint
                    .entries
                    .iter()
                    .any(|it| it.pod_uid == uid && it.resource_name == entry.resource_name)
        });
        lost.map(|entry| entry.resource_name.clone())
    }

    /// Leaves open the outcome of pods that the kubelet rejects only until their plugins have registered.
    ///
    /// # Errors
    ///
    /// Fails where the pods or the Node object are unknown.
    pub(super) fn leave_plugins_open(
        &self,
        about: &AdmissionNode,
        outcomes: &mut [PodOutcome],
    ) -> Result<(), Failure> {
        let refused = |it: &&mut PodOutcome| it.result == PodResult::Refused;
        let pods: BTreeMap<String, &Pod> =
            about.node.allocated_pods().into_iter().map(|pod| (qualified(pod), pod)).collect();
        let of_plugin = |name: &str| {
            let asked = asked_devices([*pods.get(name)?]);
            let is_offered = |name: &&String| {
                let offered = about.object().ok()?.status.allocatable.get(&(&***name).into())?;
                Some(offered.value() > 0)
            };
            asked.keys().find(|it| is_offered(it) == Some(true)).cloned()
        };
        let mut outcomes: Vec<(&mut PodOutcome, String)> = outcomes
            .iter_mut()
            .filter(refused)
            .filter_map(|it| of_plugin(&it.pod).map(|resource| (it, resource)))
            .collect();
        if outcomes.is_empty() {
            return Ok(());
        }
        let start = KubeletStart::of(about, PluginStart::BeforePods)?;
        let answer = start.readmit(&start.order(), TiedOrder::Every);
        let admitted: BTreeSet<&str> = answer
            .items
            .iter()
            .filter(|it| it.result == ReadmissionResult::Admitted)
            .map(|it| it.pod.as_str())
            .collect();
        let survivors =
            outcomes.iter_mut().filter(|(outcome, _)| admitted.contains(outcome.pod.as_str()));
        for (outcome, resource) in survivors {
            let Some(pod) = pods.get(&outcome.pod) else { continue };
            let survives = survival(pod, self.restarting(pod, about).0);
            if !outcome.or_else.contains(&survives) {
                outcome.or_else.push(survives);
            }
            let resource = resource.clone();
            outcome.depends_on = Some(OpenCause::PluginRegisters { resource }.to_string());
        }
        Ok(())
    }

    /// Leaves open the outcome of pods whose running containers the kubelet may take for stopped: of a container that has
    /// restarted, it finds the one that runs or one that exited.
    ///
    /// # Errors
    ///
    /// Fails where the pods or the Node object are unknown.
    pub(super) fn leave_restarted_open(
        &self,
        about: &AdmissionNode,
        outcomes: &mut [PodOutcome],
    ) -> Result<(), Failure> {
        let rules = &about.node.kubelet.rules;
        if self.reboots || !rules.has_fault(PatchFault::ForgetsRestartedContainers) {
            return Ok(());
        }
        let mut restarted: BTreeMap<String, String> = BTreeMap::new();
        for pod in about.node.allocated_pods() {
            let container = restarted_containers(pod).next();
            let asks = !asked_devices([pod]).is_empty();
            restarted.extend(container.filter(|_| asks).map(|it| (qualified(pod), it.to_owned())));
        }
        if restarted.is_empty() {
            return Ok(());
        }
        let start = KubeletStart::of(about, PluginStart::AfterPodsForgetting)?;
        let answer = start.readmit(&start.order(), TiedOrder::Every);
        let refused = answer.items.iter().filter(|it| it.result == ReadmissionResult::Refused);
        let refused: BTreeSet<&str> = refused.map(|it| it.pod.as_str()).collect();
        for outcome in outcomes.iter_mut().filter(|it| !it.result.is_lost()) {
            let Some(container) = restarted.get(&outcome.pod) else { continue };
            if refused.contains(outcome.pod.as_str())
                && !outcome.or_else.contains(&PodResult::Refused)
            {
                outcome.or_else.push(PodResult::Refused);
                let container = container.clone();
                outcome.depends_on = Some(OpenCause::ContainerFound { container }.to_string());
            }
        }
        Ok(())
    }

    /// Returns the panic of the restarted kubelet over a device that its plugin no longer lists.
    pub(super) fn topology_panic(&self) -> Option<StartFinding> {
        let before = self.before.state.snapshot.devices.as_ref();
        self.restarts.then(|| device_panic(self.after.kubelet().ok()?, before))?
    }
}
