//! Where the runtime puts a container's cgroup.

use crate::cgroup::files::CgroupDriver;
use crate::k8s::pod::Pod;

/// Returns the path of a container's cgroup as the runtime names it; one whose id is not known yet is
/// named after the container.
pub fn container_path(pod_path: &str, pod: &Pod, name: &str, driver: CgroupDriver) -> String {
    let status = &pod.status;
    let mut statuses = status
        .container_statuses
        .iter()
        .chain(&status.init_container_statuses)
        .chain(&status.ephemeral_container_statuses);
    let id = statuses
        .find(|status| status.name == name)
        .and_then(|status| status.container_id.split_once("://"));
    let (runtime, id) = match id {
        Some((runtime, id)) if is_id(id) => (runtime, id),
        _ => return format!("{pod_path}/<{name}>"),
    };
    let prefix = match runtime {
        "cri-o" => "crio-",
        "docker" => "docker-",
        _ => "cri-containerd-",
    };
    match driver {
        CgroupDriver::Systemd => format!("{pod_path}/{prefix}{id}.scope"),
        CgroupDriver::Cgroupfs if runtime == "cri-o" => format!("{pod_path}/{prefix}{id}"),
        CgroupDriver::Cgroupfs => format!("{pod_path}/{id}"),
    }
}

/// Tells whether a text can be the id of a container, and a part of a path.
fn is_id(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::pod::ContainerStatus;

    #[test]
    fn every_runtime_has_its_names() {
        use CgroupDriver::{Cgroupfs, Systemd};
        for (name, id, driver, expected) in [
            ("containerd", "containerd://ab", Cgroupfs, "/pod/ab"),
            ("containerd, systemd", "containerd://ab", Systemd, "/pod/cri-containerd-ab.scope"),
            ("CRI-O", "cri-o://ab", Cgroupfs, "/pod/crio-ab"),
            ("CRI-O, systemd", "cri-o://ab", Systemd, "/pod/crio-ab.scope"),
            ("docker, systemd", "docker://ab", Systemd, "/pod/docker-ab.scope"),
            ("not created yet", "", Cgroupfs, "/pod/<c>"),
            ("an id that would leave the pod", "containerd://../x", Cgroupfs, "/pod/<c>"),
        ] {
            let mut pod = Pod::default();
            pod.status.container_statuses.push(ContainerStatus {
                name: "c".to_owned(),
                container_id: id.to_owned(),
                ..ContainerStatus::default()
            });
            assert_eq!(container_path("/pod", &pod, "c", driver), expected, "{name}");
        }
    }
}
