//! The digest of a plan: the change that was shown, and no other, is the one that is made.

use ring::digest::{SHA256, digest};
use serde::Serialize;
use std::fmt::Write;

/// Returns the SHA-256 of the steps of a plan, as `sha256:` and hexadecimal digits. The steps are everything that the
/// change would do, in order, and nothing that only was measured.
pub(crate) fn plan_digest(steps: &impl Serialize) -> String {
    // Texts and lists are always JSON.
    let json = serde_json::to_vec(steps).unwrap_or_default();
    digest(&SHA256, &json).as_ref().iter().fold("sha256:".to_owned(), |mut text, byte| {
        // Memory takes every text.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
