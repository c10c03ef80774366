//! Differences in behaviour between kubelet versions that concern the node.
//!
//! From `tests/vectors/versions/behaviours.jsonl` and `behaviours-1.37.jsonl`, which name the source of each. Fatal
//! differences are in `kubelet_start`. Those of 1.38 are a preview, of its changelog and of what 1.37 announces.

use super::hugepages::hugepages;
use super::pods::Transition;
use crate::question::admission::{ACTUATED, gets_exclusive_cpus};
use crate::what_if::{Effect, WhatIfRule};
use kq_admission::qualified;
use kq_answer::{Basis, Subject};
use kq_facts::certificates::CertificateUsage;
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::checkpoint::pod_allocation;
use kq_facts::found_node::asks_runtime_for_driver;
use kq_facts::host::Text;
use kq_facts::live::config_source;
use kq_facts::node::Node;
use kq_facts::workloads::effective_uid;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::{Container, Pod, ResourceName};
use kq_k8s::priority::is_static_pod;
use kq_k8s::static_pod::api_reference;
use kq_output::units::first_few;

/// A behaviour that changed.
struct Behaviour {
    /// Its row in the data.
    id: &'static str,
    /// The first minor version that acts so.
    since: u32,
    /// It can cost pods or values.
    is_danger: bool,
    what: &'static str,
    about: &'static str,
    advice: Option<&'static str>,
    /// How it is known, where it was not read in the source of a released kubelet.
    certainty: Option<&'static str>,
    /// It concerns the node or pods of it; these are named.
    concerns: fn(&Sides<'_>) -> Concern,
}

/// The node before and after the change.
struct Sides<'n> {
    before: &'n Node,
    after: &'n Node,
}

impl Sides<'_> {
    /// Returns true if a gate is on after the change, and was off before.
    fn turns_on(&self, gate: Gate) -> bool {
        let is_on = |node: &Node| node.kubelet.rules.gates.enabled(gate);
        is_on(self.after) && !is_on(self.before)
    }
}

/// What is known of a release note alone.
const NOTES: Option<&str> = Some("its release notes alone");

/// The subject of a behaviour.
pub(super) enum Concern {
    Nothing,
    Node,
    /// These, of pods or settings.
    Named(Vec<String>),
}

fn named(names: Vec<String>) -> Concern {
    if names.is_empty() { Concern::Nothing } else { Concern::Named(names) }
}

pub(super) fn pods(node: &Node, is_meant: impl Fn(&Pod) -> bool) -> Concern {
    let active = node.pods().into_iter().filter(|pod| !pod.status.has_ended());
    named(active.filter(|pod| is_meant(pod)).map(qualified).collect())
}

pub(super) fn when(is_so: bool) -> Concern {
    if is_so { Concern::Node } else { Concern::Nothing }
}

