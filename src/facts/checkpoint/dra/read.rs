//! Reading the envelope and the text in it, with Go's rules and errors.

use super::types::{ClaimInfo, DraDevice};
use crate::facts::checkpoint::go_read::read_file;
use crate::k8s::go_json::{Field, GoJsonError, GoList, GoStruct, GoValue, decode};
use std::collections::BTreeMap;

/// The envelope (`Checkpoint`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope {
    /// The text.
    pub data: String,
    /// Its checksum.
    pub checksum: u32,
}

impl GoStruct for Envelope {
    const TYPE: &'static str = "checkpoint.Checkpoint";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "Data", read: |it, reader| it.data.read(reader) },
        Field { name: "Checksum", read: |it, reader| it.checksum.read(reader) },
    ];
}

/// The text.
#[derive(Default)]
struct Data {
    kind: String,
    api_version: String,
    claims: GoList<ClaimRead>,
}

impl GoStruct for Data {
    const TYPE: &'static str = "checkpoint.CheckpointData";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "kind", read: |it, reader| it.kind.read(reader) },
        Field { name: "apiVersion", read: |it, reader| it.api_version.read(reader) },
        Field {
            name: "ClaimInfoStateList",
            read: |it, reader| it.claims.read_as("state.ClaimInfoStateList", reader),
        },
    ];
}

/// A claim.
#[derive(Default)]
struct ClaimRead {
    claim_uid: String,
    claim_name: String,
    namespace: String,
    pod_uids: Option<BTreeMap<String, Empty>>,
    driver_state: Option<BTreeMap<String, DriverRead>>,
}

impl GoStruct for ClaimRead {
    const TYPE: &'static str = "state.ClaimInfoState";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "ClaimUID", read: |it, reader| it.claim_uid.read_as("types.UID", reader) },
        Field { name: "ClaimName", read: |it, reader| it.claim_name.read(reader) },
        Field { name: "Namespace", read: |it, reader| it.namespace.read(reader) },
        Field {
            name: "PodUIDs",
            read: |it, reader| it.pod_uids.read_as("sets.Set[string]", reader),
        },
        Field { name: "DriverState", read: |it, reader| it.driver_state.read(reader) },
    ];
}

/// A structure without fields: what a set maps to.
#[derive(Default)]
struct Empty;

impl GoStruct for Empty {
    const TYPE: &'static str = "sets.Empty";
    const FIELDS: &'static [Field<Self>] = &[];
}

/// The devices of a driver.
#[derive(Default)]
struct DriverRead {
    devices: GoList<DeviceRead>,
}

impl GoStruct for DriverRead {
    const TYPE: &'static str = "state.DriverState";
    const FIELDS: &'static [Field<Self>] =
        &[Field { name: "Devices", read: |it, reader| it.devices.read(reader) }];
}

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

impl GoStruct for DeviceRead {
    const TYPE: &'static str = "state.Device";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "PoolName", read: |it, reader| it.pool_name.read(reader) },
        Field { name: "DeviceName", read: |it, reader| it.device_name.read(reader) },
        Field { name: "ShareID", read: |it, reader| it.share_id.read(reader) },
        Field { name: "RequestNames", read: |it, reader| it.request_names.read(reader) },
        Field { name: "CDIDeviceIDs", read: |it, reader| it.cdi_device_ids.read(reader) },
    ];
}

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
