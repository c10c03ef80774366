//! A kubeconfig as the kubelet loads it: `client-go/tools/clientcmd` (`loader.go`, `client_config.go`, `validation.go`) and
//! `isClientConfigStillValid` in `pkg/kubelet/certificate/bootstrap/bootstrap.go`.

use super::credentials::pair_refusal;
use kq_answer::Certainty;
use kq_facts::start_files::{
    Held, Kubeconfig, NamedCluster, NamedUser, Pem, StartFile, StartFiles,
};
use kq_facts::timestamp::Timestamp;
use kq_k8s::go_text::{aggregate, quote};

/// An error of the kubelet, and how sure its words are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub text: String,
    pub certainty: Certainty,
}

impl Refusal {
    pub fn certain(text: impl Into<String>) -> Self {
        Self { text: text.into(), certainty: Certainty::Certain }
    }

    /// The words after a colon depend on more than kq knows.
    pub fn likely(text: impl Into<String>) -> Self {
        Self { text: text.into(), certainty: Certainty::Likely }
    }

    /// Puts words before the text.
    pub fn after(self, words: &str) -> Self {
        Self { text: format!("{words}{}", self.text), ..self }
    }
}

/// What is known of a check that a file decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    Good,
    Bad(Refusal),
    /// A file was not read.
    Unknown,
}

/// Loads a kubeconfig and makes a client's configuration of it (`loadRESTClientConfig`).
pub(super) fn load(files: &StartFiles, path: &str) -> Checked {
    match files.get(path) {
        None => Checked::Unknown,
        Some(StartFile::Absent) => {
            Checked::Bad(Refusal::certain(format!("stat {path}: no such file or directory")))
        }
        Some(StartFile::Kubeconfig(config)) => match &config.error {
            Some(error) => Checked::Bad(Refusal::likely(loading(path, error))),
            None => usable(files, config),
        },
        Some(StartFile::Folder) => {
            let error = format!("read {path}: is a directory");
            Checked::Bad(Refusal::certain(loading(path, &error)))
        }
        Some(_) => Checked::Unknown,
    }
}

fn loading(path: &str, error: &str) -> String {
    format!("error loading config file \"{path}\": {error}")
}

/// Checks the user and the cluster of the current context (`ConfirmUsable`).
fn usable(files: &StartFiles, config: &Kubeconfig) -> Checked {
    let mut errors = Vec::new();
    let mut is_known = true;
    if !config.current_context.is_empty() && !config.has_context {
        let name = &config.current_context;
        errors.push(format!("context was not found for specified context: {name}"));
    }
    user_errors(files, &config.user, &mut errors, &mut is_known);
    let before = errors.len();
    cluster_errors(files, &config.cluster, &mut errors, &mut is_known);
    if before == 0 && config.cluster.is_empty {
        errors = vec![
            "no configuration has been provided, try setting KUBERNETES_MASTER environment variable".to_owned(),
        ];
    }
    if !errors.is_empty() {
        let text = format!("invalid configuration: {}", aggregate(&errors));
        return Checked::Bad(match is_known {
            true => Refusal::certain(text),
            false => Refusal::likely(text),
        });
    }
    if is_secure(config)
        && !config.user.has_token
        && let Some(path) = &config.user.token_file
    {
        match read_error(files, path) {
            Ok(None) => {}
            Ok(Some(error)) => return Checked::Bad(Refusal::certain(error)),
            Err(()) => is_known = false,
        }
    }
    if is_known { Checked::Good } else { Checked::Unknown }
}

/// The server's URL is one of HTTPS, without which the user's credentials are not read (`IsConfigTransportTLS`).
fn is_secure(config: &Kubeconfig) -> bool {
    config.cluster.server.starts_with("https://")
}

/// Returns the error of reading a file, if any; `Err`: it is not known.
pub(super) fn read_error(files: &StartFiles, path: &str) -> Result<Option<String>, ()> {
    match files.get(path) {
        None => Err(()),
        Some(StartFile::Absent) => Ok(Some(format!("open {path}: no such file or directory"))),
        Some(StartFile::Folder) => Ok(Some(format!("read {path}: is a directory"))),
        Some(_) => Ok(None),
    }
}

