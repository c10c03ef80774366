//! Tests of the precedence of sources.

use super::*;
use kq_facts::checkpoint::device::DeviceSet;
use kq_facts::pod_resources::{ContainerDevices, PodResources};
use kq_facts::snapshot::Snapshot;

fn fact() -> CheckpointFact {
    CheckpointFact {
        entries: vec![CheckpointEntry {
            pod_uid: "p".to_owned(),
            container_name: "c".to_owned(),
            resource_name: "r".to_owned(),
            device_ids: [(1, vec!["a".to_owned(), "x".to_owned()])].into(),
            answer: PluginAnswer::Withheld,
            ..CheckpointEntry::default()
        }],
        registered: [("r".to_owned(), vec!["a".to_owned(), "b".to_owned()])].into(),
        ..CheckpointFact::default()
    }
}

fn told(ids: &[&str]) -> PodResources {
    let group = |id: &&str| ContainerDevices {
        resource_name: "r".to_owned(),
        device_ids: vec![(*id).to_owned()],
        numa_nodes: Some(vec![0]),
    };
    let devices = ids.iter().map(group).collect();
    let allocatable = AllocatableResources { devices, ..AllocatableResources::default() };
    PodResources { allocatable: Lookup::found("s", allocatable), ..PodResources::default() }
}

fn given(id: &str) -> GivenDevice {
    GivenDevice { resource: "r".to_owned(), id: id.to_owned(), ..GivenDevice::default() }
}

#[test]
fn devices_are_those_of_the_best_source() {
    let no = |what: &str| what.to_owned();
    type Row<'a> = (
        &'a str,
        Option<CheckpointFact>,
        Option<PodResources>,
        Vec<GivenDevice>,
        Option<(&'a [&'a str], &'a [&'a str], DeviceSource)>,
    );
    let rows: Vec<Row<'_>> = vec![
        ("nothing is known", None, None, vec![], None),
        (
            "the checkpoint alone",
            Some(fact()),
            None,
            vec![],
            Some((&["a", "b"], &["x"], DeviceSource::Checkpoint)),
        ),
        (
            "the kubelet lists fewer",
            Some(fact()),
            Some(told(&["b", "c"])),
            vec![],
            Some((&["b", "c"], &["a", "x"], DeviceSource::PodResources)),
        ),
        (
            "no checkpoint",
            None,
            Some(told(&["b"])),
            vec![],
            Some((&["b"], &[], DeviceSource::PodResources)),
        ),
        (
            "by hand",
            Some(fact()),
            Some(told(&["b"])),
            vec![given("z")],
            Some((&[], &["z"], DeviceSource::Given)),
        ),
    ];
    for (name, checkpoint, told, given, expected) in rows {
        let facts = DeviceFacts {
            checkpoint: checkpoint
                .map_or_else(|| Lookup::failed("f", no("absent")), |fact| Lookup::found("f", fact)),
            pod_resources: told
                .map_or_else(|| Lookup::failed("s", no("absent")), |told| Lookup::found("s", told)),
            given,
            ..DeviceFacts::default()
        };
        let snapshot = Snapshot::default();
        let mut basis = Basis::default();
        let got = assemble(Some(&facts), &NodePods::of(&snapshot), &mut basis);
        let Some((healthy, unhealthy, source)) = expected else {
            assert!(got.is_err(), "{name}");
            continue;
        };
        let got = got.expect(name);
        let names = |set: &DeviceSet| set.iter().cloned().collect::<Vec<_>>();
        assert_eq!(names(&got.state.healthy["r"]), healthy, "{name}");
        assert_eq!(names(&got.state.unhealthy["r"]), unhealthy, "{name}");
        assert_eq!(got.sources["r"], source, "{name}");
        assert!(got.state.endpoints.contains_key("r"), "{name}");
    }
}

#[test]
fn recorded_numa_nodes_stand_in_for_those_that_nobody_lists() {
    let facts = DeviceFacts { checkpoint: Lookup::found("f", fact()), ..DeviceFacts::default() };
    let mut basis = Basis::default();
    let snapshot = Snapshot::default();
    let got = assemble(Some(&facts), &NodePods::of(&snapshot), &mut basis).expect("facts");
    assert_eq!(got.state.devices["r"]["a"].numa_nodes, Some(vec![1]));
    assert_eq!(got.state.devices["r"]["b"].numa_nodes, None);
    assert_eq!(basis.assumptions.len(), 1);
}

#[test]
fn a_checkpoint_that_is_not_taken_is_not_restored() {
    let fact = CheckpointFact { error: Some("checkpoint is corrupted".to_owned()), ..fact() };
    let facts = DeviceFacts { checkpoint: Lookup::found("f", fact), ..DeviceFacts::default() };
    let mut basis = Basis::default();
    let snapshot = Snapshot::default();
    let got = assemble(Some(&facts), &NodePods::of(&snapshot), &mut basis).expect("facts");
    assert!(got.restored.entries.is_empty() && got.registered.is_empty());
    assert_eq!(got.state.pod_devices.entries.len(), 1);
    assert_eq!(basis.warnings.len(), 1);
}
