//! The endpoints of a kubelet, in the order of the queries.
//!
//! The authenticated port answers everything and needs credentials; the read-only port answers
//! without them and is off by default. The configuration of the running kubelet
//! decides where they are; an unknown one falls back to the kubelet's own defaults, and every
//! endpoint has its source.

use crate::distribution::{Place, rows};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

/// `port`: the default of `KubeletConfiguration`.
const PORT: u16 = 10250;

/// `readOnlyPort`: what old kubelets and some distributions use; the default is none.
const READ_ONLY_PORT: u16 = 10255;

/// Returns what the distributions give the API server of a control plane node to talk to kubelets: certificates with
/// their keys.
pub fn control_plane_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let keys = rows(Place::ApiServerKey).map(|row| row.path);
    rows(Place::ApiServerCertificate).map(|row| row.path).zip(keys)
}

/// The credentials of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// No credentials.
    #[default]
    None,
    /// With the bearer token in a file.
    TokenFile(PathBuf),
    /// With a client certificate, in PEM; both may be in the same file.
    ClientCertificate {
        /// The file with the certificate and those between it and its authority.
        certificate: PathBuf,
        /// The file with the key.
        key: PathBuf,
    },
    /// With the client certificate of a kubeconfig, which has this name in messages.
    Kubeconfig(String),
}

impl Credentials {
    /// Returns where they are; `None`: there are none.
    pub fn shown(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::TokenFile(file) => Some(format!("the token in {}", file.display())),
            Self::ClientCertificate { certificate, .. } => {
                Some(format!("the client certificate {}", certificate.display()))
            }
            Self::Kubeconfig(shown) => Some(format!("the client certificate in {shown}")),
        }
    }
}

/// The flags, and what is known of the running kubelet; `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownKubelet {
    /// A trusted kubelet runs on the node.
    pub runs: bool,
    /// `--kubelet-certificate-authority` or `--kubelet-insecure-skip-tls-verify` decides which TLS server is trusted.
    pub has_server_flag: bool,
    /// `--kubelet-url`
    pub url: Option<String>,
    /// `--kubelet-token-file`
    pub token_file: Option<PathBuf>,
    /// `--kubelet-client-certificate`
    pub client_certificate: Option<PathBuf>,
    /// `--kubelet-client-key`; without it the key is in the file of the certificate.
    pub client_key: Option<PathBuf>,
    /// `address` of its configuration.
    pub address: Option<String>,
    /// `port` of its configuration; 0 is the default.
    pub port: Option<u16>,
    /// `readOnlyPort` of its configuration; 0 is off.
    pub read_only_port: Option<u16>,
    /// `authentication.x509.clientCAFile` of its configuration is set: it checks client
    /// certificates.
    pub accepts_certificates: Option<bool>,
    /// Which credential files exist on the node.
    pub files: Vec<PathBuf>,
    /// The kubeconfigs with a client certificate that the operator may use, by their names in messages.
    pub kubeconfigs: Vec<String>,
}

/// An endpoint to query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletEndpoint {
    /// `https://127.0.0.1:10250`
    pub url: String,
    /// The source of its address.
    pub origin: EndpointOrigin,
    /// The credentials of a request.
    pub credentials: Credentials,
    /// Their source.
    pub credentials_origin: CredentialsOrigin,
}

/// The source of an endpoint's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointOrigin {
    /// `--kubelet-url`
    Flag,
    /// `port` of the kubelet's configuration.
    Port,
    /// None: the default port.
    DefaultPort,
    /// `readOnlyPort` of the kubelet's configuration.
    ReadOnlyPort,
    /// None: the read-only port that many kubelets have, as a last try.
    CustomaryReadOnlyPort,
}

/// The source of the credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialsOrigin {
    /// `--kubelet-token-file`
    TokenFlag,
    /// `--kubelet-client-certificate`
    CertificateFlag,
    /// The files of a control plane node: the certificate.
    ControlPlane(&'static str),
    /// The operator's kubeconfig.
    Kubeconfig,
    /// None are needed: the endpoint needs none, or could not keep them secret.
    NotNeeded,
    /// None are known.
    NotFound,
}

