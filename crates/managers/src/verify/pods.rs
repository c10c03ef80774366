//! `allocated_pods_state` and `actuated_pods_state`; `pod_status_manager_state` of 1.32.

use super::cpu::beginning;
use super::damage::Damage;
use super::file::{Findings, StateFileContent, VerifyContext};
use super::report::{Examined, FileVerdict, Held, NextStart, Verdict};
use super::rule::StateFileRule;
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::pod_allocation::{
    PodAllocations, PodsRefusal, Resources, load, load_v1_32,
};
use std::cmp::Ordering;

/// Checks a file.
pub(super) fn examine(
    file: &StateFileContent<'_>,
    kind: StateFile,
    bytes: &[u8],
    known: &VerifyContext<'_>,
) -> Examined {
    let read = match kind {
        StateFile::PodStatus => load_v1_32,
        _ => load,
    };
    let found = read(bytes);
    let mut verdict = FileVerdict::of(file);
    let mut findings = Findings::of(&file.path);
    let is_old = found.data.as_ref().is_some_and(|data| data.contains("\"allocationEntries\""));
    if let Some(data) = &found.data {
        verdict.layout = Some(if is_old { "1.32" } else { "1.33 and later" }.to_owned());
        verdict.checksum_in_file = Some(found.checksum_in_file);
        verdict.checksum_computed = Some(found.checksum_computed);
        verdict.derivation.push(format!(
            "checksum {} of (string){}, file says {}",
            found.checksum_computed,
            beginning(data),
            found.checksum_in_file
        ));
    }
    match &found.outcome {
        Ok(_) => {}
        Err(refusal) => {
            verdict.refuse(file, kind, &refusal.to_string());
            verdict.damaged(match refusal {
                PodsRefusal::Data(error) | PodsRefusal::DataOf1_32(error) => Damage::of_type(error),
                _ => {
                    let error = found.data.is_none().then(|| refusal.to_string());
                    Damage::of(kind, bytes, error, |bytes| read(bytes).outcome.is_ok())
                }
            });
        }
    }
    if kind == StateFile::PodStatus && !known.is_1_32 {
        // A kubelet of 1.33 or later leaves the old file where it is.
        verdict.verdict = Verdict::Unused;
        verdict.at_next_start = NextStart::Ignores.into();
        verdict.kubelet_error = None;
    } else if is_old && kind != StateFile::PodStatus && found.outcome.is_ok() {
        findings.add("data.allocationEntries", &StateFileRule::OldLayout);
    }
    let mut held = Held::Nothing;
    if let Ok(pods) = found.shown {
        contradictions(&pods, &mut findings);
        held = Held::Resources(pods);
    }
    Examined::of(verdict, findings, held)
}

fn contradictions(pods: &PodAllocations, findings: &mut Findings<'_>) {
    for (uid, pod) in pods {
        for (name, resources) in &pod.container_resources {
            let place = format!("entries.{uid}.ContainerResources.{name}");
            above_limits(resources, &place, findings);
        }
        if let Some(resources) = &pod.pod_level_resources {
            above_limits(resources, &format!("entries.{uid}.PodLevelResources"), findings);
        }
    }
}

/// Finds requests that are larger than limits. A limit of 0 is none, and the kubelet writes it down as it is.
fn above_limits(resources: &Resources, place: &str, findings: &mut Findings<'_>) {
    for (name, request) in resources.requests.iter() {
        let limit = resources.limits.get(name);
        let Some(limit) =
            limit.filter(|it| !it.is_zero() && request.compare(it) == Ordering::Greater)
        else {
            continue;
        };
        let rule = StateFileRule::RequestAboveLimit { request, limit };
        findings.add(format!("{place}.requests.{name}"), &rule);
    }
}
