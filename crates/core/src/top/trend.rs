//! The trends of a view: rates between two frames, kept in rings of a fixed size.

use super::frame::{Body, Counters, Frame};
use kq_facts::timestamp::Timestamp;
use std::collections::{BTreeMap, VecDeque};

/// The number of samples of each row.
const SAMPLES: usize = 60;

/// The trends of all rows of the last frame. A row that is gone is forgotten.
#[derive(Clone, Debug, Default)]
pub struct Trends {
    rows: BTreeMap<String, Ring>,
}

/// The rates of a row between two frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Thousandths of a CPU.
    pub milli_cpu: u64,
    /// Throttled periods and all periods; `None`: no quota was enforced.
    pub throttled: Option<(u64, u64)>,
}

#[derive(Clone, Debug)]
struct Ring {
    at: Timestamp,
    counters: Counters,
    samples: VecDeque<Sample>,
}

impl Trends {
    /// Adds the counters of a frame.
    pub fn add(&mut self, frame: &Frame) {
        let Body::Pods(rows) = &frame.body else { return };
        let totals = frame.totals.counters.iter().map(|it| (&frame.totals.key, it));
        let rows = rows.iter().map(|row| (&row.key, &row.counters));
        let mut known = std::mem::take(&mut self.rows);
        for (key, counters) in totals.chain(rows) {
            let mut ring = known.remove(key).unwrap_or_else(|| Ring {
                at: frame.at,
                counters: counters.clone(),
                samples: VecDeque::new(),
            });
            ring.add(frame.at, counters);
            self.rows.insert(key.clone(), ring);
        }
    }

    /// Returns the newest rates of a row; `None`: there was one frame.
    pub fn last(&self, key: &str) -> Option<Sample> {
        self.rows.get(key)?.samples.back().copied()
    }

    /// Returns the CPU usage of a row in thousandths, the oldest first, at most `most` values.
    pub fn cpu(&self, key: &str, most: usize) -> Vec<u64> {
        let samples = self.rows.get(key).map(|ring| &ring.samples);
        let samples = samples.into_iter().flatten().map(|sample| sample.milli_cpu);
        let all: Vec<u64> = samples.collect();
        all[all.len().saturating_sub(most)..].to_vec()
    }
}

impl Ring {
    fn add(&mut self, at: Timestamp, counters: &Counters) {
        let elapsed_usec = u64::try_from(at.since(self.at) / 1_000).unwrap_or(0);
        let before = std::mem::replace(&mut self.counters, counters.clone());
        self.at = at;
        let difference = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        // A counter that went back is of another cgroup of the same name.
        let used = difference(self.counters.cpu_usec, before.cpu_usec);
        let Some(used) = used.filter(|_| elapsed_usec > 0) else { return };
        let milli_cpu = u128::from(used) * 1000 / u128::from(elapsed_usec);
        let throttled = difference(self.counters.throttled_periods, before.throttled_periods);
        let periods = difference(self.counters.periods, before.periods);
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample {
            milli_cpu: u64::try_from(milli_cpu).unwrap_or(u64::MAX),
            throttled: throttled.zip(periods).filter(|(_, periods)| *periods > 0),
        });
    }
}

/// Returns a line of blocks, the highest for the largest value or `whole`.
pub(super) fn sparkline(values: &[u64], whole: u64) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0).max(whole).max(1);
    let level = |value: &u64| u128::from(*value) * 7 / u128::from(most);
    values.iter().map(|value| LEVELS[usize::try_from(level(value)).unwrap_or(0).min(7)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::frame::{Panel, Row, Totals};

    fn frame(seconds: i64, cpu_usec: u64) -> Frame {
        let counters = Counters { cpu_usec: Some(cpu_usec), ..Counters::default() };
        let row = Row {
            key: "/a".to_owned(),
            label: "a".to_owned(),
            pod: None,
            is_pod: true,
            qos: "Burstable".to_owned(),
            counters,
            request_milli_cpu: None,
            share: None,
            restarts: None,
        };
        Frame {
            at: Timestamp::from_seconds(seconds),
            node: None,
            panel: Panel::Pods,
            totals: Totals::default(),
            body: Body::Pods(vec![row]),
            notes: Vec::new(),
        }
    }

    #[test]
    fn rates_are_those_between_two_frames() {
        let mut trends = Trends::default();
        trends.add(&frame(0, 1_000_000));
        assert_eq!(trends.last("/a"), None, "one frame has no rate");
        trends.add(&frame(2, 2_000_000));
        assert_eq!(trends.last("/a"), Some(Sample { milli_cpu: 500, throttled: None }));
        trends.add(&frame(3, 0));
        assert_eq!(trends.cpu("/a", 9), [500], "a counter that went back is no rate");
        for second in 0..200_u32 {
            trends.add(&frame(4 + i64::from(second), u64::from(second)));
        }
        assert_eq!(trends.cpu("/a", 1_000).len(), SAMPLES);
    }

    #[test]
    fn sparklines_are_as_high_as_their_values() {
        assert_eq!(sparkline(&[0, 7, 14], 14), "▁▄█");
        assert_eq!(sparkline(&[0, 0], 0), "▁▁");
        assert_eq!(sparkline(&[], 5), "");
    }
}
