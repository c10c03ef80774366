//! What the kubelet did in three passes, by its own log, and what kq says before each.

use super::stored::{PASSES, images, records, snapshot, state, text};
use crate::cli::{folder_with, kq};
use serde_json::Value;
use std::collections::BTreeSet;

/// When `kq gc record` would have looked, from before the kubelet started: as often as it, and once a
/// minute.
const WITH_THE_KUBELET: [&str; 2] = ["12:04:20", "12:09:26"];
const EACH_MINUTE: [&str; 10] = [
    "12:04:20", "12:05:26", "12:06:26", "12:07:26", "12:08:26", "12:09:26", "12:10:26", "12:11:26",
    "12:12:26", "12:13:26",
];

/// What the kubelet's log says of one pass.
#[derive(Debug, Default, PartialEq)]
struct Pass {
    in_use: BTreeSet<String>,
    removed: Vec<(String, i64)>,
    amount: Option<i64>,
    usage: Option<i64>,
}

/// Reads the log of the pass in one minute.
fn logged(minute: &str) -> Pass {
    let mut pass = Pass::default();
    let log = text("kubelet-log.txt");
    for line in log.lines().filter(|line| line.starts_with(&format!("I1120 {minute}:"))) {
        let value = |name: &str| {
            let (_, rest) = line.split_once(&format!(" {name}="))?;
            rest.split_whitespace().next().map(|value| value.trim_matches('"').to_owned())
        };
        let number = |name: &str| value(name).and_then(|value| value.parse().ok());
        let id = value("imageID");
        match id {
            Some(id) if line.contains("Image ID is being used") => {
                pass.in_use.insert(id);
            }
            Some(id) if line.contains("Removing image to free bytes") => {
                pass.removed.push((id, number("size").expect("its size")));
            }
            None if line.contains("is over the high threshold") => {
                pass.amount = number("amountToFree");
                pass.usage = number("usage");
            }
            _ => {}
        }
    }
    pass
}

fn dry_run(snapshot: String, flags: &str) -> Value {
    let folder = folder_with(&[("snapshot.json", snapshot)]);
    let line = format!("gc dry-run --snapshot snapshot.json -o json {flags}");
    let ran = kq(&line).within(folder.path()).run();
    ran.answer()
}

fn items(plan: &Value) -> Vec<&Value> {
    plan["items"].as_array().expect("a plan has items").iter().collect()
}

fn ids(plan: &Value, is_meant: impl Fn(&Value) -> bool) -> BTreeSet<&str> {
    let meant = items(plan).into_iter().filter(|item| is_meant(item));
    meant.map(|item| item["id"].as_str().expect("an image has an id")).collect()
}

fn is_removal(item: &Value) -> bool {
    item["verdict"].as_str().is_some_and(|verdict| verdict.starts_with("removed"))
}

