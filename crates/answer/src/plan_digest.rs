//! The digest of a plan: the change that was shown, and no other, is the one that is made.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of the steps of a plan, as `sha256:` and hexadecimal digits. The steps are everything that the
/// change would do, in order, and nothing that only was measured.
pub fn plan_digest(steps: &impl Serialize) -> String {
    // Texts and lists are always JSON.
    let json = serde_json::to_vec(steps).unwrap_or_default();
    format!("sha256:{}", sha256(&json))
}

/// Returns the SHA-256 of a content in hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}
