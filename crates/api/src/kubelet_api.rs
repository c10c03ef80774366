//! The client of the kubelet's API: `/pods`, `/configz`, `/stats/summary`.
//!
//! The kubelet listens on an authenticated port with TLS and, if configured, on a read-only port without. The choice of
//! port and credentials is in [`facts::kubelet_endpoint`](kq_facts::kubelet_endpoint).
//!
//! kq verifies that the server on the kubelet's port is the kubelet: any process can listen on a port that the kubelet
//! does not use at the moment, and the host port of a pod redirects connections to a port that it does use. There are
//! two proofs: the server shows the certificate in the kubelet's own folder, or the kubelet's process accepted the very
//! connection on which kq asks.

use crate::http::tls::{Identity, Tls, Trust, read_authorities};
use crate::http::{Deadline, Exchange, MAX_BODY, Target, read_token, run};
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use kq_io::host::LIMIT;
use kq_io::trust::read_trusted;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::TcpStream;

pub use crate::http::{HttpError, Phase};
pub use crate::kubelet_sockets::RunningKubelet;
pub use kq_facts::kubelet_endpoint::Credentials;

/// The certificates that a kubelet may show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTrust {
    /// One from the authorities in a PEM file, for the name or address in the URL.
    Authority(PathBuf),
    /// Any: a kubelet makes its own certificate by default.
    ///
    /// The server at the address is then trusted, and gets the credentials.
    Insecure,
    /// One of these, in DER, from the kubelet's own folder.
    Pinned(Vec<Vec<u8>>),
    /// Any, also none, where the kubelet accepted the connection, before anything is sent on it.
    Socket(RunningKubelet),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletApi {
    /// `https://127.0.0.1:10250`
    pub url: String,
    /// The client's credentials.
    pub credentials: Credentials,
    /// The certificates that it may show; unused without TLS.
    pub server: ServerTrust,
}

/// A client certificate with its key, from a kubeconfig.
pub struct ClientCertificate(pub(crate) Identity);

impl KubeletApi {
    /// Returns the content of a path.
    ///
    /// The deadline covers connecting, TLS, waiting and reading. It must not be called from
    /// asynchronous code.
    /// Fails unless the answer is complete and a success; redirects are not followed.
    pub fn get(&self, path: &str, deadline: Duration) -> Result<Vec<u8>, HttpError> {
        self.get_as(None, path, deadline)
    }

