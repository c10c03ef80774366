//! A duration with the sum that it results from.

use kq_k8s::duration::GoDuration;
use serde::Serialize;
use std::fmt;

/// A length of time, and how it comes about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bound {
    /// How long.
    pub after: GoDuration,
    /// The sum, with its numbers.
    pub formula: String,
}

/// A sum in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    nanoseconds: i128,
    terms: Vec<String>,
}

const SECOND: i128 = 1_000_000_000;

/// What ends a command that the runtime does not end.
const LIMIT: &str = "runtimeRequestTimeout";

impl Sum {
    /// Returns it with some seconds more; nothing is not named.
    pub fn plus(self, name: &str, seconds: i64) -> Self {
        self.add(i128::from(seconds) * SECOND, || format!("{name} {seconds}"))
    }

    /// Returns it with some seconds more, several times.
    pub fn plus_times(self, name: &str, seconds: i64, times: i64) -> Self {
        if times == 1 {
            return self.plus(name, seconds);
        }
        let more = (i128::from(seconds) * i128::from(times)).saturating_mul(SECOND);
        self.add(more, || format!("{name} {seconds} x {times}"))
    }

    /// Returns it with so many times more after which the kubelet ends a request to the runtime.
    pub fn plus_request_timeouts(self, length: GoDuration, times: i64) -> Self {
        let more = i128::from(length.0) * i128::from(times);
        self.add(more, || match times {
            1 => format!("{LIMIT} {length}"),
            times => format!("{LIMIT} {length} x {times}"),
        })
    }

    /// Returns the larger one, which decides.
    pub fn or_later(self, other: Self) -> Self {
        if other.nanoseconds > self.nanoseconds { other } else { self }
    }

    /// Returns the length; one that is too long to be counted is the longest that can be.
    pub fn bound(&self) -> Bound {
        let clamped = self.nanoseconds.clamp(i64::MIN.into(), i64::MAX.into());
        let after = GoDuration(i64::try_from(clamped).unwrap_or(i64::MAX));
        let formula = match self.terms.as_slice() {
            [] => after.to_string(),
            terms => format!("{} = {after}", terms.join(" + ")),
        };
        Bound { after, formula }
    }

    fn add(mut self, more: i128, term: impl FnOnce() -> String) -> Self {
        if more != 0 {
            self.nanoseconds = self.nanoseconds.saturating_add(more);
            self.terms.push(term());
        }
        self
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.after.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_name_their_parts() {
        let sum = Sum::default().plus("delay", 0).plus_times("period", 10, 3).plus("timeout", 1);
        let bound = sum.clone().bound();
        assert_eq!(bound.after.to_string(), "31s");
        assert_eq!(bound.formula, "period 10 x 3 + timeout 1 = 31s");
        assert_eq!(Sum::default().bound().formula, "0s");
        assert_eq!(
            sum.or_later(Sum::default().plus("delay", 60)).bound().formula,
            "delay 60 = 1m0s"
        );
        let long = Sum::default().plus_times("period", i64::MAX, i64::MAX);
        assert_eq!(long.bound().after, GoDuration(i64::MAX));
    }
}
