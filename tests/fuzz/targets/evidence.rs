//! Whatever stands in a list of events, in a kubelet's log, in a list of nodes or of PodDisruptionBudgets, reading it ends
//! without a panic, and what is wrong with it is said.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::events::read_events;
use kq_facts::kubelet_log::KubeletLog;
use kq_facts::node_list::read_node_list;
use kq_k8s::disruption_budget::DisruptionBudget;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    match read_events(bytes) {
        Ok(events) => events.iter().for_each(|event| assert!(event.pod.qualified().contains('/'))),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Err(error) = KubeletLog::read(bytes) {
        assert!(!error.to_string().is_empty());
    }
    if let Err(reason) = read_node_list(bytes) {
        assert!(!reason.is_empty());
    }
    if let Err(reason) = DisruptionBudget::read(bytes) {
        assert!(!reason.is_empty());
    }
});
