//! Sends the same probe in several ways, and explains the differences.

use super::gather::sending;
use kq_answer::{Failure, Worded};
use kq_core::question::probes::{Place, Targets};
use kq_linux::cri::CriSession;
use kq_linux::probe::run::{Network, run_probes};
use kq_probe::compare::{Compared, Trial, Way, differences};
use kq_probe::report::{Comparison, ProbeRun};
use kq_probe::subject::HandlerKind;
use kq_probe::wire::Sending;
use kq_probe::{Job, JobFacts, Target};
use std::io;
use std::thread;

/// Adds a comparison to each probe of a run. `warn` is called with what could not be compared.
///
/// # Errors
///
/// Fails if nothing can be sent.
pub fn compare(
    targets: &Targets,
    run: &mut ProbeRun,
    warn: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    for (at, report) in targets.sendable()?.into_iter().zip(&mut run.probes) {
        let (Some(target), Some(place)) = (targets.targets.get(at), targets.places.get(at)) else {
            continue;
        };
        if matches!(target.handler, Some(HandlerKind::Exec) | None) {
            warn(&format!("{}: a command is run in one way only", target.title()));
            continue;
        }
        report.comparison = Some(Attempts { targets, target, place }.compare(warn)?);
    }
    Ok(())
}

/// One probe, sent in several ways.
struct Attempts<'a> {
    targets: &'a Targets,
    target: &'a Target,
    place: &'a Place,
}

impl Attempts<'_> {
    fn compare(&self, warn: &mut dyn FnMut(&str)) -> Result<Comparison, Failure> {
        let compared = Compared::of(self.target);
        let network = match compared.is_of_pod && !compared.host_network {
            true => self.network().map_err(|reason| {
                let title = self.target.title();
                warn(&format!("{title}: not tried from inside the pod's network: {reason}"));
            }),
            false => Err(()),
        };
        let network = network.ok();
        let mut attempt_all = |ways| self.attempt_all(ways, network.as_ref(), warn);
        let ip = self.place.ip.as_ref().map_or("", |(ip, _)| ip.as_str());
        let mut trials = attempt_all(compared.first_ways(ip, network.is_some()))?;
        trials.extend(attempt_all(compared.further_ways(&trials))?);
        let differences = differences(&trials, compared).into_iter().map(Worded).collect();
        Ok(Comparison { trials, differences })
    }

    /// Sends a probe in several ways concurrently; ways in which it cannot be sent are left out.
    fn attempt_all(
        &self,
        ways: Vec<Way>,
        network: Option<&Network>,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Vec<Trial>, Failure> {
        let network_of = |way: Way| network.filter(|_| way.is_in_pod());
        let results = thread::scope(|scope| {
            let start = |way: &Way| {
                let way = *way;
                scope.spawn(move || self.attempt(way, network_of(way)))
            };
            let threads: Vec<_> = ways.iter().map(start).collect();
            let ended = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.collect::<Vec<_>>()
        });
        let mut trials = Vec::new();
        for (result, way) in results.into_iter().zip(ways) {
            match result {
                Ok(trial) => trials.extend(trial),
                Err(error) if network_of(way).is_some() => {
                    warn(&format!("{}: {way}: {error}", self.target.title()));
                }
                Err(error) => return Err(Failure::missing(error)),
            }
        }
        Ok(trials)
    }

    fn attempt(&self, way: Way, network: Option<&Network>) -> io::Result<Option<Trial>> {
        let ip = match way.is_to_loopback() {
            true => Way::LOOPBACK,
            false => self.place.ip.as_ref().map_or("", |(ip, _)| ip.as_str()),
        };
        let facts = JobFacts {
            pod_ip: Ok(ip),
            container_id: Err("a command is run in one way only"),
            user_agent: &self.place.user_agent,
            grpc_user_agent: &self.place.grpc_user_agent,
            rules: self.place.rules,
        };
        let changed = self.target.changed(&facts, &|probe| way.change(probe));
        let Some((mut job, timeout_seconds)) = changed else { return Ok(None) };
        if let (Way::Curl, Job::Http(request)) = (way, &mut job) {
            **request = (**request).clone().without_redirects();
        }
        if job.error().is_some() {
            return Ok(None);
        }
        let run = || {
            let sending = Sending { timeout_seconds, ..sending(self.target, &job) };
            run_probes(&[sending], &self.targets.wire)
        };
        let ran = match network {
            None => run()?,
            Some(network) => network.enter(run).and_then(|ran| ran)?,
        };
        let Some(ran) = ran.into_iter().next() else { return Ok(None) };
        let took_us = ran.times_us.last().copied().unwrap_or_default();
        let limit = self.target.limit_us();
        Ok(ran.conclusion.last().map(|attempt| Trial::of(way, attempt, took_us, limit)))
    }

    /// Returns the network namespace of the sandbox's process.
    fn network(&self) -> Result<Network, String> {
        let sandbox = self.place.sandbox.as_ref().ok_or("the pod has no sandbox here")?;
        let wire = &self.targets.wire;
        let endpoint = wire.endpoint.as_deref().ok_or("no container runtime answers")?;
        let session = CriSession::connect(endpoint, &wire.host_root, self.targets.timeout)
            .map_err(|error| error.to_string())?;
        let status =
            session.sandbox_status(&sandbox.id)?.ok_or("the pod's sandbox no longer exists")?;
        match status.pid.filter(|pid| *pid > 0) {
            Some(pid) => {
                Network::of_process(&wire.host_root, pid).map_err(|error| error.to_string())
            }
            None => Err("the runtime does not report the sandbox's process".to_owned()),
        }
    }
}
