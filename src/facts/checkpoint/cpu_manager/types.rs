//! What the layouts of the file hold, and the text that their checksums are made of.

use crate::facts::checkpoint::checksum::PreImage;
use crate::facts::checkpoint::go_dump::{GoDump, Hashed};
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

/// The name that all layouts have in the text.
pub const TYPE_NAME: &str = "CPUManagerCheckpoint";

/// The name under which a kubelet without the gate accepts layout v2 as well.
pub const LEGACY_TYPE_NAME: &str = "CPUManagerCheckpointV2";

/// A checkpoint in the layout and under the type name in which it is hashed.
#[derive(Clone, Copy, Debug)]
pub struct HashedCpu<'c> {
    /// The content; of v2 the CPUs of pods are left out.
    pub checkpoint: &'c CpuCheckpoint,
    /// Layout v3.
    pub with_pods: bool,
    /// [`TYPE_NAME`] or [`LEGACY_TYPE_NAME`].
    pub type_name: &'c str,
}

impl Hashed for HashedCpu<'_> {
    fn dump<P: PreImage + ?Sized>(&self, out: &mut P) {
        let checkpoint = self.checkpoint;
        let mut dump = GoDump::new(out);
        head(&mut dump, self.type_name, &checkpoint.policy_name, &checkpoint.default_cpu_set);
        dump.map("map[string]map[string]string", checkpoint.entries.as_ref(), |dump, pod| {
            dump.map("map[string]string", pod.as_ref(), |dump, cpus| dump.scalar("string", cpus));
        });
        if self.with_pods {
            dump.mark(" PodEntries:");
            dump.map("state.PodCPUAssignments", checkpoint.pod_entries.as_ref(), |dump, cpus| {
                dump.scalar("state.PodEntry", "{");
                dump.mark("CPUSet:");
                dump.scalar("cpuset.CPUSet", "{");
                dump.mark("elems:");
                let elements = cpus.iter().map(|cpu| (cpu, ()));
                dump.map("map[int]struct {}", Some(elements), |dump, ()| {
                    dump.scalar("struct {}", "{}");
                });
                dump.mark("}}");
            });
        }
        tail(&mut dump);
    }
}

impl Hashed for CpuCheckpointV1 {
    fn dump<P: PreImage + ?Sized>(&self, out: &mut P) {
        let mut dump = GoDump::new(out);
        head(&mut dump, TYPE_NAME, &self.policy_name, &self.default_cpu_set);
        dump.map("map[string]string", self.entries.as_ref(), |dump, cpus| {
            dump.scalar("string", cpus);
        });
        tail(&mut dump);
    }
}

/// Prints what all layouts begin with.
fn head<P: PreImage + ?Sized>(
    dump: &mut GoDump<'_, P>,
    type_name: &str,
    policy: &str,
    default: &str,
) {
    for piece in ["(*state.", type_name, "){PolicyName:"] {
        dump.mark(piece);
    }
    dump.scalar("string", policy);
    dump.mark(" DefaultCPUSet:");
    dump.scalar("string", default);
    dump.mark(" Entries:");
}

/// Prints what all layouts end with: a checksum is made with the checksum 0.
fn tail<P: PreImage + ?Sized>(dump: &mut GoDump<'_, P>) {
    dump.mark(" Checksum:");
    dump.number("checksum.Checksum", 0);
    dump.mark("}");
}
