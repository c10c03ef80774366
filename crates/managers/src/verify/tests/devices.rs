//! `kubelet_internal_checkpoint`

use super::{judge, told};
use crate::objects::{self, Object};
use crate::verify::{Verification, VerifyContext};
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::device::{DeviceCheckpoint, PodDevicesEntry};
use kq_facts::lookup::Lookup;
use kq_facts::node_pods::NodePods;
use kq_facts::snapshot::{PodSource, RecordedPods, Snapshot};
use serde_json::json;
use std::collections::BTreeMap;

const RESOURCE: &str = "example.com/gpu";

fn entry(pod: &str, container: &str, ids: &[&str]) -> PodDevicesEntry {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    PodDevicesEntry {
        pod_uid: pod.to_owned(),
        container_name: container.to_owned(),
        resource_name: RESOURCE.to_owned(),
        device_ids: Some(BTreeMap::from([(0, Some(ids))])),
        alloc_resp: Some(Vec::new()),
    }
}

fn file(entries: Vec<PodDevicesEntry>) -> Vec<u8> {
    let ids = ["a", "b", "c"].map(str::to_owned).to_vec();
    let registered = BTreeMap::from([(RESOURCE.to_owned(), Some(ids))]);
    DeviceCheckpoint { entries: Some(entries), registered: Some(registered) }.to_bytes()
}

fn of(bytes: &[u8], known: &VerifyContext<'_>) -> Verification {
    judge(StateFile::Devices, bytes, known)
}