impl fmt::Display for EndpointOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "--kubelet-url",
            Self::Port => "port of the kubelet's configuration",
            Self::DefaultPort => "the kubelet's default port",
            Self::ReadOnlyPort => "readOnlyPort of the kubelet's configuration",
            Self::CustomaryReadOnlyPort => "the customary read-only port",
        })
    }
}

impl fmt::Display for CredentialsOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TokenFlag => "--kubelet-token-file",
            Self::CertificateFlag => "--kubelet-client-certificate",
            Self::ControlPlane(certificate) => certificate,
            Self::Kubeconfig => "the operator's kubeconfig",
            Self::NotNeeded => "no credentials needed",
            Self::NotFound => "no credentials found",
        })
    }
}

/// Returns the endpoints to query, the best one first.
///
/// Configured credentials are used without a fallback; with a token and a certificate,
/// the token is tried first. Nothing secret goes to an endpoint without TLS.
///
/// Without a running kubelet, its ports belong to another process, unless a flag identifies the server.
pub fn kubelet_endpoints(known: &KnownKubelet) -> Vec<KubeletEndpoint> {
    if let Some(url) = &known.url {
        return authenticated(known, url, EndpointOrigin::Flag);
    }
    let host = host(known.address.as_deref());
    let (port, origin) = match known.port {
        None | Some(0) => (PORT, EndpointOrigin::DefaultPort),
        Some(port) => (port, EndpointOrigin::Port),
    };
    let mut endpoints = authenticated(known, &format!("https://{host}:{port}"), origin);
    let read_only = match known.read_only_port {
        Some(0) => None,
        Some(port) => Some((port, EndpointOrigin::ReadOnlyPort)),
        None => Some((READ_ONLY_PORT, EndpointOrigin::CustomaryReadOnlyPort)),
    };
    endpoints
        .extend(read_only.map(|(port, origin)| open(&format!("http://{host}:{port}"), origin)));
    if !known.runs {
        endpoints.retain(|it| known.has_server_flag && it.url.starts_with("https://"));
    }
    endpoints
}

/// Returns an endpoint without credentials.
fn open(url: &str, origin: EndpointOrigin) -> KubeletEndpoint {
    KubeletEndpoint {
        url: url.to_owned(),
        origin,
        credentials: Credentials::None,
        credentials_origin: CredentialsOrigin::NotNeeded,
    }
}

/// Returns an endpoint once for each of the credentials to try.
fn authenticated(known: &KnownKubelet, url: &str, origin: EndpointOrigin) -> Vec<KubeletEndpoint> {
    let is_clear = url.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"));
    if is_clear {
        return vec![open(url, origin)];
    }
    let with = |(credentials, credentials_origin)| KubeletEndpoint {
        url: url.to_owned(),
        origin,
        credentials,
        credentials_origin,
    };
    candidates(known).into_iter().map(with).collect()
}

fn candidates(known: &KnownKubelet) -> Vec<(Credentials, CredentialsOrigin)> {
    let mut candidates = Vec::new();
    if let Some(file) = &known.token_file {
        candidates.push((Credentials::TokenFile(file.clone()), CredentialsOrigin::TokenFlag));
    }
    if let Some(certificate) = &known.client_certificate {
        let key = known.client_key.as_ref().unwrap_or(certificate).clone();
        let certificate = certificate.clone();
        let credentials = Credentials::ClientCertificate { certificate, key };
        candidates.push((credentials, CredentialsOrigin::CertificateFlag));
    }
    // A kubelet without an authority for client certificates treats their owners as anonymous.
    if candidates.is_empty() && known.accepts_certificates != Some(false) {
        let exists = |path: &str| known.files.iter().any(|file| file == Path::new(path));
        for (certificate, key) in control_plane_files() {
            if exists(certificate) && exists(key) {
                let credentials = Credentials::ClientCertificate {
                    certificate: PathBuf::from(certificate),
                    key: PathBuf::from(key),
                };
                candidates.push((credentials, CredentialsOrigin::ControlPlane(certificate)));
            }
        }
        let kubeconfigs = known.kubeconfigs.iter().cloned().map(Credentials::Kubeconfig);
        candidates.extend(kubeconfigs.map(|it| (it, CredentialsOrigin::Kubeconfig)));
    }
    if candidates.is_empty() {
        candidates.push((Credentials::None, CredentialsOrigin::NotFound));
    }
    candidates
}

