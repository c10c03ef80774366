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
}

/// A certificate in a block of PEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PemCertificate {
    /// The end of its validity; `None`: it is no X.509 certificate.
    pub not_after: Option<Timestamp>,
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
    fn a_list_needs_certificates() {
        let good = PemCertificate { not_after: Some(Timestamp::from_seconds(10)) };
        let bad = PemCertificate { not_after: None };
        let of = |certificates: &[PemCertificate]| Pem {
            certificates: certificates.to_vec(),
            ..Pem::default()
        };
        assert!(of(&[]).list_error().flatten().is_some());
        assert_eq!(of(&[good]).list_error(), None);
        assert_eq!(of(&[good, bad]).list_error(), Some(None));
        assert_eq!(
            of(&[good]).expired(Timestamp::from_seconds(10)),
            None,
            "the last second counts"
        );
        assert!(of(&[good]).expired(Timestamp::from_seconds(11)).is_some());
    }
}
