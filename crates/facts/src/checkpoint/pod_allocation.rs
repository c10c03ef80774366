//! `allocated_pods_state` and `actuated_pods_state`: the resources that the kubelet granted to pods, and
//! those that are in effect; apart while a pod is resized in place.
//!
//! Followed is `pkg/kubelet/allocation/state` of Kubernetes 1.36; `state_files.jsonl` pins it. Kubernetes
//! 1.32 had one file, `pod_status_manager_state`, in the same envelope.
//!
//! Reading by a starting kubelet and writing follow `restoreState` and `storeState` in
//! `state_checkpoint.go`.

use crate::checkpoint::Encoded;
use crate::checkpoint::go_dump::{Fnv32, PreImage};
use crate::checkpoint::layout::{read_file, read_file_into};
use kq_k8s::go_json::to_go_json;
use kq_k8s::go_json::{GoList, GoValue, Reader, Stop, go_struct};
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::Quantity;
use serde::Serialize;
use std::collections::BTreeMap;

/// The envelope (`Checkpoint`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Envelope {
    pub data: String,
    pub checksum: u64,
}

go_struct!(Envelope = "state.Checkpoint" {
    "data" => data,
    "checksum" => checksum: "checksum.Checksum",
});

/// The text of 1.33 and later.
#[derive(Default)]
struct Data {
    entries: Option<BTreeMap<String, PodRead>>,
}

go_struct!(Data = "state.PodResourceCheckpointInfo" {
    "entries" => entries: "state.PodResourceInfoMap",
});

#[derive(Default)]
struct PodRead {
    containers: Containers,
    pod: Option<Box<ResourcesRead>>,
}

type Containers = Option<BTreeMap<String, ResourcesRead>>;

go_struct!(PodRead = "state.PodResourceInfo" {
    "ContainerResources" => containers,
    "PodLevelResources" => pod,
});

/// The text of 1.32.
#[derive(Default)]
struct DataOf132 {
    entries: Option<BTreeMap<String, Containers>>,
}

go_struct!(DataOf132 = "state.PodResourceAllocationInfo" {
    "allocationEntries" => entries: "map[string]map[string]v1.ResourceRequirements",
});

#[derive(Default)]
struct ResourcesRead {
    limits: Amounts,
    requests: Amounts,
    claims: GoList<ClaimRead>,
}

type Amounts = Option<BTreeMap<String, Amount>>;

go_struct!(ResourcesRead = "v1.ResourceRequirements" {
    "limits" => limits: "v1.ResourceList",
    "requests" => requests: "v1.ResourceList",
    "claims" => claims,
});

#[derive(Default)]
struct ClaimRead {
    name: String,
    request: String,
}

go_struct!(ClaimRead = "v1.ResourceClaim" {
    "name" => name,
    "request" => request,
});

/// A quantity that parses the raw text, with its escapes.
#[derive(Default)]
struct Amount(Quantity);

impl GoValue for Amount {
    fn go_type() -> String {
        "resource.Quantity".to_owned()
    }

    fn read_named(
        &mut self,
        _name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        let raw = reader.raw()?;
        if raw == b"null" {
            self.0 = Quantity::default();
            return Ok(());
        }
        let text = String::from_utf8_lossy(raw);
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let parsed = inner.unwrap_or(&text).trim().parse();
        self.0 = parsed.map_err(|error: kq_k8s::quantity::ParseQuantityError| {
            Stop::Custom(error.to_string())
        })?;
        Ok(())
    }
}

fn resource_list(amounts: Amounts) -> ResourceList {
    let amounts = amounts.into_iter().flatten();
    amounts.map(|(name, amount)| (ResourceName::from(name.as_str()), amount.0)).collect()
}

impl From<ResourcesRead> for Resources {
    fn from(read: ResourcesRead) -> Self {
        let claims = read.claims.into_option().unwrap_or_default().into_iter();
        let claim = |it: ClaimRead| ResourceClaim { name: it.name, request: it.request };
        Self {
            limits: resource_list(read.limits),
            requests: resource_list(read.requests),
            claims: claims.map(claim).collect(),
        }
    }
}

fn containers(read: Containers) -> BTreeMap<String, Resources> {
    read.into_iter().flatten().map(|(name, resources)| (name, resources.into())).collect()
}

/// Reads the text of 1.33 and later.
fn read_data(data: &str) -> Result<PodAllocations, String> {
    let (read, error) = read_file::<Data>(data.as_bytes());
    let pods = read.entries.into_iter().flatten().map(|(uid, pod)| {
        let pod_level_resources = pod.pod.map(|resources| Resources::from(*resources));
        let container_resources = containers(pod.containers);
        (uid, PodAllocation { container_resources, pod_level_resources })
    });
    error.map_or_else(|| Ok(pods.collect()), Err)
}

/// Reads the text of 1.32.
fn read_data_of_1_32(data: &str) -> Result<PodAllocations, String> {
    let (read, error) = read_file::<DataOf132>(data.as_bytes());
    let pods = read.entries.into_iter().flatten().map(|(uid, pod)| {
        (uid, PodAllocation { container_resources: containers(pod), pod_level_resources: None })
    });
    error.map_or_else(|| Ok(pods.collect()), Err)
}

/// The resources of pods, by UID.
pub type PodAllocations = BTreeMap<String, PodAllocation>;

/// The resources of a pod (`PodResourceInfo`).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PodAllocation {
    /// By container; init containers and sidecars are among them.
    pub container_resources: BTreeMap<String, Resources>,
    pub pod_level_resources: Option<Resources>,
}

/// The resources of a container or pod (`ResourceRequirements`), in the order of Go's fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    #[serde(skip_serializing_if = "ResourceList::is_empty")]
    pub limits: ResourceList,
    #[serde(skip_serializing_if = "ResourceList::is_empty")]
    pub requests: ResourceList,
    /// Claims of dynamic resource allocation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ResourceClaim>,
}

