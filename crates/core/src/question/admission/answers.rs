//! Answers about admission: of a pod on a node, and of a node's pods when its kubelet starts.

use super::placement::{CpuSets, Placement};
use super::plan::{check_pod_count, manifest_refusal_at_start};
use super::start_pressure::{refusal, start_pressure};
use super::sysctls::SysctlAdmission;
use super::{AdmissionNode, Detail, Planned, plan, random_order, sort};
use crate::question::devices::admission::{DeviceAdmission, PluginStart};
use crate::question::start::no_kubelet;
use kq_admission::preemption::orders::{AnyOrder, CheckMemory, EarlierChecks, MOST_ADMISSIONS};
use kq_admission::preemption::{PodPreemption, PodReadmission, Trace, readmit, restart_order};
use kq_admission::{DeviceDecision, NodePod, PodAdmission, qualified};
use kq_answer::{Basis, Failure};
use kq_facts::kubelet_config::PressureCondition;
use kq_facts::node_object::NodeObject;
use kq_facts::node_pods::StandingReason;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_critical_pod;
use kq_managers::reconstruct::asked_devices;
use std::borrow::Cow;

/// Explains whether the kubelet of a node admits a pod. `ledger`: with the requests of each other pod.
///
/// # Errors
///
/// Fails where the Node object or the pods of the node are unknown.
pub fn admit(about: &AdmissionNode, pod: &Pod, ledger: bool) -> Result<PodAdmission, Failure> {
    let in_order = |others: &mut [NodePod<'_>]| {
        others.sort_by_cached_key(|it| qualified(it.pod));
        Ok(())
    };
    let planned = plan(about, pod, in_order, Detail { trace: Trace::Chosen, ledger })?;
    let start_error = no_kubelet(&about.node);
    let mut admission = PodAdmission::new(planned.admission, planned.basis);
    // That the kubelet does not start says that none runs.
    admission.basis.lacks_kubelet = start_error.is_none() && about.node.lacks_kubelet();
    Ok(PodAdmission { start_error, ..admission })
}

/// Explains which pods the kubelet of a node kills to admit a pod. `order` is the known part of its order of the pods.
///
/// # Errors
///
/// Fails as [`plan`] does.
pub fn preempt(
    about: &AdmissionNode,
    pod: &Pod,
    order: &[String],
    detail: Detail,
) -> Result<PodPreemption, Failure> {
    let planned = plan(about, pod, |others| sort(others, order), detail)?;
    let Planned { admission, preemption, mut basis, .. } = planned;
    basis.assume_all(random_order(&preemption, order));
    let start_error = no_kubelet(&about.node);
    basis.lacks_kubelet = start_error.is_none() && about.node.lacks_kubelet();
    Ok(PodPreemption { start_error, ..PodPreemption::new(preemption, admission, basis) })
}

/// How many admissions are tried, times the pods of the node: what is remembered of each grows with them.
const MOST_PLACES: usize = 1_000_000;

/// A kubelet that starts, before it admits its pods.
pub struct KubeletStart<'n> {
    about: &'n AdmissionNode,
    pods: Vec<&'n Pod>,
    devices: Option<DeviceAdmission>,
    object: Cow<'n, NodeObject>,
    conditions: Vec<PressureCondition>,
    placement: Placement,
    sysctls: SysctlAdmission,
    basis: Basis,
}

impl<'n> KubeletStart<'n> {
    /// Returns the starting kubelet of a node.
    ///
    /// # Errors
    ///
    /// Fails as [`admit`] does.
    pub fn of(about: &'n AdmissionNode, plugins: PluginStart) -> Result<Self, Failure> {
        Self::with(about, plugins, |it| it.counts)
    }

    /// Returns it with the deleted pods whose containers are gone as well: until its worker has finished such a pod, it is an
    /// active one (`isPodInactive`, `pkg/kubelet/kubelet_pods.go`, read in 1.36.2).
    ///
    /// # Errors
    ///
    /// Fails as [`admit`] does.
    pub fn with_leaving(about: &'n AdmissionNode, plugins: PluginStart) -> Result<Self, Failure> {
        Self::with(about, plugins, |it| it.counts || it.why == StandingReason::Deleted)
    }

