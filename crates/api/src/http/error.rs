//! Why an HTTP server gave no answer, or not one that can be used.
//!
//! A server's words are shown without what it was sent in secret. Only what is shown is redacted, never what is still to be parsed or compared: a token may be a word of the answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap};
use kq_io::input::plain;
use kq_output::credentials::{self, Credentials, MARK};
use std::time::Duration;
use std::{fmt, io};

/// Why there is no answer. No variant holds a token, a password or a key.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The URL cannot be asked.
    #[error("cannot use URL {url:?}: {reason}")]
    Url {
        /// The URL as it was given, without user and password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file with a token, a certificate or a key cannot be used.
    #[error("cannot use {what} {path}: {reason}")]
    File {
        /// `token file`, `client certificate`, `client key`, `certificate authority`.
        what: &'static str,
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A secret would travel unencrypted.
    #[error("credentials are not sent to {address} without TLS")]
    Clear {
        /// The server.
        address: String,
    },
    /// No program listens there.
    #[error("{address} refused the connection")]
    Refused {
        /// The server.
        address: String,
    },
    /// There is no connection for another reason.
    #[error("cannot connect to {address}: {}", plain(error))]
    Connect {
        /// The server.
        address: String,
        /// What the system said.
        error: io::Error,
    },
    /// A proxy did not connect to the server.
    #[error("no connection to {address} through the proxy {proxy}: {reason}")]
    Proxy {
        /// The server.
        address: String,
        /// The proxy, without user and password.
        proxy: String,
        /// What it answered.
        reason: String,
    },
    /// The time was over.
    #[error("{address} took more than {deadline:?}: stopped {phase}")]
    Timeout {
        /// The server.
        address: String,
        /// What was being done.
        phase: Phase,
        /// The time that the whole call had.
        deadline: Duration,
    },
    /// It is not known who answers there.
    #[error("the server on {address} is not known to be the kubelet: {reason}")]
    Unknown {
        /// The server.
        address: String,
        reason: String,
    },
    /// The two could not agree on TLS, or one did not trust the other.
    #[error("no TLS with {address}: {reason}")]
    Tls {
        /// The server.
        address: String,
        /// What was wrong.
        reason: String,
    },
    /// The server showed another certificate than the one that lies in the kubelet's folder.
    #[error(
        "no TLS with {address}: the server's certificate is not the one in the kubelet's folder"
    )]
    OtherCertificate {
        /// The server.
        address: String,
    },
    /// The server answered with something else than success.
    #[error("{address} answered {}{}{}", status(*code), redirect(location), quoted(body))]
    Status {
        /// The server.
        address: String,
        /// The requested path.
        path: Box<str>,
        /// The code: 403.
        code: u16,
        /// The first 200 characters of the answer.
        body: String,
        /// What was refused, and how, in full.
        refusal: Box<Refusal>,
        /// `Location`: where the server would have sent us. Redirects are not followed.
        location: Option<String>,
        /// `Retry-After`: when the server wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The answer ended before it was complete.
    #[error("the answer of {address} was cut off after {}: {reason}", bytes(*received, *expected))]
    CutOff {
        /// The server.
        address: String,
        /// How many bytes of the body came.
        received: u64,
        /// How many were announced.
        expected: Option<u64>,
        /// What happened.
        reason: String,
    },
    /// What came is not HTTP.
    #[error("{address} does not answer in HTTP: {reason}")]
    NotHttp {
        /// The server.
        address: String,
        /// What was wrong.
        reason: String,
    },
    /// The answer is larger than kq reads.
    #[error("the answer of {address} has more than {limit} bytes, which kq does not read")]
    TooLarge {
        /// The server.
        address: String,
        limit: u64,
    },
    /// The system gave nothing to wait with.
    #[error("cannot prepare a connection: {}", plain(error))]
    Runtime {
        /// What the system said.
        error: io::Error,
    },
}

/// What a server did not do, and what it said about it.
#[derive(Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was to be done: `GET`.
    pub method: String,
    /// As it came, up to 64 KiB.
    answer: String,
    redaction: Redaction,
}

impl Refusal {
    pub(crate) fn new(method: String, answer: String, redaction: Redaction) -> Self {
        Self { method, answer, redaction }
    }

    /// Returns the answer to be parsed. What is shown of it afterwards is redacted first.
    #[cfg_attr(not(feature = "apiserver"), expect(dead_code, reason = "the API server explains"))]
    pub(crate) fn answer(&self) -> &str {
        &self.answer
    }

