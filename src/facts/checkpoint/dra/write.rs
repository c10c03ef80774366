//! The file as the kubelet writes it (`NewCheckpoint` in `state/checkpoint`).

use super::types::{API_VERSION, ClaimInfo, DraDevice, KIND};
use crate::facts::checkpoint::Encoded;
use crate::facts::checkpoint::checksum::crc32;
use crate::facts::checkpoint::go_write::to_go_json;
use serde::Serialize;
use std::collections::BTreeMap;

/// The text in the file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'c> {
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
    pod_uids: Option<BTreeMap<&'c str, Empty>>,
    #[serde(rename = "DriverState")]
    driver_state: Option<BTreeMap<&'c str, Driver<'c>>>,
}

/// `{}`
#[derive(Serialize)]
struct Empty {}

/// The devices of a driver.
#[derive(Serialize)]
struct Driver<'c> {
    #[serde(rename = "Devices")]
    devices: Option<&'c [DraDevice]>,
}

/// The file.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope<'d> {
    data: &'d str,
    checksum: u32,
}

/// Writes the file; `None` is the list of a kubelet that has just made it.
pub fn encode(claims: Option<&[ClaimInfo]>) -> Encoded {
    let data = to_go_json(&Data {
        kind: KIND,
        api_version: API_VERSION,
        claims: claims.map(|claims| claims.iter().map(claim).collect()),
    });
    let checksum = crc32(data.as_bytes());
    let text = to_go_json(&Envelope { data: &data, checksum });
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
        pod_uids: pods.map(|pods| pods.iter().map(|uid| (uid.as_str(), Empty {})).collect()),
        driver_state: drivers,
    }
}
