//! Where the distributions of Kubernetes and the container runtimes keep what kq reads. Pure.
//!
//! One row for each path, with the project's source file that defines it. Every reader takes its paths from here. The
//! projects were read in August 2026: k3s 1.36, rke2 1.36 (`6ce1a8019`), MicroK8s 1.36 (`d099c907`), k0s
//! (`dff90cee9a`), Talos (`ad8823176`), MicroShift (`8e16b12fda`) and CRI-O 1.36; Bottlerocket (`a10182f9`) is of 2024.
//! `docs/nodes.md` compares the distributions.

use crate::kubelet_process::{DEFAULT_CERT_DIR, DEFAULT_ROOT_DIR};
use crate::kubelet_unit::KUBEADM_CONFIG;
use std::fmt;

/// The project that decides on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Containerd,
    CriO,
    CriDockerd,
    /// The packages of Kubernetes with kubeadm; also kind and minikube.
    Kubeadm,
    /// Installations by hand.
    ByHand,
    Minikube,
    K3s,
    Rke2,
    MicroK8s,
    K0s,
    Talos,
    Bottlerocket,
    MicroShift,
}

impl Owner {
    /// The folder that `--data-dir` of the distribution names, without the flag; `None`: it has no such flag.
    pub fn data_folder(self) -> Option<&'static str> {
        match self {
            Self::K3s => Some(K3S),
            Self::Rke2 => Some(RKE2),
            Self::K0s => Some(K0S),
            _ => None,
        }
    }

    /// Returns the rows of this owner for a use.
    pub fn rows(self, place: Place) -> impl Iterator<Item = &'static Row> {
        rows(place).filter(move |row| row.owner == self)
    }

    /// Returns the paths of this owner for a use, below another folder of data where one is given.
    pub fn paths(self, place: Place, data_folder: Option<&str>) -> Vec<String> {
        let moved = |row: &Row| match (data_folder, self.data_folder()) {
            (Some(folder), Some(usual)) => match row.path.strip_prefix(usual) {
                Some(rest) => format!("{}{rest}", folder.trim_end_matches('/')),
                None => row.path.to_owned(),
            },
            _ => row.path.to_owned(),
        };
        self.rows(place).map(moved).collect()
    }

    /// The name of the project.
    pub fn name(self) -> &'static str {
        match self {
            Self::Containerd => "containerd",
            Self::CriO => "CRI-O",
            Self::CriDockerd => "cri-dockerd",
            Self::Kubeadm => "kubeadm",
            Self::ByHand => "installations by hand",
            Self::Minikube => "minikube",
            Self::K3s => "k3s",
            Self::Rke2 => "rke2",
            Self::MicroK8s => "microk8s",
            Self::K0s => "k0s",
            Self::Talos => "Talos",
            Self::Bottlerocket => "Bottlerocket",
            Self::MicroShift => "MicroShift",
        }
    }

    /// It is a container runtime alone.
    pub fn is_runtime(self) -> bool {
        matches!(self, Self::Containerd | Self::CriO | Self::CriDockerd)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The purpose of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The socket of the container runtime.
    RuntimeSocket,
    /// The runtime's configuration, as an operator changes it.
    RuntimeConfig,
    /// The folder of programs that go before those of the node.
    Programs,
    /// The root folder of the kubelet (`--root-dir`).
    RootFolder,
    /// The folder of the kubelet's certificates (`--cert-dir`).
    CertificateFolder,
    /// The kubelet's configuration (`--config`).
    Config,
    /// The folder of drop-ins (`--config-dir`).
    ConfigFolder,
    /// The kubelet's kubeconfig.
    Kubeconfig,
    /// The administrator's kubeconfig on a control plane node.
    AdminKubeconfig,
    /// The manifests of static pods, where no configuration names them.
    StaticPods,
    /// The certificate of the kubelet's server, where no configuration names it.
    ServingCertificate,
    ServingKey,
    /// The certificate that the API server of a control plane node shows to kubelets.
    ApiServerCertificate,
    ApiServerKey,
    /// The file with the kubelet's arguments.
    Arguments,
    /// The distribution's own configuration, which names arguments of the kubelet.
    OwnConfig,
    /// The name of the unit of systemd that starts the distribution.
    Unit,
}

/// A path, and the source file that defines it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub owner: Owner,
    pub place: Place,
    pub path: &'static str,
    /// The file of the owner's project.
    pub source: &'static str,
}

