//! The certificates of the kubelet. kq reads only the names and the validity of the first certificate in each file,
//! because the file may also contain a private key.

use super::host::{LIMIT, ReadError};
use super::trust::read_trusted;
use kq_facts::certificates::{Certificate, CertificateUsage};
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::timestamp::Timestamp;
use kq_k8s::yaml;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use std::path::Path;
use x509_parser::parse_x509_certificate;

/// The files in the kubelet's certificate folder (`cmd/kubelet/app/server.go`, `pkg/kubelet/certificate/kubelet.go`).
/// A serving certificate signed by the cluster takes precedence over the kubelet's own.
const FILES: [(CertificateUsage, &[&str]); 2] = [
    (CertificateUsage::Client, &["kubelet-client-current.pem"]),
    (CertificateUsage::Serving, &["kubelet-server-current.pem", "kubelet.crt"]),
];

/// The configuration that names a kubelet's certificates.
#[derive(Clone, Copy, Debug)]
pub struct CertificateSources<'a> {
    /// `--cert-dir`
    pub folder: &'a str,
    /// `--kubeconfig`
    pub kubeconfig: Option<&'a str>,
    /// `tlsCertFile` of its configuration.
    pub tls_cert_file: Option<&'a str>,
}

/// Reads the kubelet's certificates: the named one of each usage, else the first file that exists.
pub fn read_certificates(root: &Path, sources: CertificateSources<'_>) -> Lookup<Vec<Certificate>> {
    let folder = sources.folder.trim_end_matches('/').to_owned();
    let (mut value, mut tried) = (Vec::new(), Vec::new());
    for (usage, names) in FILES {
        let named = match usage {
            CertificateUsage::Client => {
                sources.kubeconfig.and_then(|path| client_certificate(root, path))
            }
            CertificateUsage::Serving => sources.tls_cert_file.map(str::to_owned),
        };
        let paths: Vec<String> = match named.filter(|file| !file.is_empty()) {
            Some(file) => vec![file],
            None => names.iter().map(|name| format!("{folder}/{name}")).collect(),
        };
        for path in paths {
            let certificate = match read_trusted(root, &path, LIMIT) {
                Err(ReadError::Absent) => continue,
                Err(error) => Err(error.to_string()),
                Ok(pem) => certificate(&path, usage, &pem),
            };
            match certificate {
                Ok(certificate) => value.push(certificate),
                Err(reason) => tried.push(FailedSource { source: path, reason }),
            }
            break;
        }
    }
    match value.is_empty() {
        false => Lookup { found: Some(Sourced { source: folder, value }), tried },
        true if tried.is_empty() => Lookup::failed(folder, "contains no kubelet certificate"),
        true => Lookup { found: None, tried },
    }
}

/// Returns the file of the client certificate that a kubeconfig names.
fn client_certificate(root: &Path, kubeconfig: &str) -> Option<String> {
    let text = String::from_utf8(read_trusted(root, kubeconfig, LIMIT).ok()?).ok()?;
    let config = yaml::read(&text).ok()?.value;
    let named = |list: &str, name: &str| {
        let mut items = config.get(list)?.as_array()?.iter();
        items.find(|item| item.get("name").and_then(Value::as_str) == Some(name)).cloned()
    };
    let context = named("contexts", config.get("current-context")?.as_str()?)?;
    let user = named("users", context.pointer("/context/user")?.as_str()?)?;
    let file = user.pointer("/user/client-certificate")?.as_str()?;
    // A relative path is relative to the kubeconfig.
    let folder = Path::new(kubeconfig).parent()?;
    Some(folder.join(file).to_str()?.to_owned())
}

/// What a certificate says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateText {
    pub subject: String,
    pub issuer: String,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

