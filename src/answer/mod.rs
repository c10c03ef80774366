//! What every answer has in common.

/// Why there is no answer.
mod failure;

pub use failure::{Failure, FailureKind};
