//! The verdict on a response (`DoHTTPProbe`, `pkg/probe/http/http.go`).
//!
//! | status | result | output |
//! |---|---|---|
//! | 200..=299 | success | the body |
//! | 300..=399 | warning | `Probe terminated redirects, Response body: ` and the body |
//! | any other | failure | the code |

use crate::{Attempt, Cause, ProbeResult};

/// Returns the verdict on a complete response, with the part of the body that was read.
pub fn verdict(status: u16, body: &[u8]) -> Attempt {
    match status {
        200..300 => Attempt::success(body.to_vec()),
        300..400 => {
            let text = b"Probe terminated redirects, Response body: ";
            Attempt {
                result: ProbeResult::Warning,
                output: [text.as_slice(), body].concat().into(),
                cause: Some(Cause::Redirect),
                ..Attempt::default()
            }
        }
        _ => Attempt::failure(
            Cause::Unhealthy,
            format!("HTTP probe failed with statuscode: {status}"),
        ),
    }
}

/// Returns the verdict on a body that could not be read to its end: an error of the prober, so the attempt
/// is repeated.
pub fn body_failed(cause: Cause, error: &[u8]) -> Attempt {
    Attempt {
        result: ProbeResult::Failure,
        error: Some(String::from_utf8_lossy(error).into_owned()),
        cause: Some(cause),
        ..Attempt::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_mean_what_they_mean_to_the_kubelet() {
        let shown = |status| {
            let attempt = verdict(status, b"body");
            assert_eq!(attempt.error, None);
            format!("{} {}", attempt.result, attempt.output.text())
        };
        for (status, expected) in [
            (0, "failure HTTP probe failed with statuscode: 0"),
            (101, "failure HTTP probe failed with statuscode: 101"),
            (199, "failure HTTP probe failed with statuscode: 199"),
            (200, "success body"),
            (299, "success body"),
            (300, "warning Probe terminated redirects, Response body: body"),
            (399, "warning Probe terminated redirects, Response body: body"),
            (400, "failure HTTP probe failed with statuscode: 400"),
            (999, "failure HTTP probe failed with statuscode: 999"),
        ] {
            assert_eq!(shown(status), expected);
        }
        let attempt = body_failed(Cause::Protocol, b"unexpected EOF");
        assert_eq!(attempt.result, ProbeResult::Failure);
        assert_eq!(attempt.error.as_deref(), Some("unexpected EOF"));
        assert!(attempt.output.0.is_empty());
    }
}
