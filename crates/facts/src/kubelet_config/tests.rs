//! Tests of reading, merging, defaults and validation, and the recorded configuration errors.

use super::*;
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::version::KubeletVersion;
use serde_json::{Value, json};

const ASSUMED: KubeletVersion = KubeletVersion::ASSUMED;

fn config(value: &Value) -> KubeletConfiguration {
    read(value, Source::Configz, ASSUMED).expect("a readable configuration").config
}

/// Returns the error with which a kubelet refuses a configuration before it sees the machine.
fn startup_error(value: &Value, version: KubeletVersion, cgroups: CgroupMode) -> Option<String> {
    let config = read(value, Source::Configz, version).expect("a readable configuration").config;
    let effective = effective(&config, version);
    let gates = match FeatureGates::for_version(version).with_overrides(&effective.feature_gates) {
        Ok(gates) => gates,
        Err(error) => {
            return Some(format!(
                "panic: failed to merge global and in-flight KubeletConfiguration while setting \
                 defaults, error: {error}"
            ));
        }
    };
    let errors = validate(&config, &gates, cgroups);
    if !errors.is_empty() {
        return Some(aggregate(&errors));
    }
    parse_reserved_list("kube-reserved", &effective.kube_reserved)
        .and_then(|_| parse_reserved_list("system-reserved", &effective.system_reserved))
        .map_err(|error| error.to_string())
        .and_then(|_| {
            parse_hard_thresholds(&effective.eviction_hard).map_err(|error| error.to_string())
        })
        .and_then(|_| {
            parse_qos_reserved(&effective.qos_reserved).map_err(|error| error.startup_text())
        })
        .err()
}

#[test]
fn recorded_configuration_errors_are_reproduced() {
    const ABOUT_THE_MACHINE: [&str; 3] =
        ["reserved-cpus: ", "Failed to enforce ", "invalid Node Allocatable "];
    let vectors = include_str!("../../../../tests/vectors/node_allocatable.jsonl");
    let (mut refused, mut accepted) = (0, 0);
    for line in vectors.lines() {
        let case: Value = serde_json::from_str(line).expect("a vector line is JSON");
        let (id, input) = (&case["id"], &case["in"]);
        let expected = case["out"]["error"]
            .as_str()
            .filter(|text| !ABOUT_THE_MACHINE.iter().any(|start| text.starts_with(start)));
        let cgroups = match input["machine"]["cgroup_version"].as_i64() {
            Some(1) => CgroupMode::V1,
            _ => CgroupMode::V2,
        };
        // Invalid quantities have vectors of their own.
        if expected.is_some_and(|text| text.contains("failed to parse quantity")) {
            continue;
        }
        let version = case["kubernetes"].as_str();
        let version = version.map_or(ASSUMED, |text| text.parse().expect("a version"));
        let got = startup_error(&input["kubelet_configuration"], version, cgroups);
        assert_eq!(got.as_deref(), expected, "{id}");
        refused += usize::from(expected.is_some());
        accepted += usize::from(expected.is_none());
    }
    assert!(refused > 20 && accepted > 200, "{refused} refused, {accepted} accepted");
}

#[test]
fn several_errors_are_listed_in_the_kubelets_order() {
    let value = json!({"maxPods": -1, "podsPerCore": -1, "memoryThrottlingFactor": 2});
    assert_eq!(
        startup_error(&value, ASSUMED, CgroupMode::V2).as_deref(),
        Some(
            "[invalid configuration: maxPods (--max-pods) -1 must not be a negative number, \
             invalid configuration: podsPerCore (--pods-per-core) -1 must not be a negative \
             number, invalid configuration: memoryThrottlingFactor 2 must be greater than 0 and \
             less than or equal to 1.0]"
        )
    );
}

