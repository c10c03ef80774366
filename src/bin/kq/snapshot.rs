//! `kq snapshot`

use crate::exit::{Code, Failure, note};
use crate::live::{SourceArgs, Wants, gather};
use crate::node_args::NodeArgs;
use crate::write::{self, Output};
use anyhow::anyhow;
use kq::edge::snapshot_file::write_snapshot;
use kq::facts::live::missing;

/// Store everything that kq can find out about this node
///
/// Every command answers from the file, with --snapshot FILE, as it would have on the node. It holds
/// no environment variables, no secrets, and none of the pods' annotations but three of the kubelet's.
///
/// Examples:
///
///   kq snapshot -o node.json.zst
///   kq snapshot | jq .runtime.found.value.version
///   kq cgroup diff --snapshot node.json.zst
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Where to store it, compressed when the name ends in .zst; else it is printed
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,

    #[command(flatten)]
    sources: SourceArgs,
}

impl Args {
    /// Gathers and stores.
    pub fn run(self) -> Result<Code, Failure> {
        let snapshot = gather(&self.sources, &NodeArgs::default(), None, Wants::ALL)?;
        match &self.output {
            None => write::value(Output::Json, &snapshot)?,
            Some(path) => {
                let json = serde_json::to_vec(&snapshot)
                    .map_err(|error| Failure::missing(anyhow!("cannot write it: {error}")))?;
                write_snapshot(path, &json).map_err(Failure::missing)?;
            }
        }
        for reason in missing(&snapshot, false) {
            note("missing", &reason);
        }
        if snapshot.cgroups.found.is_none() {
            let reason = snapshot.cgroups.reason();
            note("missing", &format!("the cgroup tree could not be read ({reason})"));
        }
        Ok(Code::Answered)
    }
}
