//! The names of cgroups and their paths under either driver.
//!
//! Mirrors `CgroupName` of `pkg/kubelet/cm/cgroup_manager_linux.go`, `GetPodContainerName` and
//! `IsPodCgroup` of `pkg/kubelet/cm/pod_container_manager_linux.go`, and `ExpandSlice` of
//! `opencontainers/cgroups` (`systemd/common.go`), read in 1.36.2; pinned by `cgroup_path.jsonl`.
//! Where the kubelet panics, the error carries its words. Below a pod, names are the runtime's.

use crate::cgroup_mode::CgroupDriver;
use crate::cgroup_tree::CgroupPath;
use kq_k8s::pod::ContainerStatus;
use kq_k8s::qos::QosClass;

const SLICE: &str = ".slice";

/// A cgroup by the parts of its name, before any driver has its way with them.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
pub struct CgroupName(Vec<String>);

/// A name that the kubelet cannot work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CgroupNameError {
    /// A part with `/` would leave its parent, one with `_` would not survive systemd's escaping.
    #[error("panic: invalid character in component [{component:?}] of CgroupName")]
    Component {
        /// The part.
        component: String,
    },
    /// An empty part has no systemd slice.
    #[error(
        "panic: error converting cgroup name [[{}]] to systemd format: invalid slice name: {slice}",
        name.0.join(" ")
    )]
    Slice {
        name: CgroupName,
        /// What systemd would have had to create.
        slice: String,
    },
}

impl CgroupName {
    /// Reads the name from `cgroupRoot`, which is a cgroupfs path under both drivers.
    pub fn from_root(text: &str) -> Self {
        match text.strip_prefix('/').unwrap_or(text) {
            "" => Self::default(),
            rest => Self(rest.split('/').map(str::to_owned).collect()),
        }
    }

    /// Returns the name of the cgroup above all pods.
    pub fn node_allocatable_root(cgroup_root: &str, cgroups_per_qos: bool) -> Self {
        let mut name = Self::from_root(cgroup_root);
        if cgroups_per_qos {
            name.0.push("kubepods".to_owned());
        }
        name
    }

    /// Returns the name of the parent of the pods of a class; Guaranteed pods have none of their own.
    pub fn qos(kubepods: &Self, class: QosClass) -> Self {
        let mut name = kubepods.clone();
        match class {
            QosClass::Guaranteed => {}
            QosClass::Burstable => name.0.push("burstable".to_owned()),
            QosClass::BestEffort => name.0.push("besteffort".to_owned()),
        }
        name
    }

    /// Returns the name of a child.
    /// Fails for a part with `/` or `_`.
    pub fn child(&self, component: &str) -> Result<Self, CgroupNameError> {
        if component.contains(['/', '_']) {
            return Err(CgroupNameError::Component { component: component.to_owned() });
        }
        let mut parts = self.0.clone();
        parts.push(component.to_owned());
        Ok(Self(parts))
    }

    /// Returns the path of a child of a cgroup below the root, from the parent's path.
    /// Fails for a part that is empty or has `/` or `_`.
    pub fn child_path(
        parent: &str,
        component: &str,
        driver: CgroupDriver,
    ) -> Result<String, CgroupNameError> {
        if component.is_empty() || component.contains(['/', '_']) {
            return Err(CgroupNameError::Component { component: component.to_owned() });
        }
        let parent = parent.trim_end_matches('/');
        Ok(match driver {
            CgroupDriver::Cgroupfs => format!("{parent}/{component}"),
            CgroupDriver::Systemd => {
                let last = last_element(parent);
                let above = last.strip_suffix(SLICE).unwrap_or(last);
                format!("{parent}/{above}-{}{SLICE}", component.replace('-', "_"))
            }
        })
    }

    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// Returns the path below the hierarchy's root.
    /// Fails under systemd for a name with an empty part.
    pub fn to_path(&self, driver: CgroupDriver) -> Result<String, CgroupNameError> {
        match driver {
            CgroupDriver::Cgroupfs => Ok(clean(&self.0)),
            CgroupDriver::Systemd => self.to_slices(),
        }
    }

