//! The flags that say which node devices are of, and where what is known of them comes from.

use crate::exit::Failure;
use crate::kubelet_node::{KubeletNode, KubeletNodeArgs};
use crate::live::{DevicesWanted, SourceArgs, Wants, of_named_file};
use crate::node_args::of_file;
use anyhow::anyhow;
use kq::edge::cri::RuntimeWants;
use kq::edge::input::{read_input, shown};
use kq::edge::kubelet_files::read_node_object;
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
    /// Tells whether no source of devices or pods is named.
    pub fn names_no_source(&self) -> bool {
        let sources = &self.kubelet.sources;
        self.checkpoint.is_none()
            && self.pod_resources.is_none()
            && self.node_file.is_none()
            && sources.snapshot.is_none()
            && sources.host_root.is_none()
            && sources.pods.is_empty()
    }

    /// Tells whether devices come from files, and all else from the machine that kq runs on.
    pub fn mixes_machines(&self) -> bool {
        let sources = &self.kubelet.sources;
        let has_files = self.checkpoint.is_some() || self.pod_resources.is_some();
        has_files && sources.snapshot.is_none() && sources.host_root.is_none()
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
        leave_machine(&mut wants, &self.kubelet.sources);
        let mut notes = Vec::new();
        let object = match &self.node_file {
            None => None,
            Some(file) => {
                wants.has_node_file = true;
                let object = read_node_object(file, &mut notes).map_err(of_file)?;
                Some(Sought::found(shown(file), object))
            }
        };
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
        node.notes.extend(notes);
        Ok(node)
    }
}

/// Where all devices that are wanted are in files, as the pods are, and nothing of a node is named, asks
/// nothing of this machine: it need not be the node at all, and a runtime or an API server that answers
/// here knows nothing of them.
pub fn leave_machine(wants: &mut Wants, sources: &SourceArgs) {
    let is_of_files = wants.devices == DevicesWanted::NONE
        && !sources.pods.is_empty()
        && sources.snapshot.is_none()
        && sources.host_root.is_none()
        && sources.runtime_endpoint.is_none()
        && sources.kubeconfig.is_none()
        && sources.node_name.is_none();
    if is_of_files {
        wants.runtime = RuntimeWants::default();
        wants.node = false;
    }
}
