//! Authorities, certificates and keys, created for each test, in memory and in files.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// An authority and the folder that it writes into.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// A certificate and its key.
pub struct Certified {
    pub certificate: String,
    pub key: String,
    der: CertificateDer<'static>,
    key_der: PrivateKeyDer<'static>,
}

impl Authority {
    /// Makes an authority of the name that all clusters give to theirs.
    pub fn new() -> Self {
        Self::named("kubernetes")
    }

    pub fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("parameters");
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        Self { issuer, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Signs a certificate for names and addresses.
    pub fn sign(&self, names: &[&str]) -> Certified {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let params = CertificateParams::new(names).expect("parameters");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Certified::new(&certificate, &key)
    }

    /// Returns its certificate in PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Returns the file of its certificate.
    pub fn file(&self) -> PathBuf {
        self.write("ca.crt", &self.pem())
    }

    /// Writes a file into its folder.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("an authority");
        roots
    }
}

impl Certified {
    fn new(certificate: &rcgen::Certificate, key: &KeyPair) -> Self {
        Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().clone(),
            key_der: PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        }
    }

    /// Makes a certificate that signs itself, as a kubelet does that was given none.
    pub fn by_itself(name: &str) -> Self {
        Self::by_itself_with(name, |_| {})
    }

    /// The same, with other parameters.
    pub fn by_itself_with(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        Self::new(&params.self_signed(&key).expect("a certificate"), &key)
    }

    /// Returns the settings of a server that shows it.
    pub fn server(&self) -> Arc<ServerConfig> {
        self.settings(None, rustls::ALL_VERSIONS)
    }

    /// Returns the settings of a server that demands a certificate from an authority.
    pub fn demanding(
        &self,
        clients: &Authority,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Arc<ServerConfig> {
        self.settings(Some(clients), versions)
    }

    /// Returns the settings of a server that shows it and has only the key of another one.
    pub fn stolen_by(
        &self,
        thief: &Self,
        version: &'static SupportedProtocolVersion,
    ) -> Arc<ServerConfig> {
        let provider = ring::default_provider();
        let key = provider.key_provider.load_private_key(thief.key_der.clone_key()).expect("a key");
        let shown = CertifiedKey::new(vec![self.der.clone()], key);
        let config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
        Arc::new(config)
    }

    fn settings(
        &self,
        clients: Option<&Authority>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .expect("versions");
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(Arc::new(authority.roots()), provider)
                    .build()
                    .expect("a verifier"),
            ),
        };
        let config = builder
            .with_single_cert(vec![self.der.clone()], self.key_der.clone_key())
            .expect("a certificate and its key");
        Arc::new(config)
    }
}
