//! `kq snapshot`

use crate::exit::{Code, Failure, note};
use crate::node_args::RootArgs;
use crate::output_format::OutputFormat;
use crate::source_args::{SourceArgs, gather};
use crate::version_args::VersionArgs;
use crate::write;
use anyhow::anyhow;
use kq_core::question::start::kubelet_start;
use kq_facts::live::{has_node, missing_of_snapshot};
use kq_facts::lookup::Lookup;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::overrides::{GivenConfig, Overrides};
use kq_facts::snapshot::Snapshot;
use kq_io::snapshot_file::write_snapshot;
use kq_output::value::json_line;

/// Store all data that kq can read about this node
///
/// With --snapshot FILE, commands answer from the file as they would have on the
/// node. Exceptions need the live node: cgroup rollback, gc record, probe run,
/// and devices plugins, serve, allocate and repair. cgroup apply, gc apply and
/// preempt apply only accept a snapshot with --dry-run.
///
/// A snapshot holds the newest events about the node's pods (20 of each, 2000 in
/// all) if the kubeconfig may list events; the kubelet's own may not.
///
/// A snapshot holds no environment variables, no Secrets and of probes no commands,
/// queries or headers, and only three of the pods' annotations, all of them the
/// kubelet's. It does hold messages, labels and names that others wrote:
/// docs/security.md lists them.
///
/// Exit code 0: stored; unavailable sources are named. 3: the file cannot be
/// written, or it was stored and no source found a node: no kubelet, no
/// configuration, no pods, no runtime.
///
/// Examples:
///
///   kq snapshot -o node.json.zst
///   kq snapshot | jq .runtime.found.value.version
///   kq cgroup diff --snapshot node.json.zst
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Where to store the snapshot, compressed if the name ends in .zst (default: standard output)
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    root: RootArgs,

    #[command(flatten)]
    versions: VersionArgs,
}

impl Args {
    /// Gathers and stores.
    pub fn run(self) -> Result<Code, Failure> {
        refuse_form(self.output.as_deref(), "a snapshot is JSON; without -o it is printed")?;
        let given = self.root.config.given_config()?;
        let config = given.as_ref().map(|given| &*given.config.value);
        let mut snapshot = gather(&self.sources, &self.root, config, Needs::ALL)?;
        self.versions.put(&mut snapshot);
        let snapshot = as_stored(snapshot, given.as_ref());
        match &self.output {
            None => write::value(OutputFormat::Json, &snapshot)?,
            Some(path) => {
                let json = json_line(&snapshot)
                    .map_err(|error| Failure::missing(anyhow!("cannot write it: {error}")))?;
                write_snapshot(path, &json).map_err(Failure::missing)?;
                note("stored", path);
            }
        }
        for reason in missing_of_snapshot(&snapshot, given.is_some()) {
            note("missing", &reason.text);
        }
        if !has_node(&snapshot) {
            return Ok(Code::Answered.unless(true));
        }
        let overrides = Overrides { config: given, ..Overrides::default() };
        let node = Node::of(snapshot, overrides)?;
        note("kubelet-start", &kubelet_start(&node).sentence(node.kubelet.version));
        Ok(Code::Answered)
    }
}

/// Refuses the name of a format where a file is named: other commands have a format in `-o`.
pub fn refuse_form(output: Option<&str>, what: &str) -> Result<(), Failure> {
    let Some(form @ ("json" | "yaml" | "table" | "wide" | "name")) = output else { return Ok(()) };
    Err(Failure::usage(anyhow!("-o {form}: here it names the file to store"))
        .hint(what)
        .hint(format!("for a file of that name use -o ./{form}")))
}

/// Returns a snapshot with the configuration from the flags, as it is stored.
pub fn as_stored(snapshot: Snapshot, given: Option<&GivenConfig>) -> Snapshot {
    match given {
        Some(given) => Snapshot {
            kubelet_config: Lookup::found("--kubelet-config", given.to_recorded()),
            ..snapshot
        },
        None => snapshot,
    }
}
