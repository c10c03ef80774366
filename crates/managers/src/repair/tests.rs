use super::*;
use crate::objects;
use crate::verify::{FlippedBit, flipped_bit};
use kq_facts::checkpoint::device::{DeviceCheckpoint, PodDevicesEntry, salvage};
use kq_facts::lookup::Lookup;
use kq_facts::node_pods::NodePods;
use kq_facts::runtime::RuntimeFacts;
use kq_facts::snapshot::{PodSource, RecordedPods, Snapshot};
use kq_k8s::version::KubeletVersion;

type List<'l> = &'l [&'l str];

/// A name, a file and its node, a request, what goes, and a part of the first refusal.
type Case<'c> = (&'c str, &'c [u8], &'c Snapshot, Request, List<'c>, Option<&'c str>);

fn entry(pod: &str, container: &str, id: &str) -> PodDevicesEntry {
    PodDevicesEntry {
        pod_uid: pod.to_owned(),
        container_name: container.to_owned(),
        resource_name: "example.com/gpu".to_owned(),
        device_ids: Some([(0, Some(vec![id.to_owned()]))].into()),
        alloc_resp: Some(b"\x0a\x06\x0a\x01A\x12\x011".to_vec()),
    }
}

fn three() -> DeviceCheckpoint {
    DeviceCheckpoint {
        entries: Some(vec![entry("u1", "a", "d1"), entry("u2", "b", "d2"), entry("u3", "c", "d3")]),
        registered: Some([("example.com/gpu".to_owned(), Some(vec!["d9".to_owned()]))].into()),
    }
}

/// What stays of a file, by its devices, and what goes and why.
fn salvaged(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
    let salvage = salvage(bytes, KubeletVersion::ASSUMED);
    let mut fates = (Vec::new(), Vec::new());
    for (entry, why_not) in salvage.entries {
        match why_not {
            None => {
                let ids = entry.device_ids.into_iter().flatten().flat_map(|(_, ids)| ids).flatten();
                fates.0.extend(ids);
            }
            Some(why_not) => fates.1.push(format!("{}: {why_not}", entry.pod_uid)),
        }
    }
    fates
}

#[test]
fn what_is_whole_is_kept() {
    let good = String::from_utf8(three().to_bytes()).expect("text");
    let third = good.find("{\"PodUID\":\"u3").expect("it is there");
    let registered = good.find("\"RegisteredDevices").expect("it is there");
    let none: [&str; 0] = [];
    let cases: &[(&str, Vec<u8>, List<'_>, List<'_>)] = &[
        ("sound", good.clone().into_bytes(), &["d1", "d2", "d3"], &none),
        ("empty", Vec::new(), &none, &none),
        ("garbage", b"\0\0\0\0garbage{[".to_vec(), &none, &none),
        ("cut in the third", good[..third + 20].into(), &["d1", "d2"], &none),
        ("cut after the third", good[..registered + 3].into(), &["d1", "d2", "d3"], &none),
        ("wrong checksum", good.replace("\"d2\"", "\"dx\"").into(), &["d1", "dx", "d3"], &none),
        (
            "a quote lost in the second",
            good.replace("\"PodUID\":\"u2\"", "\"PodUID\":\"u2").into(),
            &["d1", "d3"],
            &none,
        ),
        (
            "a hole in the second",
            good.replace("\"PodUID\":\"u2\"", "\"PodUID\u{0}\u{0}\u{0}u2\"").into(),
            &["d1", "d3"],
            &none,
        ),
        (
            "a number for a name",
            good.replace("\"u2\"", "2").into(),
            &["d1", "d3"],
            &[
                ": json: cannot unmarshal number into Go struct field PodDevicesEntry.PodUID of type string",
            ],
        ),
        (
            "an answer that is cut",
            good.replacen("CgYKAUESATE=", "CgYKAUES", 1).into(),
            &["d2", "d3"],
            &["u1: its plugin's answer cannot be decoded (it is cut), so the kubelet skips it"],
        ),
        (
            "the same twice",
            good.replace("u3", "u2").replace("\"c\"", "\"b\"").into(),
            &["d1", "d3"],
            &["u2: a later entry for the same resource replaces it"],
        ),
        (
            "an old layout",
            good.replace("{\"0\":[", "[").replace("]},\"AllocResp", "],\"AllocResp").into(),
            &["d1", "d2", "d3"],
            &none,
        ),
        (
            "a name that is no text",
            good.replace("\"d2\"", "\"d\u{fffd}\"").into(),
            &["d1", "d3"],
            &["u2: a name in it is not UTF-8: the original is unknown"],
        ),
    ];
    for (name, bytes, kept, dropped) in cases {
        assert_eq!(
            salvaged(bytes),
            (
                kept.iter().map(|k| (*k).to_owned()).collect(),
                dropped.iter().map(|k| (*k).to_owned()).collect()
            ),
            "{name}"
        );
    }
    // Every cut leaves a file from which a sound one is made; nothing appears that was not there.
    let all = three().entries.expect("entries");
    for cut in 0..good.len() {
        let found = salvage(&good.as_bytes()[..cut], KubeletVersion::ASSUMED);
        assert!(found.error.is_some());
        assert!(found.entries.iter().all(|(entry, _)| all.contains(entry)), "{cut}");
        assert_eq!(found.entries.len(), good[..cut].matches("ATE=\"}").count(), "{cut}");
    }
    // Entries that begin for ever take no for ever.
    let hostile = "{\"PodUID\":".repeat(200_000);
    assert_eq!(salvaged(hostile.as_bytes()), (vec![], vec![]));
    assert!(salvage(&good.as_bytes()[..third], KubeletVersion::ASSUMED).registered.is_empty());
    assert_eq!(
        salvage(good.replace("u2\"", "u2").as_bytes(), KubeletVersion::ASSUMED).registered.len(),
        1
    );
}

