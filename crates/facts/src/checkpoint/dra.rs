//! `dra_manager_state`: the claims of dynamic resource allocation that the kubelet has prepared.
//!
//! Followed is `pkg/kubelet/cm/dra/state` of Kubernetes 1.36; `state_files.jsonl` pins it.
//!
//! Reading by a starting kubelet follows `GetOrCreate` in `state/checkpointer.go` and `newClaimInfoCache`,
//! and writing `NewCheckpoint` in `state/checkpoint`.

use crate::checkpoint::Encoded;
use crate::checkpoint::go_dump::crc32;
use crate::checkpoint::layout::read_file;
use kq_k8s::go_json::to_go_json;
use kq_k8s::go_json::{GoJsonError, GoList, GoValue, decode, go_struct};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The envelope (`Checkpoint`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope {
    pub data: String,
    pub checksum: u32,
}

go_struct!(Envelope = "checkpoint.Checkpoint" {
    "Data" => data,
    "Checksum" => checksum,
});

#[derive(Default)]
struct Data {
    kind: String,
    api_version: String,
    claims: GoList<ClaimRead>,
}

go_struct!(Data = "checkpoint.CheckpointData" {
    "kind" => kind,
    "apiVersion" => api_version,
    "ClaimInfoStateList" => claims: "state.ClaimInfoStateList",
});

#[derive(Default)]
struct ClaimRead {
    claim_uid: String,
    claim_name: String,
    namespace: String,
    pod_uids: Option<BTreeMap<String, Empty>>,
    driver_state: Option<BTreeMap<String, DriverRead>>,
}

go_struct!(ClaimRead = "state.ClaimInfoState" {
    "ClaimUID" => claim_uid: "types.UID",
    "ClaimName" => claim_name,
    "Namespace" => namespace,
    "PodUIDs" => pod_uids: "sets.Set[string]",
    "DriverState" => driver_state,
});

/// A structure without fields: what a set maps to.
#[derive(Default)]
struct Empty;

go_struct!(Empty = "sets.Empty" {});

/// The devices of a driver.
#[derive(Default)]
struct DriverRead {
    devices: GoList<DeviceRead>,
}

go_struct!(DriverRead = "state.DriverState" {
    "Devices" => devices,
});

#[derive(Default)]
struct DeviceRead {
    pool_name: String,
    device_name: String,
    share_id: Option<Box<Uid>>,
    request_names: GoList<String>,
    cdi_device_ids: GoList<String>,
}

/// A text of a type with a name of its own, behind a pointer.
#[derive(Default)]
struct Uid(String);

impl GoValue for Uid {
    fn go_type() -> String {
        "types.UID".to_owned()
    }

    fn read_named(
        &mut self,
        _name: Option<&'static str>,
        reader: &mut kq_k8s::go_json::Reader<'_>,
    ) -> Result<(), kq_k8s::go_json::Stop> {
        self.0.read_as("types.UID", reader)
    }
}

go_struct!(DeviceRead = "state.Device" {
    "PoolName" => pool_name,
    "DeviceName" => device_name,
    "ShareID" => share_id,
    "RequestNames" => request_names,
    "CDIDeviceIDs" => cdi_device_ids,
});

impl From<DeviceRead> for DraDevice {
    fn from(read: DeviceRead) -> Self {
        Self {
            pool_name: read.pool_name,
            device_name: read.device_name,
            share_id: read.share_id.map(|id| id.0),
            request_names: read.request_names.into_option(),
            cdi_device_ids: read.cdi_device_ids.into_option(),
        }
    }
}

impl From<ClaimRead> for ClaimInfo {
    fn from(read: ClaimRead) -> Self {
        let devices = |list: Vec<DeviceRead>| list.into_iter().map(DraDevice::from).collect();
        let driver =
            |(name, state): (String, DriverRead)| (name, state.devices.into_option().map(devices));
        Self {
            claim_uid: read.claim_uid,
            claim_name: read.claim_name,
            namespace: read.namespace,
            pod_uids: read.pod_uids.map(|set| set.into_keys().collect()),
            driver_state: read.driver_state.map(|map| map.into_iter().map(driver).collect()),
        }
    }
}

/// The text's type, and its claims; `None` is Go's nil.
type Claims = (String, String, Option<Vec<ClaimInfo>>);

/// Reads the envelope over what is in it already.
fn read_envelope(bytes: &[u8], prepared: Envelope) -> (Envelope, Option<String>) {
    let mut envelope = prepared.clone();
    match decode(bytes, &mut envelope) {
        Ok(()) => (envelope, None),
        Err(GoJsonError::Syntax(error)) => (prepared, Some(error.to_string())),
        Err(error) => (envelope, Some(error.to_string())),
    }
}

/// Reads the text.
fn read_data(data: &str) -> Result<Claims, String> {
    let (read, error) = read_file::<Data>(data.as_bytes());
    let claims = read.claims.into_option();
    let claims = claims.map(|list| list.into_iter().map(ClaimInfo::from).collect());
    match error {
        None => Ok((read.kind, read.api_version, claims)),
        // Both fields are those of a structure inside the structure.
        Some(error) => Err(["kind", "apiVersion"].iter().fold(error, |error, field| {
            let (short, long) = (
                format!("field CheckpointData.{field} of"),
                format!("field CheckpointData.TypeMeta.{field} of"),
            );
            error.replacen(&short, &long, 1)
        })),
    }
}

/// The text in the file calls itself so.
pub const KIND: &str = "DRACheckpoint";

/// The version of the text in the file; the kubelet ignores it.
pub const API_VERSION: &str = "checkpoint.dra.kubelet.k8s.io/v1";

/// A claim that was prepared (`ClaimInfoState`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimInfo {
    pub claim_uid: String,
    pub claim_name: String,
    pub namespace: String,
    /// The pods that use it; `None` is Go's nil.
    pub pod_uids: Option<BTreeSet<String>>,
    /// The devices, by driver; `None` is Go's nil.
    pub driver_state: Option<BTreeMap<String, Option<Vec<DraDevice>>>>,
}

