//! The answers of a container runtime over the CRI.

use crate::cgroup_mode::CgroupDriver;
use crate::lookup::{Lookup, Sourced};
use kq_k8s::shared::Shared;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A program's name and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramVersion {
    /// `runc`, `crun`, `Kubernetes`
    pub name: String,
    /// As the program prints it: `1.1.5+ds1`, and `v1.36.2` with its letter.
    pub version: String,
}

/// The answers of a runtime to all queries. Lists have an order of their own, so that two readings of
/// an unchanged node are equal: sandboxes by namespace, name, attempt and id; containers by pod UID,
/// name, attempt and id; images by first tag and id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeFacts {
    /// The endpoint that answered: `unix:///run/containerd/containerd.sock`.
    pub endpoint: String,
    /// `Version`
    pub version: RuntimeVersion,
    /// `RuntimeConfig`, else `Status` with its information.
    pub cgroup_driver: Lookup<CgroupDriver>,
    /// The one of the two that has the driver; `None`: neither has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_by: Option<DriverBy>,
    /// The program that creates containers, by default: `runc`, `crun`.
    pub low_level: Lookup<LowLevelRuntime>,
    /// The programs of the runtimes that pods name by a RuntimeClass, by handler.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handlers: BTreeMap<String, Lookup<LowLevelRuntime>>,
    /// It does not lower `oom_score_adj` of a container below its own (containerd's
    /// `restrict_oom_score_adj`).
    #[serde(default)]
    pub restricts_oom_score: Option<bool>,
    /// It leaves out the limits of huge pages that the kubelet asks for (containerd's `disable_hugetlb_controller`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disables_hugetlb: Option<bool>,
    /// The handlers whose pods run in a virtual machine of Kata Containers; the empty one is the default runtime.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kata_handlers: BTreeSet<String>,
    /// What annotations of pods may change in their cgroups, which kq does not read.
    #[serde(default, skip_serializing_if = "AnnotatedCpus::is_empty")]
    pub annotated_cpus: AnnotatedCpus,
    /// `ListPodSandbox`
    pub sandboxes: Lookup<Shared<Vec<Sandbox>>>,
    /// `ListContainers`
    pub containers: Lookup<Shared<Vec<Container>>>,
    /// `ListImages`
    pub images: Lookup<Shared<Vec<Image>>>,
    /// `ImageFsInfo`
    pub image_filesystems: Lookup<ImageFilesystems>,
    /// `ContainerStatus` of each container of the list, in its order.
    #[serde(default, skip_serializing_if = "Lookup::was_not_queried")]
    pub container_statuses: Lookup<Vec<ContainerStatus>>,
    /// `ListContainerStats`, by id.
    #[serde(default, skip_serializing_if = "Lookup::was_not_queried")]
    pub writable_layers: Lookup<Vec<WritableLayer>>,
    /// The storage of the images, from runtimes that report it by an API other than the CRI.
    #[serde(default, skip_serializing_if = "Lookup::was_not_queried")]
    pub image_storage: Lookup<ImageStorage>,
    /// The name of the image of sandboxes, which no container uses.
    #[serde(default, skip_serializing_if = "Lookup::was_not_queried")]
    pub sandbox_image: Lookup<String>,
}

impl RuntimeFacts {
    /// Returns whether it leaves out the limits of huge pages of containers; `None`: unknown.
    ///
    /// CRI-O has no such setting: it writes them wherever the kernel has the controller
    /// (`SpecSetLinuxContainerResources`, `internal/factory/container/container.go`).
    pub fn leaves_out_hugepages(&self) -> Option<bool> {
        let is_crio = self.version.runtime_name == "cri-o";
        self.disables_hugetlb.or_else(|| is_crio.then_some(false))
    }

    /// Returns true if the runtime was asked for its sandboxes and containers, and did not list them.
    pub fn lacks_lists(&self) -> bool {
        self.sandboxes.has_failed() || self.containers.has_failed()
    }

