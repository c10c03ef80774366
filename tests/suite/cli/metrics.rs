//! `-o metrics`: the numbers of an answer are those of its JSON.

use super::kq;
use serde_json::Value;
use std::collections::BTreeMap;

const NODE: &str = "--snapshot examples/night/worker-3.json";

/// Returns the values by the name of the metric with its labels.
fn metrics(command: &str) -> BTreeMap<String, f64> {
    let run = || kq(&format!("{command} {NODE} -o metrics")).run();
    let ran = run();
    assert_eq!(ran.stdout, run().stdout, "{command}: the same order each time");
    assert!(ran.stdout.ends_with("\n# EOF\n"), "{}", ran.text());
    let values = ran.stdout.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        (name.to_owned(), value.parse().expect("a number"))
    });
    values.collect()
}

fn json(command: &str) -> Value {
    let ran = kq(&format!("{command} {NODE} -o json")).run();
    ran.answer()
}

fn items(answer: &Value) -> Vec<Value> {
    answer["items"].as_array().expect("items").clone()
}

#[test]
fn the_numbers_are_those_of_the_json() {
    let said = metrics("doctor");
    let items_of_doctor = items(&json("doctor"));
    for severity in ["ERROR", "UNKNOWN", "WARNING", "OK"] {
        let count = items_of_doctor.iter().filter(|it| it["severity"] == severity).count();
        let name = format!("kq_doctor_findings{{severity=\"{}\"}}", severity.to_lowercase());
        assert_eq!(said[&name].to_string(), count.to_string(), "{name}");
    }
    let errors = said.keys().filter(|it| it.starts_with("kq_doctor_finding{severity=\"error\""));
    assert_eq!(
        errors.count().to_string(),
        said["kq_doctor_findings{severity=\"error\"}"].to_string()
    );

    let said = metrics("gc policy");
    assert_eq!(said["kq_gc_setting{setting=\"imageGCHighThresholdPercent\"}"].to_string(), "85");
    assert_eq!(said["kq_gc_setting_seconds{setting=\"imageMinimumGCAge\"}"].to_string(), "120");
    assert_eq!(said["kq_gc_policy_errors"].to_string(), "0");

    let ranked = "evict rank --signal memory";
    let said = metrics(ranked);
    let rank = json(ranked);
    for item in items(&rank) {
        let of = |name: &str| {
            let labels = format!("{{namespace={},pod={}}}", item["namespace"], item["name"]);
            said.get(&format!("kq_eviction_pod_{name}{labels}")).map(f64::to_string)
        };
        for field in ["rank", "usage", "request"] {
            let number = item[field].as_i64().map(|it| it.to_string());
            assert_eq!(of(field), number, "{field} of {}", item["name"]);
        }
    }
    let row = &rank["thresholds"][0];
    let labels = format!("{{signal={},grace_period={}}}", row["signal"], row["gracePeriod"]);
    let margin = said[&format!("kq_eviction_margin{labels}")].to_string();
    assert_eq!(margin, row["margin"].to_string());

    let divided = "cgroup shares --planned";
    let (said, shares) = (metrics(divided), items(&json(divided)));
    let known = shares.iter().filter(|it| !it["cpus"].is_null()).count();
    assert!(known > 0, "{shares:?}");
    assert_eq!(said.keys().filter(|it| it.starts_with("kq_cpu_share_cpus{")).count(), known);
}

#[test]
fn an_answer_without_numbers_has_no_metrics() {
    let ran = kq(&format!("cgroup plan {NODE} -o metrics")).run();
    assert!(ran.code == 2 && ran.stderr.contains("invalid value 'metrics'"), "{}", ran.text());
    let ran = kq(&format!("doctor shop/checkout-6d5f7 {NODE} -o metrics")).run();
    assert!(ran.code == 2 && ran.stderr.contains("has no metrics"), "{}", ran.text());
    assert_eq!(ran.stdout, "");
}