    /// Does the same with a client certificate in place of the credentials.
    pub fn get_as(
        &self,
        certificate: Option<ClientCertificate>,
        path: &str,
        deadline: Duration,
    ) -> Result<Vec<u8>, HttpError> {
        let target = Target::parse(&self.url)?;
        let path = target.path(path)?;
        if !target.is_tls && self.credentials != Credentials::None {
            return Err(HttpError::Clear { address: target.address });
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*"));
        if let Credentials::TokenFile(file) = &self.credentials {
            headers.insert(AUTHORIZATION, bearer(file)?);
        }
        let tls = if target.is_tls { Some(self.tls(certificate)?) } else { None };
        run(async {
            let deadline = Deadline::after(deadline);
            let exchange = Exchange {
                target: &target,
                method: Method::GET,
                path,
                headers,
                body: Bytes::new(),
                tls: tls.as_ref(),
                #[cfg(feature = "apiserver")]
                proxy: None,
                max_body: MAX_BODY,
            };
            let connection = match &self.server {
                ServerTrust::Socket(kubelet) => connect(kubelet, &exchange, &deadline).await?,
                _ => exchange.connect(&deadline).await?,
            };
            Ok(exchange.run_on(connection, &deadline).await?.body)
        })
    }

    fn tls(&self, client: Option<ClientCertificate>) -> Result<Tls, HttpError> {
        let trust = match &self.server {
            ServerTrust::Authority(file) => Trust::Authorities(read_authorities(file)?),
            ServerTrust::Insecure | ServerTrust::Socket(_) => Trust::Anyone,
            ServerTrust::Pinned(certificates) => Trust::Exactly(certificates.clone()),
        };
        let identity = match (client, &self.credentials) {
            (Some(client), _) => Some(client.0),
            (None, Credentials::ClientCertificate { certificate, key }) => {
                Some(Identity::read(certificate, key)?)
            }
            (None, _) => None,
        };
        Tls::new(trust, identity)
    }
}

/// Connects to the kubelet, and to no other process.
async fn connect(
    kubelet: &RunningKubelet,
    exchange: &Exchange<'_>,
    deadline: &Deadline,
) -> Result<TcpStream, HttpError> {
    let Target { host, port, address, .. } = exchange.target;
    let unknown = |reason| HttpError::Unknown { address: address.clone(), reason };
    let ip = host.parse().map_err(|_| unknown("its host is not an address".to_owned()))?;
    kubelet.listens(SocketAddr::new(ip, *port), deadline).map_err(unknown)?;
    let connection = exchange.connect(deadline).await?;
    let accepts = kubelet.accepts(&connection, deadline);
    deadline.within(address, Phase::Connect, accepts).await?.map_err(unknown)?;
    Ok(connection)
}

fn bearer(file: &std::path::Path) -> Result<HeaderValue, HttpError> {
    let token = read_token(file)?;
    let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
        .expect("a token that was read holds only visible characters");
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the remedy for an error, if known: whole sentences, each on its own line.
pub fn hint(error: &HttpError) -> Option<String> {
    let hint = match error {
        HttpError::Status { code: 401, .. } => AUTHENTICATE.to_owned(),
        HttpError::Status { code: 403, path, body, .. } => match user(body) {
            Some(ANONYMOUS) => AUTHENTICATE.to_owned(),
            user => format!(
                "{}: {GRANT} --user={}",
                permission(path),
                user.unwrap_or("USER")
            ),
        },
        HttpError::Status { code: 404, .. } => {
            "the path may be turned off in the kubelet's configuration: enableDebuggingHandlers, \
             enableSystemLogHandler"
                .to_owned()
        }
        HttpError::Status { location: Some(_), .. } => {
            "a kubelet does not redirect: check that the URL is the kubelet's".to_owned()
        }
        HttpError::Refused { .. } => {
            "check that the kubelet runs, and its address and port, or pass --kubelet-url"
                .to_owned()
        }
        HttpError::Tls { .. } | HttpError::OtherCertificate { .. } | HttpError::NotHttp { .. } => {
            "the kubelet's authenticated port (10250) speaks TLS, its read-only port (10255) does not"
                .to_owned()
        }
        _ => return None,
    };
    Some(hint)
}

const AUTHENTICATE: &str = "the kubelet did not authenticate kq: pass a token with --kubelet-token-file, or a client \
                            certificate from the authority in its authentication.x509.clientCAFile with \
                            --kubelet-client-certificate";

/// Gives what kq reads of kubelets, and nothing else.
const GRANT: &str = "kubectl create clusterrole kq-kubelet-api --verb=get \
                     --resource=nodes/configz,nodes/pods,nodes/stats && \
                     kubectl create clusterrolebinding kq-kubelet-api --clusterrole=kq-kubelet-api";

/// The user of a request without credentials.
const ANONYMOUS: &str = "system:anonymous";

/// Returns the user that a kubelet names when it refuses a request (`InstallAuthFilter`,
/// `pkg/kubelet/server/server.go`), if a shell takes the name as it is.
fn user(body: &str) -> Option<&str> {
    let (_, after) = body.split_once("user=")?;
    let (user, _) = after.split_once(", verb=")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '_' | '@' | '-');
    (!user.is_empty() && user.chars().all(is_plain)).then_some(user)
}

/// Returns the permission that a path needs.
///
/// The subresources are those that the kubelet maps its paths to in `pkg/kubelet/server/auth.go`.
/// A path with a subresource of its own under `KubeletFineGrainedAuthz` is checked with that first, and
/// then with `nodes/proxy`.
fn permission(path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let is =
        |root: &str| path.strip_prefix(root).is_some_and(|r| r.is_empty() || r.starts_with('/'));
    let always = [("/stats", "stats"), ("/metrics", "metrics"), ("/logs", "log")];
    let fine = [
        ("/pods", "pods"),
        ("/runningpods", "pods"),
        ("/configz", "configz"),
        ("/healthz", "healthz"),
    ];
    if let Some((_, resource)) = always.iter().find(|(root, _)| is(root)) {
        return format!("the user needs the verb get on nodes/{resource}");
    }
    match fine.iter().find(|(root, _)| is(root)) {
        Some((_, resource)) => format!(
            "the user needs the verb get on nodes/proxy, or on nodes/{resource} where the kubelet's \
             feature gate KubeletFineGrainedAuthz is on"
        ),
        None => "the user needs the verb get on nodes/proxy".to_owned(),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_user() {
        let of = |user: &str| {
            format!("Forbidden (user={user}, verb=get, resource=nodes, subresource=[stats])")
        };
        assert_eq!(user(&of("system:node:a.example")), Some("system:node:a.example"));
        assert_eq!(user(&of("a; reboot")), None);
        assert_eq!(user("Forbidden"), None);
    }

    #[test]
    fn a_path_needs_a_permission() {
        for (path, expected) in [
            ("/pods", "nodes/pods"),
            ("/pods?a=b", "nodes/pods"),
            ("/runningpods/", "nodes/pods"),
            ("/configz", "nodes/configz"),
            ("/healthz/ping", "nodes/healthz"),
            ("/stats/summary", "get on nodes/stats"),
            ("/metrics/cadvisor", "get on nodes/metrics"),
            ("/podsecurity", "get on nodes/proxy"),
            ("/exec/a/b/c", "get on nodes/proxy"),
        ] {
            let text = permission(path);
            assert!(text.contains(expected), "{path}: {text}");
        }
        assert!(!permission("/podsecurity").contains("nodes/pods"));
    }
}
