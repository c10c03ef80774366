//! The flags that say which node and which kubelet probes are of.

use crate::kubelet_node::KubeletNodeArgs;
use std::net::IpAddr;

/// The flags that say which node and which kubelet probes are of.
#[derive(Debug, clap::Args)]
pub struct ProbeNodeArgs {
    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,

    /// The IP of the named pod (default: the IP reported by the kubelet, else by the runtime)
    #[arg(long, value_name = "IP", help_heading = "Data sources")]
    pub pod_ip: Option<IpAddr>,
}
