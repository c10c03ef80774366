//! The ends of pods at a start of the kubelet, in every order in which it may come to its sources and to pods of one second.

use super::{AdmissionNode, KubeletStart, RestartedContainers};
use crate::question::devices::admission::{PluginStart, asked_device, restarted_containers};
use crate::question::start::kubelet_start;
use crate::what_if::OpenCause;
use kq_admission::preemption::orders::{AnyOrder, PossibleEnds};
use kq_admission::preemption::{
    Otherwise, PodReadmission, ReadmissionResult, Readmitted, StoppedContainers,
};
use kq_admission::{CheckName, qualified};
use kq_answer::{Basis, Failure, Missing, MissingFact};
use kq_facts::node::Node;
use kq_facts::node_pods::StandingReason;
use kq_k8s::patch_fixes::PatchFault;
use kq_k8s::pod::Pod;
use kq_managers::reconstruct::asked_devices;
use std::collections::{BTreeMap, BTreeSet};

/// How many messages of refusals an answer names.
const MOST_MESSAGES: usize = 3;

/// Explains which pods of a node a kubelet that starts admits again, in every order.
///
/// # Errors
///
/// Fails where the pods or the Node object are unknown.
pub fn readmit_all(about: &AdmissionNode) -> Result<PodReadmission, Failure> {
    let next = about.at_next_start();
    let about = next.as_ref().unwrap_or(about);
    let StartEnds { mut usual, items } = StartEnds::of(about)?;
    for (item, mut end) in usual.items.iter_mut().zip(items) {
        item.stopped = end.stopped.take();
        item.otherwise = end.otherwise();
    }
    let start = kubelet_start(&about.node);
    usual.start_error = start.error(about.node.kubelet.version);
    usual.basis.lack_all(start.missing(&about.node));
    if usual.start_error.is_some() {
        usual.basis.assume("the items are of a kubelet that starts".to_owned());
    }
    Ok(usual)
}

/// The ends of the pods of a node when its kubelet starts.
pub struct StartEnds {
    /// The answer for the order of age and names alone, with the basis.
    pub usual: PodReadmission,
    /// The pods in the same order.
    pub items: Vec<StartEnd>,
}

/// The end of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartEnd {
    pub pod: String,
    pub is_static: bool,
    /// The possible ends; the first is that in the order of age and names.
    pub results: Vec<ReadmissionResult>,
    /// The reason in the pod's status, where it ends.
    pub reason: Option<String>,
    /// The kubelet's message; of a killed pod, the pod for which it is killed.
    pub message: Option<String>,
    /// The kubelet makes no pod of its manifest.
    pub is_of_manifest: bool,
    /// What decides between the ends.
    pub cause: Option<OpenCause>,
    /// The containers that end although the pod is admitted; one that does not run starts.
    pub stopped: Option<StoppedContainers>,
}

impl StartEnds {
    /// Returns the ends of the pods of a node.
    ///
    /// # Errors
    ///
    /// Fails where the pods or the Node object are unknown.
    pub fn of(about: &AdmissionNode) -> Result<Self, Failure> {
        let start = KubeletStart::of(about, PluginStart::AfterPods)?;
        let usual = start.readmit(&start.order());
        let mut ends = Self { items: usual.items.iter().map(StartEnd::of).collect(), usual };
        // If all of them are admitted without a victim in one order, they are in every order.
        if !ends.usual.all_are_admitted() {
            let names: Vec<String> = start.order().into_iter().map(qualified).collect();
            ends.add_orders(&names, &start.in_any_order());
        }
        let pods = start.order();
        ends.add_plugins(about, &pods)?;
        ends.add_restarted(about, &pods)?;
        ends.add_forgotten(about, &pods);
        ends.add_leaving(about)?;
        ends.usual.basis.lack_all(other_runtime(about));
        let restarted = RestartedContainers::of(about.before(), &about.node);
        for (end, pod) in ends.items.iter_mut().zip(&pods).filter(|(end, _)| !end.ends()) {
            end.stopped = restarted.of_pod(pod);
        }
        Ok(ends)
    }