fn named(plan: &Value, names: &[&str]) -> BTreeSet<String> {
    let is_named = |item: &&Value| {
        names.iter().any(|name| item["tags"].to_string().contains(&format!("/{name}:")))
    };
    let found = items(plan).into_iter().filter(is_named);
    found.map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn the_kubelet_does_what_kq_says() {
    for ((name, before, after), minute) in PASSES.iter().zip(["12:09", "12:14", "12:19"]) {
        let (pass, is_full) = (logged(minute), *name == "10min");
        assert_eq!(pass.removed.len(), if is_full { 2 } else { 0 }, "{name}: {pass:?}");
        let rows = [
            ("no records", None),
            ("records with the kubelet", Some(records(&WITH_THE_KUBELET))),
            ("records each minute", Some(records(&EACH_MINUTE))),
        ];
        // Those before the first pass do not know of what comes after it.
        for (kept, records) in rows.into_iter().take(if is_full { 3 } else { 1 }) {
            let plan = dry_run(snapshot(before, records), "");
            let what = format!("{name}, {kept}");
            assert_eq!(plan["run"]["amountToFreeBytes"].as_i64(), pass.amount, "{what}");
            if pass.usage.is_some() {
                assert_eq!(plan["run"]["usage"]["percent"].as_i64(), pass.usage, "{what}");
            }
            let in_use = ids(&plan, |item| item["verdict"] == "inUse");
            assert_eq!(in_use, pass.in_use.iter().map(String::as_str).collect(), "{what}");
            let removed: BTreeSet<&str> = pass.removed.iter().map(|(id, _)| id.as_str()).collect();
            // What is sure came to be.
            let sure = ids(&plan, |item| item["certainty"] == "certain" && is_removal(item));
            let stay = ids(&plan, |item| item["certainty"] == "certain" && !is_removal(item));
            assert!(sure.is_subset(&removed) && stay.is_disjoint(&removed), "{what}: {plan:#}");
            let freed: i64 = pass.removed.iter().map(|(_, size)| size).sum();
            let bound = |field: &str| plan["freed"][field].as_i64().expect("a number");
            let bounds = bound("atLeastBytes")..=bound("atMostBytes");
            assert!(bounds.contains(&freed), "{what}: {freed} is not in {bounds:?}");
            if !is_full {
                assert_eq!((bounds, ids(&plan, is_removal).len()), (0..=0, 0), "{what}");
            }
        }
        // The states agree with the log.
        let left: BTreeSet<String> =
            images(&state(after)).into_iter().map(|image| image.id).collect();
        let gone: Vec<String> = images(&state(before)).into_iter().map(|image| image.id).collect();
        let gone: BTreeSet<&str> =
            gone.iter().filter(|id| !left.contains(*id)).map(String::as_str).collect();
        assert_eq!(gone, pass.removed.iter().map(|(id, _)| id.as_str()).collect(), "{name}");
    }
}

#[test]
fn records_leave_the_order_of_the_oldest_open() {
    let oldest = ["bulk-00", "bulk-02", "busybox", "probesrv", "pause"];
    let plan = dry_run(snapshot(PASSES[1].1, Some(records(&EACH_MINUTE))), "");
    // use-04 ran for so short a time that the kubelet might have missed it.
    let missed = ids(&plan, |item| item["certainty"] != "certain" && !is_removal(item));
    assert_eq!(missed, named(&plan, &["bulk-04"]).iter().map(String::as_str).collect());
    let open = ids(&plan, |item| item["certainty"] != "certain" && is_removal(item));
    assert_eq!(open, named(&plan, &oldest).iter().map(String::as_str).collect(), "{plan:#}");
    // Without the largest of them there is never enough, so it goes in any order.
    let sure = ids(&plan, |item| item["certainty"] == "certain" && is_removal(item));
    assert_eq!(sure, named(&plan, &["bulk-03"]).iter().map(String::as_str).collect());
    for item in items(&plan).into_iter().filter(|item| open.contains(item["id"].as_str().unwrap()))
    {
        assert_eq!(item["tiedWith"].as_array().map(Vec::len), Some(5), "{item:#}");
    }
    assert_eq!(plan["freed"]["atLeastBytes"], 140_033_638);
    assert_eq!(plan["freed"]["atMostBytes"], 221_660_453);

    // Seen as often as the kubelet looks, those that came 90 s after its start may be as old.
    let plan = dry_run(snapshot(PASSES[1].1, Some(records(&WITH_THE_KUBELET))), "");
    let open = ids(&plan, |item| item["certainty"] != "certain");
    let more = [&oldest[..], &["bulk-03", "bulk-04", "bulk-05", "bulk-06"]].concat();
    assert_eq!(open, named(&plan, &more).iter().map(String::as_str).collect(), "{plan:#}");
}

#[test]
fn young_and_used_images_stay() {
    for records in [None, Some(records(&WITH_THE_KUBELET))] {
        let has_records = records.is_some();
        for flags in ["", "--at-usage 90%", "--trigger eviction"] {
            let plan = dry_run(snapshot(PASSES[1].1, records.clone()), flags);
            let removed = ids(&plan, is_removal);
            let in_use = named(&plan, &["bulk-01"]);
            assert!(in_use.iter().all(|id| !removed.contains(id.as_str())), "{flags}: {plan:#}");
            // Without records, their recent arrival is unknown.
            for id in named(&plan, &["bulk-08", "bulk-09"]).iter().filter(|_| has_records) {
                assert!(!removed.contains(id.as_str()), "{flags}: {plan:#}");
            }
        }
    }
}
