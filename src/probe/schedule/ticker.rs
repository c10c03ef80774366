//! The steps of a worker in time.

use crate::facts::timestamp::Timestamp;
use serde::Serialize;

const SECOND: i64 = 1_000_000_000;

/// When a worker makes its first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FirstStep {
    /// At the earliest.
    pub earliest: Timestamp,
    /// Before this, or at once where both are the same.
    pub latest: Timestamp,
}

/// Returns when a worker makes its first step: at once, or after a random part of its period where the
/// kubelet has started less than a period ago, so that not all probes come at the same moment.
pub fn first_step(kubelet_start: Timestamp, created: Timestamp, period_seconds: i32) -> FirstStep {
    let period = i64::from(period_seconds).saturating_mul(SECOND);
    let waits = period > created.since(kubelet_start);
    let latest = if waits { created.plus(period.max(0)) } else { created };
    FirstStep { earliest: created, latest }
}

/// The ticks between the steps.
///
/// A step that takes longer than a period does not lose all the ticks: the first of them waits, and the
/// next step begins right after. The others are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticker {
    start: Timestamp,
    period: i64,
    taken: Timestamp,
}

impl Ticker {
    /// Begins with the first step. A period that is not positive is taken as a second; no kubelet
    /// takes such a probe.
    pub fn new(first_step: Timestamp, period_seconds: i32) -> Self {
        let period = i64::from(period_seconds).saturating_mul(SECOND);
        let period = if period > 0 { period } else { SECOND };
        Self { start: first_step, period, taken: first_step }
    }

    /// Returns when the next step begins, after one that ended now.
    pub fn next(&mut self, now: Timestamp) -> Timestamp {
        let waited = self.taken.since(self.start).max(0);
        let ticks = (waited / self.period).saturating_add(1);
        let tick = self.start.plus(ticks.saturating_mul(self.period));
        // What ticked while the step went on is there to be taken; later ticks found it full.
        self.taken = tick.max(now);
        self.taken
    }

    /// Begins anew with a step that was asked for from outside: ticks that were waiting are gone.
    pub fn reset(&mut self, now: Timestamp) {
        (self.start, self.taken) = (now, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(tenths: i64) -> Timestamp {
        Timestamp(tenths * SECOND / 10)
    }

    #[test]
    fn a_young_kubelet_waits_a_part_of_the_period() {
        for (name, kubelet_start, created, period, latest) in [
            ("old", 0, 1000, 10, 1000),
            ("young", 0, 50, 10, 150),
            ("just started", 0, 0, 10, 100),
            ("exactly a period", 0, 100, 10, 100),
            ("its clock was set back", 100, 0, 10, 100),
        ] {
            let got = first_step(at(kubelet_start), at(created), period);
            assert_eq!(got, FirstStep { earliest: at(created), latest: at(latest) }, "{name}");
        }
    }

    #[test]
    fn one_tick_waits_and_the_others_are_lost() {
        // When each step ends, and when the next one begins, in tenths of a second.
        for (name, steps) in [
            ("quick", &[(1, 10), (11, 20), (20, 30)][..]),
            ("as long as a period", &[(10, 10), (20, 20)]),
            ("longer, then quick again", &[(15, 15), (16, 20), (21, 30)]),
            ("much longer", &[(55, 55), (56, 60), (61, 70)]),
            ("always longer", &[(15, 15), (30, 30), (45, 45), (60, 60)]),
        ] {
            let mut ticker = Ticker::new(at(0), 1);
            for (end, next) in steps {
                assert_eq!(ticker.next(at(*end)), at(*next), "{name}: {end}");
            }
        }
    }

    #[test]
    fn a_trigger_begins_anew() {
        let mut ticker = Ticker::new(at(0), 1);
        ticker.reset(at(14));
        assert_eq!(ticker.next(at(15)), at(24));
        assert_eq!(Ticker::new(at(0), 0).next(at(0)), at(10), "no endless loop");
        let mut end = Ticker::new(Timestamp(i64::MAX - 1), i32::MAX);
        assert_eq!(end.next(Timestamp(i64::MAX)), Timestamp(i64::MAX));
        assert_eq!(Ticker::new(Timestamp(i64::MIN), 1).next(at(0)), at(0));
    }
}
