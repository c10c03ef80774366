//! Reading the envelope and the text in it, with Go's rules and errors.

use super::types::{PodAllocation, PodAllocations, ResourceClaim, Resources};
use crate::facts::checkpoint::layout::read_file;
use crate::k8s::go_json::{GoList, GoValue, Reader, Stop, go_struct};
use crate::k8s::pod::{ResourceList, ResourceName};
use crate::k8s::quantity::Quantity;
use std::collections::BTreeMap;

/// The envelope (`Checkpoint`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope {
    /// The text.
    pub data: String,
    /// Its checksum.
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

/// A pod.
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
    "allocationEntries" => entries: "state.PodResourceAllocation",
});

/// Resources.
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

/// A claim.
#[derive(Default)]
struct ClaimRead {
    name: String,
    request: String,
}

go_struct!(ClaimRead = "v1.ResourceClaim" {
    "name" => name,
    "request" => request,
});

/// A quantity, which reads itself: it sees the text as it stands, escapes and all.
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
        self.0 = parsed.map_err(|error: crate::k8s::quantity::ParseQuantityError| {
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

/// Reads the envelope, and tells why it is not whole.
pub(super) fn read_envelope(bytes: &[u8]) -> (Envelope, Option<String>) {
    read_file(bytes)
}

/// Reads the text of 1.33 and later.
pub(super) fn read_data(data: &str) -> Result<PodAllocations, String> {
    let (read, error) = read_file::<Data>(data.as_bytes());
    let pods = read.entries.into_iter().flatten().map(|(uid, pod)| {
        let pod_level_resources = pod.pod.map(|resources| Resources::from(*resources));
        let container_resources = containers(pod.containers);
        (uid, PodAllocation { container_resources, pod_level_resources })
    });
    error.map_or_else(|| Ok(pods.collect()), Err)
}

/// Reads the text of 1.32.
pub(super) fn read_data_of_1_32(data: &str) -> Result<PodAllocations, String> {
    let (read, error) = read_file::<DataOf132>(data.as_bytes());
    let pods = read.entries.into_iter().flatten().map(|(uid, pod)| {
        (uid, PodAllocation { container_resources: containers(pod), pod_level_resources: None })
    });
    error.map_or_else(|| Ok(pods.collect()), Err)
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
