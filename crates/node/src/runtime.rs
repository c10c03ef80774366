//! The container runtime: its endpoint, and its facts.

use super::config::KubeletConfig;
use super::source_order::NodeInQuestion;
use super::spec::NodeSpec;
use kq_answer::Failure;
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::runtime::RuntimeFacts;
use kq_facts::runtime_endpoint::{CRICTL_CONFIG, CrictlConfig, EndpointHints, endpoints};
use kq_io::host::{LIMIT, ReadError, read_beneath};
use kq_io::trust::{NamedBy, read_trusted};
use kq_linux::cri::{CriError, RuntimeNeeds, read_runtime};
use std::path::{Path, PathBuf};

/// Queries the runtime. Only a named endpoint that is invalid is a failure.
pub fn gather(
    spec: &NodeSpec,
    node: NodeInQuestion,
    root: &Path,
    settings: &KubeletConfig,
    needs: RuntimeNeeds,
) -> Result<Lookup<RuntimeFacts>, Failure> {
    if !node.has_root() && spec.runtime_endpoint.is_none() {
        return Ok(Lookup::default());
    }
    let hints = EndpointHints {
        flag: spec.runtime_endpoint.clone(),
        // It speaks of the machine that kq runs on.
        environment: spec
            .environment
            .container_runtime_endpoint
            .clone()
            .filter(|_| node.runs_here()),
        crictl_config: crictl_config(spec, node, root),
        kubelet: settings.runtime_endpoint.clone(),
    };
    let candidates = endpoints(&hints);
    let mut tried = candidates.skipped;
    for endpoint in candidates.candidates {
        // The usual file is the node's, whoever wrote it.
        let is_operators = endpoint.only && endpoint.said_by != CRICTL_CONFIG;
        let named_by = if is_operators { NamedBy::Operator } else { NamedBy::Node };
        match read_runtime(&endpoint.address, root, named_by, needs, spec.timeout) {
            Ok(value) => {
                let found = Some(Sourced { source: endpoint.address, value });
                return Ok(Lookup { found, tried });
            }
            Err(error) if endpoint.only && spec.runtime_endpoint.is_some() => {
                return Err(Failure::missing(error).hint("check --runtime-endpoint"));
            }
            Err(error) => {
                let source = format!("{} ({})", endpoint.address, endpoint.said_by);
                tried.push(FailedSource { source, reason: short(error) });
            }
        }
    }
    Ok(Lookup { found: None, tried })
}

/// Reads crictl's configuration: the file that the environment names, else the node's.
fn crictl_config(spec: &NodeSpec, node: NodeInQuestion, root: &Path) -> Option<CrictlConfig> {
    let named = spec.environment.cri_config_file.clone().filter(|_| node.runs_here());
    let is_named = named.is_some();
    let (path, read) = match named {
        Some(path) => {
            let absolute = std::path::absolute(&path).unwrap_or_else(|_| PathBuf::from(&path));
            let read = read_beneath(Path::new("/"), &absolute.to_string_lossy(), LIMIT);
            (path, read)
        }
        None => (CRICTL_CONFIG.to_owned(), read_trusted(root, CRICTL_CONFIG, LIMIT)),
    };
    let text = match read {
        Err(ReadError::Absent) if !is_named => return None,
        Err(error) => Err(error.to_string()),
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| "not text in UTF-8".to_owned()),
    };
    Some(CrictlConfig { path, is_named, text })
}

/// Returns why a runtime did not answer, without its endpoint, which is shown separately.
fn short(error: CriError) -> String {
    match error {
        CriError::Connect { reason, .. } => reason,
        CriError::Version { .. } => {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{error}{hint}")
        }
        other => other.to_string(),
    }
}