/// Returns the host to connect to on the node itself for the address that a kubelet listens on.
fn host(address: Option<&str>) -> String {
    const HERE: &str = "127.0.0.1";
    let Some(address) = address.map(str::trim).filter(|address| !address.is_empty()) else {
        return HERE.to_owned();
    };
    match address.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => HERE.to_owned(),
        Ok(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
            Some(mapped) if mapped.is_unspecified() => HERE.to_owned(),
            Some(mapped) => mapped.to_string(),
            None => bracketed(address),
        },
        Ok(IpAddr::V4(address)) => address.to_string(),
        // The kubelet accepts only addresses and would not run with it; the URL shows it.
        Err(_) => address.to_owned(),
    }
}

fn bracketed(address: Ipv6Addr) -> String {
    format!("[{address}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns endpoints in one line each.
    fn shown(known: &KnownKubelet) -> Vec<String> {
        let credentials = |credentials: &Credentials| match credentials {
            Credentials::None => "none".to_owned(),
            Credentials::TokenFile(file) => file.display().to_string(),
            Credentials::ClientCertificate { certificate, key } => {
                format!("{} + {}", certificate.display(), key.display())
            }
            Credentials::Kubeconfig(shown) => shown.clone(),
        };
        kubelet_endpoints(known)
            .iter()
            .map(|e| {
                format!(
                    "{} ({}), {} ({})",
                    e.url,
                    e.origin,
                    credentials(&e.credentials),
                    e.credentials_origin
                )
            })
            .collect()
    }

    fn control_plane() -> Vec<PathBuf> {
        let (certificate, key) = control_plane_files().next().expect("kubeadm has them");
        vec![certificate.into(), key.into()]
    }

    #[test]
    fn endpoints_are_tried_in_order() {
        const LAST: &str = "http://127.0.0.1:10255 (the customary read-only port), none (no \
                            credentials needed)";
        const ANONYMOUS: &str = "https://127.0.0.1:10250 (the kubelet's default port), none (no \
                                 credentials found)";
        const WITH_CONTROL_PLANE: &str = "https://127.0.0.1:10250 (the kubelet's default port), \
            /etc/kubernetes/pki/apiserver-kubelet-client.crt + \
            /etc/kubernetes/pki/apiserver-kubelet-client.key \
            (/etc/kubernetes/pki/apiserver-kubelet-client.crt)";
        let none = || KnownKubelet { runs: true, ..KnownKubelet::default() };
        let rows: Vec<(&str, KnownKubelet, &[&str])> = vec![
            ("nothing known", none(), &[ANONYMOUS, LAST]),
            (
                "read-only port off",
                KnownKubelet { read_only_port: Some(0), ..none() },
                &[ANONYMOUS],
            ),
            (
                "all configured",
                KnownKubelet {
                    address: Some("10.0.0.5".into()),
                    port: Some(10350),
                    read_only_port: Some(8080),
                    ..none()
                },
                &[
                    "https://10.0.0.5:10350 (port of the kubelet's configuration), none (no \
                     credentials found)",
                    "http://10.0.0.5:8080 (readOnlyPort of the kubelet's configuration), none (no \
                     credentials needed)",
                ],
            ),
            ("port 0 is the default", KnownKubelet { port: Some(0), ..none() }, &[ANONYMOUS, LAST]),
            (
                "a control plane node",
                KnownKubelet { files: control_plane(), ..none() },
                &[WITH_CONTROL_PLANE, LAST],
            ),
            (
                "a control plane's certificate without its key",
                KnownKubelet { files: vec![control_plane().remove(0)], ..none() },
                &[ANONYMOUS, LAST],
            ),
            (
                "a kubeconfig after the control plane's certificate",
                KnownKubelet {
                    files: control_plane(),
                    kubeconfigs: vec!["/etc/kubernetes/admin.conf".to_owned()],
                    read_only_port: Some(0),
                    ..none()
                },
                &[
                    WITH_CONTROL_PLANE,
                    "https://127.0.0.1:10250 (the kubelet's default port), \
                     /etc/kubernetes/admin.conf (the operator's kubeconfig)",
                ],
            ),
            (
                "a kubelet that looks at no certificates",
                KnownKubelet {
                    files: control_plane(),
                    kubeconfigs: vec!["/etc/kubernetes/admin.conf".to_owned()],
                    accepts_certificates: Some(false),
                    ..none()
                },
                &[ANONYMOUS, LAST],
            ),
            (
                "a token is used and nothing else",
                KnownKubelet {
                    files: control_plane(),
                    token_file: Some("/t".into()),
                    read_only_port: Some(0),
                    ..none()
                },
                &["https://127.0.0.1:10250 (the kubelet's default port), /t \
                   (--kubelet-token-file)"],
            ),
            (
                "a token before a certificate",
                KnownKubelet {
                    token_file: Some("/t".into()),
                    client_certificate: Some("/c".into()),
                    client_key: Some("/k".into()),
                    read_only_port: Some(0),
                    ..none()
                },
                &[
                    "https://127.0.0.1:10250 (the kubelet's default port), /t \
                     (--kubelet-token-file)",
                    "https://127.0.0.1:10250 (the kubelet's default port), /c + /k \
                     (--kubelet-client-certificate)",
                ],
            ),
            (
                "the key is in the file of the certificate",
                KnownKubelet {
                    client_certificate: Some("/both".into()),
                    read_only_port: Some(0),
                    ..none()
                },
                &["https://127.0.0.1:10250 (the kubelet's default port), /both + /both \
                   (--kubelet-client-certificate)"],
            ),
            (
                "a URL that was given is the only one",
                KnownKubelet {
                    url: Some("https://node:1".into()),
                    port: Some(2),
                    read_only_port: Some(3),
                    ..none()
                },
                &["https://node:1 (--kubelet-url), none (no credentials found)"],
            ),
            ("no kubelet runs", KnownKubelet::default(), &[]),
            (
                "no kubelet runs, and a flag says how to know it",
                KnownKubelet { has_server_flag: true, ..KnownKubelet::default() },
                &[ANONYMOUS],
            ),
            (
                "a token is not for a URL without TLS",
                KnownKubelet {
                    url: Some("HTTP://node:1".into()),
                    token_file: Some("/t".into()),
                    ..none()
                },
                &["HTTP://node:1 (--kubelet-url), none (no credentials needed)"],
            ),
        ];
        for (name, known, expected) in rows {
            assert_eq!(shown(&known), expected, "{name}");
        }
    }

    #[test]
    fn a_kubelet_that_listens_everywhere_is_asked_here() {
        for (address, expected) in [
            (None, "127.0.0.1"),
            (Some(""), "127.0.0.1"),
            (Some("0.0.0.0"), "127.0.0.1"),
            (Some("::"), "127.0.0.1"),
            (Some("::ffff:0.0.0.0"), "127.0.0.1"),
            (Some("::ffff:10.0.0.1"), "10.0.0.1"),
            (Some("10.0.0.1"), "10.0.0.1"),
            (Some("fd00::1"), "[fd00::1]"),
            (Some("0:0:0:0:0:0:0:1"), "[::1]"),
        ] {
            assert_eq!(host(address), expected, "{address:?}");
        }
    }
}
