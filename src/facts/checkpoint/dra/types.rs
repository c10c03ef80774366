//! What the file holds.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The text in the file calls itself so.
pub const KIND: &str = "DRACheckpoint";

/// The version of the text in the file; the kubelet does not look at it.
pub const API_VERSION: &str = "checkpoint.dra.kubelet.k8s.io/v1";

/// A claim that was prepared (`ClaimInfoState`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimInfo {
    /// Its UID.
    pub claim_uid: String,
    /// Its name.
    pub claim_name: String,
    /// Its namespace.
    pub namespace: String,
    /// The pods that use it; `None` is Go's nil.
    pub pod_uids: Option<BTreeSet<String>>,
    /// The devices, by driver; `None` is Go's nil.
    pub driver_state: Option<BTreeMap<String, Option<Vec<DraDevice>>>>,
}

/// A device of a claim (`Device`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DraDevice {
    /// The pool.
    #[serde(rename = "PoolName")]
    pub pool_name: String,
    /// The device.
    #[serde(rename = "DeviceName")]
    pub device_name: String,
    /// Which share of it.
    #[serde(rename = "ShareID")]
    pub share_id: Option<String>,
    /// The requests of the claim that it serves.
    #[serde(rename = "RequestNames")]
    pub request_names: Option<Vec<String>>,
    /// What the runtime is told.
    #[serde(rename = "CDIDeviceIDs")]
    pub cdi_device_ids: Option<Vec<String>>,
}
