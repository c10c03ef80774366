//! What the recorded answers leave out: where a kubelet hangs, what kq does not compute, versions, pods as a whole.

use super::*;
use crate::manager::allocate::in_order;
use crate::objects;
use crate::topology_manager::{
    HintProvider, NotComputed, NumaInfo, NumaNode, TopologyHint, TopologyManager, TopologyPolicy,
};
use kq_facts::checkpoint::cpu_manager::CpuState;
use kq_facts::host::CpuPlace;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::version::KubeletVersion;
use serde_json::json;
use std::collections::BTreeMap;

fn set(text: &str) -> CpuSet {
    text.parse().expect("a list of CPUs")
}

/// A machine with a socket and a cache for each NUMA node; the two threads of a core are neighbours.
fn machine(nodes: i64, cpus_per_node: i64) -> CpuTopology {
    let cpu = |cpu: i64| {
        let node = cpu / cpus_per_node;
        CpuPlace { cpu, core: cpu - cpu % 2, socket: node, numa_node: node, uncore_cache: None }
    };
    CpuTopology::new((0..nodes * cpus_per_node).map(cpu)).expect("a machine")
}

fn options(names: &[&str]) -> BTreeMap<String, String> {
    names.iter().map(|name| ((*name).to_owned(), "true".to_owned())).collect()
}

fn policy(topology: CpuTopology, names: &[&str], reserved: &str) -> StaticPolicy {
    policy_of(KubeletRules::default(), topology, names, reserved)
}

fn policy_of(
    rules: KubeletRules,
    topology: CpuTopology,
    names: &[&str],
    reserved: &str,
) -> StaticPolicy {
    let gates = rules.gates.with(Gate::CpuManagerPolicyAlphaOptions, true);
    let reserved = set(reserved);
    let wanted = i64::try_from(reserved.len()).expect("few");
    let rules = KubeletRules { gates };
    StaticPolicy::new(topology, &options(names), rules, TopologyPolicy::None, (wanted, &reserved))
        .expect("a policy")
}

/// A Guaranteed pod whose containers `c0`, ... have so many CPUs.
fn pod(cpus: &[i64]) -> Pod {
    let container = |(at, cpus): (usize, &i64)| {
        let amounts = json!({"cpu": cpus.to_string(), "memory": "1Mi"});
        json!({"name": format!("c{at}"), "resources": {"limits": amounts, "requests": amounts}})
    };
    objects::pod("p").containers(cpus.iter().enumerate().map(container).collect()).read()
}

fn allocate(policy: &mut StaticPolicy, default: &str, pod: &Pod) -> Vec<Allocated> {
    let mut state = CpuState { default_cpu_set: set(default), ..CpuState::default() };
    in_order(pod).map(|(_, it)| policy.allocate(&mut state, pod, it, None)).collect()
}

fn exclusive(allocated: &Allocated) -> &Exclusive {
    match allocated {
        Ok(Ok(CpuOutcome::Exclusive(got))) => got,
        other => panic!("no exclusive CPUs: {other:?}"),
    }
}

#[test]
fn a_kubelet_that_looks_for_a_free_core_forever_is_named() {
    let names = ["distribute-cpus-across-numa", "full-pcpus-only"];
    let mut policy = policy(machine(4, 8), &names, "0,8,16,24");
    let got = allocate(&mut policy, "0-31", &pod(&[22]));
    assert_eq!(got, [Err(NotComputed::KubeletHangs)]);
}

#[test]
fn many_numa_nodes_end_in_time() {
    let mut policy = policy(machine(64, 4), &["distribute-cpus-across-numa"], "0");
    let got = allocate(&mut policy, "0-255", &pod(&[100]));
    assert_eq!(got, [Err(NotComputed::TooManyCombinations { nodes: 64 })]);
    let state = CpuState { default_cpu_set: set("0-255"), ..CpuState::default() };
    let hints = policy.pod_hints(&state, &pod(&[4]));
    assert_eq!(hints, Err(NotComputed::TooManyNodes { nodes: 64 }));
}

#[test]
fn cpus_that_are_not_free_are_named() {
    // Three cores with 5 CPUs: on average one. A core of two with one busy CPU looks free.
    let cpu = |cpu, core| CpuPlace { cpu, core, socket: 0, numa_node: 0, uncore_cache: None };
    let cpus = [cpu(0, 0), cpu(1, 1), cpu(2, 1), cpu(3, 3), cpu(4, 3)];
    let topology = CpuTopology::new(cpus).expect("a machine");
    let mut policy = policy(topology, &[], "0");
    let mut state = CpuState { default_cpu_set: set("0,2-4"), ..CpuState::default() };
    let other = [("c".to_owned(), set("1"))].into();
    state.containers.insert("other".to_owned(), other);
    let pod = pod(&[2]);
    let got = policy.allocate(&mut state, &pod, &pod.spec.containers[0], None);
    assert_eq!(exclusive(&got).cpus, set("1-2"));
    assert_eq!(exclusive(&got).not_free, set("1"));
}

