//! The flags that name files with what the kubelet knows of devices.

use crate::exit::Failure;
use anyhow::anyhow;
use kq::edge::input::{read_input, shown};
use kq::facts::devices::DeviceFacts;
use kq::facts::lookup::Lookup;
use kq::facts::pod_resources::read_answers;
use kq::facts::snapshot::Snapshot;
use kq::node::FactKey;
use kq::node::{Needs, of_named_file};

/// The flags that name files with what the kubelet knows of devices.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Data sources")]
pub struct DeviceFileArgs {
    /// The device manager's checkpoint (default: the node's kubelet_internal_checkpoint)
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<String>,

    /// The answer of the kubelet's pod-resources API as JSON. By default kq queries the kubelet
    #[arg(long, value_name = "FILE")]
    pod_resources: Option<String>,
}

impl DeviceFileArgs {
    /// Returns the first of the flags that is given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.checkpoint.is_some(), "--checkpoint"),
            (self.pod_resources.is_some(), "--pod-resources"),
        ];
        given.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }

    /// Reads the files that are named.
    ///
    /// # Errors
    ///
    /// Fails for a file that cannot be read.
    pub fn read(&self) -> Result<GivenFacts, Failure> {
        let mut given = DeviceFacts::default();
        if let Some(file) = &self.checkpoint {
            let fact = of_named_file(file).map_err(Failure::missing)?;
            given.checkpoint = Lookup::found(shown(file), fact);
        }
        if let Some(file) = &self.pod_resources {
            let content = read_input(file).map_err(Failure::missing)?;
            let name = shown(file);
            let told = read_answers(name, &content).map_err(|error| {
                Failure::usage(anyhow!("--pod-resources {name}: {error}")).hint(
                    "the answer to List is expected, or an object with List and \
                     GetAllocatableResources; kq snapshot stores both",
                )
            })?;
            given.pod_resources = Lookup::found(name, told);
        }
        Ok(GivenFacts(given))
    }
}

/// What the files say.
pub struct GivenFacts(DeviceFacts);

impl GivenFacts {
    /// Leaves out of what is wanted what the files say.
    pub fn leave_out(&self, needs: &mut Needs) {
        if self.0.checkpoint.found.is_some() {
            *needs = needs.without(&[FactKey::DeviceCheckpoint]);
        }
        if self.0.pod_resources.found.is_some() {
            *needs = needs.without(&[FactKey::PodResources]);
        }
    }

    /// Puts what the files say in the place of what a node says.
    pub fn put(self, snapshot: &mut Snapshot) {
        let Self(DeviceFacts { checkpoint, pod_resources }) = self;
        if checkpoint.found.is_none() && pod_resources.found.is_none() {
            return;
        }
        let devices = snapshot.devices.get_or_insert_default();
        if checkpoint.found.is_some() {
            devices.checkpoint = checkpoint;
        }
        if pod_resources.found.is_some() {
            devices.pod_resources = pod_resources;
        }
    }
}