/// Returns what is known of a node with a pod `p`: `i` is an init container, `s` a sidecar, `c` and `d` are
/// containers.
fn snapshot(other: Option<Object>) -> Snapshot {
    let init = json!([{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]);
    let containers = json!([{"name": "c"}, {"name": "d"}]);
    let pod = objects::pod("p").init_containers(init).containers(containers);
    let pods = objects::loaded([pod].into_iter().chain(other));
    let recorded = RecordedPods { source: PodSource::Files, pods, ..RecordedPods::default() };
    Snapshot { pods: Lookup::found("pods", recorded), ..Snapshot::default() }
}

#[test]
fn entries_that_no_kubelet_writes_are_told() {
    let changed = |change: fn(&mut PodDevicesEntry)| {
        let mut entry = entry("p", "c", &["a"]);
        change(&mut entry);
        vec![entry]
    };
    let rows = [
        (Vec::new(), "OK"),
        (changed(|_| {}), "OK"),
        (changed(|it| it.pod_uid.clear()), "CONTRADICTS, ERROR no-owner"),
        (changed(|it| it.container_name.clear()), "CONTRADICTS, ERROR no-owner"),
        (changed(|it| it.alloc_resp = Some(vec![0xff])), "CONTRADICTS, ERROR undecodable-answer"),
        (changed(|it| it.device_ids = None), "OK, WARNING no-ids"),
        (
            changed(|it| it.resource_name = "gpu".to_owned()),
            "OK, WARNING resource-name, INFO not-registered",
        ),
        (vec![entry("p", "c", &["z"])], "OK, INFO not-registered"),
        (vec![entry("p", "c", &["a"]), entry("p", "c", &["b"])], "OK, WARNING duplicate-entry"),
    ];
    for (entries, expected) in rows {
        let name = format!("{entries:?}");
        assert_eq!(told(&of(&file(entries), &VerifyContext::default())), expected, "{name}");
    }
    let mut nameless = vec![entry("p", "c", &["a"]), entry("", "c", &["b"])];
    nameless[1].resource_name.clear();
    nameless[1].device_ids = Some(BTreeMap::from([(-2, Some(vec!["b".to_owned()]))]));
    let answer = of(&file(nameless), &VerifyContext::default());
    let places: Vec<(&str, &str)> = answer
        .findings
        .iter()
        .map(|finding| (finding.id.as_str(), finding.subject.place().unwrap_or_default()))
        .collect();
    let place = "PodDeviceEntries[1] \"\"/c \"\"";
    let expected = [
        ("no-owner", place),
        ("numa-number", place),
        ("resource-name", "\"\""),
        ("not-registered", "RegisteredDevices.\"\""),
    ];
    assert_eq!(places, expected);
    let mut moved = entry("q", "c", &["a"]);
    moved.device_ids = Some(BTreeMap::from([(1, Some(vec!["a".to_owned()]))]));
    let node = snapshot(None);
    let pods = NodePods::of(&node);
    let known = VerifyContext { pods: Some(&pods), ..VerifyContext::default() };
    let bytes = file(vec![entry("p", "c", &["a"]), moved]);
    assert_eq!(told(&of(&bytes, &known)), "OK, WARNING numa-nodes, INFO stale");
}

#[test]
fn who_may_share_a_device_depends_on_the_pods() {
    let alone = snapshot(None);
    let both = snapshot(Some(objects::pod("q")));
    let ended = snapshot(Some(objects::pod("q").phase("Succeeded")));
    let nothing = Snapshot::default();
    // The owners of one device, the node, the finding, the beginning of the advice.
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a Snapshot, &'a str, &'a str);
    let rows: [Row<'_>; 10] = [
        (&[("p", "c"), ("q", "c")], &both, "CONTRADICTS, ERROR double", "delete one of the pods"),
        (
            &[("p", "c"), ("q", "c")],
            &nothing,
            "CONTRADICTS, ERROR double",
            "look which of the pods",
        ),
        (&[("p", "c"), ("q", "c")], &alone, "OK, INFO stale", "nothing"),
        (&[("p", "c"), ("q", "c")], &ended, "OK, INFO stale", "nothing"),
        (&[("p", "i"), ("p", "c")], &alone, "OK", ""),
        (&[("p", "i"), ("p", "s")], &alone, "OK", ""),
        (&[("p", "c"), ("p", "d")], &alone, "CONTRADICTS, ERROR double", "delete the pod"),
        (&[("p", "s"), ("p", "c")], &alone, "CONTRADICTS, ERROR double", "delete the pod"),
        (&[("p", "i"), ("p", "c")], &nothing, "OK, INFO shared-in-pod", "nothing"),
        (&[("p", "c"), ("p", "d")], &nothing, "OK, INFO shared-in-pod", "nothing"),
    ];
    for (owners, node, expected, advice) in rows {
        let pods = NodePods::of(node);
        let known = VerifyContext { pods: Some(&pods), ..VerifyContext::default() };
        let entries = owners.iter().map(|(pod, name)| entry(pod, name, &["a"])).collect();
        let answer = of(&file(entries), &known);
        assert_eq!(told(&answer), expected, "{owners:?}");
        let given =
            answer.findings.first().map_or("", |it| it.advice.as_deref().unwrap_or_default());
        assert!(given.starts_with(advice), "{owners:?}: {given}");
    }
}

#[test]
fn in_a_file_with_a_wrong_checksum_a_double_is_no_reason_to_delete() {
    let both = [entry("p0", "c", &["a"]), entry("p1", "c", &["b"])];
    let text = String::from_utf8(file(both.to_vec())).expect("text");
    let answer = of(text.replace("[\"b\"]", "[\"a\"]").as_bytes(), &VerifyContext::default());
    assert_eq!(told(&answer), "DISCARDED, INFO double");
    assert_eq!(answer.findings[0].why.as_deref(), Some("may follow from the damage"));
    let advice = super::super::view::advice(&answer);
    assert!(advice.iter().all(|it| !it.contains("delete")), "{advice:?}");
    // The kubelet's words stay, and what they leave out is added.
    let text = text.replacen("\"AllocResp\":\"\"", "\"AllocResp\":\"!\"", 1);
    let verdict = &of(text.as_bytes(), &VerifyContext::default()).files[0];
    assert_eq!(verdict.kubelet_error.as_deref(), Some("illegal base64 data at input byte 0"));
    let told = verdict.damage.as_ref().expect("damage").to_string();
    let place = "AllocResp of p0/c/example.com/gpu: illegal base64 data at input byte 0";
    assert!(told.ends_with(place), "{told}");
}