    /// Returns the cgroup driver as the kubelet gets it, by `RuntimeConfig`. What kq finds in the runtime's configuration
    /// where that failed does not reach the kubelet.
    pub fn driver_for_kubelet(&self) -> Option<&Sourced<CgroupDriver>> {
        let found = self.cgroup_driver.found.as_ref();
        found.filter(|_| self.driver_by == Some(DriverBy::RuntimeConfig))
    }

    /// Adds which answer has the driver, which a snapshot of an older kq says in the name of the source alone.
    pub(crate) fn complete(&mut self) {
        let by = |source: &str| match source.ends_with("RuntimeConfig") {
            true => DriverBy::RuntimeConfig,
            false => DriverBy::Configuration,
        };
        let found = self.cgroup_driver.found.as_ref();
        self.driver_by = self.driver_by.or_else(|| found.map(|found| by(&found.source)));
    }
}

/// What CRI-O lets annotations of pods change in their cgroups, by its configuration (read in 1.32 to 1.36).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AnnotatedCpus {
    /// The handlers under which a Guaranteed pod with whole CPUs can be without a quota, or have CPUs that it shares with
    /// others; the empty one is the default runtime (`HighPerformanceHooks`,
    /// `internal/runtimehandlerhooks/high_performance_hooks_linux.go`).
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub handlers: BTreeSet<String>,
    /// Its workloads, which give containers of their pods other shares, quotas and CPUs (`MutateSpecGivenAnnotations`,
    /// `pkg/config/workloads.go`).
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub workloads: BTreeSet<String>,
}

impl AnnotatedCpus {
    /// Returns true if no annotation changes anything.
    pub fn is_empty(&self) -> bool {
        self.handlers.is_empty() && self.workloads.is_empty()
    }
}

/// The answer of a runtime that has its cgroup driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DriverBy {
    /// `RuntimeConfig`, which the kubelet calls as well.
    RuntimeConfig,
    /// `Status` with the runtime's configuration, which only kq reads.
    Configuration,
}

/// `VersionResponse`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeVersion {
    /// `containerd`
    pub runtime_name: String,
    /// `1.6.20`
    pub runtime_version: String,
    /// `v1`
    pub runtime_api_version: String,
}

impl RuntimeVersion {
    /// Reads the version in a Node object: `containerd://1.7.28`.
    pub fn of_node(text: &str) -> Option<Self> {
        let (name, version) = text.split_once("://")?;
        Some(Self {
            runtime_name: name.to_owned(),
            runtime_version: version.to_owned(),
            ..Self::default()
        })
    }

    /// Returns true if this runtime reports its cgroup driver to the kubelet (`RuntimeConfig`); `None`: unknown to kq.
    ///
    /// containerd does since 2.0, CRI-O since 1.28.
    pub fn tells_driver(&self) -> Option<bool> {
        self.is_at_least((2, 0), (1, 28))
    }

    /// Returns true if this runtime can mount images as volumes; `None`: unknown to kq.
    ///
    /// containerd has them since 2.1, CRI-O since 1.31.
    pub fn has_image_volumes(&self) -> Option<bool> {
        self.is_at_least((2, 1), (1, 31))
    }

    /// Returns true for this minor version of containerd or CRI-O, or a later one; `None`: it is neither.
    fn is_at_least(&self, containerd: (u32, u32), cri_o: (u32, u32)) -> Option<bool> {
        let first = match self.runtime_name.as_str() {
            "containerd" => containerd,
            "cri-o" => cri_o,
            _ => return None,
        };
        Some(self.numbers()? >= first)
    }

