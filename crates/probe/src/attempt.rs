//! The time limit of one attempt of a probe, and its result.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// How much of an answer the kubelet keeps, in bytes: of a body, of the output of a command
/// (`maxRespBodyLength` of `pkg/probe/http/http.go`, `maxReadLength` of `pkg/probe/exec/exec.go`).
pub const MAX_OUTPUT_BYTES: usize = 10 * 1024;

/// What a prober says (`probe.Result`, `pkg/probe/probe.go`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProbeResult {
    /// All is well.
    Success,
    /// As good as success, with an event about it.
    Warning,
    /// Not well.
    Failure,
    /// The prober has no result.
    #[default]
    Unknown,
}

/// One attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// What the prober says.
    pub result: ProbeResult,
    /// The text of the event.
    pub output: Output,
    /// The prober failed: such an attempt is made again, and in the end does not count.
    pub error: Option<String>,
    /// Why it is not a success.
    pub cause: Option<Cause>,
    /// How long each part took, in order.
    pub phases: Vec<PhaseTime>,
    /// What went over the wire, in order; each redirect that was followed is one more.
    pub exchanges: Vec<Exchange>,
}

/// Bytes of foreign origin, with any content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output(pub Vec<u8>);

/// Why an attempt is not a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The request could not be made: a port without number, a header that cannot be sent.
    Request,
    /// The name of the host is not known.
    Lookup,
    /// No connection was established.
    Connect,
    /// No secure connection came about.
    Tls,
    /// The response breaks the protocol, or ended too early.
    Protocol,
    /// It took too long.
    Timeout,
    /// The answer is that it is not well.
    Unhealthy,
    /// The command ended with another exit code than 0.
    ExitCode,
    /// The container runtime could not run the command.
    Runtime,
    /// The answer was a redirect that is not followed.
    Redirect,
}

/// A part of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Asking for the addresses of a name.
    Lookup,
    /// Opening the connection.
    Connect,
    /// The handshake of TLS.
    Tls,
    /// The handshake of HTTP/2, up to the settings of the server.
    Settings,
    /// Sending the request and waiting for the first byte of the answer.
    FirstByte,
    /// Reading the rest.
    Body,
    /// The call to the runtime up to the start of the command, if it can be separated from the run.
    SetUp,
    /// The run of the command.
    Run,
}

/// How long a part took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTime {
    /// The part.
    pub phase: Phase,
    /// In microseconds.
    pub took_us: u64,
    /// It had not ended when the attempt did.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
}

/// A request and what came back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Exchange {
    /// The address with port.
    pub address: String,
    /// What was sent; of a binary protocol, what it means, in lines.
    pub request: Output,
    /// What came back up to the body: status line and headers.
    pub head: Output,
    /// The received part of the body, at most [`MAX_OUTPUT_BYTES`].
    pub body: Output,
    /// What the server showed of itself; null: there was no TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<ServerCertificate>,
}

/// The certificate of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCertificate {
    pub subject: String,
    pub issuer: String,
    pub not_after: Timestamp,
}

impl Exchange {
    /// Returns true if the kubelet stops reading the body (`ReadAtMost`, `k8s.io/utils/io`): what follows is not looked at.
    pub fn has_cut_body(&self) -> bool {
        self.body.0.len() >= MAX_OUTPUT_BYTES
    }
}

impl Attempt {
    /// An attempt that ended well.
    pub fn success(output: impl Into<Output>) -> Self {
        Self { result: ProbeResult::Success, output: output.into(), ..Self::default() }
    }

    /// An attempt that failed.
    pub fn failure(cause: Cause, output: impl Into<Output>) -> Self {
        Self {
            result: ProbeResult::Failure,
            output: output.into(),
            cause: Some(cause),
            ..Self::default()
        }
    }

    /// Returns an attempt without a result.
    pub fn error(cause: Cause, error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), cause: Some(cause), ..Self::default() }
    }
}

impl Output {
    /// Returns the text; bytes that are no UTF-8 become U+FFFD, as they do in an event.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Returns the bytes in Base64 where the text would not be the same; `None`: it is.
    pub fn base64(&self) -> Option<String> {
        let is_text = std::str::from_utf8(&self.0).is_ok();
        (!is_text).then(|| BASE64_STANDARD.encode(&self.0))
    }
}

impl From<&str> for Output {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_owned())
    }
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<Vec<u8>> for Output {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

kq_k8s::schema_as!(Output, String);

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl fmt::Display for ProbeResult {
    /// As errors of the kubelet show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Warning => "warning",
            Self::Failure => "failure",
            Self::Unknown => "unknown",
        })
    }
}

/// The time of one attempt, as Go's timers understand the number of seconds that a probe names.
///
/// What no time at all means is up to the prober: HTTP, TCP and commands go on without limit, gRPC is late
/// before it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeTimeout {
    /// 0 seconds.
    None,
    /// So long.
    After(Duration),
    /// It is over already: a negative number.
    Past,
}

impl ProbeTimeout {
    /// Reads `timeoutSeconds`, on which neither defaults nor checks have been applied.
    pub fn from_seconds(seconds: i32) -> Self {
        match u64::try_from(seconds) {
            Ok(0) => Self::None,
            Ok(seconds) => Self::After(Duration::from_secs(seconds)),
            Err(_) => Self::Past,
        }
    }
}

/// Returns the time as texts of the kubelet show it: `1s`, `1m30s`, `0s`, `-1s`.
pub fn go_seconds(seconds: i32) -> GoDuration {
    GoDuration(i64::from(seconds) * GoDuration::SECOND.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_and_shown() {
        let after = |seconds| ProbeTimeout::After(Duration::from_secs(seconds));
        for (seconds, timeout, shown) in [
            (0, ProbeTimeout::None, "0s"),
            (1, after(1), "1s"),
            (90, after(90), "1m30s"),
            (i32::MAX, after(2_147_483_647), "596523h14m7s"),
            (-1, ProbeTimeout::Past, "-1s"),
            (i32::MIN, ProbeTimeout::Past, "-596523h14m8s"),
        ] {
            assert_eq!(ProbeTimeout::from_seconds(seconds), timeout, "{seconds}");
            assert_eq!(go_seconds(seconds).to_string(), shown, "{seconds}");
        }
    }
}