/// Returns what is known of a node on which `u1` is active and `u2` has ended.
fn snapshot() -> Snapshot {
    let web = objects::pod("web").uid("u1").set("/spec/containers/0/name", "a");
    let job = objects::pod("job").uid("u2").set("/spec/containers/0/name", "b");
    let job = job.phase("Succeeded");
    let pods = objects::loaded([web, job]);
    let recorded = RecordedPods { source: PodSource::ApiServer, pods, ..RecordedPods::default() };
    let runtime = RuntimeFacts {
        sandboxes: Lookup::found("r", Vec::new().into()),
        containers: Lookup::found("r", Vec::new().into()),
        ..RuntimeFacts::default()
    };
    Snapshot {
        pods: Lookup::found("the API server", recorded),
        runtime: Lookup::found("r", runtime),
        ..Snapshot::default()
    }
}

#[test]
fn what_may_run_is_not_stale() {
    // A list of pods does not tell what runs: its containers may outlive a pod.
    let snapshot = Snapshot { runtime: Lookup::failed("r", "refused"), ..snapshot() };
    let pods = NodePods::of(&snapshot);
    let good = three().to_bytes();
    let stale = plan(&good, &Request { remove_stale: true, ..Request::default() }, &pods);
    assert!(stale.items.iter().all(|item| item.action == Action::Keep), "{:?}", stale.items);
    assert!(
        stale.items[2].reason.contains("only the runtime knows (--runtime-endpoint)"),
        "{:?}",
        stale.items
    );
    let named = Request { remove: vec!["u3".to_owned()], ..Request::default() };
    assert!(plan(&good, &named, &pods).refusals[0].contains("--force removes it"));
    assert!(plan(&good, &Request { force: true, ..named }, &pods).refusals.is_empty());
}

