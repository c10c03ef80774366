//! How far a start comes with a configuration file, and with which words it ends.

use super::input::version;
use kq_facts::kubelet_config::{
    CgroupMode, DecodedConfig, KubeletConfiguration, Source, aggregate, logging_errors, read,
    resolve_paths, validate_with_logging,
};
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::version::KubeletVersion;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const FOLDER: &str = "/etc/kubernetes";

pub fn answer(case: &Value) -> Value {
    let text = match case["yaml"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => from_base64(case["yaml_base64"].as_str().expect("a text")),
    };
    if text.is_empty() {
        let error = "kubelet config file \"/etc/kubernetes/kubelet.conf\" was empty";
        return json!({ "stage": "load", "fatal": true, "error": error });
    }
    let version = version(case);
    let decoded = match DecodedConfig::of(&text, version) {
        Ok(decoded) => decoded,
        Err(error) => return json!({ "stage": "load", "fatal": true, "error": error.to_string() }),
    };
    let mut out = judge(case, decoded.document, version);
    if let Some(error) = decoded.strict_error {
        out["strict_error_only_logged"] = error.into();
    }
    out
}

fn judge(case: &Value, mut document: Value, version: KubeletVersion) -> Value {
    resolve_paths(&mut document, FOLDER);
    let config: KubeletConfiguration = match read(&document, Source::Configz, version) {
        Ok(reading) => reading.config,
        Err(errors) => return json!({ "not read": errors[0].to_string() }),
    };
    let set = config.feature_gates.clone().unwrap_or_default();
    let gates = match FeatureGates::for_version(version).with_overrides(&set) {
        Ok(gates) => gates,
        Err(error) => {
            let text = format!(
                "failed to merge global and in-flight KubeletConfiguration while setting defaults, \
                 error: {error}"
            );
            return json!({ "stage": "defaults", "fatal": true, "panic": text });
        }
    };
    let cgroups = match case["cgroup_version"].as_i64() {
        Some(1) => CgroupMode::V1,
        _ => CgroupMode::V2,
    };
    let errors = validate_with_logging(&config, &gates, cgroups, &BTreeSet::new());
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let logging = logging_errors(&config, &gates);
    let error = aggregate(&errors);
    match (logging.as_slice(), errors.is_empty()) {
        ([], true) => json!({ "stage": "ok", "fatal": false, "error": null }),
        ([], false) => json!({
            "stage": "validate", "fatal": true, "error": error, "validation_errors": texts,
        }),
        (logging, _) => {
            let first = match logging {
                [only] => only.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            json!({
                "stage": "logging", "fatal": true, "error": first, "validation_error": error,
                "validation_errors": texts,
            })
        }
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |byte| DIGITS.iter().position(|digit| *digit == byte);
    let digits: Vec<usize> = text.bytes().filter_map(value).collect();
    let bytes = digits.chunks(4).flat_map(|chunk| {
        let bits = chunk.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - chunk.len()));
        [bits >> 16, bits >> 8, bits].into_iter().take(chunk.len() - 1)
    });
    bytes.map(|byte| (byte & 0xff) as u8).collect()
}
