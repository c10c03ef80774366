//! The steps: from what came of one, which is the next.

use super::{Ask, Fresh, Looked, Manner, Said, Sight, StepResult, Target, Told};
use std::collections::BTreeSet;
use std::time::Duration;

/// How often a pod that goes is looked at: at first, and at last.
const SOON: Duration = Duration::from_millis(500);
const SELDOM: Duration = Duration::from_secs(2);

/// When a budget is asked again that does not say when, as kubectl drain does.
const BUDGET_WAIT: Duration = Duration::from_secs(5);

/// The shortest wait before anything is asked again.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// How often it is asked what became of a request that was not answered.
const CLARIFY_AT_MOST: u32 = 5;

/// A victim and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What became of it.
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
    /// Tells whether it may have been heeded.
    fn is_open(self) -> bool {
        matches!(self, Self::Failed | Self::NoAnswer)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Looking,
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
    manner: Manner,
    steps: Vec<Step>,
    state: State,
    is_changed: bool,
    stopped: Option<String>,
    /// A victim that a budget protects, and until when that is waited for.
    budget: Option<(usize, Duration)>,
    news: Vec<usize>,
}

impl Apply {
    /// Begins.
    pub fn new(targets: Vec<Target>, manner: Manner) -> Self {
        let left = Step { result: StepResult::Left, because: None, took: None };
        Self {
            steps: vec![left; targets.len()],
            targets,
            manner,
            state: State::Looking,
            is_changed: false,
            stopped: None,
            budget: None,
            news: Vec::new(),
        }
    }

    /// Returns what is to be done next.
    pub fn ask(&self) -> Ask {
        match &self.state {
            State::Looking | State::Leaving { .. } => Ask::Look,
            State::Removing(at) => Ask::Remove(*at),
            State::Clarifying { at, .. } | State::Waiting { at, .. } => Ask::Find(*at),
            State::Pausing { wait, .. } => Ask::Pause(*wait),
            State::Ended => Ask::End,
        }
    }

    /// Takes in what came of it, and when: a time since the beginning.
    pub fn tell(&mut self, told: Told, now: Duration) {
        let state = std::mem::replace(&mut self.state, State::Ended);
        match (state, told) {
            (State::Ended, _) => {}
            (state, Told::Interrupted(who)) => self.interrupt(&state, who, now),
            (State::Pausing { then, .. }, _) => self.state = *then,
            (State::Looking, Told::Looked(looked)) => self.plan(&looked),
            (State::Leaving { at, since, wait, result }, Told::Looked(looked)) => {
                let is_there = looked.there.contains(&self.targets[at].uid);
                if is_there && self.goes_on_waiting(at, since, now) {
                    let then = State::Leaving { at, since, wait: longer(wait), result };
                    self.pause(self.until_over(at, since, now).min(wait), then);
                } else if is_there {
                    self.give_up(at, now.saturating_sub(since), None);
                } else {
                    self.conclude(at, result, None, Some(now.saturating_sub(since)));
                    self.plan(&looked);
                }
            }
            (State::Removing(at), Told::Answered(said)) => self.answered(at, said, now),
            (State::Clarifying { at, doubt, reason, left }, Told::Found(found)) => {
                self.clarify(at, doubt, reason, left, found, now);
            }
            (State::Waiting { at, since, wait }, Told::Found(found)) => {
                self.waited(at, since, wait, found, now);
            }
            (state, _) => self.state = state,
        }
    }

