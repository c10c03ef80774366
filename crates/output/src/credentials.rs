//! The credentials that this process has sent to servers. Whatever it shows or stores afterwards is without them.
//!
//! A server may repeat a token in any text: in a name, an annotation, a message. Answers are parsed and compared as they
//! came, because a token may be a word of the answer. Texts lose the credentials where they leave the process:
//! [`plain`](crate::terminal::plain) and its like for people, [`Redacted`] for every format of values. A process
//! that never calls [`watch`], such as a program that uses the library, keeps none.

mod redacted;
mod spelled;

pub use redacted::Redacted;

use self::spelled::without;
use crate::whole_words::SHORTEST;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

/// What stands in the place of a credential.
pub const MARK: &str = "[credentials]";

/// The credentials of this process.
static SENT: Credentials = Credentials::new();

/// The process shows and stores what it receives.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Tokens and passwords.
#[derive(Default)]
pub struct Credentials {
    /// The longest first, since another one may be a part of it.
    secrets: RwLock<Vec<String>>,
    is_any: AtomicBool,
}

/// Begins to remember the credentials that are sent.
pub fn watch() {
    IS_WATCHED.store(true, Ordering::Relaxed);
}

/// Remembers a token or a password that is about to be sent.
pub fn sent(secret: &str) {
    if IS_WATCHED.load(Ordering::Relaxed) {
        SENT.add(secret);
    }
}

/// Returns true if a text may have a credential that was sent.
#[inline]
pub fn are_known() -> bool {
    SENT.is_any.load(Ordering::Acquire)
}

/// Returns a text without the credentials that were sent.
pub fn redact(text: &str) -> Cow<'_, str> {
    SENT.redact(text)
}

impl Credentials {
    const fn new() -> Self {
        Self { secrets: RwLock::new(Vec::new()), is_any: AtomicBool::new(false) }
    }

    /// Adds a secret, unless it is too short to be one.
    pub fn add(&self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        let mut known = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        known.push(secret.to_owned());
        known.sort_unstable_by(|left, right| right.len().cmp(&left.len()).then(left.cmp(right)));
        known.dedup();
        self.is_any.store(!known.is_empty(), Ordering::Release);
    }

    /// Returns a text without these credentials.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.len() < SHORTEST || !self.is_any.load(Ordering::Acquire) {
            return Cow::Borrowed(text);
        }
        let known = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().fold(Cow::Borrowed(text), |shown, word| match without(&shown, word, MARK) {
            Cow::Borrowed(_) => shown,
            Cow::Owned(replaced) => Cow::Owned(replaced),
        })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MARK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn long_credentials_are_redacted_before_their_parts() {
        let sent = Credentials::new();
        assert!(matches!(sent.redact("pa/ss w\"rd is it"), Cow::Borrowed(_)));
        for secret in ["short", "pa/ss w\"rd", "token-1", "token-1/rest"] {
            sent.add(secret);
        }
        for (text, expected) in [
            ("short token", "short token"),
            ("is pa/ss w\"rd", "is [credentials]"),
            ("u:pa%2Fss%20w%22rd@h", "u:[credentials]@h"),
            ("token-1", "token-1"),
            ("token-1/rest", "[credentials]"),
        ] {
            assert_eq!(sent.redact(text), expected);
        }
        assert_eq!(format!("{sent:?}"), MARK);
    }
}
