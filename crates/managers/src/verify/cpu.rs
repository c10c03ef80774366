//! `cpu_manager_state`. What the static policy does not start with is `validateState` in
//! `policy_static.go` of `pkg/kubelet/cm/cpumanager`.

use super::damage::Damage;
use super::file::{Findings, StateFileContent, VerifyContext};
use super::layouts;
use super::report::{Examined, FileVerdict, Held, NextStart, Verdict, policy_for};
use super::rule::{CpuContradiction, CpuRule, StateFileRule};
use kq_answer::Basis;
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::cpu_manager::{CpuRefusal, CpuState, load};
use kq_facts::checkpoint::layout::{KnownLayouts, Layered, Load};
use kq_k8s::cpuset::CpuSet;
use std::collections::{BTreeMap, BTreeSet};

/// Checks the file.
pub(super) fn examine(
    file: &StateFileContent<'_>,
    bytes: &[u8],
    known: &VerifyContext<'_>,
    basis: &mut Basis,
) -> Examined {
    let with = |bytes: &[u8], policy| load(bytes, known.layouts, policy, known.containers.as_ref());
    let found = with(bytes, known.cpu_policy);
    let of_file = found.shown.as_ref().map(|state| state.policy_name.as_str());
    let (field, policies) = ("cpuManagerPolicy", ["none", "static"]);
    let of_basis = (known.is_of_machine, basis);
    let policy = policy_for(field, known.cpu_policy, of_file, policies, of_basis);
    let read = |bytes: &[u8]| with(bytes, policy);
    let found = if policy == known.cpu_policy { found } else { read(bytes) };
    let with_gate = || load(bytes, KnownLayouts::WithPods, policy, known.containers.as_ref());
    let with_gate = found
        .outcome
        .as_ref()
        .err()
        .filter(|_| !known.layouts.has_pods())
        .and_then(|_| with_gate().signed());
    let mut verdict = FileVerdict::of(file);
    let mut findings = Findings::of(&file.path);
    describe(&mut verdict, &found);
    verdict.policy = found.shown.as_ref().map(|state| state.policy_name.clone());
    match &found.outcome {
        Ok(_) => unchecked(&found, &mut findings),
        Err(CpuRefusal::ContainersNotKnown) => {
            verdict.verdict = Verdict::Unknown;
            verdict.at_next_start = NextStart::DependsOnContainers.into();
        }
        Err(refusal) => {
            verdict.refuse(file, StateFile::Cpu, &refusal.to_string());
            match refusal {
                CpuRefusal::Policy { .. }
                | CpuRefusal::UnknownContainer { .. }
                | CpuRefusal::ContainersNotKnown => {}
                CpuRefusal::Json(_) | CpuRefusal::Corrupt if layouts::is_newer(bytes) => {
                    layouts::newer(&mut verdict, known);
                }
                CpuRefusal::Json(_) | CpuRefusal::Corrupt if with_gate.is_some() => {
                    layouts::written_with_gate(&mut verdict, with_gate, known);
                }
                CpuRefusal::Json(_) | CpuRefusal::Corrupt => {
                    let is_right = |bytes: &[u8]| {
                        // 0 is accepted unchecked, and so proves nothing.
                        let tried = read(bytes);
                        tried.taken.is_some() && tried.attempts[0].checksum_in_file() != 0
                    };
                    let is_whole = found.attempts.iter().any(|attempt| attempt.error.is_none());
                    let error = (!is_whole).then(|| refusal.to_string());
                    verdict.damaged(Damage::of(StateFile::Cpu, bytes, error, is_right));
                }
                CpuRefusal::Default { .. } | CpuRefusal::Container { .. } => {
                    verdict.damaged(Damage::of_type(&refusal.to_string()));
                }
            }
        }
    }
    let mut held = Held::Nothing;
    if let Some(state) = &found.shown {
        contradictions(state, known, &mut verdict, &mut findings);
        let pods = state.pods.iter().flat_map(|pods| pods.keys());
        let uids: BTreeSet<&String> = state.containers.keys().chain(pods).collect();
        held = Held::Pods(uids.into_iter().cloned().collect());
    }
    Examined::of(verdict, findings, held)
}

/// Reports the checksums, layout by layout.
pub(super) fn describe<C: Layered, S, E>(verdict: &mut FileVerdict, found: &Load<C, S, E>) {
    let whole = found.attempts.iter().find(|attempt| attempt.error.is_none());
    if let Some(attempt) = found.taken().or(whole) {
        verdict.layout = Some(attempt.layout.to_string());
        verdict.checksum_in_file = Some(attempt.checksum_in_file());
        verdict.checksum_computed = Some(attempt.checksum_computed);
    }
    for attempt in &found.attempts {
        let layout = attempt.layout;
        let (said, has) = (attempt.checksum_in_file(), attempt.checksum_computed);
        verdict.derivation.push(match &attempt.error {
            Some(error) => format!("read as {layout}: {error}"),
            None => format!(
                "read as {layout}: checksum {has} of {}, file says {said}: {}",
                beginning(&attempt.pre_image()),
                if attempt.is_accepted() { "accepted" } else { "not accepted" }
            ),
        });
        if Some(layout) == found.taken {
            break;
        }
    }
}

