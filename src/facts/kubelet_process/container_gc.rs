//! The flags that say when a kubelet removes dead containers.
//!
//! Names and defaults: `AddFlags` and `NewKubeletFlags` in `cmd/kubelet/app/options/options.go`. The
//! kubelet has called them deprecated for years, but they never became fields of its configuration.

use crate::k8s::duration::GoDuration;

const MINIMUM_AGE: &str = "minimum-container-ttl-duration";
const PER_CONTAINER: &str = "maximum-dead-containers-per-container";
const IN_ALL: &str = "maximum-dead-containers";

/// Their names.
pub(super) const FLAGS: [&str; 3] = [MINIMUM_AGE, PER_CONTAINER, IN_ALL];

/// What the flags of container garbage collection say; `None`: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerGcFlags {
    /// `--minimum-container-ttl-duration`: how old a dead container is at least when it goes.
    pub minimum_age: Option<GoDuration>,
    /// `--maximum-dead-containers-per-container`: how many of one container stay; negative: all.
    pub max_per_container: Option<i32>,
    /// `--maximum-dead-containers`: how many stay on the node; negative: all.
    pub max_containers: Option<i32>,
}

impl ContainerGcFlags {
    /// Takes the value of one of [`FLAGS`], or returns what was expected.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let number = || value.parse().map_err(|_| "a whole number of 32 bits");
        match name {
            MINIMUM_AGE => {
                let age = value.parse().map_err(|_| "a duration such as 1m30s")?;
                self.minimum_age = Some(age);
            }
            PER_CONTAINER => self.max_per_container = Some(number()?),
            IN_ALL => self.max_containers = Some(number()?),
            _ => {}
        }
        Ok(())
    }
}
