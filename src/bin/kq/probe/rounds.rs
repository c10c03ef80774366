//! Probes again and again, each at its own pace, and what the kubelet's worker would make of them.

use super::looker::{ContainerPoller, Look};
use super::run::{code, show, streamed};
use crate::exit::{Code, Failure, note, tell};
use crate::output_format::OutputFormat;
use crate::write;
use anyhow::anyhow;
use kq::edge::clock::{moment, steady};
use kq::edge::probe::run::{Sending, run_probes};
use kq::facts::timestamp::Timestamp;
use kq::facts::workloads::effective_uid;
use kq::k8s::duration::GoDuration;
use kq::k8s::pod::ProbeType;
use kq::probe::percentiles::Percentiles;
use kq::probe::reason::Consequence;
use kq::probe::report::{ProbeReport, ProbeRun, ProbeVerdict, Round};
use kq::probe::schedule::Ticker;
use kq::probe::view::round_line;
use kq::probe::worker::{Action, Begun, StepFacts, StepReason, StepReport, Worker};
use kq::probe::{Conclusion, Job, JobFacts, ResultsCache, Status, Target};
use kq::question::probes::{Place, Seen, Targets};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The flags that say how often.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Repetition")]
pub struct Pace {
    /// Probe this number of times, then print a summary
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Time between two probes: "probe" for each probe's own periodSeconds, or a duration such as 500ms
    #[arg(long, value_name = "probe|DURATION", value_parser = parse_interval)]
    interval: Option<Interval>,

    /// Probe until the kubelet would act: kill the container, or mark it as ready, not ready or started
    #[arg(long, conflicts_with = "watch")]
    pub until_action: bool,

    /// Probe until interrupted
    #[arg(short, long, conflicts_with = "count")]
    pub watch: bool,
}

/// How far apart probes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interval {
    /// As the probe says.
    Probe,
    /// So long.
    Every(GoDuration),
}

impl Pace {
    /// Tells whether it is more than one probe.
    pub fn repeats(&self) -> bool {
        self.count.is_some() || self.until_action || self.watch
    }

    /// Refuses a pace for one probe alone.
    pub fn check(&self) -> Result<(), Failure> {
        match self.interval.is_some() && !self.repeats() {
            true => Err(Failure::usage(anyhow!("--interval needs --count, --until-action or -w"))),
            false => Ok(()),
        }
    }
}

/// How many probes are repeated at most; each has a thread of its own.
const MOST: usize = 256;

/// The longest that somebody who waits does not look whether it is over.
const NAP: Duration = Duration::from_millis(100);

/// What all probes share.
struct Shared {
    targets: Targets,
    looker: ContainerPoller,
    /// Which containers have started, where their startup probe is among these.
    started: Mutex<BTreeMap<(String, String), bool>>,
    is_over: AtomicBool,
    began: Timestamp,
    clock: Instant,
    pace: Pace,
    shows_wire: bool,
}

/// What one probe came to once.
struct Turned {
    index: usize,
    report: ProbeReport,
    round: Round,
    seen: Seen,
}

/// What a probe came to so far.
#[derive(Default)]
struct Kept {
    report: Option<ProbeReport>,
    rounds: Vec<Round>,
    seen: Vec<Seen>,
    times: Vec<u64>,
    verdicts: BTreeMap<ProbeVerdict, u64>,
}

/// Probes until it is enough.
pub fn run(
    pace: &Pace,
    mut targets: Targets,
    output: OutputFormat,
    wire: bool,
) -> Result<Code, Failure> {
    let sendable: Vec<usize> = targets.sendable();
    if sendable.len() > MOST {
        let refused = anyhow!("{} probes are too many to be repeated at once", sendable.len());
        return Err(Failure::usage(refused).hint(format!("choose {MOST} at most")));
    }
    if let (true, Some(missing)) = (sendable.is_empty(), targets.basis.missing.first()) {
        return Err(Failure::missing(anyhow!("{missing}")));
    }
    targets.basis.assume_all(targets.assumed_of_workers());
    if output.is_for_people() {
        tell(&targets.basis);
    }
    let looker = ContainerPoller::new(
        targets.wire.endpoint.clone(),
        targets.wire.host_root.clone(),
        targets.timeout,
    );
    let shared = Arc::new(Shared {
        started: Mutex::new(targets.started()),
        targets,
        looker,
        is_over: AtomicBool::new(false),
        began: moment(),
        clock: steady(),
        pace: pace.clone(),
        shows_wire: wire,
    });
    let (sender, receiver) = channel();
    for index in sendable {
        let (shared, sender) = (Arc::clone(&shared), sender.clone());
        thread::spawn(move || {
            if let Err(failure) = turn(&shared, index, &sender) {
                // Nobody waits any more where it cannot be told.
                let _ = sender.send(Err(failure));
            }
        });
    }
    drop(sender);
    let mut kept: BTreeMap<usize, Kept> = BTreeMap::new();
    let mut acted = false;
    for turned in receiver {
        let turned = turned?;
        acted |= turned.round.action.is_some();
        tell_round(&shared, &turned, output)?;
        kept.entry(turned.index).or_default().keep(turned, pace);
        if acted && pace.until_action {
            shared.is_over.store(true, Ordering::Relaxed);
            break;
        }
    }
    if pace.until_action && !acted {
        note("note", "the kubelet would have done nothing so far");
    }
    let run = finished(&shared, kept);
    if output.is_for_people() {
        write::lines([String::new()])?;
    }
    show(&run, output, false)?;
    Ok(code(&run))
}