const K3S: &str = "/var/lib/rancher/k3s";
const RKE2: &str = "/var/lib/rancher/rke2";
const K0S: &str = "/var/lib/k0s";

const fn row(owner: Owner, place: Place, path: &'static str, source: &'static str) -> Row {
    Row { owner, place, path, source }
}

use Owner::*;
use Place::*;

/// In the order in which they are tried.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row(Containerd, RuntimeSocket, "/run/containerd/containerd.sock", "defaults/defaults_unix.go"),
    row(Containerd, RuntimeConfig, "/etc/containerd/config.toml", "defaults/defaults_unix.go"),

    row(CriO, RuntimeSocket, "/run/crio/crio.sock", "docs/crio.8.md"),
    row(CriO, RuntimeSocket, "/var/run/crio/crio.sock", "pkg/config/config_unix.go"),
    row(CriO, RuntimeConfig, "/etc/crio/crio.conf", "pkg/config/config_unix.go"),

    row(CriDockerd, RuntimeSocket, "/run/cri-dockerd.sock", "packaging/systemd/cri-docker.socket"),

    row(Kubeadm, RootFolder, DEFAULT_ROOT_DIR, "cmd/kubelet/app/options/options.go"),
    row(Kubeadm, CertificateFolder, DEFAULT_CERT_DIR, "cmd/kubelet/app/options/options.go"),
    row(Kubeadm, Config, KUBEADM_CONFIG, "cmd/kubeadm/app/constants/constants.go"),
    row(Kubeadm, Kubeconfig, "/etc/kubernetes/kubelet.conf", "cmd/kubeadm/app/constants/constants.go"),
    row(Kubeadm, AdminKubeconfig, "/etc/kubernetes/admin.conf", "cmd/kubeadm/app/constants/constants.go"),
    row(Kubeadm, ApiServerCertificate, "/etc/kubernetes/pki/apiserver-kubelet-client.crt", "cmd/kubeadm/app/constants/constants.go"),
    row(Kubeadm, ApiServerKey, "/etc/kubernetes/pki/apiserver-kubelet-client.key", "cmd/kubeadm/app/constants/constants.go"),

    row(ByHand, Kubeconfig, "/var/lib/kubelet/kubeconfig", "cluster/gce/gci/configure-helper.sh"),

    row(Minikube, ApiServerCertificate, "/var/lib/minikube/certs/apiserver-kubelet-client.crt", "pkg/minikube/vmpath/constants.go"),
    row(Minikube, ApiServerKey, "/var/lib/minikube/certs/apiserver-kubelet-client.key", "pkg/minikube/vmpath/constants.go"),

    row(K3s, RuntimeSocket, "/run/k3s/containerd/containerd.sock", "pkg/agent/config/config_linux.go"),
    row(K3s, RuntimeConfig, "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl", "pkg/agent/config/config.go"),
    row(K3s, Programs, "/var/lib/rancher/k3s/data/current/bin", "cmd/k3s/main.go"),
    row(K3s, RootFolder, DEFAULT_ROOT_DIR, "pkg/daemons/agent/agent_linux.go"),
    row(K3s, ConfigFolder, "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d", "pkg/daemons/agent/agent_linux.go"),
    row(K3s, Kubeconfig, "/var/lib/rancher/k3s/agent/kubelet.kubeconfig", "pkg/agent/config/config.go"),
    row(K3s, AdminKubeconfig, "/etc/rancher/k3s/k3s.yaml", "pkg/server/server.go"),
    row(K3s, StaticPods, "/var/lib/rancher/k3s/agent/pod-manifests", "pkg/agent/config/config.go"),
    row(K3s, ServingCertificate, "/var/lib/rancher/k3s/agent/serving-kubelet.crt", "pkg/agent/config/config.go"),
    row(K3s, ServingKey, "/var/lib/rancher/k3s/agent/serving-kubelet.key", "pkg/agent/config/config.go"),
    row(K3s, ApiServerCertificate, "/var/lib/rancher/k3s/server/tls/client-kube-apiserver.crt", "pkg/daemons/control/deps/deps.go"),
    row(K3s, ApiServerKey, "/var/lib/rancher/k3s/server/tls/client-kube-apiserver.key", "pkg/daemons/control/deps/deps.go"),
    row(K3s, OwnConfig, "/etc/rancher/k3s/config.yaml", "pkg/configfilearg/defaultparser.go"),
    row(K3s, Unit, "k3s.service", "install.sh"),
    row(K3s, Unit, "k3s-agent.service", "install.sh"),

    row(Rke2, RuntimeSocket, "/run/k3s/containerd/containerd.sock", "pkg/agent/config/config_linux.go of k3s"),
    row(Rke2, RuntimeConfig, "/var/lib/rancher/rke2/agent/etc/containerd/config.toml.tmpl", "pkg/agent/config/config.go of k3s"),
    row(Rke2, Programs, "/var/lib/rancher/rke2/bin", "pkg/bootstrap/bootstrap.go"),
    row(Rke2, RootFolder, DEFAULT_ROOT_DIR, "pkg/executor/staticpod/staticpod.go"),
    row(Rke2, ConfigFolder, "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d", "pkg/daemons/agent/agent_linux.go of k3s"),
    row(Rke2, Kubeconfig, "/var/lib/rancher/rke2/agent/kubelet.kubeconfig", "pkg/agent/config/config.go of k3s"),
    row(Rke2, AdminKubeconfig, "/etc/rancher/rke2/rke2.yaml", "pkg/rke2/rke2.go"),
    row(Rke2, StaticPods, "/var/lib/rancher/rke2/agent/pod-manifests", "pkg/rke2/rke2_linux.go"),
    row(Rke2, ServingCertificate, "/var/lib/rancher/rke2/agent/serving-kubelet.crt", "pkg/agent/config/config.go of k3s"),
    row(Rke2, ServingKey, "/var/lib/rancher/rke2/agent/serving-kubelet.key", "pkg/agent/config/config.go of k3s"),
    row(Rke2, ApiServerCertificate, "/var/lib/rancher/rke2/server/tls/client-kube-apiserver.crt", "pkg/daemons/control/deps/deps.go of k3s"),
    row(Rke2, ApiServerKey, "/var/lib/rancher/rke2/server/tls/client-kube-apiserver.key", "pkg/daemons/control/deps/deps.go of k3s"),
    row(Rke2, OwnConfig, "/etc/rancher/rke2/config.yaml", "pkg/configfilearg/defaultparser.go of k3s"),
    row(Rke2, Unit, "rke2-server.service", "bundle/lib/systemd/system/rke2-server.service"),
    row(Rke2, Unit, "rke2-agent.service", "bundle/lib/systemd/system/rke2-agent.service"),

    row(MicroK8s, RuntimeSocket, "/var/snap/microk8s/common/run/containerd.sock", "microk8s-resources/default-args/containerd"),
    row(MicroK8s, RuntimeConfig, "/var/snap/microk8s/current/args/containerd-template.toml", "microk8s-resources/default-args/containerd-template.toml"),
    row(MicroK8s, Programs, "/snap/microk8s/current/bin", "build-scripts/components/runc/build.sh"),
    row(MicroK8s, RootFolder, "/var/snap/microk8s/common/var/lib/kubelet", "microk8s-resources/default-args/kubelet"),
    row(MicroK8s, Kubeconfig, "/var/snap/microk8s/current/credentials/kubelet.config", "microk8s-resources/default-args/kubelet"),
    row(MicroK8s, ApiServerCertificate, "/var/snap/microk8s/current/certs/apiserver-kubelet-client.crt", "microk8s-resources/default-args/kube-apiserver"),
    row(MicroK8s, ApiServerKey, "/var/snap/microk8s/current/certs/apiserver-kubelet-client.key", "microk8s-resources/default-args/kube-apiserver"),
    row(MicroK8s, Arguments, "/var/snap/microk8s/current/args/kubelet", "cmd/kubelite/app/options/options.go in build-scripts/components/kubernetes/patches"),

    row(K0s, RuntimeSocket, "/run/k0s/containerd.sock", "pkg/component/worker/containerd/component.go"),
    row(K0s, RuntimeConfig, "/etc/k0s/containerd.toml", "pkg/component/worker/containerd/component_other.go"),
    row(K0s, Programs, "/var/lib/k0s/bin", "pkg/config/cfgvars.go"),
    row(K0s, RootFolder, "/var/lib/k0s/kubelet", "pkg/config/cfgvars.go"),
    row(K0s, CertificateFolder, "/var/lib/k0s/kubelet/pki", "pkg/component/worker/kubelet.go"),
    row(K0s, Config, "/run/k0s/kubelet/config.yaml", "pkg/component/worker/kubelet.go"),
    row(K0s, Kubeconfig, "/run/k0s/kubelet-direct.conf", "pkg/component/worker/utils.go"),
    row(K0s, Kubeconfig, "/run/k0s/nllb/kubeconfig.yaml", "pkg/component/worker/nllb/reconciler.go"),
    row(K0s, Kubeconfig, "/var/lib/k0s/kubelet.conf", "pkg/config/cfgvars.go"),
    row(K0s, AdminKubeconfig, "/var/lib/k0s/pki/admin.conf", "pkg/config/cfgvars.go"),
    row(K0s, ApiServerCertificate, "/var/lib/k0s/pki/apiserver-kubelet-client.crt", "pkg/component/controller/apiserver.go"),
    row(K0s, ApiServerKey, "/var/lib/k0s/pki/apiserver-kubelet-client.key", "pkg/component/controller/apiserver.go"),
    row(K0s, Unit, "k0scontroller.service", "docs/k0s-multi-node.md"),
    row(K0s, Unit, "k0sworker.service", "docs/k0s-multi-node.md"),

    row(Talos, CertificateFolder, DEFAULT_CERT_DIR, "pkg/machinery/constants/constants.go"),
    row(Talos, Config, "/etc/kubernetes/kubelet.yaml", "internal/app/machined/pkg/controllers/k8s/kubelet_spec.go"),
    row(Talos, Kubeconfig, "/etc/kubernetes/kubeconfig-kubelet", "pkg/machinery/constants/constants.go"),

    row(Bottlerocket, Kubeconfig, "/etc/kubernetes/kubelet/kubeconfig", "packages/kubernetes-1.31/kubelet-exec-start-conf"),

    row(MicroShift, Config, "/var/lib/microshift/resources/kubelet/config/config.yaml", "pkg/node/kubelet.go"),
    row(MicroShift, Kubeconfig, "/var/lib/microshift/resources/kubelet/kubeconfig", "pkg/config/kubeconfig.go"),
    row(MicroShift, AdminKubeconfig, "/var/lib/microshift/resources/kubeadmin/kubeconfig", "pkg/config/kubeconfig.go"),
    row(MicroShift, OwnConfig, "/etc/microshift/config.yaml", "pkg/config/files.go"),
];

