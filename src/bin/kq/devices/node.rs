//! The flags that say which node devices are of, and where what is known of them comes from.

use crate::device_files::DeviceFileArgs;
use crate::exit::Failure;
use crate::kubelet_node::{KubeletNode, KubeletNodeArgs};
use kq::node::{FactKey, NamedFiles, Needs};

/// The flags that say which node devices are of.
#[derive(Debug, clap::Args)]
pub struct DeviceNodeArgs {
    #[command(flatten)]
    files: DeviceFileArgs,

    /// The Node object (kubectl get node NAME -o json). By default it is read from the API server
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    node_file: Option<String>,

    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,
}

impl DeviceNodeArgs {
    /// Returns what is wanted beside devices that are given: where they stand alone, and no node is named,
    /// they are all that there are, and none is in use.
    pub fn beside_given(&self, stand_alone: bool, needs: Needs) -> Needs {
        let needs = Needs { files: stand_alone, ..needs };
        let sources = &self.kubelet.sources;
        let asks = sources.snapshot.is_some()
            || sources.node_in_question(needs.files, needs.only_on_node).has_root();
        if !stand_alone || asks {
            return needs;
        }
        let needs = needs.without(&[FactKey::DeviceCheckpoint, FactKey::PodResources]);
        match sources.pods.is_empty() {
            true => needs.without(&[FactKey::Pods, FactKey::PodNames]),
            false => needs,
        }
    }

    /// Gathers what is wanted; a file that is named wins over what the node says, and that is not
    /// looked for.
    ///
    /// # Errors
    ///
    /// Fails for a file that is named and cannot be read.
    pub fn gather(&self, needs: Needs) -> Result<KubeletNode, Failure> {
        let devices = self.files.files();
        self.kubelet
            .gather_files(NamedFiles { node: self.node_file.clone(), devices, stats: None }, needs)
    }
}
