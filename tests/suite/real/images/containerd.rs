//! The versions of containerd: the system's, and later ones that are only unpacked.

use crate::cli::repository;
use crate::real::node::script;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Where a containerd comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containerd {
    /// The system's own: 1.6 in Debian 12.
    System,
    /// Debian 13's: 1.7.
    Trixie,
    /// Debian unstable's: 2.1 or later.
    Sid,
}

impl Containerd {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::System, Self::Trixie, Self::Sid];

    /// Sees to it that the programs are there and returns their folder; the system's have none.
    pub fn programs(self) -> Result<Option<PathBuf>, String> {
        static INSTALLED: OnceLock<[Result<(), String>; 2]> = OnceLock::new();
        let installed =
            INSTALLED.get_or_init(|| [script("install", &[]), script("install", &["containerds"])]);
        let [system, others] = installed.clone();
        system?;
        let suite = match self {
            Self::System => return Ok(None),
            Self::Trixie => "trixie",
            Self::Sid => "sid",
        };
        others?;
        Ok(Some(repository().join(format!("target/real-node/containerd-{suite}"))))
    }
}
