//! What is left without the feature `cri`: an error that says so.

use super::{CriError, RuntimeWants};
use crate::facts::runtime::RuntimeFacts;
use std::path::Path;
use std::time::Duration;

/// Says that kq was built without it.
///
/// # Errors
///
/// Always: [`CriError::NotBuilt`].
pub fn read_runtime(
    endpoint: &str,
    _host_root: &Path,
    _wants: RuntimeWants,
    _deadline: Duration,
) -> Result<RuntimeFacts, CriError> {
    Err(CriError::NotBuilt { endpoint: endpoint.to_owned() })
}
