//! The layouts of the file, the texts of their checksums, and reading the file, with Go's
//! errors, and writing it (`storeState` in `state_checkpoint.go`).

use super::load::CpuState;
use crate::checkpoint::Encoded;
use crate::checkpoint::go_dump::{GoDump, PreImage};
use crate::checkpoint::layout::{KnownLayouts, Layered, dump_checkpoint, read_file};
use kq_k8s::cpuset::CpuSet;
use kq_k8s::go_json::to_go_json;
use kq_k8s::go_json::{GoJsonError, GoValue, Reader, Stop, decode, go_struct};
use serde::Serialize;
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

/// Layout v2 as it is read.
#[derive(Default)]
struct V2 {
    read: CpuCheckpoint,
}

/// Layout v2 as kubelets before 1.36 read it, where it is the newest.
#[derive(Default)]
struct NewestV2 {
    read: CpuCheckpoint,
}

/// Layout v3 as it is read.
struct V3 {
    checkpoint: CpuCheckpoint,
    pods: Option<BTreeMap<String, PodCpus>>,
}

impl Default for V3 {
    fn default() -> Self {
        Self { checkpoint: CpuCheckpoint::default(), pods: Some(BTreeMap::new()) }
    }
}

/// The CPUs of a pod (`PodEntry`), which reads itself (`UnmarshalJSON` in `state.go`).
#[derive(Default)]
struct PodCpus(CpuSet);

/// The JSON of a pod's CPUs (`podEntryJSON`).
#[derive(Default)]
struct PodEntryJson {
    cpu_set: String,
}

go_struct!(V2 = "state.CPUManagerCheckpointV2" {
    "policyName" => read.policy_name,
    "defaultCpuSet" => read.default_cpu_set,
    "entries" => read.entries,
    "checksum" => read.checksum: "checksum.Checksum",
});

go_struct!(NewestV2 = "state.CPUManagerCheckpoint" {
    "policyName" => read.policy_name,
    "defaultCpuSet" => read.default_cpu_set,
    "entries" => read.entries,
    "checksum" => read.checksum: "checksum.Checksum",
});

go_struct!(V3 = "state.CPUManagerCheckpoint" {
    "policyName" => checkpoint.policy_name,
    "defaultCpuSet" => checkpoint.default_cpu_set,
    "entries" => checkpoint.entries,
    "podEntries" => pods: "state.PodCPUAssignments",
    "checksum" => checkpoint.checksum: "checksum.Checksum",
});

go_struct!(CpuCheckpointV1 = "state.CPUManagerCheckpointV1" {
    "policyName" => policy_name,
    "defaultCpuSet" => default_cpu_set,
    "entries" => entries,
    "checksum" => checksum: "checksum.Checksum",
});

go_struct!(PodEntryJson = "state.podEntryJSON" {
    "cpuSet" => cpu_set,
});

impl GoValue for PodCpus {
    fn go_type() -> String {
        "state.PodEntry".to_owned()
    }

    fn read_named(
        &mut self,
        _name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        let mut entry = PodEntryJson::default();
        decode(reader.raw()?, &mut entry).map_err(|error| Stop::Custom(at_pods(&error)))?;
        let cpus = entry.cpu_set.parse();
        self.0 = cpus.map_err(|error| Stop::Custom(format!("failed to parse cpuset: {error}")))?;
        Ok(())
    }
}

/// Returns the error of a pod's CPUs as the surrounding document reports it: with its own place in front.
fn at_pods(error: &GoJsonError) -> String {
    let text = error.to_string();
    let place = "CPUManagerCheckpoint.podEntries";
    match text.split_once(" into Go ") {
        Some((what, at)) => match at.split_once("struct field podEntryJSON") {
            Some((_, field)) => format!("{what} into Go struct field {place}{field}"),
            None => {
                let expected = at.trim_start_matches("value of type ");
                format!("{what} into Go struct field {place} of type {expected}")
            }
        },
        None => text,
    }
}

