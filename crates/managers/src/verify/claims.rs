//! `dra_manager_state`.

use super::cpu::beginning;
use super::damage::Damage;
use super::file::{Findings, StateFileContent};
use super::layouts;
use super::report::{Examined, FileVerdict, Held};
use super::rule::StateFileRule;
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::dra::{ClaimInfo, DraRefusal, load};
use std::collections::{BTreeMap, BTreeSet};

/// Checks the file.
pub(super) fn examine(file: &StateFileContent<'_>, bytes: &[u8]) -> Examined {
    let found = load(bytes);
    let mut verdict = FileVerdict::of(file);
    let mut findings = Findings::of(&file.path);
    if let Some(data) = &found.data {
        verdict.layout = found.calls_itself.as_ref().map(|(_, version)| version.clone());
        verdict.checksum_in_file = Some(found.checksum_in_file.into());
        verdict.checksum_computed = Some(found.checksum_computed);
        verdict.derivation.push(format!(
            "CRC-32 {} of {}, file says {}",
            found.checksum_computed,
            beginning(data),
            found.checksum_in_file
        ));
    }
    if let Err(refusal) = &found.outcome {
        verdict.refuse(file, StateFile::Dra, &refusal.to_string());
        let is_older = layouts::is_older_claims(bytes);
        if is_older {
            verdict.layout = None;
        }
        verdict.damaged(match refusal {
            _ if is_older => Damage::OldLayout { written_by: "a kubelet of 1.30 or older" },
            DraRefusal::Data(error) => Damage::of_type(error),
            _ => {
                let error = found.data.is_none().then(|| refusal.to_string());
                Damage::of(StateFile::Dra, bytes, error, |bytes| load(bytes).outcome.is_ok())
            }
        });
    }
    let mut held = Held::Nothing;
    if let Ok(claims) = &found.shown {
        let claims = claims.as_deref().unwrap_or_default();
        contradictions(claims, &mut findings);
        let pods = claims.iter().flat_map(|claim| claim.pod_uids.iter().flatten());
        let pods: BTreeSet<&String> = pods.collect();
        held = Held::Pods(pods.into_iter().cloned().collect());
    }
    Examined::of(verdict, findings, held)
}

fn contradictions(claims: &[ClaimInfo], findings: &mut Findings<'_>) {
    let mut names: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for claim in claims {
        *names.entry((&claim.namespace, &claim.claim_name)).or_default() += 1;
        let place = format!("{}/{}", claim.namespace, claim.claim_name);
        let devices = claim.driver_state.iter().flatten();
        for (driver, devices) in devices {
            let ids = devices.iter().flatten().flat_map(|it| it.cdi_device_ids.iter().flatten());
            for id in ids.filter(|id| !is_cdi_name(id)) {
                let rule = StateFileRule::CdiName { driver, name: id };
                findings.add(format!("{place} {driver}"), &rule);
            }
        }
    }
    for ((namespace, name), count) in names.into_iter().filter(|(_, count)| *count > 1) {
        let rule = StateFileRule::DuplicateClaim { count };
        findings.add(format!("{namespace}/{name}"), &rule);
    }
}

fn is_cdi_name(id: &str) -> bool {
    id.split_once('=').is_some_and(|(kind, name)| {
        !name.is_empty()
            && kind.split_once('/').is_some_and(|(vendor, class)| {
                !vendor.is_empty() && !class.is_empty() && !class.contains('/')
            })
    })
}
