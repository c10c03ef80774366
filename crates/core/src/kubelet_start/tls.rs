//! Versions, ciphers and curves of TLS: `InitializeTLS` in `cmd/kubelet/app/server.go`, `ciphersuites_flag.go` and
//! `curves_flag.go` in `component-base/cli/flag`.

use super::{Stage, Start, StartExamination};
use kq_facts::kubelet_config::KubeletConfiguration;
use kq_k8s::go_text::quote;
use std::collections::BTreeSet;

/// The ciphers of Go's `crypto/tls`, the insecure ones and older names among them.
const CIPHERS: [&str; 27] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// The curves of Go's `crypto/tls`: P-256, P-384, P-521, X25519, and those with ML-KEM.
const CURVES: [i32; 7] = [23, 24, 25, 29, 4587, 4588, 4589];

/// Checks ciphers, the oldest version, and curves; the first problem stops the kubelet.
pub(super) fn settings(start: &Start<'_>, found: &mut StartExamination) {
    if let Some((field, error)) = problem(&start.read.given) {
        found.refuse(Stage::Dependencies, field, error);
    }
}

fn problem(given: &KubeletConfiguration) -> Option<(&'static str, String)> {
    let ciphers = given.tls_cipher_suites.as_deref().unwrap_or_default();
    if let Some(cipher) = ciphers.iter().find(|name| !CIPHERS.contains(&name.as_str())) {
        let error = format!("Cipher suite {cipher} not supported or doesn't exist");
        return Some(("tlsCipherSuites", error));
    }
    let version = given.tls_min_version.as_deref().unwrap_or_default();
    let known = ["", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"];
    if !known.contains(&version) {
        return Some(("tlsMinVersion", format!("unknown tls version {}", quote(version))));
    }
    let mut seen = BTreeSet::new();
    given.tls_curve_preferences.iter().flatten().find_map(|curve| {
        let error = if !(1..=65535).contains(curve) {
            format!("curve preference {curve} is out of range (must be 1-65535)")
        } else if !seen.insert(curve) {
            format!("duplicate curve preference {curve}")
        } else if !CURVES.contains(curve) {
            format!("curve preference {curve} is not supported by the current Go version")
        } else {
            return None;
        };
        Some(("tlsCurvePreferences", error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_known_and_named_once() {
        for (curves, expected) in [
            (vec![29, 23], None),
            (vec![0], Some("curve preference 0 is out of range (must be 1-65535)")),
            (vec![29, 29], Some("duplicate curve preference 29")),
            (vec![7], Some("curve preference 7 is not supported by the current Go version")),
        ] {
            let given = KubeletConfiguration {
                tls_curve_preferences: Some(curves),
                ..KubeletConfiguration::default()
            };
            let said = problem(&given);
            let expected = expected.map(|error| ("tlsCurvePreferences", error.to_owned()));
            assert_eq!(said, expected);
        }
    }
}
