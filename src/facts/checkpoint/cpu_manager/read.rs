//! Reading the layouts, with Go's rules and errors.

use super::types::{CpuCheckpoint, CpuCheckpointV1, CpuLayout};
use crate::facts::checkpoint::layout::read_file;
use crate::k8s::cpuset::CpuSet;
use crate::k8s::go_json::{GoJsonError, GoValue, Reader, Stop, decode, go_struct};
use std::collections::BTreeMap;

/// Layout v2 as it is read.
#[derive(Default)]
struct V2 {
    read: CpuCheckpoint,
}

/// Layout v3 as it is read.
struct V3 {
    checkpoint: CpuCheckpoint,
    pods: Option<BTreeMap<String, PodCpus>>,
}

impl Default for V3 {
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

go_struct!(V2 = "state.CPUManagerCheckpointV2" {
    "policyName" => read.policy_name,
    "defaultCpuSet" => read.default_cpu_set,
    "entries" => read.entries,
    "checksum" => read.checksum: "checksum.Checksum",
});

go_struct!(V3 = "state.CPUManagerCheckpoint" {
    "policyName" => checkpoint.policy_name,
    "defaultCpuSet" => checkpoint.default_cpu_set,
    "entries" => checkpoint.entries,
    "podEntries" => pods: "state.PodCPUAssignments",
    "checksum" => checkpoint.checksum: "checksum.Checksum",
});

go_struct!(CpuCheckpointV1 = "state.CPUManagerCheckpointV1" {
    "policyName" => policy_name,
    "defaultCpuSet" => default_cpu_set,
    "entries" => entries,
    "checksum" => checksum: "checksum.Checksum",
});

go_struct!(PodEntryJson = "state.podEntryJSON" {
    "cpuSet" => cpu_set,
});

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
        return (read.read, error);
    }
    let (read, error) = read_file::<V3>(bytes);
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
