//! The part of the kubelet's `/stats/summary` that eviction uses.
//!
//! Field names are those of `staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go`, read in
//! 1.36.2. Read from a live kubelet and stored in snapshots; everything else in the answer is skipped.
//! What the kubelet leaves out is `None`: unknown, which is not zero.

use crate::workloads::effective_uid;
use jiff::Timestamp;
use kq_k8s::pod::{Named, Pod, null_as_default, object, objects, optional_object};
use kq_k8s::shared::Shared;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The kubelet's measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StatsSummary {
    #[serde(deserialize_with = "object")]
    pub node: NodeStats,
    /// The pods, in the kubelet's order.
    #[serde(deserialize_with = "shared_objects")]
    pub pods: Shared<Vec<PodStats>>,
    /// It was made of what the kernel says, without the kubelet.
    #[serde(skip)]
    pub is_of_machine: bool,
}

fn shared_objects<'de, D: Deserializer<'de>>(from: D) -> Result<Shared<Vec<PodStats>>, D::Error> {
    objects(from).map(Shared::from)
}

/// The measurements of the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStats {
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub node_name: String,
    /// The kubelet, the runtime and, as `pods`, all pods together.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub system_containers: Vec<ContainerStats>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryStats>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub swap: Option<SwapStats>,
    /// The filesystem of the kubelet's root: `nodefs`.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub fs: Option<FsStats>,
    /// The filesystems of the container runtime.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeStats>,
    /// Processes.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub rlimit: Option<RlimitStats>,
}

/// The measurements of the container runtime's filesystems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RuntimeStats {
    /// Where images are: `imagefs`.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub image_fs: Option<FsStats>,
    /// Where the writable layers of containers are: `containerfs`.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub container_fs: Option<FsStats>,
}

/// The measurements of the node's processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RlimitStats {
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// The largest number.
    #[serde(rename = "maxpid", skip_serializing_if = "Option::is_none")]
    pub max_pid: Option<i64>,
    /// The current number.
    #[serde(rename = "curproc", skip_serializing_if = "Option::is_none")]
    pub running_processes: Option<i64>,
}

/// The measurements of a filesystem, or of files on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are the kubelet's")]
pub struct FsStats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes_free: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes_used: Option<u64>,
}

/// The measurements of memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are the kubelet's")]
pub struct MemoryStats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_set_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
}

/// The measurements of swap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are the kubelet's")]
pub struct SwapStats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_available_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_usage_bytes: Option<u64>,
}

/// The measurements of a container, or of a part of the system that is listed like one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStats {
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryStats>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub swap: Option<SwapStats>,
    /// The writable layer.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<FsStats>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub logs: Option<FsStats>,
}

/// The measured pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodReference {
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// The UID, of a static pod the one that the kubelet runs it under.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: String,
}

/// The measurements of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStats {
    #[serde(deserialize_with = "object")]
    pub pod_ref: PodReference,
    /// Its containers, in the kubelet's order.
    #[serde(deserialize_with = "objects")]
    pub containers: Vec<ContainerStats>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryStats>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub swap: Option<SwapStats>,
    /// Its volumes.
    #[serde(
        rename = "volume",
        deserialize_with = "objects",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub volumes: Vec<VolumeStats>,
    /// Containers, logs and local volumes together.
    #[serde(
        rename = "ephemeral-storage",
        deserialize_with = "optional_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub ephemeral_storage: Option<FsStats>,
    /// Processes.
    #[serde(
        rename = "process_stats",
        deserialize_with = "optional_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub process_stats: Option<ProcessStats>,
}

/// The measurements of a volume. The numbers are those of [`FsStats`], on the same level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are the kubelet's")]
pub struct VolumeStats {
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes_free: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes_used: Option<u64>,
}

impl Named for VolumeStats {
    fn name(&self) -> &str {
        &self.name
    }
}

/// The number of processes of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessStats {
    /// The number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_count: Option<u64>,
}

