//! What the kubelet does with resources that it allocated: it restarts containers, writes files, or finds a limit
//! below the usage (`computePodResizeAction`, `doPodResizeAction`, `validateMemoryResizeAction`,
//! `pkg/kubelet/kuberuntime/kuberuntime_manager.go`, read in 1.36.2 and 1.32.10).

use super::allocation::restarts_for;
use super::state::NodeState;
use super::values::{Place, Values, planned};
use crate::question::admission::AdmissionNode;
use crate::question::cgroup::plan::PlanInput;
use crate::what_if::ResizeRestart;
use kq_admission::qualified;
use kq_answer::Failure;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts};
use kq_facts::pod_selector::Selection;
use kq_facts::runtime::ContainerState;
use kq_facts::stats_summary::{MemoryStats, PodStats};
use kq_facts::workloads::effective_uid;
use kq_k8s::feature_gates::Gate;
use kq_k8s::go_text::quote;
use kq_k8s::pod::{Container, Pod, ResourceName};
use std::collections::{BTreeMap, BTreeSet};

/// What the kubelet does with an allocated resize.
pub enum Actuation {
    /// It writes the files, and restarts containers.
    /// The usage of the pod may be taken for that of its containers.
    Done { restarts: Vec<ResizeRestart>, assumes_usage: bool },
    /// It writes no file, with the condition `PodResizeInProgress` and the reason `Error`.
    Failed { message: String, is_least: bool },
    /// One of both: the usage is unknown, and a memory limit is lowered.
    Open { restarts: Vec<ResizeRestart>, limit: u64 },
}

/// Returns the containers whose files the kubelet writes. One that does not run has its new resources at its start.
pub(super) fn updated(about: &AdmissionNode, was: &Pod, pod: &Pod) -> Vec<String> {
    resized(about, was, pod).into_iter().map(|it| it.restart.container).collect()
}

/// Returns what the kubelet does: of the node and the pod before, and with the new resources.
pub(super) fn actuation(
    about: &AdmissionNode,
    before: (&NodeState, &Pod),
    after: (&NodeState, &Pod),
) -> Result<Actuation, Failure> {
    let resized = resized(about, before.1, after.1);
    let restarts: Vec<ResizeRestart> = resized
        .iter()
        .filter(|it| !it.restart.resources.is_empty())
        .map(|it| it.restart.clone())
        .collect();
    let resizes_memory = resized.iter().any(|it| it.has_memory) || !restarts.is_empty();
    if !resizes_memory {
        return Ok(Actuation::Done { restarts, assumes_usage: false });
    }
    let names: BTreeSet<&str> = restarts.iter().map(|it| it.container.as_str()).collect();
    let limits = match about.node.kubelet.version.compares_lowered_limits_with_usage() {
        true => lowered(before, after, &resized)?,
        // The kubelet compares a higher limit too, which the usage cannot reach.
        false => lowered(before, after, &[])?,
    };
    if limits.is_empty() {
        return Ok(Actuation::Done { restarts, assumes_usage: false });
    }
    let usage = MemoryInUse::of(before.0, before.1)?.without(&names);
    let (mut messages, mut unknown) = (Vec::new(), None);
    for limit in &limits {
        let used = match &limit.container {
            Some(name) => usage.of_container(name),
            None => usage.pod,
        };
        match used {
            Used { at_least, .. } if at_least >= limit.bytes => {
                messages.push(match &limit.container {
                    // The kubelet gives the usage of the pod here too.
                    Some(name) => format!(
                        "attempting to set container {} memory limit ({}) below current usage ({})",
                        quote(name),
                        limit.bytes,
                        usage.pod.at_least
                    ),
                    None => format!(
                        "attempting to set pod memory limit ({}) below current usage ({})",
                        limit.bytes, usage.pod.at_least
                    ),
                })
            }
            Used { is_exact: true, .. } => {}
            Used { .. } => unknown = Some(limit.bytes),
        }
    }
    let is_least = usage.pod.is_sum || !usage.pod.is_exact;
    Ok(match (messages.as_slice(), unknown) {
        ([], None) => {
            let assumes_usage = usage.pod.is_sum && limits.iter().any(|it| it.container.is_none());
            Actuation::Done { restarts, assumes_usage }
        }
        ([], Some(limit)) => Actuation::Open { restarts, limit },
        _ if !about.node.kubelet.version.compares_lowered_limits_with_usage() => {
            let message = format!(
                "aborting attempt to set pod memory limit less than current memory usage for pod {}",
                after.1.metadata.name
            );
            Actuation::Failed { message, is_least: false }
        }
        ([only], _) => Actuation::Failed {
            message: format!("cannot decrease memory limits: {only}"),
            is_least,
        },
        (several, _) => {
            let message = format!("cannot decrease memory limits: [{}]", several.join(", "));
            Actuation::Failed { message, is_least }
        }
    })
}

