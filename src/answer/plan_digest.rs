//! The digest of a plan: the change that was shown, and no other, is the one that is made.

use ring::digest::{SHA256, digest};
use serde::Serialize;

/// Returns the SHA-256 of the steps of a plan, as `sha256:` and hexadecimal digits. The steps are everything that the
/// change would do, in order, and nothing that only was measured.
pub(crate) fn plan_digest(steps: &impl Serialize) -> String {
    // Texts and lists are always JSON.
    let json = serde_json::to_vec(steps).unwrap_or_default();
    format!("sha256:{}", sha256(&json))
}

/// Returns the SHA-256 of a content in hexadecimal digits.
pub(crate) fn sha256(content: &[u8]) -> String {
    digest(&SHA256, content).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
