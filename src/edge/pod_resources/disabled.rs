//! What is left without the feature `cri`: an answer that says so.

use crate::edge::trust::NamedBy;
use crate::facts::pod_resources::PodResources;
use crate::facts::sought::Sought;
use std::path::Path;
use std::time::Duration;

/// Says that kq was built without it.
pub fn read_pod_resources(
    _host_root: &Path,
    socket: &str,
    _named_by: NamedBy,
    _deadline: Duration,
) -> Sought<PodResources> {
    Sought::failed(socket, "kq was built without the feature `cri`, which brings gRPC")
}
