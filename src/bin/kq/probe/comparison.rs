//! The same probe in the ways in which people try it by hand.

use crate::exit::{Failure, warn};
use kq::answer::Worded;
use kq::edge::cri::CriSession;
use kq::edge::probe::netns::in_network_namespace;
use kq::edge::probe::run::{Ran, Sending, run_probes};
use kq::k8s::pod::{HttpGetAction, HttpHeader, IntOrString, Probe};
use kq::probe::compare::{Compared, Trial, Way, differences};
use kq::probe::report::{Comparison, ProbeRun};
use kq::probe::subject::HandlerKind;
use kq::probe::{Cause, Job, JobFacts, Target, host_of, is_loopback};
use kq::question::probes::{Place, Targets};
use std::io;
use std::path::PathBuf;
use std::thread;

/// What curl calls itself.
const CURL: &str = "curl/8.14.1";

/// How much time a patient way has at least, in seconds.
const MORE_SECONDS: i32 = 10;

/// Tries each probe of a run in the other ways, and says what the difference tells.
pub fn add(targets: &Targets, run: &mut ProbeRun) -> Result<(), Failure> {
    for (at, report) in targets.sendable().into_iter().zip(&mut run.probes) {
        let (Some(target), Some(place)) = (targets.targets.get(at), targets.places.get(at)) else {
            continue;
        };
        if !matches!(
            target.handler,
            Some(HandlerKind::HttpGet | HandlerKind::TcpSocket | HandlerKind::Grpc)
        ) {
            warn(&format!("{}: a command is run in one way only", target.title()));
            continue;
        }
        let (trials, compared) = Ways { targets, target, place }.try_all()?;
        let differences = differences(&trials, compared).into_iter().map(Worded).collect();
        report.comparison = Some(Comparison { trials, differences });
    }
    Ok(())
}

/// One probe in several ways.
struct Ways<'a> {
    targets: &'a Targets,
    target: &'a Target,
    place: &'a Place,
}

/// A way to try it: what is changed of the probe, for which address, and in which network.
struct Trying<'a> {
    way: Way,
    ip: &'a str,
    change: fn(&mut Probe),
    network: Option<&'a PathBuf>,
}

