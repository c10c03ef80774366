//! All gathered facts of a node, as one value that can be stored.
//!
//! A command answers from this value alone, whether it was gathered a moment ago or read from a file;
//! so both answers are the same. What the kernel and the kubelet wrote is kept as it was read and
//! parsed on use. Of pods only what [`kq_k8s::pod::Pod`] holds is kept: no environment, no
//! secrets, none of the annotations but three.

use crate::certificates::Certificate;
use crate::cgroup_tree::CgroupTree;
use crate::config_on_disk::ConfigOnDisk;
use crate::devices::DeviceFacts;
use crate::drop_ins::UnitProperty;
use crate::events::PodEvent;
use crate::filesystems::{FolderRole, NodeFolder};
use crate::host::HostFacts;
use crate::image_records::ImageRecords;
use crate::kubelet_config::Source;
use crate::kubelet_process::KubeletProcess;
use crate::lookup::{Lookup, Sourced};
use crate::node_object::NodeObject;
use crate::overrides::Overrides;
use crate::runtime::{LowLevelRuntime, RuntimeFacts};
use crate::start_files::StartFiles;
use crate::state_files::StateFiles;
use crate::stats_summary::StatsSummary;
use anyhow::anyhow;
use kq_answer::Failure;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::version::KubeletVersion;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The version of the format.
pub const API_VERSION: &str = "kq/v1";

/// The kind of the value.
pub const KIND: &str = "NodeSnapshot";

/// All gathered facts of a node. An absent one was not gathered.
///
/// It is written without secrets, whoever writes it ([`Snapshot::redact`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, remote = "Self", rename_all = "camelCase")]
pub struct Snapshot {
    /// `kq/v1`
    pub api_version: String,
    /// `NodeSnapshot`
    pub kind: String,
    /// When it was gathered: RFC 3339, UTC.
    pub taken_at: String,
    /// The program and its version: `kq 0.1.0`.
    pub taken_by: String,
    /// Where the node's root folder was, and why there.
    pub host_root: HostRoot,
    /// The machine's facts.
    pub host: HostFacts,
    /// The name of the node, as its kubelet derives it.
    pub node_name: Lookup<String>,
    /// The running kubelet.
    pub kubelet: Lookup<KubeletProcess>,
    /// Its version: `v1.36.2`. [`Snapshot::kubelet_build`] has the Node object's in addition.
    pub kubelet_version: Lookup<String>,
    pub kubelet_config: Lookup<RecordedConfig>,
    /// The input of its next start.
    #[serde(skip_serializing_if = "Lookup::was_not_queried")]
    pub kubelet_config_on_disk: Lookup<ConfigOnDisk>,
    /// The files that the command line and the configuration of its next start name.
    #[serde(skip_serializing_if = "Lookup::was_not_queried")]
    pub start_files: Lookup<StartFiles>,
    pub node: Lookup<NodeObject>,
    /// The pods of the node.
    pub pods: Lookup<RecordedPods>,
    /// The newest events about the pods of the node.
    #[serde(skip_serializing_if = "Lookup::was_not_queried")]
    pub events: Lookup<Vec<PodEvent>>,
    /// The container runtime's answers.
    pub runtime: Lookup<RuntimeFacts>,
    /// The kubelet's own files.
    pub state_files: Option<StateFiles>,
    /// The kernel's cgroups.
    pub cgroups: Lookup<CgroupTree>,
    /// The folders that the kubelet and its runtime fill, and what they are on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub folders: BTreeMap<FolderRole, NodeFolder>,
    /// kq's records of the images over time.
    #[serde(skip_serializing_if = "Lookup::was_not_queried")]
    pub image_records: Lookup<ImageRecords>,
    /// The kubelet's measurements.
    #[serde(skip_serializing_if = "Lookup::was_not_queried")]
    pub stats_summary: Lookup<StatsSummary>,
    /// The kubelet's certificates.
    #[serde(skip_serializing_if = "Lookup::was_not_queried")]
    pub certificates: Lookup<Vec<Certificate>>,
    /// The settings of systemd's drop-ins for the cgroups of pods.
    #[serde(skip_serializing_if = "Lookup::was_not_queried")]
    pub drop_ins: Lookup<Vec<UnitProperty>>,
    /// The devices of plugins; `None`: not gathered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceFacts>,
}

