//! `memory_manager_state`. The static policy adds up the machine and what containers have, and does not start where the file
//! says something else ([`crate::memory_manager`]).

use super::cpu::{describe, unchecked};
use super::damage::Damage;
use super::file::{Findings, StateFileContent, VerifyContext};
use super::layouts;
use super::report::{Examined, FileVerdict, Held, NextStart, Verdict, policy_for};
use super::rule::MemoryRule;
use crate::memory_manager::{MemoryJudgement, MemoryStartError};
use kq_answer::Basis;
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::layout::KnownLayouts;
use kq_facts::checkpoint::memory_manager::{MemoryRefusal, MemoryState, load};
use std::collections::BTreeSet;

/// Checks the file.
pub(super) fn examine(
    file: &StateFileContent<'_>,
    bytes: &[u8],
    known: &VerifyContext<'_>,
    basis: &mut Basis,
) -> Examined {
    let with = |bytes: &[u8], policy| load(bytes, known.layouts, policy);
    let found = with(bytes, known.memory_policy);
    let of_file = found.shown.as_ref().map(|state| state.policy_name.as_str());
    let (field, policies) = ("memoryManagerPolicy", ["None", "Static"]);
    let of_basis = (known.is_of_machine, basis);
    let policy = policy_for(field, known.memory_policy, of_file, policies, of_basis);
    let read = |bytes: &[u8]| with(bytes, policy);
    let found = if policy == known.memory_policy { found } else { read(bytes) };
    let refused = found.outcome.as_ref().err().filter(|_| !known.layouts.has_pods());
    let with_gate = refused.and_then(|_| load(bytes, KnownLayouts::WithPods, policy).signed());
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
                MemoryRefusal::Json(_) | MemoryRefusal::Corrupt if layouts::is_newer(bytes) => {
                    layouts::newer(&mut verdict, known);
                }
                MemoryRefusal::Json(_) | MemoryRefusal::Corrupt if with_gate.is_some() => {
                    layouts::written_with_gate(&mut verdict, with_gate, known);
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
        judge(state, known, &mut verdict, &mut findings);
        let pods = state.pods.iter().flat_map(|pods| pods.keys());
        let uids: BTreeSet<&String> = state.containers.keys().chain(pods).collect();
        held = Held::Pods(uids.into_iter().cloned().collect());
    }
    Examined::of(verdict, findings, held)
}

/// Judges the state as the static policy does when it starts.
fn judge(
    state: &MemoryState,
    known: &VerifyContext<'_>,
    verdict: &mut FileVerdict,
    findings: &mut Findings<'_>,
) {
    let policy = known.memory_policy.unwrap_or(&state.policy_name);
    if policy != "Static" {
        return;
    }
    let MemoryJudgement { result, depends_on_order } = known.memory.judge(state);
    if depends_on_order {
        findings.add("entries", &MemoryRule::Order);
        if verdict.verdict == Verdict::Ok {
            verdict.verdict = Verdict::Unknown;
            verdict.at_next_start = NextStart::DependsOnOrder.into();
        }
        return;
    }
    let Err(error) = result else {
        if known.is_of_machine && !known.memory.has_machine() {
            verdict.depends_on("the NUMA nodes of the machine");
        }
        return;
    };
    match &error {
        MemoryStartError::Differs { differences, .. } => {
            for difference in differences {
                let (place, rule) = MemoryRule::of(difference);
                findings.add(place, &rule);
            }
        }
        MemoryStartError::NoMachineState => {
            findings.add("machineState", &MemoryRule::NoMachineState);
        }
        MemoryStartError::Assignment { pod, container, problem } => {
            let place = match container.as_str() {
                "" => format!("podEntries.{pod}"),
                container => format!("entries.{pod}.{container}"),
            };
            findings.add(place, &MemoryRule::of_block(*problem));
        }
        MemoryStartError::Crash(crash) => {
            findings.add("machineState", &MemoryRule::Panic { reason: crash.to_string() });
        }
        // The file was read.
        MemoryStartError::File(_) => {}
    }
    let is_crash = error.panic_text().is_some();
    let text = error.panic_text().map_or_else(|| error.to_string(), str::to_owned);
    let is_first = verdict.verdict == Verdict::Ok;
    verdict.not_started_with(Some(text));
    if is_crash && is_first {
        verdict.at_next_start = NextStart::Panics.into();
    }
}
