//! `memory_manager_state`. A static policy adds up what containers have and does not start where the file
//! says something else (`validateState` in `policy_static.go` of `pkg/kubelet/cm/memorymanager`).

use super::cpu::describe;
use super::damage::Damage;
use super::file::{StateFileContent, VerifyContext};
use super::finding::{DELETE, Findings};
use super::report::{Examined, FileVerdict, Held, policy_for};
use crate::answer::Basis;
use crate::answer::Severity;
use crate::facts::checkpoint::StateFile;
use crate::facts::checkpoint::memory_manager::{MemoryRefusal, MemoryState, NumaNodeState, load};
use std::collections::{BTreeMap, BTreeSet};

/// Looks at the file.
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
        Ok(_) => {
            if found.taken().is_some_and(|attempt| attempt.checksum_in_file() == 0) {
                findings.add(
                    Severity::Warning,
                    "no-checksum",
                    "checksum",
                    "is 0 or not there",
                    "the kubelet takes the file unchecked; it never writes such a file itself",
                );
                findings.advise("ask who wrote the file");
            }
        }
        Err(refusal) => {
            verdict.refuse(file, StateFile::Memory, &refusal.to_string());
            match refusal {
                MemoryRefusal::Policy { .. } => {}
                MemoryRefusal::Panic { node, memory_type } => {
                    verdict.kubelet_error = Some(refusal.to_string());
                    verdict.at_next_start = format!(
                        "does not start: it panics, because {memory_type} of NUMA node {node} is null"
                    );
                    let place = format!("machineState.{node}.memoryMap.{memory_type}");
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
    let (severity, why) = match policy {
        "Static" => (
            Severity::Error,
            "the static policy adds up what containers have when it starts, and does not start \
             with anything else",
        ),
        _ => (Severity::Warning, "nobody uses these amounts with this policy"),
    };
    let mut add = |id, place: String, found: String| {
        findings.add(severity, id, place, found, why);
        findings.advise(DELETE);
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
        let huge_pages: i128 = huge_pages.map(|table| i128::from(table.total)).sum();
        for (kind, table) in node.memory_map.iter().flatten() {
            let Some(table) = table else { continue };
            let place = format!("{place}.memoryMap.{kind}");
            // Huge pages are taken out of the memory that they are made of.
            let (pages, less) = match &**kind {
                "memory" if huge_pages > 0 => (huge_pages, format!(" - huge pages {huge_pages}")),
                _ => (0, String::new()),
            };
            let left = i128::from(table.total) - i128::from(table.system_reserved) - pages;
            if i128::from(table.allocatable) != left {
                let found = format!(
                    "allocatable {} is not total {} - systemReserved {}{less}",
                    table.allocatable, table.total, table.system_reserved
                );
                add("allocatable", place.clone(), found);
            }
            if table.reserved.checked_add(table.free) != Some(table.allocatable) {
                let found = format!(
                    "reserved {} + free {} is not allocatable {}",
                    table.reserved, table.free, table.allocatable
                );
                add("reserved-and-free", place, found);
            }
        }
        let cells = node.cells.as_deref().unwrap_or_default();
        for cell in cells {
            let other = nodes.get(cell).map(|node| node.cells.as_deref().unwrap_or_default());
            if other != Some(cells) {
                let found = match other {
                    None => format!("names NUMA node {cell}, which is not in machineState"),
                    Some(other) => format!("is {cells:?}, and that of NUMA node {cell} {other:?}"),
                };
                add("cells", format!("{place}.cells"), found);
            }
        }
    }
    sums(state, &nodes, &mut add);
}

/// Holds what is reserved on each group of NUMA nodes against what containers have of it.
fn sums(
    state: &MemoryState,
    nodes: &BTreeMap<i64, &NumaNodeState>,
    add: &mut impl FnMut(&'static str, String, String),
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
                if let Some(stranger) = affinity.iter().find(|node| !nodes.contains_key(node)) {
                    let found = format!("has memory of NUMA node {stranger}, which is not there");
                    add("unknown-node", place(), found);
                    return;
                }
                if affinity.is_empty() {
                    add("no-node", place(), format!("has {} of no NUMA node", block.memory_type));
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
                let found = format!("{reserved} are reserved, and containers have {given} of them");
                let nodes: Vec<String> = group.iter().map(ToString::to_string).collect();
                add("sum", format!("machineState.{}.memoryMap.{kind}", nodes.join(",")), found);
            }
        }
    }
}
