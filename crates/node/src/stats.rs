//! The kubelet's measurements: its `/stats/summary`.

use super::config::{KubeletConfig, KubeletServer};
use super::source_order::NodeInQuestion;
use super::spec::NodeSpec;
use anyhow::anyhow;
use kq_answer::Failure;
use kq_facts::input_name::shown;
use kq_facts::kubelet_process::KubeletProcess;
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::stats_summary::StatsSummary;
use kq_io::input::read_input;
use serde_json::Value;
use std::path::Path;

/// Queries the kubelet, at the endpoints that are queried for its configuration.
pub fn gather(
    spec: &NodeSpec,
    node: NodeInQuestion,
    root: &Path,
    process: Option<&KubeletProcess>,
    settings: &KubeletConfig,
) -> Lookup<StatsSummary> {
    let server = KubeletServer { spec, node, root, process, config: settings.value() };
    let mut tried = Vec::new();
    for endpoint in server.endpoints(&mut tried) {
        let source = format!("{}/stats/summary", endpoint.url);
        let answer = server.ask(&endpoint, "/stats/summary");
        match answer.and_then(|answer| read(&answer.body)) {
            Ok(value) => return Lookup { found: Some(Sourced { source, value }), tried },
            Err(reason) => tried.push(FailedSource { source, reason }),
        }
    }
    Lookup { found: None, tried }
}

/// Returns the summary in a named file.
///
/// # Errors
///
/// Fails when it cannot be read, or is not a summary.
pub fn of_stats_file(path: &str) -> Result<Lookup<StatsSummary>, Failure> {
    let content = read_input(path).map_err(Failure::missing)?;
    let summary = read(&content).map_err(|reason| {
        Failure::usage(anyhow!("{}: {reason}", shown(path))).hint(
            "kubectl get --raw /api/v1/nodes/NAME/proxy/stats/summary prints the kubelet's summary",
        )
    })?;
    Ok(Lookup::found(shown(path), summary))
}

fn read(answer: &[u8]) -> Result<StatsSummary, String> {
    let value: Value =
        serde_json::from_slice(answer).map_err(|error| format!("not JSON: {error}"))?;
    // Otherwise any other answer would count as an empty summary.
    if !value.get("node").is_some_and(Value::is_object) {
        return Err("not a summary: it has no node".to_owned());
    }
    serde_path_to_error::deserialize(value)
        .map_err(|error| format!("not a summary: {}: {}", error.path(), error.inner()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_about_a_node() {
        for (name, answer, expected) in [
            (
                "a summary",
                r#"{"node":{"nodeName":"a","fs":{"availableBytes":1}},"pods":[]}"#,
                Ok("a"),
            ),
            (
                "a list of pods",
                r#"{"kind":"PodList","items":[]}"#,
                Err("not a summary: it has no node"),
            ),
            ("a word", "Unauthorized", Err("not JSON: expected value at line 1 column 1")),
            (
                "another type",
                r#"{"node":{"nodeName":7}}"#,
                Err("not a summary: node.nodeName: invalid type: integer `7`, expected a string"),
            ),
        ] {
            let found = read(answer.as_bytes());
            let found = found.as_ref().map(|summary| summary.node.node_name.as_str());
            assert_eq!(found.map_err(String::as_str), expected, "{name}");
        }
    }
}