/// A device of a claim (`Device`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DraDevice {
    #[serde(rename = "PoolName")]
    pub pool_name: String,
    #[serde(rename = "DeviceName")]
    pub device_name: String,
    #[serde(rename = "ShareID")]
    pub share_id: Option<String>,
    /// The requests of the claim that it serves.
    #[serde(rename = "RequestNames")]
    pub request_names: Option<Vec<String>>,
    /// The input of the runtime.
    #[serde(rename = "CDIDeviceIDs")]
    pub cdi_device_ids: Option<Vec<String>>,
}

/// The text in the file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'c> {
    kind: &'c str,
    api_version: &'c str,
    #[serde(rename = "ClaimInfoStateList")]
    claims: Option<Vec<Claim<'c>>>,
}

/// A claim, in the order of its fields.
#[derive(Serialize)]
struct Claim<'c> {
    #[serde(rename = "ClaimUID")]
    claim_uid: &'c str,
    #[serde(rename = "ClaimName")]
    claim_name: &'c str,
    #[serde(rename = "Namespace")]
    namespace: &'c str,
    #[serde(rename = "PodUIDs")]
    pod_uids: Option<BTreeMap<&'c str, WrittenEmpty>>,
    #[serde(rename = "DriverState")]
    driver_state: Option<BTreeMap<&'c str, Driver<'c>>>,
}

/// `{}`
#[derive(Serialize)]
struct WrittenEmpty {}

/// The devices of a driver.
#[derive(Serialize)]
struct Driver<'c> {
    #[serde(rename = "Devices")]
    devices: Option<&'c [DraDevice]>,
}

