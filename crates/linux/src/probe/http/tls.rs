//! TLS of probes: certificates are not verified (`InsecureSkipVerify`, `pkg/probe/http/http.go`), and
//! errors have the texts of Go's `crypto/tls`.

use super::socket::Socket;
use kq_io::certificates::CertificateText;
use kq_probe::ServerCertificate;
use kq_probe::http::End;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Makes the connection secure.
pub(super) async fn handshake(
    mut socket: Socket,
    server_name: &str,
    protocols: &[&str],
) -> Result<TlsStream<Socket>, End> {
    socket.expect_tls();
    // An address is not sent to the server; any will do.
    let name = ServerName::try_from(server_name.to_owned())
        .unwrap_or(ServerName::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST).into()));
    let connect = TlsConnector::from(config(protocols)).connect(name, socket);
    connect.into_fallible().await.map_err(|(error, socket)| end(&error, &socket))
}

/// Returns what the server showed of itself; `None`: it is no certificate that can be read.
pub(super) fn certificate(stream: &TlsStream<Socket>) -> Option<ServerCertificate> {
    let first = stream.get_ref().1.peer_certificates()?.first()?;
    let CertificateText { subject, issuer, not_after, .. } = CertificateText::of(first).ok()?;
    Some(ServerCertificate { subject, issuer, not_after })
}

/// Returns true if HTTP/2 was agreed on.
pub(super) fn speaks_http2(stream: &TlsStream<Socket>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(b"h2")
}

/// Returns what Go says to an error of a connection with TLS.
pub(super) fn end(error: &io::Error, socket: &Socket) -> End {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(error) => End::Error { text: go_text(error, socket), repeats: true },
        None => socket.broken().end().unwrap_or_else(|| match error.kind() {
            io::ErrorKind::UnexpectedEof => End::Eof,
            _ => End::Error { text: error.to_string(), repeats: true },
        }),
    }
}

/// Returns the settings, which are made when the first probe needs them.
fn config(protocols: &[&str]) -> Arc<ClientConfig> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let make = || {
        let provider = ring::default_provider();
        let verifier = AnyServer(provider.signature_verification_algorithms);
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .expect("ring supports TLS 1.2 and 1.3")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Arc::new(config)
    };
    let mut config = ClientConfig::clone(CONFIG.get_or_init(make));
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// Accepts whatever a server shows, for probes only.
///
/// The possession of the key is checked only as far as rustls is no stricter than Go: a server would fail here
/// that is fine for the kubelet (X.509 version 1, RSA of 1024 bits).
#[derive(Debug)]
struct AnyServer(WebPkiSupportedAlgorithms);

/// Judges a signature: a wrong one is refused, one that cannot be checked is not.
fn judge(
    checked: Result<HandshakeSignatureValid, rustls::Error>,
    scheme: SignatureScheme,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    let algorithm = match scheme {
        SignatureScheme::ECDSA_NISTP256_SHA256 | SignatureScheme::ECDSA_NISTP384_SHA384 => "ECDSA",
        SignatureScheme::ED25519 => "Ed25519",
        _ => return Ok(HandshakeSignatureValid::assertion()),
    };
    match checked {
        Err(rustls::Error::InvalidCertificate(CertificateError::BadSignature)) => {
            Err(rustls::Error::General(format!(
                "tls: invalid signature by the server certificate: {algorithm} verification failure"
            )))
        }
        _ => Ok(HandshakeSignatureValid::assertion()),
    }
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        judge(verify_tls12_signature(message, certificate, signed, &self.0), signed.scheme)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        judge(verify_tls13_signature(message, certificate, signed, &self.0), signed.scheme)
    }

    /// What Go offers (`defaultSupportedSignatureAlgorithms`, `crypto/tls/defaults.go`).
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![
            SignatureScheme::RSA_PSS_SHA256,
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureScheme::ED25519,
            SignatureScheme::RSA_PSS_SHA384,
            SignatureScheme::RSA_PSS_SHA512,
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
            SignatureScheme::ECDSA_NISTP384_SHA384,
            SignatureScheme::ECDSA_NISTP521_SHA512,
        ]
    }
}

/// Returns Go's text for an error of rustls.
fn go_text(error: &rustls::Error, socket: &Socket) -> String {
    use rustls::Error;
    use rustls::InvalidMessage::MessageTooLarge;
    match error {
        Error::AlertReceived(alert) => format!("remote error: {}", alert_text(u8::from(*alert))),
        Error::PeerIncompatible(_) | Error::PeerMisbehaved(_) => match socket.version_of_hello() {
            Some(version) if version < 0x0303 => {
                format!("tls: server selected unsupported protocol version {version:x}")
            }
            _ => format!("local error: {}", alert_text(47)),
        },
        Error::InvalidMessage(MessageTooLarge) => {
            format!("tls: oversized record received with length {}", socket.length_of_record())
        }
        Error::InvalidMessage(_) => format!("local error: {}", alert_text(50)),
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            format!("local error: {}", alert_text(10))
        }
        Error::DecryptError => format!("local error: {}", alert_text(20)),
        Error::PeerSentOversizedRecord => format!("local error: {}", alert_text(22)),
        Error::NoCertificatesPresented => format!("local error: {}", alert_text(50)),
        Error::General(text) => text.clone(),
        _ => format!("tls: {error}"),
    }
}

/// Returns what Go calls an alert (`alertText`, `crypto/tls/alert.go`).
fn alert_text(alert: u8) -> String {
    let name = match alert {
        0 => "close notify",
        10 => "unexpected message",
        20 => "bad record MAC",
        21 => "decryption failed",
        22 => "record overflow",
        30 => "decompression failure",
        40 => "handshake failure",
        42 => "bad certificate",
        43 => "unsupported certificate",
        44 => "revoked certificate",
        45 => "expired certificate",
        46 => "unknown certificate",
        47 => "illegal parameter",
        48 => "unknown certificate authority",
        49 => "access denied",
        50 => "error decoding message",
        51 => "error decrypting message",
        60 => "export restriction",
        70 => "protocol version not supported",
        71 => "insufficient security level",
        80 => "internal error",
        86 => "inappropriate fallback",
        90 => "user canceled",
        100 => "no renegotiation",
        109 => "missing extension",
        110 => "unsupported extension",
        111 => "certificate unobtainable",
        112 => "unrecognized name",
        113 => "bad certificate status response",
        114 => "bad certificate hash value",
        115 => "unknown PSK identity",
        116 => "certificate required",
        120 => "no application protocol",
        121 => "encrypted client hello required",
        _ => return format!("tls: alert({alert})"),
    };
    format!("tls: {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_have_the_names_of_go() {
        for (alert, expected) in [
            (40, "tls: handshake failure"),
            (70, "tls: protocol version not supported"),
            (116, "tls: certificate required"),
            (255, "tls: alert(255)"),
        ] {
            assert_eq!(alert_text(alert), expected);
        }
    }
}
