//! Facts of the machine, from the node's kernel and files.
//!
//! The texts are kept as they were read and parsed on use, so that stored facts answer like the live
//! node, also to a kq that reads more out of them. Pure.

mod cpu_topology;
mod read;

pub use cpu_topology::{CPU_FILES, CpuPlace, MOST_CPUS};
pub use read::{HostFactError, HostFacts, NumaNode, Text};

#[cfg(test)]
mod tests;

/// The files that are always of interest.
pub const FILES: [&str; 13] = [
    BOOT_ID,
    CGROUP_CONTROLLERS,
    CPUS_ONLINE,
    DBUS_MACHINE_ID,
    KERNEL_RELEASE,
    LOADAVG,
    MACHINE_ID,
    MEMINFO,
    MEMSW_LIMIT,
    PID_MAX,
    PROC_CGROUPS,
    PROC_STAT,
    THREADS_MAX,
];

/// The ID of the boot.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// The controllers of the unified hierarchy.
pub const CGROUP_CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
/// The CPUs that run.
pub const CPUS_ONLINE: &str = "/sys/devices/system/cpu/online";
/// The machine's number, where systemd's is missing.
pub const DBUS_MACHINE_ID: &str = "/var/lib/dbus/machine-id";
/// The kernel's version.
pub const KERNEL_RELEASE: &str = "/proc/sys/kernel/osrelease";
/// The load; its fourth field has how many processes and threads there are.
pub const LOADAVG: &str = "/proc/loadavg";
/// The machine's number.
pub const MACHINE_ID: &str = "/etc/machine-id";
/// The machine's memory and swap.
pub const MEMINFO: &str = "/proc/meminfo";
/// cgroup v1: there when the kernel accounts for swap.
pub const MEMSW_LIMIT: &str = "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes";
/// The largest number of a process.
pub const PID_MAX: &str = "/proc/sys/kernel/pid_max";
/// cgroup v1: the controllers of the kernel.
pub const PROC_CGROUPS: &str = "/proc/cgroups";
/// The kernel's counters; `btime` is when it started.
pub const PROC_STAT: &str = "/proc/stat";
/// The most tasks at a time.
pub const THREADS_MAX: &str = "/proc/sys/kernel/threads-max";
/// The folder of huge pages, one folder per size.
pub const HUGEPAGES: &str = "/sys/kernel/mm/hugepages";
/// The folder of CPUs, one folder per CPU, `cpu0`.
pub const CPUS: &str = "/sys/devices/system/cpu";
/// The folder of NUMA nodes.
pub const NUMA_NODES: &str = "/sys/devices/system/node";
/// The mounts of the node's first process, which are those of the node.
pub const INIT_MOUNTINFO: &str = "/proc/1/mountinfo";
/// The mounts that kq itself sees: where the node's root is its own, these are what it can open.
pub const OWN_MOUNTINFO: &str = "/proc/self/mountinfo";
/// cgroup v2: groups of a node that have the memory controller when anything has it. The root has no
/// `memory.swap.max`, so that a group below it is read.
pub const SWAP_GROUPS: [&str; 6] =
    ["init.scope", "kubelet", "kubelet.slice", "kubepods", "kubepods.slice", "system.slice"];

/// Returns the file of a group that is there when the kernel accounts for swap.
pub fn swap_max(group: &str) -> String {
    format!("/sys/fs/cgroup/{group}/memory.swap.max")
}

/// Returns the file of a group that is there when it has the memory controller.
pub fn memory_max(group: &str) -> String {
    format!("/sys/fs/cgroup/{group}/memory.max")
}

/// Returns the folder of the huge pages of a NUMA node such as `node0`.
pub fn numa_huge_pages(node: &str) -> String {
    format!("{NUMA_NODES}/{node}/hugepages")
}

/// Returns the name under which the list of a folder is kept: one name per line.
pub fn listing(folder: &str) -> String {
    format!("{folder}/")
}
