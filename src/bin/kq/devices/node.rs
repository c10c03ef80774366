//! The flags that say which node devices are of, and where what is known of them comes from.

use crate::admission_node::whose::NodeFile;
use crate::exit::Failure;
use crate::kubelet_node::{KubeletNode, KubeletNodeArgs};
use crate::live::{DevicesWanted, PodsWanted, Wants, of_named_file};
use anyhow::anyhow;
use kq::edge::input::{read_input, shown};
use kq::facts::devices::DeviceFacts;
use kq::facts::pod_resources_file::read_answers;
use kq::facts::sought::Sought;

/// The flags that say which node devices are of.
#[derive(Debug, clap::Args)]
pub struct DeviceNodeArgs {
    /// The device manager's checkpoint; else kubelet_internal_checkpoint of the node
    #[arg(long, value_name = "FILE", help_heading = "Where the facts come from")]
    checkpoint: Option<String>,

    /// What the kubelet answers on its pod-resources socket, as JSON; else it is asked
    #[arg(long, value_name = "FILE", help_heading = "Where the facts come from")]
    pod_resources: Option<String>,

    /// The Node object (kubectl get node NAME -o json); else the API server is asked
    #[arg(long, value_name = "FILE", help_heading = "Where the facts come from")]
    node_file: Option<String>,

    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,
}

impl DeviceNodeArgs {
    /// Returns what is wanted beside devices that are given: where they stand alone, and no node is named,
    /// they are all that there are, and none is in use.
    pub fn beside_given(&self, stand_alone: bool, wants: Wants) -> Wants {
        let wants = Wants { files: stand_alone, ..wants };
        let sources = &self.kubelet.sources;
        let asks = sources.snapshot.is_some()
            || sources.node_in_question(wants.files, wants.only_on_node).has_root();
        if !stand_alone || asks {
            return wants;
        }
        let pods = if sources.pods.is_empty() { PodsWanted::None } else { wants.pods };
        Wants { devices: DevicesWanted::NONE, pods, ..wants }
    }

    /// Gathers what is wanted; a file that is named wins over what the node says, and that is not
    /// looked for.
    ///
    /// # Errors
    ///
    /// Fails for a file that is named and cannot be read.
    pub fn gather(&self, mut wants: Wants) -> Result<KubeletNode, Failure> {
        let mut given = DeviceFacts::default();
        if let Some(file) = &self.checkpoint {
            let fact = of_named_file(file).map_err(Failure::missing)?;
            given.checkpoint = Sought::found(shown(file), fact);
            wants.devices.checkpoint = false;
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
            given.pod_resources = Sought::found(name, told);
            wants.devices.pod_resources = false;
        }
        wants.files |= self.checkpoint.is_some() || self.pod_resources.is_some();
        let mut notes = Vec::new();
        let node_file = NodeFile::read(self.node_file.as_deref(), &mut notes)?;
        let object = node_file.put_into(&mut wants, &self.kubelet.sources)?;
        let mut node = self.kubelet.gather_with(wants, |snapshot| {
            if let Some(object) = object {
                snapshot.node = object;
            }
            let is_given = given.checkpoint.found.is_some() || given.pod_resources.found.is_some();
            if is_given {
                let devices = snapshot.devices.get_or_insert_default();
                if given.checkpoint.found.is_some() {
                    devices.checkpoint = given.checkpoint;
                }
                if given.pod_resources.found.is_some() {
                    devices.pod_resources = given.pod_resources;
                }
            }
        })?;
        node_file.check(&node.snapshot, &self.kubelet.sources)?;
        node.notes.extend(notes);
        Ok(node)
    }
}