    /// Adds what another order makes of the pods.
    fn add_orders(&mut self, names: &[String], any: &AnyOrder) {
        for (item, ends) in self.items.iter_mut().zip(&any.pods) {
            item.add(ends, names);
            item.cause = (item.results.len() > 1).then(|| cause(any, ends));
        }
    }

    /// Leaves open the end of pods that the kubelet refuses only until their plugins have registered.
    fn add_plugins(&mut self, about: &AdmissionNode, pods: &[&Pod]) -> Result<(), Failure> {
        let allocatable = &about.object()?.status.allocatable;
        let is_offered = |resource: &String| {
            allocatable.get(&(&**resource).into()).is_some_and(|offered| offered.value() > 0)
        };
        let is_refused = |end: &StartEnd| end.results.first() == Some(&ReadmissionResult::Refused);
        let waiting = self.items.iter_mut().zip(pods).filter(|(end, _)| is_refused(end));
        let mut waiting: Vec<(&mut StartEnd, String)> = waiting
            .filter_map(|(end, pod)| {
                let of = |pod: &Pod| asked_devices([pod]).into_keys().find(is_offered);
                let resource = of(&without_running(pod)).or_else(|| of(pod))?;
                Some((end, resource))
            })
            .collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let start = KubeletStart::of(about, PluginStart::BeforePods)?;
        let admitted = ending(&start, ReadmissionResult::Admitted);
        for (end, resource) in waiting.iter_mut().filter(|(end, _)| admitted.contains(&end.pod)) {
            let resource = resource.clone();
            end.open(ReadmissionResult::Admitted, OpenCause::PluginRegisters { resource });
        }
        Ok(())
    }

    /// Leaves open the end of pods whose devices the kubelet forgets: it discards a checkpoint that is damaged.
    fn add_forgotten(&mut self, about: &AdmissionNode, pods: &[&Pod]) {
        let Some(devices) = &about.node.snapshot.devices else { return };
        let asking = self.items.iter_mut().zip(pods).filter(|(end, _)| !end.ends());
        let asking = asking.filter_map(|(end, pod)| Some((end, asked_device(pod)?)));
        match devices.checkpoint.value() {
            Some(checkpoint) if checkpoint.error.is_some() => {
                for (end, resource) in asking {
                    end.open(ReadmissionResult::Refused, OpenCause::DeviceForgotten { resource });
                }
            }
            None if !devices.checkpoint.tried.is_empty() => {
                if let Some((end, resource)) = asking.into_iter().next() {
                    let text = format!(
                        "whether the kubelet remembers the {resource} of {}: its checkpoint could not be read: {}",
                        end.pod,
                        devices.checkpoint.reason()
                    );
                    let missing = Missing::new(MissingFact::DeviceCheckpoint, text);
                    self.usual.basis.lack(missing.with_flags(["--checkpoint"]).about(&end.pod));
                }
            }
            _ => {}
        }
    }

    /// Leaves open the end of pods that deleted ones take the place of, until the kubelet has finished those.
    fn add_leaving(&mut self, about: &AdmissionNode) -> Result<(), Failure> {
        let all = about.others(None, &mut Basis::default())?.pods;
        if all.iter().all(|it| it.why != StandingReason::Deleted) {
            return Ok(());
        }
        let start = KubeletStart::with_leaving(about, PluginStart::AfterPods)?;
        for item in start.readmit(&start.order()).items.iter().filter(|it| !it.is_admitted()) {
            let end = self.items.iter_mut().find(|end| end.pod == item.pod);
            if let Some(end) = end.filter(|end| end.results == [ReadmissionResult::Admitted]) {
                end.open(item.result, OpenCause::LeavingPods);
                (end.reason, end.message) = why(item);
            }
        }
        Ok(())
    }

