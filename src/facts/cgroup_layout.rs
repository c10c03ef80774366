//! Where the kernel's cgroup hierarchies are mounted.

use crate::facts::cgroup_mode::CgroupVersion;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The hierarchies of a machine, with paths as they are on the machine itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CgroupLayout {
    /// cgroup v1: the mount point of each controller: `cpu` -> `/sys/fs/cgroup/cpu,cpuacct`. Named
    /// hierarchies are there too: `name=systemd`.
    pub controllers: BTreeMap<String, String>,
    /// The mount point of the unified hierarchy, where it is mounted.
    pub unified: Option<String>,
}

impl CgroupLayout {
    /// Returns which interface the kubelet uses: the unified hierarchy when it is mounted at the place
    /// where the kubelet looks for it, and no v1 controller is in use. (A hybrid layout, with v1
    /// controllers and the unified hierarchy beside them, is v1 to the kubelet: `IsCgroup2UnifiedMode`
    /// of `opencontainers/cgroups` looks at the file system type of `/sys/fs/cgroup`.)
    pub fn version(&self) -> Option<CgroupVersion> {
        let is_v1 = self.controllers.keys().any(|name| !name.starts_with("name="));
        match (is_v1, &self.unified) {
            (true, _) => Some(CgroupVersion::V1),
            (false, Some(_)) => Some(CgroupVersion::V2),
            (false, None) => None,
        }
    }

    /// Tells whether v1 controllers and the unified hierarchy are mounted at the same time.
    pub fn is_hybrid(&self) -> bool {
        self.version() == Some(CgroupVersion::V1) && self.unified.is_some()
    }
}