/// A running container whose resources change.
struct ResizedContainer {
    restart: ResizeRestart,
    /// Its memory changes while it runs on.
    has_memory: bool,
    /// Its memory limit before and after, where it runs on; 0: none.
    limits: (u64, u64),
}

/// Returns the running containers that a resize changes (`computePodResizeAction`).
fn resized(about: &AdmissionNode, was: &Pod, pod: &Pod) -> Vec<ResizedContainer> {
    let kubelet = &about.node.kubelet;
    let takes_from_pod = kubelet.rules.gates.enabled(Gate::InPlacePodLevelResourcesVerticalScaling);
    let sidecars = pod.spec.init_containers.iter().filter(|_| kubelet.version.resizes_sidecars());
    let running = pod.spec.containers.iter().chain(sidecars).filter(|it| runs(about, pod, it));
    let old = |name: &str| {
        let mut all = was.spec.containers_and_init();
        all.find(|it| it.name == name)
    };
    let one = |new: &Container| {
        let old = old(&new.name)?;
        let request = |it: &Container, name: &ResourceName| {
            it.resources.requests.get(name).cloned().unwrap_or_default()
        };
        let limit = |pod: &Pod, it: &Container, name: &ResourceName| {
            let of_pod = pod.spec.resources.as_ref().filter(|_| takes_from_pod);
            let of_pod = || of_pod.and_then(|it| it.limits.get(name));
            it.resources.limits.get(name).or_else(of_pod).cloned().unwrap_or_default()
        };
        let changes = |name: ResourceName, counts_request: bool| {
            let is_other = limit(was, old, &name).compare(&limit(pod, new, &name)).is_ne();
            is_other || counts_request && request(old, &name).compare(&request(new, &name)).is_ne()
        };
        let cpu = changes(ResourceName::Cpu, true);
        let memory = changes(ResourceName::Memory, kubelet.version.resizes_memory_requests());
        let restarting =
            [("cpu", ResourceName::Cpu, cpu), ("memory", ResourceName::Memory, memory)]
                .into_iter()
                .filter(|(_, name, is_changed)| *is_changed && restarts_for(new, name))
                .map(|(text, ..)| text);
        let restart =
            ResizeRestart { container: new.name.clone(), resources: restarting.collect() };
        let bytes = |pod: &Pod, it: &Container| {
            u64::try_from(limit(pod, it, &ResourceName::Memory).value()).unwrap_or(0)
        };
        let has_memory = memory && restart.resources.is_empty();
        (cpu || memory).then(|| ResizedContainer {
            restart,
            has_memory,
            limits: (bytes(was, old), bytes(pod, new)),
        })
    };
    running.filter_map(one).collect()
}

/// Returns true if a container runs: by the runtime, else by the pod's status, else it is assumed to.
fn runs(about: &AdmissionNode, pod: &Pod, container: &Container) -> bool {
    let runtime = about.node.snapshot.runtime.value();
    let known = runtime.and_then(|runtime| runtime.containers.value()).into_iter().flatten();
    let mut own = known.filter(|it| it.pod_uid == effective_uid(pod)).peekable();
    if own.peek().is_some() {
        return own.any(|it| it.name == container.name && it.state == ContainerState::Running);
    }
    let status = &pod.status;
    let mut all = status.containers_and_init();
    match all.find(|it| it.name == container.name) {
        Some(status) => status.state.waiting.is_none() && status.state.terminated.is_none(),
        None if status.phase == "Pending" && status.container_statuses.is_empty() => false,
        None => {
            !pod.spec.init_containers.iter().any(|it| it.name == container.name)
                || container.restarts_always()
        }
    }
}

/// A memory limit that is compared with the usage.
struct NewLimit {
    /// `None`: the limit of the pod.
    container: Option<String>,
    bytes: u64,
}

/// Returns the memory limits that are lowered or added.
fn lowered(
    before: (&NodeState, &Pod),
    after: (&NodeState, &Pod),
    resized: &[ResizedContainer],
) -> Result<Vec<NewLimit>, Failure> {
    let new = pod_limit(after)?;
    let old = pod_limit(before)?;
    // On cgroup v2, no limit is read as -1, which nothing is below (`getCgroupConfig` in `cgroup_manager_linux.go`).
    let is_lower_than_none = before.0.node()?.settings()?.cgroup_version == CgroupVersion::V1;
    let is_lower =
        |new: &NewLimit| old.as_ref().map_or(is_lower_than_none, |old| new.bytes < old.bytes);
    let pod = new.filter(is_lower);
    let containers = resized.iter().filter(|it| {
        let (old, new) = it.limits;
        it.has_memory && new != 0 && (old == 0 || new < old)
    });
    let containers = containers
        .map(|it| NewLimit { container: Some(it.restart.container.clone()), bytes: it.limits.1 });
    Ok(pod.into_iter().chain(containers).collect())
}

