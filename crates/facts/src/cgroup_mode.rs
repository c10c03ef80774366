//! The cgroup version of a node, and its cgroup driver.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A version of the kernel's cgroup interface; 1 or 2 where it is stored.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(try_from = "u8", into = "u8")]
pub enum CgroupVersion {
    /// One hierarchy per controller.
    V1,
    /// The unified hierarchy.
    V2,
}

/// The component that creates the kubelet's cgroups.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum CgroupDriver {
    /// The kubelet writes the cgroup file system itself.
    Cgroupfs,
    /// systemd creates slices, then the kubelet writes the files too.
    Systemd,
}

/// A text that names no cgroup version or driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseCgroupError {
    /// Not a version.
    #[error("unknown cgroup version \"{0}\": expected 1 or 2")]
    Version(String),
    /// Not a driver.
    #[error("unknown cgroup driver \"{0}\": expected cgroupfs or systemd")]
    Driver(String),
}

impl TryFrom<u8> for CgroupVersion {
    type Error = ParseCgroupError;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        match number {
            1 => Ok(Self::V1),
            2 => Ok(Self::V2),
            _ => Err(ParseCgroupError::Version(number.to_string())),
        }
    }
}

impl From<CgroupVersion> for u8 {
    fn from(version: CgroupVersion) -> Self {
        match version {
            CgroupVersion::V1 => 1,
            CgroupVersion::V2 => 2,
        }
    }
}

impl fmt::Display for CgroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        u8::from(*self).fmt(f)
    }
}

impl FromStr for CgroupVersion {
    type Err = ParseCgroupError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "1" => Ok(Self::V1),
            "2" => Ok(Self::V2),
            _ => Err(ParseCgroupError::Version(text.to_owned())),
        }
    }
}

impl fmt::Display for CgroupDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cgroupfs => "cgroupfs",
            Self::Systemd => "systemd",
        })
    }
}

impl CgroupDriver {
    /// Returns the driver that a field of the configuration means: everything else than `systemd` is the cgroup file system
    /// (`newCgroupCommon`, `pkg/kubelet/cm/cgroup_manager_linux.go`, read in 1.36.2).
    pub fn of_field(text: &str) -> Self {
        text.parse().unwrap_or(Self::Cgroupfs)
    }
}

impl FromStr for CgroupDriver {
    type Err = ParseCgroupError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "cgroupfs" => Ok(Self::Cgroupfs),
            "systemd" => Ok(Self::Systemd),
            _ => Err(ParseCgroupError::Driver(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_print_and_parse() {
        for version in [CgroupVersion::V1, CgroupVersion::V2] {
            assert_eq!(version.to_string().parse(), Ok(version));
            assert_eq!(serde_json::to_string(&version).ok(), Some(version.to_string()));
        }
        for driver in [CgroupDriver::Cgroupfs, CgroupDriver::Systemd] {
            assert_eq!(driver.to_string().parse(), Ok(driver));
        }
        assert!(serde_json::from_str::<CgroupVersion>("3").is_err());
    }
}