const BEHAVIOURS: [Behaviour; 19] = [
    Behaviour {
        id: "admit-static-api-refs",
        since: 34,
        is_danger: true,
        what: "static pods with references to API objects (service account, Secret, ConfigMap, claim) are refused",
        about: "the static pod does not start after the upgrade; a running one is removed",
        advice: Some("remove such references from the manifests of static pods"),
        certainty: None,
        concerns: |Sides { after: node, .. }| match node
            .kubelet
            .rules
            .gates
            .enabled(Gate::PreventStaticPodApiReferences)
        {
            true => pods(node, |pod| is_static_pod(pod) && api_reference(pod).is_some()),
            false => Concern::Nothing,
        },
    },
    Behaviour {
        id: "podlevel-resources",
        since: 34,
        is_danger: true,
        what: "spec.resources of a pod decides the pod's cgroup, admission, eviction and the QoS class",
        about: "running pods have cgroups without it",
        advice: None,
        certainty: None,
        concerns: |sides| match sides.turns_on(Gate::PodLevelResources) {
            true => pods(sides.after, |pod| pod.spec.resources.is_some()),
            false => Concern::Nothing,
        },
    },
    Behaviour {
        id: "resize-podlevel",
        since: 36,
        is_danger: true,
        what: "pods with spec.resources are resized once: the kubelet has no record of their resources",
        about: "their cgroups are written again; containers with resizePolicy RestartContainer restart",
        advice: None,
        certainty: None,
        concerns: |sides| match sides.turns_on(Gate::InPlacePodLevelResourcesVerticalScaling) {
            true => pods(sides.after, |pod| lacks_record(sides, pod)),
            false => Concern::Nothing,
        },
    },
    Behaviour {
        id: "gitrepo",
        since: 33,
        is_danger: true,
        what: "gitRepo volumes are not mounted, unless the gate GitRepoVolumeDriver is on",
        about: "new pods with such volumes stay in ContainerCreating",
        advice: Some("replace gitRepo volumes by an init container that clones into an emptyDir"),
        certainty: None,
        concerns: |Sides { after: node, .. }| match node
            .kubelet
            .rules
            .gates
            .enabled(Gate::GitRepoVolumeDriver)
        {
            true => Concern::Nothing,
            false => pods(node, |pod| pod.spec.volumes.iter().any(|it| it.git_repo.is_some())),
        },
    },
    Behaviour {
        id: "quota-exclusive-cpus",
        since: 33,
        is_danger: true,
        what: "containers with exclusive CPUs have no CPU quota",
        about: "such containers are not throttled after their next start",
        advice: None,
        certainty: None,
        concerns: |sides| match sides.turns_on(Gate::DisableCpuQuotaWithExclusiveCpus) {
            true => pods(sides.after, |pod| gets_exclusive_cpus(sides.after, pod)),
            false => Concern::Nothing,
        },
    },
    Behaviour {
        id: "memoryqos-formula",
        since: 36,
        is_danger: true,
        what: "MemoryQoS writes memory.min and memory.low only with memoryReservationPolicy TieredReservation",
        about: "pods lose the protection of their memory requests",
        advice: Some("set memoryReservationPolicy: TieredReservation"),
        certainty: None,
        concerns: |Sides { before, after }| {
            let is_on = |node: &Node| node.kubelet.rules.gates.enabled(Gate::MemoryQos);
            let policy = &after.kubelet.config.memory_reservation_policy;
            when(is_on(before) && is_on(after) && policy != "TieredReservation")
        },
    },
    Behaviour {
        id: "image-pull-credentials",
        since: 35,
        is_danger: true,
        what: "a pod needs its own credentials for an image that was pulled with the secret of another pod",
        about: "pods without pull secrets fail to start with private images, present or not",
        advice: Some(
            "add imagePullSecrets to the pods, or set imagePullCredentialsVerificationPolicy: NeverVerify",
        ),
        certainty: None,
        concerns: |sides| {
            let snapshot = &sides.after.snapshot;
            let policy = snapshot.kubelet_config.value();
            let policy =
                policy.and_then(|it| it.value.get("imagePullCredentialsVerificationPolicy"));
            when(
                sides.turns_on(Gate::KubeletEnsureSecretPulledImages)
                    && policy.is_none_or(|policy| policy != "NeverVerify")
                    && snapshot.runtime.found.is_some(),
            )
        },
    },
    Behaviour {
        id: "cgroup-driver-from-cri",
        since: 34,
        is_danger: false,
        what: "the kubelet uses the cgroup driver that the runtime reports, and ignores cgroupDriver",
        about: "cgroups of new pods have other paths",
        advice: None,
        certainty: None,
        concerns: |sides| when(uses_other_driver(sides)),
    },
    Behaviour {
        id: "containerd-1x",
        since: 36,
        is_danger: true,
        what: "the support of containerd 1.x ends",
        about: "kubelet 1.37 is the last one that starts with it: its removal was put off to 1.38",
        advice: Some("upgrade containerd to 2.x"),
        certainty: Some("the release notes and the enhancement proposal (KEP-4033)"),
        concerns: |sides| match sides.after.kubelet.version.ends_containerd_1() {
            // The preview says it.
            true => Concern::Nothing,
            false => when(has_containerd_1(sides.after)),
        },
    },
    Behaviour {
        id: "static-pod-api-refs",
        since: 37,
        is_danger: true,
        what: "static pods with references to API objects are refused, and no gate allows them any more",
        about: "the static pod does not start after the upgrade; a running one is removed",
        advice: Some("remove such references from the manifests of static pods"),
        certainty: None,
        concerns: |sides| match sides.turns_on(Gate::PreventStaticPodApiReferences)
            && sides.before.kubelet.version.can_refuse_static_references()
        {
            true => pods(sides.after, |pod| is_static_pod(pod) && api_reference(pod).is_some()),
            false => Concern::Nothing,
        },
    },
    Behaviour {
        id: "selinux-mount",
        since: 37,
        is_danger: true,
        what: "volumes are mounted with the SELinux label of the pod (SELinuxMount)",
        about: "where SELinux is enforcing, pods with different labels on one volume conflict: the later one stays in ContainerCreating",
        advice: Some(
            "give such pods one label, or seLinuxChangePolicy: Recursive; SELinuxMount: false in the feature gates keeps it as it is",
        ),
        certainty: Some("the table of gates in its source, and its release notes"),
        concerns: |sides| match sides.turns_on(Gate::SelinuxMount) {
            true => pods(sides.after, has_mountable_volume),
            false => Concern::Nothing,
        },
    },
    Behaviour {
        id: "hugepage-aware-eviction",
        since: 37,
        is_danger: true,
        what: "memory.available is less by all huge pages of the node (HugepageAwareEviction)",
        about: "thresholds in percent count from the smaller amount, and those that were raised for huge pages count them twice",
        advice: Some("lower the thresholds that were raised for huge pages"),
        certainty: Some("the enhancement proposal with its code, and the test of the function"),
        concerns: |sides| {
            let pages = hugepages(&sides.after.snapshot).unwrap_or_default();
            when(sides.turns_on(Gate::HugepageAwareEviction) && pages > 0)
        },
    },
    Behaviour {
        id: "sidecar-ephemeral-storage",
        since: 37,
        is_danger: true,
        what: "a sidecar above its limit of ephemeral storage is a reason to evict its pod",
        about: "pods whose sidecars write more than that are evicted",
        advice: None,
        certainty: NOTES,
        concerns: |sides| pods(sides.after, has_limited_sidecar),
    },
    Behaviour {
        id: "qos-empty-pod-resources",
        since: 37,
        is_danger: true,
        what: "spec.resources without any request or limit no longer makes a pod BestEffort",
        about: "the containers decide the QoS class of new pods",
        advice: None,
        certainty: Some("the table of gates in its source, and its release notes"),
        concerns: |sides| match sides.turns_on(Gate::PodLevelResourcesFixKubeletQosClass) {
            true => pods(sides.after, has_empty_resources),
            false => Concern::Nothing,
        },
    },
    Behaviour {
        id: "pod-limits-declared",
        since: 37,
        is_danger: true,
        what: "an init container without a limit leaves the cgroup of its pod without one, whatever sidecars run before it",
        about: "cpu.max or memory.max of new pods is max",
        advice: Some("set the limits of init containers too"),
        certainty: Some("its source as it was in July 2026"),
        concerns: |sides| pods(sides.after, hides_missing_limit),
    },
    Behaviour {
        id: "event-record-qps-zero",
        since: 37,
        is_danger: false,
        what: "eventRecordQPS 0 is no limit",
        about: "the kubelet sends every event; before, 0 was a default rate",
        advice: Some("set eventRecordQPS to the rate that is meant"),
        certainty: NOTES,
        concerns: |sides| when(sides.after.kubelet.given.event_record_qps == Some(0)),
    },
    Behaviour {
        id: "containerd-1x-ends",
        since: 38,
        is_danger: true,
        what: "kubelet 1.38 is announced not to start with containerd 1.x",
        about: "the node becomes NotReady",
        advice: Some("upgrade containerd to 2.x"),
        certainty: Some("the release notes of 1.37 and the enhancement proposal (KEP-4033)"),
        concerns: |sides| when(has_containerd_1(sides.after)),
    },
    Behaviour {
        id: "subordinate-ids",
        since: 38,
        is_danger: true,
        what: "kubelet 1.38 does not start with a range of subordinate IDs that ends at or past 4294967295, nor with such a range recorded for a pod",
        about: "the default range ends one idsPerPod lower",
        advice: None,
        certainty: Some("the notes of 1.38.0-alpha.2 alone"),
        concerns: |_| Concern::Node,
    },
    Behaviour {
        id: "gates-announced",
        since: 38,
        is_danger: true,
        what: "gates of the configuration are announced to be removed or locked in 1.38",
        about: "the kubelet does not start with a removed gate, nor with a locked one at its other value",
        advice: Some("remove them from the feature gates"),
        certainty: Some("comments in the source of 1.37"),
        concerns: |sides| {
            let set = sides.after.kubelet.given.feature_gates.iter().flatten();
            let announced = set.filter(|(name, on)| {
                REMOVED_LATER.contains(&name.as_str())
                    || (LOCKED_LATER.contains(&name.as_str()) && !**on)
            });
            named(announced.map(|(name, _)| name.clone()).collect())
        },
    },
];