/// Adds the error of opening a file: a folder can be opened.
fn open_error(files: &StartFiles, held: &Held, what: &str, of: &str, said: &mut Said<'_>) {
    let Some(path) = &held.file else { return };
    match files.get(path) {
        None => *said.is_known = false,
        Some(StartFile::Absent) => said.errors.push(format!(
            "unable to read {what} {path} for {of} due to open {path}: no such file or directory"
        )),
        Some(_) => {}
    }
}

/// The errors that were found.
struct Said<'a> {
    errors: &'a mut Vec<String>,
    is_known: &'a mut bool,
}

/// `validateAuthInfo`; plugins for credentials are not checked.
fn user_errors(
    files: &StartFiles,
    user: &NamedUser,
    errors: &mut Vec<String>,
    is_known: &mut bool,
) {
    let name = &user.name;
    let said = &mut Said { errors, is_known };
    if !user.certificate.is_none() {
        if user.certificate.file.is_some() && user.certificate.data.is_some() {
            said.errors.push(format!(
                "client-cert-data and client-cert are both specified for {name}. client-cert-data will override."
            ));
        }
        if user.key.file.is_some() && user.key.data.is_some() {
            said.errors.push(format!(
                "client-key-data and client-key are both specified for {name}; client-key-data will override"
            ));
        }
        if user.key.is_none() {
            said.errors.push(format!(
                "client-key-data or client-key must be specified for {name} to use the clientCert authentication \
                 method."
            ));
        }
        open_error(files, &user.certificate, "client-cert", name, said);
        open_error(files, &user.key, "client-key", name, said);
    }
    if user.has_token && user.has_password {
        said.errors.push(format!(
            "more than one authentication method found for {name}; found [token basicAuth], only one is allowed"
        ));
    }
}

/// `validateClusterInfo`
fn cluster_errors(
    files: &StartFiles,
    cluster: &NamedCluster,
    errors: &mut Vec<String>,
    is_known: &mut bool,
) {
    let name = &cluster.name;
    let said = &mut Said { errors, is_known };
    if cluster.is_empty {
        return said.errors.push("cluster has no server defined".to_owned());
    }
    if cluster.server.is_empty() {
        said.errors.push(match name.is_empty() {
            true => "default cluster has no server defined".to_owned(),
            false => format!("no server found for cluster {}", quote(name)),
        });
    }
    let authority = &cluster.authority;
    if authority.file.is_some() && authority.data.is_some() {
        said.errors.push(format!(
            "certificate-authority-data and certificate-authority are both specified for {name}. \
             certificate-authority-data will override."
        ));
    }
    open_error(files, authority, "certificate-authority", name, said);
}

/// Returns the error of making a client (`NewForConfig` in `client-go/kubernetes`, `TLSConfigFor` in `client-go/transport`).
pub(super) fn tls_error(files: &StartFiles, path: &str) -> Option<Refusal> {
    let Some(StartFile::Kubeconfig(config)) = files.get(path) else { return None };
    if !is_secure(config) {
        return None;
    }
    if let Some(refusal) = authority_error(files, &config.cluster) {
        return Some(refusal);
    }
    let (certificate, key) = (&config.user.certificate, &config.user.key);
    // A pair of files is read when a connection is made.
    if certificate.data.is_none() && key.data.is_none() {
        return None;
    }
    pair_refusal(pem_of(files, certificate)?, pem_of(files, key)?)
}

/// Returns the error of the authorities of a cluster (`rootCertPool`).
fn authority_error(files: &StartFiles, cluster: &NamedCluster) -> Option<Refusal> {
    if cluster.authority.is_none() {
        return None;
    }
    if cluster.is_insecure {
        let text = "specifying a root certificates file with the insecure flag is not allowed";
        return Some(Refusal::certain(text));
    }
    let pem = pem_of(files, &cluster.authority)?;
    let words = "unable to load root certificates: ";
    let is_good = pem.certificates.iter().any(|it| it.not_after.is_some());
    match (pem.labels.is_empty(), pem.certificates.is_empty()) {
        _ if is_good || pem.is_empty => None,
        (true, _) => Some(Refusal::certain(format!("{words}unable to parse bytes as PEM block"))),
        (false, true) => {
            let why = "no valid certificate authority data seen";
            Some(Refusal::certain(format!("{words}{why}")))
        }
        (false, false) => {
            let why = "failed to parse certificate: x509: malformed certificate";
            Some(Refusal::likely(format!("{words}{why}")))
        }
    }
}

