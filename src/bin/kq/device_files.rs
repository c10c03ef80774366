//! The flags that name files with the kubelet's devices.

use kq::node::DeviceFiles;

/// The flags that name files with the kubelet's devices.
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
    /// Returns the files.
    pub fn files(&self) -> DeviceFiles {
        let (checkpoint, pod_resources) = (self.checkpoint.clone(), self.pod_resources.clone());
        DeviceFiles { checkpoint, pod_resources }
    }
}
