//! When something happened: so long after the start, or at a time.

use crate::facts::timestamp::Timestamp;
use crate::k8s::duration::GoDuration;
use serde::{Serialize, Serializer};

/// A moment of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// So long after `0s`.
    Offset(GoDuration),
    /// At a time.
    Time(Timestamp),
}

impl At {
    /// Reads `30s`, or a time of RFC 3339.
    pub fn parse(text: &str) -> Option<Self> {
        let offset = text.parse().ok().map(Self::Offset);
        offset.or_else(|| text.parse().ok().map(Self::Time))
    }

    /// Returns how long after `0s` it is.
    pub fn offset(self, origin: Timestamp) -> GoDuration {
        match self {
            Self::Offset(offset) => offset,
            Self::Time(time) => GoDuration(time.since(origin)),
        }
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Offset(offset) => offset.serialize(serializer),
            Self::Time(time) => time.serialize(serializer),
        }
    }
}
