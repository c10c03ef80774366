//! Gathering the pods of probes, and sending probes.

use super::node::ProbeNodeArgs;
use super::pods::{Probed, Wanted, gather};
use super::what_if::WhatIf;
use crate::exit::Failure;
use anyhow::anyhow;
use kq::edge::probe::run::{Ran, Sending, run_probes};
use kq::k8s::pod::{Probe, ProbeType};
use kq::node::Needs;
use kq::probe::report::{ProbeReport, ProbeRun, ProbeVerdict};
use kq::probe::{Target, outlook};
use kq::question::probes::{Purpose, Targets, pod_of_container};

/// Prepares a probe that is in no pod. `host` stands for the pod's IP.
pub fn ad_hoc(
    args: &ProbeNodeArgs,
    kind: Option<ProbeType>,
    probe: Probe,
    host: &str,
    what_if: &WhatIf,
) -> Result<Targets, Failure> {
    let node = args.kubelet.of_flags()?;
    let timeout = args.kubelet.sources.timeout;
    Targets::ad_hoc(&node, timeout, kind, probe, host, &what_if.changes())
}

/// Prepares a command to be run in a container: of a pod, or of whatever pod has it.
pub fn command(
    args: &ProbeNodeArgs,
    kind: Option<ProbeType>,
    probe: Probe,
    (pod, container): (Option<&str>, &str),
    what_if: &WhatIf,
) -> Result<Targets, Failure> {
    let (node, probed, name) = match pod {
        Some(name) => {
            let Probed { node, pods, .. } = gather(args, &Wanted::One(name))?;
            let mut pods = pods.into_iter();
            match (pods.next(), pods.next()) {
                (Some(pod), None) => (node, pod, container.to_owned()),
                _ => {
                    let failure = anyhow!("{name} has several pods, and one is to run it");
                    return Err(Failure::usage(failure));
                }
            }
        }
        None => {
            let node = args.kubelet.gather(Needs::PROBE_FILE)?;
            let (pod, name) = pod_of_container(&node, container)?;
            (node, pod, name)
        }
    };
    let timeout = args.kubelet.sources.timeout;
    Targets::command(&node, timeout, kind, probe, (probed, &name), &what_if.changes())
}

/// Prepares the probes of pods.
pub fn of_pods(
    args: &ProbeNodeArgs,
    probed: Probed,
    container: Option<&str>,
    kind: Option<ProbeType>,
    purpose: Purpose,
    what_if: &WhatIf,
) -> Result<Targets, Failure> {
    let Probed { node, pods, left_out, unlabelled } = probed;
    let timeout = args.kubelet.sources.timeout;
    let pods = (pods, &left_out[..]);
    let changes = what_if.changes();
    let mut targets = Targets::of_pods(&node, timeout, pods, container, kind, purpose, &changes)?;
    targets.basis.lack_all(unlabelled);
    Ok(targets)
}

/// Runs probes at once, in the order of `wanted`, which are places in the list.
///
/// # Errors
///
/// Fails when nothing can be sent at all.
pub fn run(targets: &Targets, wanted: &[usize]) -> Result<Vec<Ran>, Failure> {
    let wanted = wanted.iter().filter_map(|at| targets.targets.get(*at));
    let sendings: Vec<Sending<'_>> = wanted
        .filter_map(|target| {
            Some(Sending {
                job: target.job.as_ref().ok()?,
                probe_type: target.probe_type,
                timeout_seconds: target.timing.timeout_seconds,
            })
        })
        .collect();
    run_probes(&sendings, &targets.wire).map_err(Failure::missing)
}

/// Runs each probe once.
pub fn run_once(all: &Targets, shows_wire: bool) -> Result<ProbeRun, Failure> {
    let at = kq::edge::clock::moment();
    let sendable = all.sendable();
    if sendable.is_empty()
        && let Some(missing) = all.basis.missing.first()
    {
        return Err(Failure::missing(anyhow!("{missing}")));
    }
    let ran = run(all, &sendable)?;
    let reports = sendable.iter().zip(ran).filter_map(|(at, ran)| {
        Some(all.report(all.targets.get(*at)?, all.places.get(*at)?, ran, shows_wire))
    });
    let reports: Vec<ProbeReport> = reports.collect();
    let targets = sendable.iter().filter_map(|at| all.targets.get(*at));
    let verdicts = reports.iter().map(|report| report.outcome.verdict);
    let probed: Vec<(&Target, ProbeVerdict)> = targets.zip(verdicts).collect();
    let outlook = outlook(&probed, all.kubelet_start, at);
    Ok(ProbeRun { outlook, ..all.run_of(at, reports) })
}