    /// Returns the places of the victims of whom something new is known since this was asked.
    pub fn news(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.news)
    }

    /// Returns the victims.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Returns what became of them.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns why it stopped before the pod fits.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Tells whether something was changed, or may have been.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Chooses the next victim, if one is needed.
    fn plan(&mut self, looked: &Looked) {
        let wanted = match &looked.fresh {
            Fresh::Fits => return self.finish(&looked.there),
            Fresh::Wants(wanted) => wanted,
            Fresh::Helpless(reason) => {
                return self.stop(format!("nobody would be killed for the pod any more: {reason}"));
            }
            Fresh::Unknown(reason) => {
                return self.stop(format!("the node could not be looked at again: {reason}"));
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
                    Some(_) => format!(
                        "{pod} would have to go, and it is another pod than the one that was shown"
                    ),
                    None => format!("{pod} would have to go, and was not in the plan"),
                });
            };
            if self.steps[at].result == StepResult::Left {
                next = next.or(Some(at));
            }
        }
        match next {
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

    fn answered(&mut self, at: usize, said: Said, now: Duration) {
        let doubt = |doubt, reason| State::Clarifying { at, doubt, reason, left: CLARIFY_AT_MOST };
        match said {
            Said::Accepted => self.wait_for(at, now),
            Said::NotFound { reason } => self.state = doubt(Doubt::NotFound, reason),
            Said::Conflict { reason } => self.state = doubt(Doubt::Conflict, reason),
            Said::Unclear { reason, is_over: true } => self.state = doubt(Doubt::Failed, reason),
            Said::Unclear { reason, is_over: false } => {
                self.state = doubt(Doubt::NoAnswer, reason);
            }
            Said::Budget { message, causes, retry_after } => {
                let reason = Said::of_budget(&message, &causes);
                let until = match self.budget {
                    Some((of, until)) if of == at => until,
                    _ => now.saturating_add(self.manner.budget_timeout),
                };
                self.budget = Some((at, until));
                let left = until.saturating_sub(now);
                let wait = retry_after.unwrap_or(BUDGET_WAIT.min(left)).max(SHORTEST_WAIT);
                if wait > left {
                    self.refused(at, reason);
                } else {
                    self.pause(wait, State::Looking);
                }
            }
            Said::Refused { reason } | Said::Unsent { reason } => self.refused(at, reason),
        }
    }

    fn clarify(
        &mut self,
        at: usize,
        doubt: Doubt,
        reason: String,
        left: u32,
        found: Result<Sight, String>,
        now: Duration,
    ) {
        let leaving = |result| State::Leaving { at, since: now, wait: SOON, result };
        match (found, doubt) {
            (Ok(Sight::Other { uid }), Doubt::Conflict) => {
                let because = format!("its UID is {uid} now");
                self.conclude(at, StepResult::Replaced, Some(because), None);
                self.stop(format!("{} is not the pod that was shown", self.targets[at].pod));
            }
            (Ok(Sight::Gone | Sight::Other { .. }), _) if doubt.is_open() => {
                self.is_changed = true;
                self.state = leaving(StepResult::Removed);
            }
            (Ok(Sight::Gone | Sight::Other { .. }), _) => {
                self.state = leaving(StepResult::AlreadyGone);
            }
            (Ok(Sight::There { is_going: true, .. }), _) if doubt.is_open() => {
                self.wait_for(at, now);
            }
            (Err(_), _) | (Ok(Sight::There { .. }), Doubt::NoAnswer) if left > 1 => {
                let then = State::Clarifying { at, doubt, reason, left: left - 1 };
                self.pause(SOON, then);
            }
            (Ok(Sight::There { .. }), Doubt::NoAnswer) => {
                self.lost(at, format!("{reason}; it is still there, and may go yet"));
            }
            (Ok(Sight::There { .. }), _) => self.refused(at, reason),
            (Err(error), _) if doubt.is_open() => {
                self.lost(at, format!("{reason}; and it could not be looked at: {error}"));
            }
            (Err(error), _) => {
                self.refused(at, format!("{reason}; and it could not be looked at: {error}"));
            }
        }
    }

    fn waited(
        &mut self,
        at: usize,
        since: Duration,
        wait: Duration,
        found: Result<Sight, String>,
        now: Duration,
    ) {
        let unknown = match found {
            Ok(Sight::There { has_ended: false, .. }) => None,
            Ok(_) => {
                let result = StepResult::Removed;
                self.state = State::Leaving { at, since, wait: SOON, result };
                return;
            }
            Err(error) => Some(format!("it could not be looked at: {error}")),
        };
        if self.goes_on_waiting(at, since, now) {
            let then = State::Waiting { at, since, wait: longer(wait) };
            self.pause(self.until_over(at, since, now).min(wait), then);
        } else {
            self.give_up(at, now.saturating_sub(since), unknown);
        }
    }

    fn wait_for(&mut self, at: usize, now: Duration) {
        self.is_changed = true;
        self.state = State::Waiting { at, since: now, wait: SOON };
    }

    fn until_over(&self, at: usize, since: Duration, now: Duration) -> Duration {
        let patience = self.manner.patience(&self.targets[at]);
        since.saturating_add(patience).saturating_sub(now)
    }

    fn goes_on_waiting(&self, at: usize, since: Duration, now: Duration) -> bool {
        !self.until_over(at, since, now).is_zero()
    }

    /// Does not wait for a victim any longer.
    fn give_up(&mut self, at: usize, took: Duration, unknown: Option<String>) {
        self.conclude(at, StepResult::Going, unknown, Some(took));
        if self.manner.goes_on {
            self.state = State::Looking;
        } else {
            let pod = &self.targets[at].pod;
            self.stop(format!("{pod} is still going after {} s", took.as_secs()));
        }
    }

    fn refused(&mut self, at: usize, reason: String) {
        self.conclude(at, StepResult::Refused, Some(reason), None);
        self.stop(format!("{} stays", self.targets[at].pod));
    }

    /// Stops where nobody knows what became of a request.
    fn lost(&mut self, at: usize, because: String) {
        self.is_changed = true;
        self.conclude(at, StepResult::Unknown, Some(because), None);
        self.stop(format!("whether {} is removed is not known", self.targets[at].pod));
    }

    fn interrupt(&mut self, state: &State, who: &'static str, now: Duration) {
        let mut inside = state;
        while let State::Pausing { then, .. } = inside {
            inside = then;
        }
        match inside {
            State::Waiting { at, since, .. }
            | State::Leaving { at, since, result: StepResult::Removed, .. } => {
                self.conclude(*at, StepResult::Going, None, Some(now.saturating_sub(*since)));
            }
            State::Clarifying { at, doubt, reason, .. } if doubt.is_open() => {
                self.lost(*at, reason.clone());
            }
            _ => {}
        }
        self.stop(format!("interrupted by {who}"));
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
