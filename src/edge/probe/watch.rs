//! The durations of the parts of an attempt.

use crate::probe::{Phase, PhaseTime};
use std::time::{Duration, Instant};

/// Measures the parts of an attempt one after the other; times of a repeated part are added up.
#[derive(Debug)]
pub struct Stopwatch {
    done: Vec<PhaseTime>,
    running: Option<(Phase, Instant)>,
}

impl Stopwatch {
    /// Starts with no part running.
    pub fn start() -> Self {
        Self { done: Vec::new(), running: None }
    }

    /// Ends the part that is running and begins another.
    pub fn enter(&mut self, phase: Phase) {
        self.finish();
        self.running = Some((phase, Instant::now()));
    }

    /// Ends the part that is running.
    pub fn finish(&mut self) {
        if let Some((phase, since)) = self.running.take() {
            self.add(phase, since.elapsed(), false);
        }
    }

    /// Returns the parts; one that is still running has not ended with the attempt.
    pub fn phases(mut self) -> Vec<PhaseTime> {
        if let Some((phase, since)) = self.running.take() {
            self.add(phase, since.elapsed(), true);
        }
        self.done
    }

    fn add(&mut self, phase: Phase, took: Duration, unfinished: bool) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        match self.done.iter_mut().find(|done| done.phase == phase) {
            Some(before) => {
                before.took_us = before.took_us.saturating_add(took_us);
                before.unfinished |= unfinished;
            }
            None => self.done.push(PhaseTime { phase, took_us, unfinished }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_ended_is_marked() {
        let mut watch = Stopwatch::start();
        watch.enter(Phase::Lookup);
        watch.enter(Phase::Connect);
        watch.enter(Phase::Lookup);
        watch.enter(Phase::Connect);
        let phases = watch.phases();
        let seen: Vec<_> = phases.iter().map(|part| (part.phase, part.unfinished)).collect();
        assert_eq!(seen, [(Phase::Lookup, false), (Phase::Connect, true)]);
    }
}
