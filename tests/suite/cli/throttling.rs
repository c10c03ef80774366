//! `kq cgroup throttling`

use super::{folder_with, kq, repository};
use serde_json::{Value, json};

const NODE: &str = "examples/night/worker-3.json";

#[test]
fn the_most_throttled_container_is_first() {
    let ran = kq(&format!("cgroup throttling --snapshot {NODE}")).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = ran.stdout.lines().map(cells).collect();
    assert_eq!(rows[0].join(" "), "POD CONTAINER THROTTLED THROTTLED TIME LIMIT CPU TIME");
    // 9130 of 11412 periods; 1204 of 3240011; the others have no quota, and no periods.
    assert_eq!(rows[1][2..].join(" "), "80.0% 1m13s 200m 11h37m");
    assert!(rows[1][0].starts_with("shop/checkout"), "{}", ran.stdout);
    assert_eq!(rows[2][2..].join(" "), "0.0% 9.12s 1500m 142h27m");
    assert!(rows[3..].iter().all(|row| row[2] == "-" && row[4] == "-"), "{}", ran.stdout);
    let answer = kq(&format!("cgroup throttling --snapshot {NODE}")).json();
    assert_eq!(answer["items"][0]["throttledPeriods"], 9130);
    let names = kq(&format!("cgroup throttling --snapshot {NODE} -o name")).run().stdout;
    assert_eq!(names.lines().next(), answer["items"][0]["cgroup"].as_str());
    let own = kq(&format!("cgroup throttling -n batch --snapshot {NODE}")).json();
    let items = own["items"].as_array().expect("items");
    assert!(!items.is_empty() && items.iter().all(|item| item["namespace"] == "batch"), "{own}");
}

#[test]
fn a_container_without_counters_is_last_and_missing() {
    let text = std::fs::read_to_string(repository().join(NODE)).expect("the example");
    let mut node: Value = serde_json::from_str(&text).expect("JSON");
    let cgroups = node["cgroups"]["found"]["value"]["cgroups"].as_object_mut().expect("cgroups");
    let stat = "nr_periods 4\nnr_throttled 4\nthrottled_usec 5\n";
    for (path, texts) in cgroups.iter_mut() {
        let texts = texts.as_object_mut().expect("texts");
        match path.contains("pod53840580") {
            // The pod's own quota is used up, which its container does not count.
            true if texts.remove("cpu.stat").is_none() => {
                texts.insert("cpu.stat".to_owned(), json!(stat));
            }
            _ => {}
        }
    }
    let folder = folder_with(&[("node.json", node.to_string())]);
    let line = "cgroup throttling --snapshot node.json";
    let ran = kq(&format!("{line} -ojson")).within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    let answer: Value = ran.answer();
    let items = answer["items"].as_array().expect("items");
    let level = |item: &Value| item["level"].as_str().expect("a level").to_owned();
    assert_eq!((level(&items[0]), &items[0]["throttledUsec"]), ("pod".to_owned(), &json!(5)));
    let last = items.last().expect("items");
    assert_eq!((&last["throttledPeriods"], level(last)), (&Value::Null, "container".to_owned()));
    let missing = format!("cpu.stat of 1 of {} containers", items.len() - 1);
    let missing = json!({"text": missing, "flags": [], "fact": "cgroupUsage", "about": "cpu.stat"});
    assert_eq!(answer["missing"], json!([missing]));
}