impl Ways<'_> {
    fn try_all(&self) -> Result<(Vec<Trial>, Compared), Failure> {
        let probe = self.target.container_spec();
        let probe = probe.and_then(|it| it.probe(self.target.probe_type));
        let get = probe.and_then(|probe| probe.http_get.as_ref());
        let host_network = self.target.pod.spec.host_network;
        let compared = Compared {
            host_is_node: !host_network
                && self.target.name.pod.is_some()
                && probe.is_some_and(|probe| is_loopback(host_of(probe))),
            host_network,
            is_tls: get.is_some_and(|get| get.scheme.eq_ignore_ascii_case("https")),
            is_grpc: probe.is_some_and(|probe| probe.grpc.is_some()),
        };
        let ip = self.place.ip.as_ref().map_or("", |(ip, _)| ip.as_str());
        let here = |way, change| Trying { way, ip, change, network: None };
        let network = match (self.target.name.pod.is_some(), host_network) {
            (true, false) => self.network().map_err(|reason| {
                let title = self.target.title();
                warn(&format!("{title}: not tried from inside the pod's network: {reason}"));
            }),
            _ => Err(()),
        };
        let mut ways = vec![here(Way::Kubelet, nothing)];
        if get.is_some() {
            ways.push(here(Way::Curl, as_curl));
        }
        let loopback = |way, network| Trying { way, ip: "127.0.0.1", change: to_loopback, network };
        if self.target.name.pod.is_some() && ip != "127.0.0.1" && !compared.host_is_node {
            ways.push(match host_network {
                true => loopback(Way::InPodLoopback, None),
                false => loopback(Way::NodeLoopback, None),
            });
        }
        if let Ok(path) = &network {
            let network = Some(path);
            ways.push(Trying { way: Way::InPod, ip, change: nothing, network });
            ways.push(loopback(Way::InPodLoopback, network));
        }
        let mut trials = self.at_once(&ways)?;
        let of = |way| trials.iter().find(|trial| trial.way == way);
        let mut more = Vec::new();
        if of(Way::Kubelet).is_some_and(|trial| trial.cause == Some(Cause::Timeout)) {
            more.push(here(Way::Patient, more_time));
        }
        let is_plain = !compared.is_tls && (get.is_some() || compared.is_grpc);
        if is_plain && of(Way::Kubelet).is_some_and(Trial::may_be_of_tls) {
            more.push(here(Way::Tls, through_tls));
        }
        let first = |way| of(way).and_then(|trial| trial.statuses.first().copied());
        let statuses = (first(Way::Curl), first(Way::Kubelet));
        if matches!(statuses, (Some(theirs), Some(ours)) if theirs != ours) {
            more.push(here(Way::CurlUserAgent, with_agent));
            more.push(here(Way::WithoutHeaders, without_headers));
        }
        trials.extend(self.at_once(&more)?);
        Ok((trials, compared))
    }

    /// Tries several ways at the same time; those in which the probe cannot be sent are left out.
    fn at_once(&self, ways: &[Trying<'_>]) -> Result<Vec<Trial>, Failure> {
        let tried = thread::scope(|scope| {
            let started: Vec<_> =
                ways.iter().map(|trying| scope.spawn(move || self.attempt(trying))).collect();
            let ended = started.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.collect::<Vec<_>>()
        });
        let mut trials = Vec::new();
        for (tried, trying) in tried.into_iter().zip(ways) {
            match tried {
                Ok(trial) => trials.extend(trial),
                Err(error) if trying.network.is_some() => {
                    warn(&format!("{}: {}: {error}", self.target.title(), trying.way));
                }
                Err(error) => return Err(Failure::missing(error)),
            }
        }
        Ok(trials)
    }

    fn attempt(&self, trying: &Trying<'_>) -> io::Result<Option<Trial>> {
        let facts = JobFacts {
            pod_ip: Ok(trying.ip),
            container_id: Err("a command is run in one way only"),
            user_agent: &self.place.user_agent,
            grpc_user_agent: &self.place.grpc_user_agent,
        };
        let Some((mut job, seconds)) = self.target.changed(&facts, &trying.change) else {
            return Ok(None);
        };
        if let (Way::Curl, Job::Http(request)) = (trying.way, &mut job) {
            **request = (**request).clone().without_redirects();
        }
        if job.error().is_some() {
            return Ok(None);
        }
        let probe_type = self.target.probe_type;
        let run = || -> io::Result<Vec<Ran>> {
            let sending = Sending { job: &job, probe_type, timeout_seconds: seconds };
            run_probes(&[sending], &self.targets.wire)
        };
        let ran = match trying.network {
            None => run()?,
            Some(path) => in_network_namespace(path, run).and_then(|ran| ran)?,
        };
        let Some(ran) = ran.into_iter().next() else { return Ok(None) };
        let took_us = ran.times_us.last().copied().unwrap_or_default();
        let limit = self.target.limit_us();
        Ok(ran.conclusion.last().map(|attempt| Trial::of(trying.way, attempt, took_us, limit)))
    }

    /// Returns where the pod's network is: that of the process that holds it.
    fn network(&self) -> Result<PathBuf, String> {
        let sandbox = self.place.sandbox.as_ref().ok_or("it has no sandbox here")?;
        let wire = &self.targets.wire;
        let endpoint = wire.endpoint.as_deref().ok_or("no container runtime answers")?;
        let session = CriSession::connect(endpoint, &wire.host_root, self.targets.timeout)
            .map_err(|error| error.to_string())?;
        let status = session.sandbox_status(&sandbox.id)?.ok_or("its sandbox is gone")?;
        match status.pid.filter(|pid| *pid > 0) {
            Some(pid) => Ok(wire.host_root.join(format!("proc/{pid}/ns/net"))),
            None => Err("the runtime does not tell its process".to_owned()),
        }
    }
}

fn nothing(_: &mut Probe) {}

/// Asks for the same port through TLS; a server of gRPC answers something to that, too.
fn through_tls(probe: &mut Probe) {
    if let Some(grpc) = probe.grpc.take() {
        let port = IntOrString::Int(grpc.port);
        probe.http_get = Some(HttpGetAction { port, ..HttpGetAction::default() });
    }
    if let Some(get) = &mut probe.http_get {
        get.scheme = "HTTPS".to_owned();
    }
}

fn as_curl(probe: &mut Probe) {
    if let Some(get) = &mut probe.http_get {
        get.http_headers = vec![agent()];
    }
    more_time(probe);
}

fn with_agent(probe: &mut Probe) {
    if let Some(get) = &mut probe.http_get {
        get.http_headers.retain(|it| !it.name.eq_ignore_ascii_case("user-agent"));
        get.http_headers.push(agent());
    }
}

fn without_headers(probe: &mut Probe) {
    if let Some(get) = &mut probe.http_get {
        get.http_headers.clear();
    }
}

fn agent() -> HttpHeader {
    let (name, value) = ("User-Agent".to_owned(), CURL.to_owned());
    HttpHeader { name, value, value_withheld: false }
}

fn more_time(probe: &mut Probe) {
    if probe.timeout_seconds > 0 {
        probe.timeout_seconds = probe.timeout_seconds.saturating_mul(3).max(MORE_SECONDS);
    }
}

/// Leads a probe to 127.0.0.1, whatever host it names.
fn to_loopback(probe: &mut Probe) {
    if let Some(get) = &mut probe.http_get {
        get.host = "127.0.0.1".to_owned();
    }
    if let Some(socket) = &mut probe.tcp_socket {
        socket.host = "127.0.0.1".to_owned();
    }
}