/// Where the node's root folder was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostRoot {
    /// The folder: `/`, `/host`.
    pub path: String,
    /// Why this one.
    pub because: String,
}

/// A kubelet's configuration as one object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RecordedConfig {
    /// The object, with drop-ins merged and the fields that the command line sets.
    pub value: Arc<Value>,
    /// The way to read it.
    pub read_as: Option<Source>,
    /// The last setter of a field, if other than the source as a whole.
    pub origins: BTreeMap<String, String>,
    /// Oddities.
    pub notes: Vec<String>,
    /// The fields that a change sets by a flag of the kubelet; those of its process are known from that.
    #[serde(skip)]
    pub by_flag: BTreeSet<&'static str>,
}

/// Where a list of pods is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PodSource {
    /// Files that were named.
    #[default]
    Files,
    ApiServer,
    /// The kubelet's `/pods`.
    Kubelet,
    /// The manifests of static pods on the host.
    StaticManifests,
    /// The sandboxes of the runtime: names, no specifications.
    Runtime,
}

/// The pods of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RecordedPods {
    /// Where they are from.
    pub source: PodSource,
    pub pods: Vec<LoadedPod>,
    /// They have their probes; snapshots of earlier versions of kq have none.
    #[serde(default)]
    pub with_probes: bool,
    /// They have all their labels; snapshots of earlier versions of kq have one of them.
    pub with_labels: bool,
    /// Pods that could not be read, and why.
    pub left_out: Vec<String>,
    /// Oddities.
    pub notes: Vec<String>,
}

impl Snapshot {
    /// Returns the pods of the node with their source.
    /// Fails if they are unknown.
    pub fn known_pods(&self) -> Result<&Sourced<RecordedPods>, Failure> {
        self.pods.found.as_ref().ok_or_else(|| {
            let reason = self.pods.reason();
            Failure::missing(anyhow!("the pods of the node are unknown: {reason}"))
                .hint("run as root on the node, or give its pods with --pods FILE")
        })
    }

    /// Returns the kubelet's version in its own words, for every answer in this order: of the running kubelet, else of the
    /// Node object.
    pub fn kubelet_build(&self) -> Option<&str> {
        let object = self.node.value().map(|node| node.status.node_info.kubelet_version.as_str());
        let own = self.kubelet_version.value().map(|version| version.trim());
        let is_read = |version: &&str| version.parse::<KubeletVersion>().is_ok();
        own.filter(is_read).or(object.filter(|version| !version.is_empty()))
    }

    /// Returns the kubelet's version: the one that an option names, else the one of [`Snapshot::kubelet_build`].
    pub fn version_of(&self, overrides: &Overrides) -> Option<KubeletVersion> {
        overrides.kubelet.version.or_else(|| self.kubelet_build()?.parse().ok())
    }

    /// Sets the kubelet's version, in place of what the Node object and the kubelet report.
    pub fn put_kubelet_version(&mut self, source: &str, version: KubeletVersion) {
        self.kubelet_version = Lookup::found(source, format!("v{version}"));
        if let Some(node) = &mut self.node.found {
            node.value.status.node_info.kubelet_version.clear();
        }
    }

    /// Sets the low-level runtime; `false`: the container runtime, of which it is a part, is unknown.
    pub fn put_low_level(&mut self, source: &str, runtime: LowLevelRuntime) -> bool {
        let Some(found) = &mut self.runtime.found else { return false };
        found.value.low_level = Lookup::found(source, runtime);
        true
    }
}

impl PodSource {
    /// Returns true if a list from here holds every pod of the node.
    pub fn is_complete(self) -> bool {
        match self {
            Self::Files | Self::ApiServer | Self::Kubelet => true,
            Self::StaticManifests | Self::Runtime => false,
        }
    }
}

impl fmt::Display for PodSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "files",
            Self::ApiServer => "the API server",
            Self::Kubelet => "the kubelet",
            Self::StaticManifests => "the static pod manifests",
            Self::Runtime => "the container runtime",
        })
    }
}

