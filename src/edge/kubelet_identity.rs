//! How the server on the kubelet's port is known to be the kubelet.
//!
//! Everybody can listen on a port that the kubelet does not use at the moment. On the node there are two proofs: the server
//! shows the certificate that lies in the kubelet's own folder, or the socket that listens is one of the kubelet's
//! process.

use crate::edge::host::{LIMIT, link_beneath, list_beneath, read_beneath};
use crate::edge::trust::read_trusted;
use crate::facts::kubelet_process::{KubeletProcess, start_ticks};
use crate::facts::tcp_listeners::listeners;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The files in which a kubelet keeps its server's certificate, in its folder of certificates: one that the cluster
/// signed (`rotateCertificates` and `serverTLSBootstrap`; `cmd/kubelet/app/server.go`, `pkg/kubelet/certificate`), and its
/// own.
const CERTIFICATES: [&str; 2] = ["kubelet-server-current.pem", "kubelet.crt"];

/// Returns the certificates of the kubelet's server that lie in files of the node which are believed, each in DER: that
/// of its configuration (`tlsCertFile`), else those in its folder of certificates (`--cert-dir`).
pub fn own_certificates(root: &Path, folder: &str, tls_cert_file: Option<&str>) -> Vec<Vec<u8>> {
    let files: Vec<String> = match tls_cert_file.filter(|file| !file.is_empty()) {
        Some(file) => vec![file.to_owned()],
        None => {
            let folder = folder.trim_end_matches('/');
            CERTIFICATES.iter().map(|name| format!("{folder}/{name}")).collect()
        }
    };
    let read = files.iter().filter_map(|file| read_trusted(root, file, LIMIT).ok());
    // The first one is the server's, the others lead to its authority.
    read.filter_map(|pem| Some(CertificateDer::from_pem_slice(&pem).ok()?.to_vec())).collect()
}

/// The kubelet that runs on the node, whose sockets can be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningKubelet {
    root: PathBuf,
    pid: i32,
    start_ticks: u64,
}

impl RunningKubelet {
    /// Names a kubelet that is believed, below the node's root.
    pub fn new(root: &Path, process: &KubeletProcess) -> Self {
        Self { root: root.to_owned(), pid: process.pid, start_ticks: process.start_ticks }
    }

    /// Returns the sockets to which a connection to an address goes, if all of them are the kubelet's.
    ///
    /// # Errors
    ///
    /// Fails with the reason why that is not known, or not so: a lowercase fragment.
    pub(in crate::edge) fn listeners(&self, to: SocketAddr) -> Result<BTreeSet<u64>, String> {
        let pid = self.pid;
        let network = self.link("ns/net");
        let own = std::fs::read_link("/proc/self/ns/net").ok();
        if network.is_none() || network.as_deref() != own.as_deref().and_then(Path::to_str) {
            return Err(format!("process {pid} is not known to be in kq's network"));
        }
        let found =
            listeners(&self.text("net/tcp")?, &self.text("net/tcp6").unwrap_or_default(), to);
        if found.is_empty() {
            return Err("no socket of its network listens there".to_owned());
        }
        let folder = format!("/proc/{pid}/fd");
        let names =
            list_beneath(&self.root, &folder).map_err(|error| format!("{folder}: {error}"))?;
        let sockets: BTreeSet<u64> =
            names.iter().filter_map(|name| inode(&self.link(&format!("fd/{name}"))?)).collect();
        if !found.is_subset(&sockets) {
            return Err(format!("the socket that listens there is not one of process {pid}"));
        }
        // The number can have gone to another process meanwhile.
        match start_ticks(&self.text("stat")?) {
            Some(ticks) if ticks == self.start_ticks => Ok(found),
            _ => Err(format!("process {pid} has ended")),
        }
    }

    fn text(&self, name: &str) -> Result<String, String> {
        let path = format!("/proc/{}/{name}", self.pid);
        let bytes =
            read_beneath(&self.root, &path, LIMIT).map_err(|error| format!("{path}: {error}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn link(&self, name: &str) -> Option<String> {
        link_beneath(&self.root, &format!("/proc/{}/{name}", self.pid)).ok()
    }
}

/// Returns the inode in `socket:[123]`.
fn inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}
