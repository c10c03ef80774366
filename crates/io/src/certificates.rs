//! The certificates of the kubelet. kq reads only the names and the validity of the first certificate in each file,
//! because the file may also contain a private key.

use super::host::{LIMIT, ReadError};
use super::trust::read_trusted;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kq_facts::certificates::{Certificate, CertificateUsage};
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::timestamp::Timestamp;
use kq_k8s::yaml;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use std::path::Path;
use x509_parser::parse_x509_certificate;

/// The configuration that names a kubelet's certificates.
#[derive(Clone, Copy, Debug)]
pub struct CertificateSources<'a> {
    /// `--cert-dir`
    pub folder: &'a str,
    /// `--kubeconfig`
    pub kubeconfig: Option<&'a str>,
    /// `tlsCertFile` of its configuration.
    pub tls_cert_file: Option<&'a str>,
    /// `authentication.x509.clientCAFile` of its configuration.
    pub client_ca_file: Option<&'a str>,
}

/// Where a certificate is.
enum Place {
    /// The first of these files that exists.
    FirstOf(Vec<String>),
    /// A file that the configuration names.
    Named(String),
    /// The bytes are in the kubeconfig of this path.
    Inside(String, Vec<u8>),
}

/// Reads the kubelet's certificates: the named one of each usage, else the first file that exists.
///
/// The files in the folder are those of `cmd/kubelet/app/server.go` and `pkg/kubelet/certificate/kubelet.go`. A serving
/// certificate signed by the cluster takes precedence over the kubelet's own.
pub fn read_certificates(root: &Path, sources: CertificateSources<'_>) -> Lookup<Vec<Certificate>> {
    let folder = sources.folder.trim_end_matches('/').to_owned();
    let in_folder = |names: &[&str]| {
        Place::FirstOf(names.iter().map(|name| format!("{folder}/{name}")).collect())
    };
    let named =
        |file: Option<&str>| Some(Place::Named(file.filter(|it| !it.is_empty())?.to_owned()));
    let kubeconfig = sources.kubeconfig.and_then(|path| Kubeconfig::read(root, path));
    let client = match &kubeconfig {
        None => Some(in_folder(&["kubelet-client-current.pem"])),
        Some(config) => config.client(),
    };
    let serving = named(sources.tls_cert_file)
        .unwrap_or_else(|| in_folder(&["kubelet-server-current.pem", "kubelet.crt"]));
    let places = [
        (CertificateUsage::Client, client),
        (CertificateUsage::Serving, Some(serving)),
        (CertificateUsage::ServerAuthority, kubeconfig.as_ref().and_then(Kubeconfig::authority)),
        (CertificateUsage::ClientAuthority, named(sources.client_ca_file)),
    ];
    let (mut value, mut tried) = (Vec::new(), Vec::new());
    for (usage, place) in places {
        let Some(place) = place else { continue };
        match read(root, place, usage) {
            Ok(found) => value.extend(found),
            // The kubelet does not start with such an authority, and that is said of its start.
            Err(_) if is_authority(usage) => {}
            Err(failed) => tried.push(failed),
        }
    }
    match value.is_empty() {
        false => Lookup { found: Some(Sourced { source: folder, value }), tried },
        true if tried.is_empty() => Lookup::failed(folder, "contains no kubelet certificate"),
        true => Lookup { found: None, tried },
    }
}

/// Reads a certificate; `None`: there is no file of any name.
fn read(
    root: &Path,
    place: Place,
    usage: CertificateUsage,
) -> Result<Option<Certificate>, FailedSource> {
    let is_named = matches!(place, Place::Named(_));
    let paths = match place {
        Place::Inside(path, pem) => {
            let read = certificate(&path, usage, &pem);
            return read.map(Some).map_err(|reason| FailedSource { source: path, reason });
        }
        Place::FirstOf(paths) => paths,
        Place::Named(path) => vec![path],
    };
    for path in paths {
        let read = match read_trusted(root, &path, LIMIT) {
            Err(ReadError::Absent) if is_named => Err("no such file or directory".to_owned()),
            Err(ReadError::Absent) => continue,
            Err(error) => Err(error.to_string()),
            Ok(pem) => certificate(&path, usage, &pem),
        };
        return read.map(Some).map_err(|reason| FailedSource { source: path, reason });
    }
    Ok(None)
}

/// Returns a name as Go decodes it: one that YAML takes for a truth value or a number is that text (`sigs.k8s.io/yaml`).
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The user and the cluster of the current context of a kubeconfig.
struct Kubeconfig {
    path: String,
    user: Value,
    cluster: Value,
}

impl Kubeconfig {
    fn read(root: &Path, path: &str) -> Option<Self> {
        let text = String::from_utf8(read_trusted(root, path, LIMIT).ok()?).ok()?;
        let config = yaml::read(&text).ok()?.value;
        let named = |list: &str, name: &str| {
            let mut items = config.get(list)?.as_array()?.iter();
            items.find(|item| item.get("name").and_then(text_of).as_deref() == Some(name)).cloned()
        };
        let context = named("contexts", &text_of(config.get("current-context")?)?)?;
        let of = |list: &str, name: &str| {
            let found = named(list, &text_of(context.pointer(&format!("/context/{name}"))?)?)?;
            found.get(name).cloned()
        };
        let (user, cluster) = (of("users", "user"), of("clusters", "cluster"));
        let (user, cluster) = (user.unwrap_or_default(), cluster.unwrap_or_default());
        Some(Self { path: path.to_owned(), user, cluster })
    }

    /// Returns the certificate of the user; `None`: it shows the API server something else.
    fn client(&self) -> Option<Place> {
        self.place(&self.user, "client-certificate")
    }

    fn authority(&self) -> Option<Place> {
        self.place(&self.cluster, "certificate-authority")
    }

    /// Data win over a file (`MergeConfig` in `client-go/tools/clientcmd`).
    fn place(&self, holder: &Value, field: &str) -> Option<Place> {
        let text = |field: &str| holder.get(field)?.as_str().filter(|text| !text.is_empty());
        if let Some(data) = text(&format!("{field}-data")) {
            let bytes = STANDARD.decode(data.trim()).unwrap_or_default();
            return Some(Place::Inside(self.path.clone(), bytes));
        }
        // A relative path is relative to the kubeconfig.
        let folder = Path::new(&self.path).parent()?;
        Some(Place::Named(folder.join(text(field)?).to_str()?.to_owned()))
    }
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

fn is_authority(usage: CertificateUsage) -> bool {
    matches!(usage, CertificateUsage::ServerAuthority | CertificateUsage::ClientAuthority)
}

/// Reads the first certificate, and of authorities the one that is valid for longest: each of them is trusted.
fn certificate(path: &str, usage: CertificateUsage, pem: &[u8]) -> Result<Certificate, String> {
    let count = if is_authority(usage) { usize::MAX } else { 1 };
    let found = CertificateDer::pem_slice_iter(pem).take(count).filter_map(Result::ok);
    let texts = found.map(|der| CertificateText::of(&der));
    let longest = texts.reduce(|one, other| match (&one, &other) {
        (Ok(first), Ok(second)) if first.not_after >= second.not_after => one,
        (Ok(_), Err(_)) => one,
        _ => other,
    });
    let text = longest.unwrap_or_else(|| Err("contains no PEM certificate".to_owned()))?;
    let CertificateText { subject, not_before, not_after, .. } = text;
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
        client_ca_file: None,
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