/// The measurements by pod.
#[derive(Clone, Debug, Default)]
pub struct StatsByPod<'s> {
    by_uid: BTreeMap<&'s str, &'s PodStats>,
    /// By namespace and name; `None`: of several pods.
    by_name: BTreeMap<(&'s str, &'s str), Option<&'s PodStats>>,
}

impl<'s> StatsByPod<'s> {
    /// Sorts by UID. Of several entries with one UID the last one counts, as in the map that the
    /// kubelet fills (`cachedStatsFunc`, `pkg/kubelet/eviction/helpers.go`).
    pub fn new(stats: &'s [PodStats]) -> Self {
        let mut sorted = Self::default();
        for stats in stats {
            let PodReference { name, namespace, uid } = &stats.pod_ref;
            if !uid.is_empty() {
                sorted.by_uid.insert(uid, stats);
            }
            if name.is_empty() {
                continue;
            }
            let same_name = sorted.by_name.entry((namespace, name)).or_insert(Some(stats));
            *same_name = same_name.filter(|before| before.pod_ref.uid == *uid).map(|_| stats);
        }
        sorted
    }

    /// Returns what was measured of a pod.
    ///
    /// The kubelet measures a static pod under its own UID, while the API server knows the mirror. Where
    /// either side has no UID, as a manifest, by name, unless several pods of that name were measured.
    pub fn of(&self, pod: &Pod) -> Option<&'s PodStats> {
        let own = [pod.metadata.uid.as_str(), effective_uid(pod)];
        if let Some(found) = own.into_iter().find_map(|uid| self.by_uid.get(uid)) {
            return Some(*found);
        }
        let found = (*self.by_name.get(&(&*pod.metadata.namespace, &*pod.metadata.name))?)?;
        let is_its = effective_uid(pod).is_empty() || found.pod_ref.uid.is_empty();
        is_its.then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a kubelet writes it, with fields that kq does not keep.
    const SUMMARY: &str = r#"{
      "node": {
        "nodeName": "n1",
        "startTime": "2026-01-01T00:00:00Z",
        "cpu": {"time": "2026-01-01T00:00:01Z", "usageNanoCores": 5},
        "systemContainers": [
          {"name": "pods", "startTime": null, "memory": {"time": "2026-01-01T00:00:02Z",
            "availableBytes": 18446744073709551615, "workingSetBytes": 7, "psi": {"full": {}}}}
        ],
        "memory": {"time": null, "availableBytes": 1},
        "fs": {"time": "2026-01-01T00:00:03Z", "availableBytes": 2, "inodesFree": 3},
        "runtime": {"imageFs": {"capacityBytes": 4}, "containerFs": null},
        "rlimit": {"time": "2026-01-01T01:00:04+01:00", "maxpid": 5, "curproc": 6}
      },
      "pods": [
        {"podRef": {"name": "a", "namespace": "b", "uid": "c"}, "startTime": null, "containers": null,
         "volume": [{"time": null, "usedBytes": 8, "name": "v", "pvcRef": {"name": "x", "namespace": "y"}}],
         "ephemeral-storage": {"usedBytes": 9}, "process_stats": {"process_count": 10}},
        {"podRef": {"name": "a", "namespace": "b", "uid": "c"}, "memory": {"workingSetBytes": 11}}
      ]
    }"#;

    #[test]
    fn what_a_kubelet_answers_is_read_and_kept() {
        let summary: StatsSummary = serde_json::from_str(SUMMARY).unwrap();
        let pods = summary.node.system_containers[0].memory.as_ref().unwrap();
        assert_eq!(pods.available_bytes, Some(u64::MAX));
        assert_eq!(pods.time, Some("2026-01-01T00:00:02Z".parse().unwrap()));
        assert_eq!(summary.node.memory.as_ref().unwrap().time, None);
        let rlimit = summary.node.rlimit.as_ref().unwrap();
        assert_eq!((rlimit.max_pid, rlimit.running_processes), (Some(5), Some(6)));
        assert_eq!(rlimit.time, Some("2026-01-01T00:00:04Z".parse().unwrap()));
        assert_eq!(summary.node.runtime.as_ref().unwrap().container_fs, None);
        assert_eq!(summary.pods[0].volumes[0].used_bytes, Some(8));
        assert_eq!(summary.pods[0].process_stats.as_ref().unwrap().process_count, Some(10));
        assert_eq!(summary.pods[0].ephemeral_storage.as_ref().unwrap().used_bytes, Some(9));

        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<StatsSummary>(&text).unwrap(), summary);
        for dropped in ["startTime", "psi", "pvcRef", "null", "cpu"] {
            assert!(!text.contains(dropped), "{dropped}: {text}");
        }
    }

    #[test]
    fn the_last_entry_of_a_pod_counts() {
        let summary: StatsSummary = serde_json::from_str(SUMMARY).unwrap();
        let stats = StatsByPod::new(&summary.pods);
        // Name of the row, metadata of the pod, its working set.
        for (name, metadata, expected) in [
            ("by its UID", r#"{"uid":"c"}"#, Some(11)),
            (
                "by the UID of the static pod",
                r#"{"uid":"m","annotations":{"kubernetes.io/config.mirror":"c"}}"#,
                Some(11),
            ),
            ("not measured", r#"{"uid":"d"}"#, None),
            ("another pod of its name", r#"{"uid":"d","name":"a","namespace":"b"}"#, None),
            ("by its name", r#"{"name":"a","namespace":"b"}"#, Some(11)),
            ("by a name of another namespace", r#"{"name":"a","namespace":"c"}"#, None),
            ("no name", "{}", None),
        ] {
            let pod: Pod = serde_json::from_str(&format!(r#"{{"metadata":{metadata}}}"#)).unwrap();
            let memory = stats.of(&pod).and_then(|stats| stats.memory.as_ref());
            assert_eq!(memory.and_then(|memory| memory.working_set_bytes), expected, "{name}");
        }
    }

    #[test]
    fn a_name_tells_where_there_is_no_uid() {
        let entry = |uid: &str, bytes: u64| PodStats {
            pod_ref: PodReference {
                name: "a".to_owned(),
                namespace: "b".to_owned(),
                uid: uid.to_owned(),
            },
            memory: Some(MemoryStats { working_set_bytes: Some(bytes), ..MemoryStats::default() }),
            ..PodStats::default()
        };
        // Name of the row, what was measured, UID of the pod, its working set.
        for (name, stats, uid, expected) in [
            ("neither has a UID", vec![entry("", 1)], "", Some(1)),
            ("the summary has none", vec![entry("", 1)], "u", Some(1)),
            ("another one has", vec![entry("v", 1)], "u", None),
            ("several of one name", vec![entry("u", 1), entry("v", 2)], "", None),
            ("several, and a UID", vec![entry("u", 1), entry("v", 2)], "u", Some(1)),
            ("one of them twice", vec![entry("u", 1), entry("v", 2), entry("u", 3)], "", None),
        ] {
            let pod: Pod = serde_json::from_str(&format!(
                r#"{{"metadata":{{"name":"a","namespace":"b","uid":"{uid}"}}}}"#
            ))
            .unwrap();
            let found = StatsByPod::new(&stats).of(&pod).and_then(|found| found.memory.clone());
            assert_eq!(found.and_then(|memory| memory.working_set_bytes), expected, "{name}");
        }
    }

    #[test]
    fn what_no_kubelet_answers_is_refused() {
        for (name, text) in [
            ("mapping for a list", r#"{"pods":{}}"#),
            ("negative amount", r#"{"node":{"memory":{"availableBytes":-1}}}"#),
            ("fraction", r#"{"node":{"memory":{"availableBytes":1.5}}}"#),
            ("too large", r#"{"node":{"memory":{"availableBytes":18446744073709551616}}}"#),
            ("stats by position", r#"{"node":{"memory":[null,1]}}"#),
            ("time", r#"{"node":{"fs":{"time":"yesterday"}}}"#),
        ] {
            assert!(serde_json::from_str::<StatsSummary>(text).is_err(), "{name}");
        }
    }
}