/// Returns the rows for a use.
pub fn rows(place: Place) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.place == place)
}

/// Returns the rows for a use whose owners have the socket of a runtime.
pub fn of_runtime(socket: &str, place: Place) -> impl Iterator<Item = &'static Row> {
    let owns = move |owner: Owner| owner.rows(RuntimeSocket).any(|row| row.path == socket);
    rows(place).filter(move |row| owns(row.owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_path_with_its_source() {
        for Row { owner, place, path, source } in ROWS {
            assert!(path.starts_with('/') || *place == Unit, "{owner} {place:?}: {path}");
            assert!(!source.is_empty(), "{owner} {place:?}: {path}");
            let same = ROWS.iter().filter(|row| (row.owner, row.path) == (*owner, *path));
            assert_eq!(same.count(), 1, "{owner} {place:?}: {path}");
        }
    }

    #[test]
    fn a_certificate_of_the_api_server_has_its_key() {
        let owners = |place| rows(place).map(|row| row.owner).collect::<Vec<_>>();
        assert_eq!(owners(ApiServerCertificate), owners(ApiServerKey));
    }

    #[test]
    fn another_folder_of_data_moves_what_is_in_it() {
        for (owner, place, folder, expected) in [
            (K3s, Kubeconfig, Some("/data/k3s/"), "/data/k3s/agent/kubelet.kubeconfig"),
            (K3s, Kubeconfig, None, "/var/lib/rancher/k3s/agent/kubelet.kubeconfig"),
            (K3s, OwnConfig, Some("/data/k3s"), "/etc/rancher/k3s/config.yaml"),
            (K0s, RootFolder, Some("/data"), "/data/kubelet"),
            (Kubeadm, Config, Some("/data"), "/var/lib/kubelet/config.yaml"),
        ] {
            assert_eq!(owner.paths(place, folder), [expected], "{owner} {place:?}");
        }
    }
}
