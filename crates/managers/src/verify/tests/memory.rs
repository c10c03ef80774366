//! `memory_manager_state`

use super::{judge, places, told};
use crate::memory_manager::KnownMemory;
use crate::verify::{Verdict, Verification, VerifyContext};
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::memory_manager::{
    Block, MemoryState, MemoryTable, NumaNodeState, encode,
};
use kq_facts::kubelet_config::MemoryReservation;
use std::collections::BTreeMap;

const TOTAL: u64 = 8 << 20;

/// Two huge pages.
const PAGES: u64 = 4 << 20;

/// A machine with two NUMA nodes of 8 MiB, 10 bytes for the system; a container has 30 bytes of the first.
fn sound() -> MemoryState {
    let node = |cell: i64, reserved: u64| {
        let table = MemoryTable {
            total: TOTAL,
            system_reserved: 10,
            allocatable: TOTAL - 10,
            reserved,
            free: TOTAL - 10 - reserved,
        };
        NumaNodeState {
            number_of_assignments: i64::from(reserved > 0),
            memory_map: Some(BTreeMap::from([("memory".to_owned(), Some(table))])),
            cells: Some(vec![cell]),
        }
    };
    let block = Block { numa_affinity: Some(vec![0]), memory_type: "memory".to_owned(), size: 30 };
    MemoryState {
        policy_name: "Static".to_owned(),
        machine_state: BTreeMap::from([(0, Some(node(0, 30))), (1, Some(node(1, 0)))]),
        containers: BTreeMap::from([(
            "p".to_owned(),
            BTreeMap::from([("c".to_owned(), vec![block])]),
        )]),
        pods: None,
    }
}

fn node(state: &mut MemoryState, id: i64) -> &mut NumaNodeState {
    state.machine_state.get_mut(&id).and_then(Option::as_mut).expect("a node")
}

fn table(state: &mut MemoryState) -> &mut MemoryTable {
    let map = node(state, 0).memory_map.as_mut().expect("a map");
    map.get_mut("memory").and_then(Option::as_mut).expect("memory")
}

/// Makes two huge pages of the first node's memory, which are no part of it then.
fn with_huge_pages(state: &mut MemoryState) {
    let pages = MemoryTable {
        total: PAGES,
        system_reserved: 0,
        allocatable: PAGES,
        reserved: 0,
        free: PAGES,
    };
    (table(state).allocatable, table(state).free) = (TOTAL - 10 - PAGES, TOTAL - 40 - PAGES);
    let map = node(state, 0).memory_map.as_mut().expect("a map");
    map.insert("hugepages-2Mi".to_owned(), Some(pages));
}

fn blocks(state: &mut MemoryState) -> &mut Vec<Block> {
    state.containers.get_mut("p").and_then(|pod| pod.get_mut("c")).expect("a container")
}

/// Judges a state.
fn judged(state: &MemoryState, known: &VerifyContext<'_>) -> Verification {
    judge(StateFile::Memory, encode(state).text.as_bytes(), known)
}

#[test]
fn a_state_is_judged_as_the_static_policy_does() {
    type Change = fn(&mut MemoryState);
    let rows: [(&str, Change, &[&str]); 12] = [
        ("sound", |_| {}, &[]),
        ("huge pages", with_huge_pages, &[]),
        (
            "huge pages that were forgotten",
            |it| {
                with_huge_pages(it);
                (table(it).allocatable, table(it).free) = (TOTAL - 10, TOTAL - 40);
            },
            &[
                "machineState.0.memoryMap.memory: allocatable is 8388598, and total - systemReserved - \
               huge pages is 4194294",
            ],
        ),
        (
            "total",
            |it| table(it).total += 1,
            &[
                "machineState.0.memoryMap.memory: allocatable is 8388598, and total - systemReserved - \
               huge pages is 8388599",
            ],
        ),
        (
            "free",
            |it| table(it).free = u64::MAX,
            &[
                "machineState.0.memoryMap.memory: free adds up to 18446744073709551615 in its group, \
               and by the allocations to 8388568",
            ],
        ),
        (
            "a container",
            |it| blocks(it)[0].size = 40,
            &["machineState.0.memoryMap.memory: free adds up to 8388568 in its group, and by the \
               allocations to 8388558"],
        ),
        (
            "no NUMA node",
            |it| blocks(it)[0].numa_affinity = None,
            &["machineState.0.numberOfAssignments: is 1, and containers have 0 blocks of it"],
        ),
        (
            "an unknown NUMA node",
            |it| blocks(it)[0].numa_affinity = Some(vec![0, 7]),
            &["entries.p.c: has memory of a NUMA node that is not there"],
        ),
        (
            "cells",
            |it| node(it, 1).cells = Some(vec![1, 2]),
            &["machineState.1.cells: is [1, 2], and by the allocations it is [1]"],
        ),
        (
            "a type that no machine has",
            |it| {
                let map = node(it, 1).memory_map.as_mut().expect("a map");
                map.insert("hugepages-0".to_owned(), Some(MemoryTable::default()));
            },
            &["machineState.1.memoryMap: has 2 types of memory, and the machine has 1"],
        ),
        (
            "entries alone",
            |it| it.machine_state.clear(),
            &["machineState: is empty, and there are entries"],
        ),
        (
            "no NUMA node at all",
            |it| {
                it.machine_state.insert(1, None);
            },
            &[
                "machineState: the kubelet crashes: NUMA node 1 is not in the machine state (runtime \
               error: invalid memory address or nil pointer dereference)",
            ],
        ),
    ];
    for (name, change, expected) in rows {
        let mut state = sound();
        change(&mut state);
        let answer = judged(&state, &VerifyContext::default());
        assert_eq!(places(&answer), expected, "{name}");
        let verdict = if expected.is_empty() { Verdict::Ok } else { Verdict::Refused };
        assert_eq!(answer.files[0].verdict, verdict, "{name}");
        let severe = answer.findings.iter().all(|it| it.severity.to_string() == "ERROR");
        assert!(severe, "{name}: {:?}", answer.findings);
        // With another checksum nothing of it is certain.
        let bytes = encode(&state).text.replace("\"checksum\":", "\"checksum\":1");
        let answer = judge(StateFile::Memory, bytes.as_bytes(), &VerifyContext::default());
        assert_eq!(places(&answer), expected, "{name}");
        let light = answer.findings.iter().all(|it| it.severity.to_string() == "INFO");
        assert!(light, "{name}: {:?}", answer.findings);
    }
}

