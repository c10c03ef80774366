//! The effect of a kubelet restart on pods with devices.

use super::pods::{Transition, missing_in};
use super::state::NodeState;
use crate::kubelet_start::StartFinding;
use crate::question::device_panic::device_panic;
use crate::question::devices::plan::{Holder, holders_of};
use crate::what_if::change::Change;
use crate::what_if::{Effect, PodOutcome, WhatIfRule};
use kq_answer::Subject;
use kq_facts::devices::DeviceFacts;
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::Pod;

impl Transition<'_> {
    /// Reports the pods that hold a device which its plugin lists no longer, as `kq devices plan --unhealthy` does.
    pub(super) fn holders(&self, pods: &[PodOutcome]) -> Vec<Effect> {
        let unhealthy = self.gone_devices();
        let is_gone = |change: &Change| matches!(change, Change::PluginGone { .. });
        if self.before.state.snapshot.devices.is_none() && self.changes.iter().any(is_gone) {
            let reason = "the devices that the plugin lists, and their holders, are not known (--checkpoint, --pod-resources)";
            let rule = WhatIfRule::Missing {
                about: "the holders of devices".to_owned(),
                reason: reason.to_owned(),
            };
            return vec![Effect::new(Subject::Node, rule)];
        }
        let Ok(node) = self.before.kubelet() else { return Vec::new() };
        if unhealthy.is_empty() {
            return Vec::new();
        }
        let holders = match holders_of(node, unhealthy) {
            Ok(holders) => holders,
            Err(failure) => return vec![super::missing("the holders of devices", &failure)],
        };
        let mut lost = missing_in(self.before.state, self.after.state);
        lost.extend(pods.iter().filter(|it| it.result.is_lost()).map(|it| it.pod.clone()));
        let stay = holders.into_iter().filter(|holder| !lost.contains(&holder.pod));
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

    /// Returns the panic of the restarted kubelet over a device that its plugin no longer lists.
    pub(super) fn topology_panic(&self) -> Option<StartFinding> {
        let before = self.before.state.snapshot.devices.as_ref();
        self.restarts.then(|| device_panic(self.after.kubelet().ok()?, before))?
    }
}
