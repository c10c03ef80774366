//! Why a call failed, in one line: in kq's words, and in those of grpc-go, which the kubelet repeats.

use kq_io::input::plain;
use kq_probe::{GrpcCode, GrpcStatus};
use std::error::Error;
use std::io;
use tonic::{Code, Status};

/// Returns an error and its causes: `CONTEXT: CAUSE: CAUSE`.
///
/// tonic and hyper print little themselves ("transport error"); the details are in the sources.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.downcast_ref::<io::Error>().map_or_else(|| error.to_string(), plain);
        // Some layers repeat the layer below.
        if !text.is_empty() && !said.iter().any(|known| known.contains(&text)) {
            said.push(text);
        }
        next = error.source();
    }
    said.join(": ")
}

/// Returns why a call failed: the runtime's answer, or the error of the connection.
pub fn status_reason(status: &Status) -> String {
    let message = status.message();
    if let Some(source) = status.source() {
        let cause = chain(source);
        return if message.is_empty() || cause.contains(message) {
            cause
        } else {
            format!("{message}: {cause}")
        };
    }
    // tonic made a status without a source if the runtime violated the protocol, and
    // the runtime made it otherwise; the message distinguishes them.
    match (status.code(), message) {
        (code, "") => format!("answered {code:?}"),
        (Code::Unknown, message) => format!("answered: {message}"),
        (code, message) => format!("answered {code:?}: {message}"),
    }
}

/// Returns a status in grpc-go's words, with the client's message limit: each client
/// words its own errors differently.
pub(crate) fn go_status(status: &Status, limit: usize) -> GrpcStatus {
    if let Some(found) = too_large(status) {
        let text = format!("grpc: received message larger than max ({found} vs. {limit})");
        return GrpcStatus::of(GrpcCode::ResourceExhausted, text);
    }
    match status.source() {
        Some(source) => {
            let text = format!("error reading from server: {}", chain(source));
            GrpcStatus::of(GrpcCode::Unavailable, text)
        }
        // Codes on the wire are unsigned.
        None => GrpcStatus::new(i32::from(status.code()).unsigned_abs(), status.message()),
    }
}

/// Returns the size of a message that tonic rejected: `Error, decoded message length too large: found 5 bytes,
/// the limit is: 4 bytes`.
fn too_large(status: &Status) -> Option<&str> {
    let refused = status.code() == Code::OutOfRange || status.code() == Code::ResourceExhausted;
    let rest = status.message().strip_prefix("Error, decoded message length too large: found ")?;
    let (found, _) = rest.split_once(" bytes")?;
    (refused && found.bytes().all(|byte| byte.is_ascii_digit())).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_refuses_has_the_words_of_grpc_go() {
        let refused = "Error, decoded message length too large: found 16777217 bytes, the limit is: 16777216 bytes";
        for (status, expected) in [
            (
                Status::out_of_range(refused),
                "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (16777217 vs. 16777216)",
            ),
            (Status::not_found("no x"), "rpc error: code = NotFound desc = no x"),
            (Status::unknown(""), "rpc error: code = Unknown desc = "),
        ] {
            assert_eq!(go_status(&status, 16_777_216).to_string(), expected);
        }
    }
}