/// Returns the beginning of a long text.
pub(super) fn beginning(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Reports that a file without a checksum is not checked.
pub(super) fn unchecked<C: Layered, S, E>(found: &Load<C, S, E>, findings: &mut Findings<'_>) {
    if found.taken().is_some_and(|attempt| attempt.checksum_in_file() == 0) {
        findings.add("checksum", &StateFileRule::NoChecksum);
    }
}

/// Finds what contradicts itself or the machine.
fn contradictions(
    state: &CpuState,
    known: &VerifyContext<'_>,
    verdict: &mut FileVerdict,
    findings: &mut Findings<'_>,
) {
    let policy = known.cpu_policy.unwrap_or(&state.policy_name);
    let mut add = |place: String, contradiction| {
        let rule = CpuRule { policy, contradiction };
        findings.add(place, &rule);
        if let Some(error) = rule.kubelet_error() {
            verdict.not_started_with(Some(error));
        }
    };
    let default = &state.default_cpu_set;
    let common = |a: &CpuSet, b: &CpuSet| -> CpuSet {
        let other: BTreeSet<i64> = b.iter().collect();
        a.iter().filter(|cpu| other.contains(cpu)).collect()
    };
    let entries: Vec<(&String, &String, &CpuSet)> = state
        .containers
        .iter()
        .flat_map(|(pod, containers)| containers.iter().map(move |(name, cpus)| (pod, name, cpus)))
        .collect();
    if default.is_empty() && !entries.is_empty() {
        add("defaultCpuSet".to_owned(), CpuContradiction::EmptyDefault);
    }
    for (pod, container, cpus) in &entries {
        let place = format!("entries.{pod}.{container}");
        let shared = common(cpus, default);
        if !shared.is_empty() {
            let default_cpu_set = default;
            add(
                place.clone(),
                CpuContradiction::SharedCpus { pod, container, cpus, shared, default_cpu_set },
            );
        }
        if cpus.is_empty() {
            add(place, CpuContradiction::NoCpus);
        }
    }
    for double in between_pods(state) {
        add("entries".to_owned(), double);
    }
    if policy == "static"
        && let Some(other) = machine(state, known)
    {
        add("defaultCpuSet, entries".to_owned(), other);
    }
    if policy == "static" && known.is_of_machine {
        match () {
            () if known.cpus.is_none() => verdict.depends_on("the CPUs of the machine"),
            () if !known.knows_reserved_cpus => verdict.depends_on("the cores of the machine"),
            () => {}
        }
    }
}

/// Finds CPUs that two pods have. Containers of one pod share: an init container leaves its CPUs to those
/// after it, and a pod that has CPUs as a whole gives them to its containers.
fn between_pods(state: &CpuState) -> impl Iterator<Item = CpuContradiction<'_>> {
    let mut owners: BTreeMap<i64, BTreeSet<&str>> = BTreeMap::new();
    for (pod, containers) in &state.containers {
        for cpu in containers.values().flat_map(CpuSet::iter) {
            owners.entry(cpu).or_default().insert(pod);
        }
    }
    for (pod, cpus) in state.pods.iter().flatten() {
        for cpu in cpus.iter() {
            owners.entry(cpu).or_default().insert(pod);
        }
    }
    let mut conflicts: BTreeMap<Vec<&str>, Vec<i64>> = BTreeMap::new();
    for (cpu, pods) in owners {
        if pods.len() > 1 {
            conflicts.entry(pods.into_iter().collect()).or_default().push(cpu);
        }
    }
    conflicts
        .into_iter()
        .map(|(pods, cpus)| CpuContradiction::DoubleCpus { cpus: cpus.into_iter().collect(), pods })
}

/// Holds the CPUs of the file against those of the machine.
fn machine<'k>(state: &CpuState, known: &'k VerifyContext<'_>) -> Option<CpuContradiction<'k>> {
    let cpus = known.cpus.as_ref()?;
    let of_pods = state.pods.iter().flat_map(|pods| pods.values());
    let sets = state.containers.values().flat_map(|containers| containers.values()).chain(of_pods);
    let all: CpuSet = sets.chain([&state.default_cpu_set]).flat_map(CpuSet::iter).collect();
    let is_empty = state.default_cpu_set.is_empty() && all.is_empty();
    let beyond = !all.is_subset(cpus);
    let missing = !known.strict_cpu_reservation && !cpus.is_subset(&all);
    let is_other = !is_empty && (beyond || missing);
    is_other.then_some(CpuContradiction::OtherCpus { in_file: all, of_machine: cpus })
}
