//! Reading the layouts, with Go's rules and errors.

use super::types::{CpuCheckpoint, CpuCheckpointV1, CpuLayout};
use crate::facts::checkpoint::go_read::read_file;
use crate::k8s::cpuset::CpuSet;
use crate::k8s::go_json::{Field, GoJsonError, GoStruct, GoValue, Reader, Stop, decode};
use std::collections::BTreeMap;

/// Layout v2 as it is read.
#[derive(Default)]
struct V2(CpuCheckpoint);

/// Layout v3 as it is read.
#[derive(Default)]
struct V3(Plain);

/// The fields of v3, with the CPUs of pods in a type that reads itself.
struct Plain {
    checkpoint: CpuCheckpoint,
    pods: Option<BTreeMap<String, PodCpus>>,
}

impl Default for Plain {
    fn default() -> Self {
        Self { checkpoint: CpuCheckpoint::default(), pods: Some(BTreeMap::new()) }
    }
}

/// The CPUs of a pod (`PodEntry`), which reads itself (`UnmarshalJSON` in `state.go`).
#[derive(Default)]
struct PodCpus(CpuSet);

/// What a pod's CPUs are read from (`podEntryJSON`).
#[derive(Default)]
struct PodEntryJson {
    cpu_set: String,
}

impl GoStruct for V2 {
    const TYPE: &'static str = "state.CPUManagerCheckpointV2";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "policyName", read: |it, reader| it.0.policy_name.read(reader) },
        Field { name: "defaultCpuSet", read: |it, reader| it.0.default_cpu_set.read(reader) },
        Field { name: "entries", read: |it, reader| it.0.entries.read(reader) },
        Field {
            name: "checksum",
            read: |it, reader| it.0.checksum.read_as("checksum.Checksum", reader),
        },
    ];
}

impl GoStruct for V3 {
    const TYPE: &'static str = "state.CPUManagerCheckpoint";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "policyName", read: |it, reader| it.0.checkpoint.policy_name.read(reader) },
        Field {
            name: "defaultCpuSet",
            read: |it, reader| it.0.checkpoint.default_cpu_set.read(reader),
        },
        Field { name: "entries", read: |it, reader| it.0.checkpoint.entries.read(reader) },
        Field {
            name: "podEntries",
            read: |it, reader| it.0.pods.read_as("state.PodCPUAssignments", reader),
        },
        Field {
            name: "checksum",
            read: |it, reader| it.0.checkpoint.checksum.read_as("checksum.Checksum", reader),
        },
    ];
}

impl GoStruct for CpuCheckpointV1 {
    const TYPE: &'static str = "state.CPUManagerCheckpointV1";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "policyName", read: |it, reader| it.policy_name.read(reader) },
        Field { name: "defaultCpuSet", read: |it, reader| it.default_cpu_set.read(reader) },
        Field { name: "entries", read: |it, reader| it.entries.read(reader) },
        Field {
            name: "checksum",
            read: |it, reader| it.checksum.read_as("checksum.Checksum", reader),
        },
    ];
}

impl GoStruct for PodEntryJson {
    const TYPE: &'static str = "state.podEntryJSON";
    const FIELDS: &'static [Field<Self>] =
        &[Field { name: "cpuSet", read: |it, reader| it.cpu_set.read(reader) }];
}

impl GoValue for PodCpus {
    fn go_type() -> String {
        "state.PodEntry".to_owned()
    }

    fn read_named(
        &mut self,
        _name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        let mut entry = PodEntryJson::default();
        decode(reader.raw()?, &mut entry).map_err(|error| Stop::Custom(at_pods(&error)))?;
        let cpus = entry.cpu_set.parse();
        self.0 = cpus.map_err(|error| Stop::Custom(format!("failed to parse cpuset: {error}")))?;
        Ok(())
    }
}

/// Returns the error of a pod's CPUs as the document around it tells it: with its own place in front.
fn at_pods(error: &GoJsonError) -> String {
    let text = error.to_string();
    let place = "CPUManagerCheckpoint.podEntries";
    match text.split_once(" into Go ") {
        Some((what, at)) => match at.split_once("struct field podEntryJSON") {
            Some((_, field)) => format!("{what} into Go struct field {place}{field}"),
            None => {
                let wanted = at.trim_start_matches("value of type ");
                format!("{what} into Go struct field {place} of type {wanted}")
            }
        },
        None => text,
    }
}

/// Reads a file in layout v2 or v3, and tells why it is not whole.
pub(super) fn read_checkpoint(bytes: &[u8], layout: CpuLayout) -> (CpuCheckpoint, Option<String>) {
    if layout != CpuLayout::V3 {
        let (read, error) = read_file::<V2>(bytes);
        return (read.0, error);
    }
    let (V3(read), error) = read_file::<V3>(bytes);
    let pods = read.pods.map(|pods| pods.into_iter().map(|(pod, cpus)| (pod, cpus.0)).collect());
    (CpuCheckpoint { pod_entries: pods, ..read.checkpoint }, error)
}

/// Reads a file in layout v1, and tells why it is not whole.
pub(super) fn read_v1(bytes: &[u8]) -> (CpuCheckpointV1, Option<String>) {
    read_file(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pods_cpus_that_refuse_end_the_reading() {
        let rows = [
            (
                r#"{"podEntries":{"p":5},"checksum":7}"#,
                "json: cannot unmarshal number into Go struct field CPUManagerCheckpoint.podEntries \
                 of type state.podEntryJSON",
            ),
            (
                r#"{"podEntries":{"p":{"cpuSet":[]}},"checksum":7}"#,
                "json: cannot unmarshal array into Go struct field \
                 CPUManagerCheckpoint.podEntries.cpuSet of type string",
            ),
            (
                r#"{"checksum":"x","podEntries":{"p":{"cpuSet":"x"}}}"#,
                "failed to parse cpuset: strconv.Atoi: parsing \"x\": invalid syntax",
            ),
        ];
        for (text, expected) in rows {
            let (read, error) = read_checkpoint(text.as_bytes(), CpuLayout::V3);
            assert_eq!(error.as_deref(), Some(expected), "{text}");
            assert_eq!((read.checksum, read.pod_entries), (0, Some(BTreeMap::new())), "{text}");
        }
        let (read, error) = read_checkpoint(br#"{"podEntries":{"p":null}}"#, CpuLayout::V3);
        assert_eq!(error, None);
        assert_eq!(read.pod_entries, Some([("p".to_owned(), CpuSet::default())].into()));
    }
}
