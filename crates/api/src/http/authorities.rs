//! Whose server certificates are accepted: those that a named authority signed, and those that are named
//! themselves.
//!
//! Go trusts a certificate that is in the pool of authorities as it is, also one that may sign
//! no others, or may sign only others (`Certificate.Verify` of `crypto/x509`). Kubelets and API servers
//! with a certificate of `openssl req -x509` are known by it. webpki wants an authority above each
//! certificate, and refuses one that is an authority itself.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::sync::Arc;

/// The certificates that are trusted.
#[derive(Clone, Debug)]
pub(crate) struct Authorities {
    roots: RootCertStore,
    named: Vec<CertificateDer<'static>>,
}

impl Authorities {
    /// Trusts what these signed, and not these themselves; `None`: there are none.
    #[cfg(feature = "apiserver")]
    pub(crate) fn signing(roots: RootCertStore) -> Option<Self> {
        (!roots.is_empty()).then(|| Self { roots, named: Vec::new() })
    }

    /// Trusts these certificates, of which there is at least one, and what they signed.
    /// Fails for one that cannot be read.
    pub(crate) fn named(certificates: Vec<CertificateDer<'static>>) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone())?;
        }
        Ok(Self { roots, named: certificates })
    }

    /// Returns what checks the certificates of servers by them.
    pub(crate) fn verifier(self, provider: Arc<CryptoProvider>) -> Arc<dyn ServerCertVerifier> {
        let signed = WebPkiServerVerifier::builder_with_provider(Arc::new(self.roots), provider)
            .build()
            .expect("there is an authority, and no list of revoked certificates");
        Arc::new(SignedOrNamed { signed, named: self.named })
    }
}

/// Accepts what an authority signed, and what is named itself.
#[derive(Debug)]
struct SignedOrNamed {
    signed: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

/// Returns true if an error is about the signature alone: webpki checks it last, after the time in which
/// the certificate is valid.
fn is_about_signature(error: &Error) -> bool {
    match error {
        // rustls has no kind of its own for this error of webpki. With two versions of webpki in the
        // program, such certificates would be refused; a test connects to one.
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            let of_webpki = other.0.downcast_ref::<webpki::Error>();
            of_webpki.is_some_and(|error| *error == webpki::Error::CaUsedAsEndEntity)
        }
        Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => true,
        _ => false,
    }
}

impl ServerCertVerifier for SignedOrNamed {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.signed.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(error) if is_about_signature(&error) && self.named.contains(certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}
