//! Reading the envelope and the text in it, with Go's rules and errors.

use super::types::{ClaimInfo, DraDevice};
use crate::facts::checkpoint::layout::read_file;
use crate::k8s::go_json::{GoJsonError, GoList, GoValue, decode, go_struct};
use std::collections::BTreeMap;

/// The envelope (`Checkpoint`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope {
    /// The text.
    pub data: String,
    /// Its checksum.
    pub checksum: u32,
}

go_struct!(Envelope = "checkpoint.Checkpoint" {
    "Data" => data,
    "Checksum" => checksum,
});

/// The text.
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

/// A claim.
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

/// A device.
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
        reader: &mut crate::k8s::go_json::Reader<'_>,
    ) -> Result<(), crate::k8s::go_json::Stop> {
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

/// What the text says of itself, and its claims; `None` is Go's nil.
pub(super) type Claims = (String, String, Option<Vec<ClaimInfo>>);

/// Reads the envelope over what is in it already.
pub(super) fn read_envelope(bytes: &[u8], prepared: Envelope) -> (Envelope, Option<String>) {
    let mut envelope = prepared.clone();
    match decode(bytes, &mut envelope) {
        Ok(()) => (envelope, None),
        Err(GoJsonError::Syntax(error)) => (prepared, Some(error.to_string())),
        Err(error) => (envelope, Some(error.to_string())),
    }
}

/// Reads the text.
pub(super) fn read_data(data: &str) -> Result<Claims, String> {
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