#[test]
fn what_is_lost_is_counted_and_needs_force() {
    let good = three().to_bytes();
    let good = String::from_utf8(good).expect("text");
    // As jq writes it, which keeps the order of the fields.
    let pretty = good.replace("{\"", "{\n  \"").replace(",\"", ",\n  \"").replace("\":", "\": ");
    let snapshot = snapshot();
    let pods = NodePods::of(&snapshot);
    for (name, bytes, kept, lost, refused) in [
        ("pretty, with a hole", pretty.replacen("\"u2\"", "\"u2", 1), 2, 1, true),
        ("a hole", good.replacen("\"u2\"", "\"u2", 1), 2, 1, true),
        ("a hole in the first name", good.replacen("\"PodUID", "\"Pod\0ID", 1), 2, 1, true),
        ("cut after the entries", good[..good.rfind("\"Reg").expect("there")].into(), 3, 0, false),
        ("nothing", "\0\0\0".to_owned(), 0, 0, true),
    ] {
        let rebuild = Request { rebuild: true, ..Request::default() };
        let found = plan(bytes.as_bytes(), &rebuild, &pods);
        assert_eq!((found.items.len(), found.lost), (kept, lost), "{name}: {found:?}");
        assert_eq!(!found.refusals.is_empty(), refused, "{name}: {:?}", found.refusals);
        let forced = plan(bytes.as_bytes(), &Request { force: true, ..rebuild }, &pods);
        assert!(forced.refusals.is_empty(), "{name}");
    }
    // One that is damaged, and its pod is active.
    let cut = good.replacen("CgYKAUESATE=", "CgYKAUES", 1);
    let found = plan(cut.as_bytes(), &Request { rebuild: true, ..Request::default() }, &pods);
    assert!(found.refusals[0].contains("its pod is active"), "{:?}", found.refusals);
}

#[test]
fn a_request_removes_what_it_names_and_nothing_in_use() {
    let good = three().to_bytes();
    let damaged = String::from_utf8(good.clone()).expect("text").replace("d3", "d4").into_bytes();
    let (known, unknown) = (snapshot(), Snapshot::default());
    let remove = |names: &[&str]| Request {
        remove: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Request::default()
    };
    let stale = Request { remove_stale: true, ..Request::default() };
    let rebuild = Request { rebuild: true, ..Request::default() };
    let cases: &[Case<'_>] = &[
        ("gone", &good, &known, remove(&["u3"]), &["u3"], None),
        ("by container", &good, &known, remove(&["u3/c"]), &["u3"], None),
        ("by resource", &good, &known, remove(&["u3/c/example.com/gpu"]), &["u3"], None),
        ("by name", &good, &known, remove(&["default/job", "u3"]), &["u2", "u3"], None),
        ("by name and container", &good, &known, remove(&["default/job/b"]), &["u2"], None),
        (
            "another container",
            &good,
            &known,
            remove(&["u3/x"]),
            &[],
            Some("no entry has that name"),
        ),
        (
            "another resource",
            &good,
            &known,
            remove(&["u3/c/x"]),
            &[],
            Some("no entry has that name"),
        ),
        ("a part of a UID", &good, &known, remove(&["u"]), &[], Some("no entry has that name")),
        (
            "active",
            &good,
            &known,
            remove(&["u1"]),
            &["u1"],
            Some("default/web/a/example.com/gpu: its pod is active"),
        ),
        ("forced", &good, &known, Request { force: true, ..remove(&["u1"]) }, &["u1"], None),
        (
            "not known",
            &good,
            &unknown,
            remove(&["u3"]),
            &["u3"],
            Some("whether its pod is active is not known"),
        ),
        ("stale", &good, &known, stale.clone(), &["u2", "u3"], None),
        ("nothing is known to be stale", &good, &unknown, stale.clone(), &[], None),
        (
            "damaged",
            &damaged,
            &known,
            stale.clone(),
            &["u2", "u3"],
            Some("the kubelet rejects this file (checkpoint is corrupted)"),
        ),
        (
            "both",
            &damaged,
            &known,
            Request { force: true, rebuild: true, ..stale },
            &["u2", "u3"],
            None,
        ),
        ("sound", &good, &known, rebuild.clone(), &[], None),
        (
            "changed",
            &damaged,
            &known,
            rebuild.clone(),
            &[],
            Some("not what, so nothing says which"),
        ),
        ("rebuilt", &damaged, &known, Request { force: true, ..rebuild }, &[], None),
        ("name alone", &good, &known, remove(&["job"]), &["u2"], None),
        (
            "no name",
            &good,
            &known,
            remove(&["jo"]),
            &[],
            Some("there are those of default/job, default/web, u3"),
        ),
    ];
    for (name, bytes, snapshot, request, gone, refusal) in cases {
        let pods = NodePods::of(snapshot);
        let plan = plan(bytes, request, &pods);
        let going = plan.items.iter().filter(|item| item.action != Action::Keep);
        assert_eq!(going.map(|item| &*item.pod_uid).collect::<Vec<_>>(), *gone, "{name}");
        match refusal {
            None => assert_eq!(plan.refusals, Vec::<String>::new(), "{name}"),
            Some(part) => assert!(plan.refusals[0].contains(part), "{name}: {:?}", plan.refusals),
        }
        // What would be written is taken by a kubelet, and a second repair of it finds nothing to do.
        let bytes = plan.after.to_bytes();
        let loaded = DeviceCheckpoint::parse(&bytes).expect("it parses");
        assert!(loaded.is_valid(), "{name}");
        assert_eq!(loaded.checkpoint, plan.after, "{name}");
        assert!(salvage(&bytes, KubeletVersion::ASSUMED).is_sound(), "{name}");
    }
}

