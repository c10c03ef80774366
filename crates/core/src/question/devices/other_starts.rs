//! The other effects that a start of the kubelet may have on pods with devices, apart from that of a plan.

use super::admission::restarted_containers;
use crate::what_if::OpenCause;
use kq_answer::Basis;
use kq_managers::manager::{ManagerState, SilentPlugins};
use kq_managers::plan::{
    AdmissionContext, DevicePlan, OtherAdmission, PlannedPod, PodToPlan, WhatIf, asked_resources,
    plan,
};

/// A start of the kubelet.
pub(super) struct OtherStarts<'p> {
    pub to_plan: &'p [PodToPlan],
    pub turn: AdmissionContext<'p>,
    pub question: &'p WhatIf,
}

impl OtherStarts<'_> {
    /// Adds what becomes of refused pods if their plugins register before the kubelet admits them. `listed`: the manager
    /// with the devices that the plugins list now; `restarted`: the manager that was planned with.
    pub fn add_plugins(
        &self,
        planned: &mut DevicePlan,
        listed: &ManagerState,
        restarted: &ManagerState,
    ) {
        if !planned.pods.iter().any(is_refused) {
            return;
        }
        let ManagerState { healthy, unhealthy, devices, endpoints, .. } = listed.clone();
        let registered =
            ManagerState { healthy, unhealthy, devices, endpoints, ..restarted.clone() };
        let other = self.plan(&registered, &self.turn);
        let has_healthy =
            |name: &&str| registered.healthy.get(*name).is_some_and(|healthy| !healthy.is_empty());
        for ((pod, other), to_plan) in planned.pods.iter_mut().zip(&other.pods).zip(self.to_plan) {
            if is_refused(pod) && is_admitted(other) {
                let resource = asked_resources(&to_plan.pod).find(has_healthy).map(str::to_owned);
                let cause = resource.map(|resource| OpenCause::PluginRegisters { resource });
                pod.otherwise = cause.map(|cause| other_admission(true, &cause));
            }
        }
    }

    /// Adds what becomes of surviving pods if the kubelet takes their restarted containers for stopped.
    pub fn add_restarted(&self, planned: &mut DevicePlan, restarted: &ManagerState) {
        let mut circumstances = self.turn.circumstances.clone();
        let running = &mut circumstances.running_at_start;
        let all = running.len();
        for PodToPlan { pod, .. } in self.to_plan {
            for name in restarted_containers(pod) {
                running.remove(&(pod.metadata.uid.clone(), name.to_owned()));
            }
        }
        if running.len() == all {
            return;
        }
        let turn = AdmissionContext { circumstances: &circumstances, ..self.turn };
        let other = self.plan(restarted, &turn);
        for ((pod, other), to_plan) in planned.pods.iter_mut().zip(&other.pods).zip(self.to_plan) {
            if is_admitted(pod) && is_refused(other) {
                let container = restarted_containers(&to_plan.pod).next().map(str::to_owned);
                let cause = container.map(|container| OpenCause::ContainerFound { container });
                pod.otherwise = cause.map(|cause| other_admission(false, &cause));
            }
        }
    }

    fn plan(&self, state: &ManagerState, turn: &AdmissionContext<'_>) -> DevicePlan {
        let asked = (self.question, Basis::default());
        plan(&mut state.clone(), self.to_plan, turn, &mut SilentPlugins, asked)
    }
}

fn is_admitted(pod: &PlannedPod) -> bool {
    pod.failure.is_none() && pod.admission.admitted
}

fn is_refused(pod: &PlannedPod) -> bool {
    pod.failure.is_none() && !pod.admission.admitted
}

fn other_admission(admitted: bool, cause: &OpenCause) -> OtherAdmission {
    OtherAdmission { admitted, depends_on: cause.to_string() }
}
