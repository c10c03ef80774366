//! What the stats say of each signal.
//!
//! Mirrors `makeSignalObservations` of `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

use crate::facts::kubelet_config::Signal;
use crate::facts::stats_summary::{FsStats, MemoryStats, StatsSummary};
use crate::k8s::quantity::{Format, Quantity};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// What there is of something, and how much of it is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// What is left; processes may be fewer than none.
    pub available: Quantity,
    /// What there is.
    pub capacity: Quantity,
    /// When it was measured, if the kubelet said.
    pub time: Option<Timestamp>,
}

/// Observations by signal. A signal that is not here was not measured, or not completely.
pub type Observations = BTreeMap<Signal, Observation>;

/// The system container in which all pods are.
const PODS: &str = "pods";

/// Returns what a summary says of each signal.
pub fn observe(summary: &StatsSummary) -> Observations {
    let mut observations = Observations::new();
    let node = &summary.node;
    let mut keep = |signal, observation: Option<Observation>| {
        if let Some(observation) = observation {
            observations.insert(signal, observation);
        }
    };
    keep(Signal::MemoryAvailable, node.memory.as_ref().and_then(memory));
    let pods = node.system_containers.iter().find(|container| container.name == PODS);
    keep(
        Signal::AllocatableMemoryAvailable,
        pods.and_then(|pods| pods.memory.as_ref()).and_then(memory),
    );
    let runtime = node.runtime.as_ref();
    for (fs, space, inodes) in [
        (node.fs.as_ref(), Signal::NodeFsAvailable, Signal::NodeFsInodesFree),
        (
            runtime.and_then(|runtime| runtime.image_fs.as_ref()),
            Signal::ImageFsAvailable,
            Signal::ImageFsInodesFree,
        ),
        (
            runtime.and_then(|runtime| runtime.container_fs.as_ref()),
            Signal::ContainerFsAvailable,
            Signal::ContainerFsInodesFree,
        ),
    ] {
        if let Some(fs) = fs {
            keep(space, space_of(fs));
            keep(inodes, inodes_of(fs));
        }
    }
    keep(
        Signal::PidAvailable,
        node.rlimit.as_ref().and_then(|rlimit| {
            let (most, running) = (rlimit.max_pid?, rlimit.running_processes?);
            Some(Observation {
                available: Quantity::from_units(most.wrapping_sub(running), Format::DecimalSi),
                capacity: Quantity::from_units(most, Format::DecimalSi),
                time: rlimit.time,
            })
        }),
    );
    observations
}

/// The capacity is what is used and what is left, added up in 64 bits as the kubelet does.
fn memory(memory: &MemoryStats) -> Option<Observation> {
    let (available, working_set) = (memory.available_bytes?, memory.working_set_bytes?);
    Some(Observation {
        available: unsigned(available, Format::BinarySi),
        capacity: unsigned(available.wrapping_add(working_set), Format::BinarySi),
        time: memory.time,
    })
}

fn space_of(fs: &FsStats) -> Option<Observation> {
    Some(Observation {
        available: unsigned(fs.available_bytes?, Format::BinarySi),
        capacity: unsigned(fs.capacity_bytes?, Format::BinarySi),
        time: fs.time,
    })
}

fn inodes_of(fs: &FsStats) -> Option<Observation> {
    Some(Observation {
        available: unsigned(fs.inodes_free?, Format::DecimalSi),
        capacity: unsigned(fs.inodes?, Format::DecimalSi),
        time: fs.time,
    })
}

/// Takes an unsigned number for a signed one, as the kubelet does with all of them.
pub(super) fn unsigned(number: u64, format: Format) -> Quantity {
    Quantity::from_units(number as i64, format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_measured_completely_is_observed() {
        type Row<'r> = (&'r str, &'r str, &'r [(Signal, i64, i64)]);
        let rows: [Row<'_>; 7] = [
            ("nothing", "{}", &[]),
            (
                "memory without its use",
                r#"{"memory":{"availableBytes":1},"fs":{"availableBytes":1,"inodes":2}}"#,
                &[],
            ),
            (
                "the first system container of the name",
                r#"{"systemContainers":[{"name":"pods"},
                    {"name":"pods","memory":{"availableBytes":1,"workingSetBytes":2}}]}"#,
                &[],
            ),
            (
                "more bytes than fit",
                r#"{"memory":{"availableBytes":18446744073709551615,"workingSetBytes":3}}"#,
                &[(Signal::MemoryAvailable, -1, 2)],
            ),
            (
                "filesystems",
                r#"{"runtime":{"imageFs":{"inodesFree":1,"inodes":2},
                    "containerFs":{"availableBytes":3,"capacityBytes":4}}}"#,
                &[(Signal::ContainerFsAvailable, 3, 4), (Signal::ImageFsInodesFree, 1, 2)],
            ),
            (
                "more processes than there may be",
                r#"{"rlimit":{"maxpid":10,"curproc":15}}"#,
                &[(Signal::PidAvailable, -5, 10)],
            ),
            (
                "processes beyond all measure",
                r#"{"rlimit":{"maxpid":-9223372036854775808,"curproc":1}}"#,
                &[(Signal::PidAvailable, i64::MAX, i64::MIN)],
            ),
        ];
        for (name, node, expected) in rows {
            let summary: StatsSummary =
                serde_json::from_str(&format!(r#"{{"node":{node}}}"#)).unwrap();
            let got: Vec<_> = observe(&summary)
                .into_iter()
                .map(|(signal, seen)| (signal, seen.available.value(), seen.capacity.value()))
                .collect();
            assert_eq!(got, expected, "{name}");
        }
    }
}