/// Reads a file in layout v2 or v3, and returns why it is incomplete.
pub(super) fn read_checkpoint(
    bytes: &[u8],
    layout: CpuLayout,
    known: KnownLayouts,
) -> (CpuCheckpoint, Option<String>) {
    if known == KnownLayouts::BeforePods {
        let (read, error) = read_file::<NewestV2>(bytes);
        return (read.read, error);
    }
    if layout != CpuLayout::V3 {
        let (read, error) = read_file::<V2>(bytes);
        return (read.read, error);
    }
    let (read, error) = read_file::<V3>(bytes);
    let pods = read.pods.map(|pods| pods.into_iter().map(|(pod, cpus)| (pod, cpus.0)).collect());
    (CpuCheckpoint { pod_entries: pods, ..read.checkpoint }, error)
}

/// The file, in the order of its fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'c> {
    policy_name: &'c str,
    default_cpu_set: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<&'c BTreeMap<String, Option<BTreeMap<String, String>>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pod_entries: BTreeMap<&'c str, PodEntry>,
    checksum: u32,
}

/// The CPUs of a pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodEntry {
    #[serde(skip_serializing_if = "String::is_empty")]
    cpu_set: String,
}

/// Writes the file: with the CPUs of pods in layout v3, else in v2.
pub fn encode(state: &CpuState) -> Encoded {
    let entries = state.containers.iter().map(|(pod, containers)| {
        let containers = containers.iter().map(|(name, cpus)| (name.clone(), cpus.to_string()));
        (pod.clone(), Some(containers.collect()))
    });
    let checkpoint = CpuCheckpoint {
        policy_name: state.policy_name.clone(),
        default_cpu_set: state.default_cpu_set.to_string(),
        entries: Some(entries.collect()),
        pod_entries: state.pods.clone(),
        checksum: 0,
    };
    let layout = if state.pods.is_some() { CpuLayout::V3 } else { CpuLayout::V2 };
    let hashed = Parsed::Later(checkpoint.clone());
    let pod_entry = |(pod, cpus)| -> (&str, PodEntry) {
        let (pod, cpus): (&String, &CpuSet) = (pod, cpus);
        (pod, PodEntry { cpu_set: cpus.to_string() })
    };
    let checksum = hashed.checksum(layout, Parsed::TYPE_NAME);
    let text = to_go_json(&File {
        policy_name: &checkpoint.policy_name,
        default_cpu_set: &checkpoint.default_cpu_set,
        entries: checkpoint.entries.as_ref().filter(|entries| !entries.is_empty()),
        pod_entries: state.pods.iter().flatten().map(pod_entry).collect(),
        checksum,
    });
    Encoded { text, pre_image: hashed.pre_image(layout), checksum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pods_cpus_that_refuse_end_the_reading() {
        let rows = [
            (
                r#"{"podEntries":{"p":5},"checksum":7}"#,
                "json: cannot unmarshal number into Go struct field CPUManagerCheckpoint.podEntries \
                 of type state.podEntryJSON",
            ),
            (
                r#"{"podEntries":{"p":{"cpuSet":[]}},"checksum":7}"#,
                "json: cannot unmarshal array into Go struct field \
                 CPUManagerCheckpoint.podEntries.cpuSet of type string",
            ),
            (
                r#"{"checksum":"x","podEntries":{"p":{"cpuSet":"x"}}}"#,
                "failed to parse cpuset: strconv.Atoi: parsing \"x\": invalid syntax",
            ),
        ];
        for (text, expected) in rows {
            let (read, error) =
                read_checkpoint(text.as_bytes(), CpuLayout::V3, KnownLayouts::WithPods);
            assert_eq!(error.as_deref(), Some(expected), "{text}");
            assert_eq!((read.checksum, read.pod_entries), (0, Some(BTreeMap::new())), "{text}");
        }
        let (read, error) =
            read_checkpoint(br#"{"podEntries":{"p":null}}"#, CpuLayout::V3, KnownLayouts::WithPods);
        assert_eq!(error, None);
        assert_eq!(read.pod_entries, Some([("p".to_owned(), CpuSet::default())].into()));
    }
}
