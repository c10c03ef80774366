//! `cpu_manager_state`. What the static policy does not start with is `validateState` in
//! `policy_static.go` of `pkg/kubelet/cm/cpumanager`.

use super::damage::Damage;
use super::file::{StateFileContent, VerifyContext};
use super::finding::{DELETE, Findings};
use super::report::{Examined, FileVerdict, Held, Verdict, policy_for};
use crate::answer::Basis;
use crate::answer::Severity;
use crate::facts::checkpoint::StateFile;
use crate::facts::checkpoint::cpu_manager::{CpuLoad, CpuRefusal, CpuState, load};
use crate::facts::checkpoint::layout::{Layered, Load};
use crate::k8s::cpuset::CpuSet;
use crate::k8s::go_text::quote;
use std::collections::BTreeSet;

/// Why CPUs of a file do not matter that is written for another policy than the static one.
const UNUSED: &str = "nobody uses these CPUs with this policy";

/// Looks at the file.
pub(super) fn examine(
    file: &StateFileContent<'_>,
    bytes: &[u8],
    known: &VerifyContext<'_>,
    basis: &mut Basis,
) -> Examined {
    let with =
        |bytes: &[u8], policy| load(bytes, known.pod_level, policy, known.containers.as_ref());
    let found = with(bytes, known.cpu_policy);
    let of_file = found.shown.as_ref().map(|state| state.policy_name.as_str());
    let (field, policies) = ("cpuManagerPolicy", ["none", "static"]);
    let policy = policy_for(field, known.cpu_policy, of_file, policies, basis);
    let read = |bytes: &[u8]| with(bytes, policy);
    let found = if policy == known.cpu_policy { found } else { read(bytes) };
    let mut verdict = FileVerdict::of(file);
    let mut findings = Findings::of(&file.path);
    describe(&mut verdict, &found);
    verdict.policy = found.shown.as_ref().map(|state| state.policy_name.clone());
    match &found.outcome {
        Ok(_) => unchecked(&found, &mut findings),
        Err(CpuRefusal::ContainersNotKnown) => {
            verdict.verdict = Verdict::Unknown;
            verdict.at_next_start = "depends on whether the runtime still has the containers of \
                                     this file of layout v1"
                .to_owned();
        }
        Err(refusal) => {
            verdict.refuse(file, StateFile::Cpu, &refusal.to_string());
            match refusal {
                CpuRefusal::Policy { .. }
                | CpuRefusal::UnknownContainer(_)
                | CpuRefusal::ContainersNotKnown => {}
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

/// Says what was read, layout by layout.
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

/// Says that nobody checks a file without a checksum.
fn unchecked(found: &CpuLoad, findings: &mut Findings<'_>) {
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

/// Finds what contradicts itself or the machine.
fn contradictions(
    state: &CpuState,
    known: &VerifyContext<'_>,
    verdict: &mut FileVerdict,
    findings: &mut Findings<'_>,
) {
    let is_static = known.cpu_policy.unwrap_or(&state.policy_name) == "static";
    let severity = if is_static { Severity::Error } else { Severity::Warning };
    let mut refuse = |error: String| match is_static {
        true => {
            verdict.not_started_with(Some(error.clone()));
            format!("the static policy does not start: {error}")
        }
        false => UNUSED.to_owned(),
    };
    let default = &state.default_cpu_set;
    let common = |a: &CpuSet, b: &CpuSet| -> CpuSet {
        let other: BTreeSet<i64> = b.iter().collect();
        a.iter().filter(|cpu| other.contains(cpu)).collect()
    };
    let entries: Vec<(&String, String, &CpuSet)> = state
        .containers
        .iter()
        .flat_map(|(pod, containers)| {
            containers.iter().map(move |(name, cpus)| (pod, name.clone(), cpus))
        })
        .collect();
    if default.is_empty() && !entries.is_empty() {
        findings.add(
            severity,
            "empty-default",
            "defaultCpuSet",
            "is empty, and containers have CPUs of their own",
            refuse("default cpuset cannot be empty".to_owned()),
        );
        findings.advise(DELETE);
    }
    for (pod, container, cpus) in &entries {
        let place = format!("entries.{pod}.{container}");
        let shared = common(cpus, default);
        if !shared.is_empty() {
            let error = format!(
                "pod: {pod}, container: {container} cpuset: {} overlaps with default cpuset {}",
                quote(&cpus.to_string()),
                quote(&default.to_string())
            );
            let found = format!("{cpus}: {shared} is in defaultCpuSet {default} as well");
            findings.add(severity, "shared-cpus", place.clone(), found, refuse(error));
            findings.advise(DELETE);
        }
        if cpus.is_empty() {
            findings.add(
                Severity::Warning,
                "no-cpus",
                place,
                "has no CPUs",
                "the kubelet makes an entry for containers with CPUs of their own only",
            );
            findings.advise("ask who wrote the file");
        }
    }
    between_pods(state, severity, findings);
    machine(state, known, is_static, verdict, findings);
}

/// Finds CPUs that two pods have. Containers of one pod share: an init container leaves its CPUs to those
/// after it, and a pod that has CPUs as a whole gives them to its containers.
fn between_pods(state: &CpuState, severity: Severity, findings: &mut Findings<'_>) {
    let mut owners: std::collections::BTreeMap<i64, BTreeSet<&str>> = Default::default();
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
    let mut conflicts: std::collections::BTreeMap<Vec<&str>, Vec<i64>> = Default::default();
    for (cpu, pods) in owners {
        if pods.len() > 1 {
            conflicts.entry(pods.into_iter().collect()).or_default().push(cpu);
        }
    }
    for (pods, cpus) in conflicts {
        let cpus: CpuSet = cpus.into_iter().collect();
        let found = format!("{cpus} belong to {} pods: {}", pods.len(), pods.join(", "));
        findings.add(
            severity,
            "double-cpus",
            "entries",
            found,
            match severity {
                Severity::Error => "CPUs that are said to be exclusive are not",
                _ => UNUSED,
            },
        );
        findings.advise(DELETE);
    }
}

/// Holds the CPUs of the file against those of the machine.
fn machine(
    state: &CpuState,
    known: &VerifyContext<'_>,
    is_static: bool,
    verdict: &mut FileVerdict,
    findings: &mut Findings<'_>,
) {
    let Some(cpus) = &known.cpus else { return };
    let of_pods = state.pods.iter().flat_map(|pods| pods.values());
    let sets = state.containers.values().flat_map(|containers| containers.values()).chain(of_pods);
    let all: CpuSet = sets.chain([&state.default_cpu_set]).flat_map(CpuSet::iter).collect();
    let is_empty = state.default_cpu_set.is_empty() && all.is_empty();
    let beyond = !all.is_subset(cpus);
    let missing = !known.strict_cpu_reservation && !cpus.is_subset(&all);
    if is_empty || !is_static || !(beyond || missing) {
        return;
    }
    let error = format!(
        "current set of available CPUs {} doesn't match with CPUs in state {}",
        quote(&cpus.to_string()),
        quote(&all.to_string())
    );
    findings.add(
        Severity::Error,
        "other-cpus",
        "defaultCpuSet, entries",
        format!("the file has {all}, the machine {cpus}"),
        format!("the static policy does not start: {error}"),
    );
    findings.advise(DELETE);
    verdict.not_started_with(Some(error));
}
