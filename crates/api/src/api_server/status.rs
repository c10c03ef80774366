//! A `Status`: the API server's reason for a failed request.

use crate::http::{HttpError, Refusal};
use serde::Deserialize;

/// The most text that is shown: a webhook may return any amount.
const SHOWN: usize = 1_000;

/// The reason of a cause that names a budget (`DisruptionBudgetCause` of `k8s.io/api/policy/v1`).
const BUDGET_CAUSE: &str = "DisruptionBudget";

/// The fields of a `Status` with the reason.
#[derive(Deserialize)]
pub(super) struct Status {
    kind: String,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    causes: Vec<Cause>,
    retry_after_seconds: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
    message: String,
}

impl Status {
    /// Parses an answer; `None`: it is not a `Status`. Its texts are made safe for terminals.
    pub(super) fn parse(refusal: &Refusal) -> Option<Self> {
        let mut status: Self = serde_json::from_str(refusal.answer()).ok()?;
        let causes = status.details.causes.iter_mut().map(|cause| &mut cause.message);
        for message in causes.chain([&mut status.message]) {
            *message = one_line(&refusal.redact(message));
        }
        (status.kind == "Status").then_some(status)
    }

    /// Returns the messages of the budgets that forbid the eviction.
    pub(super) fn budgets(&self) -> Vec<String> {
        let causes = self.details.causes.iter().filter(|it| it.reason == BUDGET_CAUSE);
        causes.map(|it| it.message.clone()).collect()
    }

    /// Returns the time until a retry, in seconds.
    pub(super) fn retry_after(&self) -> Option<u64> {
        Some(self.details.retry_after_seconds).filter(|seconds| *seconds > 0)
    }
}

/// Replaces the JSON of a `Status` by its message.
pub(super) fn in_words(mut error: HttpError) -> HttpError {
    if let HttpError::Status { body, refusal, .. } = &mut error
        && let Some(status) = Status::parse(refusal)
    {
        *body = status.message;
    }
    error
}

/// Shortens a text to one line of limited length.
pub(super) fn one_line(text: &str) -> String {
    let line = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = line.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Redaction;
    use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};

    fn parse(answer: &str, token: &'static str) -> Option<Status> {
        let token = HeaderValue::from_static(token);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, token)]);
        let redaction = Redaction::of(&headers);
        Status::parse(&Refusal::new("GET".to_owned(), answer.to_owned(), redaction))
    }

    #[test]
    fn credentials_are_taken_out_after_parsing() {
        let answer = r#"{"kind":"Status","message":"no: DisruptionBudget","details":{"causes":[
            {"reason":"DisruptionBudget","message":"DisruptionBudget?"}]}}"#;
        let status = parse(answer, "Bearer DisruptionBudget").expect("a Status");
        assert_eq!(status.message, "no: [credentials]");
        assert_eq!(status.budgets(), ["[credentials]?"]);
        let status = parse(answer, "Bearer t").expect("a Status");
        assert_eq!(status.message, "no: DisruptionBudget");
    }

    #[test]
    fn only_a_status_is_one() {
        for (answer, expected) in [
            ("", None),
            ("no JSON", None),
            (r#"{"message":"m"}"#, None),
            (r#"{"kind":"Pod","message":"m"}"#, None),
            (r#"{"kind":"Status"}"#, Some("")),
            (r#"{"kind":"Status","message":" a\r\n\tb\u001b[2J "}"#, Some("a b [2J")),
        ] {
            let message = parse(answer, "").map(|status| status.message);
            assert_eq!(message.as_deref(), expected, "{answer}");
        }
        let long = format!(r#"{{"kind":"Status","message":"{}"}}"#, "\u{e4}".repeat(1_001));
        let shown = parse(&long, "").expect("a Status").message;
        assert_eq!(shown, format!("{}...", "\u{e4}".repeat(1_000)));
    }

    #[test]
    fn budgets_are_told_from_other_causes() {
        let answer = r#"{"kind":"Status","details":{"retryAfterSeconds":7,"causes":[
            {"reason":"FieldValueInvalid","message":"no"},
            {"reason":"DisruptionBudget","message":"keep\nneeds 1"}]}}"#;
        let status = parse(answer, "").expect("a Status");
        assert_eq!(
            (status.budgets(), status.retry_after()),
            (vec!["keep needs 1".to_owned()], Some(7))
        );
        let status = parse(r#"{"kind":"Status","details":{}}"#, "").expect("a Status");
        assert_eq!((status.budgets(), status.retry_after()), (Vec::new(), None));
    }
}
