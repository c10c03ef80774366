//! YAML as the kubelet reads its configuration, with the exact errors: `go.yaml.in/yaml/v2` and the way to JSON of
//! `sigs.k8s.io/yaml`.
//!
//! [`read`] gives the first document of a text; what follows it is not even scanned. The errors are those of
//! `scannerc.go`, `parserc.go`, `readerc.go` and `decode.go`, which depend on how far each of them has come: tokens are
//! made one at a time, and bytes are decoded 512 at a time, as there. [`crate::yaml`] reads everything else.
//!
//! * `source`: bytes to characters. `scan`, `scalar`, `tag`: characters to tokens. `parse`: tokens to nodes.
//! * `resolve`: what a scalar means. `value`: nodes to JSON, with the keys that come twice.

mod parse;
mod resolve;
mod scalar;
mod scan;
mod source;
mod tag;
#[cfg(test)]
mod tests;
mod value;

use crate::go_json::Tree;

/// The largest text that is read.
pub const MAX_BYTES: usize = 8 << 20;

/// The deepest nesting that is read; the kubelet's limit is 10000.
pub const MAX_DEPTH: usize = 100;

/// Why a text cannot be turned into JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GoYamlError {
    /// An error of the YAML package.
    #[error("yaml: {0}")]
    Yaml(String),
    /// YAML that JSON cannot hold.
    #[error("{0}")]
    Json(String),
    /// A text beyond the bounds of kq: what the kubelet says of it is not computed.
    #[error("not computed: {0}")]
    Bound(&'static str),
}

/// The content of the first document.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The document; the last of several values of a key counts.
    pub tree: Tree,
    /// The keys that come twice, in the words of a strict reading: `line 5: key "a" already set in map`.
    pub duplicates: Vec<String>,
}

/// Returns the text of UTF-16 with a byte order mark; `None`: it is in another encoding, or broken.
pub fn text_of_utf16(bytes: &[u8]) -> Option<String> {
    source::of_utf16(bytes).filter(|(_, broken)| broken.is_none()).map(|(text, _)| text)
}

/// Reads the first document of a text (`YAMLToJSON` and `YAMLToJSONStrict`).
pub fn read(bytes: &[u8]) -> Result<Converted, GoYamlError> {
    if bytes.len() > MAX_BYTES {
        return Err(GoYamlError::Bound("more than 8 MiB of YAML"));
    }
    let nodes = parse::document(bytes)?;
    value::convert(&nodes, bytes.len())
}

/// Returns an error of the scanner at a line, counted from 0.
fn scan_error(problem: &str, line: usize) -> GoYamlError {
    GoYamlError::Yaml(match line {
        0 => problem.to_owned(),
        line => format!("line {}: {problem}", line + 1),
    })
}

/// Returns an error of the parser, which the kubelet reports one line too early.
fn parse_error(problem: &str, line: usize) -> GoYamlError {
    GoYamlError::Yaml(match line {
        0 => problem.to_owned(),
        line => format!("line {line}: {problem}"),
    })
}