#[test]
fn what_is_misspelt_or_mistyped_is_refused() {
    let head =
        json!({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"});
    let cases = [
        (
            "misspelt",
            json!({"cgroupDrver": "systemd"}),
            "unknown field cgroupDrver with value \"systemd\"",
        ),
        (
            "nested",
            json!({"authentication": {"webhook": {"enable": true}}}),
            "unknown field authentication.webhook.enable with value true",
        ),
        (
            "number for text",
            json!({"kubeReserved": {"cpu": 1}}),
            "kubeReserved[cpu] is 1, expected text",
        ),
        (
            "text for number",
            json!({"maxPods": "110"}),
            "maxPods is \"110\", expected a whole number of 32 bits",
        ),
        ("fraction", json!({"maxPods": 1.5}), "maxPods is 1.5, expected a whole number of 32 bits"),
        (
            "too large",
            json!({"maxPods": 3_000_000_000_u32}),
            "maxPods is 3000000000, expected a whole number of 32 bits",
        ),
        (
            "duration",
            json!({"syncFrequency": "1d"}),
            "syncFrequency is \"1d\", expected a duration such as 1m30s",
        ),
        (
            "list",
            json!({"enforceNodeAllocatable": ["pods", 1]}),
            "enforceNodeAllocatable[1] is 1, expected text",
        ),
        (
            "other kind",
            json!({"kind": "CredentialProviderConfig"}),
            "kind is \"CredentialProviderConfig\", expected KubeletConfiguration",
        ),
    ];
    for (name, fields, expected) in cases {
        let mut value = head.clone();
        for (field, content) in fields.as_object().expect("a map") {
            value[field] = content.clone();
        }
        // What is typed may not be misspelt; of a file, the kubelet ignores it.
        let is_misspelt = expected.starts_with("unknown field");
        let errors = match is_misspelt {
            true => read_typed(&value, ASSUMED).expect_err(name),
            false => read(&value, Source::File, ASSUMED).expect_err(name),
        };
        let ignored = read(&value, Source::File, ASSUMED).map(|reading| reading.notes.len());
        assert_eq!(ignored.ok(), is_misspelt.then_some(1), "{name}");
        assert_eq!(
            errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [expected],
            "{name}"
        );
    }
    let untyped = read(&json!({}), Source::File, ASSUMED).expect_err("no type");
    assert_eq!(untyped.len(), 2);
    assert!(read(&json!([]), Source::Configz, ASSUMED).is_err());
}

#[test]
fn configz_is_read_wrapped_or_not_and_unknown_fields_are_notes() {
    let value =
        json!({"kubeletconfig": {"maxPods": 50, "fromTheFuture": 1, "cpuCFSQuotaPeriod": "20ms"}});
    for value in [&value, &value["kubeletconfig"]] {
        let reading = read(value, Source::Configz, ASSUMED).expect("readable");
        assert_eq!(reading.config.max_pods, Some(50));
        assert_eq!(
            reading.notes,
            ["unknown field fromTheFuture with value 1, which the kubelet ignores"]
        );
    }
    let old =
        read(&json!({"memoryReservationPolicy": "None"}), Source::Configz, KubeletVersion::OLDEST);
    assert_eq!(old.expect("readable").notes.len(), 1);
}

#[test]
fn defaults_depend_on_the_version() {
    let merging = config(
        &json!({"evictionHard": {"memory.available": "1Gi"}, "mergeDefaultEvictionSettings": true}),
    );
    for (minor, fail, signals) in
        [(32, false, 1), (33, false, 5), (34, false, 5), (35, true, 5), (36, true, 5)]
    {
        let effective = effective(&merging, KubeletVersion::new(1, minor));
        assert_eq!(
            (effective.fail_cgroup_v1, effective.eviction_hard.len()),
            (fail, signals),
            "1.{minor}"
        );
    }
    let zeros =
        effective(&config(&json!({"maxPods": 0, "podPidsLimit": -5, "cgroupDriver": ""})), ASSUMED);
    assert_eq!(
        (zeros.max_pods, zeros.pod_pids_limit, zeros.cgroup_driver.as_str()),
        (110, -1, "cgroupfs")
    );
}

#[test]
fn drop_ins_are_ordered_as_the_kubelet_walks() {
    let got = drop_in_order([
        "d/90-a.conf",
        "d/10-b.conf",
        "d/20/z.conf",
        "d/README",
        "d/20-x.conf",
        "d/c.conf.bak",
    ]);
    assert_eq!(got.read, ["d/10-b.conf", "d/20/z.conf", "d/20-x.conf", "d/90-a.conf"]);
    assert_eq!(got.skipped, ["d/README", "d/c.conf.bak"]);
}

#[test]
fn drop_ins_are_merged_as_json_merge_patches() {
    let typed = |mut value: Value| {
        value["apiVersion"] = "kubelet.config.k8s.io/v1beta1".into();
        value["kind"] = "KubeletConfiguration".into();
        value
    };
    let cases = [
        (
            "gates merge",
            json!({"featureGates": {"A": true}}),
            json!({"featureGates": {"B": false}}),
            "featureGates",
            json!({"A": true, "B": false}),
        ),
        (
            "lists are replaced",
            json!({"enforceNodeAllocatable": ["pods"]}),
            json!({"enforceNodeAllocatable": ["none"]}),
            "enforceNodeAllocatable",
            json!(["none"]),
        ),
        ("null removes", json!({"maxPods": 5}), json!({"maxPods": null}), "maxPods", Value::Null),
        (
            "thresholds are removed",
            json!({}),
            json!({"evictionHard": null}),
            "evictionHard",
            json!({}),
        ),
        (
            "base thresholds stay",
            json!({"evictionHard": {"memory.available": "1Gi"}}),
            json!({}),
            "evictionHard",
            json!({"memory.available": "1Gi"}),
        ),
    ];
    for (name, base, drop_in, field, expected) in cases {
        let merged = merge(base, vec![("a.conf".to_owned(), typed(drop_in))]).expect(name);
        assert_eq!(merged[field], expected, "{name}");
    }
    let kept = merge(
        json!({}),
        vec![("a".to_owned(), typed(json!({"evictionHard": {"memory.available": "1Gi"}})))],
    );
    let kept = kept.expect("merged");
    assert_eq!(kept["evictionHard"]["memory.available"], "1Gi");
    assert_eq!(kept["evictionHard"]["nodefs.available"], "10%");
    let untyped = merge(json!({}), vec![("a.conf".to_owned(), json!({}))]).expect_err("untyped");
    assert_eq!(
        untyped.to_string(),
        "drop-in a.conf: apiVersion is missing, expected kubelet.config.k8s.io/v1beta1"
    );
}

#[test]
fn soft_thresholds_need_a_grace_period() {
    let map = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let cases = [
        ("good", "10%", "1m", "5%", None),
        (
            "no period",
            "10%",
            "",
            "5%",
            Some("grace period must be specified for the soft eviction threshold memory.available"),
        ),
        (
            "negative period",
            "10%",
            "-1m",
            "5%",
            Some("invalid eviction grace period specified: -1m, must be a positive value"),
        ),
        ("bad period", "10%", "soon", "5%", Some("time: invalid duration \"soon\"")),
        (
            "no reclaim",
            "10%",
            "1m",
            "0%",
            Some("eviction percentage minimum reclaim memory.available must be positive: 0%"),
        ),
        (
            "too much",
            "1e3%",
            "1m",
            "5%",
            Some("eviction percentage threshold memory.available must be <= 100%: 1e3%"),
        ),
    ];
    for (name, soft, period, reclaim, expected) in cases {
        let periods =
            if period.is_empty() { map(&[]) } else { map(&[("memory.available", period)]) };
        let got = parse_eviction_thresholds(EvictionSettings {
            hard: &map(&[]),
            soft: &map(&[("memory.available", soft)]),
            soft_grace_period: &periods,
            minimum_reclaim: &map(&[("memory.available", reclaim)]),
        });
        assert_eq!(got.err().map(|error| error.to_string()).as_deref(), expected, "{name}");
    }
}
