//! `kq version`

use crate::exit::{Code, Failure, note, tell};
use crate::output_format::{OutputFormat, formats};
use crate::source_args::SourceArgs;
use crate::version_args::VersionArgs;
use kq_answer::FailureKind;
use kq_core::question::version::{client_version, table, versions, versions_needs};
use kq_facts::overrides::Overrides;
use kq_facts::snapshot::Snapshot;
use kq_io::no_live_node;

/// Show the versions of kq, the kubelet and the runtime, and the rules in use
///
/// Answers follow the rules of the kubelet's version, or of the nearest version
/// that kq knows.
///
/// Exit code 0: the kubelet's version is known, or --client is given. 3: the
/// kubelet's version is unknown, and answers follow the newest known rules.
///
/// Examples:
///
///   kq version
///   kq version --client
///   kq version -o json | jq -r .rules.used
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Show the version of kq alone; no source is queried
    #[arg(long)]
    client: bool,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    given: VersionArgs,
}

impl Args {
    /// Gathers and shows.
    pub fn run(self) -> Result<Code, Failure> {
        if self.client {
            self.output.write(&client_version(), table, table)?;
            return Ok(Code::Answered);
        }
        let options = Overrides::default();
        let put = |snapshot: &mut Snapshot| self.given.put(snapshot);
        let spec = self.sources.spec();
        let node = match kq_node::gather_node_with(&spec, options, versions_needs(), put) {
            Ok(node) => node,
            // The version of kq itself is known on every system.
            Err(failure) if no_live_node().is_some() && failure.kind() == FailureKind::Missing => {
                self.output.write(&client_version(), table, table)?;
                note("missing", &failure.reason());
                return Ok(Code::Missing);
            }
            Err(failure) => return Err(failure),
        };
        self.sources.show(&node.snapshot);
        let versions = versions(&node);
        self.output.write(&versions, table, table)?;
        if self.output.is_for_people() {
            tell(&versions.basis);
        }
        Ok(Code::Answered.unless(versions.kubelet.is_none()))
    }
}
