//! A Node object from a file. An object of another node is rejected.

use super::{NodeSpec, is_of_this_machine};
use anyhow::anyhow;
use kq_answer::Failure;
use kq_answer::warning::Warning;
use kq_facts::input_name::shown;
use kq_facts::lookup::Lookup;
use kq_facts::needs::Needs;
use kq_facts::node_object::NodeObject;
use kq_facts::overrides::FiledNode;
use kq_facts::snapshot::Snapshot;
use kq_io::kubelet_files::{KubeletFileError, read_node_object};

/// The Node object of a file, where one is named.
pub struct NodeFile(Option<(String, NodeObject)>);

/// Reads a Node object from a file, with what is odd about it.
///
/// # Errors
///
/// Fails for a file without a Node object.
pub fn filed_node(file: &str) -> Result<FiledNode, Failure> {
    let mut notes = Vec::new();
    let object = read_node_object(file, &mut notes).map_err(of_file)?;
    Ok(FiledNode { file: file.to_owned(), object, notes })
}

impl NodeFile {
    /// Reads the file, and warns of irregularities.
    ///
    /// # Errors
    ///
    /// Fails for a file without a Node object.
    pub fn read(file: Option<&str>, warnings: &mut Vec<Warning>) -> Result<Self, Failure> {
        let Some(file) = file else { return Ok(Self(None)) };
        let object = read_node_object(file, warnings).map_err(of_file)?;
        Ok(Self(Some((file.to_owned(), object))))
    }

    /// Returns the object as a fact, and removes it from `needs`. If the object is of another machine, this machine
    /// is not queried.
    ///
    /// # Errors
    ///
    /// Fails if the object is not of the node in question.
    pub fn put_into(
        &self,
        needs: &mut Needs,
        spec: &NodeSpec,
    ) -> Result<Option<Lookup<NodeObject>>, Failure> {
        let Some((file, object)) = &self.0 else { return Ok(None) };
        check_name(file, object, spec)?;
        needs.has_node_file = true;
        let names_node = spec.snapshot.is_some() || spec.host_root.is_some();
        let is_of_another = !names_node && !is_of_this_machine(object, spec);
        needs.files |= is_of_another;
        // With its pods it is described, by nothing of this machine.
        needs.only_on_node &= !is_of_another || spec.pods.is_empty();
        Ok(Some(Lookup::found(shown(file), object.clone())))
    }

    /// Checks that the object is of the node that was gathered.
    ///
    /// # Errors
    ///
    /// Fails if the other facts are of another node.
    pub fn check(&self, snapshot: &Snapshot, spec: &NodeSpec) -> Result<(), Failure> {
        spec.check_stored(snapshot)?;
        match &self.0 {
            Some((file, object)) => check_machine(file, object, snapshot, spec),
            None => Ok(()),
        }
    }
}

/// Rejects a Node object that is not of the node in question.
fn check_name(file: &str, object: &NodeObject, spec: &NodeSpec) -> Result<(), Failure> {
    let own = &object.metadata.name;
    match spec.node_name.as_ref().filter(|asked| *asked != own) {
        None => Ok(()),
        Some(asked) => {
            let error = anyhow!("--node-name {asked}: {} is the Node object of {own}", shown(file));
            Err(Failure::usage(error).hint("omit one of the two"))
        }
    }
}

/// Rejects a Node object of another machine than the other facts, by machine ID, else by
/// its name.
fn check_machine(
    file: &str,
    object: &NodeObject,
    snapshot: &Snapshot,
    spec: &NodeSpec,
) -> Result<(), Failure> {
    let source = match &spec.snapshot {
        Some(path) => shown(path),
        None => "this machine",
    };
    let own = &object.metadata.name;
    // An object without a name, or a machine without an ID, proves nothing.
    let theirs = snapshot.node_name.value().filter(|theirs| *theirs != own && !own.is_empty());
    let error = match (object.is_of_machine(&snapshot.host), theirs) {
        (Some(true), _) | (None, None) => return Ok(()),
        (None, Some(theirs)) => {
            anyhow!("{} is the Node object of {own}, and {source} is {theirs}", shown(file))
        }
        (Some(false), _) => {
            let number = &object.status.node_info.machine_id;
            anyhow!("{} is the Node object of another machine than {source}: {number}", shown(file))
        }
    };
    let failure = Failure::usage(error);
    Err(match spec.snapshot {
        Some(_) => failure,
        None => failure
            .hint(format!("--node-name {own} where this machine is that node under another name")),
    }
    .hint("--pods and --node-file alone describe a node, whatever machine kq runs on"))
}

/// Returns the failure of a file that was named.
pub fn of_file(error: KubeletFileError) -> Failure {
    match error {
        KubeletFileError::Input(_) | KubeletFileError::Folder { .. } => Failure::missing(error),
        _ => Failure::usage(error),
    }
}
