//! `memory_manager_state`

use super::{judge, places, told};
use crate::verify::{Verdict, VerifyContext};
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::memory_manager::{
    Block, MemoryState, MemoryTable, NumaNodeState, encode,
};
use serde_json::json;
use std::collections::BTreeMap;

/// A machine with two NUMA nodes of 100 bytes, 10 for the system; a container has 30 of the first.
fn sound() -> MemoryState {
    let node = |cell: i64, reserved: u64| {
        let table = MemoryTable {
            total: 100,
            system_reserved: 10,
            allocatable: 90,
            reserved,
            free: 90 - reserved,
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

fn table(state: &mut MemoryState) -> &mut MemoryTable {
    let node = state.machine_state.get_mut(&0).and_then(Option::as_mut).expect("a node");
    let map = node.memory_map.as_mut().expect("a map");
    map.get_mut("memory").and_then(Option::as_mut).expect("memory")
}

/// Makes 20 bytes of the first node huge pages, which are no part of its memory then.
fn with_huge_pages(state: &mut MemoryState) {
    let pages =
        MemoryTable { total: 20, system_reserved: 0, allocatable: 20, reserved: 0, free: 20 };
    (table(state).allocatable, table(state).free) = (70, 40);
    let node = state.machine_state.get_mut(&0).and_then(Option::as_mut).expect("a node");
    let map = node.memory_map.as_mut().expect("a map");
    map.insert("hugepages-2Mi".to_owned(), Some(pages));
}

fn blocks(state: &mut MemoryState) -> &mut Vec<Block> {
    state.containers.get_mut("p").and_then(|pod| pod.get_mut("c")).expect("a container")
}

#[test]
fn amounts_must_add_up() {
    type Change = fn(&mut MemoryState);
    let rows: [(&str, Change, &[&str]); 10] = [
        ("sound", |_| {}, &[]),
        ("huge pages", with_huge_pages, &[]),
        (
            "huge pages that were forgotten",
            |it| {
                with_huge_pages(it);
                (table(it).allocatable, table(it).free) = (90, 60);
            },
            &[
                "machineState.0.memoryMap.memory: allocatable 90 is not total 100 - systemReserved 10 - \
               huge pages 20",
            ],
        ),
        (
            "total",
            |it| table(it).total = 101,
            &[
                "machineState.0.memoryMap.memory: allocatable 90 is not total 101 - systemReserved 10",
            ],
        ),
        (
            "more for the system than there is",
            |it| table(it).system_reserved = 200,
            &[
                "machineState.0.memoryMap.memory: allocatable 90 is not total 100 - systemReserved 200",
            ],
        ),
        (
            "free",
            |it| table(it).free = u64::MAX,
            &["machineState.0.memoryMap.memory: reserved 30 + free 18446744073709551615 is not \
               allocatable 90"],
        ),
        (
            "a container",
            |it| blocks(it)[0].size = 40,
            &["machineState.0.memoryMap.memory: 30 are reserved, and containers have 40 of them"],
        ),
        (
            "no NUMA node",
            |it| blocks(it)[0].numa_affinity = None,
            &["entries.p.c: has memory of no NUMA node"],
        ),
        (
            "an unknown NUMA node",
            |it| blocks(it)[0].numa_affinity = Some(vec![0, 7]),
            &["entries.p.c: has memory of NUMA node 7, which is not there"],
        ),
        (
            "cells",
            |it| {
                let node = it.machine_state.get_mut(&1).and_then(Option::as_mut);
                node.expect("a node").cells = Some(vec![1, 2]);
            },
            &["machineState.1.cells: names NUMA node 2, which is not in machineState"],
        ),
    ];
    for (name, change, expected) in rows {
        let mut state = sound();
        change(&mut state);
        let mut bytes = encode(&state).text;
        let answer = judge(StateFile::Memory, bytes.as_bytes(), &VerifyContext::default());
        assert_eq!(places(&answer), expected, "{name}");
        let verdict = if expected.is_empty() { Verdict::Ok } else { Verdict::Refused };
        assert_eq!(answer.files[0].verdict, verdict, "{name}");
        let severe = answer.findings.iter().all(|it| it.severity.to_string() == "ERROR");
        assert!(severe, "{name}: {:?}", answer.findings);
        // With another checksum nothing of it is certain.
        bytes = bytes.replace("\"checksum\":", "\"checksum\":1");
        let answer = judge(StateFile::Memory, bytes.as_bytes(), &VerifyContext::default());
        assert_eq!(places(&answer), expected, "{name}");
        let light = answer.findings.iter().all(|it| it.severity.to_string() == "INFO");
        assert!(light, "{name}: {:?}", answer.findings);
    }
}

#[test]
fn a_sum_of_more_than_64_bits_is_told() {
    let mut state = sound();
    let block = Block { size: u64::MAX, ..blocks(&mut state)[0].clone() };
    blocks(&mut state).push(block);
    let bytes = encode(&state).text;
    let answer = judge(StateFile::Memory, bytes.as_bytes(), &VerifyContext::default());
    let [finding] = &answer.findings[..] else { panic!("{:?}", answer.findings) };
    let facts = json!({ "policy": "Static", "reserved": 30, "given": "18446744073709551645" });
    assert_eq!((&*finding.id, json!(finding.facts)), ("sum", facts));
}

#[test]
fn what_the_kubelet_takes() {
    let sound = encode(&sound()).text;
    let null = r#"{"policyName":"Static","machineState":{"0":{"memoryMap":{"memory":null}}}}"#;
    for (text, memory_policy, expected) in [
        (sound.as_str(), None, "OK"),
        (sound.as_str(), Some("Static"), "OK"),
        (sound.as_str(), Some("None"), "REFUSED"),
        (r#"{"policyName":"None"}"#, None, "OK, WARNING no-checksum"),
        ("{}", None, "REFUSED"),
        ("null", None, "REFUSED"),
        (null, None, "REFUSED"),
    ] {
        let known = VerifyContext { memory_policy, ..VerifyContext::default() };
        let answer = judge(StateFile::Memory, text.as_bytes(), &known);
        assert_eq!(told(&answer), expected, "{text}");
        let damage = answer.files[0].damage.as_ref().map(ToString::to_string).unwrap_or_default();
        let is_null = damage.ends_with("machineState.0.memoryMap.memory is null");
        assert_eq!(is_null, text == null, "{text}: {damage}");
    }
}
