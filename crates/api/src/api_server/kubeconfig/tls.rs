//! How TLS is spoken with the server of a kubeconfig: its authorities, and the client's certificate.

use super::{Source, given};
use crate::api_server::ApiError;
use crate::http::authorities::Authorities;
use crate::http::tls::{Identity, Trust, authorities};
use k8s_openapi::ByteString;
use kube::config::{AuthInfo, Cluster};
use rustls::RootCertStore;
use rustls_pki_types::ServerName;
use secrecy::ExposeSecret;
use std::path::PathBuf;

/// Whose certificates are accepted, and for which name.
#[derive(Clone)]
pub(in crate::api_server) struct ServerTls {
    pub(in crate::api_server) trust: Trust,
    /// The name that the certificate must have, where that is not the host of the URL.
    pub(in crate::api_server) name: Option<ServerName<'static>>,
}

impl Source {
    /// Returns how the server of a cluster is known, with its authorities in PEM, if it has its own.
    pub(super) fn tls(&self, cluster: &Cluster) -> Result<(ServerTls, Option<Vec<u8>>), ApiError> {
        let is_insecure = cluster.insecure_skip_tls_verify.unwrap_or_default();
        let authority = self.pem(
            ("certificate authority", "certificate-authority-data"),
            given(&cluster.certificate_authority_data),
            given(&cluster.certificate_authority),
        )?;
        let trust = match (is_insecure, &authority) {
            (true, Some(_)) => {
                let reason =
                    "insecure-skip-tls-verify and a certificate-authority exclude each other";
                return Err(self.refuse(reason));
            }
            (true, None) => Trust::Anyone,
            (false, Some((path, pem))) => Trust::Authorities(authorities(path, pem)?),
            (false, None) => Trust::Authorities(self.system()?),
        };
        let name = given(&cluster.tls_server_name).map(|name| {
            ServerName::try_from(name.to_owned())
                .map_err(|_| self.refuse("tls-server-name is neither a name nor an address"))
        });
        Ok((ServerTls { trust, name: name.transpose()? }, authority.map(|(_, pem)| pem)))
    }

    /// Returns the client certificate of a user, with its key.
    pub(super) fn identity(&self, user: &AuthInfo) -> Result<Option<Identity>, ApiError> {
        let certificate = self.pem(
            ("client certificate", "client-certificate-data"),
            given(&user.client_certificate_data),
            given(&user.client_certificate),
        )?;
        let key = self.pem(
            ("client key", "client-key-data"),
            user.client_key_data.as_ref().map(|key| key.expose_secret()).filter(|k| !k.is_empty()),
            given(&user.client_key),
        )?;
        match (&certificate, &key) {
            (None, None) => Ok(None),
            (Some((path, chain)), Some((key_path, key))) => {
                Ok(Some(Identity::from_pem((path, chain), (key_path, key))?))
            }
            (Some(_), None) => Err(self.refuse("the user has a client certificate without a key")),
            (None, Some(_)) => Err(self.refuse("the user has a client key without a certificate")),
        }
    }

    /// Returns PEM from the file itself, or from the file that it names, with the path for messages.
    fn pem(
        &self,
        (what, field): (&'static str, &str),
        data: Option<&str>,
        file: Option<&str>,
    ) -> Result<Option<(PathBuf, Vec<u8>)>, ApiError> {
        if let Some(data) = data {
            let data: String = data.split_ascii_whitespace().collect();
            let ByteString(pem) = serde_json::from_value(data.into())
                .map_err(|_| self.refuse(format!("{field} is not base64")))?;
            return Ok(Some((PathBuf::from(&self.path), pem)));
        }
        let Some(file) = file.map(PathBuf::from) else { return Ok(None) };
        let pem = self.files.read(what, &file)?;
        Ok(Some((file, pem)))
    }

    /// Returns the authorities of the system, for a kubeconfig that names none.
    fn system(&self) -> Result<Authorities, ApiError> {
        Authorities::signing(system_roots()).ok_or_else(|| self.refuse(NO_AUTHORITY))
    }
}

#[cfg(not(target_os = "macos"))]
const NO_AUTHORITY: &str = "neither it nor the system has a certificate authority";

#[cfg(target_os = "macos")]
const NO_AUTHORITY: &str = "it has no certificate authority, and kq does not read those of macOS";

#[cfg(not(target_os = "macos"))]
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// Returns no authorities: the keychain is read by a library that only Apple's SDK has.
#[cfg(target_os = "macos")]
fn system_roots() -> RootCertStore {
    RootCertStore::empty()
}
