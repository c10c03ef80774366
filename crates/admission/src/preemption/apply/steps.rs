//! The steps: from what came of one, which is the next.

use super::{
    Action, EvictionResponse, Observation, PodPresence, Refreshed, RemovalOptions, ReplanResult,
    StepResult, Target,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often a pod that goes is looked at: at first, and at last.
const SOON: Duration = Duration::from_millis(500);
const SELDOM: Duration = Duration::from_secs(2);

/// When a budget is asked again that does not say when, as kubectl drain does.
const BUDGET_WAIT: Duration = Duration::from_secs(5);

/// The time to try to read the node again. An API server that restarts is away for less.
const UNREADABLE_AT_MOST: Duration = Duration::from_secs(30);

/// The shortest wait before anything is asked again.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// The number of reads of the victim after a request without a response.
const CLARIFY_AT_MOST: u32 = 5;

/// A victim and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub result: StepResult,
    /// Why, where there is something to say.
    pub because: Option<String>,
    /// How long it took from the answer of the server on.
    pub took: Option<Duration>,
}

/// A request that was not simply accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    NotFound,
    Conflict,
    /// It failed, or there was no answer: then it may still be under way.
    Failed,
    NoAnswer,
}

impl Doubt {
    /// Returns true if it may have been heeded.
    fn is_open(self) -> bool {
        matches!(self, Self::Failed | Self::NoAnswer)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Refreshing,
    Removing(usize),
    /// A request may or may not have been heeded.
    Clarifying {
        at: usize,
        doubt: Doubt,
        reason: String,
        left: u32,
    },
    /// It is to go.
    Waiting {
        at: usize,
        since: Duration,
        wait: Duration,
        result: StepResult,
    },
    /// Its object is gone; whether it takes up nothing any more is not known yet.
    Leaving {
        at: usize,
        since: Duration,
        wait: Duration,
        result: StepResult,
    },
    Pausing {
        wait: Duration,
        then: Box<State>,
    },
    Ended,
}

/// A plan that is carried out.
#[derive(Clone, Debug)]
pub struct Apply {
    targets: Vec<Target>,
    options: RemovalOptions,
    steps: Vec<Step>,
    state: State,
    is_changed: bool,
    stopped: Option<String>,
    /// Until when the budgets of a victim are waited for.
    budgets: BTreeMap<usize, Duration>,
    /// Until when it is tried to look at the node, and how long to wait before the next time.
    unreadable: Option<(Duration, Duration)>,
    news: Vec<usize>,
    waits: Option<String>,
}

impl Apply {
    /// Begins.
    pub fn new(targets: Vec<Target>, options: RemovalOptions) -> Self {
        let left = Step { result: StepResult::Left, because: None, took: None };
        Self {
            steps: vec![left; targets.len()],
            targets,
            options,
            state: State::Refreshing,
            is_changed: false,
            stopped: None,
            budgets: BTreeMap::new(),
            unreadable: None,
            news: Vec::new(),
            waits: None,
        }
    }

    pub fn next_action(&self) -> Action {
        match &self.state {
            State::Refreshing | State::Leaving { .. } => Action::Refresh,
            State::Removing(at) => Action::Remove(*at),
            State::Clarifying { at, .. } | State::Waiting { at, .. } => Action::Find(*at),
            State::Pausing { wait, .. } => Action::Pause(*wait),
            State::Ended => Action::End,
        }
    }

    /// Takes in what came of it, and when: a time since the beginning.
    pub fn handle(&mut self, observation: Observation, now: Duration) {
        let state = std::mem::replace(&mut self.state, State::Ended);
        match (state, observation) {
            (State::Ended, _) => {}
            (state, Observation::Interrupted(who)) => {
                self.break_off(&state, format!("interrupted by {who}"), now);
            }
            (State::Pausing { then, .. }, _) => self.state = *then,
            (
                state @ (State::Refreshing | State::Leaving { .. }),
                Observation::Refreshed(refreshed),
            ) => match refreshed {
                Ok(refreshed) => self.refreshed(state, &refreshed, now),
                Err(reason) => self.read_again(state, &reason, now),
            },
            (State::Removing(at), Observation::Answered(said)) => self.answered(at, said, now),
            (State::Clarifying { at, doubt, reason, left }, Observation::Found(found)) => {
                self.clarify(at, doubt, reason, left, found, now);
            }
            (State::Waiting { at, since, wait, result }, Observation::Found(found)) => {
                self.waited(at, since, wait, result, found, now);
            }
            (state, _) => self.state = state,
        }
    }

