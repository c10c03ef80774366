//! The class, the pod and the container of a path in the cgroup tree.

use crate::files::CgroupDriver;
use crate::report::PlaceLevel;
use kq_facts::cgroup_name::{CgroupName, id_in_scope};
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::runtime::ContainerState;
use kq_facts::workloads::{ContainerName, PodName, Workloads};
use kq_k8s::qos::QosClass;
use serde::Serialize;

/// A cgroup of the kubelet in the kernel.
#[derive(Clone, Debug)]
pub struct LiveCgroup<'t> {
    /// Its path below the root.
    pub path: &'t CgroupPath,
    /// How many levels it is below the cgroup of all pods.
    pub depth: usize,
    pub owner: LiveOwner<'t>,
    /// Its files.
    pub texts: &'t CgroupTexts,
}

/// The owner of a cgroup.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveOwner<'t> {
    /// All pods together.
    Kubepods,
    /// The pods of a class.
    Qos(QosClass),
    Pod(LivePod<'t>),
    /// Something in a pod: a container, its sandbox, a helper of the runtime.
    Container(LiveContainer<'t>),
    /// Something that a program in a container made.
    Inside(LiveContainer<'t>),
    /// Nothing that a kubelet makes.
    Stranger,
}

/// A pod with a cgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct LivePod<'t> {
    /// The UID in the cgroup's name.
    pub uid: String,
    /// The name; `None`: no pod with this UID is known.
    pub name: Option<&'t PodName>,
    /// The class whose cgroup it is in.
    pub class: QosClass,
}

/// A container with a cgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveContainer<'t> {
    pub pod: LivePod<'t>,
    /// The id in the cgroup's name.
    pub id: String,
    /// What is known of it.
    pub part: Part<'t>,
}

/// What a cgroup in a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'t> {
    /// A container of this name.
    Container(&'t str, ContainerState),
    Sandbox,
    /// The program with which CRI-O watches a container.
    Monitor,
    /// No container with this ID is known.
    Unknown,
}

/// Returns the containers that run and have none of these cgroups, as far as the runtime lists containers.
pub fn without_cgroup<'w>(
    cgroups: &[LiveCgroup<'_>],
    workloads: &'w Workloads,
) -> Vec<&'w ContainerName> {
    let is_there = |id: &str| {
        cgroups
            .iter()
            .any(|it| matches!(&it.owner, LiveOwner::Container(container) if container.id == id))
    };
    let running = workloads.containers().filter(|(_, container)| {
        container.name.is_some() && container.state == ContainerState::Running
    });
    running.filter(|(id, _)| !is_there(id)).map(|(_, container)| container).collect()
}

/// Walks over the cgroups of the kubelet below a root, parents first.
pub fn live_cgroups<'t>(
    tree: &'t CgroupTree,
    root: &'t CgroupPath,
    driver: CgroupDriver,
    workloads: &'t Workloads,
) -> Vec<LiveCgroup<'t>> {
    let mut above: Vec<LiveOwner<'t>> = Vec::new();
    let mut found = Vec::new();
    let base = root.depth();
    for (path, texts) in tree.within(root) {
        let depth = path.depth() - base;
        above.truncate(depth);
        let owner = match above.last() {
            None => LiveOwner::Kubepods,
            Some(parent) => owner(parent, path.name(), driver, workloads),
        };
        above.push(owner.clone());
        found.push(LiveCgroup { path, depth, owner, texts });
    }
    found
}

fn owner<'t>(
    parent: &LiveOwner<'t>,
    name: &str,
    driver: CgroupDriver,
    workloads: &'t Workloads,
) -> LiveOwner<'t> {
    let class = match parent {
        LiveOwner::Kubepods => QosClass::Guaranteed,
        LiveOwner::Qos(class) => *class,
        LiveOwner::Pod(pod) => return LiveOwner::Container(container(pod, name, workloads)),
        LiveOwner::Container(container) | LiveOwner::Inside(container) => {
            return LiveOwner::Inside(container.clone());
        }
        LiveOwner::Stranger => return LiveOwner::Stranger,
    };
    let name = CgroupName::from_path(name, driver);
    let own = name.parts().last().map(String::as_str).unwrap_or_default();
    match own {
        "burstable" if class == QosClass::Guaranteed => LiveOwner::Qos(QosClass::Burstable),
        "besteffort" if class == QosClass::Guaranteed => LiveOwner::Qos(QosClass::BestEffort),
        _ => match own.strip_prefix("pod").filter(|uid| !uid.is_empty()) {
            Some(uid) => {
                let (uid, name) = (uid.to_owned(), workloads.pod(uid));
                LiveOwner::Pod(LivePod { uid, name, class })
            }
            None => LiveOwner::Stranger,
        },
    }
}

