//! The container runtime: where it is, and what it says.

use super::args::SourceArgs;
use super::config::KubeletConfig;
use crate::exit::Failure;
use kq::edge::cri::{CriError, RuntimeWants, read_runtime};
use kq::edge::host::{LIMIT, ReadError};
use kq::edge::trust::{NamedBy, read_trusted};
use kq::facts::runtime::RuntimeFacts;
use kq::facts::runtime_endpoint::{CRICTL_CONFIG, ENDPOINT_VARIABLE, EndpointHints, endpoints};
use kq::facts::sought::{Found, Sought, Tried};
use std::path::Path;

/// Asks the runtime. Only an endpoint that a person named, and that is none, is a failure.
pub fn gather(
    args: &SourceArgs,
    root: &Path,
    settings: &KubeletConfig,
    wants: RuntimeWants,
) -> Result<Sought<RuntimeFacts>, Failure> {
    let crictl = read_trusted(root, CRICTL_CONFIG, LIMIT);
    let refused = crictl.as_ref().err().filter(|error| matches!(error, ReadError::Untrusted(_)));
    let refused =
        refused.map(|error| Tried { source: CRICTL_CONFIG.to_owned(), reason: error.to_string() });
    let hints = EndpointHints {
        flag: args.runtime_endpoint.clone(),
        environment: environment(ENDPOINT_VARIABLE),
        crictl_config: crictl.ok().and_then(|bytes| String::from_utf8(bytes).ok()),
        kubelet: settings.runtime_endpoint.clone(),
    };
    let candidates = endpoints(&hints);
    let mut tried = candidates.skipped;
    tried.extend(refused);
    for endpoint in candidates.candidates {
        // The usual file is the node's, whoever wrote it.
        let is_operators = endpoint.only && endpoint.said_by != CRICTL_CONFIG;
        let named_by = if is_operators { NamedBy::Operator } else { NamedBy::Node };
        match read_runtime(&endpoint.address, root, named_by, wants, args.timeout) {
            Ok(value) => {
                let found = Some(Found { source: endpoint.address, value });
                return Ok(Sought { found, tried });
            }
            Err(error) if endpoint.only && args.runtime_endpoint.is_some() => {
                return Err(Failure::missing(error).hint("check --runtime-endpoint"));
            }
            Err(error) => {
                let source = format!("{} ({})", endpoint.address, endpoint.said_by);
                tried.push(Tried { source, reason: short(error) });
            }
        }
    }
    Ok(Sought { found: None, tried })
}

/// Returns why a runtime did not answer, without its endpoint, which stands beside it.
fn short(error: CriError) -> String {
    match error {
        CriError::Connect { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// Returns a variable of the environment; an empty one is none.
#[expect(clippy::disallowed_methods, reason = "the environment is read here, once")]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
