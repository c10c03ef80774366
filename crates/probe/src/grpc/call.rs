//! One unary call as grpc-go's client sees it: from headers, data and an end to an answer or a status.
//!
//! The rules are those of `operateHeaders`, `handleData`, `handleRSTStream`, `handleGoAway` and `Close` in
//! `internal/transport/http2_client.go`, of `recvMsg` in `stream.go` and of `rpc_util.go`.

use super::frames::FrameScan;
use super::gzip::gunzip;
use super::health::decode_response;
use super::status::{code_of_reset, http2_error_name};
use super::{GrpcCode, GrpcStatus};
use crate::Cause;
use kq_k8s::go_text::{percent_decoded, quote};
use std::borrow::Cow;

/// The largest message that grpc-go's client reads (`defaultClientMaxReceiveMessageSize`).
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// How a call ended: with the serving status, or without.
pub type Outcome = Result<i32, CallFailure>;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure {
    /// The status, the server's or one of the client's own.
    pub status: GrpcStatus,
    /// Whose fault it is.
    pub cause: Cause,
}

/// A call that is under way.
#[derive(Clone, Debug, Default)]
pub struct Call {
    encoding: Vec<u8>,
    received: Vec<u8>,
    answer: Option<i32>,
}

/// What the headers or trailers of an answer say.
#[derive(Debug)]
struct Fields {
    is_grpc: bool,
    content_type_problem: Option<String>,
    encoding: Vec<u8>,
    status: GrpcStatus,
}

impl CallFailure {
    /// A failure that the client found.
    pub fn own(code: GrpcCode, message: impl Into<Vec<u8>>) -> Self {
        Self { status: GrpcStatus::of(code, message), cause: Cause::Protocol }
    }

    /// The time was over.
    pub fn too_late() -> Self {
        let status = GrpcStatus::of(GrpcCode::DeadlineExceeded, "context deadline exceeded");
        Self { status, cause: Cause::Timeout }
    }

    /// The stream was reset by the server.
    pub fn reset(code: u32) -> Self {
        let name = http2_error_name(code);
        let text = format!("stream terminated by RST_STREAM with error code: {name}");
        Self::own(code_of_reset(code), text)
    }

    /// The server goes away without having begun with the call.
    pub fn draining() -> Self {
        Self::own(GrpcCode::Unavailable, "the connection is draining")
    }

    /// The connection ended before the call began, and there is no other.
    pub fn not_connected(problem: &str, cause: Cause) -> Self {
        let text = format!("connection error: desc = {}", quote(problem));
        Self { status: GrpcStatus::of(GrpcCode::Unavailable, text), cause }
    }

    /// The connection ended before the call did; the text is why.
    pub fn disconnected(problem: &str, seen: &FrameScan) -> Self {
        let problem = format!("error reading from server: {problem}");
        let text = match &seen.go_away {
            None => problem,
            Some(said) => {
                let mut why = format!("code: {}", http2_error_name(said.code));
                if !said.debug.is_empty() {
                    let debug = String::from_utf8_lossy(&said.debug);
                    why.push_str(&format!(", debug data: {}", quote(&debug)));
                }
                let problem = quote(&problem);
                format!(
                    "closing transport due to: connection error: desc = {problem}, received prior goaway: {why}"
                )
            }
        };
        Self::own(GrpcCode::Unavailable, text)
    }
}