/// Returns why the server of a kubeconfig is none.
pub(super) fn server_error(files: &StartFiles, path: &str) -> Option<Refusal> {
    let Some(StartFile::Kubeconfig(config)) = files.get(path) else { return None };
    let server = &config.cluster.server;
    let (_, below) = server.split_once('/').filter(|_| !server.contains("://"))?;
    (!below.is_empty()).then(|| {
        let server = quote(server);
        Refusal::certain(format!("host must be a URL or a host:port pair: {server}"))
    })
}

/// Whether a kubeconfig has a client certificate that counts still.
pub(super) enum Validity {
    Valid,
    /// The kubelet needs its bootstrap kubeconfig; with what it logs.
    Invalid(Option<String>),
    Unknown,
}

/// Checks a kubeconfig and its client certificate (`isClientConfigStillValid`).
pub(super) fn validity(files: &StartFiles, path: &str, now: Option<Timestamp>) -> Validity {
    let config = match (files.get(path), load(files, path)) {
        (None, _) | (_, Checked::Unknown) => return Validity::Unknown,
        (Some(StartFile::Absent), _) => return Validity::Invalid(None),
        (_, Checked::Bad(refusal)) => {
            let error = refusal.text;
            return Validity::Invalid(Some(format!(
                "unable to read existing bootstrap client config from {path}: {error}"
            )));
        }
        (Some(StartFile::Kubeconfig(config)), Checked::Good) => config,
        (Some(_), Checked::Good) => return Validity::Unknown,
    };
    if let Some(refusal) = tls_error(files, path) {
        return Validity::Invalid(Some(format!(
            "unable to load TLS configuration from existing bootstrap client config read from {path}: {}",
            refusal.text
        )));
    }
    let none = Pem::default();
    let pem = match is_secure(config) && !config.user.certificate.is_none() {
        false => &none,
        true => match pem_of(files, &config.user.certificate) {
            Some(pem) => pem,
            None => return Validity::Unknown,
        },
    };
    if let Some(error) = pem.list_error() {
        let error = error.unwrap_or("x509: malformed certificate");
        return Validity::Invalid(Some(format!(
            "unable to load TLS certificates from existing bootstrap client config read from {path}: {error}"
        )));
    }
    let Some(now) = now else { return Validity::Unknown };
    match pem.expired(now) {
        None => Validity::Valid,
        Some(end) => Validity::Invalid(Some(format!(
            "part of the existing bootstrap client certificate in {path} is expired: {}",
            go_time(end)
        ))),
    }
}

/// Returns a certificate or key that is embedded, or in a file that was read.
fn pem_of<'f>(files: &'f StartFiles, held: &'f Held) -> Option<&'f Pem> {
    if let Some(data) = &held.data {
        return Some(data);
    }
    match files.get(held.file.as_deref()?)? {
        StartFile::Pem(pem) => Some(pem),
        _ => None,
    }
}

