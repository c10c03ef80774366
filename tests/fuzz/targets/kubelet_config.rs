//! Whatever the text, reading its documents as YAML, and as a kubelet's configuration with drop-ins,
//! ends without a panic.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::allocatable::reservations;
use kq_facts::kubelet_config::{CgroupMode, Source, effective, merge, read, validate};
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::version::KubeletVersion;
use kq_k8s::yaml;
use serde_json::Value;

kq_fuzz::fuzz_target!(|text: &str| {
    let mut values = Vec::new();
    for document in yaml::documents(text) {
        if let Ok(read) = yaml::read(document.text) {
            let json = read.value.to_string();
            let again: Value = serde_json::from_str(&json).expect("JSON was printed");
            assert_eq!(again.to_string(), json);
            values.push(read.value);
        }
    }
    for value in &values {
        configure(value);
    }
    // The first document as the file, the others as its drop-ins.
    if values.len() > 1 {
        let base = values.remove(0);
        let drop_ins = values.into_iter().enumerate();
        let drop_ins = drop_ins.map(|(at, value)| (at.to_string(), value)).collect();
        if let Ok(merged) = merge(base, drop_ins) {
            configure(&merged);
        }
    }
});

fn configure(value: &Value) {
    for version in [KubeletVersion::OLDEST, KubeletVersion::NEWEST] {
        for source in [Source::File, Source::Configz] {
            match read(value, source, version) {
                Ok(reading) => {
                    let defaults = FeatureGates::for_version(version);
                    let set = reading.config.feature_gates.clone().unwrap_or_default();
                    let gates = defaults.with_overrides(&set).unwrap_or(defaults);
                    for mode in [CgroupMode::V1, CgroupMode::V2, CgroupMode::Unknown] {
                        for error in validate(&reading.config, &gates, mode) {
                            assert!(!error.to_string().is_empty());
                        }
                    }
                    let mut config = effective(&reading.config, version);
                    if let Err(error) = reservations(&mut config, None) {
                        assert!(!error.to_string().is_empty());
                    }
                }
                Err(errors) => {
                    assert!(!errors.is_empty());
                    for error in errors {
                        assert!(!error.to_string().is_empty());
                    }
                }
            }
        }
    }
}