impl Call {
    /// Takes the headers of the answer; `Some`: the call has ended with them.
    pub fn headers<'f>(
        &mut self,
        http_status: u16,
        fields: impl Iterator<Item = (&'f str, &'f [u8])>,
        is_end: bool,
    ) -> Option<Outcome> {
        let fields = match read_fields(fields) {
            Ok(fields) => fields,
            Err(failure) => return Some(Err(failure)),
        };
        if !fields.is_grpc {
            let problem = format!(
                "unexpected HTTP status code received from server: {http_status} ({})",
                status_text(http_status)
            );
            let type_problem = fields.content_type_problem.unwrap_or_default();
            let text = format!("{problem}; {type_problem}");
            return Some(Err(CallFailure::own(code_of_http_status(http_status), text)));
        }
        if is_end {
            return Some(self.end(fields.status));
        }
        self.encoding = fields.encoding;
        None
    }

    /// Takes a part of the messages; `Some`: the call has ended with it.
    pub fn data(&mut self, bytes: &[u8]) -> Option<Outcome> {
        self.received.extend_from_slice(bytes);
        loop {
            match self.message() {
                Ok(None) => return None,
                Ok(Some(_)) if self.answer.is_some() => {
                    return Some(Err(CallFailure::own(
                        GrpcCode::Internal,
                        "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message",
                    )));
                }
                Ok(Some(status)) => self.answer = Some(status),
                Err(failure) => return Some(Err(failure)),
            }
        }
    }

    /// Takes the trailers, with which the call ends.
    pub fn trailers<'f>(&mut self, fields: impl Iterator<Item = (&'f str, &'f [u8])>) -> Outcome {
        let fields = read_fields(fields)?;
        self.end(fields.status)
    }

    /// The server ended the stream with data.
    pub fn end_without_trailers(&mut self) -> Outcome {
        let text = "server closed the stream without sending trailers";
        self.end(GrpcStatus::of(GrpcCode::Internal, text))
            .map_err(|failure| CallFailure { cause: Cause::Protocol, ..failure })
    }

    /// Ends with a status, which counts only where no message was begun.
    fn end(&mut self, status: GrpcStatus) -> Outcome {
        if !self.received.is_empty() {
            return Err(CallFailure::own(GrpcCode::Internal, "unexpected EOF"));
        }
        if !status.is_ok() {
            let late = status.is_deadline_exceeded();
            let cause = if late { Cause::Timeout } else { Cause::Unhealthy };
            return Err(CallFailure { status, cause });
        }
        self.answer.ok_or_else(|| {
            CallFailure::own(
                GrpcCode::Internal,
                "cardinality violation: received no response message from non-server-streaming RPC",
            )
        })
    }

    /// Takes the next message out of what was received; `None`: it is not whole yet.
    fn message(&mut self) -> Result<Option<i32>, CallFailure> {
        let Some((head, rest)) = self.received.split_first_chunk::<5>() else { return Ok(None) };
        let [format, length @ ..] = *head;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > MAX_MESSAGE_BYTES {
            let text = format!(
                "grpc: received message larger than max ({length} vs. {MAX_MESSAGE_BYTES})"
            );
            return Err(CallFailure::own(GrpcCode::ResourceExhausted, text));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let refused = |text: String| Err(CallFailure::own(GrpcCode::Internal, text));
        let message = match format {
            0 => Cow::Borrowed(message),
            1 if self.encoding.is_empty() || self.encoding == b"identity" => {
                return refused(
                    "grpc: compressed flag set with identity or empty encoding".to_owned(),
                );
            }
            1 if self.encoding == b"gzip" => {
                let plain = gunzip(message, MAX_MESSAGE_BYTES);
                Cow::Owned(plain.map_err(|status| CallFailure { status, cause: Cause::Protocol })?)
            }
            1 => {
                let encoding = quote(&String::from_utf8_lossy(&self.encoding));
                return refused(format!(
                    "grpc: Decompressor is not installed for grpc-encoding {encoding}"
                ));
            }
            other => {
                return refused(format!("grpc: received unexpected payload format {other}"));
            }
        };
        let Some(status) = decode_response(&message) else {
            return refused(
                "grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data"
                    .to_owned(),
            );
        };
        self.received.drain(..5 + length);
        Ok(Some(status))
    }
}

/// Reads headers or trailers; of several of a name, the last one counts.
fn read_fields<'f>(
    fields: impl Iterator<Item = (&'f str, &'f [u8])>,
) -> Result<Fields, CallFailure> {
    let mut content_type_problem = Some("malformed header: missing HTTP content-type".to_owned());
    let mut is_grpc = false;
    let (mut encoding, mut message) = (Vec::new(), Vec::new());
    // A server that names no status is one of which nothing is known.
    let mut code = GrpcCode::Unknown as u32;
    for (name, value) in fields {
        match name {
            "content-type" if is_grpc_type(value) => {
                (content_type_problem, is_grpc) = (None, true);
            }
            "content-type" => {
                let value = quote(&String::from_utf8_lossy(value));
                content_type_problem =
                    Some(format!("transport: received unexpected content-type {value}"));
            }
            "grpc-encoding" => encoding = value.to_vec(),
            "grpc-status" => code = read_code(value)?,
            "grpc-message" => message = percent_decoded(value),
            _ => {}
        }
    }
    let status = GrpcStatus { code, message };
    Ok(Fields { is_grpc, content_type_problem, encoding, status })
}

/// Returns true if a content type is that of gRPC (`grpcutil.ContentSubtype`).
fn is_grpc_type(value: &[u8]) -> bool {
    value
        .strip_prefix(b"application/grpc")
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// Reads a status as `strconv.ParseInt(text, 10, 32)` does.
fn read_code(value: &[u8]) -> Result<u32, CallFailure> {
    let text = String::from_utf8_lossy(value);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let problem = if is_number { "value out of range" } else { "invalid syntax" };
    let code: Option<i32> = if is_number { text.parse().ok() } else { None };
    code.map(|code| code as u32).ok_or_else(|| {
        let text = format!(
            "transport: malformed grpc-status: strconv.ParseInt: parsing {}: {problem}",
            quote(&text)
        );
        CallFailure::own(GrpcCode::Unknown, text)
    })
}

/// Returns the code that stands for a status of HTTP (`HTTPStatusConvTab`).
fn code_of_http_status(status: u16) -> GrpcCode {
    match status {
        400 => GrpcCode::Internal,
        401 => GrpcCode::Unauthenticated,
        403 => GrpcCode::PermissionDenied,
        404 => GrpcCode::Unimplemented,
        429 | 502..=504 => GrpcCode::Unavailable,
        _ => GrpcCode::Unknown,
    }
}

/// Returns the words for a status of HTTP, those of Go where it has others; empty for one without.
fn status_text(status: u16) -> &'static str {
    match status {
        413 => "Request Entity Too Large",
        414 => "Request URI Too Long",
        416 => "Requested Range Not Satisfiable",
        _ => {
            let status = http::StatusCode::from_u16(status).ok();
            status.and_then(|status| status.canonical_reason()).unwrap_or_default()
        }
    }
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
