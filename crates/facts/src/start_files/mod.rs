//! The files that a start of the kubelet reads next to its configuration: those that the command line and the configuration
//! name, and those in the folder of its certificates. Pure: [`named_files`] says which, and `io` reads them.
//!
//! Of a private key only the label of its block is kept, and of a kubeconfig nothing that is a credential.

mod kubeconfig;
mod named;
mod pem;
mod providers;

pub use kubeconfig::{Held, Kubeconfig, NamedCluster, NamedUser};
pub use named::{FileUse, KERNEL_SETTINGS, named_files};
pub use pem::{Malformed, Pem, PemCertificate, PublicKey};
pub use providers::{CredentialProvider, CredentialProviders};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The files that a start reads, as they are on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StartFiles {
    /// The files by their paths on the node. One that is not here was not looked at.
    pub files: BTreeMap<String, StartFile>,
    /// The kernel's settings by their names, such as `vm/overcommit_memory`; of a node that runs.
    pub kernel_settings: BTreeMap<String, i64>,
    /// The user `kubelet`, and the ranges of IDs that are set aside for it; `None`: not known.
    pub kubelet_user: Option<KubeletUser>,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StartFile {
    /// Nothing is there.
    Absent,
    /// It could not be read, or a copy of the node does not have it; with the reason.
    Unreadable(String),
    Folder,
    Socket,
    /// A file or a link of which only the existence matters.
    #[serde(rename_all = "camelCase")]
    Present {
        /// The entry itself is a symbolic link.
        is_link: bool,
        /// It may be executed.
        is_program: bool,
    },
    /// A file with blocks of PEM.
    Pem(Pem),
    Kubeconfig(Box<Kubeconfig>),
    /// The configuration of the plugins for credentials of images.
    Providers(CredentialProviders),
}

/// The user `kubelet` of a node, which can have ranges of IDs for pods with user namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeletUser {
    /// The node has such a user.
    pub exists: bool,
    /// The program `getsubids` is there, without which the kubelet ignores the ranges.
    pub has_getsubids: bool,
    /// The ranges in `/etc/subuid`: first ID and length.
    pub user_ids: Vec<(u32, u32)>,
    /// The ranges in `/etc/subgid`.
    pub group_ids: Vec<(u32, u32)>,
}

impl StartFiles {
    /// Returns what is at a path; `None`: it was not looked at, or could not be read.
    pub fn get(&self, path: &str) -> Option<&StartFile> {
        self.files.get(path).filter(|file| !matches!(file, StartFile::Unreadable(_)))
    }

    /// Forgets the sockets, which processes make again after the machine has started.
    pub fn forget_sockets(&mut self) {
        let is_of_processes =
            |path: &str| path.starts_with("/run/") || path.starts_with("/var/run/");
        self.files.retain(|path, file| *file != StartFile::Socket && !is_of_processes(path));
    }
}
