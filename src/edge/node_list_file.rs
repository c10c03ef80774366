//! Nodes from a file: `kubectl get nodes -o json`, or as YAML.

use crate::edge::input::{read_input, shown};
use crate::edge::kubelet_files::{KubeletFileError, document};
use crate::facts::node_list::{ListedNode, read_node_list};

/// Reads a list of nodes, or a single one.
///
/// # Errors
///
/// Fails for what cannot be read and for what is no list of nodes. A node of the list that cannot be read
/// is no failure.
pub fn read_node_list_file(
    path: &str,
    notes: &mut Vec<String>,
) -> Result<Vec<ListedNode>, KubeletFileError> {
    let content = read_input(path)?;
    let no_nodes =
        |message: String| KubeletFileError::NoNode { path: shown(path).to_owned(), message };
    let is_json = content.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let json = match is_json {
        true => content,
        false => {
            let value = document(path, content, notes)?;
            serde_json::to_vec(&value).map_err(|error| no_nodes(error.to_string()))?
        }
    };
    read_node_list(&json).map_err(no_nodes)
}
