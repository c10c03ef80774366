//! `memory_manager_state`. A static policy adds up what containers have and does not start where the file
//! says something else (`validateState` in `policy_static.go` of `pkg/kubelet/cm/memorymanager`).

use super::cpu::{describe, unchecked};
use super::damage::Damage;
use super::file::{Findings, StateFileContent, VerifyContext};
use super::report::{Examined, FileVerdict, Held, NextStart, policy_for};
use super::rule::{MemoryContradiction, MemoryRule};
use kq_answer::Basis;
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::memory_manager::{
    MemoryRefusal, MemoryState, MemoryTable, NumaNodeState, load,
};
use std::collections::{BTreeMap, BTreeSet};

/// Checks the file.
pub(super) fn examine(
    file: &StateFileContent<'_>,
    bytes: &[u8],
    known: &VerifyContext<'_>,
    basis: &mut Basis,
) -> Examined {
    let with = |bytes: &[u8], policy| load(bytes, known.pod_level, policy);
    let found = with(bytes, known.memory_policy);
    let of_file = found.shown.as_ref().map(|state| state.policy_name.as_str());
    let (field, policies) = ("memoryManagerPolicy", ["None", "Static"]);
    let policy = policy_for(field, known.memory_policy, of_file, policies, basis);
    let read = |bytes: &[u8]| with(bytes, policy);
    let found = if policy == known.memory_policy { found } else { read(bytes) };
    let mut verdict = FileVerdict::of(file);
    let mut findings = Findings::of(&file.path);
    describe(&mut verdict, &found);
    verdict.policy = found.shown.as_ref().map(|state| state.policy_name.clone());
    match &found.outcome {
        Ok(_) => unchecked(&found, &mut findings),
        Err(refusal) => {
            verdict.refuse(file, StateFile::Memory, &refusal.to_string());
            match refusal {
                MemoryRefusal::Policy { .. } => {}
                MemoryRefusal::Panic { node, memory_type } => {
                    verdict.kubelet_error = Some(refusal.to_string());
                    let place = format!("machineState.{node}.memoryMap.{memory_type}");
                    let (memory_type, node) = (memory_type.clone(), *node);
                    verdict.at_next_start = NextStart::PanicsAtNull { memory_type, node }.into();
                    verdict.damaged(Damage::of_type(&format!("{place} is null")));
                }
                MemoryRefusal::Json(_) | MemoryRefusal::Corrupt => {
                    let is_right = |bytes: &[u8]| {
                        let tried = read(bytes);
                        tried.taken.is_some() && tried.attempts[0].checksum_in_file() != 0
                    };
                    let is_whole = found.attempts.iter().any(|attempt| attempt.error.is_none());
                    let error = (!is_whole).then(|| refusal.to_string());
                    verdict.damaged(Damage::of(StateFile::Memory, bytes, error, is_right));
                }
            }
        }
    }
    let mut held = Held::Nothing;
    if let Some(state) = &found.shown {
        contradictions(state, known, &mut findings);
        if findings.have_error() {
            verdict.not_started_with(None);
        }
        let pods = state.pods.iter().flat_map(|pods| pods.keys());
        let uids: BTreeSet<&String> = state.containers.keys().chain(pods).collect();
        held = Held::Pods(uids.into_iter().cloned().collect());
    }
    Examined::of(verdict, findings, held)
}