impl Kept {
    fn keep(&mut self, turned: Turned, pace: &Pace) {
        let round = turned.round;
        if round.counted {
            *self.verdicts.entry(round.verdict).or_default() += 1;
        }
        self.report = Some(turned.report);
        // Without end, what was shown is not kept for ever.
        if !pace.watch {
            self.times.push(round.took_us);
            self.rounds.push(round);
            self.seen.push(turned.seen);
        }
    }
}

/// Shows a round as soon as it is over.
fn tell_round(shared: &Shared, turned: &Turned, output: OutputFormat) -> Result<(), Failure> {
    if output.is_for_people() {
        let several = shared.targets.targets.len() > 1;
        let target = shared.targets.targets.get(turned.index);
        let whose = target.filter(|_| several).map(Target::title);
        return write::lines([round_line(&turned.round, whose.as_deref())]);
    }
    match streamed(output).filter(|_| shared.pace.watch) {
        Some(form) => {
            let rounds = vec![turned.round.clone()];
            let report = ProbeReport { rounds, ..turned.report.clone() };
            write::answer(form, &shared.targets.run_of(turned.round.at, vec![report]))
        }
        None => Ok(()),
    }
}

/// Puts everything together.
fn finished(shared: &Shared, kept: BTreeMap<usize, Kept>) -> ProbeRun {
    let mut reports = Vec::new();
    for (index, kept) in kept {
        let Some(target) = shared.targets.targets.get(index) else { continue };
        let Some(mut report) = kept.report else { continue };
        report.percentiles = Percentiles::of(kept.times);
        report.trace = shared.targets.trace(target, &kept.seen);
        report.verdicts = Some(kept.verdicts);
        if let Some(last) = kept.rounds.last() {
            report.follows = vec![Consequence::Step { reason: last.because.clone() }.into()];
        }
        report.rounds = kept.rounds;
        reports.push(report);
    }
    shared.targets.run_of(shared.began, reports)
}

impl Shared {
    /// Returns the time by a clock that nobody sets.
    fn now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.clock.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.began.plus(elapsed.saturating_mul(1_000_000))
    }

    /// Waits for a moment; tells whether it is over before.
    fn wait(&self, due: Timestamp) -> bool {
        loop {
            if self.is_over.load(Ordering::Relaxed) {
                return true;
            }
            match u64::try_from(due.since(self.now())) {
                Ok(left) if left > 0 => thread::sleep(Duration::from_nanos(left).min(NAP)),
                _ => return false,
            }
        }
    }

    /// Tells whether a container has started, so that readiness and liveness are probed.
    fn has_started(&self, target: &Target) -> bool {
        let started = self.started.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        started.get(&target.key()).copied().unwrap_or(true)
    }

    fn note_start(&self, target: &Target) {
        let mut started = self.started.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        started.insert(target.key(), true);
    }
}