/// A claim of the pod that a container uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaim {
    /// Its name in the pod.
    pub name: String,
    /// The one request of it that is used; empty: all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request: String,
}

/// The text in the envelope.
#[derive(Serialize)]
struct Written<'p> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    entries: &'p BTreeMap<String, PodAllocation>,
}

/// Writes a file. The kubelet writes none before it has recorded a pod.
pub fn encode(pods: &PodAllocations) -> Encoded {
    let data = to_go_json(&Written { entries: pods });
    let (pre_image, checksum) = hashed(&data);
    let text = to_go_json(&Envelope { data: data.clone(), checksum: checksum.into() });
    Encoded { text, pre_image, checksum }
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq)]
pub struct PodsLoad {
    /// The text in the envelope; `None`: the envelope is none.
    pub data: Option<String>,
    pub checksum_in_file: u64,
    /// The checksum of the text.
    pub checksum_computed: u32,
    /// The state with which the kubelet starts; `None`: it does not start.
    pub outcome: Result<PodAllocations, PodsRefusal>,
    /// The contents of the text, whether the checksum is right or not.
    pub shown: Result<PodAllocations, String>,
}

/// Why the kubelet does not start, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PodsRefusal {
    /// The file is not an envelope.
    #[error("{0}")]
    Json(String),
    /// The checksum is wrong; 0 is wrong as well.
    #[error("checkpoint is corrupted")]
    Corrupt,
    /// The text in the envelope cannot be read.
    #[error("failed to get pod resource information: {0}")]
    Data(String),
    /// The same of a kubelet 1.32 (`restoreState`, `pkg/kubelet/status/state/state_checkpoint.go`).
    #[error("failed to get pod resource allocation info: {0}")]
    DataOf1_32(String),
}

/// Returns the text that is hashed, the data as a Go string, and its checksum.
fn hashed(data: &str) -> (String, u32) {
    let pre_image = format!("(string){data}");
    let mut sum = Fnv32::default();
    sum.push(&pre_image);
    (pre_image, sum.sum())
}

impl PodsLoad {
    /// Returns the text that the checksum is made of.
    pub fn pre_image(&self) -> Option<String> {
        self.data.as_ref().map(|data| hashed(data).0)
    }

    /// Returns true if the checksum is right.
    pub fn is_checksum_right(&self) -> bool {
        self.data.is_some() && self.checksum_in_file == u64::from(self.checksum_computed)
    }
}

/// Loads `allocated_pods_state` or `actuated_pods_state` as a kubelet does that starts.
pub fn load(bytes: &[u8]) -> PodsLoad {
    load_with(read_file(bytes), read_data, PodsRefusal::Data)
}

/// Loads `pod_status_manager_state` as a kubelet 1.32 does that starts.
pub fn load_v1_32(bytes: &[u8]) -> PodsLoad {
    // It reads into a checkpoint of no allocations (`restoreState`, `pkg/kubelet/status/state/state_checkpoint.go`): what the
    // file lacks is of that one.
    let data = "null".to_owned();
    let checksum = hashed(&data).1.into();
    let envelope = read_file_into(Envelope { data, checksum }, bytes);
    load_with(envelope, read_data_of_1_32, PodsRefusal::DataOf1_32)
}

fn load_with(
    (Envelope { data, checksum }, error): (Envelope, Option<String>),
    read: fn(&str) -> Result<PodAllocations, String>,
    refuse: fn(String) -> PodsRefusal,
) -> PodsLoad {
    let (_, checksum_computed) = hashed(&data);
    if let Some(error) = error {
        return PodsLoad {
            data: None,
            checksum_in_file: checksum,
            checksum_computed,
            outcome: Err(PodsRefusal::Json(error.clone())),
            shown: Err(error),
        };
    }
    let shown = read(&data);
    let outcome = match checksum == u64::from(checksum_computed) {
        true => shown.clone().map_err(refuse),
        false => Err(PodsRefusal::Corrupt),
    };
    PodsLoad { data: Some(data), checksum_in_file: checksum, checksum_computed, outcome, shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_reads_its_own_text() {
        let cpu = |text: &str| {
            let data = format!(
                r#"{{"entries":{{"p":{{"ContainerResources":{{"c":{{"limits":{text}}}}}}}}}}}"#
            );
            let pods = read_data(&data)?;
            let limits = pods["p"].container_resources["c"].limits.clone();
            Ok::<_, String>(limits.get(&ResourceName::Cpu).map(Quantity::canonical))
        };
        let format = "quantities must match the regular expression \
                      '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        for (name, text, expected) in [
            ("text", r#"{"cpu":"100m"}"#, Ok(Some("100m"))),
            ("number", r#"{"cpu":1.5}"#, Ok(Some("1500m"))),
            ("blanks", r#"{"cpu":" 2 "}"#, Ok(Some("2"))),
            ("null", r#"{"cpu":null}"#, Ok(Some("0"))),
            ("escaped", r#"{"cpu":"\u0032"}"#, Err(format)),
            ("object", r#"{"cpu":{}}"#, Err(format)),
            ("truth", r#"{"cpu":true}"#, Err(format)),
            ("empty", r#"{"cpu":""}"#, Err(format)),
            ("no list", "null", Ok(None)),
            (
                "another type",
                "[]",
                Err("json: cannot unmarshal array into Go struct field \
                     ResourceRequirements.entries.ContainerResources.limits of type v1.ResourceList"),
            ),
        ] {
            let found = cpu(text);
            let found = found.as_ref().map(Option::as_deref).map_err(String::as_str);
            assert_eq!(found, expected, "{name}");
        }
    }
}