    /// Returns the places of the victims with news since the last call.
    pub fn news(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.news)
    }

    /// Returns what is waited for, where that was not said yet.
    pub fn waits(&mut self) -> Option<String> {
        self.waits.take()
    }

    /// Returns the victims.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Returns the results.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns why it stopped before the pod fits.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Returns true if something was changed, or may have been changed.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Goes on from what the node is now.
    fn refreshed(&mut self, state: State, refreshed: &Refreshed, now: Duration) {
        self.unreadable = None;
        let State::Leaving { at, since, wait, result } = state else {
            return self.plan(refreshed, now);
        };
        if !refreshed.there.contains(&self.targets[at].uid) {
            self.conclude(at, result, None, Some(now.saturating_sub(since)));
            self.plan(refreshed, now);
        } else if self.goes_on_waiting(at, since, now) {
            let then = State::Leaving { at, since, wait: longer(wait), result };
            self.pause(self.until_over(at, since, now).min(wait), then);
        } else {
            self.give_up(at, since, result, None, now);
        }
    }

    /// Reads a node again that could not be read, for a limited time.
    fn read_again(&mut self, state: State, reason: &str, now: Duration) {
        if self.unreadable.is_none() {
            let most = UNREADABLE_AT_MOST.as_secs();
            self.waits = Some(format!("up to {most}s until the node can be read: {reason}"));
        }
        let (until, wait) =
            self.unreadable.unwrap_or((now.saturating_add(UNREADABLE_AT_MOST), SOON));
        let left = until.saturating_sub(now);
        if left.is_zero() {
            let reason = format!("the node could not be read again: {reason}");
            return self.break_off(&state, reason, now);
        }
        self.unreadable = Some((until, longer(wait)));
        self.pause(wait.min(left), state);
    }

    /// Chooses the next victim, if one is needed.
    fn plan(&mut self, refreshed: &Refreshed, now: Duration) {
        let wanted = match &refreshed.fresh {
            ReplanResult::Fits => return self.finish(&refreshed.there),
            ReplanResult::Needs(wanted) => wanted,
            ReplanResult::NoVictims(reason) => {
                return self.stop(format!("no pod would be killed for the pod any more: {reason}"));
            }
        };
        let mut next = None;
        for (pod, uid) in wanted {
            let Some(at) = self.targets.iter().position(|it| it.uid == *uid) else {
                let same = self.targets.iter().position(|it| it.pod == *pod);
                if let Some(at) = same.filter(|at| self.steps[*at].result == StepResult::Left) {
                    let because = format!("its UID is {uid} now");
                    self.conclude(at, StepResult::Replaced, Some(because), None);
                }
                return self.stop(match same {
                    Some(_) => {
                        format!("{pod} would now be evicted, but is not the pod of the plan")
                    }
                    None => format!("{pod} would now be evicted, but was not in the plan"),
                });
            };
            if self.steps[at].result == StepResult::Left {
                next = next.or(Some(at));
            }
        }
        match next {
            // It needs no request, which might leave it less time than it was given.
            Some(at) if refreshed.going.contains(&self.targets[at].uid) => {
                self.wait_for(at, StepResult::AlreadyGone, now);
            }
            Some(at) => self.state = State::Removing(at),
            None => {
                self.stop("the pod does not fit until those are gone that are going".to_owned())
            }
        }
    }