#[test]
fn the_machine_and_the_configuration_count_where_they_are_known() {
    let memory = |second: i64| Some(BTreeMap::from([(0, TOTAL.cast_signed()), (1, second)]));
    let pages = || Some(BTreeMap::new());
    let reserved = |bytes: &str| MemoryReservation {
        numa_node: 0,
        limits: [("memory".to_owned(), bytes.parse().expect("an amount"))].into(),
    };
    let second = MemoryReservation { numa_node: 1, ..reserved("10") };
    let rows = [
        ("the same", memory(8 << 20), pages(), None, ""),
        (
            "memory is gone",
            memory(4 << 20),
            pages(),
            None,
            "total is 8388608, and the machine has 4194304",
        ),
        (
            "a NUMA node is gone",
            Some(BTreeMap::from([(0, 8 << 20)])),
            pages(),
            None,
            "has 2 NUMA nodes, and the machine has 1",
        ),
        (
            "huge pages are new",
            memory(8 << 20),
            Some(BTreeMap::from([(1, BTreeMap::from([(2048, 0)]))])),
            None,
            "has 1 types of memory, and the machine has 2",
        ),
        (
            "the same is reserved",
            memory(8 << 20),
            pages(),
            Some(vec![reserved("10"), second.clone()]),
            "",
        ),
        (
            "more is reserved",
            memory(8 << 20),
            pages(),
            Some(vec![reserved("20"), second]),
            "systemReserved is 10, and reservedMemory is 20",
        ),
    ];
    for (name, numa_memory, huge_pages, reserved_memory, expected) in rows {
        let memory = KnownMemory { numa_memory, huge_pages, reserved_memory };
        let answer = judged(&sound(), &VerifyContext { memory, ..VerifyContext::default() });
        let found =
            answer.findings.iter().map(|it| it.found.as_str()).collect::<Vec<_>>().join("; ");
        assert_eq!(found, expected, "{name}");
        let error = answer.files[0].kubelet_error.as_deref();
        let refusal = "[memorymanager] the expected machine state is different from the real one";
        assert_eq!(error, (!expected.is_empty()).then_some(refusal), "{name}");
    }
}

#[test]
fn allocations_of_several_groups_leave_the_start_open() {
    let mut state = sound();
    // A container has both NUMA nodes, and another one the first alone.
    let both = Block { numa_affinity: Some(vec![0, 1]), ..blocks(&mut state)[0].clone() };
    state.containers.insert("q".to_owned(), [("c".to_owned(), vec![both])].into());
    node(&mut state, 0).number_of_assignments = 2;
    node(&mut state, 0).cells = Some(vec![0, 1]);
    (table(&mut state).reserved, table(&mut state).free) = (60, TOTAL - 70);
    node(&mut state, 1).number_of_assignments = 1;
    node(&mut state, 1).cells = Some(vec![0, 1]);
    let answer = judged(&state, &VerifyContext::default());
    assert_eq!(told(&answer), "UNKNOWN, WARNING order");
    // No order makes this group.
    node(&mut state, 0).cells = Some(vec![0, 7]);
    let answer = judged(&state, &VerifyContext::default());
    assert_eq!(told(&answer), "REFUSED, ERROR cells");
}
