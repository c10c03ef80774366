//! TLS: the trusted authorities and the client certificate.

use crate::edge::http::authorities::Authorities;
use crate::edge::http::error::HttpError;
use crate::edge::http::secret_file::{read_bounded, refuse};
use rustls::SignatureScheme;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use std::path::Path;
use std::sync::Arc;

/// Whose certificates are accepted.
pub(crate) enum Trust {
    /// Those for the name or address of the server that one of these authorities signed, or that are among
    /// them.
    Authorities(Authorities),
    /// Any. That the server holds the key of the certificate that it shows is still checked.
    Anyone,
    /// One of these, in DER, with any issuer and any names. The key is checked as well.
    Exactly(Vec<Vec<u8>>),
}

/// A client certificate with its chain, and its key.
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// Where it came from, for messages.
    source: String,
}

/// How TLS is spoken with one server.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    /// The settings.
    pub(crate) config: Arc<ClientConfig>,
    /// The name that the server's certificate must have, where that is not the host of the URL.
    pub(crate) server_name: Option<ServerName<'static>>,
}

impl Tls {
    /// Puts the settings together.
    pub(crate) fn new(trust: Trust, identity: Option<Identity>) -> Result<Self, HttpError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("ring supports TLS 1.2 and 1.3");
        let builder = match trust {
            Trust::Authorities(authorities) => {
                builder.dangerous().with_custom_certificate_verifier(authorities.verifier(provider))
            }
            Trust::Anyone => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(KeyHolder { provider, only: None })),
            Trust::Exactly(only) => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(KeyHolder {
                    provider,
                    only: Some(only),
                }))
            }
        };
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(Identity { chain, key, source }) => {
                builder.with_client_auth_cert(chain, key).map_err(|error| HttpError::File {
                    what: "client certificate",
                    path: source,
                    reason: words(&error),
                })?
            }
        };
        Ok(Self { config: Arc::new(config), server_name: None })
    }
}

impl Identity {
    /// Reads a certificate and its key from two files, or both times from the same one.
    pub(crate) fn read(certificate: &Path, key: &Path) -> Result<Self, HttpError> {
        let chain = read_bounded("client certificate", certificate)?;
        let pem = read_bounded("client key", key)?;
        Self::from_pem((certificate, &chain), (key, &pem))
    }

    /// Reads a certificate and its key from PEM; the paths are for messages.
    pub(crate) fn from_pem(
        (certificate, chain): (&Path, &[u8]),
        (path, key): (&Path, &[u8]),
    ) -> Result<Self, HttpError> {
        let chain = certificates("client certificate", certificate, chain)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
            rustls_pki_types::pem::Error::NoItemsFound => {
                refuse("client key", path, "holds no private key in PEM")
            }
            // The text of other errors can quote a line of the file.
            _ => refuse("client key", path, "is not PEM"),
        })?;
        Ok(Self { chain, key, source: certificate.display().to_string() })
    }
}

/// Reads a file of authorities.
pub(crate) fn read_authorities(path: &Path) -> Result<Authorities, HttpError> {
    authorities(path, &read_bounded("certificate authority", path)?)
}

/// Reads authorities from PEM; the path is for messages.
pub(crate) fn authorities(path: &Path, pem: &[u8]) -> Result<Authorities, HttpError> {
    const WHAT: &str = "certificate authority";
    Authorities::named(certificates(WHAT, path, pem)?)
        .map_err(|error| refuse(WHAT, path, words(&error)))
}

fn certificates(
    what: &'static str,
    path: &Path,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, HttpError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|_| refuse(what, path, "is not PEM"))?;
    if found.is_empty() {
        return Err(refuse(what, path, "holds no certificate in PEM"));
    }
    Ok(found)
}

/// Accepts a certificate of a server that has the key to it.
#[derive(Debug)]
struct KeyHolder {
    provider: Arc<CryptoProvider>,
    /// The certificates that are accepted, in DER; `None`: any.
    only: Option<Vec<Vec<u8>>>,
}

impl ServerCertVerifier for KeyHolder {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.only {
            Some(only) if !only.iter().any(|known| known == shown.as_ref()) => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What is wrong with a certificate that is none of [`Trust::Exactly`].
pub(crate) const OTHER_CERTIFICATE: &str =
    "the server's certificate is not the one in the kubelet's folder";

/// Returns the error in words that do not need the source of rustls.
pub(crate) fn words(error: &rustls::Error) -> String {
    use rustls::Error::{AlertReceived, InconsistentKeys, InvalidCertificate, InvalidMessage};
    let known = match error {
        InvalidCertificate(problem) => match problem {
            CertificateError::UnknownIssuer => {
                "the server's certificate is not from a trusted authority"
            }
            // Clusters name their authorities alike, so that another cluster's looks like this.
            CertificateError::BadSignature => {
                "a signature is wrong: the server's certificate is from another authority of the \
                 same name, or the server does not have the key to it"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the server's certificate is for another name or address"
            }
            CertificateError::ApplicationVerificationFailure => OTHER_CERTIFICATE,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the certificate is not valid yet"
            }
            _ => return error.to_string(),
        },
        AlertReceived(AlertDescription::CertificateRequired) => {
            "the server demands a client certificate"
        }
        AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::DecryptError
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate,
        ) => "the server does not accept the client certificate",
        AlertReceived(AlertDescription::HandshakeFailure) => {
            "the server supports no common parameters, or demands a client certificate"
        }
        InvalidMessage(_) => "the server does not speak TLS",
        InconsistentKeys(_) => "the key belongs to another certificate",
        _ => return error.to_string(),
    };
    known.to_owned()
}
