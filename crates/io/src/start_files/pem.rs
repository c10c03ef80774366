//! Blocks of PEM as Go's `encoding/pem` finds them: text around them counts for nothing, a damaged block is passed over.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kq_facts::start_files::{Pem, PemCertificate};
use kq_facts::timestamp::Timestamp;
use x509_parser::parse_x509_certificate;

/// A file has no more blocks than this: a bundle of authorities has 150.
const MOST_BLOCKS: usize = 2000;

/// Reads the labels of the blocks, and the validity of the certificates. The bytes of keys are not decoded.
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
        let Some(der) = decoded(&body, is_certificate) else { continue };
        if pem.labels.len() == MOST_BLOCKS {
            break;
        }
        pem.labels.push(label.to_owned());
        if is_certificate && !has_headers {
            let parsed = parse_x509_certificate(&der).ok();
            let end = parsed.map(|(_, it)| it.validity().not_after.timestamp());
            pem.certificates.push(PemCertificate { not_after: end.map(Timestamp::from_seconds) });
        }
    }
    pem
}

/// Returns the bytes of a block; of others than certificates none, once they are found to be base64.
fn decoded(body: &str, is_certificate: bool) -> Option<Vec<u8>> {
    match is_certificate {
        true => STANDARD.decode(body).ok(),
        false => {
            let is_base64 = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
            (body.len().is_multiple_of(4) && body.bytes().all(is_base64)).then(Vec::new)
        }
    }
}

/// Reads embedded data: PEM in base64.
pub(super) fn embedded_pem(base64: &str) -> Pem {
    let joined: String = base64.split_whitespace().collect();
    STANDARD.decode(joined).map_or_else(|_| Pem::default(), |bytes| read_pem(&bytes))
}
