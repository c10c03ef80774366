//! Blocks of PEM as Go's `encoding/pem` finds them: text around them counts for nothing, a damaged block is passed over.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kq_facts::start_files::{Pem, PemCertificate, PublicKey};
use kq_facts::timestamp::Timestamp;
use ring::digest::{SHA256, digest};
use rustls::crypto::ring::sign::any_supported_type;
use rustls_pki_types::PrivateKeyDer;
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::FromDer;
use x509_parser::x509::SubjectPublicKeyInfo;

/// A file has no more blocks than this: a bundle of authorities has 150.
const MOST_BLOCKS: usize = 2000;

/// Reads the labels of the blocks, and the validity of the certificates. Of a private key nothing is kept
/// but the hash of its public one.
pub(super) fn read_pem(bytes: &[u8]) -> Pem {
    let text = String::from_utf8_lossy(bytes);
    let mut pem = Pem { is_empty: bytes.is_empty(), ..Pem::default() };
    let mut lines = text.lines().map(str::trim_end);
    while let Some(line) = lines.next() {
        let label = line.strip_prefix("-----BEGIN ").and_then(|it| it.strip_suffix("-----"));
        let Some(label) = label else { continue };
        let end = format!("-----END {label}-----");
        let (mut body, mut has_headers, mut is_whole) = (String::new(), false, false);
        for line in lines.by_ref() {
            if line == end {
                is_whole = true;
                break;
            }
            match line.contains(':') {
                true => has_headers = true,
                false => body.push_str(line.trim()),
            }
        }
        if !is_whole {
            break;
        }
        let is_certificate = label == "CERTIFICATE";
        let Ok(der) = STANDARD.decode(&body) else { continue };
        if pem.labels.len() == MOST_BLOCKS {
            break;
        }
        let is_first_key = label.ends_with("PRIVATE KEY")
            && !pem.labels.iter().any(|label| label.ends_with("PRIVATE KEY"));
        pem.labels.push(label.to_owned());
        if is_first_key {
            pem.key = public_key(label, &der);
        } else if is_certificate && !has_headers {
            let parsed = parse_x509_certificate(&der);
            let certificate = parsed.map(|(_, it)| PemCertificate {
                not_after: Some(Timestamp::from_seconds(it.validity().not_after.timestamp())),
                key: Some(identity(it.public_key())),
            });
            pem.certificates.push(certificate.unwrap_or_default());
        }
    }
    pem
}

/// Reads embedded data: PEM in base64.
pub(super) fn embedded_pem(base64: &str) -> Option<Pem> {
    let joined: String = base64.split_whitespace().collect();
    Some(read_pem(&STANDARD.decode(joined).ok()?))
}

/// Returns the public key of a private key of an algorithm that the library knows, by the label of its block.
fn public_key(label: &str, der: &[u8]) -> Option<PublicKey> {
    let key = match label {
        "RSA PRIVATE KEY" => PrivateKeyDer::Pkcs1(der.into()),
        "EC PRIVATE KEY" => PrivateKeyDer::Sec1(der.into()),
        "PRIVATE KEY" => PrivateKeyDer::Pkcs8(der.into()),
        _ => return None,
    };
    let key = any_supported_type(&key).ok()?;
    let info = key.public_key()?;
    let (_, info) = SubjectPublicKeyInfo::from_der(&info).ok()?;
    Some(identity(&info))
}

fn identity(key: &SubjectPublicKeyInfo<'_>) -> PublicKey {
    let hash = digest(&SHA256, &key.subject_public_key.data);
    let hash = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    PublicKey { algorithm: key.algorithm.algorithm.to_id_string(), hash }
}