/// The gates whose removal in 1.38 a comment of 1.37's `kube_features.go` announces.
const REMOVED_LATER: [&str; 10] = [
    "AllowOverwriteTerminationGracePeriodSeconds",
    "DisableCPUQuotaWithExclusiveCPUs",
    "DynamicResourceAllocation",
    "ExecProbeTimeout",
    "ImageMaximumGCAge",
    "InPlacePodVerticalScaling",
    "JobManagedBy",
    "MutableCSINodeAllocatableCount",
    "PodObservedGenerationTracking",
    "SupplementalGroupsPolicy",
];

/// The gates that are announced to be locked on in 1.38.
const LOCKED_LATER: [&str; 6] = [
    "ClusterTrustBundle",
    "ClusterTrustBundleProjection",
    "DRADeviceTaintRules",
    "DRADeviceTaints",
    "PodCertificateRequest",
    "SELinuxMount",
];

/// Returns true if the runtime is containerd 1.x: as it says itself, else as the Node object does.
fn has_containerd_1(node: &Node) -> bool {
    let is_1 = |version: &str| version.trim_start_matches('v').starts_with("1.");
    if let Some(runtime) = node.snapshot.runtime.value() {
        let version = &runtime.version;
        return version.runtime_name == "containerd" && is_1(&version.runtime_version);
    }
    let reported = node.snapshot.node.value().map(|it| &it.status.node_info);
    let reported =
        reported.and_then(|it| it.container_runtime_version.strip_prefix("containerd://"));
    reported.is_some_and(is_1)
}