    /// Leaves open the end of pods whose running containers the kubelet may take for stopped: of a container that has
    /// restarted, it finds the one that runs or one that exited.
    fn add_restarted(&mut self, about: &AdmissionNode, pods: &[&Pod]) -> Result<(), Failure> {
        if !about.node.kubelet.rules.has_fault(PatchFault::ForgetsRestartedContainers) {
            return Ok(());
        }
        let staying = self.items.iter_mut().zip(pods).filter(|(end, pod)| {
            end.results.first() == Some(&ReadmissionResult::Admitted)
                && !asked_devices([**pod]).is_empty()
        });
        let mut restarted: Vec<(&mut StartEnd, String)> = staying
            .filter_map(|(end, pod)| Some((end, restarted_containers(pod).next()?.to_owned())))
            .collect();
        if restarted.is_empty() {
            return Ok(());
        }
        let start = KubeletStart::of(about, PluginStart::AfterPodsForgetting)?;
        let answer = start.readmit(&start.order());
        for (end, container) in &mut restarted {
            let refused = answer
                .items
                .iter()
                .find(|it| it.pod == end.pod && it.result == ReadmissionResult::Refused);
            if let Some(refused) = refused
                && !end.results.contains(&ReadmissionResult::Refused)
            {
                let container = container.clone();
                end.open(ReadmissionResult::Refused, OpenCause::ContainerFound { container });
                (end.reason, end.message) = why(refused);
            }
        }
        Ok(())
    }
}

/// Returns what is not known where the kubelet connects to another runtime: which of the pods run there
/// (`PreInitRuntimeService`, `pkg/kubelet/kubelet.go`).
fn other_runtime(about: &AdmissionNode) -> Option<Missing> {
    let socket = |node: &Node| {
        let endpoint = &node.config().container_runtime_endpoint;
        let path = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
        // It is a link.
        path.strip_prefix("/var/run/").map_or_else(|| path.to_owned(), |it| format!("/run/{it}"))
    };
    let (before, after) = (socket(about.before()), socket(&about.node));
    let text = format!(
        "which pods run in the runtime at {after}: the kubelet starts the others there again, while the containers of the \
         runtime at {before} run on"
    );
    (before != after).then(|| Missing::new(MissingFact::Containers, text))
}

/// Returns what decides about a pod with several ends.
fn cause(any: &AnyOrder, ends: &PossibleEnds) -> OpenCause {
    if ends.is_untried {
        return OpenCause::ManyTied { pods: any.untried, by_sources: ends.is_by_sources };
    }
    OpenCause::StartOrder {
        by_sources: ends.is_by_sources,
        by_ties: ends.is_by_chance && any.has_ties,
        by_equal_victims: ends.is_by_chance && any.has_equal_victims,
    }
}

/// Returns the pods that have this result in the order of age and names.
fn ending(start: &KubeletStart<'_>, result: ReadmissionResult) -> BTreeSet<String> {
    let items = start.readmit(&start.order()).items;
    items.into_iter().filter(|it| it.result == result).map(|it| it.pod).collect()
}

/// Returns the reason and the message of a pod that ends; of a killed pod, the pod for which it is killed.
fn why(item: &Readmitted) -> (Option<String>, Option<String>) {
    let refusal = item.refusals.first();
    match item.result {
        ReadmissionResult::Admitted => (None, None),
        ReadmissionResult::Refused => (
            refusal.map(|it| it.reason.clone()),
            refusal.map(|it| it.message.trim_end().to_owned()),
        ),
        ReadmissionResult::Killed => (Some("Preempting".to_owned()), item.killed_for.clone()),
    }
}

