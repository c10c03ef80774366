//! The flags that supply the versions that a node does not show.

use crate::exit::warn;
use kq_facts::runtime::LowLevelRuntime;
use kq_facts::snapshot::Snapshot;
use kq_k8s::version::KubeletVersion;

/// The versions of the kubelet and of the low-level runtime, in place of those that the node shows.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "The node")]
pub struct VersionArgs {
    /// The kubelet's version, such as 1.36 or 1.35.2, in place of the one that the node shows
    #[arg(long, value_name = "VERSION")]
    kubelet_version: Option<KubeletVersion>,

    /// The low-level runtime, such as runc=1.3.1 or crun=1.23, in place of the one that the node shows
    #[arg(long, value_name = "NAME=VERSION", value_parser = parse_runtime)]
    runtime: Option<LowLevelRuntime>,
}

impl VersionArgs {
    /// Puts the versions into a gathered snapshot.
    pub fn put(&self, snapshot: &mut Snapshot) {
        if let Some(version) = self.kubelet_version {
            snapshot.put_kubelet_version("--kubelet-version", version);
        }
        if let Some(runtime) = &self.runtime
            && !snapshot.put_low_level("--runtime", runtime.clone())
        {
            warn("--runtime has no effect: the container runtime is unknown");
        }
    }
}

fn parse_runtime(text: &str) -> Result<LowLevelRuntime, String> {
    LowLevelRuntime::parse(text)
        .ok_or_else(|| "expected NAME=VERSION, such as runc=1.3.1".to_owned())
}
