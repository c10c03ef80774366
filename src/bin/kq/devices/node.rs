//! The flags that say which node devices are of, and where what is known of them comes from.

use crate::admission_node::node_file::NodeFile;
use crate::device_files::DeviceFileArgs;
use crate::exit::Failure;
use crate::kubelet_node::{KubeletNode, KubeletNodeArgs};
use kq::node::{FactKey, Needs};

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
    pub fn gather(&self, mut needs: Needs) -> Result<KubeletNode, Failure> {
        let given = self.files.read()?;
        given.leave_out(&mut needs);
        needs.files |= self.files.first_given().is_some();
        let mut notes = Vec::new();
        let node_file = NodeFile::read(self.node_file.as_deref(), &mut notes)?;
        let object = node_file.put_into(&mut needs, &self.kubelet.sources)?;
        let mut node = self.kubelet.gather_with(needs, |snapshot| {
            if let Some(object) = object {
                snapshot.node = object;
            }
            given.put(snapshot);
        })?;
        node_file.check(&node.snapshot, &self.kubelet.sources)?;
        node.notes.extend(notes);
        Ok(node)
    }
}
