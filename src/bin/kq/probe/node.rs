//! The flags that say which node and which kubelet probes are of.

use crate::kubelet_node::KubeletNodeArgs;
use std::net::IpAddr;

/// The flags that say which node and which kubelet probes are of.
#[derive(Debug, clap::Args)]
pub struct ProbeNodeArgs {
    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,

    /// The IP of the one pod that is named; else what the kubelet reported, else what the runtime says
    #[arg(long, value_name = "IP", help_heading = "Where the facts come from")]
    pub pod_ip: Option<IpAddr>,
}
