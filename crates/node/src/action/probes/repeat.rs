//! Repeats probes, each in its own period, and replays the results through the kubelet's worker.

use super::container_poller::{ContainerObservation, ContainerPoller};
use super::gather::sending;
use anyhow::anyhow;
use kq_answer::{Basis, Failure};
use kq_core::question::probes::{Place, Seen, Targets};
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::effective_uid;
use kq_io::clock::{moment, pause, steady};
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::ProbeType;
use kq_linux::probe::run::run_probes;
use kq_probe::reason::Consequence;
use kq_probe::report::{Percentiles, ProbeReport, ProbeRun, ProbeVerdict, Round};
use kq_probe::schedule::Ticker;
use kq_probe::wire::Sending;
use kq_probe::worker::{Action, Begun, StepFacts, StepReason, StepReport, Worker};
use kq_probe::{Conclusion, Job, JobFacts, ResultsCache, Status, Target};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The largest number of probes that can be repeated; each has its own thread.
pub const MAX_REPEATED: usize = 256;

/// The longest time between two checks for the end.
const NAP: Duration = Duration::from_millis(100);

/// How often probes are sent.
#[derive(Clone, Debug, Default)]
pub struct Repetition {
    /// The number of times; `None`: no limit.
    pub count: Option<u64>,
    /// The time between two probes; `None`: `periodSeconds` of each.
    pub interval: Option<GoDuration>,
    /// End at the first action of the kubelet.
    pub until_action: bool,
    /// Leave single rounds out of the result, so that memory stays bounded.
    pub forgets_rounds: bool,
}

/// The progress of repeated probes.
pub enum Event<'a> {
    /// The first probe is about to be sent.
    Begins(&'a Basis),
    /// A probe has ended.
    Round(RoundResult<'a>),
}

/// One result of a repeated probe.
pub struct RoundResult<'a> {
    targets: &'a Targets,
    result: &'a TargetResult,
}

impl RoundResult<'_> {
    pub fn round(&self) -> &Round {
        &self.result.round
    }

    /// Returns the title of the probe; `None`: it is the only one.
    pub fn title(&self) -> Option<String> {
        let targets = &self.targets.targets;
        targets.get(self.result.index).filter(|_| targets.len() > 1).map(Target::title)
    }

    /// Returns the answer with this round alone.
    pub fn run(&self) -> ProbeRun {
        let rounds = vec![self.result.round.clone()];
        let report = ProbeReport { rounds, ..self.result.report.clone() };
        self.targets.run_of(self.result.round.at, vec![report])
    }
}

struct TargetResult {
    /// The index of the target.
    index: usize,
    report: ProbeReport,
    round: Round,
    seen: Seen,
}

/// The results of one probe so far.
#[derive(Default)]
struct History {
    report: Option<ProbeReport>,
    rounds: Vec<Round>,
    seen: Vec<Seen>,
    times: Vec<u64>,
    verdicts: BTreeMap<ProbeVerdict, u64>,
}

/// The state that all threads share.
struct Shared {
    targets: Targets,
    poller: ContainerPoller,
    /// The containers with a startup probe among the targets, and whether it has succeeded.
    started: Mutex<BTreeMap<(String, String), bool>>,
    is_over: AtomicBool,
    began: Timestamp,
    clock: Instant,
    repetition: Repetition,
    shows_wire: bool,
}

