use super::*;
use crate::checkpoint::CORRUPT;
use crate::devices::{CheckpointFact, PluginAnswer};
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeMap;

fn text(text: &str) -> String {
    text.to_owned()
}

fn entry(pod: &str, ids: &[&str], answer: Option<&[u8]>) -> PodDevicesEntry {
    PodDevicesEntry {
        pod_uid: text(pod),
        container_name: text("c"),
        resource_name: text("r/x"),
        device_ids: Some([(0, Some(ids.iter().map(|id| text(id)).collect()))].into()),
        alloc_resp: answer.map(<[u8]>::to_vec),
    }
}

/// Nil and empty lists of all kinds, and texts that need escapes.
fn odd() -> DeviceCheckpoint {
    let mut nodes = entry("<p>\"\u{2028}", &["a b", "é\u{1}", ""], Some(&[0, 9, 10, 99, 100, 255]));
    nodes.device_ids =
        Some([(-1, None), (10, Some(vec![])), (2, Some(vec![text("]")])), (i64::MIN, None)].into());
    let none = PodDevicesEntry { device_ids: None, ..entry("", &[], None) };
    let empty = PodDevicesEntry { device_ids: Some(BTreeMap::new()), ..entry("q", &[], Some(b"")) };
    DeviceCheckpoint {
        entries: Some(vec![nodes, none, empty]),
        registered: Some([(text("b"), None), (text("a\\"), Some(vec![]))].into()),
    }
}

#[test]
fn what_is_written_is_read_back() {
    let empty = DeviceCheckpoint { entries: Some(vec![]), registered: Some(BTreeMap::new()) };
    for checkpoint in [DeviceCheckpoint::default(), empty, odd()] {
        let bytes = checkpoint.to_bytes();
        let loaded = DeviceCheckpoint::parse(&bytes).expect("it parses");
        assert!(loaded.is_valid());
        assert_eq!(loaded.error(), None);
        assert_eq!(loaded.checkpoint, checkpoint);
        assert_eq!(loaded.checkpoint.to_bytes(), bytes);
    }
}

#[test]
fn nil_and_empty_have_other_texts() {
    let mut image = String::new();
    odd().pre_image(&mut image);
    assert_eq!(
        image,
        "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)[{PodUID:(string)\
         <p>\"\u{2028} ContainerName:(string)c ResourceName:(string)r/x DeviceIDs:(checkpoint.\
         DevicesPerNUMA)map[-9223372036854775808:<nil> -1:<nil> 2:[]] 10:[]] AllocResp:([]uint8)[0 9 10 \
         99 100 255]} {PodUID:(string) ContainerName:(string)c ResourceName:(string)r/x DeviceIDs:\
         (checkpoint.DevicesPerNUMA)<nil> AllocResp:([]uint8)<nil>} {PodUID:(string)q ContainerName:\
         (string)c ResourceName:(string)r/x DeviceIDs:(checkpoint.DevicesPerNUMA)map[] AllocResp:\
         ([]uint8)[]}] RegisteredDevices:(map[string][]string)map[a\\:[] b:<nil>]}"
    );
}

#[test]
fn a_restart_keeps_what_decodes() {
    let entries = vec![
        entry("p", &["a"], Some(b"")),
        entry("q", &["b"], Some(&[0, 5])),
        entry("p", &["c", "d", "c"], None),
    ];
    let checkpoint = DeviceCheckpoint { entries: Some(entries), registered: None };
    let restored = PodDevices::restore(&checkpoint, KubeletVersion::ASSUMED);
    assert_eq!(restored.skipped, [(1, text("field number 0"))]);
    assert_eq!(restored.replaced, [0]);
    let ids: DeviceSet = [text("c"), text("d")].into();
    assert_eq!(restored.pod_devices.allocated(), [(text("r/x"), ids.clone())].into());

    // The way back; an entry without an answer is left out.
    let mut pod_devices = restored.pod_devices;
    let healthy = BTreeMap::from([(text("r/x"), ids), (text("r/y"), DeviceSet::new())]);
    let written = DeviceCheckpoint::of(&pod_devices, &healthy);
    assert_eq!(written.entries, Some(vec![entry("p", &["c", "d", "c"], Some(b""))]));
    let registered = [(text("r/x"), Some(vec![text("c"), text("d")])), (text("r/y"), Some(vec![]))];
    assert_eq!(written.registered, Some(registered.into()));
    for device in pod_devices.entries.values_mut() {
        device.answer = None;
    }
    assert_eq!(DeviceCheckpoint::of(&pod_devices, &BTreeMap::new()).entries, None);
}

#[test]
fn a_fact_shows_what_the_kubelet_refuses() {
    let good = DeviceCheckpoint {
        entries: Some(vec![entry("p", &["a"], Some(&[0, 5]))]),
        registered: Some([(text("r/x"), None)].into()),
    };
    let bytes = good.to_bytes();
    let fact = CheckpointFact::read(&bytes);
    assert_eq!((fact.error, fact.is_old_layout), (None, false));
    assert_eq!(fact.entries[0].answer, PluginAnswer::Undecodable(text("field number 0")));
    assert_eq!(fact.registered, [(text("r/x"), vec![])].into());

    let wrong = String::from_utf8(bytes).expect("it is text").replace("\"a\"", "\"b\"");
    let fact = CheckpointFact::read(wrong.as_bytes());
    assert_eq!(fact.error.as_deref(), Some(CORRUPT));
    assert_ne!(fact.checksum_in_file, fact.checksum_computed.map(u64::from));
    assert_eq!(fact.entries[0].device_ids, [(0, vec![text("b")])].into());

    let fact = CheckpointFact::read(b"{\"Data\":");
    assert_eq!(fact.error.as_deref(), Some("unexpected end of JSON input"));
    assert!(fact.entries.is_empty());
}

#[test]
fn old_layouts_are_shown() {
    let content = r#"{"PodDeviceEntries":[{"PodUID":"p","ContainerName":"c","ResourceName":"r/x",
        "DeviceIDs":["a","b"],"AllocResp":""}],"RegisteredDevices":{"r/x":["a","b"]}}"#;
    let flat = "json: cannot unmarshal array into Go struct field \
                PodDevicesEntry.Data.PodDeviceEntries.DeviceIDs of type checkpoint.DevicesPerNUMA";
    for (file, error) in
        [(format!(r#"{{"Data":{content},"Checksum":1}}"#), flat), (content.to_owned(), CORRUPT)]
    {
        let fact = CheckpointFact::read(file.as_bytes());
        assert_eq!(fact.error.as_deref(), Some(error));
        assert!(fact.is_old_layout);
        assert_eq!(fact.entries[0].device_ids, [(-1, vec![text("a"), text("b")])].into());
        assert_eq!(fact.registered, [(text("r/x"), vec![text("a"), text("b")])].into());
    }
    // A wrong type elsewhere makes it no file of that layout.
    assert_eq!(
        DeviceCheckpoint::parse_old_layout(br#"{"Data":{"PodDeviceEntries":[{"PodUID":5}]}}"#),
        None
    );
}
