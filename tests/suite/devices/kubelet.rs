//! The kubelet's own records: the statuses of pods and of the node.

use super::stored::{MOMENTS, json, snapshot, text};
use kq_facts::devices::CheckpointFact;
use kq_managers::list::{Asked, DeviceList, Health, State};
use std::collections::BTreeSet;

#[test]
fn containers_have_what_their_statuses_say() {
    let mut compared = 0;
    for moment in MOMENTS {
        let snapshot = snapshot(moment);
        let list = DeviceList::of(&snapshot, Asked::Both, None);
        let mut told = BTreeSet::new();
        for pod in json(moment, "pods.json")["items"].as_array().expect("a list") {
            let name = pod["metadata"]["name"].as_str().expect("a name");
            for status in pod["status"]["containerStatuses"].as_array().into_iter().flatten() {
                let resources = status["allocatedResourcesStatus"].as_array();
                for resource in resources.into_iter().flatten() {
                    for device in resource["resources"].as_array().into_iter().flatten() {
                        let word =
                            |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
                        told.insert((
                            name.to_owned(),
                            word(&status["name"]),
                            word(&resource["name"]),
                            word(&device["resourceID"]),
                        ));
                    }
                }
            }
        }
        let held = list.items.iter().filter(|row| row.state != State::InitHeld).map(|row| {
            let texts = (row.pod.name, row.container, row.resource, row.device);
            (texts.0.to_owned(), texts.1.to_owned(), texts.2.to_owned(), texts.3.to_owned())
        });
        compared += told.len();
        assert_eq!(held.collect::<BTreeSet<_>>(), told, "{moment}");
    }
    assert_eq!(compared, 1 + 3 + 6);
}

#[test]
fn a_healthy_node_has_nothing_wrong() {
    for (moment, expected) in [
        ("one", "OK"),
        ("init-reuse", "INIT-HELD INIT-HELD INIT-HELD OK OK OK"),
        // The plugin of gadgets was gone.
        ("restarted", "UNHEALTHY UNHEALTHY OK UNHEALTHY UNHEALTHY OK"),
    ] {
        let snapshot = snapshot(moment);
        let list = DeviceList::of(&snapshot, Asked::Both, None);
        let states: Vec<String> = list.items.iter().map(|row| row.state.to_string()).collect();
        assert_eq!(states.join(" "), expected, "{moment}");
        assert!(list.basis.missing.is_empty() && list.basis.assumptions.is_empty(), "{moment}");
    }
}

#[test]
fn the_node_has_as_many_as_it_says() {
    for moment in MOMENTS {
        let snapshot = snapshot(moment);
        let list = DeviceList::of(&snapshot, Asked::Both, None);
        let status = json(moment, "node-resources.json");
        assert!(!list.resources.is_empty());
        for resource in &list.resources {
            let told = |field: &str| {
                let text = status[field][&resource.resource].as_str().expect("an amount");
                text.parse::<usize>().expect("a number")
            };
            assert_eq!(resource.healthy, Some(told("allocatable")), "{moment}");
            // Pods keep the gadgets whose plugin is gone; only that is reported.
            let is_odd = resource.resource.ends_with("gadget");
            assert_eq!(resource.notes.len(), usize::from(is_odd), "{moment}");
            let rows = list.items.iter().filter(|row| row.resource == resource.resource);
            let healthy = rows.filter(|row| row.health == Health::Healthy);
            let held: BTreeSet<&str> = healthy.map(|row| row.device).collect();
            let free = resource.free.as_ref().map_or(0, Vec::len);
            assert_eq!(free + held.len(), told("allocatable"), "{moment}");
        }
    }
}

#[test]
fn checkpoints_are_sound() {
    for moment in MOMENTS {
        let read = CheckpointFact::read(text(moment, "kubelet_internal_checkpoint").as_bytes());
        assert_eq!(read.error, None, "{moment}");
        assert_eq!(read.checksum_in_file, read.checksum_computed.map(u64::from), "{moment}");
    }
}
