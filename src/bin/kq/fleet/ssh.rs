//! What collects snapshots over ssh, where no pod may run. kq prints it and connects to no machine.

use crate::exit::Failure;
use anyhow::anyhow;
use std::path::Path;

/// What runs the loop over the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Loop {
    /// A shell script
    Sh,
    /// A playbook
    Ansible,
}

/// The script and the playbook, with the words `NODES` and `FOLDER` for what is filled in.
const SH: &str = include_str!("ssh/collect.sh");
const ANSIBLE: &str = include_str!("ssh/collect.yaml");

impl Loop {
    /// Returns the script or playbook. A script without nodes takes those that kubectl lists.
    /// Refuses names that no node can have, and a folder that would mean something to the shell or to YAML.
    pub fn text(self, nodes: &[String], dir: &Path) -> Result<String, Failure> {
        if let Some(node) = nodes.iter().find(|node| !is_node_name(node)) {
            return Err(Failure::usage(anyhow!("{node:?} is not the name of a node")));
        }
        let is_plain =
            |dir: &&str| !dir.is_empty() && !dir.starts_with('-') && dir.chars().all(is_plain);
        let dir = dir.to_str().filter(is_plain).ok_or_else(|| {
            let error = anyhow!("{}: letters, digits and / . _ - are expected", dir.display());
            Failure::usage(error).hint("name another folder with --dir")
        })?;
        Ok(match self {
            Self::Sh => {
                let nodes = match nodes {
                    [] => "$(kubectl get nodes -o 'jsonpath={.items[*].metadata.name}') || exit"
                        .to_owned(),
                    nodes => format!("'{}'", nodes.join(" ")),
                };
                SH.replace("NODES", &nodes).replace("FOLDER", dir)
            }
            Self::Ansible => {
                let nodes = if nodes.is_empty() { "all".to_owned() } else { nodes.join(",") };
                ANSIBLE.replace("NODES", &nodes).replace("FOLDER", dir)
            }
        })
    }
}

/// Returns true for what can be the name of a node, and no option of ssh.
fn is_node_name(text: &str) -> bool {
    let is_part = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-.".contains(it);
    text.len() <= 253
        && text.starts_with(|it: char| it.is_ascii_alphanumeric())
        && text.chars().all(is_part)
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "/._-".contains(character)
}
