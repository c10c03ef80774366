//! A stub for a build without the feature `cri`, or for another system than Linux.

use kq_facts::lookup::Lookup;
use kq_facts::pod_resources::PodResources;
use kq_io::no_live_node;
use kq_io::trust::NamedBy;
use std::path::Path;
use std::time::Duration;

/// Fails, since kq was built without the feature.
pub fn read_pod_resources(
    _host_root: &Path,
    socket: &str,
    _named_by: NamedBy,
    _deadline: Duration,
) -> Lookup<PodResources> {
    let not_built = "kq was built without the feature `cri`, which brings gRPC";
    Lookup::failed(socket, no_live_node().unwrap_or(not_built))
}
