//! The writers of a file, by its path.
//!
//! Pure. Paths as [`CgroupName`] makes them and as [`container_path`] continues them; other
//! paths show no writer.
//!
//! [`container_path`]: kq_facts::cgroup_name::container_path

use crate::files::CgroupDriver;
use kq_facts::cgroup_name::{CgroupName, id_in_scope, pod_uid_of_path};
use kq_k8s::qos::QosClass;
use serde::Serialize;
use std::fmt;

const KUBEPODS: &str = "kubepods";

/// How far down the tree of cgroups a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The cgroup above all pods.
    Kubepods,
    /// The parent of the Burstable pods.
    Burstable,
    /// The parent of the BestEffort pods.
    BestEffort,
    Pod,
    Container,
}

impl Level {
    /// The levels above the pods.
    pub(super) const PARENTS: &[Self] = &[Self::Kubepods, Self::Burstable, Self::BestEffort];
    /// The levels that stand for something in a manifest.
    pub(super) const PODS: &[Self] = &[Self::Pod, Self::Container];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kubepods => "kubepods",
            Self::Burstable => "QoS class burstable",
            Self::BestEffort => "QoS class besteffort",
            Self::Pod => "pod",
            Self::Container => "container",
        })
    }
}

/// The place of a file, as far as its path shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) level: Level,
    /// The class of the pod or of the parent of pods; not known for a container elsewhere.
    pub(super) class: Option<QosClass>,
    pub(super) driver: CgroupDriver,
}

/// A unit of systemd that is no cgroup of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A service or a scope.
    Service,
    Slice,
    /// The slice of one user: `user-1000.slice`.
    UserSlice,
}

impl Unit {
    /// Reads the path of a file; `None`: its cgroup has not the name of a unit.
    pub(super) fn of_file(path: &str) -> Option<Self> {
        let (folder, _) = path.rsplit_once('/')?;
        let name = folder.rsplit('/').next()?;
        match name.rsplit_once('.')? {
            (unit, "slice") if unit.starts_with("user-") => Some(Self::UserSlice),
            (_, "slice") => Some(Self::Slice),
            (_, "service" | "scope") => Some(Self::Service),
            _ => None,
        }
    }
}

impl Place {
    /// Reads the path of a file; its last part is the file.
    pub(super) fn of_file(path: &str) -> Option<Self> {
        let (folder, _) = path.rsplit_once('/')?;
        let parts: Vec<&str> =
            folder.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        Self::of_cgroup(&parts)
    }

    fn of_cgroup(parts: &[&str]) -> Option<Self> {
        let (last, parents) = parts.split_last()?;
        // crun puts the processes into a cgroup below the scope, and limits both (`run.oci.systemd.subgroup`).
        if *last == "container" && parents.last().is_some_and(|it| it.ends_with(".scope")) {
            return Self::of_cgroup(parents);
        }
        let (level, class) = {
            let pod = || Self::of_name(parents).filter(|place| place.level == Level::Pod);
            match container(last) {
                Some(CgroupDriver::Systemd) => {
                    (Level::Container, pod().and_then(|place| place.class))
                }
                // Only its place below a pod shows that such a folder is a container.
                Some(CgroupDriver::Cgroupfs) => (Level::Container, pod()?.class),
                None => return Self::of_name(parts),
            }
        };
        Some(Self { level, class, driver: container(last)? })
    }

    /// Reads the path of a cgroup that the kubelet makes, wherever `cgroupRoot` and the mount are.
    fn of_name(parts: &[&str]) -> Option<Self> {
        let last = parts.last()?;
        let (driver, name) = if last.ends_with(".slice") {
            (CgroupDriver::Systemd, CgroupName::from_path(last, CgroupDriver::Systemd))
        } else {
            let path = parts.join("/");
            (CgroupDriver::Cgroupfs, CgroupName::from_path(&path, CgroupDriver::Cgroupfs))
        };
        let at = name.parts().iter().position(|part| part == KUBEPODS)?;
        let below: Vec<&str> = name.parts()[at + 1..].iter().map(String::as_str).collect();
        let path = format!("/{}", name.parts()[at..].join("/"));
        let pod = || pod_uid_of_path(&path, CgroupDriver::Cgroupfs, "/").map(|_| Level::Pod);
        let (level, class) = match below[..] {
            [] => (Level::Kubepods, None),
            ["burstable"] => (Level::Burstable, Some(QosClass::Burstable)),
            ["besteffort"] => (Level::BestEffort, Some(QosClass::BestEffort)),
            ["burstable", _] => (pod()?, Some(QosClass::Burstable)),
            ["besteffort", _] => (pod()?, Some(QosClass::BestEffort)),
            [_] => (pod()?, Some(QosClass::Guaranteed)),
            _ => return None,
        };
        Some(Self { level, class, driver })
    }
}

