//! The layout of the time lines of a probe: when something happens at the earliest and at the latest, and the moments
//! of the probes.

use crate::k8s::duration::GoDuration;

/// A span on a time line; all numbers are parts of its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub start: f64,
    pub width: f64,
}

/// As many moments of probes are drawn; with more they are a grey band.
const MOST_TICKS: usize = 60;

/// Reads a length of time such as `1m31s`, in seconds.
pub fn seconds(text: &str) -> Option<f64> {
    let duration: GoDuration = text.parse().ok()?;
    Some(duration.0 as f64 / GoDuration::SECOND.0 as f64)
}

/// Returns the length of a time line for these times: what is longest, and a little more.
pub fn length(times: impl IntoIterator<Item = f64>) -> f64 {
    let longest = times.into_iter().fold(0.0, f64::max);
    nice(longest * 1.04)
}

/// Rounds up to a number that a reader can divide.
fn nice(seconds: f64) -> f64 {
    const STEPS: [f64; 12] =
        [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0];
    // Of the first step that divides it into at most twelve parts.
    let step = STEPS.iter().find(|step| seconds / **step <= 12.0).copied().unwrap_or(36_000.0);
    (seconds / step).ceil().max(1.0) * step
}

/// Returns the span between two times.
pub fn span(earliest: f64, latest: f64, length: f64) -> Span {
    let start = (earliest / length).clamp(0.0, 1.0);
    let end = (latest / length).clamp(start, 1.0);
    Span { start, width: end - start }
}

/// Returns where probes are: after the delay, and then once each period; none where they would be too many to be seen.
pub fn ticks(delay: f64, period: f64, length: f64) -> Vec<f64> {
    if period <= 0.0 || (length - delay) / period > MOST_TICKS as f64 {
        return Vec::new();
    }
    let times = (0..).map(|at| delay + f64::from(at) * period);
    times.take_while(|time| *time <= length).map(|time| time / length).collect()
}

/// Writes a number of seconds on an axis: `45s`, `1m30s`.
pub fn axis(seconds: f64) -> String {
    GoDuration((seconds * GoDuration::SECOND.0 as f64) as i64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_lengths_are_round() {
        assert_eq!(
            [seconds("1m31s"), seconds("0s"), seconds("soon")],
            [Some(91.0), Some(0.0), None]
        );
        for (longest, expected) in
            [(91.0, 100.0), (16.0, 18.0), (0.0, 1.0), (6.0, 7.0), (3600.0, 4500.0)]
        {
            assert_eq!(length([longest, 0.0]), expected, "{longest}");
        }
        assert_eq!(axis(90.0), "1m30s");
    }

    #[test]
    fn spans_are_within_the_line() {
        assert_eq!(span(20.0, 30.0, 100.0), Span { start: 0.2, width: 0.3 - 0.2 });
        assert_eq!(span(90.0, 200.0, 100.0), Span { start: 0.9, width: 1.0 - 0.9 });
    }

    #[test]
    fn probes_are_drawn_where_they_can_be_told_apart() {
        assert_eq!(ticks(5.0, 10.0, 30.0), [5.0 / 30.0, 0.5, 25.0 / 30.0]);
        assert!(ticks(0.0, 1.0, 1000.0).is_empty());
        assert!(ticks(0.0, 0.0, 1000.0).is_empty());
    }
}
