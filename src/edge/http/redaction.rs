//! Taking out of a server's words what it was sent in secret.
//!
//! Only what is shown is redacted, never what is still to be parsed or compared: a token may be a word of the answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HeaderMap};
use std::fmt;

/// A shorter token hides nothing where it is left out, and would take ordinary words with it.
const SHORTEST: usize = 8;

/// What stands in its place.
const MARK: &str = "[credentials]";

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
        secrets.retain(|secret| secret.len() >= SHORTEST);
        Self(secrets)
    }

    /// Returns a text that is going to be shown, without the credentials. A credential that is a part of a longer
    /// word is another word.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| redact(&text, secret))
    }
}

fn redact(text: &str, secret: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(secret) {
        let (before, from) = rest.split_at(at);
        let after = &from[secret.len()..];
        shown.push_str(before);
        let is_inside =
            shown.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
        if is_inside {
            // It may begin again inside of itself.
            let first = from.chars().next().map_or(0, char::len_utf8);
            shown.push_str(&from[..first]);
            rest = &from[first..];
        } else {
            shown.push_str(MARK);
            rest = after;
        }
    }
    shown + rest
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