#[test]
fn one_flipped_bit_is_put_back_and_no_other_is_blessed() {
    // As no kubelet writes it, so that the same bytes differ from equivalent ones.
    let sound = DeviceCheckpoint { entries: Some(vec![entry("u1", "a", "d1")]), ..three() };
    let sound = String::from_utf8(sound.to_bytes()).expect("text").replace(":{", ": {");
    let snapshot = snapshot();
    let pods = NodePods::of(&snapshot);
    let rebuild = Request { rebuild: true, ..Request::default() };
    let at = |text: &str| sound.find(text).expect("it is there") + text.len() - 1;
    let places = ["d1", "u1", "PodUID\"", ": {", "AT", "Checksum\":1"].map(at);
    for (offset, bit) in places.into_iter().flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut bytes = sound.clone().into_bytes();
        let was = bytes[offset];
        bytes[offset] ^= 1 << bit;
        if DeviceCheckpoint::is_taken(&bytes) {
            continue;
        }
        let found = plan(&bytes, &rebuild, &pods);
        if found.refusals.is_empty() {
            let restored = FlippedBit { offset, is: bytes[offset], was };
            assert_eq!(found.restored, Some(restored), "{offset} {bit}: {found:?}");
            assert_eq!(found.content, sound.as_bytes(), "{offset} {bit}");
        }
        assert_eq!(found.refusals, Vec::<String>::new(), "{offset} {bit}: {found:?}");
    }
}

#[test]
fn where_two_bits_explain_it_nobody_knows_which() {
    let two = |bytes: &[u8]| bytes == b"[6]" || bytes == b"[3]";
    assert_eq!(flipped_bit(b"[2]", two), None);
    assert_eq!(
        flipped_bit(b"[2]", |bytes| bytes == b"[3]"),
        Some(FlippedBit { offset: 1, is: b'2', was: b'3' })
    );
}

#[test]
fn a_name_that_two_pods_have_is_none() {
    let mut snapshot = snapshot();
    let mut recorded = snapshot.pods.value().expect("pods").clone();
    recorded.pods[1].pod.metadata.name = "web".to_owned();
    snapshot.pods = Lookup::found("the API server", recorded);
    let request = Request { remove: vec!["web".to_owned()], force: true, ..Request::default() };
    let found = plan(&three().to_bytes(), &request, &NodePods::of(&snapshot));
    let expected =
        "--remove web: 2 pods have that name: default/web (u1), default/web (u2); use a UID";
    assert_eq!(found.refusals, [expected]);
    assert!(!found.is_change);
}

#[test]
fn without_entries_the_list_is_nil_as_a_kubelet_writes_it() {
    let snapshot = snapshot();
    let request = Request {
        remove: vec!["u1".to_owned(), "u2".to_owned(), "u3".to_owned()],
        force: true,
        ..Request::default()
    };
    let plan = plan(&three().to_bytes(), &request, &NodePods::of(&snapshot));
    assert_eq!(plan.after.entries, None);
    assert_eq!(plan.after.registered, three().registered);
    assert!(plan.is_change);
}
