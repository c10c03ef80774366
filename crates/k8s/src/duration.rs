//! Durations as Go writes them: `1h2m3.5s`, `100ms`, `2m0s`.
//!
//! The rules are those of `time.ParseDuration` and `Duration.String` in Go's `time` package.

use crate::go_text::quote;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A length of time in nanoseconds, negative allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(pub i64);

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// Not of the form, or too long to be counted in nanoseconds.
    #[error("time: invalid duration {}", quote(.0))]
    Invalid(String),
    /// A number without its unit.
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(String),
    /// A unit that does not exist.
    #[error("time: unknown unit {} in duration {}", quote(unit), quote(text))]
    UnknownUnit { unit: String, text: String },
}

impl GoDuration {
    pub const MICROSECOND: Self = Self(1_000);
    pub const MILLISECOND: Self = Self(1_000_000);
    pub const SECOND: Self = Self(1_000_000_000);
    pub const MINUTE: Self = Self(60 * Self::SECOND.0);

    /// Returns the length in whole seconds, rounded towards zero.
    pub fn seconds(self) -> i64 {
        self.0 / Self::SECOND.0
    }

    /// Returns the length in whole microseconds, rounded towards zero.
    pub fn microseconds(self) -> i64 {
        self.0 / Self::MICROSECOND.0
    }
}

impl FromStr for GoDuration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || ParseDurationError::Invalid(text.to_owned());
        let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: i128 = 0;
        while !rest.is_empty() {
            let whole = take_while(&mut rest, |c| c.is_ascii_digit());
            let has_point = rest.starts_with('.');
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let fraction =
                if has_point { take_while(&mut rest, |c| c.is_ascii_digit()) } else { "" };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let unit = take_while(&mut rest, |c| c != '.' && !c.is_ascii_digit());
            if unit.is_empty() {
                return Err(ParseDurationError::MissingUnit(text.to_owned()));
            }
            let scale = nanoseconds_in(unit).ok_or_else(|| ParseDurationError::UnknownUnit {
                unit: unit.to_owned(),
                text: text.to_owned(),
            })?;
            let whole: i128 =
                if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
            total = total
                .checked_add(whole.checked_mul(i128::from(scale)).ok_or_else(invalid)?)
                .and_then(|sum| sum.checked_add(fraction_of(fraction, scale)))
                .filter(|sum| *sum <= 1 << 63)
                .ok_or_else(invalid)?;
        }
        let signed = if text.starts_with('-') { -total } else { total };
        i64::try_from(signed).map(Self).map_err(|_| invalid())
    }
}

/// Splits off the longest start whose characters all qualify.
fn take_while<'a>(rest: &mut &'a str, qualifies: impl Fn(char) -> bool) -> &'a str {
    let end = rest.find(|c| !qualifies(c)).unwrap_or(rest.len());
    let (taken, left) = rest.split_at(end);
    *rest = left;
    taken
}

/// Returns how many nanoseconds a unit has; both micro signs of Unicode are accepted.
fn nanoseconds_in(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => GoDuration::MICROSECOND.0,
        "ms" => GoDuration::MILLISECOND.0,
        "s" => GoDuration::SECOND.0,
        "m" => GoDuration::MINUTE.0,
        "h" => 60 * GoDuration::MINUTE.0,
        _ => return None,
    })
}

/// Returns the fraction of a unit as Go computes it: in floats, cut to whole nanoseconds.
///
/// Digits are dropped once they no longer fit 63 bits.
fn fraction_of(digits: &str, scale: i64) -> i128 {
    let (mut value, mut divisor) = (0_i64, 1_f64);
    for digit in digits.bytes().map(|byte| i64::from(byte - b'0')) {
        let Some(next) = value.checked_mul(10).and_then(|tens| tens.checked_add(digit)) else {
            break;
        };
        value = next;
        divisor *= 10.0;
    }
    if value == 0 { 0 } else { (value as f64 * (scale as f64 / divisor)) as i128 }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match length {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{length}ns"),
            1_000..1_000_000 => write!(f, "{}\u{b5}s", with_fraction(length, 3)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", with_fraction(length, 6)),
            _ => {
                let minutes = length / GoDuration::MINUTE.0.unsigned_abs();
                let seconds = length % GoDuration::MINUTE.0.unsigned_abs();
                match (minutes / 60, minutes % 60) {
                    (0, 0) => {}
                    (0, minutes) => write!(f, "{minutes}m")?,
                    (hours, minutes) => write!(f, "{hours}h{minutes}m")?,
                }
                write!(f, "{}s", with_fraction(seconds, 9))
            }
        }
    }
}

/// Returns `value / 10^places` without trailing zeros.
fn with_fraction(value: u64, places: usize) -> String {
    let text = format!("{value:0width$}", width = places + 1);
    let (whole, fraction) = text.split_at(text.len() - places);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

crate::schema_as!(GoDuration, String);

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown() {
        let cases: &[(&str, &str, Result<&str, &str>)] = &[
            ("zero", "0", Ok("0s")),
            ("milliseconds", "100ms", Ok("100ms")),
            ("micro sign", "100\u{b5}s", Ok("100\u{b5}s")),
            ("greek mu", "100\u{3bc}s", Ok("100\u{b5}s")),
            ("all units", "1h2m3.5s", Ok("1h2m3.5s")),
            ("minutes", "5m", Ok("5m0s")),
            ("hours", "4h", Ok("4h0m0s")),
            ("fraction of an hour", "1.5h", Ok("1h30m0s")),
            ("negative", "-1.5s", Ok("-1.5s")),
            ("no whole part", ".5s", Ok("500ms")),
            ("nanoseconds", "7ns", Ok("7ns")),
            ("longest", "9223372036854775807ns", Ok("2562047h47m16.854775807s")),
            ("shortest", "-9223372036854775808ns", Ok("-2562047h47m16.854775808s")),
            (
                "too long",
                "9223372036854775808ns",
                Err("time: invalid duration \"9223372036854775808ns\""),
            ),
            ("empty", "", Err("time: invalid duration \"\"")),
            ("number", "5", Err("time: missing unit in duration \"5\"")),
            ("day", "1d", Err("time: unknown unit \"d\" in duration \"1d\"")),
            ("word", "soon", Err("time: invalid duration \"soon\"")),
            ("point", ".s", Err("time: invalid duration \".s\"")),
        ];
        for (name, text, expected) in cases {
            let got = text
                .parse::<GoDuration>()
                .map(|duration| duration.to_string())
                .map_err(|error| error.to_string());
            assert_eq!(got.as_deref().map_err(String::as_str), *expected, "{name}");
        }
    }
}
