//! Timestamps, as runtimes count them and in RFC 3339.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A moment in nanoseconds since 1970. Written as RFC 3339, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

/// Why a text is not a timestamp.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a time: expected RFC 3339, such as 2026-11-20T12:04:25Z")]
pub struct ParseTimestampError {
    text: String,
}

impl Timestamp {
    /// Returns the moment of a number of seconds since 1970; what is out of range is the nearest.
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// Returns the moment that is some nanoseconds later, or earlier when they are negative.
    pub fn plus(self, nanoseconds: i64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// Returns how many nanoseconds lie between an earlier moment and this one.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the start of its second.
    pub fn whole_second(self) -> Self {
        Self(self.0.saturating_sub(self.0.rem_euclid(1_000_000_000)))
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.parse::<jiff::Timestamp>().ok();
        parsed
            .and_then(|moment| i64::try_from(moment.as_nanosecond()).ok())
            .map(Self)
            .ok_or_else(|| ParseTimestampError { text: text.to_owned() })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 64 bits of nanoseconds are years that every calendar has.
        let moment = jiff::Timestamp::from_nanosecond(self.0.into()).unwrap_or_default();
        write!(f, "{moment}")
    }
}

kq_k8s::schema_as!(Timestamp, String);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read() {
        for (nanoseconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_795_176_550_888_789_219, "2026-11-20T12:09:10.888789219Z"),
            (-1_500_000_000, "1969-12-31T23:59:58.5Z"),
            (i64::MAX, "2262-04-11T23:47:16.854775807Z"),
            (i64::MIN, "1677-09-21T00:12:43.145224192Z"),
        ] {
            assert_eq!(Timestamp(nanoseconds).to_string(), text);
            assert_eq!(text.parse(), Ok(Timestamp(nanoseconds)));
        }
        assert_eq!(
            "2026-11-20T13:04:25+01:00".parse(),
            "2026-11-20T12:04:25Z".parse::<Timestamp>()
        );
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert!("9999-01-01T00:00:00Z".parse::<Timestamp>().is_err(), "beyond 64 bits");
    }

    #[test]
    fn seconds_begin_before_their_fractions() {
        assert_eq!(Timestamp(1_999_999_999).whole_second(), Timestamp(1_000_000_000));
        assert_eq!(Timestamp(-1).whole_second(), Timestamp(-1_000_000_000));
        assert_eq!(Timestamp(i64::MIN).whole_second(), Timestamp(i64::MIN));
    }
}