/// What Kata Containers puts before the name of the sandbox's cgroup, which has all processes of the virtual machine
/// (`RenameCgroupPath` in `src/runtime/pkg/resourcecontrol/cgroups.go`, read in 4.1.0). Under systemd, and in its runtime in
/// Rust, it has the name that the container runtime gave it.
const KATA_PREFIX: &str = "kata_";

fn container<'t>(pod: &LivePod<'t>, name: &str, workloads: &'t Workloads) -> LiveContainer<'t> {
    let name = name.strip_suffix(".scope").unwrap_or(name);
    if let Some(id) = name.strip_prefix("crio-conmon-") {
        return LiveContainer { pod: pod.clone(), id: id.to_owned(), part: Part::Monitor };
    }
    // Kata Containers, with the driver cgroupfs.
    let own = name.strip_prefix(KATA_PREFIX).unwrap_or(name);
    let id = id_in_scope(own).unwrap_or(own);
    let part = match workloads.container(id) {
        Some(known) => match &known.name {
            Some(name) => Part::Container(name, known.state),
            None => Part::Sandbox,
        },
        None => Part::Unknown,
    };
    LiveContainer { pod: pod.clone(), id: id.to_owned(), part }
}

impl LiveOwner<'_> {
    /// Returns `node`, `qos`, `pod`, `container`, `inside` or `other`.
    pub fn level(&self) -> PlaceLevel {
        match self {
            Self::Kubepods => PlaceLevel::Node,
            Self::Qos(_) => PlaceLevel::Qos,
            Self::Pod(_) => PlaceLevel::Pod,
            Self::Container(container) | Self::Inside(container) => match container.part {
                Part::Sandbox => PlaceLevel::Sandbox,
                Part::Monitor => PlaceLevel::Other,
                _ if matches!(self, Self::Inside(_)) => PlaceLevel::Inside,
                _ => PlaceLevel::Container,
            },
            Self::Stranger => PlaceLevel::Other,
        }
    }

    pub fn pod(&self) -> Option<&LivePod<'_>> {
        match self {
            Self::Pod(pod) => Some(pod),
            Self::Container(container) | Self::Inside(container) => Some(&container.pod),
            Self::Kubepods | Self::Qos(_) | Self::Stranger => None,
        }
    }

    pub fn class(&self) -> Option<QosClass> {
        match self {
            Self::Qos(class) => Some(*class),
            other => other.pod().map(|pod| pod.class),
        }
    }
}

impl LivePod<'_> {
    /// Returns `NAMESPACE/NAME`, or the UID of an unknown pod.
    pub fn label(&self) -> String {
        match self.name {
            Some(name) => format!("{}/{}", name.namespace, name.name),
            None => format!("pod{} (unknown)", self.uid),
        }
    }
}

impl LiveContainer<'_> {
    /// Returns the name, or what the cgroup is else.
    pub fn label(&self) -> String {
        match self.part {
            Part::Container(name, ContainerState::Exited) => format!("{name} (exited)"),
            Part::Container(name, _) => name.to_owned(),
            Part::Sandbox => "(sandbox)".to_owned(),
            Part::Monitor => "(conmon)".to_owned(),
            Part::Unknown => format!("{} (unknown)", short(&self.id)),
        }
    }
}

/// Where a cgroup is and whose.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LivePlace<'t> {
    pub level: PlaceLevel,
    /// It is that of a container.
    #[serde(skip)]
    pub is_container: bool,
    /// The pod's namespace.
    pub namespace: Option<&'t str>,
    /// The pod's name; null when it is unknown.
    pub pod: Option<&'t str>,
    pub pod_uid: Option<String>,
    /// The container's name.
    pub container: Option<&'t str>,
    pub container_id: Option<String>,
    /// The class, from the QoS level down.
    pub qos_class: Option<QosClass>,
    /// The path below the root of the hierarchy.
    pub cgroup: &'t str,
}

impl<'t> LivePlace<'t> {
    /// Returns where a cgroup is and whose.
    pub fn of(cgroup: &LiveCgroup<'t>) -> Self {
        let owner = &cgroup.owner;
        let (pod, container) = match owner {
            LiveOwner::Pod(pod) => (Some(pod), None),
            LiveOwner::Container(container) | LiveOwner::Inside(container) => {
                (Some(&container.pod), Some(container))
            }
            LiveOwner::Kubepods | LiveOwner::Qos(_) | LiveOwner::Stranger => (None, None),
        };
        let part = container.map(|container| container.part);
        let name = pod.and_then(|pod| pod.name);
        Self {
            level: owner.level(),
            is_container: matches!(owner, LiveOwner::Container(_))
                && matches!(part, Some(Part::Container(..))),
            namespace: name.map(|name| name.namespace.as_str()),
            pod: name.map(|name| name.name.as_str()),
            pod_uid: pod.map(|pod| pod.uid.clone()),
            container: match part {
                Some(Part::Container(name, _)) => Some(name),
                _ => None,
            },
            container_id: container.map(|container| container.id.clone()),
            qos_class: owner.class(),
            cgroup: cgroup.path.as_str(),
        }
    }
}

