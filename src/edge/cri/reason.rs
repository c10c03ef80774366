//! Why a call failed, in one line.

use crate::edge::input::plain;
use std::error::Error;
use std::io;
use tonic::{Code, Status};

/// Returns an error and its causes: `CONTEXT: CAUSE: CAUSE`.
///
/// tonic and hyper print little themselves ("transport error"); what happened is in the sources.
pub(in crate::edge) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.downcast_ref::<io::Error>().map_or_else(|| error.to_string(), plain);
        // Some layers repeat what is below them.
        if !text.is_empty() && !said.iter().any(|known| known.contains(&text)) {
            said.push(text);
        }
        next = error.source();
    }
    said.join(": ")
}

/// Returns why a call failed: what the runtime answered, or what broke the connection.
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
    // A status without a source was made by tonic when the runtime broke a rule of the protocol, and
    // by the runtime otherwise; the message tells them apart.
    match (status.code(), message) {
        (code, "") => format!("answered {code:?}"),
        (Code::Unknown, message) => format!("answered: {message}"),
        (code, message) => format!("answered {code:?}: {message}"),
    }
}