/// Returns the memory limit of a pod's cgroup; `None`: it has none.
fn pod_limit((state, pod): (&NodeState, &Pod)) -> Result<Option<NewLimit>, Failure> {
    let values = cgroups(state, pod)?;
    let limit = values.get(&Place::Pod(qualified(pod))).and_then(Values::memory_limit);
    let bytes = limit.and_then(|it| it.value.parse().ok());
    Ok(bytes.map(|bytes| NewLimit { container: None, bytes }))
}

/// Returns the planned values of a pod's cgroups.
fn cgroups(state: &NodeState, pod: &Pod) -> Result<BTreeMap<Place, Values>, Failure> {
    let input = PlanInput::of_live(&state.node()?, Selection::default(), false)?;
    let mut values = planned(&input)?;
    let name = qualified(pod);
    values.retain(|place, _| place.pod() == Some(name.as_str()));
    Ok(values)
}

/// The memory in use of a pod or container.
#[derive(Clone, Copy, Default)]
struct Used {
    at_least: u64,
    /// It is not more.
    is_exact: bool,
    /// It is that of the containers together, which is nearly all: the sandbox has one small process.
    is_sum: bool,
}

/// The memory in use of a pod and its containers, as the kubelet counts it (`PodCPUAndMemoryStats`): all that is
/// charged to the cgroup, page cache as well.
struct MemoryInUse {
    pod: Used,
    containers: BTreeMap<String, Used>,
}

impl MemoryInUse {
    fn of(state: &NodeState, pod: &Pod) -> Result<Self, Failure> {
        let mut paths: BTreeMap<Option<String>, CgroupPath> = BTreeMap::new();
        for (place, values) in cgroups(state, pod)? {
            let container = place.container().map(str::to_owned);
            paths.insert(container, CgroupPath::new(&values.cgroup));
        }
        let tree = state.snapshot.cgroups.value();
        let counted = |container: Option<&str>| {
            let path = paths.get(&container.map(str::to_owned))?;
            let texts: &CgroupTexts = tree?.get(path)?;
            texts.number(CgroupFile::MemoryCurrent)
        };
        let stats = state.snapshot.stats_summary.value().into_iter().flat_map(|it| &it.pods);
        let is_own = |it: &&PodStats| match it.pod_ref.uid.as_str() {
            "" => {
                it.pod_ref.name == pod.metadata.name
                    && it.pod_ref.namespace == pod.metadata.namespace
            }
            uid => uid == effective_uid(pod),
        };
        let stats = stats.into_iter().find(is_own);
        let used = |counted: Option<u64>, stats: Option<&MemoryStats>| {
            let exact = counted.or_else(|| stats?.usage_bytes);
            let least = stats.and_then(|it| it.working_set_bytes).unwrap_or_default();
            Used { at_least: exact.unwrap_or(least), is_exact: exact.is_some(), is_sum: false }
        };
        let sidecars = pod.spec.sidecars();
        let all = pod.spec.containers.iter().chain(sidecars);
        let containers: BTreeMap<String, Used> = all
            .map(|it| {
                let of_it =
                    stats.and_then(|stats| stats.containers.iter().find(|own| own.name == it.name));
                let used = used(counted(Some(&it.name)), of_it.and_then(|own| own.memory.as_ref()));
                (it.name.clone(), used)
            })
            .collect();
        let mut own = used(counted(None), stats.and_then(|it| it.memory.as_ref()));
        let sum = containers.values().fold(0_u64, |sum, it| sum.saturating_add(it.at_least));
        if !own.is_exact {
            own.at_least = own.at_least.max(sum);
            own.is_exact = containers.values().all(|it| it.is_exact);
            own.is_sum = true;
        }
        Ok(Self { pod: own, containers })
    }

    /// Returns what is in use once some containers were stopped.
    fn without(mut self, stopped: &BTreeSet<&str>) -> Self {
        if stopped.is_empty() {
            return self;
        }
        let gone = self.containers.iter().filter(|(name, _)| stopped.contains(name.as_str()));
        let (mut bytes, mut is_exact) = (0_u64, true);
        for (_, used) in gone {
            bytes = bytes.saturating_add(used.at_least);
            is_exact &= used.is_exact;
        }
        self.containers.retain(|name, _| !stopped.contains(name.as_str()));
        if self.containers.is_empty() {
            self.pod = Used { at_least: 0, is_exact: true, is_sum: false };
            return self;
        }
        let others =
            self.containers.values().fold(0_u64, |sum, it| sum.saturating_add(it.at_least));
        self.pod = Used {
            at_least: match is_exact {
                true => self.pod.at_least.saturating_sub(bytes).max(others),
                false => others,
            },
            is_exact: self.pod.is_exact && is_exact,
            is_sum: self.pod.is_sum,
        };
        self
    }

    fn of_container(&self, name: &str) -> Used {
        self.containers.get(name).copied().unwrap_or_default()
    }
}