/// Repeats probes until the repetition ends, and returns the results together.
///
/// # Errors
///
/// Fails for too many probes, if nothing can be sent, and as `observe` does.
pub fn repeat(
    mut targets: Targets,
    repetition: &Repetition,
    shows_wire: bool,
    observe: &mut dyn FnMut(Event<'_>) -> Result<(), Failure>,
) -> Result<ProbeRun, Failure> {
    let sendable = targets.sendable()?;
    if sendable.len() > MAX_REPEATED {
        let refused = anyhow!("{} probes are too many to repeat concurrently", sendable.len());
        return Err(Failure::usage(refused).hint(format!("choose at most {MAX_REPEATED}")));
    }
    targets.basis.assume_all(targets.assumed_of_workers());
    observe(Event::Begins(&targets.basis))?;
    let wire = &targets.wire;
    let shared = Arc::new(Shared {
        poller: ContainerPoller::new(
            wire.endpoint.clone(),
            wire.host_root.clone(),
            targets.timeout,
        ),
        started: Mutex::new(targets.started()),
        targets,
        is_over: AtomicBool::new(false),
        began: moment(),
        clock: steady(),
        repetition: repetition.clone(),
        shows_wire,
    });
    let (sender, receiver) = channel();
    for index in sendable {
        let (shared, sender) = (Arc::clone(&shared), sender.clone());
        thread::spawn(move || {
            if let Err(failure) = repeat_one(&shared, index, &sender) {
                // Without a receiver, the run is over already.
                let _ = sender.send(Err(failure));
            }
        });
    }
    drop(sender);
    let mut histories: BTreeMap<usize, History> = BTreeMap::new();
    for result in receiver {
        let result = result?;
        let is_action = result.round.action.is_some();
        observe(Event::Round(RoundResult { targets: &shared.targets, result: &result }))?;
        histories.entry(result.index).or_default().add(result, repetition);
        if is_action && repetition.until_action {
            shared.is_over.store(true, Ordering::Relaxed);
            break;
        }
    }
    let reports = histories.into_iter().filter_map(|(index, history)| {
        history.report(&shared.targets, shared.targets.targets.get(index)?)
    });
    Ok(shared.targets.run_of(shared.began, reports.collect()))
}

impl History {
    fn add(&mut self, result: TargetResult, repetition: &Repetition) {
        let round = result.round;
        if round.counted {
            *self.verdicts.entry(round.verdict).or_default() += 1;
        }
        self.report = Some(result.report);
        if !repetition.forgets_rounds {
            self.times.push(round.took_us);
            self.rounds.push(round);
            self.seen.push(result.seen);
        }
    }

    fn report(self, targets: &Targets, target: &Target) -> Option<ProbeReport> {
        let report = self.report?;
        let last = self.rounds.last().map(|last| last.because.clone());
        Some(ProbeReport {
            percentiles: Percentiles::of(self.times),
            trace: targets.trace(target, &self.seen),
            verdicts: Some(self.verdicts),
            follows: match last {
                Some(reason) => vec![Consequence::Step { reason }.into()],
                None => report.follows,
            },
            rounds: self.rounds,
            ..report
        })
    }
}

impl Shared {
    /// Returns the time by a monotonic clock.
    fn now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.clock.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.began.plus(elapsed.saturating_mul(1_000_000))
    }

    /// Waits for a moment; returns true if the run ends before it.
    fn is_over_before(&self, due: Timestamp) -> bool {
        loop {
            if self.is_over.load(Ordering::Relaxed) {
                return true;
            }
            match u64::try_from(due.since(self.now())) {
                Ok(left) if left > 0 => pause(Duration::from_nanos(left).min(NAP)),
                _ => return false,
            }
        }
    }

    fn started(&self) -> MutexGuard<'_, BTreeMap<(String, String), bool>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the startup probe of a container does not hold back its other probes.
    fn has_started(&self, target: &Target) -> bool {
        self.started().get(&target.key()).copied().unwrap_or(true)
    }
}

/// Repeats one probe.
fn repeat_one(
    shared: &Shared,
    index: usize,
    sender: &Sender<Result<TargetResult, Failure>>,
) -> Result<(), Failure> {
    let (Some(target), Some(place)) =
        (shared.targets.targets.get(index), shared.targets.places.get(index))
    else {
        return Ok(());
    };
    let Ok(mut job) = target.job.clone() else { return Ok(()) };
    let period = shared.repetition.interval.unwrap_or_else(|| target.period());
    let mut sandbox = place.sandbox.as_ref().map(|sandbox| sandbox.id.clone());
    let (mut worker, mut cache) = (shared.targets.worker(target), ResultsCache::default());
    let mut before = warm_up(shared, target, worker.as_mut(), &mut cache);
    let (mut ticker, mut due) = (Ticker::new(shared.began, period), shared.began);
    let mut number = 0;
    while shared.repetition.count.is_none_or(|count| number < count) && !shared.is_over_before(due)
    {
        number += 1;
        let seen = shared.poller.container(effective_uid(&target.pod), &target.container);
        follow(shared, target, place, &seen, &mut sandbox, &mut job);
        let started = target.probe_type != ProbeType::Startup && shared.has_started(target);
        let facts = target.facts(shared.began, seen.status(), started);
        let at = shared.now();
        let begun = worker.as_mut().map(|worker| {
            let facts = StepFacts { status: Some(&facts), deletion_timestamp_set: false };
            worker.begin(&mut cache, facts, at)
        });
        let sendings: [Sending<'_>; 1] = [sending(target, &job)];
        let ran = run_probes(&sendings, &shared.targets.wire).map_err(Failure::missing)?;
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
            shared.started().insert(target.key(), true);
        }
        let report = shared.targets.report(target, place, ran, shared.shows_wire);
        let round = round_of(number, at, &report, step, counted);
        let seen = Seen { before: std::mem::take(&mut before), at, facts, conclusion, counted };
        let result = TargetResult { index, report, round, seen: seen.without_wire() };
        if sender.send(Ok(result)).is_err() {
            return Ok(());
        }
        due = ticker.next(shared.now());
    }
    Ok(())
}

/// Updates what is sent after a restart of the container, and after a new sandbox gave the pod another IP.
fn follow(
    shared: &Shared,
    target: &Target,
    place: &Place,
    seen: &ContainerObservation,
    known: &mut Option<String>,
    job: &mut Job,
) {
    let ContainerObservation::Present { container, sandbox, .. } = seen else { return };
    if let Job::Exec(request) = job {
        request.container_id.clone_from(&container.id);
    }
    let Some(sandbox) = sandbox.as_ref().filter(|it| known.as_ref().is_some_and(|id| *id != it.id))
    else {
        return;
    };
    let Some(ip) = shared.poller.ip(sandbox) else { return };
    *known = Some(sandbox.id.clone());
    let facts = JobFacts {
        pod_ip: Ok(&ip),
        container_id: Ok(&container.id),
        user_agent: &place.user_agent,
        grpc_user_agent: &place.grpc_user_agent,
        rules: place.rules,
    };
    if let Some((changed, _)) = target.changed(&facts, &|_| {}) {
        *job = changed;
    }
}

/// Replays the successes that the container's status implies; returns their times.
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
