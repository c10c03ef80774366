//! Whatever the bytes, loading them ends without a panic, every pod that is returned is valid, and
//! defaults, QoS class and totals can be had of it.
#![cfg_attr(fuzzing, no_main)]

use kq_k8s::defaults::apply_api_defaults;
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::qos::{computed_qos_class, effective_qos_class};
use kq_k8s::resources::{ResourceOptions, Side, pod_total};
use kq_k8s::version::KubeletVersion;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let loaded = kq_k8s::manifest::load("fuzz", bytes);
    for problem in &loaded.problems {
        assert!(!problem.to_string().is_empty());
    }
    for note in &loaded.notes {
        assert!(!note.to_string().is_empty());
    }
    for loaded in loaded.pods {
        assert!(!loaded.pod.metadata.namespace.is_empty());
        assert!(!loaded.pod.metadata.uid.contains(['/', '_']));
        if loaded.source.workload.is_none() {
            assert_eq!(kq_k8s::validation::validate(&loaded.pod), []);
        }
        for version in [KubeletVersion::OLDEST, KubeletVersion::NEWEST] {
            add_up(Pod::clone(&loaded.pod), &KubeletRules::for_version(version));
        }
    }
});

fn add_up(mut pod: Pod, rules: &KubeletRules) {
    apply_api_defaults(&mut pod, rules);
    let once = pod.clone();
    apply_api_defaults(&mut pod, rules);
    assert_eq!(pod, once);
    effective_qos_class(&pod, rules.gates);
    computed_qos_class(&pod, FeatureGates::for_version(KubeletVersion::OLDEST));
    let with_status = ResourceOptions {
        use_status_resources: true,
        in_place_pod_level_resources_vertical_scaling: true,
        use_dra_node_allocatable_resource_claim_status: true,
        skip_pod_level_hugepages: !rules.pod_level_hugepages(),
        ..ResourceOptions::default()
    };
    for options in [ResourceOptions::default(), with_status] {
        for side in [Side::Requests, Side::Limits] {
            for (_, amount) in pod_total(&pod, side, &options).total.iter() {
                assert!(!amount.to_string().is_empty());
            }
        }
    }
}
