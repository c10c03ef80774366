//! The steps of a worker in time.

use crate::facts::timestamp::Timestamp;
use crate::k8s::duration::GoDuration;

const SECOND: i64 = 1_000_000_000;

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
    pub fn new(first_step: Timestamp, period: GoDuration) -> Self {
        let period = if period.0 > 0 { period.0 } else { SECOND };
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(tenths: i64) -> Timestamp {
        Timestamp(tenths * SECOND / 10)
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
            let mut ticker = Ticker::new(at(0), GoDuration::SECOND);
            for (end, next) in steps {
                assert_eq!(ticker.next(at(*end)), at(*next), "{name}: {end}");
            }
        }
    }

    #[test]
    fn odd_numbers_do_no_harm() {
        assert_eq!(Ticker::new(at(0), GoDuration(0)).next(at(0)), at(10), "no endless loop");
        let mut end = Ticker::new(Timestamp(i64::MAX - 1), GoDuration(i64::MAX));
        assert_eq!(end.next(Timestamp(i64::MAX)), Timestamp(i64::MAX));
        assert_eq!(Ticker::new(Timestamp(i64::MIN), GoDuration::SECOND).next(at(0)), at(0));
    }
}