/// Returns true if the kubelet used another driver than that of the runtime, as a gate let it.
fn uses_other_driver(Sides { before, after }: &Sides<'_>) -> bool {
    let asks =
        |node: &Node| asks_runtime_for_driver(&config_source(&node.snapshot), node.kubelet.version);
    let driver = after.snapshot.runtime.value().and_then(|it| it.cgroup_driver.value());
    let own = CgroupDriver::of_field(&before.kubelet.config.cgroup_driver);
    driver.is_some_and(|driver| *driver != own) && !asks(before) && asks(after)
}

/// Returns true if a pod has resources of its own, and the kubelet no record of them.
fn lacks_record(Sides { before, .. }: &Sides<'_>, pod: &Pod) -> bool {
    let files = before.snapshot.state_files.as_ref();
    let recorded = match files.and_then(|files| files.get(ACTUATED)) {
        Some(Text::Read(text)) => pod_allocation::load(text.as_bytes()).shown.ok(),
        _ => None,
    };
    let is_recorded = match recorded {
        Some(pods) => {
            pods.get(effective_uid(pod)).is_some_and(|it| it.pod_level_resources.is_some())
        }
        None => before.kubelet.version.records_pod_level_resources(),
    };
    pod.spec.resources.is_some() && !is_recorded
}

/// Returns true if a pod has a volume of a kind that can be mounted with a label.
fn has_mountable_volume(pod: &Pod) -> bool {
    pod.spec.volumes.iter().any(|it| {
        it.persistent_volume_claim.is_some() || it.ephemeral.is_some() || it.csi.is_some()
    })
}

fn has_limited_sidecar(pod: &Pod) -> bool {
    let storage = ResourceName::from("ephemeral-storage");
    let sidecars = pod.spec.sidecars();
    sidecars.into_iter().any(|it| it.resources.limits.get(&storage).is_some())
}

fn has_empty_resources(pod: &Pod) -> bool {
    let resources = pod.spec.resources.as_ref();
    resources.is_some_and(|it| it.requests.is_empty() && it.limits.is_empty())
}

/// Returns true if only init containers after a sidecar with a limit lack one of their own.
fn hides_missing_limit(pod: &Pod) -> bool {
    [ResourceName::Cpu, ResourceName::Memory].iter().any(|name| {
        let has = |it: &Container| it.resources.limits.get(name).is_some_and(|it| !it.is_zero());
        let init = &pod.spec.init_containers;
        let Some(sidecar) = init.iter().position(|it| it.restarts_always() && has(it)) else {
            return false;
        };
        let (before, after) = init.split_at(sidecar);
        let is_whole = before.iter().chain(&pod.spec.containers).all(has);
        is_whole && pod.spec.resources.is_none() && !after.iter().all(has)
    })
}

/// Returns true if pulls can panic: more than 31 at a time, with the verification of credentials.
fn can_panic(node: &Node) -> bool {
    let parallel = node.kubelet.given.max_parallel_image_pulls.unwrap_or_default();
    let gates = node.kubelet.rules.gates;
    parallel > 31
        && node.kubelet.version.panics_on_parallel_pulls()
        && gates.enabled(Gate::KubeletEnsureSecretPulledImages)
}

/// Returns the pods with a readiness probe that runs a command, where the kubelet drops its results as they end.
fn with_dropped_probes(node: &Node) -> Concern {
    let has_command =
        |it: &Container| it.readiness_probe.as_ref().is_some_and(|it| it.exec.is_some());
    match node.kubelet.rules.drops_exec_readiness_of_ending_pods() {
        true => pods(node, |pod| pod.spec.containers.iter().any(has_command)),
        false => Concern::Nothing,
    }
}

