//! The cgroups of the QoS classes.

use super::{input, kubelet_cgroup};
use kq_cgroup::qos::{QosSums, qos_cgroups};
use kq_cgroup::settings::CgroupSettings;
use kq_facts::cgroup_name::CgroupName;
use kq_facts::kubelet_config::parse_qos_reserved;
use kq_k8s::qos::QosClass;
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let settings = CgroupSettings {
        node_allocatable: input::read(&case["node_allocatable"]),
        ..kubelet_cgroup::settings(case)
    };
    let reserved = match parse_qos_reserved(&input::read(&case["qos_reserved"])) {
        Ok(reserved) => reserved.map(i64::from),
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let mut sums = QosSums::default();
    for pod in case["pods"].as_array().into_iter().flatten() {
        sums.add(&input::pod_defaulted(pod, case), &settings);
    }
    let mut cgroups = qos_cgroups(&sums, reserved, &settings);
    let mut passes = 1;
    if case["kernel_rejects_limit_below_usage"] == true {
        let usage = |class: &str| case["memory_usage_bytes"][class].as_i64();
        passes += i32::from(cgroups.raise_to_usage(usage("burstable"), usage("besteffort")));
    }
    let kubepods = CgroupName::node_allocatable_root(&settings.root, true);
    let describe = |class, config| {
        kubelet_cgroup::cgroup(&CgroupName::qos(&kubepods, class), config, &settings)
    };
    json!({
        "guaranteed": describe(QosClass::Guaranteed, &cgroups.kubepods),
        "burstable": describe(QosClass::Burstable, &cgroups.burstable),
        "besteffort": describe(QosClass::BestEffort, &cgroups.besteffort),
        "update_passes": passes,
    })
}