/// Returns a moment in whole seconds as Go's `%v`.
fn go_time(moment: Timestamp) -> String {
    moment.whole_second().to_string().replace('T', " ").replace('Z', " +0000 UTC")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::start_files::PemCertificate;
    use serde_json::json;

    const PATH: &str = "/etc/kubernetes/kubelet.conf";

    fn files(kubeconfig: &serde_json::Value, others: &[(&str, StartFile)]) -> StartFiles {
        let config = Kubeconfig::of(kubeconfig, "/etc/kubernetes", |_| Some(certificate(20)));
        let mut files = StartFiles::default();
        files.files.insert(PATH.to_owned(), StartFile::Kubeconfig(Box::new(config)));
        let others = others.iter().map(|(path, file)| ((*path).to_owned(), file.clone()));
        files.files.extend(others);
        files
    }

    fn certificate(end: i64) -> Pem {
        Pem {
            labels: ["CERTIFICATE", "PRIVATE KEY"].map(str::to_owned).to_vec(),
            certificates: vec![PemCertificate {
                not_after: Some(Timestamp::from_seconds(end)),
                key: None,
            }],
            ..Pem::default()
        }
    }

    fn document(user: serde_json::Value, cluster: serde_json::Value) -> serde_json::Value {
        json!({
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"user": "u", "cluster": "k"}}],
            "users": [{"name": "u", "user": user}],
            "clusters": [{"name": "k", "cluster": cluster}],
        })
    }

    #[test]
    fn a_kubeconfig_is_refused_in_the_words_of_client_go() {
        let server = json!({"server": "https://a"});
        let both = json!({"client-certificate-data": "x", "client-key-data": "x"});
        for (name, config, expected) in [
            ("good", document(both.clone(), server.clone()), None),
            (
                "empty",
                json!({}),
                Some(
                    "invalid configuration: no configuration has been provided, try setting \
                                       KUBERNETES_MASTER environment variable",
                ),
            ),
            (
                "no such context",
                json!({"current-context": "x"}),
                Some(
                    "invalid configuration: [context was not found for specified context: x, cluster has no \
                      server defined]",
                ),
            ),
            (
                "no server",
                document(json!({}), json!({"insecure-skip-tls-verify": true})),
                Some("invalid configuration: no server found for cluster \"k\""),
            ),
            (
                "no key",
                document(json!({"client-certificate-data": "x"}), server.clone()),
                Some(
                    "invalid configuration: client-key-data or client-key must be specified for u to use the \
                      clientCert authentication method.",
                ),
            ),
            (
                "no authority",
                document(
                    both.clone(),
                    json!({"server": "https://a", "certificate-authority": "/ca.crt"}),
                ),
                Some(
                    "invalid configuration: unable to read certificate-authority /ca.crt for k due to open \
                      /ca.crt: no such file or directory",
                ),
            ),
            (
                "no token",
                document(json!({"tokenFile": "/ca.crt"}), server.clone()),
                Some("open /ca.crt: no such file or directory"),
            ),
        ] {
            let files = files(&config, &[("/ca.crt", StartFile::Absent)]);
            let said = match load(&files, PATH) {
                Checked::Good => None,
                Checked::Bad(refusal) => Some(refusal.text),
                Checked::Unknown => panic!("{name}"),
            };
            assert_eq!(said.as_deref(), expected, "{name}");
        }
        let unread =
            document(json!({}), json!({"server": "https://a", "certificate-authority": "/ca.crt"}));
        assert_eq!(load(&files(&unread, &[]), PATH), Checked::Unknown);
    }

    #[test]
    fn a_certificate_counts_until_its_end() {
        let server = json!({"server": "https://a"});
        let embedded = json!({"client-certificate-data": "x", "client-key-data": "x"});
        let of_file = json!({"client-certificate": "/c.pem", "client-key": "/c.pem"});
        let pem = |end| ("/c.pem", StartFile::Pem(certificate(end)));
        for (name, user, other, now, expected) in [
            ("embedded", &embedded, pem(0), 20, None),
            (
                "embedded and expired",
                &embedded,
                pem(0),
                21,
                Some(
                    "part of the existing bootstrap client certificate in /etc/kubernetes/kubelet.conf is expired: \
                      1970-01-01 00:00:20 +0000 UTC",
                ),
            ),
            ("in a file", &of_file, pem(30), 21, None),
            (
                "in a file and expired",
                &of_file,
                pem(30),
                31,
                Some(
                    "part of the existing bootstrap client certificate in /etc/kubernetes/kubelet.conf is expired: \
                      1970-01-01 00:00:30 +0000 UTC",
                ),
            ),
            (
                "a token alone",
                &json!({"token": "t"}),
                pem(30),
                21,
                Some(
                    "unable to load TLS certificates from existing bootstrap client config read from \
                      /etc/kubernetes/kubelet.conf: data does not contain any valid RSA or ECDSA certificates",
                ),
            ),
        ] {
            let files = files(&document(user.clone(), server.clone()), &[other]);
            let said = match validity(&files, PATH, Some(Timestamp::from_seconds(now))) {
                Validity::Valid => None,
                Validity::Invalid(said) => said,
                Validity::Unknown => panic!("{name}"),
            };
            assert_eq!(said.as_deref(), expected, "{name}");
        }
    }
}
