use super::*;
use crate::objects::{self, Object};
use kq_facts::devices::{CheckpointFact, DeviceFacts};
use kq_facts::lookup::Lookup;
use kq_facts::pod_resources::{
    AllocatableResources, ContainerDevices, PodResources, PodResourcesContainer, PodResourcesPod,
};
use kq_facts::pod_selector::{PodSelector, Selection};
use kq_facts::snapshot::{PodSource, RecordedPods, Snapshot};
use serde_json::{Value, json};

const RESOURCE: &str = "example.com/widget";

/// A pod `default/NAME` with the UID `NAME`; containers are `KIND NAME COUNT`, init ones have ended.
fn pod(name: &str, phase: &str, containers: &[&str]) -> Object {
    let mut pod = objects::pod(name).phase(phase).containers(json!([]));
    pod["spec"]["initContainers"] = json!([]);
    pod["status"]["containerStatuses"] = json!([]);
    pod["status"]["initContainerStatuses"] = json!([]);
    for text in containers {
        let words: Vec<&str> = text.split(' ').collect();
        let [kind, name, count] = words[..] else { panic!("{text}") };
        let mut container = json!({ "name": name, "resources": { "limits": {} } });
        if count != "0" {
            container["resources"]["limits"][RESOURCE] = count.into();
        }
        let (list, statuses, state) = match kind {
            "app" => ("containers", "containerStatuses", json!({ "running": {} })),
            "sidecar" => ("initContainers", "initContainerStatuses", json!({ "running": {} })),
            "runs" => ("initContainers", "initContainerStatuses", json!({ "running": {} })),
            _ => ("initContainers", "initContainerStatuses", json!({ "terminated": {} })),
        };
        if kind == "sidecar" {
            container["restartPolicy"] = "Always".into();
        }
        pod["spec"][list].as_array_mut().expect("a list").push(container);
        // A container that waits has no state.
        if phase != "Pending" {
            let status = json!({ "name": name, "state": state });
            pod["status"][statuses].as_array_mut().expect("a list").push(status);
        }
    }
    pod
}

/// A checkpoint of lines `POD CONTAINER ID...`.
fn checkpoint(lines: &[&str]) -> CheckpointFact {
    let entries = lines.iter().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        json!({
            "podUid": words[0], "containerName": words[1], "resourceName": RESOURCE,
            "deviceIds": { "0": words[2..] },
        })
    });
    let entries: Vec<Value> = entries.collect();
    let registered = json!({ RESOURCE: ["a", "b", "c"] });
    serde_json::from_value(json!({ "entries": entries, "registered": registered }))
        .expect("a checkpoint")
}

/// What the kubelet reports, of lines `POD CONTAINER ID...`, and which devices are healthy.
fn told(lines: &[&str], healthy: &[&str]) -> PodResources {
    let devices = |ids: &[&str], numa| ContainerDevices {
        resource_name: RESOURCE.to_owned(),
        device_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        numa_nodes: Some(vec![numa]),
    };
    let pods = lines.iter().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let container = PodResourcesContainer {
            name: words[1].to_owned(),
            devices: vec![devices(&words[2..], 0)],
            ..PodResourcesContainer::default()
        };
        PodResourcesPod {
            name: words[0].to_owned(),
            namespace: "default".to_owned(),
            containers: vec![container],
        }
    });
    let all = AllocatableResources {
        devices: vec![devices(healthy, 0)],
        ..AllocatableResources::default()
    };
    PodResources { pods: pods.collect(), allocatable: Lookup::found("s", all) }
}

fn snapshot(pods: &[Object], checkpoint: CheckpointFact, told: PodResources) -> Snapshot {
    let pods = objects::loaded(pods.iter().cloned());
    let recorded = RecordedPods { source: PodSource::ApiServer, pods, ..Default::default() };
    Snapshot {
        pods: Lookup::found("L", recorded),
        devices: Some(DeviceFacts {
            checkpoint: Lookup::found("f", checkpoint),
            pod_resources: Lookup::found("s", told),
            ..DeviceFacts::default()
        }),
        ..Snapshot::default()
    }
}

/// Returns `POD CONTAINER ID STATE` for each line.
fn states(list: &DeviceList) -> Vec<String> {
    let line = |row: &DeviceRow<'_>| {
        format!("{} {} {} {}", row.pod.shown(), row.container, row.device, row.state)
            .replace("default/", "")
    };
    list.items.iter().map(line).collect()
}