    fn finish(&mut self, there: &BTreeSet<String>) {
        for at in 0..self.steps.len() {
            if self.steps[at].result != StepResult::Left {
                continue;
            }
            match there.contains(&self.targets[at].uid) {
                true => self.conclude(at, StepResult::Spared, None, None),
                false => self.conclude(at, StepResult::AlreadyGone, None, None),
            }
        }
        self.state = State::Ended;
    }

    fn answered(&mut self, at: usize, said: EvictionResponse, now: Duration) {
        let doubt = |doubt, reason| State::Clarifying { at, doubt, reason, left: CLARIFY_AT_MOST };
        match said {
            EvictionResponse::Accepted => self.heeded(at, now),
            EvictionResponse::NotFound { reason } => self.state = doubt(Doubt::NotFound, reason),
            EvictionResponse::Conflict { reason } => self.state = doubt(Doubt::Conflict, reason),
            EvictionResponse::Unclear { reason, is_over: true } => {
                self.state = doubt(Doubt::Failed, reason)
            }
            EvictionResponse::Unclear { reason, is_over: false } => {
                self.state = doubt(Doubt::NoAnswer, reason);
            }
            EvictionResponse::Budget { message, causes, retry_after } => {
                let reason = EvictionResponse::of_budget(&message, &causes);
                self.wait_for_budget(at, reason, retry_after.unwrap_or(BUDGET_WAIT), now);
            }
            EvictionResponse::Refused { reason } | EvictionResponse::Unsent { reason } => {
                self.refused(at, reason)
            }
        }
    }

    fn clarify(
        &mut self,
        at: usize,
        doubt: Doubt,
        reason: String,
        left: u32,
        found: Result<PodPresence, String>,
        now: Duration,
    ) {
        let leaving = |result| State::Leaving { at, since: now, wait: SOON, result };
        match (found, doubt) {
            (Ok(PodPresence::Other { uid }), Doubt::Conflict) => {
                let because = format!("its UID is {uid} now");
                self.conclude(at, StepResult::Replaced, Some(because), None);
                self.stop(format!("{} is not the pod that was shown", self.targets[at].pod));
            }
            (Ok(PodPresence::Gone | PodPresence::Other { .. }), _) if doubt.is_open() => {
                self.is_changed = true;
                self.state = leaving(StepResult::Removed);
            }
            (Ok(PodPresence::Gone | PodPresence::Other { .. }), _) => {
                self.state = leaving(StepResult::AlreadyGone);
            }
            (Ok(PodPresence::There { is_going: true, .. }), _) if doubt.is_open() => {
                self.heeded(at, now);
            }
            (Err(_), _) | (Ok(PodPresence::There { .. }), Doubt::NoAnswer) if left > 1 => {
                let then = State::Clarifying { at, doubt, reason, left: left - 1 };
                self.pause(SOON, then);
            }
            (Ok(PodPresence::There { .. }), Doubt::NoAnswer) => {
                self.lost(at, format!("{reason}; it is still there, and may go yet"));
            }
            (Ok(PodPresence::There { .. }), _) => self.refused(at, reason),
            (Err(error), _) if doubt.is_open() => {
                self.lost(at, format!("{reason}; and its state could not be read: {error}"));
            }
            (Err(error), _) => {
                self.refused(at, format!("{reason}; and its state could not be read: {error}"));
            }
        }
    }

    fn waited(
        &mut self,
        at: usize,
        since: Duration,
        wait: Duration,
        result: StepResult,
        found: Result<PodPresence, String>,
        now: Duration,
    ) {
        let unknown = match found {
            Ok(PodPresence::There { has_ended: false, .. }) => None,
            Ok(_) => {
                self.state = State::Leaving { at, since, wait: SOON, result };
                return;
            }
            Err(error) => Some(format!("its state could not be read: {error}")),
        };
        if self.goes_on_waiting(at, since, now) {
            let then = State::Waiting { at, since, wait: longer(wait), result };
            self.pause(self.until_over(at, since, now).min(wait), then);
        } else {
            self.give_up(at, since, result, unknown, now);
        }
    }

