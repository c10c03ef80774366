//! Moments in a pod's metadata.

use super::read::Text;
use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, Error as _, Unexpected};

/// Reads a moment as the API server writes it (`Time.UnmarshalJSON`,
/// `k8s.io/apimachinery/pkg/apis/meta/v1/time.go`): RFC 3339, or nothing from `null`.
pub(super) fn optional_moment<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<Text<'de>>::deserialize(deserializer)? else { return Ok(None) };
    let refuse = || {
        let expected = "a time of RFC 3339, such as 2026-11-20T12:04:25Z";
        D::Error::invalid_value(Unexpected::Str(&text), &expected)
    };
    // The parser knows more ways to write a moment.
    if !is_rfc_3339(text.as_bytes()) {
        return Err(refuse());
    }
    text.parse().map(Some).map_err(|_| refuse())
}

/// Tells whether a text has the form `2026-11-20T12:04:25.5+01:00`; the fraction may lack, and `Z` is a zone.
fn is_rfc_3339(text: &[u8]) -> bool {
    let Some((moment, rest)) = text.split_at_checked("2026-11-20T12:04:25".len()) else {
        return false;
    };
    let fraction = match rest {
        [b'.', digits @ ..] => 1 + digits.iter().take_while(|it| it.is_ascii_digit()).count(),
        _ => 0,
    };
    let zone = rest.get(fraction..).unwrap_or_default();
    fraction != 1
        && is_like(moment, b"0000-00-00T00:00:00")
        && (zone == b"Z" || is_like(zone, b"+00:00") || is_like(zone, b"-00:00"))
}

/// Tells whether a text has digits where the form has some, and else what that has.
fn is_like(text: &[u8], form: &[u8]) -> bool {
    let fits = |(is, form): (&u8, &u8)| match form {
        b'0' => is.is_ascii_digit(),
        _ => is == form,
    };
    text.len() == form.len() && text.iter().zip(form).all(fits)
}

#[cfg(test)]
mod tests {
    use crate::k8s::pod::Pod;

    #[test]
    fn moments_are_read_as_the_api_server_reads_them() {
        // The value, the moment in UTC; `None`: it is refused.
        for (value, expected) in [
            ("null", Some(None)),
            (r#""2026-01-02T00:30:00Z""#, Some(Some("2026-01-02T00:30:00Z"))),
            (r#""2026-01-02T00:30:00+02:00""#, Some(Some("2026-01-01T22:30:00Z"))),
            (r#""2026-01-02T00:30:00.25-00:30""#, Some(Some("2026-01-02T01:00:00.25Z"))),
            (r#""yesterday""#, None),
            (r#""""#, None),
            (r#""2026-01-02""#, None),
            (r#""2026-01-02T00:30:00""#, None),
            (r#""2026-01-02 00:30:00Z""#, None),
            (r#""2026-01-02T00:30:00.Z""#, None),
            (r#""2026-01-02T00:30:00+02""#, None),
            (r#""2026-13-02T00:30:00Z""#, None),
            (r#""2026-01-02T00:30:00+02:00[Europe/Berlin]""#, None),
            ("1767312000", None),
        ] {
            let text = format!(r#"{{"metadata":{{"creationTimestamp":{value}}}}}"#);
            let read = serde_json::from_str::<Pod>(&text);
            let read = read.map(|pod| pod.metadata.creation_timestamp.map(|it| it.to_string()));
            let read = read.ok();
            assert_eq!(read.as_ref().map(Option::as_deref), expected, "{value}");
        }
    }
}
