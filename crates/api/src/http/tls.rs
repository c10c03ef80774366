//! TLS: the trusted authorities, the client certificate, and the small files with credentials: tokens, certificates, keys.

use crate::http::authorities::Authorities;
use crate::http::error::HttpError;
use kq_io::input::plain;
use kq_io::memory;
use kq_io::open::open_unblocked;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Whose certificates are accepted.
#[derive(Clone)]
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

impl Clone for Identity {
    fn clone(&self) -> Self {
        let Self { chain, key, source } = self;
        Self { chain: chain.clone(), key: key.clone_key(), source: source.clone() }
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

/// Returns the error of a connection to a server; a certificate that is none of [`Trust::Exactly`] has its own.
pub(super) fn failure(address: String, error: &rustls::Error) -> HttpError {
    use rustls::Error::InvalidCertificate;
    match error {
        InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
            HttpError::OtherCertificate { address }
        }
        error => HttpError::Tls { address, reason: words(error) },
    }
}

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

/// More than any bundle of authorities has.
const MAX_FILE: u64 = 16 << 20;

/// What a token file is called in messages.
pub(crate) const TOKEN_FILE: &str = "token file";

/// Reads a file.
pub(crate) fn read_bounded(what: &'static str, path: &Path) -> Result<Vec<u8>, HttpError> {
    open_bounded(path).map(|(_, content)| content).map_err(|reason| refuse(what, path, reason))
}

/// Opens and reads a file; the reason of a failure is a lowercase fragment.
///
/// Only regular files are opened: a named pipe could keep a call beyond its deadline.
pub(crate) fn open_bounded(path: &Path) -> Result<(File, Vec<u8>), String> {
    let expect_file = |is_file: bool| match is_file {
        true => Ok(()),
        false => Err("is not a regular file".to_owned()),
    };
    expect_file(fs::metadata(path).map_err(|error| plain(&error))?.is_file())?;
    let file = open_unblocked(path).map_err(|error| plain(&error))?;
    // Another file can be there by now.
    expect_file(file.metadata().map_err(|error| plain(&error))?.is_file())?;
    let mut content = Vec::new();
    (&file).take(MAX_FILE + 1).read_to_end(&mut content).map_err(|error| plain(&error))?;
    memory::received(&path.display().to_string(), content.len());
    if content.len() as u64 > MAX_FILE {
        return Err(format!("has more than {MAX_FILE} bytes"));
    }
    Ok((file, content))
}

/// Reads a bearer token; white space around it is not part of it.
pub(crate) fn read_token(path: &Path) -> Result<String, HttpError> {
    token(path, &read_bounded(TOKEN_FILE, path)?)
}

/// Returns the bearer token that a file holds. The file holds nothing else: what is sent away is a token, never a line
/// of something else (RFC 6750, `b64token`).
pub(crate) fn token(path: &Path, content: &[u8]) -> Result<String, HttpError> {
    let token = content.trim_ascii();
    if token.is_empty() {
        return Err(refuse(TOKEN_FILE, path, "is empty"));
    }
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    if !token.iter().all(is_token) {
        return Err(refuse(TOKEN_FILE, path, "holds something that no token can hold"));
    }
    Ok(String::from_utf8_lossy(token).into_owned())
}

/// Returns the error of a file that cannot be used.
pub(crate) fn refuse(what: &'static str, path: &Path, reason: impl Into<String>) -> HttpError {
    HttpError::File { what, path: path.display().to_string(), reason: reason.into() }
}