#[test]
fn devices_are_in_the_state_that_the_sources_say() {
    let all: &[&str] = &["a", "b", "c"];
    let app = || pod("p", "Running", &["app c 1"]);
    // A name, the pods, the checkpoint, what the kubelet reports, the healthy devices, the states.
    type Row<'r> =
        (&'r str, Vec<Object>, &'r [&'r str], &'r [&'r str], &'r [&'r str], &'r [&'r str]);
    let rows: &[Row<'_>] = &[
        ("as it should be", vec![app()], &["p c a"], &["p c a"], all, &["p c a OK"]),
        ("its pod is gone", vec![], &["p c a"], &[], all, &["p c a STALE"]),
        (
            "its pod ended",
            vec![pod("p", "Succeeded", &["app c 1"])],
            &["p c a"],
            &[],
            all,
            &["p c a STALE"],
        ),
        (
            "its pod ended, and it is unhealthy and another's",
            vec![pod("p", "Failed", &["app c 1"]), pod("q", "Running", &["app c 1"])],
            &["p c a", "q c a"],
            &["q c a"],
            &["b"],
            &["p c a STALE", "q c a UNHEALTHY"],
        ),
        ("no such container", vec![app()], &["p d a"], &[], all, &["p d a ORPHAN"]),
        (
            "not asked for",
            vec![pod("p", "Running", &["app c 0"])],
            &["p c a"],
            &["p c a"],
            all,
            &["p c a ORPHAN"],
        ),
        ("not told", vec![app()], &["p c a"], &["p c"], all, &["p c a MISSING"]),
        ("the pod is not told", vec![app()], &["p c a"], &[], all, &["p c a MISSING"]),
        ("not in the checkpoint", vec![app()], &[], &["p c a"], all, &["p c a MISSING"]),
        ("not healthy", vec![app()], &["p c a"], &["p c a"], &["b"], &["p c a UNHEALTHY"]),
        ("none is healthy", vec![app()], &["p c a"], &["p c a"], &[], &["p c a UNHEALTHY"]),
        (
            "two pods",
            vec![app(), pod("q", "Running", &["app c 1"])],
            &["p c a", "q c a"],
            &["p c a", "q c a"],
            all,
            &["p c a DOUBLE", "q c a DOUBLE"],
        ),
        (
            "two regular containers",
            vec![pod("p", "Running", &["app c 1", "app d 1"])],
            &["p c a", "p d a"],
            &["p c a"],
            all,
            &["p c a DOUBLE", "p d a DOUBLE"],
        ),
        (
            "an init container leaves it to the next and to a regular one",
            vec![pod("p", "Running", &["init i 1", "init j 1", "app c 1"])],
            &["p i a", "p j a", "p c a"],
            &["p c a"],
            all,
            &["p i a INIT-HELD", "p j a INIT-HELD", "p c a OK"],
        ),
        (
            "a sidecar does not",
            vec![pod("p", "Running", &["sidecar s 1", "app c 1"])],
            &["p s a", "p c a"],
            &["p s a"],
            all,
            &["p s a DOUBLE", "p c a DOUBLE"],
        ),
        (
            "an init container leaves it to a sidecar, which keeps it",
            vec![pod("p", "Running", &["init i 1", "sidecar s 1", "init j 1", "app c 0"])],
            &["p i a", "p s a", "p j a"],
            &["p s a"],
            all,
            &["p i a INIT-HELD", "p s a DOUBLE", "p j a DOUBLE"],
        ),
        (
            "an init container that runs",
            vec![pod("p", "Pending", &["runs i 1", "app c 1"])],
            &["p i a"],
            &[],
            all,
            &["p i a OK"],
        ),
        (
            "an init container that ended, for nobody",
            vec![pod("p", "Running", &["init i 1", "app c 0"])],
            &["p i a"],
            &[],
            all,
            &["p i a INIT-HELD"],
        ),
        (
            "an init container that ended, and the device with it",
            vec![pod("p", "Running", &["init i 1", "app c 0"])],
            &["p i a"],
            &[],
            &["b"],
            &["p i a UNHEALTHY"],
        ),
    ];
    for (name, pods, recorded, listed, healthy, expected) in rows {
        let snapshot = snapshot(pods, checkpoint(recorded), told(listed, healthy));
        let list = DeviceList::of(&snapshot, Asked::Both, None);
        assert_eq!(states(&list), *expected, "{name}: {:#?}", list.items);
        assert!(list.basis.missing.is_empty(), "{name}: {:?}", list.basis.missing);
        for row in &list.items {
            assert!(row.findings.is_sorted_by_key(|finding| finding.state), "{name}");
            assert!(row.findings.iter().all(|f| !f.reason.to_string().is_empty()), "{name}");
        }
    }
}

#[test]
fn what_cannot_be_had_is_not_guessed() {
    let app = || pod("p", "Running", &["app c 1"]);
    let whole = || snapshot(&[app()], checkpoint(&["p c a"]), told(&["p c a"], &["a"]));
    let devices = |snapshot: &mut Snapshot, change: &dyn Fn(&mut DeviceFacts)| {
        change(snapshot.devices.as_mut().expect("there are some"));
    };
    let failed = |facts: &mut DeviceFacts| facts.pod_resources = Lookup::failed("s", "refused");
    let unread = |facts: &mut DeviceFacts| facts.checkpoint = Lookup::failed("f", "forbidden");
    let damaged = |facts: &mut DeviceFacts| {
        let found = facts.checkpoint.found.as_mut().expect("it is there");
        found.value.error = Some("checkpoint is corrupted".to_owned());
    };
    let absent = |facts: &mut DeviceFacts| {
        let none = CheckpointFact { absent: true, ..CheckpointFact::default() };
        facts.checkpoint = Lookup::found("f", none);
    };
    type Change<'c> = &'c dyn Fn(&mut DeviceFacts);
    for (name, changes, asked, expected, missing) in [
        ("all", vec![], Asked::Both, "p c a OK", 0),
        ("no kubelet", vec![&failed as Change<'_>], Asked::Both, "p c a UNKNOWN", 1),
        ("the checkpoint alone", vec![&failed], Asked::Checkpoint, "p c a OK", 0),
        ("no checkpoint to read", vec![&unread], Asked::Both, "p c a UNKNOWN", 1),
        ("the kubelet alone", vec![&unread], Asked::PodResources, "p c a OK", 0),
        ("damaged", vec![&damaged], Asked::Both, "p c a OK", 0),
        ("damaged alone", vec![&damaged], Asked::Checkpoint, "p c a UNKNOWN", 0),
        ("damaged, and no kubelet", vec![&damaged, &failed], Asked::Both, "p c a UNKNOWN", 1),
        ("no checkpoint yet", vec![&absent], Asked::Both, "p c a MISSING", 0),
    ] {
        let mut snapshot = whole();
        changes.iter().for_each(|change| devices(&mut snapshot, *change));
        let list = DeviceList::of(&snapshot, asked, None);
        assert_eq!(states(&list), [expected], "{name}: {:#?}", list.items);
        assert_eq!(list.basis.missing.len(), missing, "{name}: {:?}", list.basis.missing);
        let is_damaged = name.starts_with("damaged");
        assert_eq!(list.damage.is_some(), is_damaged, "{name}: {:?}", list.damage);
        assert_eq!(list.is_complete(), missing == 0 && !is_damaged, "{name}");
        let said = list.items[0].findings.iter().any(|it| *it.reason == Reason::Damaged);
        assert_eq!(said, name == "damaged", "{name}: {:?}", list.items);
    }

    let mut nobody = whole();
    nobody.pods = Lookup::failed("L", "refused");
    let list = DeviceList::of(&nobody, Asked::Both, None);
    assert_eq!(states(&list), ["p c a UNKNOWN"], "found again by its devices: {:#?}", list.items);
    assert_eq!(list.items[0].pod.uid, Some("p"));
    assert_eq!(list.basis.missing.len(), 1, "{:?}", list.basis.missing);

    let old = Snapshot { devices: None, ..whole() };
    let list = DeviceList::of(&old, Asked::Both, None);
    assert!(list.basis.missing[0].text.contains("take a new one"), "{:?}", list.basis.missing);
}

#[test]
fn a_plugin_is_waited_for_and_then_not() {
    let mut snapshot = snapshot(
        &[pod("p", "Running", &["app c 1"])],
        checkpoint(&["p c a"]),
        told(&["p c a"], &[]),
    );
    snapshot.taken_at = "2026-01-01T00:10:00Z".to_owned();
    let reason = |snapshot: &Snapshot, start: &str| {
        let list = DeviceList::of(snapshot, Asked::Both, start.parse().ok());
        list.items[0].findings[0].reason.to_string()
    };
    for (start, expected) in [
        ("2026-01-01T00:06:00Z", "waited for until 2026-01-01T00:11:00Z"),
        ("2026-01-01T00:04:59Z", "or stopped in the last 5 minutes"),
        ("", "(kq devices list --kubelet-start says since when)"),
    ] {
        let found = reason(&snapshot, start);
        assert!(found.contains(expected), "{start}: {found}");
    }
    let facts = snapshot.devices.as_mut().expect("there are some");
    facts.checkpoint.found.as_mut().expect("it is there").value.registered.clear();
    let found = reason(&snapshot, "2026-01-01T00:06:00Z");
    assert!(found.contains("knows no plugin of it"), "{found}");
}

#[test]
fn a_number_that_no_node_has_is_shown() {
    let mut read = checkpoint(&["p c a", "p c b"]);
    for (entry, node) in read.entries.iter_mut().zip([-5, -1]) {
        let ids: Vec<String> = entry.device_ids.ids().cloned().collect();
        entry.device_ids = [(node, ids)].into();
    }
    read.entries[1].container_name = "d".to_owned();
    let pods = [pod("p", "Running", &["app c 1", "app d 1"])];
    let snapshot = snapshot(&pods, read, told(&[], &["a", "b"]));
    let list = DeviceList::of(&snapshot, Asked::Checkpoint, None);
    let nodes: Vec<&[i64]> = list.items.iter().map(|row| &row.numa_nodes[..]).collect();
    assert_eq!(nodes, [&[-5][..], &[]]);
    let [warning] = &list.basis.warnings[..] else { panic!("{:?}", list.basis.warnings) };
    assert!(
        warning.text.starts_with("example.com/widget a: NUMA node -5 does not exist"),
        "{warning}"
    );
}

#[test]
fn the_runtime_is_missed_where_it_decides() {
    let silent = |pods: &[Object], lines: &[&str]| {
        let mut snapshot = snapshot(pods, checkpoint(lines), told(&[], &["a"]));
        snapshot.runtime = Lookup::failed("unix:///run/c.sock", "refused");
        DeviceList::of(&snapshot, Asked::Both, None).basis.warnings
    };
    let (runs, ended) = (pod("p", "Running", &["app c 1"]), pod("p", "Failed", &["app c 1"]));
    assert!(silent(&[runs], &["p c a"]).is_empty());
    assert_eq!(silent(&[ended], &["p c a"]).len(), 1);
    let [warning] = &silent(&[], &["p c a", "q c b"])[..] else { panic!("one warning") };
    assert!(warning.text.contains("of p and 1 more") && !warning.text.contains('\n'), "{warning}");
}

#[test]
fn what_a_plugin_gave_and_another_gave_before_is_told() {
    let answer = |resource: &str, value: &str| {
        json!({
            "podUid": "p", "containerName": "c", "resourceName": resource, "deviceIds": {},
            "answer": { "decoded": {
                "envs": { "VISIBLE": value }, "mounts": [], "devices": [], "annotations": {},
                "cdiDevices": [],
            } },
        })
    };
    let entries = [answer("example.com/a", "1"), answer("example.com/b", "2")];
    let fact = serde_json::from_value(json!({ "entries": entries, "registered": {} }));
    let pods = [pod("p", "Running", &["app c 1"])];
    let snapshot = snapshot(&pods, fact.expect("a checkpoint"), told(&[], &[]));
    let list = DeviceList::of(&snapshot, Asked::Both, None);
    let [first, second] = &list.given[..] else { panic!("{:?}", list.given) };
    assert!(first.dropped.is_empty());
    let [lost] = &second.dropped[..] else { panic!("{second:?}") };
    assert_eq!((&*lost.key, &*lost.kept_of, lost.differs), ("VISIBLE", "example.com/a", true));
    assert!(dropped(&list.given).to_string().contains("VISIBLE"));
}

#[test]
fn a_resource_is_summed_up() {
    let pods = [pod("p", "Running", &["init i 1", "app c 1"])];
    let recorded = checkpoint(&["p i a", "p c a", "gone c b", "gone d a"]);
    let snapshot = snapshot(&pods, recorded, told(&["p c a"], &["a", "b", "c"]));
    let list = DeviceList::of(&snapshot, Asked::Both, None);
    let [summary] = &list.resources[..] else { panic!("{:?}", list.resources) };
    let free: Vec<&str> =
        summary.free.iter().flatten().map(|device| device.device.as_str()).collect();
    assert_eq!((summary.healthy, summary.allocated, summary.stale), (Some(3), 1, 1));
    assert_eq!(free, ["b", "c"], "what a pod has that is gone is free before the next one asks");

    let list = DeviceList::of(&snapshot, Asked::Checkpoint, None);
    assert_eq!(list.basis.assumptions.len(), 1, "health is that of the last writing");
    let mut list = DeviceList::of(&snapshot, Asked::PodResources, None);
    assert_eq!(list.items.len(), 1);
    list.select(&Selection::of(vec![PodSelector::new("default/q")]));
    assert!(list.items.is_empty() && list.resources.is_empty());
}

#[test]
fn many_holders_of_one_device_take_no_long() {
    let lines: Vec<String> =
        (0..20_000).map(|number| format!("{} c{number} a", number % 2)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let pods = [pod("0", "Running", &["app c 1"]), pod("1", "Running", &["app c 1"])];
    let snapshot = snapshot(&pods, checkpoint(&lines), told(&[], &["a"]));
    let list = DeviceList::of(&snapshot, Asked::Both, None);
    assert_eq!(list.items.len(), 20_000);
    assert!(list.items.iter().all(|row| row.state == State::Double));
    let first = &list.items[0].findings[0].reason;
    let expected = json!({
        "code": "otherPods", "others": ["default/1 c1"], "more": 0, "text": "also in default/1 c1",
    });
    assert_eq!(json!(first), expected);
}
