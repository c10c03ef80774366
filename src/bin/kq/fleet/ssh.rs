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

/// The script after its two variables.
const SH: &str = r#"
# The program for the machines of the nodes, and the ssh that reaches them.
kq=${KQ:-kq}
ssh=${SSH:-ssh}
failed=0
for node in $nodes; do
    case $node in -* | *[!a-z0-9.-]*) echo "$node: no name of a node" >&2; failed=1; continue ;; esac
    # kq needs root there. Nothing stays: the copy is in a folder of its own.
    if "$ssh" "$node" 'folder=$(mktemp -d) && cat >"$folder/kq" && chmod 700 "$folder/kq" &&
        sudo -n "$folder/kq" snapshot; code=$?; rm -rf "$folder"; exit $code' \
        <"$kq" >"$dir/$node.json.part"
    then
        mv "$dir/$node.json.part" "$dir/$node.json"
    else
        echo "$node: no snapshot" >&2
        rm -f "$dir/$node.json.part"
        failed=1
    fi
done
exit $failed
"#;

/// The playbook before and after the folder.
const ANSIBLE: [&str; 2] = [
    r#"# ansible-playbook -i INVENTORY FILE; ./kq is the program for the machines of the nodes.
- hosts: all
  become: true
  gather_facts: false
  tasks:
    - name: Make a folder
      ansible.builtin.tempfile:
        state: directory
        prefix: kq.
      register: folder
      changed_when: false
    - name: Store the snapshot
      block:
        - name: Copy kq
          ansible.builtin.copy:
            src: ./kq
            dest: "{{ folder.path }}/kq"
            mode: "0700"
        - name: Take the snapshot
          ansible.builtin.command: "{{ folder.path }}/kq snapshot -o {{ folder.path }}/node.json.zst"
          changed_when: false
        - name: Fetch it
          ansible.builtin.fetch:
            src: "{{ folder.path }}/node.json.zst"
            dest: ""#,
    r#"/{{ inventory_hostname }}.json.zst"
            flat: true
      always:
        - name: Remove the folder
          ansible.builtin.file:
            path: "{{ folder.path }}"
            state: absent
"#,
];

impl Loop {
    /// Returns the script or playbook. A script without nodes takes those that kubectl lists.
    /// Refuses names that no node can have, and a folder that would mean something to the shell or to YAML.
    pub fn text(self, nodes: &[String], dir: &Path) -> Result<String, Failure> {
        if let Some(node) = nodes.iter().find(|node| !is_node_name(node)) {
            return Err(Failure::usage(anyhow!("{node:?} is not the name of a node")));
        }
        let dir = dir.to_str().filter(|dir| dir.chars().all(is_plain)).ok_or_else(|| {
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
                format!(
                    "#!/bin/sh\n# Stores a snapshot of each node over ssh, for kq fleet ask.\nnodes={nodes}\ndir={dir}\n{}",
                    SH.trim_start()
                )
            }
            Self::Ansible => ANSIBLE.join(dir),
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
