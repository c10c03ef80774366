//! The kernel's cgroup files for those who change them.

use crate::cgroup_files::KernelFiles;
use kq_facts::cgroup_file::CgroupFiles;

impl CgroupFiles for KernelFiles {
    fn read(&self, cgroup: &str, file: &str) -> Result<Option<String>, String> {
        self.read_if_there(cgroup, file)
    }

    fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
        Self::write(self, cgroup, file, text)
    }
}