/// What some versions do that neither the one before nor the one after does.
const STATES: [Behaviour; 2] = [
    Behaviour {
        id: "parallel-pulls-panic",
        since: 33,
        is_danger: true,
        what: "the kubelet can panic while it pulls images, with maxParallelImagePulls above 31",
        about: "index out of range, where the credentials of images are verified (by default since 1.35); 1.37 has it fixed",
        advice: Some("set maxParallelImagePulls to 31 or less"),
        certainty: Some("the text of a pull request alone"),
        concerns: |sides| when(can_panic(sides.after) && !can_panic(sides.before)),
    },
    Behaviour {
        id: "exec-readiness-while-terminating",
        since: 35,
        is_danger: false,
        what: "readiness probes that run a command count no more once the pod ends: their context is canceled",
        about: "Ready keeps its value for the grace period; 1.37 has it fixed, perhaps a patch before",
        advice: None,
        certainty: Some(
            "the text of a pull request alone; which patches of 1.35 and 1.36 have the fix is not known",
        ),
        concerns: |sides| match with_dropped_probes(sides.before) {
            Concern::Nothing => with_dropped_probes(sides.after),
            _ => Concern::Nothing,
        },
    },
];

/// Returns the rows of `behaviours.jsonl` that are reported, with the first minor version.
pub fn reported() -> impl Iterator<Item = (&'static str, u32)> {
    BEHAVIOURS.iter().map(|it| (it.id, it.since)).chain(STATES.iter().map(|it| (it.id, 37)))
}

/// Returns the client certificate of a node that is not valid now, where the kubelet starts with it.
pub fn expired_client(transition: &Transition<'_>) -> Option<Effect> {
    let node = transition.before.kubelet().ok().filter(|_| transition.restarts)?;
    let certificates = node.snapshot.certificates.value()?.iter();
    let is_invalid = |not_before, not_after| not_after <= node.now || not_before > node.now;
    let mut of_client = certificates.filter(|it| it.usage == CertificateUsage::Client);
    let found = of_client.find(|it| is_invalid(it.not_before, it.not_after))?;
    let (path, not_after) = (found.path.clone(), found.not_after);
    let not_before = Some(found.not_before).filter(|it| *it > node.now);
    Some(Effect::new(Subject::Node, WhatIfRule::ClientCertificate { path, not_after, not_before }))
}

fn known_by(id: &str, source: &str) -> String {
    format!("behaviour {id} is known by {source}")
}

/// As many pods as a reader can use.
const NAMED: usize = 5;

/// Returns the differences of the other kubelet version.
pub fn behaviours(transition: &Transition<'_>, basis: &mut Basis) -> Vec<Effect> {
    let (Ok(before), Ok(after)) = (transition.before.kubelet(), transition.after.kubelet()) else {
        return Vec::new();
    };
    let (from, to) = (before.kubelet.version, after.kubelet.version);
    let mut findings = Vec::new();
    if !to.is_known() {
        let rule = WhatIfRule::VersionUnknown {
            version: to.to_string(),
            used: to.known().used().to_string(),
        };
        findings.push(Effect::new(Subject::Node, rule));
    }
    let sides = Sides { before, after };
    let new = BEHAVIOURS.iter().filter(|it| from.is_before(it.since, to));
    for behaviour in STATES.iter().chain(new) {
        let named = match (behaviour.concerns)(&sides) {
            Concern::Nothing => continue,
            Concern::Node => String::new(),
            Concern::Named(names) => format!(": {}", first_few(NAMED, names)),
        };
        let rule = WhatIfRule::Behaviour {
            behaviour: behaviour.id.to_owned(),
            since: format!("1.{}", behaviour.since),
            is_danger: behaviour.is_danger,
            what: behaviour.what.to_owned(),
            about: format!("{}{named}", behaviour.about),
            advice: behaviour.advice.map(str::to_owned),
        };
        findings.push(Effect::new(Subject::Node, rule));
        basis.assume_all(behaviour.certainty.map(|source| known_by(behaviour.id, source)));
    }
    if let (Ok(before), Ok(after)) = (transition.before.node(), transition.after.node())
        && before.cgroup_version != after.cgroup_version
    {
        let version = match after.cgroup_version {
            CgroupVersion::V1 => "v1",
            CgroupVersion::V2 => "v2",
        };
        let rule = WhatIfRule::Restarts {
            what: format!("the machine boots with cgroup {version}"),
            effect: "every container restarts; programs on the node must support the files of this version"
                .to_owned(),
        };
        findings.push(Effect::new(Subject::Node, rule));
    }
    findings
}
