//! The validity of the certificates of a kubelet.

use crate::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A certificate in a file of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// The file, below the node's root.
    pub path: String,
    /// The kubelet's use of it.
    pub usage: CertificateUsage,
    /// The distinguished name of its subject.
    pub subject: String,
    /// The start of its validity.
    pub not_before: Timestamp,
    /// The end of its validity.
    pub not_after: Timestamp,
}

/// The kubelet's use of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CertificateUsage {
    /// It shows the certificate to the API server.
    Client,
    /// Its own server shows the certificate.
    Serving,
    /// It verifies the API server with the certificate.
    ServerAuthority,
    /// It verifies clients of its own server with the certificate.
    ClientAuthority,
}

impl fmt::Display for CertificateUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client certificate",
            Self::Serving => "serving certificate",
            Self::ServerAuthority => "CA certificate of the API server",
            Self::ClientAuthority => "CA certificate of clients",
        })
    }
}
