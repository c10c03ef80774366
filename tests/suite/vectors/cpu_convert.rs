//! Milli-CPU, shares, weight, quota and file texts.

use super::input;
use kq_cgroup::cpu::{
    milli_cpu_to_quota, milli_cpu_to_shares, quota_to_milli_cpu, shares_to_milli_cpu,
    weight_to_shares,
};
use kq_cgroup::files::{CgroupDriver, CgroupVersion, FileValue, cpu_files, memory_files};
use kq_cgroup::settings::CgroupSettings;
use kq_facts::weight_formula::WeightFormula;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub fn answer(case: &Value) -> Value {
    let signed = |field: &str| case[field].as_i64().expect("a signed number");
    let unsigned = |field: &str| case[field].as_u64().expect("an unsigned number");
    match case["op"].as_str().expect("an operation") {
        "milli_cpu_to_shares" => json!({"cpu_shares": milli_cpu_to_shares(signed("milli_cpu"))}),
        "milli_cpu_to_quota" => {
            let gate = case["feature_gates"]["CustomCPUCFSQuotaPeriod"].as_bool().unwrap_or(true);
            let quota_us = milli_cpu_to_quota(signed("milli_cpu"), signed("period_us"), gate);
            json!({"cpu_quota_us": quota_us})
        }
        "shares_to_weight" => json!({
            "cpu_weight_linear": WeightFormula::Linear.weight(unsigned("cpu_shares")),
            "cpu_weight_quadratic": WeightFormula::Quadratic.weight(unsigned("cpu_shares")),
        }),
        "weight_to_shares" => json!({"cpu_shares": weight_to_shares(unsigned("cpu_weight"))}),
        "shares_to_milli_cpu" => json!({"milli_cpu": shares_to_milli_cpu(unsigned("cpu_shares"))}),
        "quota_to_milli_cpu" => match quota_to_milli_cpu(signed("quota_us"), signed("period_us")) {
            Ok(milli_cpu) => json!({"milli_cpu": milli_cpu}),
            Err(error) => json!({"error": error.to_string(), "panic": true}),
        },
        "quota_files" => {
            let mut out = BTreeMap::new();
            for version in [CgroupVersion::V1, CgroupVersion::V2] {
                for driver in [CgroupDriver::Cgroupfs, CgroupDriver::Systemd] {
                    let rules = input::rules(case);
                    let settings = CgroupSettings { rules, driver, ..CgroupSettings::default() };
                    let written = settings.quota_driver();
                    let (quota, period) = (signed("quota_us"), unsigned("period_us"));
                    let files = cpu_files(quota, period, version, written);
                    out.insert(format!("cgroup_v{version}_{driver}"), by_name(files));
                }
            }
            json!(out)
        }
        "memory_files" => json!({
            "cgroup_v1": by_name(memory_files(signed("memory_bytes"), CgroupVersion::V1)),
            "cgroup_v2": by_name(memory_files(signed("memory_bytes"), CgroupVersion::V2)),
        }),
        op => json!({"unknown operation": op}),
    }
}

fn by_name(files: Vec<FileValue>) -> BTreeMap<String, String> {
    files.into_iter().map(|file| (file.file.into_owned(), file.value)).collect()
}
