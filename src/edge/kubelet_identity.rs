//! Verifies that the server on the kubelet's port is the kubelet.
//!
//! Any process can listen on a port that the kubelet does not use at the moment. There are two proofs: the server
//! shows the certificate in the kubelet's own folder, or the listening socket belongs to the kubelet's
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

/// The files with a kubelet's serving certificate, in its certificate folder: one that the cluster
/// signed (`rotateCertificates` and `serverTLSBootstrap`; `cmd/kubelet/app/server.go`, `pkg/kubelet/certificate`), and its
/// own.
const CERTIFICATES: [&str; 2] = ["kubelet-server-current.pem", "kubelet.crt"];

/// Returns the kubelet's serving certificates from trusted files of the node, each in DER: the one
/// of its configuration (`tlsCertFile`), else those in its certificate folder (`--cert-dir`).
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

/// The running kubelet, whose sockets can be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningKubelet {
    root: PathBuf,
    pid: i32,
    start_ticks: u64,
}

impl RunningKubelet {
    /// Refers to a trusted kubelet, below the node's root.
    pub fn new(root: &Path, process: &KubeletProcess) -> Self {
        Self { root: root.to_owned(), pid: process.pid, start_ticks: process.start_ticks }
    }

    /// Returns the listening sockets of an address, if all of them are the kubelet's.
    ///
    /// # Errors
    ///
    /// Fails with the reason why that is unknown or false: a lowercase fragment.
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
            return Err("no socket of its network namespace listens there".to_owned());
        }
        let folder = format!("/proc/{pid}/fd");
        let names =
            list_beneath(&self.root, &folder).map_err(|error| format!("{folder}: {error}"))?;
        let sockets: BTreeSet<u64> =
            names.iter().filter_map(|name| inode(&self.link(&format!("fd/{name}"))?)).collect();
        if !found.is_subset(&sockets) {
            return Err(format!("the listening socket does not belong to process {pid}"));
        }
        // The process ID may have been reused meanwhile.
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
