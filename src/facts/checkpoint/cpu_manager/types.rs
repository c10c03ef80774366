//! What the layouts of the file hold, and the text that their checksums are made of.

use crate::facts::checkpoint::checksum::PreImage;
use crate::facts::checkpoint::go_dump::GoDump;
use crate::facts::checkpoint::layout::{Layered, dump_checkpoint};
use crate::k8s::cpuset::CpuSet;
use std::collections::BTreeMap;
use std::fmt;

/// The layouts, as `pkg/kubelet/cm/cpumanager/state/checkpoint.go` counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CpuLayout {
    /// Up to Kubernetes 1.17: CPUs by the id of a container.
    V1,
    /// CPUs by pod and container.
    V2,
    /// With the CPUs of pods as a whole: written with the gate PodLevelResourceManagers.
    V3,
}

impl fmt::Display for CpuLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::V3 => "v3",
        })
    }
}

/// The CPUs of containers, by pod. `None` is Go's nil, which has another checksum than an empty map.
pub type CpuEntries = BTreeMap<String, Option<BTreeMap<String, String>>>;

/// The file in layouts v2 and v3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuCheckpoint {
    /// `none`, `static`
    pub policy_name: String,
    /// The CPUs that all other containers share, as a list.
    pub default_cpu_set: String,
    /// The exclusive CPUs of containers.
    pub entries: Option<CpuEntries>,
    /// v3: the CPUs of pods.
    pub pod_entries: Option<BTreeMap<String, CpuSet>>,
    /// What the file says.
    pub checksum: u64,
}

/// The file in layout v1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuCheckpointV1 {
    /// `none`, `static`
    pub policy_name: String,
    /// The CPUs that all other containers share, as a list.
    pub default_cpu_set: String,
    /// The exclusive CPUs by container id.
    pub entries: Option<BTreeMap<String, String>>,
    /// What the file says.
    pub checksum: u64,
}

impl Default for CpuCheckpoint {
    /// Returns what the kubelet reads a file into: maps that are there and empty.
    fn default() -> Self {
        Self {
            policy_name: String::new(),
            default_cpu_set: String::new(),
            entries: Some(BTreeMap::new()),
            pod_entries: Some(BTreeMap::new()),
            checksum: 0,
        }
    }
}

impl Default for CpuCheckpointV1 {
    fn default() -> Self {
        Self {
            policy_name: String::new(),
            default_cpu_set: String::new(),
            entries: Some(BTreeMap::new()),
            checksum: 0,
        }
    }
}

/// The content in a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// v1
    V1(CpuCheckpointV1),
    /// v2 and v3
    Later(CpuCheckpoint),
}

impl Layered for Parsed {
    type Layout = CpuLayout;
    const TYPE_NAME: &'static str = "CPUManagerCheckpoint";
    const LEGACY_TYPE_NAME: &'static str = "CPUManagerCheckpointV2";

    fn checksum_in_file(&self) -> u64 {
        match self {
            Self::V1(checkpoint) => checkpoint.checksum,
            Self::Later(checkpoint) => checkpoint.checksum,
        }
    }

    fn dump<P: PreImage + ?Sized>(&self, layout: CpuLayout, type_name: &str, out: &mut P) {
        let (policy, default) = match self {
            Self::V1(it) => (&it.policy_name, &it.default_cpu_set),
            Self::Later(it) => (&it.policy_name, &it.default_cpu_set),
        };
        dump_checkpoint(out, type_name, policy, |dump| {
            dump.mark(" DefaultCPUSet:");
            dump.scalar("string", default);
            dump.mark(" Entries:");
            match self {
                Self::V1(it) => strings(dump, it.entries.as_ref()),
                Self::Later(it) => {
                    dump.map("map[string]map[string]string", it.entries.as_ref(), |dump, pod| {
                        strings(dump, pod.as_ref());
                    });
                    if layout == CpuLayout::V3 {
                        pod_entries(dump, it.pod_entries.as_ref());
                    }
                }
            }
        });
    }
}

fn strings<P: PreImage + ?Sized>(dump: &mut GoDump<'_, P>, map: Option<&BTreeMap<String, String>>) {
    dump.map("map[string]string", map, |dump, text| dump.scalar("string", text));
}

fn pod_entries<P: PreImage + ?Sized>(
    dump: &mut GoDump<'_, P>,
    entries: Option<&BTreeMap<String, CpuSet>>,
) {
    dump.mark(" PodEntries:");
    dump.map("state.PodCPUAssignments", entries, |dump, cpus| {
        dump.scalar("state.PodEntry", "{");
        dump.mark("CPUSet:");
        dump.scalar("cpuset.CPUSet", "{");
        dump.mark("elems:");
        let elements = cpus.iter().map(|cpu| (cpu, ()));
        dump.map("map[int]struct {}", Some(elements), |dump, ()| dump.scalar("struct {}", "{}"));
        dump.mark("}}");
    });
}