#[test]
fn parts_of_caches_depend_on_the_version() {
    let cpu = |cpu: i64| {
        let uncore_cache = Some(cpu / 4);
        CpuPlace { cpu, core: cpu - cpu % 2, socket: 0, numa_node: 0, uncore_cache }
    };
    for (minor, expected) in [(32, "2-4"), (33, "2-4"), (34, "4-6")] {
        let rules = KubeletRules::for_version(KubeletVersion::new(1, minor));
        let topology = CpuTopology::new((0..8).map(cpu)).expect("a machine");
        let names = ["prefer-align-cpus-by-uncorecache"];
        let mut policy = policy_of(rules, topology, &names, "0-1");
        let got = allocate(&mut policy, "0-7", &pod(&[3]));
        assert_eq!(exclusive(&got[0]).cpus, set(expected), "1.{minor}");
    }
}

#[test]
fn pods_with_pod_level_resources_depend_on_version_and_gate() {
    let mut pod = pod(&[2]);
    pod.spec.resources = Some(pod.spec.containers[0].resources.clone());
    let first = |version: u32, gate: bool| {
        let gates = FeatureGates::for_version(KubeletVersion::new(1, version));
        let gates = gates.with(Gate::PodLevelResources, true);
        let rules = KubeletRules { gates: gates.with(Gate::PodLevelResourceManagers, gate) };
        let mut policy = policy_of(rules, machine(1, 8), &[], "0");
        allocate(&mut policy, "0-7", &pod).remove(0).expect("computed").expect("admitted")
    };
    let shared = CpuOutcome::Shared(SharedBecause::PodLevelResources);
    for (version, gate, is_shared) in
        [(33, false, false), (34, false, true), (36, false, true), (36, true, false)]
    {
        assert_eq!(first(version, gate) == shared, is_shared, "1.{version} {gate}");
    }
}

#[test]
fn a_pod_as_a_whole_shares_what_its_containers_leave() {
    let gates = FeatureGates::for_version(KubeletVersion::ASSUMED);
    let rules = KubeletRules { gates: gates.with(Gate::PodLevelResourceManagers, true) };
    let two = json!({"cpu": "2", "memory": "1Mi"});
    let four = json!({"cpu": "4", "memory": "1Mi"});
    let pod: Pod = objects::pod("p")
        .set("/spec/resources", json!({"limits": four, "requests": four}))
        .containers(
            json!([{"name": "a", "resources": {"limits": two, "requests": two}}, {"name": "b"}]),
        )
        .read();
    let (options, reserved) = (BTreeMap::new(), set("0"));
    let config = CpuManagerConfig {
        policy: "static",
        options: &options,
        reserved_cpus: &reserved,
        reservation: Some(&"1".parse().expect("a quantity")),
        topology_policy: TopologyPolicy::Restricted,
        rules,
    };
    let mut manager = CpuManager::new(machine(2, 8), &config).expect("a manager");
    assert!(manager.start(None, None, "/k").expect("it starts").is_some());
    let numa = NumaInfo::of_nodes([0, 1]);
    let mut topology =
        TopologyManager::new("restricted", "pod", &options, rules.gates, numa).expect("a manager");
    let providers: &mut [&mut dyn HintProvider] = &mut [&mut manager];
    assert!(topology.admit(&pod, providers).expect("computed").admitted);
    assert_eq!(manager.exclusive("p", "a"), Some(&set("2-3")));
    assert_eq!(manager.exclusive("p", "b"), Some(&set("4-5")), "the rest of the pod's");
    manager.set_active(Some(ActiveContainers::new()));
    manager.remove_stale();
    assert_eq!(manager.state().default_cpu_set, set("0-15"), "all come back");
}

#[test]
fn a_distance_that_a_kubelet_looks_up_by_number_is_missed() {
    let node = |id| NumaNode { id, distances: Some(vec![10, 20]) };
    let numa = NumaInfo::new([node(0), node(2)]);
    let given = options(&["prefer-closest-numa-nodes"]);
    let gates = FeatureGates::for_version(KubeletVersion::ASSUMED);
    let mut topology =
        TopologyManager::new("restricted", "container", &given, gates, numa).expect("a manager");
    let cpu = |cpu: i64| CpuPlace {
        cpu,
        core: cpu,
        socket: 0,
        numa_node: 2 * (cpu / 4),
        uncore_cache: None,
    };
    let (none, reserved) = (BTreeMap::new(), set("0"));
    let config = CpuManagerConfig {
        policy: "static",
        options: &none,
        reserved_cpus: &reserved,
        reservation: Some(&"1".parse().expect("a quantity")),
        topology_policy: TopologyPolicy::Restricted,
        rules: KubeletRules { gates },
    };
    let machine = CpuTopology::new((0..8).map(cpu)).expect("a machine");
    let mut manager = CpuManager::new(machine, &config).expect("a manager");
    manager.start(None, None, "/k").expect("it starts");
    let providers: &mut [&mut dyn HintProvider] = &mut [&mut manager];
    assert_eq!(topology.admit(&pod(&[2]), providers), Err(NotComputed::NoDistance(2)));
    assert_eq!(topology.affinity("p", "c0"), TopologyHint::default(), "nothing is stored");
}