    /// Returns a part of the answer without what the server was sent in secret.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.redaction.redact(text)
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = self.redact(&self.answer);
        f.debug_struct("Refusal").field("method", &self.method).field("answer", &answer).finish()
    }
}

/// What was being done when the time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Looking up the name and connecting.
    Connect,
    /// Agreeing on TLS.
    Tls,
    /// Waiting for the status and the headers.
    Headers,
    /// Reading the answer.
    Body,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "while connecting",
            Self::Tls => "in the TLS handshake",
            Self::Headers => "while waiting for the headers",
            Self::Body => "in the middle of the body",
        })
    }
}

impl HttpError {
    /// Returns the code of an answer that was no success.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Returns true if the server cannot have received the request, and so cannot have executed it.
    pub fn is_unsent(&self) -> bool {
        match self {
            Self::Url { .. }
            | Self::File { .. }
            | Self::Clear { .. }
            | Self::Refused { .. }
            | Self::Connect { .. }
            | Self::Proxy { .. }
            | Self::Runtime { .. } => true,
            Self::Timeout { phase, .. } => matches!(phase, Phase::Connect | Phase::Tls),
            // With TLS 1.3, a server can refuse us after it was sent.
            Self::Tls { .. }
            | Self::OtherCertificate { .. }
            | Self::Status { .. }
            | Self::CutOff { .. }
            | Self::NotHttp { .. }
            | Self::Unknown { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}

fn status(code: u16) -> String {
    match StatusCode::from_u16(code).ok().and_then(|code| code.canonical_reason()) {
        Some(reason) => format!("{code} {reason}"),
        None => code.to_string(),
    }
}

fn redirect(location: &Option<String>) -> String {
    match location {
        Some(location) => format!(", a redirect to {location} that is not followed"),
        None => String::new(),
    }
}

fn quoted(body: &str) -> String {
    if body.is_empty() { String::new() } else { format!(": {body}") }
}

fn bytes(received: u64, expected: Option<u64>) -> String {
    match expected {
        Some(expected) => format!("{received} of {expected} bytes"),
        None => format!("{received} bytes"),
    }
}

/// The credentials of a request.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Redaction(Vec<String>);

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MARK)
    }
}

impl Redaction {
    /// Returns the token or the password of a request, as it was sent and as it was meant.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let sent = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let sent = sent.map(|sent| sent.split_once(' ').unwrap_or(("", sent)));
        let Some((scheme, sent)) = sent else { return Self::default() };
        let mut secrets = vec![sent.to_owned()];
        if scheme.eq_ignore_ascii_case("basic")
            && let Ok(decoded) = STANDARD.decode(sent)
            && let Some((_, password)) = String::from_utf8_lossy(&decoded).split_once(':')
        {
            secrets.push(password.to_owned());
        }
        Self(secrets)
    }

    /// Makes the process show and store nothing with these credentials.
    pub(crate) fn register(&self) {
        self.0.iter().for_each(|secret| credentials::sent(secret));
    }

    /// Returns a text that is going to be shown, without the credentials. A credential that is a part of a longer
    /// word is another word.
    pub(crate) fn redact(&self, text: &str) -> String {
        let credentials = Credentials::default();
        self.0.iter().for_each(|secret| credentials.add(secret));
        credentials.redact(text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn whole_credentials_are_redacted() {
        for (name, header, text, expected) in [
            ("none", "", "Bearer of news", "Bearer of news"),
            ("a token", "Bearer s3cr3t-token", "no: 's3cr3t-token'", "no: '[credentials]'"),
            ("twice", "Bearer aaaaaaaa", "aaaaaaaa=aaaaaaaa", "[credentials]=[credentials]"),
            ("a part of a word", "Bearer aaaaaaaa", "aaaaaaaaa", "aaaaaaaaa"),
            (
                "part, then whole",
                "Bearer aaaa.aaaa",
                "aaaa.aaaab aaaa.aaaa",
                "aaaa.aaaab [credentials]",
            ),
            ("a short one", "Bearer t", "it is the t of it", "it is the t of it"),
            ("a password", "Basic dTpwYXNzd29yZDE=", "u:password1?", "u:[credentials]?"),
            ("as it was sent", "Basic dTpwYXNzd29yZDE=", "dTpwYXNzd29yZDE=", "[credentials]"),
        ] {
            let mut headers = HeaderMap::new();
            if !header.is_empty() {
                headers.insert(AUTHORIZATION, HeaderValue::from_static(header));
            }
            let sent = Redaction::of(&headers);
            assert_eq!(sent.redact(text), expected, "{name}");
            assert_eq!(format!("{sent:?}"), MARK, "{name}");
        }
    }
}
