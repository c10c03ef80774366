//! The flag that applies a plan that was shown before, and no other.

use crate::exit::Failure;
use anyhow::anyhow;

/// The plan that is applied.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanDigestArgs {
    /// Apply only the plan with this digest: planDigest of --dry-run -o json. kq refuses another plan
    #[arg(long = "plan-digest", value_name = "DIGEST")]
    expected: Option<String>,
}

impl PlanDigestArgs {
    /// Refuses a plan that is not the one that was shown.
    /// Fails where the digest of another plan is given.
    pub fn check(&self, digest: &str) -> Result<(), Failure> {
        match self.expected.as_deref().filter(|expected| *expected != digest) {
            None => Ok(()),
            Some(expected) => {
                let refused = anyhow!("the plan is {digest}, and not {expected}");
                Err(Failure::refused(refused)
                    .hint("nothing was changed; --dry-run shows the new plan"))
            }
        }
    }
}
