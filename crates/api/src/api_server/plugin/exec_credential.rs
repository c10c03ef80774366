//! What a plugin answers: an `ExecCredential`. No error quotes it, since any part may be secret.

use crate::api_server::credentials::bearer;
use crate::http::tls::Identity;
use jiff::Timestamp;
use kq_k8s::yaml;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// A longer text is no version.
const LONGEST_VERSION: usize = 40;

const NOT_ONE: &str = "did not write an ExecCredential";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    api_version: String,
    status: Option<Status>,
}

/// The credentials, as the plugin wrote them, and as one process of kq passes them on to another.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// The credentials that a plugin gave.
pub(super) struct Given {
    pub(super) token: Option<String>,
    pub(super) identity: Option<Arc<Identity>>,
    expires: Option<Timestamp>,
    written: Status,
}

impl Given {
    /// Reads the output of a plugin. The reason of a failure follows the name of the plugin in a sentence.
    pub(super) fn parse(output: &[u8], api_version: &str, command: &str) -> Result<Self, String> {
        let not_one = |reason: &str| format!("{NOT_ONE}: {reason}");
        let text = str::from_utf8(output).map_err(|_| not_one("it is not text in UTF-8"))?;
        if text.trim().is_empty() {
            return Err("wrote nothing to standard output".to_owned());
        }
        // JSON too: client-go reads either.
        let value = yaml::read(text).map_err(|_| not_one("it is neither JSON nor YAML"))?.value;
        let written: ExecCredential = serde_json::from_value(value)
            .map_err(|_| not_one("a field is missing or has another type"))?;
        if written.kind != "ExecCredential" {
            return Err(not_one("its kind is another one"));
        }
        if written.api_version != api_version {
            let found = &written.api_version;
            let is_version = found.starts_with("client.authentication.k8s.io/v");
            let found = match is_version && found.len() <= LONGEST_VERSION {
                true => format!("{found:?}"),
                false => "of another API".to_owned(),
            };
            return Err(format!(
                "answered with apiVersion {found}, and the kubeconfig asks for {api_version}"
            ));
        }
        let status = written.status.ok_or("wrote an ExecCredential without status")?;
        Self::of_status(status, command)
    }

    fn of_status(status: Status, command: &str) -> Result<Self, String> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let token = given(&status.token);
        if token.as_deref().is_some_and(|token| bearer(token).is_none()) {
            return Err("wrote a token with invalid characters".to_owned());
        }
        let source = Path::new(command);
        let identity =
            match (given(&status.client_certificate_data), given(&status.client_key_data)) {
                (None, None) if token.is_none() => {
                    return Err("wrote neither a token nor a client certificate".to_owned());
                }
                (None, None) => None,
                (Some(certificate), Some(key)) => {
                    let pair = ((source, certificate.as_bytes()), (source, key.as_bytes()));
                    let identity = Identity::from_pem(pair.0, pair.1);
                    Some(identity.map_err(|_| {
                        "wrote a client certificate or a key that is not PEM".to_owned()
                    })?)
                }
                (Some(_), None) => {
                    return Err("wrote a client certificate without a key".to_owned());
                }
                (None, Some(_)) => {
                    return Err("wrote a client key without a certificate".to_owned());
                }
            };
        let expires = given(&status.expiration_timestamp).map(|text| {
            let parsed = text.parse::<Timestamp>();
            parsed.map_err(|_| "wrote an expirationTimestamp that is no time".to_owned())
        });
        let expires = expires.transpose()?;
        Ok(Self { token, identity: identity.map(Arc::new), expires, written: status })
    }

    /// Returns true after the time that the plugin named.
    pub(super) fn has_expired(&self) -> bool {
        self.expires.is_some_and(|expires| Timestamp::now() > expires)
    }

    /// Returns the credentials for [`of_bytes`](Self::of_bytes) in another process.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.written).unwrap_or_default()
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Self::of_status(serde_json::from_slice(bytes).ok()?, "kq").ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const V1: &str = "client.authentication.k8s.io/v1";

    fn parse(output: &str) -> Result<Given, String> {
        Given::parse(output.as_bytes(), V1, "aws")
    }

    #[test]
    fn a_credential_has_a_token_and_an_end() {
        let output = json!({
            "kind": "ExecCredential", "apiVersion": V1, "spec": {}, "more": [1],
            "status": {"token": "hunter2", "expirationTimestamp": "2020-01-02T03:04:05Z", "clientKeyData": null},
        });
        let given = parse(&output.to_string()).expect("a credential");
        assert_eq!(given.token.as_deref(), Some("hunter2"));
        assert!(given.has_expired() && given.identity.is_none());
        let lent = Given::of_bytes(&given.to_bytes()).expect("the same");
        assert_eq!((lent.token, lent.expires), (given.token, given.expires));
        let yaml = format!("kind: ExecCredential\napiVersion: {V1}\nstatus:\n  token: abc\n");
        assert!(!parse(&yaml).expect("a credential").has_expired());
        let later =
            yaml.replace("  token", "  expirationTimestamp: '9000-01-01T00:00:00+02:00'\n  token");
        assert!(!parse(&later).expect("a credential").has_expired());
    }

    #[test]
    fn what_is_none_is_refused_without_a_word_of_it() {
        let with = |status: &str| {
            format!("{{\"kind\":\"ExecCredential\",\"apiVersion\":\"{V1}\",\"status\":{status}}}")
        };
        let old = "client.authentication.k8s.io/v1beta1";
        for (output, expected) in [
            ("", "wrote nothing"),
            (" \n", "wrote nothing"),
            ("hunter2", "did not write an ExecCredential"),
            ("{\"hunter2\":", "neither JSON nor YAML"),
            ("{\"kind\":\"hunter2\"}", "its kind is another one"),
            ("[\"hunter2\"]", "another type"),
            ("{\"kind\":\"ExecCredential\",\"apiVersion\":\"hunter2\"}", "of another API"),
            (
                &format!("{{\"kind\":\"ExecCredential\",\"apiVersion\":\"{old}\"}}"),
                "v1beta1\", and the kubeconfig asks for client.authentication.k8s.io/v1",
            ),
            (&format!("{{\"kind\":\"ExecCredential\",\"apiVersion\":\"{V1}\"}}"), "without status"),
            (&with("{}"), "neither a token nor"),
            (&with("{\"token\":\"\"}"), "neither a token nor"),
            (&with("{\"token\":\"hunter2\\nx\"}"), "invalid characters"),
            (&with("{\"token\":{\"a\":\"hunter2\"}}"), "another type"),
            (&with("{\"clientCertificateData\":\"hunter2\"}"), "without a key"),
            (&with("{\"clientKeyData\":\"hunter2\"}"), "without a certificate"),
            (
                &with("{\"clientKeyData\":\"hunter2\",\"clientCertificateData\":\"hunter2\"}"),
                "is not PEM",
            ),
            (
                &with("{\"token\":\"hunter2\",\"expirationTimestamp\":\"hunter2\"}"),
                "that is no time",
            ),
        ] {
            let Err(reason) = parse(output) else { panic!("{output}") };
            assert!(reason.contains(expected), "{output}: {reason}");
            assert!(!reason.contains("hunter2"), "{output}: {reason}");
        }
    }
}
