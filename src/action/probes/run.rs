//! Prepares the chosen probes, and runs each of them once.

use super::gather::{PodChoice, ProbeNode};
use crate::answer::Failure;
use crate::edge::clock::moment;
use crate::edge::probe::run::{Sending, run_probes};
use crate::k8s::pod::Probe;
use crate::node::Needs;
use crate::probe::report::{ProbeReport, ProbeRun, ProbeVerdict};
use crate::probe::{Job, Target, predicted_statuses};
use crate::question::probes::{ProbeSelection, ProbedPods, Purpose, Targets, pod_of_container};
use anyhow::anyhow;

/// Which probes to run.
pub enum ProbeChoice<'a> {
    /// A probe of no pod; `host` replaces the pod's IP.
    AdHoc {
        /// The probe.
        probe: Probe,
        /// The host, where the probe does not name it.
        host: String,
    },
    /// A command in a container of a pod, or of the pod that has the container.
    Command {
        /// The probe with the command.
        probe: Probe,
        /// `None`: the pod that has the container.
        pod: Option<&'a str>,
        /// Its name; without a pod, its ID as well.
        container: &'a str,
    },
    /// The probes of pods.
    Pods(PodChoice<'a>),
}

impl ProbeChoice<'_> {
    /// Gathers the facts that the probes need, and prepares them.
    ///
    /// # Errors
    ///
    /// Fails if a named object does not exist, and if the facts are unavailable.
    pub fn prepare(
        self,
        from: &ProbeNode<'_>,
        selection: &ProbeSelection<'_>,
    ) -> Result<Targets, Failure> {
        let timeout = from.timeout;
        match self {
            Self::AdHoc { probe, host } => {
                Targets::ad_hoc(&from.facts.describe()?, timeout, probe, &host, selection)
            }
            Self::Command { probe, pod: Some(name), container } => {
                let ProbedPods { node, pods, .. } =
                    from.pods(PodChoice::One(name), Purpose::Send)?;
                let [pod]: [_; 1] = pods.try_into().map_err(|_| {
                    Failure::usage(anyhow!("{name} has several pods, and --exec needs one"))
                })?;
                Targets::command(&node, timeout, probe, (pod, container), selection)
            }
            Self::Command { probe, pod: None, container } => {
                let node = from.facts.gather(Needs::PROBE_FILE)?;
                let (pod, name) = pod_of_container(&node, container)?;
                Targets::command(&node, timeout, probe, (pod, &name), selection)
            }
            Self::Pods(choice) => {
                let purpose = match choice {
                    PodChoice::One(_) => Purpose::Send,
                    PodChoice::All { .. } => Purpose::All,
                };
                Targets::of_pods(from.pods(choice, purpose)?, timeout, selection)
            }
        }
    }
}

/// Returns what to send for a target.
pub(super) fn sending<'a>(target: &Target, job: &'a Job) -> Sending<'a> {
    let (probe_type, timeout_seconds) = (target.probe_type, target.timing.timeout_seconds);
    Sending { job, probe_type, timeout_seconds }
}

/// Runs each probe once, concurrently.
///
/// # Errors
///
/// Fails if nothing can be sent.
pub fn run_once(all: &Targets, shows_wire: bool) -> Result<ProbeRun, Failure> {
    let at = moment();
    let sendable = all.sendable()?;
    let targets = || sendable.iter().filter_map(|at| all.targets.get(*at));
    let sendings: Vec<Sending<'_>> =
        targets().filter_map(|target| Some(sending(target, target.job.as_ref().ok()?))).collect();
    let ran = run_probes(&sendings, &all.wire).map_err(Failure::missing)?;
    let reports = sendable.iter().zip(ran).filter_map(|(at, ran)| {
        Some(all.report(all.targets.get(*at)?, all.places.get(*at)?, ran, shows_wire))
    });
    let reports: Vec<ProbeReport> = reports.collect();
    let verdicts = reports.iter().map(|report| report.outcome.verdict);
    let probed: Vec<(&Target, ProbeVerdict)> = targets().zip(verdicts).collect();
    let outlook = predicted_statuses(&probed, all.kubelet_start, at);
    Ok(ProbeRun { outlook, ..all.run_of(at, reports) })
}
