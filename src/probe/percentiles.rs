//! The durations of repeated probes.

use serde::Serialize;

/// How long probes took, in microseconds; a percentile is the smallest time that so many of a hundred did
/// not exceed (nearest rank).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Percentiles {
    /// How many there were.
    pub count: usize,
    /// The shortest.
    pub min_us: u64,
    /// Half of them.
    pub p50_us: u64,
    /// Nine of ten.
    pub p90_us: u64,
    /// Ninety-nine of a hundred.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Percentiles {
    /// Returns those of some times; `None` of none.
    pub fn of(mut times_us: Vec<u64>) -> Option<Self> {
        times_us.sort_unstable();
        let count = times_us.len();
        let rank = |percent: usize| {
            let at = (count * percent).div_ceil(100).saturating_sub(1);
            times_us.get(at).copied()
        };
        Some(Self {
            count,
            min_us: *times_us.first()?,
            p50_us: rank(50)?,
            p90_us: rank(90)?,
            p99_us: rank(99)?,
            max_us: *times_us.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_nearest() {
        assert_eq!(Percentiles::of(Vec::new()), None);
        let one = Percentiles::of(vec![7]).expect("one");
        assert_eq!((one.min_us, one.p50_us, one.p99_us, one.max_us), (7, 7, 7, 7));
        let hundred = Percentiles::of((1..=100).rev().collect()).expect("a hundred");
        let got = (hundred.min_us, hundred.p50_us, hundred.p90_us, hundred.p99_us, hundred.max_us);
        assert_eq!(got, (1, 50, 90, 99, 100));
        let three = Percentiles::of(vec![1, 2, 3]).expect("three");
        assert_eq!((three.p50_us, three.p90_us), (2, 3));
    }
}