    /// Returns the slice of every prefix of the name, one below the other.
    fn to_slices(&self) -> Result<String, CgroupNameError> {
        if self.0.is_empty() || self.0 == [""] {
            return Ok("/".to_owned());
        }
        let escaped: Vec<String> = self.0.iter().map(|part| part.replace('-', "_")).collect();
        let joined = escaped.join("-");
        // `-.slice` is the root.
        if joined == "-" {
            return Ok("/".to_owned());
        }
        // A part may have been empty, or, read from a root, may hold what no slice can.
        if joined.split('-').any(str::is_empty) || joined.contains('/') {
            let slice = format!("{joined}{SLICE}");
            return Err(CgroupNameError::Slice { name: self.clone(), slice });
        }
        let mut path = String::new();
        for (end, _) in joined.match_indices('-').chain([(joined.len(), "")]) {
            path.push('/');
            path.push_str(&joined[..end]);
            path.push_str(SLICE);
        }
        Ok(path)
    }

    /// Reads a path back as the kubelet does: the inverse of [`CgroupName::to_path`] for what that
    /// produces, a rough guess for anything else.
    pub fn from_path(path: &str, driver: CgroupDriver) -> Self {
        match driver {
            CgroupDriver::Cgroupfs => Self::from_root(path),
            CgroupDriver::Systemd => {
                let last = last_element(path);
                let name = last.strip_suffix(SLICE).unwrap_or(last);
                Self(name.split('-').map(|part| part.replace('_', "-")).collect())
            }
        }
    }
}

/// Returns where the cgroup of all pods is under either driver, as far as the root has a path there.
pub fn kubelet_roots(cgroup_root: &str, per_qos: bool) -> Vec<(CgroupDriver, CgroupPath)> {
    let name = CgroupName::node_allocatable_root(cgroup_root, per_qos);
    let drivers = [CgroupDriver::Cgroupfs, CgroupDriver::Systemd];
    let paths = drivers.into_iter().filter_map(|driver| {
        let path = name.to_path(driver).ok()?;
        Some((driver, CgroupPath::new(&path)))
    });
    paths.collect()
}

/// Returns where a cgroup that a configuration names may be under either driver.
pub fn named_cgroup(path: &str) -> Vec<CgroupPath> {
    let drivers = [CgroupDriver::Cgroupfs, CgroupDriver::Systemd];
    let paths = drivers.into_iter().filter_map(|driver| {
        let path = CgroupName::from_path(path, driver).to_path(driver).ok()?;
        Some(CgroupPath::new(&path))
    });
    paths.collect()
}

/// Returns the UID if the path is that of a pod, as the kubelet judges: by the number of parts and
/// the `pod` in the last one, not by the parents.
pub fn pod_uid_of_path(path: &str, driver: CgroupDriver, cgroup_root: &str) -> Option<String> {
    let name = CgroupName::from_path(path, driver);
    let kubepods = CgroupName::node_allocatable_root(cgroup_root, true).0.len();
    let parents = [kubepods + 1, kubepods];
    let at = parents.into_iter().find(|length| name.0.len() == length + 1)?;
    let uid = name.0[at].strip_prefix("pod")?;
    (!uid.contains("pod")).then(|| uid.to_owned())
}

/// Returns a systemd unit and its parent from a path of slices.
pub fn systemd_units(path: &str) -> (&str, &str) {
    let mut elements = path.rsplit('/').filter(|element| !element.is_empty());
    let unit = elements.next().unwrap_or("-.slice");
    (unit, elements.next().unwrap_or("-.slice"))
}