impl StartEnd {
    fn of(item: &Readmitted) -> Self {
        let (reason, message) = why(item);
        Self {
            pod: item.pod.clone(),
            is_static: item.is_static,
            results: vec![item.result],
            reason,
            message,
            is_of_manifest: item.refusals.iter().any(|it| it.check == CheckName::Manifest),
            cause: None,
            stopped: None,
        }
    }

    /// Adds a possible end.
    fn open(&mut self, result: ReadmissionResult, cause: OpenCause) {
        if !self.results.contains(&result) {
            self.results.push(result);
        }
        self.cause = Some(cause);
    }

    /// Returns the ends other than the usual one.
    fn otherwise(self) -> Option<Otherwise> {
        let depends_on = self.cause?.to_string();
        let results = self.results.into_iter().skip(1).collect();
        Some(Otherwise { results, reason: self.reason, message: self.message, depends_on })
    }

    /// Returns true if the pod ends in some order.
    pub fn may_end(&self) -> bool {
        self.results.iter().any(|it| *it != ReadmissionResult::Admitted)
    }

    /// Returns true if the pod ends in every order.
    pub fn ends(&self) -> bool {
        !self.results.contains(&ReadmissionResult::Admitted)
    }

    /// Adds the possible ends. `names`: of the pods, by their places.
    fn add(&mut self, ends: &PossibleEnds, names: &[String]) {
        let mut add = |result, is_possible: bool| {
            if is_possible && !self.results.contains(&result) {
                self.results.push(result);
            }
        };
        add(ReadmissionResult::Refused, !ends.refusals.is_empty() || ends.is_untried);
        add(ReadmissionResult::Killed, !ends.killed_for.is_empty());
        add(ReadmissionResult::Admitted, ends.stays || ends.is_untried);
        let killers = ends.killed_for.iter().filter_map(|at| names.get(*at).cloned());
        let killers: BTreeSet<String> = killers.chain(self.killer()).collect();
        let first_end = self.results.iter().find(|it| **it != ReadmissionResult::Admitted);
        match first_end {
            Some(ReadmissionResult::Killed) => {
                self.reason = Some("Preempting".to_owned());
                self.message = one_of(killers.into_iter().collect());
            }
            Some(ReadmissionResult::Refused) if !ends.refusals.is_empty() => {
                let mut reasons: Vec<String> = Vec::new();
                for reason in ends.refusals.iter().map(|it| it.reason()) {
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
                self.reason = one_of(reasons);
                self.message = one_of(ends.refusals.iter().map(|it| it.message()).collect());
            }
            _ => {}
        }
    }

    /// Returns the pod for which it is killed in the order of age and names.
    fn killer(&self) -> Option<String> {
        let is_killed = self.results.first() == Some(&ReadmissionResult::Killed);
        self.message.clone().filter(|_| is_killed)
    }
}

/// Joins texts of which one holds.
fn one_of(texts: Vec<String>) -> Option<String> {
    let shown = texts.iter().take(MOST_MESSAGES).cloned().collect::<Vec<_>>().join(" or ");
    match texts.len() {
        0 => None,
        count if count > MOST_MESSAGES => {
            Some(format!("{shown} or one of {} others", count - MOST_MESSAGES))
        }
        _ => Some(shown),
    }
}

/// Returns the ends by the names of the pods.
pub fn by_name(ends: StartEnds) -> BTreeMap<String, StartEnd> {
    ends.items.into_iter().map(|end| (end.pod.clone(), end)).collect()
}

/// Returns a pod without the containers that run: the device manager gives them nothing again (`isContainerAlreadyRunning`).
fn without_running(pod: &Pod) -> Pod {
    let mut rest = pod.clone();
    let statuses = pod.status.containers_and_init();
    let running = statuses.filter(|status| status.state.running.is_some());
    let running: BTreeSet<&str> = running.map(|status| status.name.as_str()).collect();
    for list in [&mut rest.spec.containers, &mut rest.spec.init_containers] {
        list.retain(|container| !running.contains(container.name.as_str()));
    }
    rest
}