/// Writes the file; `None` is the list of a kubelet that has just made it.
pub fn encode(claims: Option<&[ClaimInfo]>) -> Encoded {
    let data = to_go_json(&Written {
        kind: KIND,
        api_version: API_VERSION,
        claims: claims.map(|claims| claims.iter().map(claim).collect()),
    });
    let checksum = crc32(data.as_bytes());
    let text = to_go_json(&Envelope { data: data.clone(), checksum });
    Encoded { text, pre_image: data, checksum }
}

fn claim(info: &ClaimInfo) -> Claim<'_> {
    let drivers = info.driver_state.as_ref().map(|drivers| {
        let driver = |(name, devices)| {
            let (name, devices): (&String, &Option<Vec<DraDevice>>) = (name, devices);
            (name.as_str(), Driver { devices: devices.as_deref() })
        };
        drivers.iter().map(driver).collect()
    });
    let pods = info.pod_uids.as_ref();
    Claim {
        claim_uid: &info.claim_uid,
        claim_name: &info.claim_name,
        namespace: &info.namespace,
        pod_uids: pods.map(|pods| pods.iter().map(|uid| (uid.as_str(), WrittenEmpty {})).collect()),
        driver_state: drivers,
    }
}

/// The result of reading the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraLoad {
    /// The text in the file; `None`: the file is not an envelope.
    pub data: Option<String>,
    pub checksum_in_file: u32,
    /// The checksum of the text.
    pub checksum_computed: u32,
    /// The text's kind and version, which the kubelet ignores.
    pub calls_itself: Option<(String, String)>,
    /// The claims with which the kubelet starts, `None` being Go's nil; else it does not start.
    pub outcome: Result<Option<Vec<ClaimInfo>>, DraRefusal>,
    /// The claims, whether the checksum is right or not.
    pub shown: Result<Option<Vec<ClaimInfo>>, String>,
}

/// Why the kubelet does not start, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraRefusal {
    /// The file is not an envelope.
    #[error("failed to get checkpoint dra_manager_state: {0}")]
    Json(String),
    /// The checksum is wrong.
    #[error("failed to get checkpoint dra_manager_state: checkpoint is corrupted")]
    Corrupt,
    /// The text in the file cannot be read.
    #[error("{0}")]
    Data(String),
}

/// Loads the file as a kubelet does that starts. It reads over an empty checkpoint: what the file does not
/// say is that of the empty one.
pub fn load(bytes: &[u8]) -> DraLoad {
    let empty = encode(None);
    let prepared = Envelope { data: empty.pre_image, checksum: empty.checksum };
    let (envelope, _) = read_envelope(bytes, Envelope::default());
    let (read, error) = read_envelope(bytes, prepared);
    let is_right = |envelope: &Envelope| envelope.checksum == crc32(envelope.data.as_bytes());
    let content = read_data(&read.data);
    let calls_itself =
        content.as_ref().ok().map(|(kind, version, _)| (kind.clone(), version.clone()));
    let claims = |(_, _, claims): Claims| claims;
    let outcome = match (&error, is_right(&read)) {
        (Some(error), _) => Err(DraRefusal::Json(error.clone())),
        (None, false) => Err(DraRefusal::Corrupt),
        (None, true) => content.clone().map(claims).map_err(DraRefusal::Data),
    };
    DraLoad {
        checksum_in_file: envelope.checksum,
        checksum_computed: crc32(envelope.data.as_bytes()),
        calls_itself,
        shown: error.as_ref().map_or_else(|| content.map(claims), |error| Err(error.clone())),
        data: error.is_none().then_some(envelope.data),
        outcome,
    }
}

impl DraRefusal {
    /// Returns the step of the kubelet's start that fails: it reads the file, then the claims in it.
    pub fn step(&self) -> &'static str {
        match self {
            Self::Json(_) | Self::Corrupt => "GetOrCreate() on checkpoint state",
            Self::Data(_) => "GetEntries() on checkpoint",
        }
    }
}

impl DraLoad {
    /// Returns true if the checksum is that of the text.
    pub fn is_checksum_right(&self) -> bool {
        self.data.is_some() && self.checksum_in_file == self.checksum_computed
    }
}
