//! Differences in behaviour between kubelet versions that concern the node.
//!
//! From `tests/vectors/versions/behaviours.jsonl`, which names the source of each. Fatal differences are in
//! `kubelet_start`.

use super::pods::Transition;
use crate::what_if::{Effect, WhatIfRule};
use kq_admission::qualified;
use kq_answer::Subject;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::node::Node;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_static_pod;
use kq_k8s::qos::{QosClass, effective_qos_class};

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
    /// It concerns the node or pods of it; these are named.
    concerns: fn(&Node) -> Concern,
}

/// The subject of a behaviour.
enum Concern {
    Nothing,
    Node,
    Pods(Vec<String>),
}

fn pods(node: &Node, is_meant: impl Fn(&Pod) -> bool) -> Concern {
    let active = node
        .pods()
        .into_iter()
        .filter(|pod| !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed"));
    let meant: Vec<String> = active.filter(|pod| is_meant(pod)).map(qualified).collect();
    if meant.is_empty() { Concern::Nothing } else { Concern::Pods(meant) }
}

fn when(is_so: bool) -> Concern {
    if is_so { Concern::Node } else { Concern::Nothing }
}

const BEHAVIOURS: [Behaviour; 9] = [
    Behaviour {
        id: "admit-static-api-refs",
        since: 34,
        is_danger: true,
        what: "static pods with references to API objects (service account, Secret, ConfigMap, claim) are refused",
        about: "the static pod does not start after the upgrade; a running one is removed",
        advice: Some("remove such references from the manifests of static pods"),
        concerns: |node| match node.kubelet.rules.gates.enabled(Gate::PreventStaticPodApiReferences)
        {
            true => pods(node, |pod| is_static_pod(pod) && references_api(pod)),
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
        concerns: |node| pods(node, |pod| pod.spec.resources.is_some()),
    },
    Behaviour {
        id: "resize-podlevel",
        since: 36,
        is_danger: true,
        what: "pods with spec.resources are resized once: the kubelet has no record of their resources",
        about: "their cgroups are written again; containers with resizePolicy RestartContainer restart",
        advice: None,
        concerns: |node| pods(node, |pod| pod.spec.resources.is_some()),
    },
    Behaviour {
        id: "gitrepo",
        since: 33,
        is_danger: true,
        what: "gitRepo volumes are not mounted, unless the gate GitRepoVolumeDriver is on",
        about: "new pods with such volumes stay in ContainerCreating",
        advice: Some("replace gitRepo volumes by an init container that clones into an emptyDir"),
        concerns: |node| match node.kubelet.rules.gates.enabled(Gate::GitRepoVolumeDriver) {
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
        concerns: |node| match node.kubelet.config.cpu_manager_policy.as_str() {
            "static" => pods(node, |pod| {
                effective_qos_class(pod, node.kubelet.rules.gates) == QosClass::Guaranteed
            }),
            _ => Concern::Nothing,
        },
    },
    Behaviour {
        id: "memoryqos-formula",
        since: 36,
        is_danger: true,
        what: "MemoryQoS writes memory.min and memory.low only with memoryReservationPolicy TieredReservation",
        about: "pods lose the protection of their memory requests",
        advice: Some("set memoryReservationPolicy: TieredReservation"),
        concerns: |node| {
            let config = &node.kubelet.config;
            let is_on = node.kubelet.rules.gates.enabled(Gate::MemoryQos);
            when(is_on && config.memory_reservation_policy != "TieredReservation")
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
        concerns: |node| {
            let policy = node.snapshot.kubelet_config.value();
            let policy =
                policy.and_then(|it| it.value.get("imagePullCredentialsVerificationPolicy"));
            when(
                policy.is_none_or(|policy| policy != "NeverVerify")
                    && node.snapshot.runtime.found.is_some(),
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
        concerns: |node| {
            let driver = node.snapshot.runtime.value().and_then(|it| it.cgroup_driver.value());
            when(
                driver
                    .is_some_and(|driver| driver.to_string() != node.kubelet.config.cgroup_driver),
            )
        },
    },
    Behaviour {
        id: "containerd-1x",
        since: 36,
        is_danger: true,
        what: "this is the last version that supports containerd 1.x",
        about: "kubelet 1.37 does not start with containerd 1.x",
        advice: Some("upgrade containerd to 2.x"),
        concerns: |node| {
            let version = node.snapshot.runtime.value().map(|runtime| &runtime.version);
            when(version.is_some_and(|it| {
                it.runtime_name == "containerd"
                    && it.runtime_version.trim_start_matches('v').starts_with("1.")
            }))
        },
    },
];

/// Returns true if a pod references API objects, as far as stored pods keep the references.
fn references_api(pod: &Pod) -> bool {
    !pod.spec.service_account_name.is_empty()
        || pod.spec.volumes.iter().any(|volume| volume.api_reference().is_some())
}

/// Returns the rows of `behaviours.jsonl` that are reported, with the first minor version.
pub fn reported() -> impl Iterator<Item = (&'static str, u32)> {
    BEHAVIOURS.iter().map(|it| (it.id, it.since))
}

/// As many pods as a reader can use.
const NAMED: usize = 5;

/// Returns the differences of the other kubelet version.
pub fn behaviours(transition: &Transition<'_>) -> Vec<Effect> {
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
    for behaviour in BEHAVIOURS.iter().filter(|it| from.is_before(it.since, to)) {
        let named = match (behaviour.concerns)(after) {
            Concern::Nothing => continue,
            Concern::Node => String::new(),
            Concern::Pods(pods) => {
                let more = match pods.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!(
                    ": {}{more}",
                    pods.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ")
                )
            }
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
