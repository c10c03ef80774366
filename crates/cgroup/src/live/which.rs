//! The pod and container of a process, a cgroup or a container ID.

use crate::files::CgroupDriver;
use crate::live::place::{LiveCgroup, LiveOwner, LivePlace, live_cgroups};
use kq_answer::{Basis, answer};
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::workloads::Workloads;
use serde::Serialize;

/// A process, a cgroup or a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhichSubject {
    Pid(i32),
    /// The cgroup at this path, below the root of the hierarchy.
    Path(CgroupPath),
    /// The container whose ID begins like this.
    Container(String),
}

impl WhichSubject {
    /// Returns the cgroup at a path, or the cgroup of the file there. The path may begin with the mount point.
    pub fn path(path: &str, tree: &CgroupTree) -> Self {
        let cgroup = CgroupPath::new(&tree.layout.path_below_root(path));
        let holder = cgroup.parent().filter(|parent| {
            let has_file = |texts: &CgroupTexts| texts.0.contains_key(cgroup.name());
            tree.get(&cgroup).is_none() && tree.get(parent).is_some_and(has_file)
        });
        Self::Path(holder.unwrap_or(cgroup))
    }
}

/// The owner of a process, a cgroup or a container.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CgroupOwner<'t> {
    /// Where it is and whose.
    #[serde(flatten)]
    pub place: LivePlace<'t>,
    /// The processes in it.
    pub pids: Vec<i32>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("CgroupOwner", CgroupOwner<'_>);

/// Why there is no owner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhichError {
    /// The process is in no cgroup of a pod, or is not in the snapshot at all.
    #[error("process {0} is in no cgroup below {1}: it does not belong to a pod")]
    NoProcess(i32, String),
    /// There is no such cgroup.
    #[error("no cgroup {0} below {1}")]
    NoCgroup(String, String),
    /// The cgroup is outside what the kubelet manages.
    #[error("{0} is not below {1}, where the kubelet's cgroups are")]
    Outside(String, String),
    /// No container's id begins like this.
    #[error("no container with an id that begins with {0:?} has a cgroup below {1}")]
    NoContainer(String, String),
    /// Several do.
    #[error("the ids of {count} containers begin with {start:?}: {}", ids.join(", "))]
    Ambiguous {
        /// What they begin with.
        start: String,
        /// How many do.
        count: usize,
        /// The first of them.
        ids: Vec<String>,
    },
}

/// Finds the owner.
/// Fails when nothing, or more than one thing, is meant.
pub fn which<'t>(
    asked: &WhichSubject,
    tree: &'t CgroupTree,
    roots: &'t [(CgroupDriver, CgroupPath)],
    workloads: &'t Workloads,
) -> Result<CgroupOwner<'t>, WhichError> {
    let present: Vec<_> = roots.iter().filter(|(_, root)| tree.get(root).is_some()).collect();
    let cgroups: Vec<LiveCgroup<'t>> = present
        .iter()
        .flat_map(|(driver, root)| live_cgroups(tree, root, *driver, workloads))
        .collect();
    let names: Vec<&str> = roots.iter().map(|(_, root)| root.as_str()).collect();
    let below = names.join(" or ");
    match asked {
        WhichSubject::Pid(pid) => {
            let found = cgroups.iter().find(|cgroup| cgroup.texts.pids().any(|own| own == *pid));
            found.map(owner).ok_or(WhichError::NoProcess(*pid, below))
        }
        WhichSubject::Path(path) => {
            let is_within = roots.iter().any(|(_, root)| path.is_within(root));
            let found = cgroups.iter().find(|cgroup| cgroup.path == path);
            found.map(owner).ok_or_else(|| match is_within {
                true => WhichError::NoCgroup(path.as_str().to_owned(), below),
                false => WhichError::Outside(path.as_str().to_owned(), below),
            })
        }
        WhichSubject::Container(start) => of_container(start, &cgroups, below),
    }
}

fn of_container<'t>(
    start: &str,
    cgroups: &[LiveCgroup<'t>],
    below: String,
) -> Result<CgroupOwner<'t>, WhichError> {
    const NAMED: usize = 3;
    let start = start.rsplit("://").next().unwrap_or_default();
    let matching = cgroups.iter().filter_map(|cgroup| match &cgroup.owner {
        LiveOwner::Container(container) if container.id.starts_with(start) => {
            Some((cgroup, container.id.as_str()))
        }
        _ => None,
    });
    let matching: Vec<_> = matching.collect();
    let exact = matching.iter().find(|(_, id)| *id == start);
    match (exact, matching.as_slice()) {
        (Some((cgroup, _)), _) | (None, [(cgroup, _)]) => Ok(owner(cgroup)),
        (None, []) => Err(WhichError::NoContainer(start.to_owned(), below)),
        (None, several) => Err(WhichError::Ambiguous {
            start: start.to_owned(),
            count: several.len(),
            ids: several.iter().take(NAMED).map(|(_, id)| (*id).to_owned()).collect(),
        }),
    }
}

fn owner<'t>(cgroup: &LiveCgroup<'t>) -> CgroupOwner<'t> {
    CgroupOwner {
        place: LivePlace::of(cgroup),
        pids: cgroup.texts.pids().collect(),
        basis: Basis::default(),
    }
}

/// Returns the answer as lines: what it is, and its value.
pub fn lines(owner: &CgroupOwner<'_>) -> Vec<String> {
    let place = &owner.place;
    let pod = match (place.namespace, place.pod) {
        (Some(namespace), Some(pod)) => Some(format!("{namespace}/{pod}")),
        _ => place.pod_uid.as_ref().map(|_| "(unknown)".to_owned()),
    };
    let pids: Vec<String> = owner.pids.iter().map(ToString::to_string).collect();
    let rows = [
        ("level", Some(place.level.to_string())),
        ("pod", pod),
        ("pod UID", place.pod_uid.clone()),
        ("container", place.container.map(str::to_owned)),
        ("container id", place.container_id.clone()),
        ("QoS class", place.qos_class.map(|class| class.to_string())),
        ("cgroup", Some(place.cgroup.to_owned())),
        ("pids", Some(pids.join(" ")).filter(|pids| !pids.is_empty())),
    ];
    let known = rows.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.map(|(name, value)| format!("{name:<13}{value}")).collect()
}