    /// Returns the setting that makes the runtime keep an image, whatever the kubelet requests; `None`: there is none, or it is
    /// not known to kq.
    ///
    /// containerd has pins since 1.7 (`PinnedImageLabelKey` in `internal/cri/labels/labels.go`, which the CRI plugin
    /// reads again on each change of an image), CRI-O since 1.28 (`pinned_images` in crio.conf(5)).
    pub fn how_to_pin(&self) -> Option<&'static str> {
        match self.runtime_name.as_str() {
            "containerd" if self.numbers()? >= (1, 7) => {
                Some("ctr -n k8s.io images label IMAGE io.cri-containerd.pinned=pinned")
            }
            "cri-o" if self.numbers()? >= (1, 28) => {
                Some("name it in pinned_images of crio.conf, and reload CRI-O")
            }
            _ => None,
        }
    }

    /// Returns the major and the minor version.
    fn numbers(&self) -> Option<(u32, u32)> {
        let mut numbers = self.runtime_version.trim_start_matches('v').split(['.', '-', '+', '~']);
        let mut number = || numbers.next()?.parse().ok();
        Some((number()?, number()?))
    }
}

/// The program that creates containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LowLevelRuntime {
    /// `runc`, `crun`: what the program calls itself.
    pub name: String,
    /// `1.1.5`
    pub version: String,
    /// The program on the node.
    pub path: String,
}

impl LowLevelRuntime {
    /// Reads `NAME=VERSION`, such as `runc=1.3.1`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, version) = text.split_once('=')?;
        let is_version = version.starts_with(|c: char| c.is_ascii_digit());
        (!name.is_empty() && is_version).then(|| Self {
            name: name.to_owned(),
            version: version.to_owned(),
            path: String::new(),
        })
    }
}

/// A pod's sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    /// The runtime's id of it.
    pub id: String,
    /// The pod's name.
    pub name: String,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's UID.
    pub uid: String,
    /// The number of earlier sandboxes of the pod.
    pub attempt: u32,
    /// It runs.
    pub ready: bool,
    /// In nanoseconds since 1970.
    pub created_at: i64,
    /// The class of runtime; empty is the default.
    pub runtime_handler: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// The runtime's id of it.
    pub id: String,
    pub sandbox_id: String,
    /// Its name in the pod.
    pub name: String,
    /// The UID of its pod: the label `io.kubernetes.pod.uid`, which the kubelet sets. A container
    /// that something else made may have none; the UID of its sandbox stands in when sandboxes were
    /// asked for as well, and otherwise this is empty.
    pub pod_uid: String,
    /// The number of earlier starts.
    pub attempt: u32,
    pub state: ContainerState,
    /// The image as it was requested.
    pub image: String,
    /// The image as the runtime names it.
    pub image_ref: String,
    /// The [`Image::id`] of its image, from runtimes that report it (the field is newer than the API).
    pub image_id: Option<String>,
    /// The class of runtime for which its image was pulled; empty is the default.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image_runtime_handler: String,
    /// In nanoseconds since 1970.
    pub created_at: i64,
}

/// Facts that only the status of a single container has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    pub id: String,
    /// When it ended, in nanoseconds since 1970; `None`: it has not.
    pub finished_at: Option<i64>,
    /// The images that are mounted into it as volumes, as the runtime names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_volumes: Vec<String>,
    /// Why its status is unknown; the rest is empty then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The writable layer of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WritableLayer {
    /// The id of the container.
    pub id: String,
    /// In bytes; `None`: the runtime did not count.
    pub used_bytes: Option<u64>,
    /// Files and folders; `None`: the runtime did not count.
    pub inodes_used: Option<u64>,
}

/// The pieces of images, which several images may share. A piece is freed when nothing holds
/// it any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageStorage {
    /// The pieces, in an order of their own.
    pub pieces: Vec<StoragePiece>,
}

/// A layer as it was fetched, a layer as it was unpacked, or a description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoragePiece {
    /// The runtime's name for it.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The [`Image::id`]s that hold it, in order.
    pub images: Vec<String>,
    /// Something else holds it as well: a container, a lease, an image of another client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held_otherwise: bool,
}