impl CertificateText {
    /// Reads a certificate in DER. Nothing is verified.
    /// Fails for what is not an X.509 certificate.
    pub fn of(der: &[u8]) -> Result<Self, String> {
        let (_, parsed) = parse_x509_certificate(der)
            .map_err(|error| format!("not an X.509 certificate: {error}"))?;
        let validity = parsed.validity();
        Ok(Self {
            subject: parsed.subject().to_string(),
            issuer: parsed.issuer().to_string(),
            not_before: Timestamp::from_seconds(validity.not_before.timestamp()),
            not_after: Timestamp::from_seconds(validity.not_after.timestamp()),
        })
    }
}

fn certificate(path: &str, usage: CertificateUsage, pem: &[u8]) -> Result<Certificate, String> {
    let der = CertificateDer::from_pem_slice(pem).map_err(|_| "contains no PEM certificate")?;
    let CertificateText { subject, not_before, not_after, .. } = CertificateText::of(&der)?;
    Ok(Certificate { path: path.to_owned(), usage, subject, not_before, not_after })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};

    fn pem(until: i32) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "system:node:worker");
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.self_signed(&key).expect("a certificate can be made");
        // The kubelet's certificate store writes the key into the same file.
        certificate.pem() + &key.serialize_pem()
    }

    const SOURCES: CertificateSources<'_> = CertificateSources {
        folder: "/var/lib/kubelet/pki",
        kubeconfig: None,
        tls_cert_file: None,
    };

    #[test]
    fn a_kubeconfig_names_the_client_certificate() {
        let root = tempfile::tempdir().expect("a folder can be made");
        let folder = root.path().join("agent");
        std::fs::create_dir_all(&folder).expect("folders can be made");
        std::fs::write(folder.join("client-kubelet.crt"), pem(2028)).expect("written");
        let config = |user: &str| {
            let text = format!(
                "current-context: c\ncontexts: [{{name: c, context: {{user: u}}}}]\n\
                 users: [{{name: other, user: {{}}}}, {{name: u, user: {user}}}]\n"
            );
            std::fs::write(folder.join("kubelet.kubeconfig"), text).expect("written");
            let sources =
                CertificateSources { kubeconfig: Some("/agent/kubelet.kubeconfig"), ..SOURCES };
            read_certificates(root.path(), sources)
        };
        for user in [
            "{client-certificate: /agent/client-kubelet.crt}",
            "{client-certificate: client-kubelet.crt}",
        ] {
            let read = config(user);
            let [client] = read.value().expect("one is valid").as_slice() else {
                panic!("one certificate: {read:?}");
            };
            assert_eq!(client.path, "/agent/client-kubelet.crt", "{user}");
            assert_eq!(client.not_after.to_string(), "2028-01-01T00:00:00Z", "{user}");
        }
        assert_eq!(config("{token: t}").value(), None);
    }

    #[test]
    fn the_validity_is_read_and_the_key_is_not() {
        let root = tempfile::tempdir().expect("a folder can be made");
        let pki = root.path().join("var/lib/kubelet/pki");
        std::fs::create_dir_all(&pki).expect("folders can be made");
        std::fs::write(pki.join("kubelet-client-current.pem"), pem(2027)).expect("written");
        std::fs::write(pki.join("kubelet.crt"), "nonsense").expect("written");
        let read = read_certificates(root.path(), SOURCES);
        let [client] = read.value().expect("one is valid").as_slice() else {
            panic!("one certificate: {read:?}");
        };
        assert_eq!(client.subject, "CN=system:node:worker");
        assert_eq!(client.not_after.to_string(), "2027-01-01T00:00:00Z");
        assert_eq!(
            read.tried[0].to_string(),
            "/var/lib/kubelet/pki/kubelet.crt: contains no PEM certificate"
        );
        let stored = serde_json::to_string(&read).expect("it can be written");
        assert!(!stored.contains("PRIVATE"), "{stored}");
    }

    #[test]
    fn an_empty_folder_is_a_failed_source() {
        let root = tempfile::tempdir().expect("a folder can be made");
        let read = read_certificates(root.path(), SOURCES);
        assert_eq!(read.reason(), "/var/lib/kubelet/pki: contains no kubelet certificate");
    }
}
