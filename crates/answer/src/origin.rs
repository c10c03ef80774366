//! The origin of a fact.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Where a fact came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The command line.
    Flag(&'static str),
    /// A file, or another source by its name: a path, a URL, an endpoint.
    Source(String),
    /// The kubelet's default.
    Default,
    /// An assumption of kq, for a fact without a source that the kubelet reads from the host.
    Assumed,
}

impl Origin {
    /// Returns true if a source has it.
    pub fn is_given(&self) -> bool {
        matches!(self, Self::Flag(_) | Self::Source(_))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => f.write_str(name),
            Self::Source(name) => f.write_str(name),
            Self::Default => f.write_str("default"),
            Self::Assumed => f.write_str("assumed"),
        }
    }
}

kq_k8s::schema_as!(Origin, String);

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match String::deserialize(deserializer)?.as_str() {
            "default" => Self::Default,
            "assumed" => Self::Assumed,
            name => Self::Source(name.to_owned()),
        })
    }
}