/// The state of a container.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum ContainerState {
    /// Not started yet.
    Created,
    /// Runs.
    Running,
    /// Ended.
    Exited,
    /// The runtime does not know.
    #[default]
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub id: String,
    /// `NAME:TAG`
    pub repo_tags: Vec<String>,
    /// `NAME@DIGEST`
    pub repo_digests: Vec<String>,
    /// In bytes.
    pub size: u64,
    /// It must not be removed.
    pub pinned: bool,
    /// The class of runtime for which it was pulled; empty is the default.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub runtime_handler: String,
}

/// Where the runtime keeps images and containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageFilesystems {
    pub image: Vec<FilesystemUsage>,
    /// For containers; containerd 1.6 names none.
    pub container: Vec<FilesystemUsage>,
}

/// `FilesystemUsage`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FilesystemUsage {
    /// The folder.
    pub mountpoint: String,
    /// In bytes; `None`: the runtime did not count.
    pub used_bytes: Option<u64>,
    /// Files and folders; `None`: the runtime did not count.
    pub inodes_used: Option<u64>,
    /// When the runtime counted, in nanoseconds since 1970.
    pub timestamp: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_told_to_pin_in_their_own_way() {
        for (name, version, expected) in [
            ("containerd", "1.6.20", None),
            ("containerd", "v1.7.27", Some("ctr -n k8s.io")),
            ("containerd", "2.1.0", Some("io.cri-containerd.pinned=pinned")),
            ("containerd", "", None),
            ("cri-o", "1.27.0", None),
            ("cri-o", "1.34.1", Some("pinned_images of crio.conf")),
            ("docker", "29.0.0", None),
        ] {
            let (runtime_name, runtime_version) = (name.to_owned(), version.to_owned());
            let version = RuntimeVersion { runtime_name, runtime_version, ..Default::default() };
            match (version.how_to_pin(), expected) {
                (None, None) => {}
                (Some(how), Some(part)) => assert!(how.contains(part), "{how}"),
                (how, _) => panic!("{name} {}: {how:?}", version.runtime_version),
            }
        }
    }

    #[test]
    fn an_older_snapshot_has_the_answer_of_the_driver_in_its_source() {
        let configuration = Some(DriverBy::Configuration);
        let by_kubelet = Some(DriverBy::RuntimeConfig);
        for (source, stored, expected) in [
            ("unix:///s RuntimeConfig", None, by_kubelet),
            ("unix:///s Status(verbose) config.SystemdCgroup", None, configuration),
            ("unix:///s RuntimeConfig", configuration, configuration),
            ("another text", by_kubelet, by_kubelet),
        ] {
            let cgroup_driver = Lookup::found(source, CgroupDriver::Systemd);
            let mut runtime =
                RuntimeFacts { cgroup_driver, driver_by: stored, ..RuntimeFacts::default() };
            runtime.complete();
            assert_eq!(runtime.driver_by, expected, "{source}");
            assert_eq!(runtime.driver_for_kubelet().is_some(), expected == by_kubelet, "{source}");
        }
        let mut none = RuntimeFacts::default();
        none.complete();
        assert_eq!(none, RuntimeFacts::default());
    }

    #[test]
    fn image_volumes_came_with_versions() {
        for (name, version, expected) in [
            ("containerd", "1.6.20~ds1", Some(false)),
            ("containerd", "1.7.24", Some(false)),
            ("containerd", "2.0.5", Some(false)),
            ("containerd", "v2.1.0-rc.1", Some(true)),
            ("containerd", "2.1.9", Some(true)),
            ("cri-o", "1.30.2", Some(false)),
            ("cri-o", "1.31.0", Some(true)),
            ("containerd", "main", None),
            ("made-up", "9.9.9", None),
        ] {
            let runtime = RuntimeVersion {
                runtime_name: name.to_owned(),
                runtime_version: version.to_owned(),
                ..RuntimeVersion::default()
            };
            assert_eq!(runtime.has_image_volumes(), expected, "{name} {version}");
        }
    }
}
