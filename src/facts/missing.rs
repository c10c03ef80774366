//! Facts that nobody could supply.

use std::fmt;

/// A fact about the node that an answer would have needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MissingFact {
    /// How many CPUs the machine has.
    CpuCapacity,
    /// How much memory the machine has.
    MemoryCapacity,
    /// How much swap the machine has.
    SwapCapacity,
    /// How many processes the machine can have.
    PidCapacity,
}

impl MissingFact {
    /// Returns the flag that supplies it.
    pub fn flag(self) -> &'static str {
        match self {
            Self::CpuCapacity => "--capacity cpu=N",
            Self::MemoryCapacity => "--capacity memory=AMOUNT",
            Self::SwapCapacity => "--swap-capacity AMOUNT",
            Self::PidCapacity => "--capacity pid=N",
        }
    }
}

impl fmt::Display for MissingFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CpuCapacity => "the number of the node's CPUs is not known",
            Self::MemoryCapacity => "the node's memory is not known",
            Self::SwapCapacity => "the node's swap is not known",
            Self::PidCapacity => "the node's largest number of processes (pid_max) is not known",
        })
    }
}