/// Probes one container again and again.
fn turn(
    shared: &Shared,
    index: usize,
    sender: &Sender<Result<Turned, Failure>>,
) -> Result<(), Failure> {
    let (Some(target), Some(place)) =
        (shared.targets.targets.get(index), shared.targets.places.get(index))
    else {
        return Ok(());
    };
    let Ok(mut job) = target.job.clone() else { return Ok(()) };
    let period = match shared.pace.interval {
        Some(Interval::Every(period)) => period,
        Some(Interval::Probe) | None => target.period(),
    };
    let mut sandbox = place.sandbox.as_ref().map(|sandbox| sandbox.id.clone());
    let (mut worker, mut cache) = (shared.targets.worker(target), ResultsCache::default());
    let mut before = warm_up(shared, target, worker.as_mut(), &mut cache);
    let (mut ticker, mut due) = (Ticker::new(shared.began, period), shared.began);
    let mut number = 0;
    while shared.pace.count.is_none_or(|count| number < count) && !shared.wait(due) {
        number += 1;
        let look = shared.looker.look(effective_uid(&target.pod), &target.container);
        follow(shared, target, place, &look, &mut sandbox, &mut job);
        let status = match &look {
            Look::NotAsked => Status::AsReported,
            Look::Gone => Status::Gone,
            Look::There { container, exit_code, .. } => Status::Seen(container, *exit_code),
        };
        let started = target.probe_type != ProbeType::Startup && shared.has_started(target);
        let facts = target.facts(shared.began, status, started);
        let at = shared.now();
        let begun = worker.as_mut().map(|worker| {
            let facts = StepFacts { status: Some(&facts), deletion_timestamp_set: false };
            worker.begin(&mut cache, facts, at)
        });
        let (probe_type, seconds) = (target.probe_type, target.timing.timeout_seconds);
        let sending = Sending { job: &job, probe_type, timeout_seconds: seconds };
        let ran = run_probes(&[sending], &shared.targets.wire).map_err(Failure::missing)?;
        let Some(ran) = ran.into_iter().next() else { return Ok(()) };
        let conclusion = ran.conclusion.clone();
        let counted = matches!(begun, Some(Begun::Probe(_)));
        let step = match (worker.as_mut(), begun) {
            (Some(worker), Some(Begun::Probe(pending))) => {
                Some(worker.finish(&mut cache, pending, conclusion.clone()))
            }
            (_, Some(Begun::Done(step))) => Some(*step),
            _ => None,
        };
        if step.as_ref().is_some_and(|step| step.action == Some(Action::Started)) {
            shared.note_start(target);
        }
        let report = shared.targets.report(target, place, ran, shared.shows_wire);
        let round = round_of(number, at, &report, step, counted);
        let seen = Seen { before: std::mem::take(&mut before), at, facts, conclusion, counted };
        let turned = Turned { index, report, round, seen: seen.without_wire() };
        if sender.send(Ok(turned)).is_err() {
            return Ok(());
        }
        due = ticker.next(shared.now());
    }
    Ok(())
}

/// Goes after a container that was started again, or whose pod has another sandbox and so another IP.
fn follow(
    shared: &Shared,
    target: &Target,
    place: &Place,
    look: &Look,
    known: &mut Option<String>,
    job: &mut Job,
) {
    let Look::There { container, sandbox, .. } = look else { return };
    if let Job::Exec(request) = job {
        request.container_id.clone_from(&container.id);
    }
    let Some(sandbox) = sandbox.as_ref().filter(|it| known.as_ref().is_some_and(|id| *id != it.id))
    else {
        return;
    };
    let Some(ip) = shared.looker.ip(sandbox) else { return };
    *known = Some(sandbox.id.clone());
    let facts = JobFacts {
        pod_ip: Ok(&ip),
        container_id: Ok(&container.id),
        user_agent: &place.user_agent,
        grpc_user_agent: &place.grpc_user_agent,
    };
    if let Some((changed, _)) = target.changed(&facts, &|_| {}) {
        *job = changed;
    }
}

/// Lets the worker count what the status says came of earlier probes; returns when.
fn warm_up(
    shared: &Shared,
    target: &Target,
    worker: Option<&mut Worker>,
    cache: &mut ResultsCache,
) -> Vec<Timestamp> {
    let Some(worker) = worker.filter(|_| target.was_good()) else { return Vec::new() };
    let times = i64::from(worker.timing().success_threshold.clamp(1, 1_000));
    let facts = target.facts(shared.began, Status::AsReported, true);
    let mut at = Vec::new();
    for left in (1..=times).rev() {
        let now = shared.began.plus(-left.saturating_mul(1_000_000));
        let status = StepFacts { status: Some(&facts), deletion_timestamp_set: false };
        if let Begun::Probe(pending) = worker.begin(cache, status, now) {
            worker.finish(cache, pending, Conclusion::without_probe());
            at.push(now);
        }
    }
    at
}

fn round_of(
    number: u64,
    at: Timestamp,
    report: &ProbeReport,
    step: Option<StepReport>,
    counted: bool,
) -> Round {
    let outcome = &report.outcome;
    let because = step.as_ref().map(|step| step.reason.clone());
    Round {
        number,
        at,
        verdict: outcome.verdict,
        message: outcome.message.clone(),
        took_us: outcome.took_us,
        counted,
        result: step.as_ref().map(|step| step.state.last_result),
        run: step.as_ref().map(|step| step.state.run),
        on_hold: step.as_ref().is_some_and(|step| step.state.on_hold),
        action: step.and_then(|step| step.action).map(|action| action.to_string()),
        because: because.unwrap_or(StepReason::NoWorker).into(),
    }
}

fn parse_interval(text: &str) -> Result<Interval, String> {
    if text == "probe" {
        return Ok(Interval::Probe);
    }
    match text.parse::<GoDuration>() {
        Ok(period) if period.0 > 0 => Ok(Interval::Every(period)),
        _ => Err("expected probe, or a duration of more than 0, such as 500ms or 10s".to_owned()),
    }
}