/// Finds amounts that do not add up.
fn contradictions(state: &MemoryState, known: &VerifyContext<'_>, findings: &mut Findings<'_>) {
    let policy = known.memory_policy.unwrap_or(&state.policy_name);
    let mut add = |place: String, contradiction| {
        findings.add(place, &MemoryRule { policy, contradiction });
    };
    let nodes: BTreeMap<i64, &NumaNodeState> = state
        .machine_state
        .iter()
        .filter_map(|(number, node)| Some((*number, node.as_ref()?)))
        .collect();
    for (number, node) in &nodes {
        let place = format!("machineState.{number}");
        let tables = node.memory_map.iter().flatten();
        let huge_pages = tables.filter(|(kind, _)| kind.starts_with("hugepages-"));
        let huge_pages = huge_pages.filter_map(|(_, table)| table.as_ref());
        let huge_pages: u128 = huge_pages.map(|table| u128::from(table.total)).sum();
        for (kind, table) in node.memory_map.iter().flatten() {
            let Some(table) = table else { continue };
            let place = format!("{place}.memoryMap.{kind}");
            // Huge pages are taken out of the memory that they are made of.
            let huge_pages = if kind == "memory" { huge_pages } else { 0 };
            let &MemoryTable { total, system_reserved, allocatable, reserved, free } = table;
            let given = u128::from(allocatable) + u128::from(system_reserved) + huge_pages;
            if given != u128::from(total) {
                add(
                    place.clone(),
                    MemoryContradiction::Allocatable {
                        allocatable,
                        total,
                        system_reserved,
                        huge_pages,
                    },
                );
            }
            if reserved.checked_add(free) != Some(allocatable) {
                let sum = MemoryContradiction::ReservedAndFree { reserved, free, allocatable };
                add(place, sum);
            }
        }
        let cells = node.cells.as_deref().unwrap_or_default();
        for &node in cells {
            let cells_of_node =
                nodes.get(&node).map(|node| node.cells.as_deref().unwrap_or_default());
            if cells_of_node != Some(cells) {
                let other = MemoryContradiction::Cells { cells, node, cells_of_node };
                add(format!("{place}.cells"), other);
            }
        }
    }
    sums(state, &nodes, &mut add);
}

/// Holds what is reserved on each group of NUMA nodes against what containers have of it.
fn sums<'s>(
    state: &'s MemoryState,
    nodes: &BTreeMap<i64, &NumaNodeState>,
    add: &mut impl FnMut(String, MemoryContradiction<'s>),
) {
    let mut given: BTreeMap<(Vec<i64>, &str), u128> = BTreeMap::new();
    for (pod, containers) in &state.containers {
        // What a pod has as a whole is not counted again for its containers.
        let is_whole = state.pods.as_ref().is_some_and(|pods| pods.contains_key(pod));
        for (container, blocks) in containers {
            for block in blocks {
                let mut affinity = block.numa_affinity.clone().unwrap_or_default();
                affinity.sort_unstable();
                let place = || format!("entries.{pod}.{container}");
                if let Some(&node) = affinity.iter().find(|node| !nodes.contains_key(node)) {
                    add(place(), MemoryContradiction::UnknownNode { node });
                    return;
                }
                if affinity.is_empty() {
                    let memory_type = &block.memory_type;
                    add(place(), MemoryContradiction::NoNode { memory_type });
                    return;
                }
                if !is_whole {
                    *given.entry((affinity, &block.memory_type)).or_default() +=
                        u128::from(block.size);
                }
            }
        }
    }
    for blocks in state.pods.iter().flatten().filter_map(|(_, blocks)| blocks.as_ref()) {
        for block in blocks {
            let mut affinity = block.numa_affinity.clone().unwrap_or_default();
            affinity.sort_unstable();
            *given.entry((affinity, &block.memory_type)).or_default() += u128::from(block.size);
        }
    }
    let groups: BTreeSet<Vec<i64>> = nodes
        .iter()
        .map(|(number, node)| {
            let mut cells = node.cells.clone().unwrap_or_default();
            cells.sort_unstable();
            if cells.is_empty() { vec![*number] } else { cells }
        })
        .collect();
    for group in groups {
        let mut reserved: BTreeMap<&str, u128> = BTreeMap::new();
        for node in group.iter().filter_map(|number| nodes.get(number)) {
            for (kind, table) in node.memory_map.iter().flatten() {
                let bytes = table.as_ref().map_or(0, |table| u128::from(table.reserved));
                *reserved.entry(kind).or_default() += bytes;
            }
        }
        for (kind, reserved) in reserved {
            // A group that has grown holds what its members were given alone as well.
            let within = given.iter().filter(|((nodes, of), _)| {
                *of == kind && nodes.iter().all(|node| group.contains(node))
            });
            let given: u128 = within.map(|(_, bytes)| bytes).sum();
            if given != reserved {
                let nodes: Vec<String> = group.iter().map(ToString::to_string).collect();
                let place = format!("machineState.{}.memoryMap.{kind}", nodes.join(","));
                add(place, MemoryContradiction::Sum { reserved, given });
            }
        }
    }
}
