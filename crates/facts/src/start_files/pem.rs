//! A file with blocks of PEM, as Go's `encoding/pem`, `crypto/tls` and `client-go/util/cert` see it.

use crate::timestamp::Timestamp;
use serde::{Deserialize, Serialize};

/// The contents of a file with blocks of PEM, without the bytes of the blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Pem {
    /// The file has no bytes.
    pub is_empty: bool,
    /// The labels of the blocks, in order: `CERTIFICATE`, `EC PRIVATE KEY`.
    pub labels: Vec<String>,
    /// The certificates, in order: the blocks with this label and without headers.
    pub certificates: Vec<PemCertificate>,
    /// The public key of the first private key; `None`: there is none, or kq cannot read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PublicKey>,
}

/// A certificate in a block of PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PemCertificate {
    /// The end of its validity; `None`: it is no X.509 certificate.
    pub not_after: Option<Timestamp>,
    /// Its public key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PublicKey>,
}

/// A block of a certificate is none, in words of Go that depend on its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The identity of a public key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PublicKey {
    /// The OID of its algorithm: `1.2.840.10045.2.1`
    pub algorithm: String,
    /// The SHA-256 of its bits, in hexadecimal digits.
    pub hash: String,
}

const CERTIFICATE: &str = "CERTIFICATE";
const KEY: &str = "PRIVATE KEY";

impl Pem {
    /// Returns Go's error for a list of certificates (`ParseCertsPEM` in `client-go/util/cert/pem.go`); `Some(None)`: one of
    /// the blocks is no certificate, in words that depend on its bytes.
    pub fn list_error(&self) -> Option<Option<&'static str>> {
        if self.certificates.iter().any(|it| it.not_after.is_none()) {
            return Some(None);
        }
        self.certificates
            .is_empty()
            .then_some(Some("data does not contain any valid RSA or ECDSA certificates"))
    }

    /// Returns Go's error for the certificate of a pair (`X509KeyPair` in `crypto/tls/tls.go`).
    pub fn certificate_error(&self) -> Option<String> {
        if self.labels.iter().any(|label| label == CERTIFICATE) {
            return None;
        }
        Some(match self.labels.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [only] if only.ends_with(KEY) => {
                "tls: failed to find certificate PEM data in certificate input, but did \
                                              find a private key; PEM inputs may have been switched"
                    .to_owned()
            }
            several => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
                 following types: [{}]",
                several.join(" ")
            ),
        })
    }

    /// Returns Go's error for the key of a pair.
    pub fn key_error(&self) -> Option<String> {
        if self.labels.iter().any(|label| label == KEY || label.ends_with(" PRIVATE KEY")) {
            return None;
        }
        Some(match self.labels.as_slice() {
            [] => "tls: failed to find any PEM data in key input".to_owned(),
            [only] if only == CERTIFICATE => {
                "tls: found a certificate rather than a key in the PEM for the private key"
                    .to_owned()
            }
            several => format!(
                "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM \
                 blocks of the following types: [{}]",
                several.join(" ")
            ),
        })
    }

    /// Returns the error of a pair, the key of which may be in another file (`X509KeyPair`).
    ///
    /// # Errors
    ///
    /// Fails where the certificate is none.
    pub fn pair_error(&self, key: &Self) -> Result<Option<String>, Malformed> {
        if let Some(error) = self.certificate_error().or_else(|| key.key_error()) {
            return Ok(Some(error));
        }
        let Some(leaf) = self.certificates.first() else { return Ok(None) };
        if leaf.not_after.is_none() {
            return Err(Malformed);
        }
        let (Some(of_leaf), Some(own)) = (&leaf.key, &key.key) else { return Ok(None) };
        Ok(match (of_leaf == own, of_leaf.algorithm == own.algorithm) {
            (true, _) => None,
            (false, true) => Some("tls: private key does not match public key".to_owned()),
            (false, false) => {
                Some("tls: private key type does not match public key type".to_owned())
            }
        })
    }

    /// Returns the certificate that expired first among those that have, at a moment.
    pub fn expired(&self, now: Timestamp) -> Option<Timestamp> {
        self.certificates.iter().filter_map(|it| it.not_after).find(|end| now > *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(labels: &[&str]) -> Pem {
        Pem { labels: labels.iter().map(|it| (*it).to_owned()).collect(), ..Pem::default() }
    }

    #[test]
    fn a_pair_is_refused_in_the_words_of_go() {
        for (name, labels, certificate, key) in [
            (
                "nothing",
                &[] as &[&str],
                "any PEM data in certificate input",
                "any PEM data in key input",
            ),
            ("a certificate", &["CERTIFICATE"], "", "found a certificate rather than a key"),
            ("a key", &["EC PRIVATE KEY"], "PEM inputs may have been switched", ""),
            ("both", &["CERTIFICATE", "PRIVATE KEY"], "", ""),
            ("parameters", &["EC PARAMETERS"], "types: [EC PARAMETERS]", "types: [EC PARAMETERS]"),
        ] {
            let pem = pem(labels);
            for (said, expected) in [(pem.certificate_error(), certificate), (pem.key_error(), key)]
            {
                match expected {
                    "" => assert_eq!(said, None, "{name}"),
                    expected => assert!(said.is_some_and(|it| it.contains(expected)), "{name}"),
                }
            }
        }
    }

    #[test]
    fn a_key_belongs_to_its_certificate() {
        let key = |algorithm: &str, hash: &str| {
            Some(PublicKey { algorithm: algorithm.to_owned(), hash: hash.to_owned() })
        };
        let leaf = |key| PemCertificate { not_after: Some(Timestamp::from_seconds(10)), key };
        let certificate = Pem { certificates: vec![leaf(key("ec", "1"))], ..pem(&["CERTIFICATE"]) };
        for (name, key, expected) in [
            ("its own", key("ec", "1"), None),
            ("not known", None, None),
            ("another", key("ec", "2"), Some("tls: private key does not match public key")),
            (
                "of another algorithm",
                key("rsa", "1"),
                Some("tls: private key type does not match public key type"),
            ),
        ] {
            let own = Pem { key, ..pem(&["PRIVATE KEY"]) };
            assert_eq!(certificate.pair_error(&own), Ok(expected.map(str::to_owned)), "{name}");
        }
        let broken = Pem { certificates: vec![PemCertificate::default()], ..certificate.clone() };
        assert_eq!(broken.pair_error(&pem(&["PRIVATE KEY"])), Err(Malformed));
        assert!(certificate.pair_error(&certificate).is_ok_and(|it| it.is_some()));
    }

    #[test]
    fn a_list_needs_certificates() {
        let good = PemCertificate { not_after: Some(Timestamp::from_seconds(10)), key: None };
        let bad = PemCertificate::default();
        let of = |certificates: &[PemCertificate]| Pem {
            certificates: certificates.to_vec(),
            ..Pem::default()
        };
        assert!(of(&[]).list_error().flatten().is_some());
        assert_eq!(of(std::slice::from_ref(&good)).list_error(), None);
        assert_eq!(of(&[good.clone(), bad]).list_error(), Some(None));
        assert_eq!(
            of(std::slice::from_ref(&good)).expired(Timestamp::from_seconds(10)),
            None,
            "the last second counts"
        );
        assert!(of(std::slice::from_ref(&good)).expired(Timestamp::from_seconds(11)).is_some());
    }
}
