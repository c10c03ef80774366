//! The cgroups of a node, for a change: the kernel's files, and systemd's properties for them.

use kq_facts::cgroup_file::CgroupFiles;
use kq_facts::unit::{Properties, Property};
use kq_io::cgroup_files::KernelFiles;
use kq_linux::systemd_bus::SystemdBus;
use std::path::Path;

/// The files, with a connection to systemd where steps need it.
pub(super) struct NodeCgroups {
    files: KernelFiles,
    systemd: Result<SystemdBus, String>,
}

impl NodeCgroups {
    /// Returns the files alone, and why systemd is not asked.
    pub(super) fn without_systemd(files: KernelFiles, reason: &str) -> Self {
        Self { files, systemd: Err(reason.to_owned()) }
    }

    /// Connects to the systemd of the node with a root folder.
    pub(super) fn with_systemd(files: KernelFiles, root: &Path) -> Self {
        Self { files, systemd: SystemdBus::of_node(root).map_err(|error| error.to_string()) }
    }

    fn systemd(&self) -> Result<&SystemdBus, String> {
        self.systemd.as_ref().map_err(Clone::clone)
    }
}

impl CgroupFiles for NodeCgroups {
    fn read(&self, cgroup: &str, file: &str) -> Result<Option<String>, String> {
        self.files.read_if_there(cgroup, file)
    }

    fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
        self.files.write(cgroup, file, text)
    }

    fn property(&self, cgroup: &str, name: &str) -> Result<Property, String> {
        self.systemd()?.property(cgroup, name).map_err(|error| error.to_string())
    }

    fn set_properties(&self, cgroup: &str, properties: &Properties) -> Result<(), String> {
        self.systemd()?.set(cgroup, properties).map_err(|error| error.to_string())
    }
}