/// Returns who made a cgroup that has the name of a container.
fn container(name: &str) -> Option<CgroupDriver> {
    let id_of = |name: &str| {
        let id = id_in_scope(name)?;
        // A dash would be one of the helpers, such as CRI-O's conmon.
        (!id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric())).then_some(())
    };
    if let Some(unit) = name.strip_suffix(".scope") {
        return id_of(unit).map(|()| CgroupDriver::Systemd);
    }
    let plain = name.len() == 64 && name.chars().all(|c| c.is_ascii_hexdigit());
    (plain || id_of(name).is_some()).then_some(CgroupDriver::Cgroupfs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_the_level() {
        use CgroupDriver::{Cgroupfs, Systemd};
        use QosClass::{BestEffort, Burstable, Guaranteed};
        let id = "0123456789abcdef".repeat(4);
        let uid = "3b7cf7c2-5d0c-4bd5-a9d8-0a1b2c3d4e5f";
        let unit = uid.replace('-', "_");
        let slices = "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice";
        let pod_slice = format!("{slices}/kubepods-burstable-pod{unit}.slice");
        let place = |level, class, driver| Some(Place { level, class, driver });
        let container = |class, driver| place(Level::Container, class, driver);
        for (name, folder, expected) in [
            ("nothing", String::new(), None),
            ("the top", "/sys/fs/cgroup".to_owned(), None),
            ("a service", "/sys/fs/cgroup/system.slice/sshd.service".to_owned(), None),
            ("kubepods", "/sys/fs/cgroup/kubepods".into(), place(Level::Kubepods, None, Cgroupfs)),
            ("kubepods, relative", "kubepods.slice".into(), place(Level::Kubepods, None, Systemd)),
            (
                "version 1, a root",
                "/sys/fs/cgroup/cpu,cpuacct/custom/kubepods/besteffort".into(),
                place(Level::BestEffort, Some(BestEffort), Cgroupfs),
            ),
            (
                "a class below a root, systemd",
                "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice".into(),
                place(Level::Burstable, Some(Burstable), Systemd),
            ),
            (
                "a Guaranteed pod",
                format!("/kubepods/pod{uid}"),
                place(Level::Pod, Some(Guaranteed), Cgroupfs),
            ),
            (
                "a BestEffort pod",
                format!("/kubepods//besteffort/pod{uid}"),
                place(Level::Pod, Some(BestEffort), Cgroupfs),
            ),
            ("a pod, systemd", pod_slice.clone(), place(Level::Pod, Some(Burstable), Systemd)),
            ("no class", format!("/kubepods/other/pod{uid}"), None),
            ("not a pod", "/kubepods/burstable/other".into(), None),
            (
                "containerd",
                format!("{pod_slice}/cri-containerd-{id}.scope"),
                container(Some(Burstable), Systemd),
            ),
            ("CRI-O", format!("{pod_slice}/crio-{id}.scope"), container(Some(Burstable), Systemd)),
            (
                "crun's cgroup in a scope",
                format!("{pod_slice}/crio-{id}.scope/container"),
                container(Some(Burstable), Systemd),
            ),
            ("CRI-O's helper", format!("{pod_slice}/crio-conmon-{id}.scope"), None),
            (
                "docker, elsewhere",
                format!("/system.slice/docker-{id}.scope"),
                container(None, Systemd),
            ),
            ("cgroupfs", format!("/kubepods/pod{uid}/{id}"), container(Some(Guaranteed), Cgroupfs)),
            (
                "CRI-O, cgroupfs",
                format!("/kubepods/burstable/pod{uid}/crio-{id}"),
                container(Some(Burstable), Cgroupfs),
            ),
            ("an id without a pod", format!("/docker/{id}"), None),
            ("below a container", format!("/kubepods/pod{uid}/{id}/init"), None),
        ] {
            assert_eq!(Place::of_file(&format!("{folder}/cpu.weight")), expected, "{name}");
        }
        assert_eq!(Place::of_file("cpu.weight"), None);
    }
}
