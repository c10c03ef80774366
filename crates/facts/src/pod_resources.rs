//! The answers of the kubelet's pod-resources socket (`k8s.io/kubelet/pkg/apis/podresources/v1`).
//!
//! Also read as JSON, the form in which `grpcurl` and protobuf
//! libraries print it. Pure.
//!
//! Numbers of 64 bits may be texts there, and what is zero is left out, so that `{}` is NUMA node 0.

use crate::lookup::Lookup;
use serde::{Deserialize, Deserializer, Serialize};

/// The answers of the kubelet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodResources {
    /// `List`: the active pods; init containers that ended are not among their containers.
    pub pods: Vec<PodResourcesPod>,
    /// `GetAllocatableResources`: the healthy devices of all plugins, whether allocated or not.
    pub allocatable: Lookup<AllocatableResources>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodResourcesPod {
    pub name: String,
    pub namespace: String,
    pub containers: Vec<PodResourcesContainer>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodResourcesContainer {
    pub name: String,
    /// Its devices; the kubelet gives each id and NUMA node an item of its own.
    pub devices: Vec<ContainerDevices>,
    /// Its exclusive CPUs.
    pub cpu_ids: Vec<i64>,
    pub memory: Vec<ContainerMemory>,
}

/// Devices of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerDevices {
    pub resource_name: String,
    pub device_ids: Vec<String>,
    /// The NUMA nodes; `None`: no topology.
    pub numa_nodes: Option<Vec<i64>>,
}

/// Memory of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerMemory {
    /// `memory`, `hugepages-2Mi`.
    pub memory_type: String,
    /// In bytes.
    pub size: u64,
    pub numa_nodes: Option<Vec<i64>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AllocatableResources {
    /// The healthy devices.
    pub devices: Vec<ContainerDevices>,
    /// The CPUs that may become exclusive.
    pub cpu_ids: Vec<i64>,
    pub memory: Vec<ContainerMemory>,
}

/// Why a text is not an answer of the kubelet.
#[derive(Debug, thiserror::Error)]
pub enum AnswersError {
    /// Not JSON, or a field has another type.
    #[error("{path}: {message}")]
    Field {
        /// The field; `the answer`: the whole.
        path: String,
        message: String,
    },
    /// It has none of the fields.
    #[error("neither podResources nor List is present")]
    Other,
}