    fn with(
        about: &'n AdmissionNode,
        plugins: PluginStart,
        takes_part: fn(&NodePod<'_>) -> bool,
    ) -> Result<Self, Failure> {
        let mut basis = about.basis.clone();
        // Those that are not known are admitted as well, and may take the room of others.
        let lists = |node: &kq_facts::node::Node| {
            node.snapshot.runtime.value().is_some_and(|it| it.sandboxes.value().is_some())
        };
        basis.lack_all(about.node.unknown_pods().filter(|_| lists(&about.node)));
        let all = about.others(None, &mut basis)?.pods;
        let pods: Vec<&Pod> = all.iter().filter(|it| takes_part(it)).map(|it| it.pod).collect();
        if pods.iter().any(|pod| is_critical_pod(pod)) {
            check_pod_count(pods.len())?;
        }
        about.assume(pods.iter().copied(), &mut basis)?;
        let mut devices = about.device_question(&all)?.restarted(&pods, plugins, &mut basis)?;
        let reported = devices.as_mut().and_then(|devices| devices.restarted.take());
        let object = match reported {
            Some(object) => Cow::Owned(object),
            None => Cow::Borrowed(about.object()?),
        };
        let conditions = start_pressure(about, &mut basis)?;
        let placement = about.placement(None);
        let sysctls = about.sysctls(pods.iter().copied(), &mut basis);
        Ok(Self { about, pods, devices, object, conditions, placement, sysctls, basis })
    }

    /// Returns the pods in the order of their age and names.
    pub fn order(&self) -> Vec<&'n Pod> {
        restart_order(&self.pods)
    }

    /// Explains which pods it admits in this order.
    pub fn readmit(&self, order: &[&Pod]) -> PodReadmission {
        let rules = &self.about.node.kubelet.rules;
        let mut checks = self.checks();
        let items = readmit(order, &self.object, |pod| checks.decide(pod), rules);
        PodReadmission::new(&self.object, items, checks.basis)
    }

    /// Returns the CPUs of containers once it has admitted the pods in this order; `None`: as for
    /// `Placement::cpu_sets`.
    pub fn cpu_sets(&self, order: &[&Pod]) -> Option<CpuSets> {
        let mut checks = self.checks();
        checks.placement.cpu_sets()?;
        let rules = &self.about.node.kubelet.rules;
        readmit(order, &self.object, |pod| checks.decide(pod), rules);
        checks.placement.cpu_sets()
    }

    /// Returns what may become of its pods, whatever the order among those of one second; they are those of
    /// [`order`](Self::order).
    pub fn in_any_order(&self) -> AnyOrder {
        let rules = &self.about.node.kubelet.rules;
        let order = self.order();
        let most = MOST_ADMISSIONS.min(MOST_PLACES / order.len().max(1));
        AnyOrder::of(&order, &self.object, &self.checks(), rules, most)
    }

    fn checks(&self) -> StartChecks<'_> {
        StartChecks {
            conditions: &self.conditions,
            sysctls: &self.sysctls,
            rules: &self.about.node.kubelet.rules,
            rules_before: &self.about.before().kubelet.rules,
            devices: self.devices.clone(),
            placement: self.placement.clone(),
            basis: self.basis.clone(),
        }
    }
}

/// The checks of a starting kubelet before the predicates, with what its managers have given away.
#[derive(Clone)]
struct StartChecks<'k> {
    conditions: &'k [PressureCondition],
    sysctls: &'k SysctlAdmission,
    rules: &'k KubeletRules,
    rules_before: &'k KubeletRules,
    devices: Option<DeviceAdmission>,
    placement: Placement,
    basis: Basis,
}

impl EarlierChecks for StartChecks<'_> {
    fn decide(&mut self, pod: &Pod) -> DeviceDecision {
        let refuse =
            |refusal| DeviceDecision { refusal: Some(refusal), ..DeviceDecision::default() };
        let refusal = manifest_refusal_at_start(pod, self.rules, self.rules_before)
            .or_else(|| refusal(self.conditions, pod, self.rules));
        if let Some(refusal) = refusal.or_else(|| self.sysctls.refusal(pod)) {
            return refuse(refusal);
        }
        let placed = self.placement.check_next(pod, self.devices.as_ref(), &mut self.basis);
        match (placed.refusals.into_iter().next(), &mut self.devices) {
            (Some(refusal), _) => refuse(refusal),
            (None, Some(devices)) => devices.decide_next(pod, &mut self.basis),
            (None, None) => DeviceDecision::default(),
        }
    }

    fn memory_of(&self, pod: &Pod) -> CheckMemory {
        if self.placement.places(pod) {
            CheckMemory::Order
        } else if self.devices.is_some() && !asked_devices([pod]).is_empty() {
            CheckMemory::Pod
        } else {
            CheckMemory::Nothing
        }
    }
}