/// Returns the part of an id that people copy.
pub fn short(id: &str) -> &str {
    id.char_indices().nth(12).map_or(id, |(end, _)| &id[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::cgroup_name::kubelet_roots;
    use kq_facts::lookup::Lookup;
    use kq_facts::runtime::{Container, RuntimeFacts, Sandbox};
    use std::sync::Arc;

    fn runtime() -> RuntimeFacts {
        let sandbox = Sandbox {
            id: "s1".to_owned(),
            uid: "11-22".to_owned(),
            name: "web".to_owned(),
            namespace: "shop".to_owned(),
            ready: true,
            ..Sandbox::default()
        };
        let container = Container {
            id: "c1".to_owned(),
            name: "app".to_owned(),
            pod_uid: "11-22".to_owned(),
            state: ContainerState::Running,
            ..Container::default()
        };
        RuntimeFacts {
            sandboxes: Lookup::found("runtime", vec![sandbox].into()),
            containers: Lookup::found("runtime", vec![container].into()),
            ..RuntimeFacts::default()
        }
    }

    fn labels(driver: CgroupDriver, root: &str, paths: &[&str]) -> Vec<String> {
        let cgroups = paths.iter().map(|path| (CgroupPath::new(path), CgroupTexts::default()));
        let tree = CgroupTree { cgroups: Arc::new(cgroups.collect()), ..CgroupTree::default() };
        let workloads = Workloads::of([], Some(&runtime()));
        let root = CgroupPath::new(root);
        let found = live_cgroups(&tree, &root, driver, &workloads);
        let label = |cgroup: &LiveCgroup<'_>| match &cgroup.owner {
            LiveOwner::Kubepods => "kubepods".to_owned(),
            LiveOwner::Qos(class) => class.to_string(),
            LiveOwner::Pod(pod) => format!("{} {}", pod.label(), pod.class),
            LiveOwner::Container(container) => container.label(),
            LiveOwner::Inside(container) => format!("in {}", container.label()),
            LiveOwner::Stranger => "stranger".to_owned(),
        };
        found.iter().map(label).collect()
    }

    #[test]
    fn paths_of_both_drivers_lead_back() {
        let cgroupfs = [
            "/kubepods",
            "/kubepods/burstable",
            "/kubepods/burstable/pod11-22",
            "/kubepods/burstable/pod11-22/c1",
            "/kubepods/burstable/pod11-22/c1/init.scope",
            "/kubepods/burstable/pod11-22/s1",
            "/kubepods/burstable/pod11-22/kata_s1",
            "/kubepods/burstable/pod11-22/kata_s2",
            "/kubepods/pod33",
            "/kubepods/pod33/0123456789abcdef",
            "/kubepods/mine",
            "/kubepods-not",
        ];
        assert_eq!(
            labels(CgroupDriver::Cgroupfs, "/kubepods", &cgroupfs),
            [
                "kubepods",
                "Burstable",
                "shop/web Burstable",
                "app",
                "in app",
                "(sandbox)",
                "s2 (unknown)",
                "(sandbox)",
                "stranger",
                "pod33 (unknown) Guaranteed",
                "0123456789ab (unknown)",
            ]
        );
        let systemd = [
            "/kubepods.slice",
            "/kubepods.slice/kubepods-besteffort.slice",
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod11_22.slice",
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod11_22.slice/cri-containerd-c1.scope",
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod11_22.slice/crio-conmon-c1.scope",
        ];
        assert_eq!(
            labels(CgroupDriver::Systemd, "/kubepods.slice", &systemd),
            ["kubepods", "BestEffort", "shop/web BestEffort", "app", "(conmon)"]
        );
    }

    #[test]
    fn roots_follow_the_driver() {
        let roots = |root| -> Vec<String> {
            kubelet_roots(root, true)
                .into_iter()
                .map(|(_, path)| path.as_str().to_owned())
                .collect()
        };
        assert_eq!(roots("/"), ["/kubepods", "/kubepods.slice"]);
        assert_eq!(
            roots("/kubelet"),
            ["/kubelet/kubepods", "/kubelet.slice/kubelet-kubepods.slice"]
        );
    }
}