/// Reads answers: an object with `List` and `GetAllocatableResources`, or the one to `List` alone.
/// `name` is the file, for the error where it has no second answer. The answers to `Get` repeat the list.
/// Fails for what is neither.
pub fn read_answers(name: &str, json: &[u8]) -> Result<PodResources, AnswersError> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let failed = |path: String, message: String| {
        let path = if path == "." { "the answer".to_owned() } else { path };
        AnswersError::Field { path, message }
    };
    let answers: Answers = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| failed(error.path().to_string(), error.inner().to_string()))?;
    reader.end().map_err(|error| failed(".".to_owned(), error.to_string()))?;
    let list = match (answers.list, answers.pod_resources) {
        (Some(list), _) => list.pod_resources,
        (None, Some(pods)) => pods,
        (None, None) => return Err(AnswersError::Other),
    };
    let allocatable = match answers.allocatable {
        Some(reported) => Lookup::found(
            format!("{name} GetAllocatableResources"),
            AllocatableResources {
                devices: reported.devices.into_iter().map(ContainerDevices::from).collect(),
                cpu_ids: reported.cpu_ids.into_iter().map(|number| number.0).collect(),
                memory: reported.memory.into_iter().map(ContainerMemory::from).collect(),
            },
        ),
        None => Lookup::failed(name, "GetAllocatableResources is not in it"),
    };
    Ok(PodResources { pods: list.into_iter().map(PodResourcesPod::from).collect(), allocatable })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answers {
    #[serde(rename = "List")]
    list: Option<List>,
    #[serde(rename = "GetAllocatableResources")]
    allocatable: Option<Allocatable>,
    #[serde(alias = "pod_resources")]
    pod_resources: Option<Vec<Pod>>,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
struct List {
    #[serde(alias = "pod_resources")]
    pod_resources: Vec<Pod>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Allocatable {
    devices: Vec<Devices>,
    #[serde(alias = "cpu_ids")]
    cpu_ids: Vec<Number>,
    memory: Vec<Memory>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Pod {
    name: String,
    namespace: String,
    containers: Vec<Container>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Container {
    name: String,
    devices: Vec<Devices>,
    #[serde(alias = "cpu_ids")]
    cpu_ids: Vec<Number>,
    memory: Vec<Memory>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Devices {
    #[serde(alias = "resource_name")]
    resource_name: String,
    #[serde(alias = "device_ids")]
    device_ids: Vec<String>,
    topology: Option<Topology>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Memory {
    #[serde(alias = "memory_type")]
    memory_type: String,
    size: Number,
    topology: Option<Topology>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Topology {
    nodes: Vec<Node>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Node {
    #[serde(rename = "ID", alias = "Id", alias = "id")]
    id: Number,
}

/// A number of 64 bits: a text or a number.
#[derive(Clone, Copy, Default)]
struct Number(i64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl serde::de::Visitor<'_> for Either {
            type Value = Number;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number, or a text with one")
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Number, E> {
                Ok(Number(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Number, E> {
                let unexpected = serde::de::Unexpected::Unsigned(number);
                let number = i64::try_from(number);
                number.map(Number).map_err(|_| E::invalid_value(unexpected, &self))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Number, E> {
                let unexpected = serde::de::Unexpected::Str(text);
                text.parse().map(Number).map_err(|_| E::invalid_value(unexpected, &self))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

fn numa_nodes(topology: Option<Topology>) -> Option<Vec<i64>> {
    topology.map(|topology| topology.nodes.into_iter().map(|node| node.id.0).collect())
}

impl From<Pod> for PodResourcesPod {
    fn from(pod: Pod) -> Self {
        let containers = pod.containers.into_iter().map(|container| PodResourcesContainer {
            name: container.name,
            devices: container.devices.into_iter().map(ContainerDevices::from).collect(),
            cpu_ids: container.cpu_ids.into_iter().map(|number| number.0).collect(),
            memory: container.memory.into_iter().map(ContainerMemory::from).collect(),
        });
        Self { name: pod.name, namespace: pod.namespace, containers: containers.collect() }
    }
}

impl From<Devices> for ContainerDevices {
    fn from(reported: Devices) -> Self {
        Self {
            resource_name: reported.resource_name,
            device_ids: reported.device_ids,
            numa_nodes: numa_nodes(reported.topology),
        }
    }
}

impl From<Memory> for ContainerMemory {
    fn from(reported: Memory) -> Self {
        Self {
            memory_type: reported.memory_type,
            size: reported.size.0.cast_unsigned(),
            numa_nodes: numa_nodes(reported.topology),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_left_out_and_long_numbers_are_texts() {
        let both = r#"{"Get": {"one": {"podResources": {}}},
            "List": {"podResources": [{"name": "p", "namespace": "d", "containers": [
                {"name": "c", "devices": [
                    {"deviceIds": ["a"], "resourceName": "r",
                     "topology": {"nodes": [{}, {"ID": "1"}, {"ID": 2}]}},
                    {"deviceIds": ["b"], "resourceName": "r"}]}]}]},
            "GetAllocatableResources": {"cpuIds": ["1", 3],
                "memory": [{"memoryType": "memory", "size": "24768999424"}]}}"#;
        let reported = read_answers("f", both.as_bytes()).expect("it can be read");
        let devices = &reported.pods[0].containers[0].devices;
        assert_eq!(devices[0].numa_nodes, Some(vec![0, 1, 2]));
        assert_eq!(devices[1].numa_nodes, None);
        let allocatable = reported.allocatable.value().expect("it is there");
        assert_eq!(allocatable.cpu_ids, [1, 3]);
        assert_eq!(allocatable.memory[0].size, 24_768_999_424);

        let alone = r#"{"pod_resources": [{"name": "p"}]}"#;
        let reported = read_answers("f", alone.as_bytes()).expect("it can be read");
        assert_eq!(
            (reported.pods.len(), &*reported.allocatable.reason()),
            (1, "f: GetAllocatableResources is not in it")
        );
    }

    #[test]
    fn other_texts_are_refused_by_field() {
        for (text, expected) in [
            ("", "the answer: EOF while parsing a value at line 1 column 0"),
            ("{}", "neither podResources nor List is present"),
            (r#"{"kind": "PodList"}"#, "neither podResources nor List is present"),
            (
                r#"{"podResources": [{"containers": [{"cpuIds": ["x"]}]}]}"#,
                "podResources[0].containers[0].cpuIds[0]: invalid value: string \"x\", expected a \
                 whole number, or a text with one at line 1 column 49",
            ),
            (
                r#"{"List": {"podResources": 1}}"#,
                "List.podResources: invalid type: integer `1`, expected a sequence at line 1 column \
                 27",
            ),
        ] {
            let error = read_answers("f", text.as_bytes()).expect_err(text).to_string();
            assert_eq!(error, expected, "{text}");
        }
        let deep = "[".repeat(1_000_000);
        assert!(read_answers("f", deep.as_bytes()).is_err(), "nested too deep");
    }
}
