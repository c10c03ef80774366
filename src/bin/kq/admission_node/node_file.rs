//! Whose Node object was given: facts of two nodes make no answer about either.

use crate::exit::Failure;
use crate::source_args::SourceArgs;
use anyhow::anyhow;
use kq::edge::input::shown;
use kq::edge::kubelet_files::read_node_object;
use kq::facts::lookup::Lookup;
use kq::facts::node_object::NodeObject;
use kq::facts::snapshot::Snapshot;
use kq::node::of_file;
use kq::node::{Needs, is_of_this_machine};

/// The Node object of `--node-file`, where it is given.
pub struct NodeFile(Option<(String, NodeObject)>);

impl NodeFile {
    /// Reads it; what is odd is noted.
    pub fn read(file: Option<&str>, notes: &mut Vec<String>) -> Result<Self, Failure> {
        let Some(file) = file else { return Ok(Self(None)) };
        let object = read_node_object(file, notes).map_err(of_file)?;
        Ok(Self(Some((file.to_owned(), object))))
    }

    /// Returns it as a fact, and says in the wants that nobody needs to be asked for it. One that is not
    /// this machine's names another node, about which this machine is not asked.
    pub fn put_into(
        &self,
        needs: &mut Needs,
        sources: &SourceArgs,
    ) -> Result<Option<Lookup<NodeObject>>, Failure> {
        let Some((file, object)) = &self.0 else { return Ok(None) };
        check_name(file, object, sources)?;
        needs.has_node_file = true;
        let names_node = sources.snapshot.is_some() || sources.host_root.is_some();
        needs.files |= !names_node && !is_of_this_machine(object, &sources.spec());
        Ok(Some(Lookup::found(shown(file), object.clone())))
    }

    /// Refuses it where all else is of another node.
    pub fn check(&self, snapshot: &Snapshot, sources: &SourceArgs) -> Result<(), Failure> {
        check_stored(snapshot, sources)?;
        match &self.0 {
            Some((file, object)) => check_machine(file, object, snapshot, sources),
            None => Ok(()),
        }
    }
}

/// Refuses a Node object that is not of the node that was asked for.
fn check_name(file: &str, object: &NodeObject, args: &SourceArgs) -> Result<(), Failure> {
    let own = &object.metadata.name;
    match args.node_name.as_ref().filter(|asked| *asked != own) {
        None => Ok(()),
        Some(asked) => {
            let error = anyhow!("--node-name {asked}: {} is the Node object of {own}", shown(file));
            Err(Failure::usage(error).hint("leave one of the two out"))
        }
    }
}

/// Refuses a stored node that is not the one that was asked for.
pub fn check_stored(snapshot: &Snapshot, args: &SourceArgs) -> Result<(), Failure> {
    let (Some(path), Some(asked)) = (&args.snapshot, &args.node_name) else { return Ok(()) };
    let object = snapshot.node.value().map(|object| &object.metadata.name);
    let own: Vec<&String> = snapshot.node_name.value().into_iter().chain(object).collect();
    match own.first() {
        Some(first) if !own.contains(&asked) => {
            let error = anyhow!("--node-name {asked}: {} is of node {first}", shown(path));
            Err(Failure::usage(error).hint("a snapshot is of one node: leave --node-name out"))
        }
        _ => Ok(()),
    }
}

/// Refuses a Node object that is not of the machine of which all else is: by the machine's number, else by
/// its name.
fn check_machine(
    file: &str,
    object: &NodeObject,
    snapshot: &Snapshot,
    args: &SourceArgs,
) -> Result<(), Failure> {
    let source = match &args.snapshot {
        Some(path) => shown(path),
        None => "this machine",
    };
    let own = &object.metadata.name;
    // An object without a name, or a number, says nothing of whose it is.
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
    Err(match args.snapshot {
        Some(_) => failure,
        None => failure
            .hint(format!("--node-name {own} where this machine is that node under another name")),
    }
    .hint("--pods and --node-file alone describe a node, whatever machine kq runs on"))
}