/// Joins parts as Go's `"/" + path.Join(...)` does, which keeps a leading `..`.
fn clean(parts: &[String]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let elements = parts.iter().flat_map(|part| part.split('/'));
    for element in elements.filter(|element| !element.is_empty()) {
        match element {
            "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            _ => kept.push(element),
        }
    }
    let nothing = parts.iter().all(String::is_empty);
    if kept.is_empty() && !nothing { "/.".to_owned() } else { format!("/{}", kept.join("/")) }
}

/// Returns the last element as Go's `path.Base` does.
fn last_element(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    match path.trim_end_matches('/') {
        "" => "/",
        trimmed => trimmed.rsplit('/').next().unwrap_or(trimmed),
    }
}

/// Returns the path of a container's cgroup as the runtime names it; one whose id is not known yet is
/// named after the container.
pub fn container_path(
    pod_path: &str,
    status: Option<&ContainerStatus>,
    name: &str,
    driver: CgroupDriver,
) -> String {
    let id = status.and_then(|status| status.container_id.split_once("://"));
    let (runtime, id) = match id {
        Some((runtime, id)) if is_id(id) => (runtime, id),
        _ => return format!("{pod_path}/<{name}>"),
    };
    let prefix = match runtime {
        "cri-o" => "crio-",
        "docker" => "docker-",
        _ => "cri-containerd-",
    };
    match driver {
        CgroupDriver::Systemd => format!("{pod_path}/{prefix}{id}.scope"),
        CgroupDriver::Cgroupfs if runtime == "cri-o" => format!("{pod_path}/{prefix}{id}"),
        CgroupDriver::Cgroupfs => format!("{pod_path}/{id}"),
    }
}

/// The cgroup in a scope of systemd in which crun puts a container (`find_systemd_subgroup`,
/// `src/libcrun/cgroup-systemd.c`).
pub const CRUN_SUBGROUP: &str = "container";

/// Returns what follows the name of a runtime in the name of a cgroup: the id of a container, or of a helper.
pub fn id_in_scope(name: &str) -> Option<&str> {
    ["cri-containerd-", "crio-", "docker-"].iter().find_map(|prefix| name.strip_prefix(prefix))
}

/// Returns true if a text can be the id of a container, and a part of a path.
fn is_id(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_childs_path_follows_from_its_parents() {
        for driver in [CgroupDriver::Cgroupfs, CgroupDriver::Systemd] {
            for root in ["", "/", "/a-b/c", "kube"] {
                for class in [QosClass::Guaranteed, QosClass::Burstable] {
                    let kubepods = CgroupName::node_allocatable_root(root, true);
                    let parent = CgroupName::qos(&kubepods, class);
                    let path = parent.to_path(driver).unwrap();
                    let child = parent.child("pod12-34").unwrap().to_path(driver);
                    let name = format!("{driver} {root:?} {class}");
                    assert_eq!(CgroupName::child_path(&path, "pod12-34", driver), child, "{name}");
                }
            }
            assert!(CgroupName::child_path("/kubepods", "pod1/../2", driver).is_err());
        }
    }

    #[test]
    fn every_runtime_has_its_names() {
        use CgroupDriver::{Cgroupfs, Systemd};
        for (name, id, driver, expected) in [
            ("containerd", "containerd://ab", Cgroupfs, "/pod/ab"),
            ("containerd, systemd", "containerd://ab", Systemd, "/pod/cri-containerd-ab.scope"),
            ("CRI-O", "cri-o://ab", Cgroupfs, "/pod/crio-ab"),
            ("CRI-O, systemd", "cri-o://ab", Systemd, "/pod/crio-ab.scope"),
            ("docker, systemd", "docker://ab", Systemd, "/pod/docker-ab.scope"),
            ("not created yet", "", Cgroupfs, "/pod/<c>"),
            ("an id that would leave the pod", "containerd://../x", Cgroupfs, "/pod/<c>"),
        ] {
            let status = ContainerStatus {
                name: "c".to_owned(),
                container_id: id.to_owned(),
                ..ContainerStatus::default()
            };
            assert_eq!(container_path("/pod", Some(&status), "c", driver), expected, "{name}");
        }
    }
}