/// Why a text is not a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It is not JSON.
    #[error("not JSON (line {line}, column {column})")]
    Json {
        /// The line of the mistake, from 1.
        line: usize,
        /// The column, from 0 at the start of a line.
        column: usize,
    },
    /// A field has another type.
    #[error("{path}: {message}")]
    Field {
        /// The field; empty is the whole.
        path: String,
        message: String,
    },
    /// It is of another kind.
    #[error("kind {kind:?}, expected {KIND}")]
    Kind { kind: String },
    /// It was written by another generation of kq.
    #[error("apiVersion {version:?}, and this kq reads {API_VERSION}")]
    Version { version: String },
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stored = self.clone();
        stored.redact();
        Self::serialize(&stored, serializer)
    }
}

impl<'de> Deserialize<'de> for Snapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut snapshot = Self::deserialize(deserializer)?;
        if let Some(runtime) = &mut snapshot.runtime.found {
            runtime.value.complete();
        }
        snapshot.devices.iter_mut().for_each(DeviceFacts::complete);
        Ok(snapshot)
    }
}

impl Snapshot {
    /// Reads a stored snapshot. Unknown fields are passed over: a newer kq may have added them.
    /// Fails for other JSON, with the field that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, SnapshotError> {
        // What finds the field that is wrong takes twice the time.
        let mut snapshot: Self = match serde_json::from_slice(bytes) {
            Ok(snapshot) => snapshot,
            Err(_) => Self::parse_with_places(bytes)?,
        };
        check_head(&snapshot.kind, &snapshot.api_version)?;
        if let Some(recorded) = snapshot.pods.found.as_mut().filter(|it| !it.value.with_labels) {
            let pods = &mut recorded.value.pods;
            pods.iter_mut().for_each(|loaded| loaded.pod.metadata.labels.redact());
        }
        Ok(snapshot)
    }

    /// Reads it again where it has a mistake. Of something else than a snapshot, the kind is wrong, not a field.
    fn parse_with_places(bytes: &[u8]) -> Result<Self, SnapshotError> {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase", expecting = "a snapshot of kq")]
        struct Head {
            api_version: String,
            kind: String,
        }
        let head: Head = read(bytes)?;
        check_head(&head.kind, &head.api_version)?;
        read(bytes)
    }
}

fn check_head(kind: &str, version: &str) -> Result<(), SnapshotError> {
    match (kind, version) {
        (KIND, API_VERSION) => Ok(()),
        (KIND, version) => Err(SnapshotError::Version { version: version.to_owned() }),
        (kind, _) => Err(SnapshotError::Kind { kind: kind.to_owned() }),
    }
}

fn read<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, SnapshotError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        if !error.inner().is_data() {
            let (line, column) = (error.inner().line(), error.inner().column());
            return SnapshotError::Json { line, column };
        }
        let path = match error.path().to_string() {
            path if path == "." => "the snapshot".to_owned(),
            path => path,
        };
        SnapshotError::Field { path, message: error.into_inner().to_string() }
    })?;
    reader
        .end()
        .map_err(|error| SnapshotError::Json { line: error.line(), column: error.column() })?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let snapshot = Snapshot {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            kubelet_version: Lookup::failed("/usr/bin/kubelet", "permission denied"),
            ..Snapshot::default()
        };
        let text = serde_json::to_vec(&snapshot).expect("it can be written");
        assert_eq!(Snapshot::parse(&text).expect("it can be read"), snapshot);
    }

    #[test]
    fn other_values_are_refused_by_name() {
        for (name, text, expected) in [
            ("no JSON", "kubelet", "not JSON (line 1, column 1)"),
            ("a pod", r#"{"kind":"Pod"}"#, "kind \"Pod\", expected NodeSnapshot"),
            (
                "a later generation",
                r#"{"kind":"NodeSnapshot","apiVersion":"kq/v9"}"#,
                "apiVersion \"kq/v9\", and this kq reads kq/v1",
            ),
            (
                "another type",
                r#"{"kind":"NodeSnapshot","apiVersion":"kq/v1","hostRoot":{"path":7}}"#,
                "hostRoot.path: invalid type: integer `7`, expected a string",
            ),
        ] {
            let error = Snapshot::parse(text.as_bytes()).expect_err(name).to_string();
            assert!(error.starts_with(expected), "{name}: {error}");
        }
        let newer = r#"{"kind":"NodeSnapshot","apiVersion":"kq/v1","later":1}"#;
        assert!(Snapshot::parse(newer.as_bytes()).is_ok(), "an unknown field");
    }
}