    /// Repeats the request after its wait, and once more at the end of the time.
    fn wait_for_budget(&mut self, at: usize, reason: String, wait: Duration, now: Duration) {
        let (pod, most) = (&self.targets[at].pod, self.options.budget_timeout);
        let until = *self.budgets.entry(at).or_insert_with(|| {
            self.waits = (!most.is_zero())
                .then(|| format!("up to {most:?} for a disruption budget of {pod}: {reason}"));
            now.saturating_add(most)
        });
        let left = until.saturating_sub(now);
        if left.is_zero() {
            return self.refused(at, reason);
        }
        self.pause(wait.max(SHORTEST_WAIT).min(left), State::Refreshing);
    }

    /// The server does it.
    fn heeded(&mut self, at: usize, now: Duration) {
        self.is_changed = true;
        self.wait_for(at, StepResult::Removed, now);
    }

    fn wait_for(&mut self, at: usize, result: StepResult, now: Duration) {
        self.state = State::Waiting { at, since: now, wait: SOON, result };
    }

    fn until_over(&self, at: usize, since: Duration, now: Duration) -> Duration {
        let timeout = self.options.timeout(&self.targets[at]);
        since.saturating_add(timeout).saturating_sub(now)
    }

    fn goes_on_waiting(&self, at: usize, since: Duration, now: Duration) -> bool {
        !self.until_over(at, since, now).is_zero()
    }

    /// Does not wait for a victim any longer.
    fn give_up(
        &mut self,
        at: usize,
        since: Duration,
        result: StepResult,
        unknown: Option<String>,
        now: Duration,
    ) {
        let took = now.saturating_sub(since);
        self.still_goes(at, took, result, unknown);
        if self.options.goes_on {
            self.state = State::Refreshing;
        } else {
            let pod = &self.targets[at].pod;
            self.stop(format!("{pod} is still going after {} s", took.as_secs()));
        }
    }

    fn refused(&mut self, at: usize, reason: String) {
        self.conclude(at, StepResult::Refused, Some(reason), None);
        self.stop(format!("{} stays", self.targets[at].pod));
    }

    /// Stops if the result of a request is unknown.
    fn lost(&mut self, at: usize, because: String) {
        self.is_changed = true;
        self.conclude(at, StepResult::Unknown, Some(because), None);
        self.stop(format!("whether {} is removed is not known", self.targets[at].pod));
    }

    fn still_goes(
        &mut self,
        at: usize,
        took: Duration,
        result: StepResult,
        unknown: Option<String>,
    ) {
        let others = || "it was deleted by another client".to_owned();
        let because = unknown.or((result == StepResult::AlreadyGone).then(others));
        self.conclude(at, StepResult::Going, because, Some(took));
    }

    /// Stops in the middle of something, and says what that leaves behind.
    fn break_off(&mut self, state: &State, reason: String, now: Duration) {
        let mut inside = state;
        while let State::Pausing { then, .. } = inside {
            inside = then;
        }
        match inside {
            State::Waiting { at, since, result, .. } | State::Leaving { at, since, result, .. } => {
                self.still_goes(*at, now.saturating_sub(*since), *result, None);
            }
            State::Clarifying { at, doubt, reason, .. } if doubt.is_open() => {
                self.lost(*at, reason.clone());
            }
            _ => {}
        }
        self.stop(reason);
    }

    fn pause(&mut self, wait: Duration, then: State) {
        self.state = State::Pausing { wait, then: Box::new(then) };
    }

    fn conclude(
        &mut self,
        at: usize,
        result: StepResult,
        because: Option<String>,
        took: Option<Duration>,
    ) {
        self.steps[at] = Step { result, because, took };
        self.news.push(at);
    }

    fn stop(&mut self, reason: String) {
        self.stopped = Some(reason);
        self.state = State::Ended;
    }
}

fn longer(wait: Duration) -> Duration {
    wait.saturating_mul(2).min(SELDOM)
}
